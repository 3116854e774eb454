"""`exact`: a fingerprint of the whole expression, with every rounding and the order of every operation.

Equal words mean bit-identical values for every input (up to a hash collision; docs/verdicts.md gives the number),
given that each open choice reached has the same site on both sides.  The laws used, and no others (SEMANTICS §3):
commutative add, mul, fma; a - b = a + (-b); signs move through mul and div; x + x = 2x; scaling by 2^k;
x * 1 = x; lossless widening and rounding back.  What min and max do with NaN is no part of a word (special values are
compared by running them).  Signs and powers of two are factors of a word in the ring.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from equivalence.evaluator.lanes import NONE, Lanes, Planes
from equivalence.evaluator.weights import weight
from equivalence.fields import mersenne as ring
from equivalence.fields.mersenne import MASK
from equivalence.interpretations.base import Site, is_instruction, tag
from equivalence.interpretations.hashed import Hashed, Words, as_float

_HALF = np.uint64(int(MASK) // 2)


def unsigned(words: Words) -> tuple[Words, np.ndarray]:
    """(the smaller of w and -w, whether that is -w): a value's word without its sign."""
    bare = words & MASK
    negative = bare > _HALF
    return np.where(negative, MASK - bare, bare), negative


class Exact(Hashed):
    """Fingerprints of expressions as written."""

    name = "exact"
    plane = "exact"

    def literal_word(self, data: np.ndarray, lanes: Lanes) -> Words:
        """|v| hashed, then the sign as a ring factor: the literal -v is the negation of the literal v."""
        if not lanes.dtype.is_float:
            return super().literal_word(data, lanes)
        magnitude = super().literal_word(np.abs(as_float(data)), lanes)
        return np.where(np.signbit(as_float(data)), MASK - magnitude, magnitude)

    def op_add(self, site: Site, out: Lanes, a: Lanes, b: Lanes) -> Planes:
        if not out.dtype.is_float:
            return self.generic(site, out, a, b, symmetric=True)
        return self.settle(site, out, (a, b), self._sum(site, out, (a, b), self.word(a), self.word(b)))

    def op_sub(self, site: Site, out: Lanes, a: Lanes, b: Lanes) -> Planes:
        if not out.dtype.is_float:
            return self.generic(site, out, a, b)
        return self.settle(site, out, (a, b), self._sum(site, out, (a, b), self.word(a), ring.neg(self.word(b))))

    def _sum(self, site: Site, out: Lanes, args: Sequence[Lanes], a: Words, b: Words) -> Words:
        words = self.sym(f"add:{out.dtype} {site.attrs['rounding']}", a, b)
        for side, lanes in zip((a, b), args, strict=True):
            words = self._infinity(lanes, side, words)
        if args[0] is args[1] and site.name == "add":
            return self.scaled(a, np.ones((1,) * a.ndim, np.int64))
        return words

    def _infinity(self, lanes: Lanes, side: Words, words: Words) -> Words:
        """inf + x = inf for finite x."""
        mask = self.where_literal(lanes, self.word(lanes))
        return words if mask is None else self.replace(words, mask & np.isinf(as_float(lanes.data)), side)

    def op_neg(self, site: Site, out: Lanes, a: Lanes) -> Planes:
        if out.dtype.kind == "bool":
            return self.generic(site, out, a)
        return self.settle(site, out, (a,), ring.neg(self.word(a)))

    def op_abs(self, site: Site, out: Lanes, a: Lanes) -> Planes:
        if not out.dtype.is_float:
            return self.generic(site, out, a)
        bare, _ = unsigned(self.word(a))
        return self.settle(site, out, (a,), self.mix("abs", bare))

    def op_mul(self, site: Site, out: Lanes, a: Lanes, b: Lanes) -> Planes:
        if not out.dtype.is_float:
            return self.generic(site, out, a, b, symmetric=True)
        if site.attrs["rounding"] in ("rtp", "rtn"):  # directed: -(a * b) is not (-a) * b
            return self.generic(site, out, a, b, text=f"mul {site.attrs['rounding']}", symmetric=True)
        for factor, other in ((a, b), (b, a)):
            if factor.data.size == 1 and other.literal == NONE:
                scaling = self._scaling(out, factor, other)
                if scaling is not None and scaling[0].all():
                    return self.give(scaling[1])
        text = f"mul:{out.dtype} {site.attrs['rounding']}"
        words = self.mixer.mix_signed(tag(text), self.word(a), self.word(b), symmetric=True)
        for factor, other in ((b, a), (a, b)):
            scaling = self._scaling(out, factor, other)
            words = words if scaling is None else self.replace(words, *scaling)
        return self.settle(site, out, (a, b), words)

    def _scaling(self, out: Lanes, factor: Lanes, other: Lanes) -> tuple[np.ndarray, Words] | None:
        """(lanes in which a literal +-2^k scales the other operand's word, the scaled words), or None."""
        power = self.power_of_two(factor)
        if power is None:
            return None
        mask, exponent = power
        mask = mask & self.scales_exactly(out, other, exponent)
        scaled, negative = self.scaled(self.word(other), exponent), np.signbit(as_float(factor.data))
        return mask, np.where(negative, ring.neg(scaled), scaled) if negative.any() else scaled

    def op_div(self, site: Site, out: Lanes, a: Lanes, b: Lanes) -> Planes:
        if not out.dtype.is_float or site.attrs["rounding"] in ("rtz", "rtp", "rtn"):
            return self.generic(site, out, a, b, text=f"div {site.attrs['rounding']}")
        text = f"div:{out.dtype} {self._who(site)}"
        words = self.mixer.mix_signed(tag(text), self.word(a), self.word(b), symmetric=False)
        power = self.power_of_two(b) if site.attrs["accuracy"] == "exact" else None
        if power is not None:
            mask, exponent = power
            mask = mask & self.scales_exactly(out, a, exponent)
            scaled = self.scaled(self.word(a), -exponent)
            words = self.replace(words, mask, np.where(np.signbit(as_float(b.data)), ring.neg(scaled), scaled))
        return self.settle(site, out, (a, b), words)

    @staticmethod
    def _who(site: Site) -> str:
        """Which implementation computes it: an approximate function is equal only to itself.

        A device's instruction is one function of its operands; a library's or a compiler's vectorised code may take
        another path in a loop's tail, so there the site is part of the name.
        """
        if site.attrs["accuracy"] == "exact":
            return "exact"
        impl = site.attrs["impl"]
        return impl if is_instruction(impl) else f"{impl} {site.key}"

    def op_math(self, site: Site, out: Lanes, *args: Lanes) -> Planes:
        words = self.mix(f"{site.attrs['fn']}:{out.dtype} {self._who(site)}", *(self.word(a) for a in args))
        if site.attrs["fn"] in ("exp", "exp2"):
            mask = self.literal_is(args[0], float("-inf"))
            if mask is not None:
                zero = self.literal(np.zeros((1,) * out.data.ndim), out)[self.plane]
                words = self.replace(words, mask, zero)
        return self.settle(site, out, args, words)

    def op_fma(self, site: Site, out: Lanes, a: Lanes, b: Lanes, c: Lanes) -> Planes:
        product = self.mixer.mix_signed(tag("fma product"), self.word(a), self.word(b), symmetric=True)
        words = self.mix(f"fma:{out.dtype}", product, self.word(c))
        return self.settle(site, out, (a, b, c), words)

    def op_max(self, site: Site, out: Lanes, a: Lanes, b: Lanes) -> Planes:
        if not out.dtype.is_float:
            return self.generic(site, out, a, b, symmetric=True)
        # Not symmetric: which of two zeros is returned may depend on the order (SEMANTICS §3, "up to +-0").
        planes = self.generic(site, out, a, b, text=f"{site.name} {site.attrs['nan']}")
        words, neutral = planes[self.plane], float("-inf") if site.name == "max" else float("inf")
        words = self.replace(words, self.literal_is(a, neutral), self.word(b))
        return self.give(self.replace(words, self.literal_is(b, neutral), self.word(a)))

    op_min = op_max

    def op_cast(self, site: Site, out: Lanes, a: Lanes) -> Planes:
        """Lossless float widening, and rounding back to a format that held the value, are the identity."""
        if lossless(a, out, site) or self.same_integer(a, out):
            return self.give(self.word(a))
        return self.generic(site, out, a, text=self.cast_text(site, out, a))

    def op_reduce(self, site: Site, out: Lanes, x: Lanes) -> Planes:
        axis, combine = site.attrs["axis"] + 1, site.attrs["combine"]
        words = self.full_axis(self.word(x), x.shape, axis)
        whole = not out.dtype.is_float and out.dtype.kind != "bool" and combine in ("add", "mul")
        if whole and weight(site, out, (x,)) is not None:
            return self.give(ring.sum_axis(words, axis) if combine == "add" else ring.prod_axis(words, axis))
        if words.shape[axis] == 1:
            return self.give(words.squeeze(axis))
        text = f"reduce {combine}:{out.dtype}"
        if not out.dtype.is_float:
            return self.give(self.unordered_set(text, words, axis))
        if site.attrs["order"] != "unordered":
            text += f" {site.attrs['order']}"
        return self.give(self.axis_word(f"{text} {site.key}", words, axis))

    def op_scan(self, site: Site, out: Lanes, x: Lanes) -> Planes:
        axis, n = site.attrs["axis"] + 1, x.shape[site.attrs["axis"]]
        words = np.moveaxis(self.full_axis(self.word(x), x.shape, axis), axis, 0)
        words = words[::-1] if site.attrs["reverse"] else words
        text = f"scan {site.attrs['combine']}:{out.dtype} {site.key if out.dtype.is_float else ''}"
        prefix, steps = words[0], [words[0]]
        for i in range(1, n):
            prefix = self.mix(text, prefix, words[i])
            steps.append(prefix)
        result = np.stack(steps[::-1] if site.attrs["reverse"] else steps)
        return self.give(np.moveaxis(result, 0, axis))

    def op_dot(self, site: Site, out: Lanes, a: Lanes, b: Lanes, *acc: Lanes) -> Planes:
        """One opaque function of a row, a column and the accumulator: the order inside is the implementation's."""
        rank = len(a.shape)
        rows = self.full_axis(self.full_axis(self.word(a), a.shape, rank), a.shape, rank - 1)
        columns = self.full_axis(self.full_axis(self.word(b), b.shape, rank - 1), b.shape, rank)
        text = f"dot:{out.dtype} {a.dtype} {b.dtype} {site.attrs['precision']} {site.key}"
        row = np.expand_dims(self.axis_word(text + " row", rows, rank), rank)
        column = np.expand_dims(self.axis_word(text + " column", columns, rank - 1), rank - 1)
        return self.give(self.mix(text, row, column, *(self.word(c) for c in acc)))

    def multi_reduce(self, site: Site, outs: Sequence[Lanes], args: Sequence[Lanes], extra: Any) -> list[Planes]:
        """argmax pairs: the value is that of a max; the index a function of all values, places and indices."""
        axis, combine = site.attrs["axis"] + 1, site.attrs["combine"]
        values, indices = (self.full_axis(self.word(a), args[0].shape, axis) for a in args)
        tie = site.attrs["tie"] if site.attrs["tie"] == "lowest" else site.key
        text = f"{combine} {tie}{self.of_integers(args[0])}"
        neutral = self.literal_is(args[0], float("-inf") if combine == "argmax" else float("inf"))
        value = self.unordered_set(text, values, axis)
        index = self.extreme_index(text, values, indices, neutral, axis)
        return [self.give(value), self.give(index)]


def lossless(a: Lanes, out: Lanes, site: Site) -> bool:
    """Whether a cast changes no value: float to a format that holds all of the source's, or of what it ``fits``."""
    if not (a.dtype.is_float and out.dtype.is_float):
        return False
    return contains(out.dtype.name, a.dtype.name) or (a.fits is not None and contains(out.dtype.name, a.fits.name))


_WIDENINGS = {
    "f64": {"f64", "f32", "f16", "bf16", "f8e4m3", "f8e4m3fn", "f8e5m2", "f8e4m3fnuz", "f8e5m2fnuz", "f8e4m3b11fnuz"},
    "f32": {"f32", "f16", "bf16", "f8e4m3", "f8e4m3fn", "f8e5m2", "f8e4m3fnuz", "f8e5m2fnuz", "f8e4m3b11fnuz"},
    "f16": {"f16", "f8e4m3", "f8e4m3fn", "f8e5m2", "f8e4m3b11fnuz"},
    "bf16": {"bf16", "f8e4m3", "f8e4m3fn", "f8e5m2"},
}


def contains(wide: str, narrow: str) -> bool:
    """Whether every value of format ``narrow`` is one of format ``wide``."""
    return wide == narrow or narrow in _WIDENINGS.get(wide, ())
