"""The functions of ``math`` on Values: by exp, log and roots where they are made of such, at infinities, of masks.

Takes and gives numbers by the names of ``math``.  Must not know runs.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from flint import fmpq

from equivalence.certificate.choices import Choices
from equivalence.certificate.record import Step
from equivalence.certificate.symbols import MINUS, PLUS, Infinite, Number, Uncertain, Value
from equivalence.fields.forms import Form

#: exp rounds to zero below this (natural logarithm of half the least subnormal).
_UNDERFLOW = {"f64": -745.2, "f32": -104.0, "bf16": -93.0, "f16": -17.4}
_HALF_PI = Form(Fraction(1, 2), half_pi=2)


class Mathematics(Choices):
    """``math`` by name."""

    def op_math(self, step: Step, *xs: list[Number]) -> Number:
        fn, x = step.attrs["fn"], xs[0][0]
        if isinstance(x, Infinite):
            return self._at_infinity(fn, x)
        rest = self.finite([y[0] for y in xs[1:]])
        if fn in ("exp", "exp2", "expm1") and self._vanishes_there(x, step.dtype.name):
            return self.rational(-1 if fn == "expm1" else 0)
        return self.function(fn, x, *rest)

    def function(self, fn: str, x: Value, *rest: Value) -> Number:
        method = _FUNCTIONS.get(fn)
        if method is not None:
            return method(self, x, *rest)
        if fn == "log" and not x.num:
            return MINUS
        own = {"exp": self.exp, "log": self.log, "sqrt": self.sqrt, "tanh": self.tanh, "pow": self.pow}.get(fn)
        return own(x, *rest) if own is not None else self.opaque(fn, x, *rest)

    def _at_infinity(self, fn: str, x: Infinite) -> Number:
        known: dict[str, Number] = {"exp": self.zero, "exp2": self.zero, "expm1": self.rational(-1)}
        if x is MINUS and fn in known:
            return known[fn]
        if x is PLUS and fn in ("exp", "exp2", "log", "log2", "sqrt"):
            return PLUS
        raise Uncertain(f"{fn} of an infinity")

    def _vanishes_there(self, x: Value, dtype: str) -> bool:
        """Whether a literal mask makes exp(x) zero."""
        total = self.masked(x)
        limit = _UNDERFLOW.get(dtype, -745.2)
        if total is None or int(total.p) / int(total.q) > limit:
            return False
        self.budget.notes[f"finite masks count as -inf: exp of them is 0 in {dtype} whatever is added to them"] = None
        return True

    @staticmethod
    def finite(xs: list[Number]) -> list[Value]:
        found = [x for x in xs if isinstance(x, Value)]
        if len(found) < len(xs):
            raise Uncertain("an infinity")
        return found


_FUNCTIONS: dict[str, Callable[..., Value]] = {
    "rsqrt": lambda f, x: f.inverse(f.sqrt(x)),
    "exp2": lambda f, x: f.exp(f.mul(x, f.ln2())),
    "expm1": lambda f, x: f.sub(f.exp(x), f.one),
    "log2": lambda f, x: f.mul(f.log(x), f.ln2(-1)),
    "log10": lambda f, x: f.div(f.log(x), f.logarithm_of(10)),
    "log1p": lambda f, x: f.log(f.add(x, f.one)),
    "sinh": lambda f, x: f.hyperbolic(x, -1),
    "cosh": lambda f, x: f.hyperbolic(x, 1),
    "tan": lambda f, x: f.div(f.opaque("sin", x), f.opaque("cos", x)),
    "acos": lambda f, x: f.sub(f.form(_HALF_PI), f.opaque("asin", x)),
    "erfc": lambda f, x: f.sub(f.one, f.opaque("erf", x)),
    "asinh": lambda f, x: f.log(f.add(x, f.sqrt(f.add(f.mul(x, x), f.one)))),
    "acosh": lambda f, x: f.log(f.add(x, f.sqrt(f.sub(f.mul(x, x), f.one)))),
    "atanh": lambda f, x: f.scale(f.sub(f.log(f.add(f.one, x)), f.log(f.sub(f.one, x))), fmpq(1, 2)),
}
