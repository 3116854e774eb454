"""Programs that are the same real function in different spellings are equal under `real`."""

from __future__ import annotations

import math

import numpy as np
import pytest

from lowering.ir.program import Value
from tests.interpretations.real_runs import F64, Kit, compare

X = (4, 16)


def rsqrt_as_division(k: Kit, x: Value) -> Value:
    return k.c.reciprocal(k.fn("sqrt", k.b("mul", x, x)))


def sigmoid_by_exp(k: Kit, x: Value) -> Value:
    e = k.fn("exp", x)
    return k.b("div", e, k.c.plus(e, 1.0))


def sigmoid_by_tanh(k: Kit, x: Value) -> Value:
    return k.c.scale(k.c.plus(k.fn("tanh", k.c.scale(x, 0.5)), 1.0), 0.5)


def tanh_by_exp(k: Kit, x: Value) -> Value:
    up, down = k.fn("exp", x), k.fn("exp", k.b("neg", x))
    return k.b("div", k.b("sub", up, down), k.b("add", up, down))


def gelu_computed_constant(k: Kit, x: Value) -> Value:
    """sqrt(2/pi) worked out by the program, x^3 by pow."""
    factor = k.fn("sqrt", k.b("div", k.lit(2.0, x), k.lit(math.pi, x)))
    cube = k.fn("pow", x, k.lit(3.0, x))
    inner = k.b("mul", factor, k.b("add", x, k.c.scale(cube, 0.044715)))
    return k.b("mul", k.b("mul", k.c.plus(k.fn("tanh", inner), 1.0), x), k.lit(0.5, x))


def log_sum_exp_plain(k: Kit, x: Value) -> Value:
    return k.fn("log", k.c.reduce("add", k.fn("exp", x), 1))


def log_softmax_plain(k: Kit, x: Value) -> Value:
    return k.b("sub", x, k.c.spread(log_sum_exp_plain(k, x), x, 1))


def log_sum_exp_of_parts(k: Kit, x: Value) -> Value:
    """Two halves' logsumexps, put together as split attention and chunked cross entropy do: exp undoes log."""
    (rows, columns), half = x.type.shape, x.type.shape[1] // 2
    parts = [
        k.c.logsumexp(k.b("slice", x, start=(0, at), limit=(rows, at + half), step=(1, 1)), 1)
        for at in range(0, columns, half)
    ]
    top = k.b("max", *parts, nan="number")
    total = k.b("add", *(k.fn("exp", k.b("sub", part, top)) for part in parts))
    return k.b("add", k.fn("log", total), top)


def softmax_plain(k: Kit, x: Value) -> Value:
    e = k.fn("exp", x)
    return k.b("div", e, k.c.spread(k.c.reduce("add", e, 1), e, 1))


def rms(k: Kit, x: Value, spelling: str) -> Value:
    mean = k.c.mean(k.b("mul", x, x), 1)
    shifted = k.c.plus(mean, 1e-6)
    if spelling == "rsqrt":
        return k.b("mul", x, k.c.spread(k.fn("rsqrt", shifted), x, 1))
    if spelling == "div":
        return k.b("div", x, k.c.spread(k.fn("sqrt", shifted), x, 1))
    return k.b("mul", x, k.c.spread(k.fn("pow", shifted, k.lit(-0.5, shifted)), x, 1))


PAIRS = {
    "rsqrt": (lambda k, x: k.fn("rsqrt", k.b("mul", x, x)), rsqrt_as_division),
    "exp2": (lambda k, x: k.fn("exp2", k.c.scale(x, math.log2(math.e))), lambda k, x: k.fn("exp", x)),
    "exp10": (lambda k, x: k.fn("pow", k.lit(10.0, x), x), lambda k, x: k.fn("exp", k.c.scale(x, math.log(10)))),
    "sigmoid exp": (lambda k, x: k.c.sigmoid(x), sigmoid_by_exp),
    "sigmoid tanh": (lambda k, x: k.c.sigmoid(x), sigmoid_by_tanh),
    "silu": (lambda k, x: k.c.silu(x), lambda k, x: k.b("mul", x, k.c.sigmoid(x))),
    "tanh exp": (lambda k, x: k.fn("tanh", x), tanh_by_exp),
    "gelu tanh": (lambda k, x: k.c.gelu_tanh(x), gelu_computed_constant),
    "erfc": (lambda k, x: k.fn("erfc", k.b("neg", x)), lambda k, x: k.c.plus(k.fn("erf", x), 1.0)),
    "logsumexp": (lambda k, x: k.c.logsumexp(x, 1), log_sum_exp_plain),
    "logsumexp of parts": (lambda k, x: k.c.logsumexp(x, 1), log_sum_exp_of_parts),
    "exp of log": (softmax_plain, lambda k, x: k.fn("exp", k.fn("log", softmax_plain(k, x)))),
    "log softmax": (lambda k, x: k.c.log_softmax(x, 1), log_softmax_plain),
    "log of softmax": (lambda k, x: k.c.log_softmax(x, 1), lambda k, x: k.fn("log", softmax_plain(k, x))),
    "softmax": (lambda k, x: k.c.softmax(x, 1), softmax_plain),
    "rms rsqrt": (lambda k, x: rms(k, x, "rsqrt"), lambda k, x: rms(k, x, "div")),
    "rms pow": (lambda k, x: rms(k, x, "rsqrt"), lambda k, x: rms(k, x, "pow")),
    "sinh": (lambda k, x: k.b("mul", k.fn("sinh", x), k.fn("cosh", x)),
             lambda k, x: k.c.scale(k.fn("sinh", k.c.scale(x, 2.0)), 0.5)),
    "cbrt": (lambda k, x: k.fn("pow", k.fn("cbrt", x), k.lit(3.0, x)), lambda k, x: x),
    "sin odd": (lambda k, x: k.fn("sin", k.b("neg", x)), lambda k, x: k.b("neg", k.fn("sin", x))),
    "cos even": (lambda k, x: k.fn("cos", k.b("neg", x)), lambda k, x: k.fn("cos", x)),
    "expm1": (lambda k, x: k.fn("expm1", x), lambda k, x: k.c.plus(k.fn("exp", x), -1.0)),
    "floor ceil": (lambda k, x: k.b("round", k.b("neg", x), mode="floor"),
                   lambda k, x: k.b("neg", k.b("round", x, mode="ceil"))),
}  # fmt: skip


@pytest.mark.parametrize("name", PAIRS)
def test_spellings_meet(name: str) -> None:
    result = compare(*PAIRS[name], X)
    assert result.equal, [(int(a.mismatch.sum()), int(a.stubborn.sum()), a.sample_gap) for a in result.agreements]


def test_variance_in_one_pass_is_variance_in_two() -> None:
    def welford(k: Kit, x: Value) -> Value:
        """Running mean and sum of squares along the row, one column after the other."""
        b, rows, columns = k.b, *x.type.shape
        column = [
            b.reshape(b("slice", x, start=(0, i), limit=(rows, i + 1), step=(1, 1)), (rows,)) for i in range(columns)
        ]
        mean, squares = column[0], k.lit(0.0, column[0])
        for n, value in enumerate(column[1:], 2):
            delta = b("sub", value, mean)
            mean = b("add", mean, b("div", delta, k.lit(float(n), mean)))
            squares = b("add", squares, b("mul", delta, b("sub", value, mean)))
        return b("div", squares, k.lit(float(columns), squares))

    assert compare(welford, lambda k, x: k.c.variance(x, 1)[0], X, dt=F64).equal


def test_constants_of_two_dtypes_meet_under_a_listed_assumption() -> None:
    def narrow(k: Kit, x: Value) -> Value:
        return k.b.cast(k.c.scale(k.b.cast(x, "f32"), 0.1), "f64")

    result = compare(narrow, lambda k, x: k.c.scale(x, 0.1), X, dt=F64)
    assert result.equal and any("0.1" in text for text in result.assumptions)


def test_causal_mask_with_infinity_and_with_a_large_number_meet() -> None:
    def masked(value: float):
        def body(k: Kit, x: Value) -> Value:
            b, (n, _) = k.b, x.type.shape
            keep = b.cmp("le", b.index((n, n), 1), b.index((n, n), 0))
            return k.c.softmax(b("select", keep, x, k.lit(value, x)), 1)

        return body

    for other in (-1e9, -1e30, -0.7 * float(np.finfo(np.float32).max), -3.4e38):
        result = compare(masked(-math.inf), masked(other), (8, 8))
        assert result.equal and any("count as -inf" in text for text in result.assumptions), other


def test_quantised_values_are_the_same_opaque_function() -> None:
    def quantised(k: Kit, x: Value) -> Value:
        return k.b.cast(k.b.cast(k.b("round", k.c.scale(x, 16.0), mode="even"), "i8"), "f32")

    def rounded(k: Kit, x: Value) -> Value:
        return k.b("round", k.b("mul", k.lit(16.0, x), x), mode="even")

    assert compare(quantised, rounded, X).equal
