"""Spellings of one real function are brought to one form: the kernels that people rewrite."""

from __future__ import annotations

import math

import pytest

from lowering.ir.program import Value
from lowering.ir.types import F64
from tests.certificate.pairs import certificate, column, columns
from tests.interpretations.real_runs import Kit
from tests.interpretations.test_real_attention import SHAPES, online, two_pass
from tests.interpretations.test_real_equal import PAIRS, softmax_plain

X = (3, 20)


def online_softmax(k: Kit, x: Value) -> Value:
    """Running maximum and sum over blocks of five, starting from minus infinity."""
    b, (rows, n) = k.b, x.type.shape
    top, total = b.constant(-math.inf, x.type.dtype, (rows,)), b.constant(0.0, x.type.dtype, (rows,))
    for first in range(0, n, 5):
        block = columns(k, x, first, first + 5)
        new = b("max", top, k.c.reduce("max", block, 1))
        e = k.fn("exp", b("sub", block, k.c.spread(new, block, 1)))
        total = b("add", b("mul", total, k.fn("exp", b("sub", top, new))), k.c.reduce("add", e, 1))
        top = new
    return b("div", k.fn("exp", b("sub", x, k.c.spread(top, x, 1))), k.c.spread(total, x, 1))


def layer_norm(k: Kit, x: Value) -> Value:
    return k.c.normalize(x, 1, 1e-5)[0]


def layer_norm_in_one_pass(k: Kit, x: Value) -> Value:
    """E[x^2] - E[x]^2, clamped by nothing; 1/sqrt instead of rsqrt."""
    b, mean = k.b, k.c.mean(x, 1)
    variance = b("sub", k.c.mean(b("mul", x, x), 1), b("mul", mean, mean))
    scale = k.c.reciprocal(k.fn("sqrt", k.c.plus(variance, 1e-5)))
    return b("mul", b("sub", x, k.c.spread(mean, x, 1)), k.c.spread(scale, x, 1))


def welford(k: Kit, x: Value) -> Value:
    b, mean, squares = k.b, column(k, x, 0), k.lit(0.0, column(k, x, 0))
    for n in range(2, x.type.shape[1] + 1):
        value = column(k, x, n - 1)
        delta = b("sub", value, mean)
        mean = b("add", mean, b("div", delta, k.lit(float(n), mean)))
        squares = b("add", squares, b("mul", delta, b("sub", value, mean)))
    return b("div", squares, k.lit(float(x.type.shape[1]), squares))


def split_k(k: Kit, x: Value, y: Value) -> Value:
    parts = [
        k.b("dot", columns(k, x, f, f + 4), k.b("transpose", columns(k, y, f, f + 4), perm=(1, 0)), acc="f32")
        for f in range(0, x.type.shape[1], 4)
    ]
    total = parts[0]
    for part in parts[1:]:
        total = k.b("add", total, part)
    return total


def kahan(k: Kit, x: Value) -> Value:
    b, total, lost = k.b, column(k, x, 0), k.lit(0.0, column(k, x, 0))
    for n in range(1, x.type.shape[1]):
        y = b("sub", column(k, x, n), lost)
        new = b("add", total, y)
        total, lost = new, b("sub", b("sub", new, total), y)
    return total


def label(k: Kit, x: Value) -> Value:
    """Cross entropy of the third class: log sum exp of shifted logits, minus the shifted logit."""
    shifted = k.c.shifted(x, 1)
    return k.b("sub", k.fn("log", k.c.reduce("add", k.fn("exp", shifted), 1)), column(k, shifted, 2))


def l2_norm(k: Kit, x: Value) -> Value:
    return k.b("div", x, k.c.spread(k.fn("sqrt", k.c.reduce("add", k.b("mul", x, x), 1)), x, 1))


def l2_norm_of_the_mean(k: Kit, x: Value) -> Value:
    """x / (sqrt(n) sqrt(mean of squares))."""
    root = k.c.scale(k.fn("sqrt", k.c.mean(k.b("mul", x, x), 1)), math.sqrt(x.type.shape[1]))
    return k.b("div", x, k.c.spread(root, x, 1))


def masked(value: float):
    def body(k: Kit, x: Value) -> Value:
        b, (n, m) = k.b, x.type.shape
        keep = b.cmp("ge", b.index((n, m), 0), b.index((n, m), 1))
        return k.c.softmax(b("select", keep, x, b.constant(value, x.type.dtype, (n, m))), 1)

    return body


MORE = {
    "online softmax": (lambda k, x: k.c.softmax(x, 1), online_softmax, X),
    "online softmax and no shift": (online_softmax, softmax_plain, X),
    "layer norm": (layer_norm, layer_norm_in_one_pass, X),
    "long layer norm": (layer_norm, layer_norm_in_one_pass, (2, 96)),
    "welford": (welford, lambda k, x: k.c.variance(x, 1)[0], X),
    "kahan": (kahan, lambda k, x: k.c.reduce("add", x, 1), X),
    "cross entropy": (label, lambda k, x: k.b("neg", k.fn("log", column(k, softmax_plain(k, x), 2))), X),
    "root of a mean": (l2_norm, l2_norm_of_the_mean, X),
    "max of max": (lambda k, x: k.b("max", k.c.reduce("max", columns(k, x, 0, 7), 1),
                                    k.c.reduce("max", columns(k, x, 7, 20), 1)),
                   lambda k, x: k.c.reduce("max", x, 1), X),
    "relu": (lambda k, x: k.b("max", x, k.lit(0.0, x)),
             lambda k, x: k.b("select", k.c.above(x, 0.0), x, k.lit(0.0, x)), X),
    "min of negatives": (lambda k, x: k.b("neg", k.b("min", k.b("neg", x), k.lit(1.0, x))),
                         lambda k, x: k.b("max", x, k.lit(-1.0, x)), X),
    "absolute value": (lambda k, x: k.b("abs", x), lambda k, x: k.fn("sqrt", k.b("mul", x, x)), X),
    "square of a root": (lambda k, x: k.b("mul", k.fn("sqrt", k.b("abs", x)), k.fn("sqrt", k.b("abs", x))),
                         lambda k, x: k.b("abs", x), X),
    "masks": (masked(-math.inf), masked(-1e30), (5, 5)),
}  # fmt: skip


@pytest.mark.parametrize("name", [n for n in PAIRS if n != "cbrt"])
def test_spellings_that_real_calls_equal(name: str) -> None:
    found = certificate(*PAIRS[name], (4, 16))
    assert found.certified, found.reason
    assert found.elements[0] == found.elements[1]


@pytest.mark.parametrize("name", MORE)
def test_rewritten_kernels(name: str) -> None:
    a, b, shape = MORE[name]
    found = certificate(a, b, shape)
    assert found.certified, found.reason


@pytest.mark.parametrize("base2", [False, True])
def test_online_attention_is_attention_in_two_passes(base2: bool) -> None:
    found = certificate(two_pass, lambda k, *x: online(k, *x, base2=base2), *SHAPES)
    assert found.certified and found.elements == (128, 128), found.reason
    assert any("√5" in text for text in found.identified)


def test_split_k_is_a_product_of_matrices() -> None:
    found = certificate(split_k, lambda k, x, y: k.b("dot", x, k.b("transpose", y, perm=(1, 0)), acc="f32"), X, (4, 20))
    assert found.certified and found.classes == 1, found.reason


def test_two_roundings_of_one_constant_are_identified_and_listed() -> None:
    def narrow(k: Kit, x: Value) -> Value:
        return k.b.cast(k.c.scale(k.b.cast(x, "f32"), 0.1), "f64")

    found = certificate(narrow, lambda k, x: k.c.scale(x, 0.1), X, dt=F64)
    assert found.certified and any("0.1" in text for text in found.identified)


def test_masks_that_count_as_minus_infinity_are_listed() -> None:
    found = certificate(masked(-math.inf), masked(-1e30), (5, 5))
    assert any("finite masks" in text for text in found.identified)
