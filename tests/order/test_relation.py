"""The relation of two orders: kinds, words, and the laws of refinement."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from equivalence.order.canonical import digest
from equivalence.order.relation import legal_orders, relate, worst
from equivalence.order.tree import OrderTree, Step, evaluate
from tests.order import trees
from tests.order.trees import Grower

CAST = Step("cast", (), "bf16")


def closed_blocks(size: int, width: int) -> OrderTree:
    grower = Grower(size)
    grower.chain([grower.chain(range(i, i + width)) for i in range(0, size, width)])
    return grower.tree()


def nested_open(outer_of_blocks: bool = True) -> OrderTree:
    """An open sum of four open sums."""
    grower = Grower(12)
    sums = [grower.step("open", range(i, i + 3), by="TTIR") for i in range(0, 12, 3)]
    grower.step("open", sums, by="StableHLO")
    return grower.tree()


def open_over_rounded() -> OrderTree:
    grower = Grower(9)
    sums = [grower.step("cast", (grower.step("open", range(i, i + 3)),), "bf16") for i in range(0, 9, 3)]
    grower.step("open", sums)
    return grower.tree()


def dot(size: int) -> OrderTree:
    return trees.flat(size, by="one dot", products=True)


BLOCKS = "A adds 4 blocks of 32 one after the other, the terms of each in one unordered reduction "
BLOCKS += "(TTIR leaves the order open)"
RACING = (
    "A adds 4 slabs of 16 of different programs in an order that changes from run to run (atomics), "
    "the terms of each one after the other, B adds 4 blocks of 16 one after the other, the terms of each one after the "
    "other: A may give other bits at each run; B is an order that A may take"
)
Make = Callable[[], OrderTree]
CASES: dict[str, tuple[Make, Make, str]] = {
    "A and B add in the same order: sequential(64) in f32": (
        lambda: trees.sequential(64),
        lambda: trees.sequential(64),
        "same",
    ),
    f"{BLOCKS}, B adds 128 terms in one unordered reduction (StableHLO leaves the order open): "
    "A is one way to fill in what B leaves open": (
        lambda: trees.blocks(128, 32),
        lambda: trees.flat(128),
        "a refines b",
    ),
    f"{BLOCKS}, B adds 4 blocks of 32 one after the other, the terms of each one after the other: "
    "B is one way to fill in what A leaves open": (
        lambda: trees.blocks(128, 32),
        lambda: closed_blocks(128, 32),
        "b refines a",
    ),
    f"{BLOCKS}, B adds 128 terms one after the other": (
        lambda: trees.blocks(128, 32),
        lambda: trees.sequential(128),
        "different",
    ),
    "A adds 64 terms, B 65": (lambda: trees.sequential(64), lambda: trees.sequential(65), "different"),
    "A adds 4 terms, B 8; A adds 4 terms one after the other, B adds 8 terms pairwise": (
        lambda: trees.sequential(4),
        lambda: trees.pairwise(8),
        "different",
    ),
    "A accumulates in f32, B in bf16": (
        lambda: trees.sequential(64),
        lambda: trees.sequential(64, dtype="bf16"),
        "different",
    ),
    "A rounds 4 partial sums to bf16, B none": (
        lambda: trees.blocks(128, 32, hop=CAST),
        lambda: trees.blocks(128, 32),
        "different",
    ),
    "A rescales none, B 3 partial sums": (
        lambda: trees.blocks(128, 32),
        lambda: trees.blocks(128, 32, hop=Step("scale", ()), before=True),
        "different",
    ),
    "A fuses 63 products into additions, B rounds products first": (
        lambda: trees.sequential(64, how="fma"),
        lambda: trees.sequential(64),
        "different",
    ),
    "A adds up to 9 at a time with one rounding, B rounds every addition; A adds 16 terms 8 at a time with the running "
    "sum, each time in one addition that rounds once, B adds 16 terms one after the other": (
        lambda: trees.chained(16, 8, "fused"),
        lambda: trees.sequential(16),
        "different",
    ),
    "A carries errors along (Kahan), B rounds every addition; A adds 8 terms with the errors carried along (Kahan), "
    "B adds 8 terms one after the other": (
        lambda: trees.flat(8, "compensated", "Kahan"),
        lambda: trees.sequential(8),
        "different",
    ),
    RACING: (lambda: trees.split(4, 16, "racing"), lambda: closed_blocks(64, 16), "not deterministic"),
    "A adds 1024 terms as grouped(by bits 0,1,7,8,9 of 1024, inner sequential, outer tree(shuffle-down)), "
    "B adds 1024 terms as grouped(by bits 0,1,9 of 1024, inner sequential, outer tree(bits 6,5,4,3,2,8,7))": (
        lambda: trees.triton_row_sum(1024, (0, 1, 7, 8, 9), (6, 5, 4, 3, 2)),
        lambda: trees.triton_row_sum(1024, (0, 1, 9), (6, 5, 4, 3, 2, 8, 7)),
        "different",
    ),
}


@pytest.mark.parametrize("sentence", CASES)
def test_sentences(sentence: str) -> None:
    make_a, make_b, kind = CASES[sentence]
    relation = relate(make_a(), make_b())
    assert (relation.kind, relation.sentence) == (kind, sentence)
    turned = {"a refines b": "b refines a", "b refines a": "a refines b"}
    assert relate(make_b(), make_a()).kind == turned.get(kind, kind)


def test_differences_come_in_the_order_of_their_importance() -> None:
    a = trees.blocks(64, 16, hop=CAST)
    b = replace(
        trees.sequential(65, how="fma"),
        steps=tuple(replace(s, dtype="f64") for s in trees.sequential(65, how="fma").steps),
    )
    topics = [d.topic for d in relate(a, b).differences]
    assert topics == ["terms", "accumulator", "rounding", "fused", "order"]


def test_the_same_order_has_no_differences() -> None:
    relation = relate(trees.blocks(64, 16, "TTIR"), trees.blocks(64, 16, "ATen"))
    assert (relation.kind, relation.differences) == ("same", ())


# -- what an open step admits --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fine", "coarse", "yes"),
    [
        (lambda: trees.pairwise(12), lambda: trees.flat(12), True),
        (lambda: nested_open(), lambda: trees.flat(12), True),
        (lambda: trees.flat(12), lambda: nested_open(), False),  # the inner sums are kept whole
        (lambda: closed_blocks(12, 3), lambda: nested_open(), True),
        (lambda: closed_blocks(12, 4), lambda: nested_open(), False),
        (lambda: trees.sequential(12), lambda: nested_open(), False),
        (lambda: trees.sequential(12, dtype="f64"), lambda: trees.flat(12), False),
        (lambda: trees.blocks(12, 3, hop=CAST), lambda: trees.flat(12), False),
        (lambda: legal_orders(open_over_rounded(), np.random.default_rng(1)), lambda: open_over_rounded(), True),
        (lambda: trees.sequential(9), lambda: open_over_rounded(), False),
        (lambda: trees.sequential(12, how="fma"), lambda: dot(12), True),
        (lambda: trees.sequential(12), lambda: dot(12), True),
        (lambda: trees.chained(12, 4, "fused"), lambda: dot(12), True),
        (lambda: trees.chained(12, 4, "open", "one dot"), lambda: dot(12), True),
        (lambda: trees.flat(12), lambda: dot(12), True),
        (lambda: dot(12), lambda: trees.flat(12), False),  # how products round is open in one only
        (lambda: trees.sequential(12, how="fma"), lambda: trees.flat(12), False),
        (lambda: trees.chained(12, 4, "fused"), lambda: trees.flat(12), False),
        (lambda: trees.flat(12, "compensated", "Kahan"), lambda: trees.flat(12), False),
    ],
)  # fmt: skip
def test_what_refines_what(fine: Make, coarse: Make, yes: bool) -> None:
    assert (relate(fine(), coarse()).kind == "a refines b") == yes


def test_racing_is_not_deterministic_even_beside_itself() -> None:
    race = trees.split(4, 16, "racing")
    assert relate(race, race).kind == "not deterministic"
    assert relate(trees.split(2, 16, "racing"), closed_blocks(32, 16)).kind == "same"  # two have one order


# -- laws ----------------------------------------------------------------------------------------------------------

SIZES, SEEDS = st.integers(3, 12), st.integers(0, 2**32)


def opened(tree: OrderTree, rng: np.random.Generator) -> OrderTree:
    """The tree with every sum of additions in one format, that a coin chooses, as one open step."""
    steps = list(tree.steps)
    for k, step in enumerate(steps):
        if step.how == "add" and rng.random() < 0.5:
            children: list[int] = []
            for child in step.children:
                inner = steps[child - tree.size] if child >= tree.size else None
                merges = inner is not None and inner.how in ("open", "add") and inner.dtype == step.dtype
                children.extend(inner.children if merges and inner is not None else (child,))
            steps[k] = replace(step, how="open", children=tuple(children))
    return replace(tree, steps=tuple(steps))


@settings(max_examples=80, deadline=None)
@given(SIZES, SEEDS)
def test_an_order_is_the_same_as_itself(size: int, seed: int) -> None:
    tree = trees.random_tree(size, np.random.default_rng(seed), False)
    assert relate(tree, tree).kind == "same"


@settings(max_examples=80, deadline=None)
@given(SIZES, SEEDS)
def test_two_orders_that_refine_each_other_are_the_same(size: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    fine = trees.random_tree(size, rng, False)
    coarse = opened(fine, rng)
    relation = relate(fine, coarse)
    assert (relation.kind == "same") == (digest(fine) == digest(coarse))
    assert relation.kind in ("same", "a refines b")
    assert relate(coarse, fine).kind in ("same", "b refines a")


@settings(max_examples=80, deadline=None)
@given(SIZES, SEEDS)
def test_refinement_is_transitive(size: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    fine = trees.random_tree(size, rng, False)
    middle = opened(fine, rng)
    coarse = opened(middle, rng)
    assert relate(legal_orders(fine, rng), coarse).kind in ("same", "a refines b")


@settings(max_examples=80, deadline=None)
@given(SIZES, SEEDS)
def test_legal_orders_and_the_worst_one_fill_in_what_is_open(size: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    tree = trees.random_tree(size, rng, False)
    for filled in (legal_orders(tree, rng), worst(tree)):
        assert not filled.open_steps()
        assert relate(filled, tree).kind in ("same", "a refines b")
        assert filled.depth() <= worst(tree).depth() <= tree.depth()


def dotted(by: str) -> OrderTree:
    grower = Grower(8, products=True)
    grower.step("open", range(8), by=by)
    return grower.tree()


@pytest.mark.parametrize(("by", "fuses"), [("one dot", True), ("TTIR", False)])
def test_legal_orders_fuse_products_inside_a_dot_alone(by: str, fuses: bool) -> None:
    drawn = [legal_orders(dotted(by), np.random.default_rng(seed)) for seed in range(30)]
    kinds = [{step.how for step in tree.steps} for tree in drawn]
    assert ({"fma"} in kinds or {"add", "fma"} in kinds) is fuses and {"add"} in kinds
    assert all(step.by == "" for tree in drawn for step in tree.steps)
    assert all(relate(tree, dotted(by)).kind == "a refines b" for tree in drawn)
    factors = np.random.default_rng(0).standard_normal((8, 2, 1)).astype(np.float32)
    results = {float(evaluate(tree, [(a, b) for a, b in factors])[0]) for tree in drawn}
    assert len(results) > 1 and all(abs(r - float((factors[:, 0] * factors[:, 1]).sum())) < 1e-5 for r in results)


def all_fillings(tree: OrderTree) -> set[str]:
    """The digests of every order that a tree admits, one open step after the other."""
    found: set[str] = set()
    waiting = [(0, list(range(tree.size)), Grower(tree.size))]
    while waiting:
        done, ids, grower = waiting.pop()
        if done == len(tree.steps):
            found.add(digest(grower.tree()))
            continue
        step = tree.steps[done]
        children = [ids[c] for c in step.children]
        ways = trees.all_binary(tuple(range(len(children)))) if step.how == "open" else [None]
        for pairs in ways:
            more = Grower(tree.size)
            more.steps = list(grower.steps)
            if pairs is None:
                result = more.step(step.how, children, step.dtype)
            else:
                result = more.pairs(pairs, children, step.dtype)
            waiting.append((done + 1, [*ids, result], more))
    return found


def test_relations_are_those_of_the_sets_of_orders() -> None:
    """By enumeration: A refines B if and only if every order that A admits is one that B admits."""
    rng = np.random.default_rng(0)
    pool = [trees.random_tree(4, rng, k % 3 > 0) for k in range(24)]
    pool += [opened(tree, rng) for tree in pool]
    pool = [tree for tree in pool if all(step.how != "fused" for step in tree.steps)]
    fillings = [all_fillings(tree) for tree in pool]
    seen: set[str] = set()
    for a, admits_a in zip(pool, fillings, strict=True):
        for b, admits_b in zip(pool, fillings, strict=True):
            subset, superset = admits_a <= admits_b, admits_a >= admits_b
            expected = {(1, 1): "same", (1, 0): "a refines b", (0, 1): "b refines a", (0, 0): "different"}
            kind = relate(a, b).kind
            assert kind == expected[subset, superset]
            seen.add(kind)
    assert len(seen) == 4


def test_legal_orders_differ_from_draw_to_draw() -> None:
    rng = np.random.default_rng(3)
    assert len({digest(legal_orders(trees.flat(6), rng)) for _ in range(50)}) > 25


def test_the_worst_order_is_as_deep_as_an_open_step_allows() -> None:
    assert worst(trees.flat(4096)).depth() == 4095
    assert worst(nested_open()).depth() == nested_open().depth() == 5


def test_a_legal_order_of_thousands() -> None:
    tree = trees.flat(4096)
    assert relate(legal_orders(tree, np.random.default_rng(0)), tree).kind == "a refines b"
