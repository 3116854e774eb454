"""Functions of `real` on Cells: exp and log between the channels, what is made of them, and opaque ones with parity.

A mixin over Arithmetic; takes and gives Cells by the names of ``math``.  Must not know sites.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.special

from equivalence.fields.constants import Form, exact
from equivalence.interpretations.real_arithmetic import Arithmetic
from equivalence.interpretations.real_cell import (
    BOTH,
    CONCRETE,
    FLOATS,
    LITERAL,
    NEGINF,
    NONNEG,
    NONZERO,
    NOTHING,
    PARITY,
    ROOT_V,
    ROOT_W,
    UNSURE,
    Array,
    Cell,
    V,
    W,
    flag,
    nothing,
    pick,
    pointwise,
)
from equivalence.interpretations.real_literals import log_form

_LN2, _LN10 = Form(Fraction(1), ln2=1), Form(Fraction(1), log=10)
_HALF, _HALF_PI = exact(Fraction(1, 2)), Form(Fraction(1, 2), half_pi=2)

#: exp rounds to zero below this (natural logarithm of half the least subnormal).
_UNDERFLOW = {"f64": -745.2, "f32": -104.0, "bf16": -93.0, "f16": -17.4}

SAMPLES: dict[str, Callable[..., Any]] = {
    "exp": np.exp, "exp2": np.exp2, "expm1": np.expm1, "log": np.log, "log2": np.log2, "log10": np.log10,
    "log1p": np.log1p, "sin": np.sin, "cos": np.cos, "tan": np.tan, "asin": np.arcsin, "acos": np.arccos,
    "atan": np.arctan, "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh, "asinh": np.arcsinh, "acosh": np.arccosh,
    "atanh": np.arctanh, "erf": scipy.special.erf, "erfc": scipy.special.erfc, "erfinv": scipy.special.erfinv,
    "lgamma": scipy.special.gammaln, "digamma": scipy.special.digamma, "sqrt": np.sqrt, "cbrt": np.cbrt,
    "rsqrt": lambda x: 1 / np.sqrt(x), "pow": np.power, "atan2": np.arctan2,
}  # fmt: skip
_ODD = frozenset(["sin", "asin", "atan", "erf", "erfinv"])


class Functions(Arithmetic):
    """``math`` by name."""

    assumptions: list[str]
    #: log also has a v, a random function of its w: then products with what only v has distribute over its sums.
    opaque_logarithms: bool

    def function(self, fn: str, dtype: str, *args: Cell) -> Cell:
        """fn of cells; the sample is computed directly, not through the composition."""
        if fn == "pow":
            result = self.pow(args[0], args[1], dtype)
        elif fn in ("exp", "exp2", "expm1", "sinh", "cosh", "tanh"):
            result = getattr(self, fn)(args[0], dtype)
        else:
            method = getattr(self, fn, None)
            result = method(*args) if method else self.opaque(fn, *args)
        if fn in ("exp", "log", "sqrt", "cbrt"):
            return result
        dead = self._dead(result, args[0])
        sample = pointwise(SAMPLES[fn], *(a.sample for a in args))
        return result.sampled(sample if dead is None else np.where(dead, 0.0, sample))

    @staticmethod
    def _dead(result: Cell, x: Cell) -> Array | None:
        """Lanes whose value is the exact zero of exp(-inf)."""
        if not x.has(NEGINF):
            return None
        dead = (result.sample == 0) & (result.mark & CONCRETE != 0)
        return dead if dead.any() else None

    # -- exp and what is made of it ------------------------------------------------------------------------------

    def exp(self, x: Cell, dtype: str = "f64") -> Cell:
        """g^w, negated by the parity; exp(-inf) = 0, and so it is for sentinels where the dtype's exp underflows."""
        known = self.literals.mapped(x, lambda form: exact(1) if form.rational == 0 else None)
        if known is not None:
            return known
        whole = self.channels.filled(x, np.ones((1,) * x.mark.ndim, bool))
        rooted = (whole.mark & (ROOT_W | UNSURE)) != 0
        mark = flag(whole.alive, V | NONNEG | NONZERO) | flag(rooted, ROOT_V) | (x.mark & (LITERAL | FLOATS))
        v = self.channels.field.exp(whole.w)
        if x.has(PARITY):
            v = np.where((x.mark & PARITY) != 0, self.channels.field.v.neg(v), v)
        result = Cell(pointwise(np.exp, x.sample), v, nothing(mark.ndim), mark)
        return result if not x.has(NEGINF) else self._vanishing(x, result, dtype)

    def _vanishing(self, x: Cell, result: Cell, dtype: str) -> Cell:
        limit = _UNDERFLOW.get(dtype, -745.2)
        low = x.sentinel & (x.sample < limit)
        if low.any():
            highest = float(np.max(np.where(low, x.sample, -np.inf)))
            self.assume(
                f"finite masks count as -inf: exp of them is 0 in {dtype} for every |r| <= R added to them",
                -highest + limit,
            )
        zero = self.literals.form(exact(0), x.mark.ndim)
        zero = zero.marked(np.where((x.mark & LITERAL) != 0, zero.mark, zero.mark & ~LITERAL) | NONNEG)
        return pick(low | x.minus_infinity, zero, result)

    def exp2(self, x: Cell, dtype: str) -> Cell:
        return self.exp(self.scaled(x, _LN2), dtype)

    def expm1(self, x: Cell, dtype: str) -> Cell:
        return self.plus(self.exp(x, dtype), -1)

    def sinh(self, x: Cell, dtype: str) -> Cell:
        return self.scaled(self.sub(self.exp(x, dtype), self.exp(self.neg(x), dtype)), _HALF)

    def cosh(self, x: Cell, dtype: str) -> Cell:
        return self.scaled(self.add(self.exp(x, dtype), self.exp(self.neg(x), dtype)), _HALF)

    def tanh(self, x: Cell, dtype: str) -> Cell:
        """1 - 2/(e^{2x}+1), so that tanh and sigmoid forms meet."""
        under = self.plus(self.exp(self.scaled(x, exact(2)), dtype), 1)
        return self.plus(self.neg(self.div(self.literals.form(exact(2), x.mark.ndim), under)), 1)

    # -- log and what is made of it ------------------------------------------------------------------------------

    def log(self, x: Cell) -> Cell:
        """The w with g^w = v or -v: a homomorphism on all non-zero v, so ln(ab) = ln a + ln b and ln(e^x) = x."""
        known = self.literals.mapped(x, log_form)
        if known is not None:
            return known
        whole, field = self.channels.filled(x, (x.mark & V) == 0), self.channels.field
        w, missing = field.log(whole.v)
        negated, zero = missing & (whole.v != 0), missing & (whole.v == 0)
        at = np.nonzero(negated)
        w[at] = field.log(field.v.neg(whole.v[at]))[0]
        mark = flag((whole.mark & V) != 0, W) | flag((whole.mark & ROOT_V) != 0, ROOT_W) | (x.mark & (LITERAL | FLOATS))
        mark = mark | flag(negated, PARITY)
        if zero.any():
            mark = mark & ~flag(zero, W) | flag(zero & (x.sample == 0) & ((x.mark & CONCRETE) != 0), NEGINF)
        result = Cell(pointwise(np.log, x.sample), nothing(mark.ndim), w, mark)
        return self.channels.filled(result, (mark & W) != 0) if self.opaque_logarithms else result

    def log2(self, x: Cell) -> Cell:
        return self.over(self.log(x), _LN2)

    def log10(self, x: Cell) -> Cell:
        return self.over(self.log(x), _LN10)

    def log1p(self, x: Cell) -> Cell:
        return self.log(self.plus(x, 1))

    def asinh(self, x: Cell) -> Cell:
        return self.log(self.add(x, self.sqrt(self.plus(self.mul(x, x), 1))))

    def acosh(self, x: Cell) -> Cell:
        return self.log(self.add(x, self.sqrt(self.plus(self.mul(x, x), -1))))

    def atanh(self, x: Cell) -> Cell:
        up, down = self.plus(x, 1), self.plus(self.neg(x), 1)
        return self.scaled(self.sub(self.log(up), self.log(down)), _HALF)

    def pow(self, x: Cell, y: Cell, dtype: str) -> Cell:
        """Whole and half literal exponents are powers and roots; else e^{y ln x}."""
        if y.is_all(LITERAL) and y.sample.size == 1:
            n = float(y.sample.item())
            if n == int(n) and abs(n) <= 64:
                return self.power(x, int(n))
            if abs(n) == 0.5:
                return self.sqrt(x) if n > 0 else self.rsqrt(x)
        result = self.exp(self.mul(y, self.log(x)), dtype)
        known = x.mark & NONNEG  # a negative base has powers too, of whole exponents; and 0 to a power is 0
        known = known | np.where(known != 0, x.mark & NONZERO, NOTHING)
        return result.marked((result.mark & ~(NONNEG | NONZERO)) | known)

    def rsqrt(self, x: Cell) -> Cell:
        return self.inverse(self.sqrt(x))

    # -- opaque functions ----------------------------------------------------------------------------------------

    def opaque(self, fn: str, *args: Cell) -> Cell:
        """A random function of each operand's essence; odd and even ones on the canonical sign."""
        if len(args) == 1 and fn in (*_ODD, "cos"):
            return self._with_parity(fn, args[0])
        return self.hashed(fn, *args)

    def hashed(self, text: str, *args: Cell) -> Cell:
        essence, mark = self.channels.essence(args[0]), self._opaque_mark(args[0])
        for other in args[1:]:
            essence = self.channels.random(f"{text},", essence, self.channels.essence(other))[0]
            also = self._opaque_mark(other)
            mark = (mark & also & (BOTH | LITERAL)) | ((mark | also) & (ROOT_V | ROOT_W | FLOATS))
        v, w = self.channels.random(text, essence)
        return Cell(args[0].sample, v, w, mark)

    def _opaque_mark(self, x: Cell) -> Array:
        return flag(x.alive, BOTH) | self.channels.essence_roots(x) | (x.mark & (LITERAL | FLOATS))

    def upright(self, x: Cell) -> tuple[Array, Cell]:
        """(whether x is the negative one of x and -x, the other one): a canonical sign by residue."""
        essence, by_v = self.channels.essence(x), (x.mark & V) != 0
        half = np.where(by_v, self.channels.prime.p // 2, self.channels.prime.q // 2)
        negative = essence > half
        return negative, pick(negative, self.neg(x), x)

    def _with_parity(self, fn: str, x: Cell) -> Cell:
        negative, bare = self.upright(x)
        result = self.hashed(fn, bare)
        return result if fn == "cos" else pick(negative, self.neg(result), result)

    def tan(self, x: Cell) -> Cell:
        return self.div(self.opaque("sin", x), self.opaque("cos", x))

    def acos(self, x: Cell) -> Cell:
        return self.sub(self.literals.form(_HALF_PI, x.mark.ndim), self.opaque("asin", x))

    def erfc(self, x: Cell) -> Cell:
        return self.plus(self.neg(self.opaque("erf", x)), 1)

    def assume(self, text: str, margin: float | None = None) -> None:
        raise NotImplementedError("Real keeps the assumptions")
