"""Products of `reassociated`: one term of closed factors, with the sign and the powers of two of literal factors.

Gives Products.  A product is opaque: nothing distributes over a sum.
"""

from __future__ import annotations

import numpy as np

from equivalence.evaluator.lanes import NONE, Lanes, Planes
from equivalence.fields import mersenne as ring
from equivalence.fields.mersenne import MASK
from equivalence.interpretations.base import Site, tag
from equivalence.interpretations.hashed import LITERAL, Words, as_float
from equivalence.interpretations.reassociated_faces import KIND, SUM, Faces


class Products(Faces):
    """Multiplication and division."""

    def __init__(self, seed: int, uncontracted: bool = False) -> None:
        """``uncontracted``: an fma is its product and its sum; which products were fixed, and how, is noted."""
        super().__init__(seed)
        self.uncontracted = uncontracted
        self.fixed_fused: list[Words] = []
        self.fixed_rounded: list[Words] = []

    def op_mul(self, site: Site, out: Lanes, a: Lanes, b: Lanes) -> Planes:
        if not out.dtype.is_float:
            return self.generic(site, out, a, b, symmetric=True)
        if directed(site):
            return self.generic(site, out, a, b, text=f"mul {site.attrs['rounding']}", symmetric=True)
        scaled = self._scaled_everywhere(out, a, b)
        if scaled is not None:
            return self.settle(site, out, (a, b), scaled)
        words = self._signed_product(out, a, b)
        for factor, other in ((a, b), (b, a)):
            words = self._times_literal(out, factor, other, words)
        for lanes in (a, b):
            zero = self.literal_is(lanes, 0.0)
            if zero is not None:
                words = np.where(zero, self.literal_word(np.zeros((1,) * words.ndim), out) | LITERAL, words)
        return self.settle(site, out, (a, b), words)

    def _scaled_everywhere(self, out: Lanes, a: Lanes, b: Lanes) -> Words | None:
        """The product, where one factor is one literal power of two and scaling by it is exact in every lane."""
        for factor, other in ((a, b), (b, a)):
            if factor.data.size == 1 and other.literal == NONE:
                scaling = self._scaling(out, factor, other)
                if scaling is not None and scaling[0].all():
                    return self._scaled_face(other, scaling[1])
        return None

    def _signed_product(self, out: Lanes, a: Lanes, b: Lanes, fused: bool = False) -> Words:
        """The term a * b; the sign of a negative literal factor is the sign of the product."""
        (x, sx), (y, sy) = self._magnitude(a), self._magnitude(b)
        words = self._closed_product(out, x, y)
        if self.uncontracted and not out.product and not product_is_exact(a, b, out):
            (self.fixed_fused if fused else self.fixed_rounded).append(np.unique(words & MASK))
        elif fused:
            words = self._unrounded(words)
        if sx is None and sy is None:
            return words
        flip = np.zeros((1,) * words.ndim, bool)
        for sign in (sx, sy):
            flip = flip if sign is None else flip ^ sign
        return np.where(flip, self._involution(words), words)

    def _closed_product(self, out: Lanes, a: Lanes, b: Lanes) -> Words:
        if self._zeros(a) is None and self._zeros(b) is None:
            factor = self.mixer.leaf(tag("product"), str(out.dtype))
            return self.mixer.sealed_product(tag("closed"), factor, self.word(a), self.word(b))
        return self._product(out, ring.mul(self.closed(a), self.closed(b)))

    def _unrounded(self, words: Words) -> Words:
        """A product's word inside an fma; that of the negated product is the negated word."""
        mirrored = self._involution(words)
        straight = (words & MASK) <= mirrored
        fused = self.mix("fused product", np.where(straight, words & MASK, mirrored))
        return np.where(straight, fused, self._involution(fused))

    def _magnitude(self, lanes: Lanes) -> tuple[Lanes, np.ndarray | None]:
        """(|x| for negative literals, where that changed something)."""
        literal = self.where_literal(lanes, self.word(lanes))
        if literal is None:
            return lanes, None
        negative = literal & np.signbit(as_float(lanes.data))
        if not negative.any():
            return lanes, None
        with np.errstate(all="ignore"):
            data = np.where(negative, -lanes.data, lanes.data)
        words = np.where(negative, self.literal_word(data, lanes) | LITERAL, self.word(lanes))
        return lanes.replace(data=data, planes={self.plane: words}), negative

    def _product(self, out: Lanes, words: Words) -> Words:
        return ring.mul(words, np.uint64(self.mixer.leaf(tag("product"), str(out.dtype))))

    def _scaling(self, out: Lanes, factor: Lanes, other: Lanes) -> tuple[np.ndarray, np.ndarray] | None:
        """(lanes in which a literal +2^k scales every term of the other operand's face alike, k), or None.

        1 is the case k = 0, for any face.
        """
        power = self.power_of_two(factor)
        if power is None:
            return None
        mask, exponent = power
        mask = mask & ~np.signbit(as_float(factor.data)) & self.scales_exactly(out, other, exponent)
        kind = self.word(other) & KIND
        mask = mask & ((kind == 0) | (kind == SUM) | (exponent == 0))
        return (mask, exponent) if mask.any() else None

    def _scaled_face(self, other: Lanes, exponent: np.ndarray) -> Words:
        return self.scaled(self.word(other), exponent) | (self.word(other) & KIND)

    def _times_literal(self, out: Lanes, factor: Lanes, other: Lanes, words: Words) -> Words:
        """``words``, with those of lanes that a literal scales in their place."""
        scaling = self._scaling(out, factor, other)
        if scaling is None:
            return words
        mask, exponent = scaling
        return np.where(mask, self._scaled_face(other, exponent), words)

    def op_div(self, site: Site, out: Lanes, a: Lanes, b: Lanes) -> Planes:
        if not out.dtype.is_float or site.attrs["rounding"] in ("rtz", "rtp", "rtn"):
            return self.generic(site, out, a, b, text=f"div {site.attrs['rounding']}")
        words = self.mix_closed(f"div:{out.dtype}", a, b)
        power = self.power_of_two(b)
        if power is not None:
            mask, exponent = power
            kind = self.word(a) & KIND
            mask = mask & ~np.signbit(as_float(b.data)) & self.scales_exactly(out, a, exponent)
            mask = mask & ((kind == 0) | (kind == SUM) | (exponent == 0))
            words = np.where(mask, self.scaled(self.word(a), -exponent) | kind, words)
        zero = self.literal_is(a, 0.0)
        if zero is not None:
            words = np.where(zero, self.literal_word(np.zeros((1,) * words.ndim), out) | LITERAL, words)
        return self.settle(site, out, (a, b), words)


def directed(site: Site) -> bool:
    """Whether an operation rounds otherwise than to nearest even."""
    return site.attrs.get("rounding", "rne") != "rne"


def product_is_exact(a: Lanes, b: Lanes, out: Lanes) -> bool:
    """Whether every product of the two is a value of ``out``'s format: f16 or f8 operands in f32, f32 in f64."""
    narrow = {"f16", "f8e4m3", "f8e4m3fn", "f8e5m2", "f8e4m3fnuz", "f8e5m2fnuz", "f8e4m3b11fnuz"}
    names = {(x.fits or x.dtype).name for x in (a, b)}
    return (out.dtype.name == "f32" and names <= narrow) or (out.dtype.name == "f64" and names <= narrow | {"bf16"})


__all__ = ["Products", "directed", "product_is_exact"]
