"""Composite functions spelled once over the primitives: softmax, sigmoid, gelu, layer norm ...

Takes a Builder and values that are already in the dtype to compute in; gives values of that dtype.  Knows no source
language: ``impl`` names whose intrinsics and open orders are meant ('torch', 'xla', ...).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from lowering.ir.builder import Builder
from lowering.ir.program import Value


@dataclass(frozen=True, slots=True)
class Composites:
    """Composite functions; every rounding in them is one primitive of the operand's dtype."""

    builder: Builder
    impl: str = ""
    exact_sqrt: bool = True

    # -- spelling ------------------------------------------------------------------------------------------------

    def fn(self, name: str, *xs: Value) -> Value:
        """An intrinsic: what ``impl`` gives, but for a correctly rounded sqrt."""
        if name == "sqrt" and self.exact_sqrt:
            return self.builder("math", *xs, fn=name, accuracy="exact")
        return self.builder("math", *xs, fn=name, accuracy="declared", impl=self.impl)

    def exp(self, x: Value) -> Value:
        return self.fn("exp", x)

    def scale(self, x: Value, factor: float) -> Value:
        return self.builder("mul", x, self.builder.like(factor, x))

    def plus(self, x: Value, term: float) -> Value:
        return self.builder("add", x, self.builder.like(term, x))

    def reciprocal(self, x: Value) -> Value:
        return self.builder("div", self.builder.like(1.0, x), x)

    def above(self, x: Value, limit: float) -> Value:
        return self.builder.cmp("gt", x, self.builder.like(limit, x))

    def reduce(self, combine: str, x: Value, axis: int) -> Value:
        return self.builder("reduce", x, axis=axis, combine=combine, order="unordered", impl=self.impl)

    def spread(self, reduced: Value, model: Value, axis: int) -> Value:
        """``reduced`` (without ``axis``) repeated along ``axis`` to ``model``'s shape."""
        dims = [d for d in range(model.type.rank) if d != axis]
        return self.builder.broadcast(reduced, model.type.shape, dims)

    # -- activations ---------------------------------------------------------------------------------------------

    def sigmoid(self, x: Value) -> Value:
        return self.reciprocal(self.plus(self.exp(self.builder("neg", x)), 1.0))

    def silu(self, x: Value) -> Value:
        return self.builder("div", x, self.plus(self.exp(self.builder("neg", x)), 1.0))

    def gelu_erf(self, x: Value) -> Value:
        cdf = self.plus(self.fn("erf", self.scale(x, math.sqrt(0.5))), 1.0)
        return self.builder("mul", self.scale(x, 0.5), cdf)

    def gelu_tanh(self, x: Value) -> Value:
        b = self.builder
        cube = b("mul", b("mul", x, x), x)
        inner = self.scale(b("add", x, self.scale(cube, 0.044715)), math.sqrt(2 / math.pi))
        return b("mul", self.scale(x, 0.5), self.plus(self.fn("tanh", inner), 1.0))

    def softplus(self, x: Value, beta: float = 1.0, threshold: float = 20.0) -> Value:
        """log(1 + exp(beta x)) / beta; x itself where beta x is above ``threshold``."""
        scaled = x if beta == 1 else self.scale(x, beta)
        soft = self.fn("log1p", self.exp(scaled))
        soft = soft if beta == 1 else self.builder("div", soft, self.builder.like(beta, x))
        return self.builder("select", self.above(scaled, threshold), x, soft)

    def relu6(self, x: Value) -> Value:
        b = self.builder
        return b("min", b("max", x, b.like(0.0, x)), b.like(6.0, x))

    def elu(self, x: Value, alpha: float = 1.0, scale: float = 1.0, input_scale: float = 1.0) -> Value:
        """ATen's: alpha times scale is a product of two rounded constants (native/cuda/ActivationEluKernel.cu)."""
        positive = x if scale == 1 else self.scale(x, scale)
        inner = x if input_scale == 1 else self.scale(x, input_scale)
        factor = self.builder.like(alpha, x) if scale == 1 else self.scale(self.builder.like(alpha, x), scale)
        negative = self.builder("mul", self.fn("expm1", inner), factor)
        return self.builder("select", self.above(x, 0.0), positive, negative)

    # -- along an axis -------------------------------------------------------------------------------------------

    def shifted(self, x: Value, axis: int) -> Value:
        """x minus its maximum along ``axis``."""
        return self.builder("sub", x, self.spread(self.reduce("max", x, axis), x, axis))

    def softmax(self, x: Value, axis: int) -> Value:
        e = self.exp(self.shifted(x, axis))
        return self.builder("div", e, self.spread(self.reduce("add", e, axis), e, axis))

    def log_softmax(self, x: Value, axis: int) -> Value:
        shifted = self.shifted(x, axis)
        total = self.fn("log", self.reduce("add", self.exp(shifted), axis))
        return self.builder("sub", shifted, self.spread(total, x, axis))

    def logsumexp(self, x: Value, axis: int) -> Value:
        """The maximum is replaced by 0 where it is infinite, so that inf - inf does not arise."""
        b = self.builder
        top = self.reduce("max", x, axis)
        finite = b.cmp("lt", b("abs", top), b.like(math.inf, top))
        top = b("select", finite, top, b.like(0.0, top))
        total = self.reduce("add", self.exp(b("sub", x, self.spread(top, x, axis))), axis)
        return b("add", self.fn("log", total), top)

    def mean(self, x: Value, axis: int) -> Value:
        total = self.reduce("add", x, axis)
        return self.builder("div", total, self.builder.like(float(x.type.shape[axis]), total))

    def centre(self, x: Value, axis: int) -> tuple[Value, Value]:
        """(x - mean, mean) along ``axis``."""
        mean = self.mean(x, axis)
        return self.builder("sub", x, self.spread(mean, x, axis)), mean

    def mean_square(self, x: Value, axis: int, correction: float = 0.0) -> Value:
        """The sum of squares divided by max(0, n - correction)."""
        total = self.reduce("add", self.builder("mul", x, x), axis)
        divisor = max(0.0, x.type.shape[axis] - correction)
        return self.builder("div", total, self.builder.like(divisor, total))

    def variance(self, x: Value, axis: int, correction: float = 0.0) -> tuple[Value, Value]:
        """(variance, mean) in two passes."""
        centred, mean = self.centre(x, axis)
        return self.mean_square(centred, axis, correction), mean

    def normalize(self, x: Value, axis: int, eps: float) -> tuple[Value, Value, Value]:
        """((x - mean) * rstd, mean, rstd) along ``axis``."""
        centred, mean = self.centre(x, axis)
        rstd = self.fn("rsqrt", self.plus(self.mean_square(centred, axis), eps))
        return self.builder("mul", self.spread(rstd, x, axis), centred), mean, rstd

    def affine(self, x: Value, weight: Value | None, bias: Value | None, dims: Sequence[int]) -> Value:
        """x * weight + bias, both spread along the dimensions of x that are not in ``dims``."""
        b = self.builder
        if weight is not None:
            x = b("mul", x, b.broadcast(weight, x.type.shape, dims))
        if bias is not None:
            x = b("add", x, b.broadcast(bias, x.type.shape, dims))
        return x
