"""Names of orders: golden texts, the round trip, and that no two orders share a name."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from equivalence.order.canonical import canonical, digest, stripped
from equivalence.order.groupings import Before, Blocked, ByBits, Lanes, Then
from equivalence.order.naming import Building, name
from equivalence.order.patterns import Bits, Carry, Flat, Fold, Mismatch, Pairwise, Pattern, Place, Visit
from equivalence.order.tree import OrderTree, Step
from tests.order import trees
from tests.order.trees import Grower

CAST, SCALE = Step("cast", (), "bf16"), Step("scale", (), "f32")


def hopped_terms(how: str) -> OrderTree:
    grower = Grower(8)
    grower.chain([grower.step(how, (i,), "bf16" if how == "cast" else "f32") for i in range(8)])  # type: ignore[arg-type]
    return grower.tree()


def with_rounded_blocks(round_result: bool) -> OrderTree:
    grower = Grower(128)
    blocks = [grower.step("open", range(i, i + 32), by="TTIR") for i in range(0, 128, 32)]
    total = grower.chain([grower.step("cast", (block,), "bf16") for block in blocks])
    if round_result:
        grower.step("cast", (total,), "f16")
    return grower.tree()


def half_blocks() -> OrderTree:
    grower = Grower(128)
    grower.chain([grower.step("open", range(i, i + 32), "f16", by="TTIR") for i in range(0, 128, 32)])
    return grower.tree()


def cascade(size: int) -> OrderTree:
    """Thirty-two lanes, each in blocks of sixteen."""
    grower = Grower(size)

    def lane(ids: range) -> int:
        return grower.chain([grower.chain(ids[i : i + 16]) for i in range(0, len(ids), 16)])

    grower.chain([lane(range(j, size, 32)) for j in range(32)])
    return grower.tree()


def with_start(blocks: int) -> OrderTree:
    grower = Grower(1 + 32 * blocks)
    grower.chain([0, *(grower.step("open", range(i, i + 32)) for i in range(1, grower.size, 32))])
    return grower.tree()


def negated_with_last() -> OrderTree:
    grower = Grower(65)
    terms = [grower.step("neg", (i,)) for i in range(65)]
    grower.chain([grower.by_bits(dict(enumerate(terms[:64])), range(5, -1, -1)), terms[64]])
    return grower.tree()


def odd_blocks() -> OrderTree:
    """Equal blocks in an order of their own."""
    grower = Grower(32)
    order = [(0, 3), (1, 5), (8, 2), (9, 6), (10, 7), (11, 12), (13, 4)]
    sums = []
    for start in range(0, 32, 8):
        ids = list(range(start, start + 8))
        for a, b in order:
            ids.append(grower.step("add", (ids[a], ids[b])))
        sums.append(ids[-1])
    grower.chain(sums)
    return grower.tree()


def rotated(start: int) -> OrderTree:
    return trees.sequential(8, [*range(start, 8), *range(start)])


GOLDEN: dict[str, Callable[[], OrderTree]] = {
    "no terms": lambda: OrderTree((), ()),
    "one term": lambda: Grower(1).tree(),
    "sequential(2) in f32": lambda: trees.sequential(2),
    "sequential(64) in f32": lambda: trees.sequential(64),
    "sequential(64) in bf16": lambda: trees.sequential(64, dtype="bf16"),
    "sequential(64, reversed) in f32": lambda: trees.sequential(64, reversed(range(64))),
    "sequential(8, from 3 round) in f32": lambda: rotated(3),
    "sequential(64, in strides of 8) in f32": lambda: trees.sequential(
        64, np.arange(64).reshape(8, 8).T.ravel().tolist()
    ),
    "sequential(5, in the order 1 3 0 2 4) in f32": lambda: trees.sequential(5, [3, 1, 0, 2, 4]),
    "sequential(64) with fused products in f32": lambda: trees.sequential(64, how="fma"),
    "sequential(64) in f32, products rounded first": lambda: replace(
        trees.sequential(64), products=frozenset(range(64))
    ),
    "sequential(8) in f32, each term rounded to bf16 first": lambda: hopped_terms("cast"),
    "sequential(8) in f32, each term negated first": lambda: hopped_terms("neg"),
    "pairwise(128) in f32": lambda: trees.pairwise(128),
    "pairwise(100, neighbours first) in f32": lambda: trees.pairwise(100),
    "pairwise(1024, leaf 128: strided-lanes(8 over 128, each sequential, combined pairwise)) in f32": (
        lambda: trees.numpy_sum(1024)
    ),
    "pairwise(1000, halves a multiple of 8, leaf 128: strided-lanes(8 over 128, each sequential, combined pairwise)) "
    "in f32": lambda: trees.numpy_sum(1000),
    "strided-lanes(8 over 100, each sequential, combined pairwise, rest added after) in f32": lambda: trees.numpy_sum(
        100
    ),
    "strided-lanes(8 over 100, each sequential, combined pairwise) in f32": lambda: trees.lanes(100, 8),
    "strided-lanes(32 over 4000, each blocked(16 x 7 + 13, inner sequential(16), outer sequential), combined "
    "sequential) in f32": lambda: cascade(4000),
    "tree(16, shuffle-down) in f32": lambda: trees.by_bits(16, (3, 2, 1, 0)),
    "tree(16, bits 0,3,1,2) in f32": lambda: trees.by_bits(16, (0, 3, 1, 2)),
    "tree(100 of 128, shuffle-down) in f32": lambda: trees.by_bits(100, range(6, -1, -1)),
    "grouped(by bits 0,1,9 of 1024, inner sequential, outer tree(bits 6,5,4,3,2,8,7)) in f32": (
        lambda: trees.triton_row_sum(1024, (0, 1, 9), (6, 5, 4, 3, 2, 8, 7))
    ),
    "unordered(128, left open by StableHLO) in f32": lambda: trees.flat(128),
    "racing(128, atomics) in f32": lambda: trees.flat(128, "racing", "atomics"),
    "fused(16) in f32, exact products": lambda: trees.flat(16, "fused", "", products=True),
    "fused(16) in f32": lambda: trees.flat(16, "fused", ""),
    "compensated(Kahan, 64) in f32": lambda: trees.flat(64, "compensated", "Kahan"),
    "sequential(64) of fused(8+1) in f32, exact products": lambda: trees.chained(64, 8, "fused"),
    "sequential(128) of unordered(32+1, left open by one dot) in f32": lambda: trees.chained(
        128, 32, "open", "one dot"
    ),
    "blocked(32 x 4, inner unordered(32, left open by TTIR), outer sequential) in f32": lambda: trees.blocks(128, 32),
    "blocked(32 x 3 + 4, inner unordered(32, left open by TTIR), outer sequential) in f32": lambda: trees.blocks(
        100, 32
    ),
    "blocked(1 + 32, inner unordered(32), outer sequential) in f32": lambda: with_start(1),
    "blocked(64 + 1, inner tree(64, shuffle-down), outer sequential) in f32, each term negated first": (
        lambda: negated_with_last()
    ),
    "irregular(5 terms, (3 + open(1, 4, neg((0 + 2)))), 669452fa0e6a6c83) in f32": (
        lambda: trees.random_tree(5, np.random.default_rng(2), False)
    ),
    "blocked(1 + 32 x 2, inner unordered(32), outer sequential) in f32": lambda: with_start(2),
    "blocked(32 x 4, inner unordered(32, left open by TTIR) in f16, outer sequential) in f32": half_blocks,
    "blocked(32 x 4, inner unordered(32, left open by TTIR), outer sequential, running sum rounded to bf16 after each "
    "block) in f32": lambda: trees.blocks(128, 32, hop=CAST),
    "blocked(32 x 4, inner unordered(32, left open by TTIR), outer sequential, running sum rescaled before each "
    "addition) in f32": lambda: trees.blocks(128, 32, hop=SCALE, before=True),
    "blocked(32 x 4, inner unordered(32, left open by TTIR), then rounded to bf16, outer sequential) in f32": (
        lambda: with_rounded_blocks(False)
    ),
    "blocked(32 x 4, inner unordered(32, left open by TTIR), then rounded to bf16, outer sequential) in f32, "
    "then rounded to f16": lambda: with_rounded_blocks(True),
    "split-K(16 x 4, each sequential(16), combined racing(atomics)) in f32": lambda: trees.split(4, 16, "racing"),
    "split-K(16 x 4, each sequential(16), combined sequential) in f32": lambda: trees.split(4, 16, "add"),
    "blocked(8 x 4, inner irregular(8 terms, depth 5, e146ff51ea9f171f), outer sequential) in f32": odd_blocks,
    "irregular(37 terms, depth 11, d577ed6925bdef55) in f32": lambda: trees.random_tree(37, np.random.default_rng(1)),
}


LARGER = sorted(GOLDEN.keys() - {"no terms", "one term", "sequential(2) in f32"})


@pytest.mark.parametrize("text", GOLDEN)
def test_golden(text: str) -> None:
    tree = GOLDEN[text]()
    named = name(tree)
    assert str(named) == text
    assert digest(named.build()) == digest(tree)
    assert str(name(named.build())) == text


def test_golden_names_belong_to_different_orders() -> None:
    shared = {
        "sequential(64) in f32, products rounded first",
        "split-K(16 x 4, each sequential(16), combined sequential) in f32",
    }
    assert len({digest(GOLDEN[text]()) for text in GOLDEN if text not in shared}) == len(GOLDEN) - len(shared)


# -- orders that are nearly regular --------------------------------------------------------------------------------


@pytest.mark.parametrize("text", LARGER)
def test_one_step_in_another_format_is_another_name(text: str) -> None:
    tree = GOLDEN[text]()
    steps = list(tree.steps)
    middle = len(steps) // 2
    steps[middle] = replace(steps[middle], dtype="f64")
    other = replace(tree, steps=tuple(steps))
    assert (digest(other) == digest(tree)) == (str(name(other)) == text)


@pytest.mark.parametrize("text", LARGER)
def test_two_terms_exchanged_is_another_name_or_the_same_order(text: str) -> None:
    tree = GOLDEN[text]()
    change = {0: tree.size - 1, tree.size - 1: 0}
    steps = tuple(replace(s, children=tuple(change.get(c, c) for c in s.children)) for s in tree.steps)
    other = replace(tree, steps=steps)
    assert (digest(other) == digest(tree)) == (str(name(other)) == text)


def test_a_chain_with_one_fused_product_less_is_no_fused_chain() -> None:
    tree = trees.sequential(16, how="fma")
    steps = (*tree.steps[:7], replace(tree.steps[7], how="add"), *tree.steps[8:])
    assert not name(replace(tree, steps=steps)).regular


def test_partial_sums_rounded_in_one_place_only() -> None:
    grower = Grower(16)
    total = grower.chain(range(8))
    grower.chain([grower.step("cast", (total,), "bf16"), *range(8, 16)])
    assert str(name(grower.tree())) != str(name(trees.sequential(16)))
    assert digest(name(grower.tree()).build()) == digest(grower.tree())


# -- what is no order ----------------------------------------------------------------------------------------------


def test_exchanged_operands_are_the_same_order() -> None:
    rng = np.random.default_rng(5)
    for text in ("sequential(64) in f32", "pairwise(128) in f32", "racing(128, atomics) in f32"):
        tree = GOLDEN[text]()
        steps = tuple(replace(s, children=tuple(int(c) for c in rng.permutation(s.children))) for s in tree.steps)
        assert str(name(replace(tree, steps=steps))) == text


def test_the_product_of_a_fused_step_is_not_exchanged_with_the_sum() -> None:
    grower = Grower(3, True)
    grower.step("fma", (0, grower.step("fma", (2, 1))))
    other = Grower(3, True)
    other.step("fma", (0, other.step("fma", (1, 2))))
    assert digest(grower.tree()) != digest(other.tree())
    assert str(name(grower.tree())) != str(name(other.tree()))


def test_lines_programs_factors_and_who_leaves_open_are_no_order() -> None:
    one, two = trees.blocks(64, 16, "TTIR", SCALE, True), trees.blocks(64, 16, "ATen", SCALE, True)
    steps = tuple(replace(s, line="k.py:3", where="program 1", factor=2.0) for s in two.steps)
    assert digest(one) == digest(replace(two, steps=steps))


def test_a_start_at_zero_is_no_term() -> None:
    tree = trees.sequential(5)
    started = replace(tree, terms=("0.0", "x[0]", "x[1]", "x[2]", "x[3]"))
    assert str(name(started)) == "sequential(4) in f32"
    assert digest(started) == digest(trees.sequential(4))
    assert stripped(tree) is tree
    assert str(name(replace(tree, terms=("1.0", *tree.terms[1:])))) == "sequential(5) in f32"
    assert str(name(replace(tree, terms=("0",) * 5))) == "no terms"


def test_two_atomics_have_one_order() -> None:
    assert str(name(trees.flat(2, "racing", "atomics"))) == "sequential(2) in f32"
    assert str(name(trees.flat(3, "racing", "atomics"))) == "racing(3, atomics) in f32"


# -- the published trap: equal-looking row sums --------------------------------------------------------------------


def test_triton_row_sums_at_each_number_of_warps_have_names_of_their_own() -> None:
    """A row of 1024: bits 0 and 1 in a thread, five bits of lanes, then warps, then further registers."""
    names = set()
    for warps in (1, 2, 4, 8):
        bits = list(range(10))
        count = warps.bit_length() - 1
        lanes, wide = bits[2:7], bits[7 : 7 + count]
        registers = [*bits[:2], *bits[7 + count :]]
        names.add(str(name(trees.triton_row_sum(1024, registers, [*lanes[::-1], *wide[::-1]]))))
    assert len(names) == 4
    assert all(text.startswith(("grouped(by bits 0,1", "blocked(")) for text in names), names


def test_every_permutation_of_index_bits_has_a_name_of_its_own() -> None:
    names = {str(name(trees.by_bits(16, order))) for order in itertools.permutations(range(4))}
    assert len(names) == 24


# -- a name determines its order -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("size", "count"), [(3, 3), (4, 15), (5, 105), (6, 945)])
def test_all_small_trees_have_different_names(size: int, count: int) -> None:
    found = {str(name(trees.from_pairs(size, pairs))) for pairs in trees.all_binary(tuple(range(size)))}
    assert len(found) == count


@settings(max_examples=150, deadline=None)
@given(st.integers(2, 24), st.integers(0, 2**32), st.booleans())
def test_any_tree_is_rebuilt_from_its_name(size: int, seed: int, plain: bool) -> None:
    tree = trees.random_tree(size, np.random.default_rng(seed), plain)
    assert canonical(name(tree).build()) == canonical(tree)


@settings(max_examples=150, deadline=None)
@given(st.integers(2, 4), st.integers(0, 2**32), st.integers(0, 2**32))
def test_small_trees_share_a_name_only_if_they_are_one_order(size: int, one: int, two: int) -> None:
    a, b = (trees.random_tree(size, np.random.default_rng(seed), False) for seed in (one, two))
    assert (str(name(a)) == str(name(b))) == (digest(a) == digest(b))


def random_pattern(rng: np.random.Generator, deep: int = 2) -> Pattern:
    """Any sentence of the language of names."""
    dtype = str(rng.choice(["f32", "f32", "bf16"]))
    hops = tuple(
        (str(how), "" if how == "neg" else "bf16") for how in rng.choice(["cast", "neg", "scale"], rng.integers(1, 3))
    )
    visit = [Visit(), Visit("reversed"), Visit("strides", 2), Visit("from", 2)][rng.integers(4)]
    carry = Carry(hops, bool(rng.integers(2)), bool(rng.integers(2))) if rng.random() < 0.3 else Carry()
    simple: list[Pattern] = [
        Fold(dtype, str(rng.choice(["add", "fma"])), visit=visit, carry=carry),
        Fold(
            dtype, str(rng.choice(["fused", "open"])), 2 + int(rng.integers(3)), 1 + int(rng.integers(4)), carry=carry
        ),
        Flat(str(rng.choice(["open", "racing", "fused"])), dtype),
        Flat("compensated", dtype, str(rng.choice(["Kahan", "Neumaier"]))),
        Bits(dtype, tuple(int(i) for i in rng.permutation(4))),
        Pairwise(dtype, str(rng.choice(["low", "high", "neighbours"]))),
    ]
    if not deep or rng.random() < 0.3:
        return simple[rng.integers(len(simple))]
    inner, outer = random_pattern(rng, deep - 1), random_pattern(rng, deep - 1)
    width, bits = int(rng.integers(2, 5)), tuple(sorted(int(i) for i in rng.permutation(4)[: rng.integers(1, 4)]))
    nested: list[Pattern] = [
        Blocked(inner, outer, bool(rng.integers(2)), width, int(rng.integers(0, 3))),
        Lanes(inner, outer, False, width, bool(rng.integers(2))),
        ByBits(inner, outer, False, bits, 4),
        Before(hops, inner),
        Then(inner, hops),
        Pairwise(dtype, "low", width, inner),
    ]
    return nested[rng.integers(len(nested))]


def test_a_text_of_the_language_stands_for_one_order() -> None:
    """Two patterns with the same text give the same steps, also those that would never be found."""
    rng = np.random.default_rng(11)
    known: dict[str, str] = {}
    for _ in range(2000):
        size = int(rng.integers(9, 17))
        pattern, maker = random_pattern(rng), Building(size)
        try:
            pattern.emit(maker, range(size))
        except Mismatch:
            continue
        if maker.steps:
            order = digest(OrderTree(tuple(f"x[{i}]" for i in range(size)), tuple(maker.steps)))
            assert known.setdefault(pattern.text(Place(size)), order) == order, pattern.text(Place(size))
    assert len(known) > 1000


def test_what_a_pattern_gives_has_a_name_that_gives_it_back() -> None:
    rng = np.random.default_rng(12)
    known: dict[str, str] = {}
    for _ in range(250):
        size = int(rng.integers(2, 17))
        pattern, maker = random_pattern(rng), Building(size)
        try:
            pattern.emit(maker, range(size))
        except Mismatch:
            continue
        tree = OrderTree(tuple(f"x[{i}]" for i in range(size)), tuple(maker.steps))
        named = name(tree)
        assert digest(named.build()) == digest(tree), pattern.text(Place(size))
        assert known.setdefault(str(named), digest(tree)) == digest(tree), str(named)


# -- size ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tree", [trees.sequential(4096), trees.numpy_sum(4096), trees.blocks(4096, 64)])
def test_thousands_of_terms(tree: OrderTree) -> None:
    start = time.process_time()
    named = name(tree)
    assert time.process_time() - start < 3  # some tenths of a second, unless the machine is busy
    assert named.regular and digest(named.build()) == digest(tree)


def test_a_chain_of_thousands_in_no_regular_order() -> None:
    order = np.random.default_rng(0).permutation(4096).tolist()
    tree = trees.sequential(4096, order)
    assert str(name(tree)).startswith("irregular(4096 terms, depth 4095, ")
    assert len(canonical(tree).nodes) == 2 * 4096 - 1


def _around_a_core(last: bool, odd: Step | None) -> OrderTree:
    """Two thousand single additions around five terms in no regular order, some with something else between."""
    size, core = 2005, [(0, 3), (1, 4)]
    grower = Grower(size)
    at = 0 if last else size - 5
    sums = [grower.step("add", (at + a, at + b)) for a, b in core]
    total = grower.chain([at + 2, *sums])
    for k, term in enumerate(range(5, size) if last else range(size - 6, -1, -1)):
        total = grower.step("add", (total, term), odd.dtype if odd and odd.how == "add" and k % 2 else "f32")
        total = grower.step("cast", (total,), "bf16") if odd and odd.how == "cast" and k % 3 == 0 else total
    return grower.tree()


@pytest.mark.parametrize("last", [True, False])
@pytest.mark.parametrize("odd", [None, Step("add", (), "bf16"), CAST])
def test_long_chains_that_are_not_quite_regular(last: bool, odd: Step | None) -> None:
    tree = _around_a_core(last, odd)
    start = time.process_time()
    named = name(tree)
    assert time.process_time() - start < 3
    assert digest(named.build()) == digest(tree)
