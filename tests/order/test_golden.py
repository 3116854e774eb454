"""Golden kernels: the name of each order, read off the source by hand, and the bits that the named tree gives."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from equivalence.divergence import trace as tracing
from equivalence.divergence.trace import Trace, trace
from equivalence.order.element import Named, element
from equivalence.order.lanes import Graph
from equivalence.order.tree import evaluate
from tests.order.conftest import Subject
from tests.order.one_by_one import OneByOne

NAMES: dict[tuple[str, str], str] = {
    ("triton", "sequential"): "sequential(64) in f32",
    ("triton", "reversed_sum"): "sequential(64, reversed) in f32",
    ("triton", "blocked"): "blocked(16 x 4, inner unordered(16, left open by TTIR), outer sequential) in f32",
    ("triton", "strided_lanes"):
        "strided-lanes(16 over 64, each sequential, combined unordered(left open by TTIR)) in f32",
    ("triton", "four_accumulators"): "strided-lanes(4 over 64, each sequential, combined pairwise) in f32",
    ("triton", "kahan"): "compensated(Kahan, 64) in f32",
    ("triton", "neumaier"): "compensated(Neumaier, 64) in f32",
    ("triton", "two_sum"): "compensated(two-sum, 64) in f32",
    ("triton", "online_logsumexp"):
        "blocked(16 x 4, inner unordered(16, left open by TTIR), outer sequential, "
        "running sum rescaled before each addition) in f32",
    ("triton", "cumsum"): "unordered(64, left open by TTIR) in f32",
    ("triton", "fma_chain"): "sequential(64) with fused products in f32",
    ("triton", "matmul"): "sequential(64) of unordered(16+1, left open by one dot) in f32",
    ("triton", "matmul_bf16_hop"):
        "blocked(16 x 4, inner unordered(16, left open by one dot) in f32, then rounded to bf16, "
        "outer sequential) in bf16",
    ("triton", "split_atomic"):
        "split-K(16 x 4, each unordered(16, left open by TTIR), combined racing(atomics)) in f32",
    ("triton", "split_store"): "split-K(16 x 4, each unordered(16, left open by TTIR), combined sequential) in f32",
    ("torch", "total"): "unordered(64, left open by ATen) in f32",
    ("torch", "softmax"): "unordered(64, left open by ATen) in f32",
    ("torch", "layer_norm"): "unordered(64, left open by ATen) in f32",
    ("torch", "one_after_another"): "sequential(64) in f32",
    ("torch", "halves"): "tree(64, shuffle-down) in f32",
    ("torch", "neighbours"): "pairwise(64) in f32",
    ("torch", "bf16_steps"): "sequential(64) in f32, running sum rounded to bf16 between additions",
    ("torch", "matmul"): "unordered(64, left open by one dot) in f32",
    ("torch", "index_add"): "racing(14, atomics) in f32",
    ("torch", "sorted_sum"): "unordered(64, left open by ATen) in f32",
    ("jax", "total"): "unordered(64, left open by StableHLO) in f32",
    ("jax", "fori"): "sequential(64) in f32",
    ("jax", "scan"): "sequential(64) in f32",
    ("jax", "pairwise"): "pairwise(64) in f32",
    ("jax", "pallas_blocks"): "blocked(16 x 4, inner unordered(16, left open by StableHLO), outer sequential) in f32",
    ("jax", "dot"): "unordered(64, left open by one dot) in f32",
}  # fmt: skip
Traced = Callable[[str, str], Trace]
#: Their terms are exponentials, or divided by the square root of a mean: no inputs make every partial sum exact.
INEXACT = {"softmax", "layer_norm", "online_logsumexp"}
everyone = pytest.mark.parametrize("subject", NAMES, ids=".".join)


def outermost(made: Trace) -> Named:
    return element(made).named[0]


def rebuilt(made: Trace) -> tuple[np.ndarray, float]:
    """What the tree that the name builds gives on the traced terms, and what the program gave."""
    graph, named = Graph(made), outermost(made)
    result = evaluate(named.name.build(), named.accumulation.values(graph))
    return result, graph.at(named.accumulation.root).value


def whole(inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Small whole numbers, whose sums are exact in every order and format that a golden kernel adds in."""
    rng = np.random.default_rng(5)
    return {n: x if x.dtype.kind == "i" else rng.integers(-2, 3, x.shape).astype(x.dtype) for n, x in inputs.items()}


@everyone
def test_the_name(subject: tuple[str, str], traced: Traced) -> None:
    assert str(outermost(traced(*subject)).name) == NAMES[subject]


@everyone
def test_the_named_tree_adds_up_to_the_bits_of_the_program(
    subject: tuple[str, str], traced: Traced, subjects: dict[tuple[str, str], Subject]
) -> None:
    named = outermost(traced(*subject))
    if not named.accumulation.tree.open_steps() and subject[1] != "online_logsumexp":
        result, program = rebuilt(traced(*subject))
        assert float(result[0]) == program
    if subject[1] not in INEXACT:
        kernel, inputs = subjects[subject]
        result, program = rebuilt(trace(kernel, whole(inputs), 0))
        assert float(result[0]) == program and program != 0


@everyone
def test_an_open_order_is_within_its_bound(subject: tuple[str, str], traced: Traced) -> None:
    if subject[1] == "online_logsumexp":  # the factors by which it rescales are no part of a name
        return
    made = traced(*subject)
    named = outermost(made)
    result, program = rebuilt(made)
    sizes = [np.abs(v if isinstance(v, np.ndarray) else v[0] * v[1]).astype(float)
             for v in named.accumulation.values(Graph(made))]  # fmt: skip
    unit = 2.0**-8 if "bf16" in NAMES[subject] else 2.0**-24
    assert abs(float(result[0]) - program) <= 2 * named.accumulation.tree.depth() * unit * float(np.sum(sizes))


#: Rescalings are no part of a name; a dot here adds its running sum last, where a name has it first.
OTHERWISE = {"online_logsumexp", "matmul_bf16_hop", "matmul"}


@pytest.mark.parametrize("subject", [s for s in NAMES if s[1] not in OTHERWISE], ids=".".join)
def test_open_orders_made_one_after_the_other_give_the_bits(
    subject: tuple[str, str], subjects: dict[tuple[str, str], Subject], monkeypatch: pytest.MonkeyPatch
) -> None:
    """On any numbers, softmax's and layer norm's terms included."""
    monkeypatch.setattr(tracing, "TracingMachine", OneByOne)
    result, program = rebuilt(trace(*subjects[subject], 0))
    assert float(result[0]) == program


def test_another_kernel_has_another_name() -> None:
    fixed = [name for name in NAMES.values() if "open" not in name]
    assert len(set(fixed)) >= 11


def test_a_name_of_the_other_direction_gives_other_bits(traced: Traced) -> None:
    forwards, backwards = (outermost(traced("triton", n)) for n in ("sequential", "reversed_sum"))
    values = forwards.accumulation.values(Graph(traced("triton", "sequential")))
    a, b = (float(evaluate(named.name.build(), values)[0]) for named in (forwards, backwards))
    assert a != b
