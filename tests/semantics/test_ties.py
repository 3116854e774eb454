"""Ties: a strict and a lax comparison, a first and a last maximum differ where every implementation ties."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from equivalence.interpretations.tie_error import granule, held
from lowering.ir.types import I32, I64, dtype
from tests.semantics.programs import EQUAL, Body, Level, level

X, N = "f32[5,8]", 8


def scaled(k, x):
    return k.mul(x, 0.3)


def softmax(k, x):
    return k.c.softmax(x, 1)


def plain(k, x):
    return x


def named(source: Callable[..., Any], combine: str = "argmax", tie: str = "lowest", last: bool = False) -> Body:
    """The place of an extremum of each row: the first, or the last one."""

    def body(k, x):
        v = source(k, x)
        v = k.b("reverse", v, axes=[1]) if last else v
        places = k.b.index(v.type.shape, 1, I32)
        place = k.b.op("reduce", [v, places], axis=1, combine=combine, tie=tie).results[1]
        return k.b("sub", k.b.broadcast(k.b.constant(N - 1, I32), place.type.shape, ()), place) if last else place

    return body


def running(pred: str, source: Callable[..., Any]) -> Body:
    """An argmax lane by lane: of ties the last where ``pred`` is lax."""

    def body(k, x):
        columns = k.columns(source(k, x))
        best = columns[0]
        place = k.b.broadcast(k.b.constant(0, I32), best.type.shape, ())
        for i, column in enumerate(columns[1:], 1):
            better = k.cmp(pred, column, best)
            here = k.b.broadcast(k.b.constant(i, I32), best.type.shape, ())
            place, best = k.b("select", better, here, place), k.b("select", better, column, best)
        return place

    return body


def origins(descending: bool, flipped: bool, stable: bool = True) -> Body:
    def body(k, x):
        v = scaled(k, x)
        order = "descending" if descending else "ascending"
        places = k.b.op("sort", [v, k.b.index(v.type.shape, 1, I64)], axis=1, order=order, stable=stable).results[1]
        return k.b("reverse", places, axes=[1]) if flipped else places

    return body


def step(pred: str, factor: float = 0.3, threshold: float = 0.9) -> Body:
    return lambda k, x: k.where(k.cmp(pred, k.mul(x, factor), threshold), k.lit(1.0, x), 0.0)


def products(pred: str) -> Body:
    return lambda k, a, b, c, d: k.where(k.cmp(pred, k.mul(a, b), k.mul(c, d)), k.lit(1.0, a), -1.0)


def margin(pred: str) -> Body:
    return lambda k, x, y: k.where(k.cmp(pred, k.sub(k.lit(0.7, x), k.mul(x, y)), 0.0), y, 0.0)


APART: dict[str, tuple[Body, Body, tuple[str, ...]]] = {
    "the first and the last of scaled maxima": (named(scaled), named(scaled, last=True), (X,)),
    "the first and the last of scaled minima": (
        named(scaled, "argmin"), named(scaled, "argmin", last=True), (X,)),
    "the first and the last of probabilities": (named(softmax), named(softmax, last=True), (X,)),
    "a running maximum that takes equals": (named(scaled), running("ge", scaled), (X,)),
    "a stable sort and one turned round": (origins(True, False), origins(False, True), (X,)),
    "a strict and a lax threshold": (step("gt"), step("ge"), ("f32[256]",)),
    "thresholds near a constant": (step("gt", 1.0, 0.9), step("ge", 1.0, 0.9), ("f32[64]",)),
    "strict and lax products": (products("gt"), products("ge"), ("f32[64]",) * 4),
    "strict and lax margins": (margin("gt"), margin("ge"), ("f32[64]",) * 2),
    "a probability of one half": (
        lambda k, x: k.where(k.cmp("gt", k.column(softmax(k, x), 1), 0.5), k.column(x, 0), 7.0),
        lambda k, x: k.where(k.cmp("ge", k.column(softmax(k, x), 1), 0.5), k.column(x, 0), 7.0), ("f32[16,2]",)),
}  # fmt: skip


@pytest.mark.parametrize("name", APART)
def test_other_ties_are_different(name: str) -> None:
    a, b, specs = APART[name]
    assert level(a, b, *specs) is Level.DIFFERENT


def in_f64(k, x):
    return k.cast(k.mul(k.cast(x, "f64"), 0.3), "f32")


def fused(k, a, b, c, d):
    """What a multiply-add leaves of a product that ties with another after rounding."""
    left = k.b("fma", a, b, k.b("neg", k.mul(c, d)))
    return k.where(k.cmp("gt", left, 0.0), k.lit(1.0, a), -1.0)


SAME: dict[str, tuple[Body, Body, tuple[str, ...]]] = {
    "a running maximum that keeps the first": (named(scaled), running("gt", scaled), (X,)),
    "places of probabilities and of logits": (named(softmax), named(plain), (X,)),
    "places after another scaling": (named(scaled), named(lambda k, x: k.div(x, 3.0)), (X,)),
    "places of coarse and of fine numbers": (named(scaled), named(plain), ("bf16[5,8]",)),
    "an argmax that may name any": (named(scaled, tie="any"), named(scaled, last=True), (X,)),
    "a sort that keeps no order of equals": (origins(True, False, stable=False), origins(False, True), (X,)),
    "a threshold turned round": (step("gt"), lambda k, x: k.where(k.cmp("le", k.mul(x, 0.3), 0.9), k.lit(0.0, x), 1.0),
                                 ("f32[256]",)),
    "a threshold in a wider format": (
        step("gt"), lambda k, x: k.where(k.cmp("gt", in_f64(k, x), 0.9), k.lit(1.0, x), 0.0), ("f32[256]",)),
    "a threshold divided through": (step("ge", 3.0, 2.1), step("ge", 1.0, 0.7), ("f32[256]",)),
    "a difference of products": (
        products("gt"),
        lambda k, a, b, c, d: k.where(k.cmp("gt", k.sub(k.mul(a, b), k.mul(c, d)), 0.0), k.lit(1.0, a), -1.0),
        ("f32[64]",) * 4),
    "a fused difference of products": (products("gt"), fused, ("f32[64]",) * 4),
    "a rectifier that keeps zeros": (
        lambda k, x: k.where(k.cmp("gt", scaled(k, x), 0.0), scaled(k, x), 0.0),
        lambda k, x: k.where(k.cmp("ge", scaled(k, x), 0.0), scaled(k, x), 0.0), (X,)),
}  # fmt: skip


@pytest.mark.parametrize("name", SAME)
def test_equal_programs_with_ties_are_not_different(name: str) -> None:
    a, b, specs = SAME[name]
    assert level(a, b, *specs) is not Level.DIFFERENT


def test_ties_broken_alike_are_equal() -> None:
    a, b, specs = SAME["a rectifier that keeps zeros"]
    assert level(a, b, *specs) in EQUAL


def test_ties_of_one_run_only_are_no_witness() -> None:
    """Neighbouring bf16 numbers that a rounding makes one: the place is what an implementation makes of it."""
    row = np.array([[1.0, 1.0078125, 0.5, 1.015625, 0.25, 1.0, 1.015625, 0.125]])
    data = {"x0": np.repeat(row, 5, 0).astype(dtype("bf16").numpy)}
    assert level(named(scaled), named(plain), "bf16[5,8]", data=data) is not Level.DIFFERENT


def test_granules_and_what_a_format_holds() -> None:
    assert granule(np.array([6.0, 0.75, 0.0, np.inf])).tolist() == [2.0, 0.25, np.inf, 0.0]
    assert held(np.array([2.0**24 - 1]), np.array([1.0]), 24).all()
    assert not held(np.array([2.0**24 + 1]), np.array([1.0]), 24).any()
    assert not held(np.array([np.inf]), np.array([0.0]), 24).any()


def test_what_is_held_is_exact() -> None:
    rng = np.random.default_rng(3)
    a, b = (np.ldexp(rng.integers(-(2**14), 2**14, 4000), rng.integers(-8, 8, 4000)).astype(np.float32) for _ in "ab")
    wide_a, wide_b = a.astype(np.float64), b.astype(np.float64)
    for out, real, grain in (
        (a + b, wide_a + wide_b, np.minimum(granule(wide_a), granule(wide_b))),
        (a * b, wide_a * wide_b, granule(wide_a) * granule(wide_b)),
    ):
        kept = held(np.abs(out.astype(np.float64)), grain, 24)
        assert 100 < kept.sum() < 4000
        assert (out[kept].astype(np.float64) == real[kept]).all()
