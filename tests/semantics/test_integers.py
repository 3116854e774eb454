"""SEMANTICS §1: integers that are data have fingerprints; what is only so for the given values is `tested` at most."""

from __future__ import annotations

import numpy as np
import pytest

from equivalence.evaluator import Machine
from equivalence.interpretations.exact import Exact
from equivalence.interpretations.reassociated import Reassociated
from tests.semantics.programs import EQUAL, Body, Level, arrays, level, program

N = "i32[16]"
RING: dict[str, tuple[Body, Body, tuple[str, ...]]] = {
    "any order": (lambda k, x: k.add(k.add(x, 3), 4), lambda k, x: k.add(x, 7), (N,)),
    "distribution": (lambda k, x, y: k.mul(x, k.add(y, 2)), lambda k, x, y: k.add(k.mul(x, y), k.mul(x, 2)), (N, N)),
    "sums": (lambda k, x: k.sum(x), lambda k, x: k.chain(k.columns(x)), ("i32[3,8]",)),
    "cancellation": (lambda k, x, y: k.sub(k.add(x, y), y), lambda k, x, y: x, (N, N)),
}
UNPROVED: dict[str, tuple[Body, Body, tuple[str, ...]]] = {
    "x >> 1 and C's x / 2": (lambda k, x: k.b("shr", x, k.lit(1, x)),
                             lambda k, x: k.b("div", x, k.lit(2, x), rounding="trunc"), (N,)),
    "floor and trunc division": (lambda k, x: k.b("div", x, k.lit(2, x), rounding="floor"),
                                 lambda k, x: k.b("div", x, k.lit(2, x), rounding="trunc"), (N,)),
    "floor and trunc remainder": (lambda k, x: k.b("rem", x, k.lit(3, x), rounding="floor"),
                                  lambda k, x: k.b("rem", x, k.lit(3, x), rounding="trunc"), (N,)),
    "a select that never chooses": (lambda k, x: k.where(k.cmp("gt", x, 0), x, 0), lambda k, x: x, (N,)),
    "max(x, 0)": (lambda k, x: k.max(x, 0), lambda k, x: x, (N,)),
    "|x|": (lambda k, x: k.b("abs", x), lambda k, x: x, (N,)),
    "through i8": (lambda k, x: k.cast(k.cast(x, "i8"), "i32"), lambda k, x: x, (N,)),
    "through f16": (lambda k, x: k.cast(k.cast(x, "f16"), "i32"), lambda k, x: x, (N,)),
    "i64 through i32 to f32": (lambda k, x: k.cast(k.cast(x, "i32"), "f32"),
                               lambda k, x: k.cast(x, "f32"), ("i64[16]",)),
    "x & 15": (lambda k, x: k.b("and", x, k.lit(15, x)), lambda k, x: x, (N,)),
    "a product that wraps, widened": (lambda k, x: k.cast(k.mul(x, 1 << 27), "i64"),
                                      lambda k, x: k.mul(k.cast(x, "i64"), 1 << 27), (N,)),
    "an i8 sum that may wrap, widened": (lambda k, x: k.cast(k.sum(x), "i32"), lambda k, x: k.sum(k.cast(x, "i32")),
                                         ("i8[3,4]",)),
    "|-128| in i8, widened": (lambda k, x: k.cast(k.b("abs", x), "i32"), lambda k, x: k.b("abs", k.cast(x, "i32")),
                              ("i8[16]",)),
    "u8 read as i8": (lambda k, x: k.cast(k.b("bitcast", x, to="i8"), "i32"),
                      lambda k, x: k.cast(x, "i32"), ("u8[16]",)),
    "an unsigned comparison": (
        lambda k, x: k.cmp("lt", k.b("bitcast", x, to="u32"), 5), lambda k, x: k.cmp("lt", x, 5), (N,)),
}  # fmt: skip
WRONG: dict[str, tuple[Body, Body, tuple[str, ...]]] = {
    "x + (2^61 - 1)": (lambda k, x: k.add(x, (1 << 61) - 1), lambda k, x: x, ("i64[16]",)),
    "x * 2^61": (lambda k, x: k.mul(x, 1 << 61), lambda k, x: x, ("i64[16]",)),
    "x * 2^31 * 2^30": (lambda k, x: k.mul(k.mul(x, 1 << 31), 1 << 30), lambda k, x: x, ("i64[16]",)),
    "x * 2^20 * 2^20 * 2^21": (lambda k, x: k.mul(k.mul(k.mul(x, 1 << 20), 1 << 20), 1 << 21), lambda k, x: x,
                               ("i64[16]",)),
    "x * 2^30 * 2^31, in 32 bits": (lambda k, x: k.mul(k.mul(x, 1 << 30), -(1 << 31)), lambda k, x: k.mul(x, -1), (N,)),
    "x @ y, times 2^30 and 2^31": (
        lambda k, x, y: k.b("dot", k.mul(x, 1 << 30), k.mul(y, 1 << 31), acc="i64"),
        lambda k, x, y: k.b("dot", x, y, acc="i64"), ("i64[3,4]", "i64[4,5]")),
    "a prefix sum of products": (
        lambda k, x: k.mul(k.b("scan", k.mul(x, 1 << 30), axis=0, combine="add"), 1 << 31),
        lambda k, x: k.b("scan", x, axis=0, combine="add"), ("i64[16]",)),
    "products of products": (lambda k, x, y: k.mul(k.mul(x, 1 << 30), k.mul(y, 1 << 31)), lambda k, x, y: k.mul(x, y),
                             ("i64[16]", "i64[16]")),
    "u64: x - 1 and x + 7": (lambda k, x: k.add(x, (1 << 64) - 1), lambda k, x: k.add(x, 7), ("u64[16]",)),
    "u8: |-x| and |x|": (lambda k, x: k.b("abs", k.b("neg", x)), lambda k, x: k.b("abs", x), ("u8[16]",)),
    "|x| as i8 and as u8": (lambda k, x: k.b("abs", k.b("bitcast", k.add(x, 200), to="i8")),
                            lambda k, x: k.b("bitcast", k.b("abs", k.add(x, 200)), to="i8"), ("u8[16]",)),
}  # fmt: skip


@pytest.mark.parametrize("name", RING)
def test_one_width_is_a_ring_in_any_order(name: str) -> None:
    a, b, specs = RING[name]
    assert level(a, b, *specs) is Level.BITWISE


@pytest.mark.parametrize("name", UNPROVED)
def test_agreement_on_the_given_integers_is_no_proof(name: str) -> None:
    a, b, specs = UNPROVED[name]
    assert level(a, b, *specs) not in EQUAL


@pytest.mark.parametrize("name", WRONG)
def test_a_small_ring_does_not_confuse_integers(name: str) -> None:
    a, b, specs = WRONG[name]
    assert level(a, b, *specs) is Level.DIFFERENT


def test_a_dot_of_integers_that_may_have_wrapped_does_not_distribute() -> None:
    data = {"x0": np.full((3, 4), 10, np.int8), "x1": np.full((4, 5), 1, np.int8)}

    def spread(k, x, y):
        return k.add(k.b("dot", x, y, acc="i32"), k.b("dot", k.lit(100, x), y, acc="i32"))

    specs = ("i8[3,4]", "i8[4,5]")
    assert level(lambda k, x, y: k.b("dot", k.add(x, 100), y, acc="i32"), spread, *specs, data=data) not in EQUAL


def test_sorted_samples_do_not_make_a_sort_the_identity() -> None:
    data = {"x0": np.arange(16, dtype=np.int32)}
    assert level(lambda k, x: k.b("sort", x, axis=0), lambda k, x: x, N, data=data) not in EQUAL


@pytest.mark.parametrize("name", [name for name in WRONG if name.count("*") > 1 or "prod" in name or "@" in name])
def test_words_tell_them_apart_where_no_test_would(name: str) -> None:
    """Coefficients that are congruent modulo 2^61 - 1: the operation is opaque from where they reach the modulus."""
    a, b, specs = WRONG[name]
    inputs = arrays(1, *specs)
    words = []
    for body in (a, b):
        outcome = Machine(program(body, *specs), [Exact(0), Reassociated(0)]).run(inputs)
        lanes = outcome.outputs["out0"]
        words.append([lanes.planes[plane] for plane in ("exact", "reassociated")])  # type: ignore[index]
    assert all((mine != theirs).all() for mine, theirs in zip(*words, strict=True))


def test_a_hash_of_data_is_still_one_word() -> None:
    def hashed(k, x):
        return k.mul(k.add(k.mul(x, 0x9E3779B1), 7), 0x85EBCA6B)

    assert level(hashed, hashed, N) is Level.BITWISE
    assert level(hashed, lambda k, x: k.mul(k.add(k.mul(x, 0x9E3779B1), 8), 0x85EBCA6B), N) is Level.DIFFERENT
