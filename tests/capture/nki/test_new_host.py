"""How kernels of the new API are called: by host functions, by each other, with what they take and give back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from equivalence.evaluator import Machine
from lowering.capture.nki import isa_new as nisa
from lowering.capture.nki import language_new as nl
from lowering.capture.nki import root_new as nki
from lowering.capture.nki.host import capture_nki
from lowering.errors import Unsupported, UsageError
from lowering.nki_program import lower_nki

X = np.arange(4 * 6, dtype=np.float32).reshape(4, 6)


@nki.jit
def scaled(x: Any, factor: float = 2.0, more: Any = None) -> Any:
    out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
    tile = nl.multiply(nl.load(x), factor)
    if more is not None:
        tile = nl.add(tile, nl.load(more))
    nl.store(out, tile)
    return out


@nki.jit
def bumped(x: Any) -> None:
    """Writes its argument."""
    nl.store(x[:, 0:2], nl.add(nl.load(x[:, 0:2]), 1.0))


def run(function: Callable[..., Any], *args: Any, **kwargs: Any) -> dict[str, np.ndarray]:
    names = [f"a{i}" for i in range(len(args))] + list(kwargs)
    trace = capture_nki(function, args, kwargs, names)
    inputs = {name: trace.storages[ref.storage].data for name, ref in trace.inputs}
    outcome = Machine(lower_nki(trace), ()).run({name: data for name, data in inputs.items() if data is not None})
    return {name: np.asarray(output.data)[0] for name, output in outcome.outputs.items()}


def test_numbers_and_keywords() -> None:
    assert np.array_equal(run(scaled, X)["out0"], 2 * X)
    assert np.array_equal(run(scaled, X, 3)["out0"], 3 * X)
    assert np.array_equal(run(scaled, X, more=X + 1, factor=1.0)["out0"], X + X + 1)


def test_a_host_function_calls_kernels_and_makes_arrays() -> None:
    def host(x: Any) -> Any:
        once = scaled(x, 2.0, np.full((4, 6), 5, np.float32))
        return nki.simulate(scaled)(once, factor=-1.0), once

    found = run(host, X)
    assert np.array_equal(found["out0"], -(2 * X + 5)) and np.array_equal(found["out1"], 2 * X + 5)


def test_a_host_function_takes_views_of_arrays() -> None:
    def host(x: Any) -> Any:
        return scaled(x.T), scaled(x.reshape(3, -1)), scaled(x.transpose(1, 0)[1:3])

    found = run(host, X)
    wanted = [2 * X.T, 2 * X.reshape(3, -1), 2 * X.T[1:3]]
    assert all(np.array_equal(found[f"out{i}"], one) for i, one in enumerate(wanted))
    with pytest.raises(UsageError, match="views of it can be given to kernels"):
        run(lambda x: scaled(np.ascontiguousarray(x.T)), X)

    @nki.jit
    def inside(x: Any) -> Any:
        return scaled(x.T)

    for kernel in (inside, inside[2]):
        with pytest.raises(UsageError, match=r"write permute\(dims\)"):
            run(kernel, X)


def test_a_kernel_calls_a_kernel_and_a_function() -> None:
    def inner(x: Any) -> Any:
        return nl.square(x)

    @nki.jit
    def outer(x: Any) -> Any:
        out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
        nl.store(out, inner(nl.load(scaled(x, 0.5))))
        return out

    assert np.array_equal(run(outer, X)["out0"], (X / 2) ** 2)


def test_a_written_argument_is_an_output() -> None:
    bumpy = X.copy()
    bumpy[:, :2] += 1
    assert np.array_equal(run(bumped, X)["written:a0"], bumpy)

    @nki.jit
    def part(x: Any) -> Any:
        bumped(x)
        return x[:, 2:4]

    found = run(part, X)
    assert np.array_equal(found["out0"], X[:, 2:4]) and np.array_equal(found["written:a0"], bumpy)

    @nki.jit
    def whole(x: Any) -> Any:
        bumped(x)
        return x

    assert list(run(whole, X)) == ["out0"]


def test_arrays_that_are_not_dense_or_in_lists() -> None:
    assert np.array_equal(run(scaled, np.asfortranarray(X))["out0"], 2 * X)
    assert np.array_equal(run(scaled, X[:, ::2])["out0"], 2 * X[:, ::2])

    @nki.jit
    def total(xs: Any, options: Any) -> Any:
        return scaled(xs[0], options["factor"], options["more"])

    assert np.array_equal(run(total, [X, X], {"factor": 3.0, "more": -X})["out0"], 2 * X)
    trace = capture_nki(total, [[X, X], {"factor": 3.0, "more": -X}], names=("xs", "options"))
    assert [name for name, _ in trace.inputs] == ["xs.0", "xs.1", "options.more"]


def test_what_is_returned() -> None:
    def on_chip(x: Any) -> Any:
        return nl.load(x)

    def nothing(x: Any) -> None:
        nl.load(x)

    def number(x: Any) -> int:
        return 3

    cases: list[tuple[Any, str]] = [
        (on_chip, "returns a tile in sbuf (made at"), (nothing, "returns nothing and writes none"),
        (number, "returns a int; a kernel returns HBM tensors"),
    ]  # fmt: skip
    for body, words in cases:
        with pytest.raises(UsageError) as caught:
            capture_nki(nki.jit(body), [X], names=("x",))
        assert words in str(caught.value)
    with pytest.raises(UsageError, match="outside of a comparison"):
        scaled(X)


def test_options_of_jit_are_taken() -> None:
    @nki.jit(platform_target="trn2", experimental_flags="x", debug_kernel=True, show_compiler_tb=True)
    def kernel(x: Any) -> Any:
        """Documented."""
        return scaled(x)

    assert kernel.__name__ == "kernel" and kernel.__doc__ == "Documented."
    assert np.array_equal(run(kernel, X)["out0"], 2 * X)


def test_a_release_of_the_new_api_is_meant() -> None:
    with pytest.raises(UsageError, match=r"whose releases are 0\.2, 0\.3"):
        capture_nki(scaled, [X], names=("x",), version="0.1")


def test_the_device_is_named() -> None:
    @nki.jit
    def kernel(x: Any) -> Any:
        return scaled(x, float(nisa.get_nc_version().value))

    for target, factor in (("trn1", 2), ("trn2", 3), ("trn3", 4)):
        trace = capture_nki(kernel, [X], names=("x",), target=target)
        assert trace.instrs[1].src[1] == factor
    with pytest.raises(UsageError, match="no NKI target"):
        capture_nki(kernel, [X], names=("x",), target="sm_80")


@nki.jit
def chosen(x: Any) -> Any:
    out, rows = nl.ndarray((4, 6), x.dtype, buffer=nl.shared_hbm), nl.ndarray((2, 1), nl.int32)
    nisa.memset(rows, 2)
    nisa.dma_copy(out, x)
    return out.vector_select(0, rows)


def test_elements_that_other_data_choose_are_not_returned() -> None:
    with pytest.raises(Unsupported, match="chosen returns elements that other data choose"):
        capture_nki(chosen, [X], names=("x",))
