"""What a device does otherwise than jax's Pallas interpreter: wrong kernels are found, right ones are left alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu
from jax.experimental.pallas import triton as pltriton

from irverify._capture_jax import captured_trace
from lowering.capture.jax_host import capture_jax
from lowering.ir.parser import parse_program
from tests.frontends.stablehlo.support import lower, undefined_lanes

Array = Any
X = np.arange(32 * 16, dtype=np.float32).reshape(32, 16)
F32 = jnp.float32


def found(host: Callable[..., Any], *args: np.ndarray, device: str = "", backward: bool = False) -> list[str]:
    """Codes and severities."""
    trace = capture_jax(host, list(args) or [X], device=device, backward=backward)
    assert [note for note in trace.notes if note.startswith(tuple(f.code for f in trace.findings) or ("-",))] == [
        str(finding) for finding in trace.findings
    ]
    assert all(finding.span.file == __file__ for finding in trace.findings)
    return [f"{finding.code} {finding.severity}" for finding in trace.findings]


def tpu(*semantics: str) -> Any:
    return pltpu.CompilerParams(dimension_semantics=semantics)


RACE, LOST, OVERLAP, NOTE = (
    "parallel-revisit error",
    "revisited-block error",
    "aliased-overlap error",
    "grid-order note",
)
GPU, TPU = pltriton.CompilerParams(), pltpu.CompilerParams()


# -- accumulating in the output block: rows of 8, columns of 4 -----------------------------------------------------


def row_sums(reduced: int = 1, init: Callable[..., Any] = lambda k: k == 0, **options: Any) -> Callable[[Array], Array]:
    """Sums of rows, over a grid of four and four; ``reduced`` is the axis of the columns."""

    def kernel(x_ref: Any, o_ref: Any) -> None:
        @pl.when(init(pl.program_id(reduced)))
        def _() -> None:
            o_ref[...] = jnp.zeros_like(o_ref)

        o_ref[...] += jnp.sum(x_ref[...], axis=1, keepdims=True)

    def host(x: Array) -> Array:
        return pl.pallas_call(
            kernel,
            grid=(4, 4),
            in_specs=[pl.BlockSpec((8, 4), lambda *g: (g[1 - reduced], g[reduced]))],
            out_specs=pl.BlockSpec((8, 1), lambda *g: (g[1 - reduced], 0)),
            out_shape=jax.ShapeDtypeStruct((32, 1), F32),
            **options,
        )(x)

    return host


@pytest.mark.parametrize(
    "semantics", [("parallel", "parallel"), ("arbitrary", "parallel"), ("arbitrary", "core_parallel")]
)
def test_a_sum_along_a_parallel_axis_races(semantics: tuple[str, str]) -> None:
    assert found(row_sums(compiler_params=tpu(*semantics))) == [RACE]


@pytest.mark.parametrize("semantics", [("parallel", "arbitrary"), ("arbitrary", "arbitrary")])
def test_a_sum_along_an_axis_in_order_does_not(semantics: tuple[str, str]) -> None:
    assert found(row_sums(compiler_params=tpu(*semantics))) == []


def test_a_tpu_kernel_that_declares_nothing_runs_in_order() -> None:
    assert found(row_sums(compiler_params=TPU)) == []
    assert found(row_sums(), device="tpu_v5e") == []


def test_a_sum_along_the_grid_of_a_gpu_races() -> None:
    assert found(row_sums(compiler_params=GPU)) == [RACE]


@dataclass(frozen=True)
class MosaicGpu:
    """Like plgpu.CompilerParams, whose module needs absl."""

    dimension_semantics: tuple[str, ...] | None = None


MosaicGpu.__module__ = "jax._src.pallas.mosaic_gpu.core"


def test_mosaic_gpu_can_run_an_axis_in_order() -> None:
    assert found(row_sums(compiler_params=MosaicGpu())) == [RACE]
    assert found(row_sums(compiler_params=MosaicGpu(("parallel", "sequential")))) == []


def test_without_a_device_it_is_a_note() -> None:
    assert found(row_sums(interpret=True)) == [NOTE]


def test_the_finding_names_the_axis_the_output_and_the_line() -> None:
    trace = capture_jax(row_sums(compiler_params=tpu("arbitrary", "parallel")), [X])
    (finding,) = trace.findings
    assert "o_ref" in finding.message and "along axis 1" in finding.message
    assert finding.span.line == row_sums.__code__.co_firstlineno + 8


def test_an_axis_of_one_step_shares_nothing() -> None:
    def host(x: Array) -> Array:
        def kernel(x_ref: Any, o_ref: Any) -> None:
            o_ref[...] = jnp.zeros_like(o_ref)
            o_ref[...] += x_ref[...]

        spec = pl.BlockSpec((8, 16), lambda i, _j: (i, 0))
        out = jax.ShapeDtypeStruct(x.shape, F32)
        return pl.pallas_call(
            kernel,
            grid=(4, 1),
            in_specs=[spec],
            out_specs=spec,
            out_shape=out,
            compiler_params=tpu("parallel", "parallel"),
        )(x)

    assert found(host) == []


# -- scratch -------------------------------------------------------------------------------------------------------


def with_scratch(*semantics: str, init: int = 1) -> Callable[[Array], Array]:
    """Sums of rows through scratch that is cleared where the axis ``init`` begins."""

    def kernel(x_ref: Any, o_ref: Any, acc_ref: Any) -> None:
        @pl.when(pl.program_id(init) == 0)
        def _() -> None:
            acc_ref[...] = jnp.zeros_like(acc_ref)

        acc_ref[...] += jnp.sum(x_ref[...], axis=1, keepdims=True)

        @pl.when(pl.program_id(1) == pl.num_programs(1) - 1)
        def _() -> None:
            o_ref[...] = acc_ref[...]

    def host(x: Array) -> Array:
        return pl.pallas_call(
            kernel,
            grid=(4, 4),
            in_specs=[pl.BlockSpec((8, 4), lambda i, k: (i, k))],
            out_specs=pl.BlockSpec((8, 1), lambda i, k: (i, 0)),
            out_shape=jax.ShapeDtypeStruct((32, 1), F32),
            scratch_shapes=[pltpu.VMEM((8, 1), F32)],
            compiler_params=tpu(*semantics),
        )(x)

    return host


def test_scratch_carried_along_a_parallel_axis() -> None:
    assert found(with_scratch("parallel", "parallel")) == [RACE]
    assert found(with_scratch("parallel", "arbitrary", init=0)) == [RACE]


def test_scratch_that_each_parallel_step_clears_first() -> None:
    assert found(with_scratch("parallel", "arbitrary")) == []
    assert found(with_scratch("arbitrary", "arbitrary", init=0)) == []


# -- writing without reading ---------------------------------------------------------------------------------------


def last_wins(value: Callable[[Any], Any], when: Callable[[], Any] = lambda: True, **options: Any) -> Any:
    """Every step writes the only block of the output."""

    def kernel(x_ref: Any, o_ref: Any) -> None:
        @pl.when(when())
        def _() -> None:
            o_ref[...] = value(x_ref[...])

    def host(x: Array) -> Array:
        return pl.pallas_call(
            kernel,
            grid=(4,),
            in_specs=[pl.BlockSpec((8, 16), lambda i: (i, 0))],
            out_specs=pl.BlockSpec((8, 16), lambda i: (0, 0)),
            out_shape=jax.ShapeDtypeStruct((8, 16), F32),
            **options,
        )(x)

    return host


@pytest.mark.parametrize("params", [tpu("parallel"), GPU])
def test_parallel_steps_that_write_different_values(params: Any) -> None:
    assert found(last_wins(lambda x: x, compiler_params=params)) == [RACE]


@pytest.mark.parametrize("params", [tpu("parallel"), GPU])
def test_parallel_steps_that_write_one_value(params: Any) -> None:
    assert found(last_wins(jnp.ones_like, compiler_params=params)) == []
    assert found(last_wins(lambda x: x, lambda: pl.program_id(0) == 2, compiler_params=params)) == []


def test_an_output_that_nobody_uses_may_be_anything() -> None:
    write = last_wins(lambda x: x, compiler_params=tpu("parallel"))
    assert found(lambda x: jax.jit(lambda x: (write(x), x))(x)[1] + 1) == []


def windows(step: int, **options: Any) -> Any:
    """Every step writes eight rows of an output that is one block."""

    def kernel(x_ref: Any, o_ref: Any) -> None:
        rows = pl.ds(pl.program_id(0) * step, 8)
        o_ref[rows, :] = x_ref[rows, :] * 2

    def host(x: Array) -> Array:
        return pl.pallas_call(kernel, grid=(3,), out_shape=jax.ShapeDtypeStruct(x.shape, F32), **options)(x)

    return host


def test_windows_of_one_block_race_where_they_overlap() -> None:
    assert found(windows(8, compiler_params=GPU)) == []
    assert found(windows(4, compiler_params=GPU)) == [RACE]


def test_two_cores_of_a_tpu_each_write_back_the_whole_block() -> None:
    assert found(windows(8, compiler_params=tpu("parallel"))) == [RACE]
    assert found(windows(8, compiler_params=TPU)) == []


def test_atomics_are_made_for_it() -> None:
    def host(x: Array) -> Array:
        def kernel(x_ref: Any, o_ref: Any) -> None:
            pltriton.atomic_add(o_ref, (slice(None),), x_ref[...])

        spec = pl.BlockSpec((None, 16), lambda i: (i, 0))
        out = jax.ShapeDtypeStruct((16,), F32)
        return pl.pallas_call(kernel, grid=(32,), in_specs=[spec], out_shape=out, compiler_params=GPU)(x)

    assert found(host) == []


def test_scalars_that_are_prefetched_are_the_same_for_all_steps() -> None:
    def kernel(ids_ref: Any, o_ref: Any) -> None:
        o_ref[...] = jnp.full(o_ref.shape, ids_ref[index(pl.program_id(0))])

    def host(ids: Array) -> Array:
        block = pl.BlockSpec((8, 16), lambda i, _ids: (0, 0))
        spec = pltpu.PrefetchScalarGridSpec(num_scalar_prefetch=1, grid=(4,), in_specs=[], out_specs=block)
        out = jax.ShapeDtypeStruct((8, 16), jnp.int32)
        return pl.pallas_call(kernel, grid_spec=spec, out_shape=out, compiler_params=tpu("parallel"))(ids)

    ids = np.arange(4, dtype=np.int32)
    index: Callable[[Any], Any] = lambda i: 0  # noqa: E731
    assert found(host, ids) == []
    index = lambda i: i  # noqa: E731
    assert found(host, ids) == [RACE]


# -- blocks that are returned to -----------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{"compiler_params": TPU}, {"interpret": True}])
def test_a_sum_along_an_outer_axis_is_lost(options: Any) -> None:
    assert found(row_sums(reduced=0, **options)) == [LOST]


def test_a_sum_along_the_innermost_axis_is_kept() -> None:
    assert LOST not in found(row_sums(compiler_params=TPU))


def test_a_block_that_is_overwritten_when_returned_to() -> None:
    """Its old contents are not missed."""
    assert found(row_sums(reduced=0, init=lambda k: k >= 0, compiler_params=TPU)) == []


def columns(outer: bool, step: Callable[[Any], Any] = lambda k: pl.ds(k * 4, 4)) -> Any:
    """Every step copies four columns of a block of eight rows; ``outer``: of all blocks before the next four."""

    def kernel(x_ref: Any, o_ref: Any) -> None:
        k = pl.program_id(0 if outer else 1)
        o_ref[:, step(k)] = x_ref[:, step(k)]

    def host(x: Array) -> Array:
        spec = pl.BlockSpec((8, 16), lambda *g: (g[1 if outer else 0], 0))
        out = jax.ShapeDtypeStruct(x.shape, F32)
        return pl.pallas_call(kernel, grid=(4, 4), in_specs=[spec], out_specs=spec, out_shape=out, compiler_params=TPU)(
            x
        )

    return host


def test_a_block_that_is_written_in_part_each_time_it_is_returned_to() -> None:
    assert found(columns(outer=True)) == [LOST]
    assert found(columns(outer=False)) == []
    assert found(columns(outer=True, step=lambda _k: slice(None))) == []
    assert undefined_lanes(lower(columns(outer=True), X), X) == 32 * 12


def test_what_is_lost_is_undefined_in_the_program() -> None:
    assert undefined_lanes(lower(row_sums(reduced=0, compiler_params=TPU), X), X) == 32
    assert undefined_lanes(lower(row_sums(compiler_params=TPU), X), X) == 0
    assert undefined_lanes(lower(row_sums(reduced=0, compiler_params=GPU), X), X) == 0


@pytest.mark.parametrize(("together", "lost"), [(2, []), (1, [LOST])])
def test_index_maps_are_evaluated(together: int, lost: list[str]) -> None:
    """Blocks 0 0 1 1, or 0 1 0 1."""

    def kernel(x_ref: Any, o_ref: Any) -> None:
        @pl.when(pl.program_id(0) < 2)
        def _() -> None:
            o_ref[...] = jnp.zeros_like(o_ref)

        o_ref[...] += x_ref[...]

    def host(x: Array) -> Array:
        return pl.pallas_call(
            kernel,
            grid=(4,),
            in_specs=[pl.BlockSpec((8, 16), lambda i: (i, 0))],
            out_specs=pl.BlockSpec((8, 16), lambda i: (i // together % 2, 0)),
            out_shape=jax.ShapeDtypeStruct((16, 16), F32),
            compiler_params=TPU,
        )(x)

    assert found(host) == lost


def test_a_gpu_has_no_windows() -> None:
    assert LOST not in found(row_sums(reduced=0, compiler_params=GPU))


# -- outputs in an input's memory ----------------------------------------------------------------------------------


def in_place(index_map: Callable[[Any], Any], aliased: bool = True, **options: Any) -> Any:
    """x[index_map(i)] * 2 to block i, in x's own memory."""

    def kernel(x_ref: Any, o_ref: Any) -> None:
        o_ref[...] = x_ref[...] * 2

    def host(x: Array) -> Array:
        return pl.pallas_call(
            kernel,
            grid=(4,),
            in_specs=[pl.BlockSpec((8, 16), lambda i: (index_map(i), 0))],
            out_specs=pl.BlockSpec((8, 16), lambda i: (i, 0)),
            out_shape=jax.ShapeDtypeStruct(x.shape, F32),
            input_output_aliases={0: 0} if aliased else {},
            **options,
        )(x)

    return host


def before(i: Any) -> Any:
    return jnp.maximum(i - 1, 0)


def after(i: Any) -> Any:
    return jnp.minimum(i + 1, 3)


@pytest.mark.parametrize("options", [{"compiler_params": TPU}, {"interpret": True}, {"compiler_params": GPU}])
def test_an_input_that_an_earlier_step_overwrote(options: Any) -> None:
    assert found(in_place(before, **options)) == [OVERLAP]
    assert found(in_place(before, aliased=False, **options)) == []
    assert found(in_place(lambda i: i, **options)) == []


def test_an_input_that_only_later_steps_overwrite() -> None:
    assert found(in_place(after, compiler_params=TPU)) == []
    assert found(in_place(after, compiler_params=tpu("parallel"))) == [OVERLAP]
    assert found(in_place(after, compiler_params=GPU)) == [OVERLAP]


def test_a_window_that_is_fetched_before_anything_is_written_back() -> None:
    """Both blocks stay for the whole grid: the input is read once, at the beginning."""

    def kernel(x_ref: Any, o_ref: Any) -> None:
        o_ref[...] = x_ref[...] * (pl.program_id(0) + 1).astype(F32)

    def host(x: Array) -> Array:
        whole = pl.BlockSpec(x.shape, lambda i: (0, 0))
        out = jax.ShapeDtypeStruct(x.shape, F32)
        call = pl.pallas_call(
            kernel,
            grid=(3,),
            in_specs=[whole],
            out_specs=whole,
            out_shape=out,
            input_output_aliases={0: 0},
            compiler_params=TPU,
        )
        return call(x)

    assert found(host) == []


# -- in the program ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("host", "races"),
    [
        (row_sums(compiler_params=tpu("parallel", "parallel")), 1),
        (in_place(before, compiler_params=TPU), 1),
        (row_sums(compiler_params=tpu("parallel", "arbitrary")), 0),
        (row_sums(interpret=True), 0),
        (row_sums(reduced=0, compiler_params=TPU), 0),
    ],
    ids=["parallel axis", "aliased", "in order", "a note", "undefined instead"],
)
def test_an_error_is_a_race_in_the_program(host: Any, races: int) -> None:
    program = parse_program(captured_trace(capture_jax(host, [X], names=["x"]), {"x": X}).kir)
    assert [op.attrs["kernel"] for op in program.walk() if op.name == "launch"] == ["two_steps"] * races


# -- what surrounds a call -----------------------------------------------------------------------------------------


def test_a_vmapped_axis_is_parallel_and_has_blocks_of_its_own() -> None:
    batch = np.stack([X, X])
    assert found(jax.vmap(row_sums(compiler_params=TPU)), batch) == []
    assert found(jax.vmap(row_sums(compiler_params=tpu("arbitrary", "parallel"))), batch) == [RACE]
    assert found(jax.vmap(with_scratch("parallel", "arbitrary")), batch) == []


def test_calls_inside_other_functions_are_seen() -> None:
    inner = row_sums(compiler_params=GPU)
    assert found(lambda x: jax.lax.fori_loop(0, 2, lambda _i, c: c + jax.jit(inner)(x), jnp.zeros((32, 1)))) == [RACE]


def test_grids_of_many_steps_are_sampled() -> None:
    def host(*semantics: str) -> Any:
        def kernel(x_ref: Any, o_ref: Any) -> None:
            @pl.when(pl.program_id(1) == 0)
            def _() -> None:
                o_ref[...] = jnp.zeros_like(o_ref)

            o_ref[...] += x_ref[...]

        def call(x: Array) -> Array:
            return pl.pallas_call(
                kernel,
                grid=(300, 200),
                in_specs=[pl.BlockSpec((1, 1), lambda i, k: (i, k))],
                out_specs=pl.BlockSpec((1, 1), lambda i, k: (i, 0)),
                out_shape=jax.ShapeDtypeStruct((300, 1), F32),
                compiler_params=tpu(*semantics),
            )(x)

        return call

    x = np.zeros((300, 200), np.float32)
    assert found(host("parallel", "arbitrary"), x) == []
    assert found(host("parallel", "parallel"), x) == [RACE]


def test_blocks_that_prefetched_scalars_choose_are_not_judged() -> None:
    def kernel(_ids: Any, x_ref: Any, o_ref: Any) -> None:
        o_ref[...] += x_ref[...]

    def host(ids: Array, x: Array) -> Array:
        spec = pltpu.PrefetchScalarGridSpec(
            num_scalar_prefetch=1,
            grid=(4,),
            in_specs=[pl.BlockSpec((8, 16), lambda i, ids: (i, 0))],
            out_specs=pl.BlockSpec((8, 16), lambda i, ids: (ids[i], 0)),
        )
        return pl.pallas_call(
            kernel, grid_spec=spec, out_shape=jax.ShapeDtypeStruct(x.shape, F32), compiler_params=tpu("parallel")
        )(ids, x)

    assert found(host, np.array([0, 1, 1, 2], np.int32), X) == []
