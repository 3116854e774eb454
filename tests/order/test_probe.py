"""Trees revealed by masks are the known ones, give their boxes' bits, and what has no one order is refused."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from equivalence.order.box import Box, Formats
from equivalence.order.corrected import LAST
from equivalence.order.masks import scales
from equivalence.order.probe import reveal, reveal_dot, verify
from equivalence.order.tree import OrderTree, Step
from lowering.errors import Unsupported, UsageError

from . import boxes
from .boxes import adding, canonical, chain, cutting, multiplying, shape_of

SHAPES = {
    "chain": chain(range(23)),
    "reversed chain": chain(range(22, -1, -1)),
    "halves": boxes.halves(range(37)),
    "4 lanes": boxes.lanes(30, 4),
    "8 lanes with a tail": chain([boxes.lanes(32, 8), 32, 33, 34]),
    "blocks of 8": boxes.blocked(45, 8),
    "from both ends": chain([k // 2 if k % 2 == 0 else 20 - k // 2 for k in range(21)]),
    "two terms": (0, 1),
    "one term": 0,
}


def size_of(shape: Any) -> int:
    return boxes.fold(shape, lambda _: 1, sum)


def how(tree: OrderTree) -> Counter[tuple[str, str]]:
    return Counter((step.how, step.dtype) for step in tree.steps)


def counting(run: Callable[..., float]) -> tuple[Callable[..., float], list[int]]:
    calls = [0]

    def counted(*arrays: np.ndarray) -> float:
        calls[0] += 1
        return run(*arrays)

    return counted, calls


# -- sums ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("dtype", ["f32", "f64", "f16", "bf16"])
def test_the_known_tree_comes_back(name: str, dtype: str) -> None:
    shape = SHAPES[name]
    run, n = adding(shape, dtype), size_of(shape)
    tree = reveal(run, n, dtype)
    assert shape_of(tree) == canonical(shape)
    assert all(step.dtype == dtype and step.how == "add" for step in tree.steps)
    assert verify(tree, run, 50, dtype=dtype).holds


@pytest.mark.parametrize("seed", range(30))
def test_random_trees(seed: int) -> None:
    n = 3 + seed * 2
    shape = boxes.random_shape(n, seed)
    assert shape_of(reveal(adding(shape), n)) == canonical(shape)


@pytest.mark.parametrize("dtype", ["f16", "bf16"])
@pytest.mark.parametrize("name", ["chain", "blocks of 8", "two terms"])
def test_narrow_values_in_a_wide_accumulator_rounded_at_the_end(name: str, dtype: str) -> None:
    shape = SHAPES[name]
    run, n = adding(shape, "f32", dtype), size_of(shape)
    tree = reveal(run, n, dtype)
    assert shape_of(tree) == canonical(shape)
    assert how(tree) == ({("add", "f32"): n - 1, ("cast", dtype): 1} if n > 2 else {("add", dtype): 1})
    assert verify(tree, run, 200, dtype=dtype).holds


def test_more_terms_than_a_narrow_result_can_count() -> None:
    shape = boxes.lanes(270, 4)
    tree = reveal(adding(shape, "f32", "bf16"), 270, "bf16")
    assert shape_of(tree) == canonical(shape)


def test_a_tail_in_a_wider_accumulator() -> None:
    """As some BLAS: blocks in f32, what is left over in f64, and both together in f64, given as f32."""
    block, tail = chain(range(16)), chain(range(16, 21))

    def run(values: np.ndarray) -> float:
        return float(np.float32(adding(tail, "f64")(values) + adding(block, "f32")(values)))

    tree = reveal(run, 21)
    assert shape_of(tree) == canonical((block, tail))
    assert how(tree) == {("add", "f32"): 15, ("add", "f64"): 5, ("cast", "f32"): 1}
    assert verify(tree, run, 300).holds


def test_a_given_accumulator_is_taken() -> None:
    tree = reveal(adding(chain(range(9)), "f32", "f16"), 9, "f16", accumulator="f32")
    assert how(tree) == {("add", "f32"): 8, ("cast", "f16"): 1}
    with pytest.raises(Unsupported, match="no one tree"):
        reveal(adding(chain(range(9)), "f32"), 9, "f32", accumulator="f64")


def test_starting_from_zero_or_from_the_first_term_is_the_same_tree() -> None:
    def from_zero(values: np.ndarray) -> float:
        total = np.float32(0)
        for value in values:
            total += value
        return float(total)

    assert reveal(from_zero, 12).steps == reveal(adding(chain(range(12))), 12).steps


def test_a_long_reversed_chain_takes_few_calls_and_no_recursion() -> None:
    run, calls = counting(lambda values: float(np.add.accumulate(values[::-1])[-1]))  # accumulate goes term by term
    tree = reveal(run, 3000)
    assert tree.steps[0].children == (2998, 2999) and tree.depth() == 2999
    assert calls[0] < 40 * 3000


# -- dot products ----------------------------------------------------------------------------------------------------

DOTS: dict[str, tuple[Any, list[int]]] = {
    "rounded products": (chain(range(11)), []),
    "fma from zero": (chain(range(11)), list(range(1, 11))),
    "fma down to the first": (chain(range(10, -1, -1)), list(range(10))),
    "every second": (chain(range(11)), [2, 4, 6, 8, 10]),
    "two chains": ((chain(range(0, 12, 2)), chain(range(1, 12, 2))), [2, 4, 6, 8, 10, 3, 5, 7, 9, 11]),
    "product onto a sum": ((chain(range(4)), 4), [4]),
    "in pairs": (chain([(0, 1), (2, 3), (4, 5)]), [1, 2, 5]),
}


def fused_terms(tree: OrderTree) -> set[int]:
    return {step.children[0] for step in tree.steps if step.how == "fma"}


@pytest.mark.parametrize("dtype", ["f32", "f64", "f16"])
@pytest.mark.parametrize("name", DOTS)
def test_which_products_are_rounded(name: str, dtype: str) -> None:
    shape, fused = DOTS[name]
    run, n = multiplying(shape, fused, dtype), size_of(shape)
    tree = reveal_dot(run, n, dtype)
    assert fused_terms(tree) == set(fused) and tree.products == frozenset(range(n))
    assert how(tree) == Counter({("fma", dtype): len(fused), ("add", dtype): n - 1 - len(fused)})
    assert verify(tree, run, 100, dtype=dtype).holds


def test_a_tree_without_its_fused_products_is_seen_to_be_wrong() -> None:
    run = multiplying(*DOTS["fma from zero"])
    tree = reveal_dot(run, 11)
    rounded = OrderTree(tree.terms, tuple(Step("add", s.children, s.dtype) for s in tree.steps), tree.products)
    found = verify(rounded, run, 100)
    assert found.agree < 100 and found.first is not None and len(found.first) == 2


def test_products_rounded_before_they_reach_a_wide_accumulator() -> None:
    def run(a: np.ndarray, b: np.ndarray) -> float:
        return float(np.float32(adding(chain(range(7)), "f64")(a * b)))

    tree = reveal_dot(run, 7)
    assert how(tree) == {("cast", "f32"): 8, ("add", "f64"): 6}
    assert verify(tree, run, 300).holds


def test_exact_products_in_a_wide_accumulator() -> None:
    def run(a: np.ndarray, b: np.ndarray) -> float:
        return float(np.float32(adding(chain(range(7)), "f64")(a.astype(np.float64) * b.astype(np.float64))))

    tree = reveal_dot(run, 7)
    assert how(tree) == {("cast", "f32"): 1, ("add", "f64"): 6}
    assert verify(tree, run, 300).holds


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("dtype", ["f32", "bf16"])
def test_few_narrow_products(n: int, dtype: str) -> None:
    def run(a: np.ndarray, b: np.ndarray) -> float:
        wide = a.astype(np.float32) * b.astype(np.float32)
        return float(a.dtype.type(adding(chain(range(n)), "f32")(wide)))

    assert verify(reveal_dot(run, n, dtype), run, 300, dtype=dtype).holds


@pytest.mark.parametrize("width", [4, 8, 16])
@pytest.mark.parametrize("dtype", ["f16", "bf16"])
def test_adders_of_many_products(width: int, dtype: str) -> None:
    shape = boxes.fused_chain(64, width)
    tree = reveal_dot(cutting(shape), 64, dtype, result="f32")
    assert shape_of(tree) == canonical(shape)
    assert {(step.how, step.dtype) for step in tree.steps} == {("fused", "f32")}
    assert {len(step.children) for step in tree.steps} == ({width, width + 1})


def test_adders_side_by_side_and_of_blocks() -> None:
    shape = ((boxes.fused_chain(16, 4), tuple(range(16, 20))), (20, (21, 22), (23, 24, 25)))
    assert shape_of(reveal_dot(cutting(shape), 26, "f16", result="f32")) == canonical(shape)


def test_how_an_adder_rounds_is_said() -> None:
    assert "do not round to nearest" in reveal_dot(cutting(boxes.fused_chain(64, 16), 4), 64, "f16", result="f32").what
    assert "round" not in reveal(adding(chain(range(5))), 5).what


def test_factors_rounded_before_an_adder_of_many_are_seen() -> None:
    def coarse(array: np.ndarray) -> np.ndarray:
        return (array.view(np.uint16) & np.uint16(0xFF80)).view(np.float16)

    run = cutting(boxes.fused_chain(32, 8))
    with pytest.raises(Unsupported, match="no one tree"):
        reveal_dot(lambda a, b: run(coarse(a), coarse(b)), 32, "f16", result="f32")


# -- Kahan's sum -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [3, 4, 12, 100])
@pytest.mark.parametrize("last", [False, True])
def test_kahans_sum(n: int, last: bool) -> None:
    run = boxes.kahan(range(n), last)
    tree = reveal(run, n)
    assert tree.steps == (Step("compensated", tuple(range(n)), "f32", LAST if last else "Kahan"),)
    assert verify(tree, run, 300).holds
    plain = reveal(adding(chain(range(n))), n)
    assert verify(plain, run, 1000).agree < 1000


@pytest.mark.parametrize("dtype", ["f32", "bf16", "f16"])
@pytest.mark.parametrize("last", [False, True])
def test_kahans_sum_of_blocks_in_lanes(last: bool, dtype: str) -> None:
    """As XLA's long sums on CPUs: blocks added plainly, the blocks of each lane by Kahan's sum, lanes plainly."""
    blocks = [[chain(range(lane + start, lane + start + 16, 2)) for start in range(64, -1, -16)] for lane in (0, 1)]

    def run(values: np.ndarray) -> float:
        of_lanes = []
        for parts in blocks:
            sums = np.array([adding(part)(values) for part in parts], np.float32)
            of_lanes.append(np.float32(boxes.kahan(range(5), last)(sums)))
        return float(values.dtype.type(of_lanes[0] + of_lanes[1]))

    tree = reveal(run, 80, dtype)
    assert how(tree) == Counter({("add", "f32"): 71, ("compensated", "f32"): 2, ("cast", dtype): int(dtype != "f32")})
    assert shape_of(tree) == tuple(tuple(parts) for parts in blocks)
    assert verify(tree, run, 500, dtype=dtype).holds


# -- what has no one order -------------------------------------------------------------------------------------------

REFUSED: dict[str, tuple[Callable[[], Callable[[np.ndarray], float]], str]] = {
    "fsum": (lambda: lambda v: float(np.float32(math.fsum(v.tolist()))), "exact or compensated"),
    "Neumaier": (lambda: boxes.neumaier, "exact or compensated"),
    "shuffled": (boxes.shuffling, "changes from call to call"),
    "sorted": (lambda: boxes.ascending, "meet at once|no one tree"),
    "smallest first": (lambda: boxes.smallest_first, "meet at once|no one tree"),
    "by signs": (lambda: boxes.by_signs, "no one tree|meet at once"),
    "kept results": (boxes.remembering, "no one tree"),
    "mean": (lambda: lambda v: float(v.mean()), "no one tree: equal terms come out as"),
    "maximum": (lambda: lambda v: float(v.max()), "no one tree: equal terms come out as"),
    "integers": (lambda: lambda v: float(sum(int(x * 2.0**130) for x in v.tolist()) * 2.0**-130), "no one tree|exact"),
}


@pytest.mark.parametrize("n", [12, 100])
@pytest.mark.parametrize("name", REFUSED)
def test_no_tree_for_what_has_none(name: str, n: int) -> None:
    make, words = REFUSED[name]
    with pytest.raises(Unsupported, match=words):
        reveal(make(), n, name=name)


def test_a_box_that_takes_turns_between_two_orders() -> None:
    calls = [0]
    runs = [adding(chain(range(9))), adding(chain(range(8, -1, -1)))]

    def run(values: np.ndarray) -> float:
        calls[0] += 1
        return runs[calls[0] % 2](values)

    with pytest.raises(Unsupported, match="changes from call to call"):
        reveal(run, 9)


def test_an_order_that_one_large_term_changes() -> None:
    run, other = adding(chain(range(9))), adding(chain(range(8, -1, -1)))
    with pytest.raises(Unsupported, match="no one tree"):
        reveal(lambda values: (other if abs(values[2]) > 100 else run)(values), 9)


def test_errors_of_the_box_are_its_own() -> None:
    with pytest.raises(ZeroDivisionError):
        reveal(lambda values: 1 / 0, 4)
    with pytest.raises(UsageError, match="at least 1"):
        reveal(adding(0), 0)


def test_calls_are_limited() -> None:
    box = Box(lambda values: 0.0, 4, "f32", 1, "f", 2)
    assert box.call() == box.call() == 0.0
    with pytest.raises(Unsupported, match=re.escape("more than 2 calls")):
        box.call()


# -- checking ----------------------------------------------------------------------------------------------------------


def test_a_wrong_tree_is_seen_with_its_input() -> None:
    right, wrong = adding(chain(range(30))), reveal(adding(chain(range(29, -1, -1))), 30)
    found = verify(wrong, right, 100)
    assert not found.holds and found.agree < 90
    assert found.first is not None and right(found.first[0]) == found.of_box != found.of_tree
    assert verify(reveal(right, 30), right, 100).first is None


@pytest.mark.parametrize("formats", [Formats("f16", "f16"), Formats("bf16", "f32"), Formats("f32", "f32", 2),
                                     Formats("f64", "f64"), Formats("f8e4m3fn", "f32", 2)], ids=str)  # fmt: skip
def test_masks_swallow_and_units_count(formats: Formats) -> None:
    """Half of what the narrowest accumulator keeps beside M is more than all units in use; the masks fit."""
    for scale in scales(formats, 4096):
        assert scale.most * 2.0**scale.unit <= 2.0 ** (scale.mask - 24 - 2)
        assert scale.mask <= 2 * formats.value.emax and scale.most >= 1
    assert scales(formats, 4096)


def test_formats_without_room_are_refused() -> None:
    with pytest.raises(Unsupported, match="no mask fits"):
        reveal(adding(chain(range(5)), "f32", "f8e4m3fn"), 5, "f8e4m3fn")
