"""The orders of the golden subjects, by the names that a reader of their sources would give them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from equivalence.divergence.cone import root_of
from equivalence.divergence.trace import Trace
from equivalence.order.canonical import digest
from equivalence.order.extract import Accumulation, accumulations
from equivalence.order.naming import name
from equivalence.order.relation import relate

Traced = Callable[[str, str], Trace]
NAMES = {
    ("triton", "sequential"): "sequential(64) in f32",
    ("triton", "reversed_sum"): "sequential(64, reversed) in f32",
    ("triton", "blocked"): "blocked(16 x 4, inner unordered(16, left open by TTIR), outer sequential) in f32",
    ("triton", "strided_lanes"): (
        "strided-lanes(16 over 64, each sequential, combined unordered(left open by TTIR)) in f32"
    ),
    ("triton", "four_accumulators"): "strided-lanes(4 over 64, each sequential, combined pairwise) in f32",
    ("triton", "kahan"): "compensated(Kahan, 64) in f32",
    ("triton", "neumaier"): "compensated(Neumaier, 64) in f32",
    ("triton", "online_logsumexp"): (
        "blocked(16 x 4, inner unordered(16, left open by TTIR), outer sequential, running sum rescaled before each "
        "addition) in f32"
    ),
    ("triton", "fma_chain"): "sequential(64) with fused products in f32",
    ("triton", "matmul"): "sequential(64) of unordered(16+1, left open by one dot) in f32",
    ("triton", "matmul_bf16_hop"): (
        "blocked(16 x 4, inner unordered(16, left open by one dot) in f32, then rounded to bf16, outer sequential) "
        "in bf16"
    ),
    ("triton", "split_atomic"): (
        "split-K(16 x 4, each unordered(16, left open by TTIR), combined racing(atomics)) in f32"
    ),
    ("triton", "split_store"): "split-K(16 x 4, each unordered(16, left open by TTIR), combined sequential) in f32",
    ("torch", "total"): "unordered(64, left open by ATen) in f32",
    ("torch", "one_after_another"): "sequential(64) in f32",
    ("torch", "halves"): "tree(64, shuffle-down) in f32",
    ("torch", "neighbours"): "pairwise(64) in f32",
    ("torch", "bf16_steps"): "sequential(64) in f32, running sum rounded to bf16 between additions",
    ("torch", "matmul"): "unordered(64, left open by one dot) in f32",
    ("jax", "total"): "unordered(64, left open by StableHLO) in f32",
    ("jax", "fori"): "sequential(64) in f32",
    ("jax", "pairwise"): "pairwise(64) in f32",
    ("jax", "pallas_blocks"): "blocked(16 x 4, inner unordered(16, left open by StableHLO), outer sequential) in f32",
    ("jax", "dot"): "unordered(64, left open by one dot) in f32",
}


def outermost(trace: Trace) -> Accumulation:
    lanes = next(iter(trace.outputs.values()))
    return accumulations(trace, root_of(lanes, tuple(extent - 1 for extent in lanes.shape)))[0]


@pytest.mark.parametrize("subject", NAMES, ids=".".join)
def test_names(subject: tuple[str, str], traced: Traced) -> None:
    tree = outermost(traced(*subject)).tree
    assert str(name(tree)) == NAMES[subject]
    assert digest(name(tree).build()) == digest(tree)


@pytest.mark.parametrize(
    ("a", "b", "kind"),
    [
        (("triton", "sequential"), ("jax", "fori"), "same"),
        (("triton", "blocked"), ("jax", "pallas_blocks"), "same"),
        (("triton", "blocked"), ("jax", "total"), "a refines b"),
        (("torch", "total"), ("triton", "four_accumulators"), "b refines a"),
        (("triton", "matmul"), ("torch", "matmul"), "a refines b"),
        (("triton", "matmul_bf16_hop"), ("torch", "matmul"), "different"),
        (("triton", "sequential"), ("triton", "reversed_sum"), "different"),
        (("triton", "kahan"), ("torch", "total"), "different"),
        (("triton", "split_atomic"), ("triton", "split_store"), "not deterministic"),
    ],
)
def test_relations(a: tuple[str, str], b: tuple[str, str], kind: str, traced: Traced) -> None:
    assert relate(outermost(traced(*a)).tree, outermost(traced(*b)).tree).kind == kind
