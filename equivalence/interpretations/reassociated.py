"""`reassociated`: a fingerprint that forgets the order of an accumulation, and nothing else (SEMANTICS §4).

A word is a *face*: a value made by adding in dtype t is the sum in the ring of its terms' words, each times t's key.
A value of one term is that term.  Any other operation *closes* its operands: it sees only a hash of the face.  So
sums of the same closed terms in one dtype are equal in every order, while multiplication is opaque (a product is the
product of closed words, which makes a dot one matrix product in the ring) and nothing ever cancels or distributes.
Maxima and minima are multisets of terms in the same way.  Bits 62 and 63 hold what the face is a multiset under.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from equivalence.evaluator.lanes import NONE, SOME, Lanes, Planes
from equivalence.evaluator.weights import weight
from equivalence.fields import mersenne as ring
from equivalence.interpretations.base import Site, tag
from equivalence.interpretations.exact import lossless
from equivalence.interpretations.hashed import LITERAL, Words, as_float
from equivalence.interpretations.reassociated_faces import KIND, MULTISET, SUM, mark_of
from equivalence.interpretations.reassociated_moves import moved
from equivalence.interpretations.reassociated_products import Products, directed, product_is_exact

_COMBINE = {"add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum,
            "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}  # fmt: skip


class Reassociated(Products):
    """Fingerprints up to the order of accumulation."""

    name = "reassociated"
    plane = "reassociated"

    # -- arithmetic ----------------------------------------------------------------------------------------------

    def op_add(self, site: Site, out: Lanes, a: Lanes, b: Lanes) -> Planes:
        if not out.dtype.is_float:
            return self.generic(site, out, a, b, symmetric=True)
        if directed(site):  # no accumulation: each addition is rounded its own way
            return self.generic(site, out, a, b, text=f"add {site.attrs['rounding']}", symmetric=True)
        planes = self.accumulate("add", site, out, a, b)
        return self._after_literal(site, out, a, b, planes)

    def _after_literal(self, site: Site, out: Lanes, a: Lanes, b: Lanes, planes: Planes) -> Planes:
        """Adding a nonzero finite literal is not accumulation: it closes the face."""
        words = planes[self.plane]
        for lanes in (a, b):
            mask = self.where_literal(lanes, self.word(lanes))
            if mask is None:
                continue
            data = as_float(lanes.data)
            mask = mask & np.isfinite(data) & (data != 0) & ((words & LITERAL) == 0)
            if mask.any():
                closed = self.sym(f"add literal:{out.dtype}", self.closed(a), self.closed(b))
                words = np.where(mask, closed, words)
        return self.give(words)

    def op_sub(self, site: Site, out: Lanes, a: Lanes, b: Lanes) -> Planes:
        if not out.dtype.is_float:
            return self.generic(site, out, a, b)
        return self.op_add(site, out, a, self.negated(b))

    def op_neg(self, site: Site, out: Lanes, a: Lanes) -> Planes:
        if not out.dtype.is_float:
            return self.generic(site, out, a)
        return self.give(self.word(self.negated(a)))

    def op_fma(self, site: Site, out: Lanes, a: Lanes, b: Lanes, c: Lanes) -> Planes:
        """An explicit fma has one rounding: its product is another term than the rounded one, unless it is exact."""
        exact = product_is_exact(a, b, out)
        words = self._signed_product(out, a, b, fused=not exact)
        product = out.replace(planes={self.plane: words}, literal=NONE, product=False)
        return self.settle(site, out, (a, b, c), self.op_add(site, out, product, c)[self.plane])

    def op_max(self, site: Site, out: Lanes, a: Lanes, b: Lanes) -> Planes:
        if not out.dtype.is_float:
            return self.generic(site, out, a, b, symmetric=True)
        return self.accumulate(site.name, site, out, a, b)

    op_min = op_max

    def op_math(self, site: Site, out: Lanes, *args: Lanes) -> Planes:
        """The implementation is a freedom of its own (listed by the evaluator): it is not part of the name."""
        fn = site.attrs["fn"]
        words = self.mix_closed(f"{fn}:{out.dtype}", *args)
        if fn in ("exp", "exp2"):
            for value, result in ((float("-inf"), 0.0), (0.0, 1.0)):
                mask = self.literal_is(args[0], value)
                if mask is not None:
                    known = self.literal_word(np.full((1,) * words.ndim, result), out) | LITERAL
                    words = np.where(mask, known, words)
        return self.settle(site, out, args, words)

    def generic(self, site: Site, out: Lanes, *args: Lanes, text: str = "", symmetric: bool = False) -> Planes:
        """As Hashed.generic, on closed operands (integers have no faces)."""
        integer = self.ring_integer(site, out, args)
        if integer is not None:
            return self.settle(site, out, args, integer)
        text = f"{text or site.name}:{out.dtype if out.dtype.kind != 'bool' else args[0].dtype}"
        words = [self._sealed(a) for a in args]
        mixed = self.sym(text, *words) if symmetric else self.mix(text, *words)
        return self.settle(site, out, args, mixed)

    def op_cast(self, site: Site, out: Lanes, a: Lanes) -> Planes:
        """Lossless widening keeps a term; a sum is closed in the dtype it was added in."""
        if self.same_integer(a, out):
            return self.give(self.word(a))
        if not lossless(a, out, site):
            return self.generic(site, out, a, text=self.cast_text(site, out, a))
        words = self.word(a)
        many = (words & KIND) != 0
        if a.dtype is out.dtype or not many.any():
            return self.give(words)
        return self.give(np.where(many, self.mix(f"widened sum:{a.dtype}", words, mark_of(words)), words))

    # -- accumulation --------------------------------------------------------------------------------------------

    def op_reduce(self, site: Site, out: Lanes, x: Lanes) -> Planes:
        axis, combine = site.attrs["axis"] + 1, site.attrs["combine"]
        full = x.replace(
            planes={self.plane: self.full_axis(self.word(x), x.shape, axis)},
            data=self.full_axis(x.data, x.shape, axis),
        )
        words = self.word(full)
        if not out.dtype.is_float:
            if out.dtype.kind != "bool" and combine in ("add", "mul") and weight(site, out, (x,)) is not None:
                return self.give(ring.sum_axis(words, axis) if combine == "add" else ring.prod_axis(words, axis))
            return self.give(self.unordered_set(f"reduce {combine}:{out.dtype}", words, axis))
        if combine not in MULTISET:
            return self.give(self.unordered_set(f"reduce {combine}:{out.dtype}", self._sealed(full), axis))
        return self.give(self._folded(combine, full, out, axis))

    def _folded(self, combine: str, x: Lanes, out: Lanes, axis: int) -> Words:
        """The multiset of all lanes; where only one lane is not neutral, that lane itself."""
        words = self.word(x)
        if words.shape[axis] == 1:
            return words.squeeze(axis)
        neutral = self._neutral(combine, x)
        total = ring.sum_axis(self.face(combine, x, out), axis) | MULTISET[combine]
        total = self._absorbed_axis(combine, x, total, axis)
        if neutral is None:
            return total
        shape = np.broadcast_shapes(words.shape, neutral.shape)
        active = ~np.broadcast_to(neutral, shape)
        which = np.expand_dims(np.argmax(active, axis=axis), axis)
        single = np.take_along_axis(np.broadcast_to(words, shape), which, axis).squeeze(axis)
        alive = active.sum(axis=axis)
        return np.where(alive <= 1, single, total)

    def _absorbed_axis(self, kind: str, x: Lanes, total: Words, axis: int) -> Words:
        literal = self.where_literal(x, self.word(x))
        if literal is None:
            return total
        data = as_float(x.data)
        swallow = {"add": np.isinf(data), "max": data == np.inf, "min": data == -np.inf}[kind] & literal
        if not swallow.any():
            return total
        which = np.expand_dims(np.argmax(swallow, axis=axis), axis)
        words = np.broadcast_to(self.word(x), np.broadcast_shapes(self.word(x).shape, swallow.shape))
        return np.where(swallow.any(axis=axis), np.take_along_axis(words, which, axis).squeeze(axis), total)

    def op_scan(self, site: Site, out: Lanes, x: Lanes) -> Planes:
        """Prefix by prefix as reduce."""
        axis, combine = site.attrs["axis"] + 1, site.attrs["combine"]
        n, reverse = x.shape[site.attrs["axis"]], site.attrs["reverse"]
        words = np.moveaxis(self.full_axis(self.word(x), x.shape, axis), axis, 0)
        data = np.moveaxis(self.full_axis(x.data, x.shape, axis), axis, 0)
        order = range(n - 1, -1, -1) if reverse else range(n)
        steps: dict[int, Words] = {}
        if weight(site, out, (x,)) is None:
            return self.give(np.moveaxis(self._opaque_scan(combine, out, words, order), 0, axis))
        running: Lanes | None = None
        for i in order:
            here = x.replace(data=data[i], planes={self.plane: words[i]}, shape=out.shape)
            running = here if running is None else self._step(combine, site, out, running, here)
            steps[i] = self.word(running)
        return self.give(np.moveaxis(np.stack([steps[i] for i in range(n)]), 0, axis))

    def _opaque_scan(self, combine: str, out: Lanes, words: Words, order: Sequence[int]) -> Words:
        """Prefixes of integers whose sums the ring does not hold."""
        prefix = words[order[0]]
        steps = {order[0]: prefix}
        for i in order[1:]:
            prefix = steps[i] = self.mix(f"wide scan {combine}:{out.dtype}", prefix, words[i])
        return np.stack([steps[i] for i in range(len(words))])

    def _step(self, combine: str, site: Site, out: Lanes, running: Lanes, here: Lanes) -> Lanes:
        attrs = {"rounding": "rne", "nan": site.attrs["nan"]}
        with np.errstate(all="ignore"):
            data = _COMBINE[combine](running.data, here.data)
        result = out.replace(data=data, literal=min(running.literal, here.literal, SOME))
        planes = getattr(self, f"op_{combine}")(Site(combine, attrs), result, running, here)
        return result.replace(planes=planes)

    def op_dot(self, site: Site, out: Lanes, a: Lanes, b: Lanes, *acc: Lanes) -> Planes:
        """The sum of the products of closed operands: one matrix product in the ring."""
        elements = None if acc else moved(self, site, out, a, b, lambda x: self._keeps(site, x))
        if elements is not None:
            return self.give(elements)
        rank = len(a.shape)
        rows = self.full_axis(self.full_axis(self._factor(site, out, a), a.shape, rank), a.shape, rank - 1)
        columns = self.full_axis(self.full_axis(self._factor(site, out, b), b.shape, rank - 1), b.shape, rank)
        if not out.dtype.is_float and weight(site, out, (a, b, *acc)) is None:
            row = np.expand_dims(self.axis_word("wide row", rows, rank), rank)
            column = np.expand_dims(self.axis_word("wide column", columns, rank - 1), rank - 1)
            return self.give(self.mix(f"wide dot:{out.dtype}", row, column, *(self.word(c) for c in acc)))
        words = ring.matmul(rows, columns)
        if not out.dtype.is_float:
            return self.give(words if not acc else ring.add(words, self.word(acc[0])))
        terms = self._terms(rows, columns, a, b)
        fused = site.attrs["product"] == "fused" and not product_is_exact(a, b, out)
        precise = "imprecise=" not in (site.attrs.get("impl") or "")
        if precise and not fused and not acc and isinstance(terms, int) and terms > 1:  # both keys in one pass
            keys = (self.mixer.leaf(tag("product"), str(out.dtype)), int(self.term_key("add", out)))
            return self.give(ring.mul(words, np.uint64(keys[0] * keys[1] % int(ring.MASK))) | SUM)
        words = self._product(out, words)
        if not precise:  # short accumulators inside: no sum of the products
            return self._with_accumulator(out, self.mix(f"dot {site.attrs['impl']}", words), acc)
        if fused:
            words = self.mix("fused dot", words)
        return self._with_accumulator(out, self._summed(out, words, terms), acc)

    def _with_accumulator(self, out: Lanes, words: Words, acc: Sequence[Lanes]) -> Planes:
        if not acc:
            return self.give(words)
        total = out.replace(planes={self.plane: words}, literal=SOME if (words & LITERAL).any() else NONE)
        return self.accumulate("add", Site("add", {"rounding": "rne"}), out.replace(literal=NONE), total, acc[0])

    @staticmethod
    def _terms(rows: Words, columns: Words, a: Lanes, b: Lanes) -> np.ndarray | int:
        """How many products of each sum are not literal zeros."""
        if a.literal == NONE and b.literal == NONE:
            return a.shape[-1]
        used, useful = rows != 0, columns != 0
        if used.all() and useful.all():
            return a.shape[-1]
        return np.matmul(used.astype(np.float32), useful.astype(np.float32))

    def _summed(self, out: Lanes, words: Words, terms: np.ndarray | int) -> Words:
        """A dot's products as a face: one product is that product, none is the literal zero."""
        many = ring.mul(words, self.term_key("add", out)) | SUM
        if isinstance(terms, int):
            return many if terms > 1 else words
        zero = self.literal_word(np.zeros((1,) * words.ndim), out) | LITERAL
        return np.where(terms > 1, many, np.where(terms == 1, words, zero))

    def _factor(self, site: Site, out: Lanes, x: Lanes) -> Words:
        if not x.dtype.is_float:
            if x.dtype is out.dtype or self.same_integer(x, out):
                return self.word(x)
            return self.mix(f"widened integer:{x.dtype}", self.word(x))  # a sum that may have wrapped
        words = self.closed(x)
        if self._keeps(site, x):
            return words
        rounded = self.mix(f"operand rounded to {site.attrs['precision']}", words)
        return np.where(words == 0, words, rounded)

    @staticmethod
    def _keeps(site: Site, x: Lanes) -> bool:
        precision = site.attrs["precision"]
        return precision == "ieee" or precision_keeps(precision, x.fits or x.dtype)

    def multi_reduce(self, site: Site, outs: Sequence[Lanes], args: Sequence[Lanes], extra: Any) -> list[Planes]:
        axis, combine = site.attrs["axis"] + 1, site.attrs["combine"]
        values, indices = self._full(args[0], axis), self._full(args[1], axis)
        value = self._folded("max" if combine == "argmax" else "min", values, outs[0], axis)
        neutral = self._neutral("max" if combine == "argmax" else "min", values)
        text = f"{combine} {site.attrs['tie']}{self.of_integers(args[0])}"
        index = self.extreme_index(text, self._sealed(values), self.word(indices), neutral, axis)
        return [self.give(value), self.give(index)]

    def _full(self, x: Lanes, axis: int) -> Lanes:
        return x.replace(
            planes={self.plane: self.full_axis(self.word(x), x.shape, axis)},
            data=self.full_axis(x.data, x.shape, axis),
        )


def contradict(a: Reassociated, b: Reassociated) -> bool:
    """Whether some product is fixed fused in one program and fixed rounded in the other (both uncontracted)."""

    def meet(fused: list[Words], rounded: list[Words]) -> bool:
        if not fused or not rounded:
            return False
        return bool(np.intersect1d(np.concatenate(fused), np.concatenate(rounded)).size)

    return meet(a.fixed_fused, b.fixed_rounded) or meet(b.fixed_fused, a.fixed_rounded)


def precision_keeps(precision: str, dt: Any) -> bool:
    """Whether rounding a dot's operands of format ``dt`` to ``precision`` changes nothing."""
    kept = {"f16", "bf16", "f8e4m3", "f8e4m3fn", "f8e5m2", "f8e4m3fnuz", "f8e5m2fnuz", "f8e4m3b11fnuz"}
    return dt.name in kept if precision in ("tf32", "tf32x3") else dt.name in kept - {"f16"}


__all__ = ["Reassociated", "contradict", "product_is_exact"]
