"""Pallas kernels through jax's interpreter: structure of the program, undefined memory, and values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

from lowering.errors import Unsupported
from lowering.ir.program import Op, Program
from tests.frontends.stablehlo.support import assert_same, evaluate, lower, normal, undefined_lanes

Array = Any


def _like(x: Array) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(x.shape, x.dtype)


def _rows(kernel: Callable[..., None], index_map: Callable[..., Any] = lambda i: (i, 0), **options: Any) -> Any:
    """A kernel over blocks of four rows."""

    def host(x: Array) -> Array:
        block = (4, x.shape[1])
        return pl.pallas_call(
            kernel,
            grid=(pl.cdiv(x.shape[0], 4),),
            in_specs=[pl.BlockSpec(block, index_map)],
            out_specs=pl.BlockSpec(block, lambda i: (i, 0)),
            out_shape=_like(x),
            **options,
        )(x)

    return host


def _double(x_ref: Any, o_ref: Any) -> None:
    o_ref[...] = x_ref[...] * 2


def _softmax(x_ref: Any, o_ref: Any) -> None:
    e = jnp.exp(x_ref[...] - jnp.max(x_ref[...], axis=1, keepdims=True))
    o_ref[...] = e / jnp.sum(e, axis=1, keepdims=True)


def _matmul_kernel(x_ref: Any, y_ref: Any, o_ref: Any, acc_ref: Any) -> None:
    @pl.when(pl.program_id(2) == 0)
    def _() -> None:
        acc_ref[...] = jnp.zeros_like(acc_ref)

    acc_ref[...] += jnp.dot(x_ref[...], y_ref[...], preferred_element_type=jnp.float32)

    @pl.when(pl.program_id(2) == pl.num_programs(2) - 1)
    def _() -> None:
        o_ref[...] = acc_ref[...]


def _matmul(x: Array, y: Array) -> Array:
    (m, k), n = x.shape, y.shape[1]
    return pl.pallas_call(
        _matmul_kernel,
        grid=(m // 4, n // 8, k // 16),
        in_specs=[pl.BlockSpec((4, 16), lambda i, j, k: (i, k)), pl.BlockSpec((16, 8), lambda i, j, k: (k, j))],
        out_specs=pl.BlockSpec((4, 8), lambda i, j, k: (i, j)),
        out_shape=jax.ShapeDtypeStruct((m, n), jnp.float32),
        scratch_shapes=[pltpu.VMEM((4, 8), jnp.float32)],
    )(x, y)


def _windowed_sum(x: Array) -> Array:
    def kernel(x_ref: Any, o_ref: Any) -> None:
        o_ref[0, 0] = lax.fori_loop(0, 4, lambda i, c: c + jnp.sum(x_ref[pl.ds(i * 3, 3), :]), jnp.float32(0))

    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct((1, 1), jnp.float32))(x)


def _scoped(x: Array) -> Array:
    def kernel(x_ref: Any, o_ref: Any) -> None:
        def inner(scratch: Any) -> None:
            scratch[...] = x_ref[...] * 2
            o_ref[...] = scratch[...] + 1

        pl.run_scoped(inner, pltpu.VMEM(x.shape, x.dtype))

    return pl.pallas_call(kernel, out_shape=_like(x))(x)


def _copied(x: Array) -> Array:
    def kernel(x_ref: Any, o_ref: Any, scratch: Any, semaphore: Any) -> None:
        copy = pltpu.make_async_copy(x_ref, scratch, semaphore)
        copy.start()
        copy.wait()
        o_ref[...] = scratch[...] * 2

    return pl.pallas_call(
        kernel,
        in_specs=[pl.BlockSpec(memory_space=pl.ANY)],
        out_shape=_like(x),
        scratch_shapes=[pltpu.VMEM(x.shape, x.dtype), pltpu.SemaphoreType.DMA],
    )(x)


def _prefetched(x: Array, ids: Array) -> Array:
    def kernel(ids_ref: Any, x_ref: Any, o_ref: Any) -> None:
        o_ref[...] = x_ref[...] + ids_ref[pl.program_id(0)].astype(jnp.float32)

    spec = pltpu.PrefetchScalarGridSpec(
        num_scalar_prefetch=1,
        grid=(3,),
        in_specs=[pl.BlockSpec((1, 7), lambda i, ids: (ids[i], 0))],
        out_specs=pl.BlockSpec((1, 7), lambda i, _ids: (i, 0)),
    )
    return pl.pallas_call(kernel, grid_spec=spec, out_shape=jax.ShapeDtypeStruct((3, 7), x.dtype))(ids, x)


def _ops(program: Program, name: str) -> list[Op]:
    return [op for op in program.walk() if op.name == name]


VALUES: dict[str, tuple[Any, Any, tuple[np.ndarray, ...]]] = {
    "rows": (_rows(_softmax), lambda x: jax.nn.softmax(x, axis=1), (normal(8, 7),)),
    "ragged rows": (_rows(_softmax), lambda x: jax.nn.softmax(x, axis=1), (normal(13, 7),)),
    "backward rows": (
        _rows(_double, lambda i: (2 - i, 0)),
        lambda x: x.reshape(3, 4, 7)[::-1].reshape(12, 7) * 2,
        (normal(12, 7),),
    ),
    "matmul": (_matmul, lambda x, y: x @ y, (normal(8, 32), normal(32, 16))),
    "windows": (_windowed_sum, lambda x: x.sum()[None, None], (normal(12, 7),)),
    "scoped scratch": (_scoped, lambda x: x * 2 + 1, (normal(3, 7),)),
    "async copy": (_copied, lambda x: x * 2, (normal(3, 7),)),
    "scalar prefetch": (
        _prefetched,
        lambda x, ids: x[ids] + ids[:, None].astype(jnp.float32),
        (normal(5, 7), np.array([4, 0, 2], np.int32)),
    ),
    "vmap": (jax.vmap(_rows(_double)), lambda x: x * 2, (normal(2, 6, 5),)),
}


@pytest.mark.parametrize("name", VALUES)
def test_a_kernel_computes_what_its_reference_computes(name: str) -> None:
    kernel, reference, args = VALUES[name]
    (got,) = evaluate(lower(kernel, *args), *args)
    assert_same(got, np.asarray(jax.jit(reference)(*args)), ulps=256)


def test_the_grid_is_a_for_with_only_the_output_carried() -> None:
    (loop,) = _ops(lower(_rows(_softmax), normal(13, 7)), "for")
    assert [str(v.type) for v in loop.operands] == ["i32", "i32", "i32", "f32[16,7]"]


def test_padding_and_unwritten_outputs_are_undefined() -> None:
    program = lower(_rows(_softmax), normal(13, 7))
    undefined = {v for op in _ops(program, "undefined") for v in op.results}
    pads = _ops(program, "pad")
    assert len(pads) == 2
    assert all(op.operands[1] in undefined for op in pads)
    assert not any(np.any(np.isnan(op.attrs["value"])) for op in _ops(program, "constant"))


def test_padding_of_integers_is_undefined_too() -> None:
    program = lower(_rows(_double), np.arange(6 * 5, dtype=np.int32).reshape(6, 5))
    assert [op.attrs["to"] for op in _ops(program, "undefined")] == ["i32"] * 3


def test_without_padding_only_the_output_starts_undefined() -> None:
    assert len(_ops(lower(_rows(_softmax), normal(8, 7)), "undefined")) == 1


def test_a_block_outside_its_array_reads_as_undefined() -> None:
    shifted = lower(_rows(_double, lambda i: (i + 1, 0)), normal(12, 7))
    assert any("outside its array" in note for note in shifted.notes)
    assert len(_ops(shifted, "select")) > len(_ops(lower(_rows(_double), normal(12, 7)), "select"))


def _first_row(x_ref: Any, o_ref: Any) -> None:
    o_ref[0, :] = x_ref[0, :]


@pytest.mark.parametrize(
    ("kernel", "rows", "undefined"),
    [
        (_rows(_softmax), 13, 0),
        (_rows(_first_row), 12, 3 * 3 * 7),
        (_rows(_double, lambda i: (i + 1, 0)), 12, 4 * 7),
    ],
    ids=["padding is not read", "rows nobody wrote", "the block after the last"],
)
def test_undefined_lanes_reach_the_output_only_where_a_kernel_lets_them(kernel: Any, rows: int, undefined: int) -> None:
    x = normal(rows, 7)
    assert undefined_lanes(lower(kernel, x), x) == undefined


def test_reading_past_the_end_of_a_ref_is_undefined() -> None:
    def kernel(x_ref: Any, o_ref: Any) -> None:
        o_ref[...] = x_ref[pl.ds(9 + pl.program_id(0), 4), :]

    def host(x: Array) -> Array:
        block = pl.BlockSpec((4, 7), lambda i: (i, 0))
        shape = jax.ShapeDtypeStruct((8, 7), x.dtype)
        whole = pl.BlockSpec((12, 7), lambda i: (0, 0))
        return pl.pallas_call(kernel, grid=(2,), in_specs=[whole], out_specs=block, out_shape=shape)(x)

    x = normal(12, 7)
    # the windows start at rows 9 and 10 of 12, and each takes four
    assert undefined_lanes(lower(host, x), x) == (1 + 2) * 7


def test_writing_past_the_end_of_a_ref_moves_nothing() -> None:
    def kernel(x_ref: Any, o_ref: Any) -> None:
        o_ref[...] = jnp.zeros_like(o_ref)
        o_ref[pl.ds(2 + pl.program_id(0), 3), :] = x_ref[:3, :]

    def host(x: Array) -> Array:
        block = pl.BlockSpec((4, 7), lambda i: (i, 0))
        return pl.pallas_call(
            kernel, grid=(2,), in_specs=[block], out_specs=block, out_shape=jax.ShapeDtypeStruct((8, 7), x.dtype)
        )(x)

    x = normal(8, 7)
    wanted = np.zeros((8, 7), np.float32)
    wanted[2:4], wanted[7] = x[:2], x[4]
    assert_same(evaluate(lower(host, x), x)[0], wanted)


def test_interpretation_is_forced_and_noted() -> None:
    forced = "pallas_call is lowered through jax's interpreter (interpret=True), not for the accelerator"
    assert forced in lower(_rows(_double), normal(8, 7)).notes
    assert forced not in lower(_rows(_double, interpret=True), normal(8, 7)).notes


def test_a_tpu_interpreter_kernel_is_lowered_the_same_way() -> None:
    assert len(_ops(lower(_rows(_double, interpret=pltpu.InterpretParams()), normal(8, 7)), "for")) == 1


def test_ops_point_at_the_line_of_the_kernel() -> None:
    (exp,) = _ops(lower(_rows(_softmax), normal(8, 7)), "math")
    assert exp.span.file == __file__
    assert exp.span.line == _softmax.__code__.co_firstlineno + 1
    assert exp.span.name == "_softmax"


def test_hardware_random_numbers_are_unsupported() -> None:
    def kernel(x_ref: Any, o_ref: Any) -> None:
        pltpu.prng_seed(0)
        o_ref[...] = x_ref[...]

    with pytest.raises(Unsupported, match="prng_seed"):
        lower(_rows(kernel), normal(8, 7))
