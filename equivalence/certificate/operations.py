"""Each operation of KIR on Values: what `real` takes it to be, as a formula.

Takes a Step, a lane and the operands' values; gives a value or raises Uncertain.  Must not know runs or lanes' places.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain

from flint import fmpq

from equivalence.certificate.mathematics import Mathematics
from equivalence.certificate.record import Step
from equivalence.certificate.symbols import MINUS, PLUS, Infinite, Number, Uncertain, Value
from equivalence.interpretations.real_decisions import LARGEST

_MIRROR = {"floor": "ceil", "ceil": "floor"}


class Operations(Mathematics):
    """``apply`` by the operation's name."""

    def apply(self, step: Step, lane: int, values: list[list[Number]]) -> Number:
        method: Callable[..., Number] | None = getattr(self, f"op_{step.name}", None)
        if method is None or step.output:
            raise Uncertain("no canonical form")
        return method(step, *values)

    # -- sums and products ---------------------------------------------------------------------------------------

    def op_add(self, step: Step, a: list[Number], b: list[Number]) -> Number:
        self._only_floats(step)
        return self.sum([*a, *b])

    def op_sub(self, step: Step, a: list[Number], b: list[Number]) -> Number:
        self._only_floats(step)
        return self.sum([a[0], self.negative(b[0])])

    def op_mul(self, step: Step, a: list[Number], b: list[Number]) -> Number:
        if step.dtype.kind == "bool":
            return self.op_and(step, a, b)
        self._only_floats(step)
        return self.times(a[0], b[0])

    def op_div(self, step: Step, a: list[Number], b: list[Number]) -> Number:
        self._only_floats(step)
        if isinstance(b[0], Infinite):
            if isinstance(a[0], Infinite):
                raise Uncertain("a quotient of infinities")
            return self.zero
        return self.times(a[0], self.inverse(b[0]))

    def op_fma(self, step: Step, a: list[Number], b: list[Number], c: list[Number]) -> Number:
        return self.sum([self.times(a[0], b[0]), c[0]])

    def op_neg(self, step: Step, a: list[Number]) -> Number:
        self._only_floats(step)
        return self.negative(a[0])

    def sum(self, parts: list[Number]) -> Number:
        infinite = [x for x in parts if isinstance(x, Infinite)]
        if infinite:
            if any(x is not infinite[0] for x in infinite):
                raise Uncertain("a difference of infinities")
            return infinite[0]
        return self.total([x for x in parts if isinstance(x, Value)])

    def times(self, x: Number, y: Number) -> Number:
        if isinstance(y, Infinite):
            x, y = y, x
        if not isinstance(x, Infinite):
            return self.mul(x, y)  # type: ignore[arg-type]
        if isinstance(y, Infinite):
            return PLUS if x is y else MINUS
        if self.is_positive(y):
            return x
        if self.is_positive(self.neg(y)):
            return self.negative(x)
        raise Uncertain("an infinity times what may be zero or have either sign")

    @staticmethod
    def _only_floats(step: Step) -> None:
        if step.dtype.is_integer:
            raise Uncertain("arithmetic of integers that float data decide")

    # -- along an axis -------------------------------------------------------------------------------------------

    def op_reduce(self, step: Step, a: list[Number], *more: list[Number]) -> Number:
        combine = step.attrs["combine"]
        if combine in ("max", "argmax", "min", "argmin"):  # of a pair the value: apply refuses the place
            return self.op_max(step, a) if combine in ("max", "argmax") else self.op_min(step, a)
        if combine in ("and", "or") and step.dtype.kind == "bool":
            return self._all(a) if combine == "and" else self._flip(self._all([self._flip(x) for x in a]))
        if combine not in ("add", "mul") or more:
            raise Uncertain(f"no canonical form for {combine}")
        self._only_floats(step)
        if combine == "add":
            return self.sum(a)
        result: Number = self.one
        for x in a:
            result = self.times(result, x)
        return result

    op_scan = op_reduce

    def op_dot(self, step: Step, a: list[Number], b: list[Number], *acc: list[Number]) -> Number:
        self._only_floats(step)
        return self.sum([*(self.times(x, y) for x, y in zip(a, b, strict=True)), *chain(*acc)])

    # -- decisions -----------------------------------------------------------------------------------------------

    def op_max(self, step: Step, *xs: list[Number]) -> Number:
        return self._extreme(step, self.maximum, xs)

    def op_min(self, step: Step, *xs: list[Number]) -> Number:
        return self._extreme(step, self.minimum, xs)

    def _extreme(self, step: Step, fn: Callable[[list[Number]], Number], xs: tuple[list[Number], ...]) -> Number:
        if step.dtype.is_integer and step.dtype.kind != "bool":
            self._only_floats(step)
        return fn([*chain(*xs)])

    def op_abs(self, step: Step, a: list[Number]) -> Number:
        self._only_floats(step)
        return PLUS if isinstance(a[0], Infinite) else self.abs(a[0])

    def op_cmp(self, step: Step, a: list[Number], b: list[Number]) -> Number:
        x, y, predicate = a[0], b[0], step.attrs["pred"]
        if isinstance(x, Infinite) or isinstance(y, Infinite):
            ranks = [z.sign if isinstance(z, Infinite) else 0 for z in (x, y)]
            return self.compare(predicate, self.rational(ranks[0]), self.rational(ranks[1]))
        return self.compare(predicate, x, y)

    def op_select(self, step: Step, c: list[Number], a: list[Number], b: list[Number]) -> Number:
        return self.select(self._truth_value(c[0]), a[0], b[0])

    @staticmethod
    def _truth_value(x: Number) -> Value:
        assert isinstance(x, Value)
        return x

    def op_and(self, step: Step, a: list[Number], b: list[Number]) -> Number:
        self._only_truths(step)
        return self._all([*a, *b])

    def op_or(self, step: Step, a: list[Number], b: list[Number]) -> Number:
        self._only_truths(step)
        return self._flip(self._all([self._flip(x) for x in (*a, *b)]))

    def op_xor(self, step: Step, a: list[Number], b: list[Number]) -> Number:
        self._only_truths(step)
        x, y = self._truth_value(a[0]), self._truth_value(b[0])
        return self.sub(self.add(x, y), self.scale(self.mul(x, y), fmpq(2)))

    def op_not(self, step: Step, a: list[Number]) -> Number:
        self._only_truths(step)
        return self._flip(a[0])

    def _all(self, xs: list[Number]) -> Value:
        result = self.one
        for x in xs:
            result = self.mul(result, self._truth_value(x))
        return result

    def _flip(self, x: Number) -> Number:
        return self.sub(self.one, self._truth_value(x))

    @staticmethod
    def _only_truths(step: Step) -> None:
        if step.dtype.kind != "bool":
            raise Uncertain("bits of integers that float data decide")

    # -- casts and rounding --------------------------------------------------------------------------------------

    def op_cast(self, step: Step, a: list[Number]) -> Number:
        """Between floats, and of truth values to numbers, the identity."""
        x = a[0]
        if step.dtype.is_float:
            limit = LARGEST.get(step.dtype.name) if step.attrs.get("saturate") else None
            if limit is None:
                return x
            bound = self.rational(fmpq(*limit.as_integer_ratio()))
            return self.minimum([bound, self.maximum([self.neg(bound), x])])
        if isinstance(x, Infinite):
            raise Uncertain("an infinity as an integer")
        if self.mul(x, x).num == x.num and not x.den:  # 0 or 1
            return x
        if step.dtype.kind == "bool":
            return self._flip(self.equal_truth(x))
        raise Uncertain("a float as an integer")

    def op_round(self, step: Step, a: list[Number]) -> Number:
        """An odd function, but floor(-x) = -ceil(x)."""
        x, mode = a[0], step.attrs["mode"]
        if isinstance(x, Infinite):
            return x
        if mode in _MIRROR and self.factors(x)[0] < 0:
            return self.neg(self.opaque(_MIRROR[mode], self.neg(x)))
        return self.opaque(mode, x)

    def op_rem(self, step: Step, a: list[Number], b: list[Number]) -> Number:
        self._only_floats(step)
        return self.opaque(f"rem {step.attrs['rounding']}", *self.finite(a + b))

    def op_opaque(self, step: Step, *xs: list[Number]) -> Number:
        raise Uncertain(f"the operation {step.attrs['fn']} is opaque")
