"""Activation functions of the engines in f32.

Their tables are piecewise polynomials whose errors are not published (NKI.md §1.7, §2.2): each is what impl 'nki:act'
gives of the mathematical function, within an assumed error.  One that is spelled over others here is its own table on
the device, so it has its own impl: it is never the same numbers as the others put together.
"""

from __future__ import annotations

import math

from lowering.errors import Unsupported
from lowering.frontends.nki.state import State
from lowering.ir.composites import Composites
from lowering.ir.program import Value

_INTRINSICS = {"exp": "exp", "log": "log", "sqrt": "sqrt", "rsqrt": "rsqrt", "tanh": "tanh", "erf": "erf",
               "sin": "sin", "sin_reduced": "sin", "arctan": "atan", "cos": "cos", "tan": "tan"}  # fmt: skip
# the tables hold in these ranges (NKI.md §1.7); sin_reduced is nl.sin, which reduces its argument first
_RANGES = {"sin": 3.1416, "arctan": 1.5708}  # pi and pi / 2, as they are rounded in one way or another
_ROUNDINGS = ("floor", "ceil", "trunc")  # nki.language's; which instruction they are is not documented
_EXACT = frozenset(["copy", "square", "abs", "relu", "sign", "prelu", *_ROUNDINGS])


def apply(state: State, fn: str, x: Value, slope: Value | None = None) -> Value:
    """fn(x); ``slope``: of prelu below 0."""
    b = state.builder
    if fn not in _EXACT:
        state.assume("act_model")
    if fn in _INTRINSICS:
        return _within(state, fn, x, state.composites().fn(_INTRINSICS[fn], x))
    if fn in _ROUNDINGS:
        return b("round", x, mode=fn)
    match fn:
        case "copy":
            return x
        case "square":
            return b("mul", x, x)
        case "abs":
            return b("abs", x)
        case "relu":
            return b("max", x, b.like(0.0, x))
        case "prelu" if slope is not None:
            return b("select", b.cmp("gt", x, b.like(0.0, x)), x, b("mul", x, slope))
        case "sign":
            zero = b.like(0.0, x)
            below = b("select", b.cmp("lt", x, zero), b.like(-1.0, x), zero)
            return b("select", b.cmp("gt", x, zero), b.like(1.0, x), below)
        case _:
            return _spelled(state.composites(fn), fn, x)


def _within(state: State, fn: str, x: Value, value: Value) -> Value:
    """``value`` where the table of fn is one of fn; elsewhere, what no fn gives: x."""
    if fn not in _RANGES:
        return value
    state.assume("act_range")
    b = state.builder
    return b("select", b.cmp("le", b("abs", x), b.like(_RANGES[fn], x)), value, x)


def _spelled(c: Composites, fn: str, x: Value) -> Value:
    b = c.builder
    match fn:
        case "reciprocal":
            return _over(c, b.like(1.0, x), x)
        case "sigmoid":
            return _sigmoid(c, x)
        case "silu":
            return _over(c, x, c.plus(c.exp(b("neg", x)), 1.0))
        case "gelu":
            return c.gelu_erf(x)
        case "gelu_apprx_tanh":
            return c.gelu_tanh(x)
        case "gelu_apprx_sigmoid":
            return b("mul", x, _sigmoid(c, c.scale(x, 1.702)))
        case "softplus":
            return c.softplus(x)
        case "mish":
            return b("mul", x, c.fn("tanh", c.softplus(x)))
        case _:
            return _derivative(c, fn, x)


def _derivative(c: Composites, fn: str, x: Value) -> Value:
    b = c.builder
    match fn:
        case "erf_dx":
            return c.scale(_bell(c, x, 1.0), 2 / math.sqrt(math.pi))
        case "gelu_dx":
            cdf = c.scale(c.plus(c.fn("erf", c.scale(x, math.sqrt(0.5))), 1.0), 0.5)
            return b("add", cdf, b("mul", x, c.scale(_bell(c, x, 0.5), 1 / math.sqrt(2 * math.pi))))
        case "silu_dx":
            return _sigmoid_dx(c, x, 1.0)
        case "gelu_apprx_sigmoid_dx":
            return _sigmoid_dx(c, x, 1.702)
        case _:
            raise Unsupported(f"the activation function {fn}", b.span)


def _over(c: Composites, x: Value, y: Value) -> Value:
    return c.builder("div", x, y, accuracy="declared", impl=c.impl)


def _sigmoid(c: Composites, x: Value) -> Value:
    return _over(c, c.builder.like(1.0, x), c.plus(c.exp(c.builder("neg", x)), 1.0))


def _bell(c: Composites, x: Value, factor: float) -> Value:
    """exp(-factor x^2)."""
    return c.exp(c.scale(c.builder("mul", x, x), -factor))


def _sigmoid_dx(c: Composites, x: Value, a: float) -> Value:
    """The derivative of x sigmoid(a x): s (1 + a x (1 - s))."""
    b, scaled = c.builder, x if a == 1 else c.scale(x, a)
    s = _sigmoid(c, scaled)
    return b("mul", s, c.plus(b("mul", scaled, b("sub", b.like(1.0, s), s)), 1.0))
