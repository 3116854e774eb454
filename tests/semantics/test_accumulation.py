"""SEMANTICS §0 and §4: which sums are equal up to order, and which only look alike."""

from __future__ import annotations

import numpy as np
import pytest

from irverify.exits import exit_code_of
from tests.semantics.programs import EQUAL, Body, Level, arrays, judged, launched, level

X = "f32[5,8]"


def tree(k, x):
    return k.tree(k.columns(x))


def sequential(k, x):
    return k.chain(k.columns(x))


def split(k, x):
    return k.add(k.sum(k.part(x, 0, 4)), k.sum(k.part(x, 4, 8)))


def kahan(k, x):
    total = k.lit(0.0, k.column(x, 0))
    lost = total
    for term in k.columns(x):
        y = k.sub(term, lost)
        grown = k.add(total, y)
        lost = k.sub(k.sub(grown, total), y)
        total = grown
    return total


SAME = {
    "tree and sequence": (tree, sequential),
    "split and whole": (split, lambda k, x: k.sum(x)),
    "reduce and written out": (lambda k, x: k.sum(x), sequential),
    "reversed": (lambda k, x: k.sum(x), lambda k, x: k.sum(k.b("reverse", x, axes=[1]))),
    "padded with zeros": (lambda k, x: k.sum(x), lambda k, x: k.sum(k.b("concat", x, k.lit(0.0, x), axis=1))),
}

APART: dict[str, tuple[Body, Body]] = {
    "Kahan and naive": (kahan, sequential),
    "sum(x) s and sum(x s)": (lambda k, x: k.mul(k.sum(x), 0.3), lambda k, x: k.sum(k.mul(x, 0.3))),
    "f32 and bf16 accumulators": (
        lambda k, x: k.sum(x), lambda k, x: k.cast(k.sum(k.cast(x, "bf16")), "f32")),
    "f32 and f64 accumulators": (
        lambda k, x: k.sum(x), lambda k, x: k.cast(k.sum(k.cast(x, "f64")), "f32")),
    "a bf16 hop of each tile": (
        lambda k, x: k.add(k.cast(k.cast(k.sum(k.part(x, 0, 4)), "bf16"), "f32"), k.sum(k.part(x, 4, 8))), split),
    "y + ((x + M) - M) and y + x": (
        lambda k, x: k.add(k.part(x, 0, 4), k.sub(k.add(k.part(x, 4, 8), 1e6), 1e6)),
        lambda k, x: k.add(k.part(x, 0, 4), k.part(x, 4, 8))),
    "y + ((x + m) - m) with m an input": (
        lambda k, x: k.add(k.part(x, 0, 2), k.sub(k.add(k.part(x, 2, 4), k.part(x, 4, 6)), k.part(x, 4, 6))),
        lambda k, x: k.add(k.part(x, 0, 2), k.part(x, 2, 4))),
    "x - x and 0": (lambda k, x: k.sub(x, x), lambda k, x: k.lit(0.0, x)),
    "a many-term sum subtracted": (
        lambda k, x: k.sub(k.column(x, 0), k.sum(k.part(x, 1, 8))),
        lambda k, x: k.chain([k.column(x, 0), *(k.b("neg", c) for c in k.columns(x)[1:])])),
    "products in another grouping": (
        lambda k, x: k.mul(k.column(x, 0), k.mul(k.column(x, 1), k.column(x, 2))),
        lambda k, x: k.mul(k.mul(k.column(x, 0), k.column(x, 1)), k.column(x, 2))),
}  # fmt: skip

LESS: dict[str, tuple[Body, Body]] = {
    "a term twice": (lambda k, x: k.add(k.sum(x), k.column(x, 0)), lambda k, x: k.sum(x)),
    "a term missing": (lambda k, x: k.sum(k.part(x, 0, 7)), lambda k, x: k.sum(x)),
    "a term's sign": (lambda k, x: k.sub(k.sum(k.part(x, 0, 7)), k.column(x, 7)), lambda k, x: k.sum(x)),
    "a constant of 1e-9 more": (lambda k, x: k.add(k.sum(x), 1e-9), lambda k, x: k.sum(x)),
    "n - 1 for n": (lambda k, x: k.div(k.sum(x), 7.0), lambda k, x: k.div(k.sum(x), 8.0)),
    "a scan in reverse": (lambda k, x: k.b("scan", x, axis=1, combine="add", reverse=True),
                          lambda k, x: k.b("scan", x, axis=1, combine="add")),
    "an exclusive scan": (lambda k, x: k.sub(k.b("scan", x, axis=1, combine="add"), x),
                          lambda k, x: k.b("scan", x, axis=1, combine="add")),
    "sum of squares and square of sum": (lambda k, x: k.sum(k.mul(x, x)), lambda k, x: k.mul(k.sum(x), k.sum(x))),
}  # fmt: skip


@pytest.mark.parametrize("name", SAME)
def test_sums_of_the_same_terms_are_equal_up_to_order(name: str) -> None:
    assert level(*SAME[name], X) is Level.REASSOCIATED


@pytest.mark.parametrize("name", APART)
def test_not_merely_another_order(name: str) -> None:
    assert level(*APART[name], X) < Level.REASSOCIATED


@pytest.mark.parametrize("name", LESS)
def test_other_terms_are_different(name: str) -> None:
    assert level(*LESS[name], X) is Level.DIFFERENT


def test_bf16_accumulators_over_4096_equal_terms_are_not_equal_enough() -> None:
    """1024 in sequence, 3280 as a tree, 3284 in truth: equal up to order, a finding, and exit code 1."""
    data = {"x0": np.full((1, 256), 0.8018, arrays(0, "bf16[1]")["x0"].dtype)}
    report = judged(lambda k, x: k.sum(x), sequential, "bf16[1,256]", data=data)
    assert report.verdict.level <= Level.REASSOCIATED
    assert {"order-sensitive", "precision-lost"} & {f.code for f in report.findings if f.severity == "error"}
    assert exit_code_of(report) == 1


def test_a_dropped_k_tail_is_different() -> None:
    def short(k, x, y):
        return k.b("dot", k.part(x, 0, 7), k.b("slice", y, start=(0, 0), limit=(7, 4), step=(1, 1)), acc="f32")

    assert level(short, lambda k, x, y: k.b("dot", x, y, acc="f32"), "f32[3,8]", "f32[8,4]") is Level.DIFFERENT


def test_atomics_race_so_they_are_never_bitwise_even_with_themselves() -> None:
    def add_all(k, x, out):
        k.b.op("atomic_rmw", [k.at(out, k.int(0)), k.load(x, k.pid())], combine="add")

    def one(k, x, out):
        k.store(out, k.int(0), k.sum(k.load(x, k.lanes(8)), 0))

    racing = launched(add_all, "f32[8]", out="f32[1]", grid=8, init=0.0)
    assert level(racing, racing, "f32[8]") is Level.REASSOCIATED
    assert level(racing, launched(one, "f32[8]", out="f32[1]"), "f32[8]") is Level.REASSOCIATED
    assert level(racing, launched(add_all, "f32[8]", out="f32[1]", grid=8, init=1.0), "f32[8]") is Level.DIFFERENT
    assert level(racing, launched(add_all, "f32[8]", out="f32[1]", grid=7, init=0.0), "f32[8]") not in EQUAL
