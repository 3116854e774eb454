"""Accumulations out of traces: the steps, the terms and their places, and the same bits when the tree is evaluated."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from equivalence.divergence.cone import root_of
from equivalence.divergence.trace import Trace
from equivalence.order.extract import Accumulation, accumulations
from equivalence.order.lanes import Graph
from equivalence.order.tree import OrderTree, evaluate
from equivalence.order.tree import Step as S
from tests.order.conftest import SUBJECTS

Traced = Callable[[str, str], Trace]


def found(trace: Trace, *index: int) -> list[Accumulation]:
    lanes = next(iter(trace.outputs.values()))
    at = index or tuple(extent - 1 for extent in lanes.shape)
    return accumulations(trace, root_of(lanes, at))


def hows(acc: Accumulation) -> list[str]:
    return [step.how for step in acc.tree.steps]


@pytest.mark.parametrize("subject", [s for s in SUBJECTS if s[1] not in ("cumsum_reversed", "welford")], ids=".".join)
def test_the_terms_are_the_summed_row_in_order(subject: tuple[str, str], traced: Traced) -> None:
    acc = found(traced(*subject))[0]
    places = [int(label.split("[")[1].split("]")[0].split(",")[-1]) for label in acc.tree.terms if "[" in label]
    if subject[1] not in ("not_kahan", "never_lost", "swapped_neumaier", "index_add", "residual", "sorted_sum"):
        assert places == list(range(64)), acc.tree.terms


FIXED = [
    s
    for s in SUBJECTS
    if s[1] in ("sequential", "reversed_sum", "four_accumulators", "fma_chain", "one_after_another", "halves",
                "neighbours", "bf16_steps", "fori", "scan", "pairwise", "kahan", "two_sum", "neumaier")
]  # fmt: skip


@pytest.mark.parametrize("subject", FIXED, ids=".".join)
def test_a_fixed_order_gives_the_bits_of_the_program(subject: tuple[str, str], traced: Traced) -> None:
    trace = traced(*subject)
    acc, graph = found(trace)[0], Graph(trace)
    assert not acc.tree.open_steps()
    result = evaluate(acc.tree, acc.values(graph))
    assert float(result[0]) == graph.at(acc.root).value


@pytest.mark.parametrize("subject", [("triton", "sequential"), ("triton", "kahan")], ids=".".join)
def test_another_order_gives_other_bits(subject: tuple[str, str], traced: Traced) -> None:
    trace = traced(*subject)
    acc, graph = found(trace)[0], Graph(trace)
    steps = [S("add", (63, 62))] + [S("add", (64 + k, 61 - k)) for k in range(62)]
    backwards = OrderTree(acc.tree.terms, tuple(steps))
    values = [np.float32(10.0 ** (k % 7 - 3)) * np.asarray(v) for k, v in enumerate(acc.values(graph))]
    assert float(evaluate(backwards, values)[0]) != float(evaluate(acc.tree, values)[0])


def test_a_loop_over_blocks_is_open_inside_and_fixed_outside(traced: Traced) -> None:
    for subject in (("triton", "blocked"), ("jax", "pallas_blocks")):
        steps = found(traced(*subject))[0].tree.steps
        blocks = [step for step in steps if step.how == "open"]
        assert [step.children for step in blocks] == [tuple(range(k, k + 16)) for k in range(0, 64, 16)]
        assert [step.how for step in steps if step.how != "open"] == ["add"] * 3
    assert {s.by for s in found(traced("triton", "blocked"))[0].tree.steps if s.how == "open"} == {"TTIR"}
    assert {s.by for s in found(traced("jax", "pallas_blocks"))[0].tree.steps if s.how == "open"} == {"StableHLO"}


def test_lanes_are_strided(traced: Traced) -> None:
    tree = found(traced("triton", "strided_lanes"))[0].tree
    spans = tree.spans()
    last = tree.steps[-1]
    assert last.how == "open" and [list(spans[c]) for c in last.children] == [list(range(j, 64, 16)) for j in range(16)]


def test_split_k_says_who_adds_what(traced: Traced) -> None:
    atomic, stored = (found(traced("triton", name))[0].tree for name in ("split_atomic", "split_store"))
    assert [s.where for s in atomic.steps if s.how == "open"] == [f"_split_k[{k}]" for k in range(4)]
    assert atomic.steps[-1].how == "racing" and len(atomic.steps[-1].children) == 4
    assert [s.how for s in stored.steps if s.how != "open"] == ["add"] * 3
    assert stored.steps[-1].where == ""


def test_compensated_sums_are_told_by_their_errors(traced: Traced) -> None:
    for name, by in (("kahan", "Kahan"), ("neumaier", "Neumaier"), ("two_sum", "two-sum")):
        (acc,) = found(traced("triton", name))
        assert [(s.how, s.by, len(s.children)) for s in acc.tree.steps] == [("compensated", by, 64)]


@pytest.mark.parametrize("name", ["not_kahan", "never_lost", "swapped_neumaier"])
def test_what_carries_no_error_compensates_nothing(name: str, traced: Traced) -> None:
    """A wrong sign, an error that is always 0, the wrong branch."""
    assert all("compensated" not in hows(acc) for acc in found(traced("triton", name)))


def test_where_partial_sums_are_rounded(traced: Traced) -> None:
    tree = found(traced("triton", "matmul_bf16_hop"))[0].tree
    assert [s.how for s in tree.steps[:2]] == ["open", "cast"] and tree.steps[1].dtype == "bf16"
    steps = found(traced("torch", "bf16_steps"))[0].tree.steps
    assert sum(step.how == "cast" and step.dtype == "bf16" for step in steps) == 62
    assert all(step.how == "open" for step in found(traced("triton", "matmul"))[0].tree.steps)


def test_a_dot_takes_its_accumulator_in(traced: Traced) -> None:
    steps = found(traced("triton", "matmul"))[0].tree.steps
    assert [len(step.children) for step in steps] == [16, 17, 17, 17]
    assert {step.by for step in steps} == {"one dot"}


def test_online_softmax_rescales_between_blocks(traced: Traced) -> None:
    tree = found(traced("triton", "online_logsumexp"))[0].tree
    assert hows(found(traced("triton", "online_logsumexp"))[0]).count("scale") == 3 and tree.size == 64


def test_a_scan_takes_the_terms_so_far(traced: Traced) -> None:
    assert found(traced("triton", "cumsum"), 1, 9)[0].tree.steps[0].children == tuple(range(10))
    back = found(traced("triton", "cumsum_reversed"), 1, 50)[0].tree
    assert back.terms[0] == "x[1, 50]" and back.terms[-1] == "x[1, 63]"


def test_colliding_updates_race(traced: Traced) -> None:
    (acc,) = found(traced("torch", "index_add"))
    assert hows(acc) == ["racing"] and acc.tree.size > 5


def test_fused_products_are_not_rounded(traced: Traced) -> None:
    tree = found(traced("triton", "fma_chain"))[0].tree
    assert {step.how for step in tree.steps} == {"fma"} and tree.products == frozenset(range(64))


def test_a_difference_within_a_combiner_is_no_sum_of_itself(traced: Traced) -> None:
    """Welford's update by Chan, Golub and LeVeque (1979): m2 - m1 is computed where pairs are merged."""
    found_here = found(traced("triton", "welford"))
    assert {63, 64} <= {acc.tree.size for acc in found_here}  # what 63 merges add to the squares, and the count
    assert any(step.how == "open" and step.by == "TTIR" for acc in found_here for step in acc.tree.steps)
