"""What `exact` and `reassociated` share: words of Z/(2^61-1), literal lanes and the laws about literals.

A lane's word is a hash of the expression that made it.  Bit 61 marks a literal: its word is a hash of its value, so
that arithmetic on literals alone folds to the literal that results (only where the result is exactly specified).
Words are compared without the flag.  Laws here hold bit for bit on non-NaN values unless a subclass says otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from equivalence.evaluator.lanes import ALL, NONE, Lanes, Planes
from equivalence.evaluator.weights import weight
from equivalence.fields import faces
from equivalence.fields import mersenne as ring
from equivalence.fields.mersenne import MASK, Mixer
from equivalence.interpretations.base import Interpretation, Site, tag
from equivalence.numerics.formats import format_of

LITERAL = np.uint64(1 << 61)
Words = np.ndarray
#: Operations whose result on literals is exactly specified, hence a literal itself.
FOLDABLE = frozenset(
    [
        "add",
        "sub",
        "mul",
        "rem",
        "fma",
        "neg",
        "abs",
        "min",
        "max",
        "round",
        "cmp",
        "select",
        "cast",
        "bitcast",
        "and",
        "or",
        "xor",
        "not",
        "shl",
        "shr",
        "mulhi",
        "popcount",
        "clz",
    ]
)


_LARGEST = 1 << 59


def as_float(data: np.ndarray) -> np.ndarray:
    """Literal values as f64, which holds every float format but none of the wide integers."""
    return data.astype(np.float64)


def has_literals(lanes: Lanes, words: Words) -> bool:
    """Whether some of the words, a plane of ``lanes``, are literals'; asked of one value many times, looked up once."""
    if lanes.literal == NONE:
        return False
    known = lanes.literals.get(id(words))
    if known is None or known[0] is not words:
        known = lanes.literals[id(words)] = words, faces.any_set(words, LITERAL)
    return known[1]


class Hashed(Interpretation):
    """Base of the fingerprint interpretations; ``plane`` is the name of their one plane."""

    plane: str

    def __init__(self, seed: int) -> None:
        self.planes = {self.plane: np.dtype(np.uint64)}
        self.mixer = Mixer(seed)
        self.two = int(self.mixer.leaf(tag("two"), "the word of scaling by two"))
        self.assumed: set[str] = set()  # laws used that hold only under an assumption, in words

    # -- words ---------------------------------------------------------------------------------------------------

    def mix(self, text: str, *words: Any) -> Words:
        """An ordered hash of up to three words, named ``text``; more words are chained."""
        head, rest = words[:3], words[3:]
        mixed = self.mixer.mix(tag(text), *head)
        for word in rest:
            mixed = self.mixer.mix(tag(text + "+"), mixed, word)
        return mixed

    def sym(self, text: str, a: Words, b: Words) -> Words:
        return self.mixer.mix_sym(tag(text), a, b)

    def word(self, lanes: Lanes) -> Words:
        assert lanes.planes is not None
        return lanes.planes[self.plane]

    def give(self, words: Words) -> Planes:
        return {self.plane: words}

    # -- leaves --------------------------------------------------------------------------------------------------

    def literal_word(self, data: np.ndarray, lanes: Lanes) -> Words:
        """Floats: a hash of the value, whatever the dtype (widening is the identity); integers: the ring element."""
        if lanes.dtype.is_float:
            bits = as_float(data).view(np.uint64)
            return self.mix("literal", bits & np.uint64(0xFFFFFFFF), bits >> np.uint64(32))
        return self.integer_word(data, lanes)

    def integer_word(self, data: np.ndarray, lanes: Lanes) -> Words:
        """The ring element; a hash where the ring is too small to tell the integer from others."""
        whole = data.astype(np.uint64 if lanes.dtype.kind == "uint" else np.int64)
        words = ring.from_int(whole)
        if lanes.dtype.bits < 64:
            return words
        large = whole >= _LARGEST if lanes.dtype.kind == "uint" else (whole >= _LARGEST) | (whole <= -_LARGEST)
        if not large.any():
            return words
        raw = np.ascontiguousarray(whole).view(np.uint64)
        return np.where(large, self.mix("large integer", raw & np.uint64(0xFFFFFFFF), raw >> np.uint64(32)), words)

    def literal(self, data: np.ndarray, lanes: Lanes) -> Planes:
        return self.give(self.literal_word(data, lanes) | LITERAL)

    def atom(self, name: str, index: np.ndarray, lanes: Lanes) -> Planes:
        leaf = self.mixer.leaf(tag("input"), name)
        return self.give(self.mix("element", np.uint64(leaf), index.view(np.uint64)))

    def undefined(self, first: int, lanes: Lanes) -> Planes:
        return self.give(self.mixer.count(tag("undefined"), first, lanes.data.shape))

    # -- literals ------------------------------------------------------------------------------------------------

    @staticmethod
    def where_literal(lanes: Lanes, words: Words) -> np.ndarray | None:
        """Mask of literal lanes, or None when there are none."""
        return (words & LITERAL) != 0 if has_literals(lanes, words) else None

    def literal_is(self, lanes: Lanes, value: float) -> np.ndarray | None:
        """Mask of lanes that are the literal ``value``, or None."""
        mask = self.where_literal(lanes, self.word(lanes))
        if mask is None:
            return None
        mask = mask & (lanes.data == value)
        return mask if mask.any() else None

    def settle(self, site: Site, out: Lanes, args: Sequence[Lanes], words: Words) -> Planes:
        """Folds lanes all of whose operands are literals; ``words`` is right for the others."""
        if not self.foldable(site, out) or any(a.literal == NONE for a in args):
            return self.give(words)
        if not all(has_literals(a, self.word(a)) for a in args):
            return self.give(words)
        mask: np.ndarray | None = None
        for a in args:
            one = (self.word(a) & LITERAL) != 0
            mask = one if mask is None else mask & one
        assert mask is not None
        if not mask.any():
            return self.give(words)
        folded = self.literal_word(out.data, out) | LITERAL
        return self.give(folded if mask.all() else np.where(mask, folded, words))

    def foldable(self, site: Site, out: Lanes) -> bool:
        if site.name in FOLDABLE:
            return True
        if site.name == "div":
            return site.attrs["accuracy"] == "exact" or not out.dtype.is_float
        return site.name == "math" and site.attrs["accuracy"] == "exact"

    def replace(self, words: Words, mask: np.ndarray | None, other: Words) -> Words:
        """``other`` where ``mask``; ``words`` elsewhere."""
        if mask is None:
            return words
        return (
            other
            if mask.all() and other.shape == np.broadcast_shapes(mask.shape, other.shape)
            else np.where(mask, other, words)
        )

    def scaled(self, words: Words, exponent: np.ndarray) -> Words:
        """words times two^exponent, in words."""
        lo, hi = int(exponent.min(initial=0)), int(exponent.max(initial=0))
        if lo or hi:
            self.assumed.add("scaling by a power of two neither underflows nor overflows")
        table = np.array([pow(self.two, e % (int(MASK) - 1), int(MASK)) for e in range(lo, hi + 1)], np.uint64)
        return ring.mul(words, table[exponent - lo])

    @staticmethod
    def scales_exactly(out: Lanes, other: Lanes, exponent: np.ndarray) -> np.ndarray:
        """Where this run's data show no underflow or overflow of ``other`` times a power of two."""
        if not exponent.any():
            return np.ones((1,) * out.data.ndim, bool)
        size, given = (x if x.dtype.kind == "f" and x.itemsize > 2 else as_float(x) for x in (out.data, other.data))
        size = np.abs(size)
        fmt = format_of(out.dtype.name)
        normal = (size >= size.dtype.type(2.0**fmt.emin)) & (size <= size.dtype.type(fmt.max))
        if normal.all():
            return normal
        return normal | (given == 0) | ~np.isfinite(given) | (exponent == 0)

    def power_of_two(self, lanes: Lanes) -> tuple[np.ndarray, np.ndarray] | None:
        """(mask of literal lanes +-2^k, k), or None."""
        literal = self.where_literal(lanes, self.word(lanes))
        if literal is None:
            return None
        with np.errstate(all="ignore"):
            mantissa, exponent = np.frexp(np.abs(as_float(lanes.data)))
        mask = literal & (mantissa == 0.5)
        return (mask, np.where(mask, exponent - 1, 0)) if mask.any() else None

    # -- integers: the words are a ring homomorphism, so any order of add and mul is one value ---------------------

    def ring_integer(self, site: Site, out: Lanes, args: Sequence[Lanes]) -> Words | None:
        """add, sub, mul, neg of integers of at least 8 bits; None for all else, and where the ring is too small."""
        if out.dtype.is_float or out.dtype.kind == "bool" or weight(site, out, args) is None:
            return None
        words = [self.word(a) for a in args]
        match site.name:
            case "add":
                return ring.add(*words)
            case "sub":
                return ring.sub(*words)
            case "mul":
                return ring.mul(*words)
            case "neg":
                return ring.neg(*words)
        return None

    def generic(self, site: Site, out: Lanes, *args: Lanes, text: str = "", symmetric: bool = False) -> Planes:
        """An operation without laws: a hash of its name, result dtype and operands."""
        integer = self.ring_integer(site, out, args)
        if integer is not None:
            return self.settle(site, out, args, integer)
        text = f"{text or site.name}:{out.dtype if out.dtype.kind != 'bool' else args[0].dtype}"
        words = [self.word(a) for a in args]
        mixed = self.sym(text, *words) if symmetric else self.mix(text, *words)
        return self.settle(site, out, args, mixed)

    def op_and(self, site: Site, out: Lanes, a: Lanes, b: Lanes) -> Planes:
        return self.generic(site, out, a, b, symmetric=True)

    op_or = op_xor = op_mulhi = op_and

    def op_not(self, site: Site, out: Lanes, a: Lanes) -> Planes:
        return self.generic(site, out, a)

    op_popcount = op_clz = op_not

    def op_shl(self, site: Site, out: Lanes, a: Lanes, b: Lanes) -> Planes:
        return self.generic(site, out, a, b)

    op_shr = op_shl

    def op_abs(self, site: Site, out: Lanes, a: Lanes) -> Planes:
        return self.generic(site, out, a)

    def op_rem(self, site: Site, out: Lanes, a: Lanes, b: Lanes) -> Planes:
        return self.generic(site, out, a, b, text=f"rem {site.attrs['rounding']}")

    def op_round(self, site: Site, out: Lanes, a: Lanes) -> Planes:
        return self.generic(site, out, a, text=f"round {site.attrs['mode']}")

    def op_opaque(self, site: Site, out: Lanes, *args: Lanes) -> Planes:
        return self.generic(site, out, *args, text=f"opaque {site.attrs['fn']}")

    def op_bitcast(self, site: Site, out: Lanes, a: Lanes) -> Planes:
        if out.dtype.is_integer and a.dtype.is_integer and "bool" not in (out.dtype.kind, a.dtype.kind):
            return self.give(self.word(a))  # the same element of Z/2^bits
        return self.generic(site, out, a, text=f"bitcast {a.dtype}")

    def op_cmp(self, site: Site, out: Lanes, a: Lanes, b: Lanes) -> Planes:
        """a > b is b < a."""
        pred, unordered = site.attrs["pred"], site.attrs["unordered"]
        if pred in ("gt", "ge"):
            pred, a, b = {"gt": "lt", "ge": "le"}[pred], b, a
        return self.generic(site, out, a, b, text=f"cmp {pred} {unordered}", symmetric=pred in ("eq", "ne"))

    def op_select(self, site: Site, out: Lanes, c: Lanes, a: Lanes, b: Lanes) -> Planes:
        """An opaque function of all three: never decided by the data that this run happens to have."""
        return self.generic(site, out, c, a, b)

    def cast_text(self, site: Site, out: Lanes, a: Lanes) -> str:
        details = [site.attrs["rounding"]] if out.dtype.is_float else [site.attrs["overflow"]]
        if out.dtype.is_float and site.attrs["saturate"]:
            details.append("saturate")
        if a.dtype.is_integer or out.dtype.is_integer:
            details.append(f"from {a.dtype.kind if a.dtype.is_integer and a.fits is a.dtype else a.dtype}")
        return " ".join(["cast", *details])

    @staticmethod
    def same_integer(a: Lanes, out: Lanes) -> bool:
        """Whether an integer conversion keeps every value: to a wider type, of lanes that cannot have wrapped."""
        if a.dtype.is_float or out.dtype.is_float or out.dtype.kind == "bool" or a.fits is not a.dtype:
            return False
        if a.dtype.kind == "bool":
            return True
        gained = out.dtype.bits - a.dtype.bits
        return (gained >= 0 and a.dtype.kind == out.dtype.kind) or (gained > 0 and a.dtype.kind == "uint")

    # -- accumulation in an open order: one opaque operation under its key -------------------------------------------

    def axis_word(self, text: str, words: Words, axis: int) -> Words:
        """Ordered hash along an axis of full extent."""
        return self.mixer.mix_axis(tag(text), words, axis)

    def unordered_set(self, text: str, words: Words, axis: int) -> Words:
        """Hash of the multiset along an axis of full extent."""
        return self.mix(text, ring.sum_axis(self.mix(text + " term", words), axis))

    def extreme_index(self, text: str, values: Words, indices: Words, neutral: np.ndarray | None, axis: int) -> Words:
        """The place of an extremum is a function of the set of (value, index) pairs; neutral literals cannot win."""
        pairs = self.mix(text + " pair", values, indices)
        if neutral is not None:
            pairs = np.where(neutral, np.uint64(0), pairs)
        return self.mix(text, ring.sum_axis(pairs, axis))

    @staticmethod
    def of_integers(x: Lanes) -> str:
        """What the order of integers depends on beside their bits: a bitcast to unsigned keeps the words."""
        return f" {x.dtype}" if x.dtype.is_integer else ""

    def multi_sort(self, site: Site, outs: Sequence[Lanes], args: Sequence[Lanes], extra: Any) -> list[Planes]:
        """The k-th key is a function of the multiset of keys; what travels along also of the keys' places."""
        axis = site.attrs["axis"] + 1
        full = [self.full_axis(self.word(a), args[0].shape, axis) for a in args]
        rank = np.arange(args[0].shape[axis - 1], dtype=np.uint64)
        rank = rank.reshape([-1 if d == axis else 1 for d in range(full[0].ndim)])
        text = f"sort {site.attrs['order']} {extra}{self.of_integers(args[0])}"
        places = np.expand_dims(self.axis_word(text, full[0], axis), axis)
        keys = np.expand_dims(self.unordered_set(text, full[0], axis), axis)
        planes = [self.give(self.mix(text + " key", keys, rank))]
        for words in full[1:]:
            own = np.expand_dims(self.axis_word(text, words, axis), axis)
            planes.append(self.give(self.mix(text + " rest", places, own, rank)))
        return planes

    @staticmethod
    def full_axis(words: Words, shape: tuple[int, ...], axis: int) -> Words:
        if words.shape[axis] == shape[axis - 1]:
            return words
        extents = list(words.shape)
        extents[axis] = shape[axis - 1]
        return np.ascontiguousarray(np.broadcast_to(words, extents))


__all__ = ["ALL", "LITERAL", "Hashed", "as_float"]
