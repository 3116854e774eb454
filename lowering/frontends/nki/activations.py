"""Activation functions of the Scalar engine in f32.

Their tables are piecewise polynomials whose errors are not published (NKI.md §1.7, §2.2): each is what impl 'nki'
gives of the mathematical function, within an assumed error.
"""

from __future__ import annotations

import math

from lowering.errors import Unsupported
from lowering.frontends.nki.state import State
from lowering.ir.program import Value

_INTRINSICS = {"exp": "exp", "log": "log", "sqrt": "sqrt", "rsqrt": "rsqrt", "tanh": "tanh", "erf": "erf",
               "sin": "sin", "arctan": "atan", "cos": "cos", "tan": "tan"}  # fmt: skip


def apply(state: State, fn: str, x: Value) -> Value:
    """fn(x)."""
    b, c = state.builder, state.composites
    if fn in _INTRINSICS:
        return c.fn(_INTRINSICS[fn], x)
    match fn:
        case "copy":
            return x
        case "square":
            return b("mul", x, x)
        case "abs":
            return b("abs", x)
        case "relu":
            return b("max", x, b.like(0.0, x))
        case "sign":
            zero = b.like(0.0, x)
            below = b("select", b.cmp("lt", x, zero), b.like(-1.0, x), zero)
            return b("select", b.cmp("gt", x, zero), b.like(1.0, x), below)
        case "reciprocal":
            return c.reciprocal(x)
        case "sigmoid":
            return c.sigmoid(x)
        case "silu":
            return c.silu(x)
        case "gelu":
            return c.gelu_erf(x)
        case "gelu_apprx_tanh":
            return c.gelu_tanh(x)
        case "gelu_apprx_sigmoid":
            return b("mul", x, c.sigmoid(c.scale(x, 1.702)))
        case "softplus":
            return c.fn("log1p", c.exp(x))
        case "mish":
            return b("mul", x, c.fn("tanh", c.fn("log1p", c.exp(x))))
        case "erf_dx":
            return c.scale(c.exp(b("neg", b("mul", x, x))), 2 / math.sqrt(math.pi))
        case "silu_dx":
            s = c.sigmoid(x)
            return b("mul", s, c.plus(b("mul", x, b("sub", b.like(1.0, s), s)), 1.0))
        case _:
            raise Unsupported(f"the activation function {fn}", b.span)
