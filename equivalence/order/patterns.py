"""The language of regular accumulation orders: what a name consists of.

A Pattern takes operands in order (terms, or partial sums of inner patterns) and gives, through a Maker, exactly the
steps that add them, and its own text.  Text and steps come from the same parameters, so a text fixes an order.
Groups of operands are in groupings.py.  Must not know how a pattern is found (recognise.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

Hop = tuple[str, str]  # ("cast" | "scale" | "neg", dtype): a step between two additions


class Mismatch(Exception):
    """A pattern does not give the steps that are looked for."""


class Maker(Protocol):
    """Takes the steps of a pattern; ``where`` names the program instance that they belong to."""

    where: str

    def put(self, how: str, dtype: str, children: Sequence[int], by: str = "") -> int: ...


@dataclass(frozen=True, slots=True)
class Place:
    """Where a text stands: how many operands, whether the number is said already, the format said already, what one
    operand is called, and which index bits of the whole the bits of an operand's place are."""

    size: int
    shown: bool = True
    dtype: str = ""
    unit: str = "term"
    bits: tuple[int, ...] = ()

    def within(self, size: int, dtype: str, bits: tuple[int, ...] = ()) -> Place:
        return Place(size, True, dtype, "term", bits)

    def of_groups(self, count: int, dtype: str, unit: str, bits: tuple[int, ...] = ()) -> Place:
        return Place(count, False, dtype, unit, bits)

    def args(self, *args: str) -> str:
        """The number of operands where it is not known yet, and what else there is to say, in parentheses."""
        said = [str(self.size)] * self.shown + [a for a in args if a]
        return f"({', '.join(said)})" if said else ""

    def format(self, dtype: str) -> str:
        return f" in {dtype}" if dtype and dtype != self.dtype else ""


class Pattern:
    """A way to add up operands."""

    __slots__ = ()
    dtype: str

    def emit(self, maker: Maker, operands: Sequence[int]) -> int:
        raise NotImplementedError(f"{type(self).__name__}.emit")

    def text(self, place: Place) -> str:
        raise NotImplementedError(f"{type(self).__name__}.text")

    def parts(self) -> tuple[Pattern, ...]:
        """The patterns that this one consists of."""
        return ()

    def walk(self) -> Iterator[Pattern]:
        yield self
        for part in self.parts():
            yield from part.walk()


@dataclass(frozen=True, slots=True)
class One(Pattern):
    """Nothing to add: one operand."""

    dtype: str = ""

    def emit(self, maker: Maker, operands: Sequence[int]) -> int:
        if len(operands) != 1:
            raise Mismatch
        return operands[0]

    def text(self, place: Place) -> str:
        return f"one {place.unit}"


WORDS = {"open": "unordered", "racing": "racing", "fused": "fused"}


@dataclass(frozen=True, slots=True)
class Flat(Pattern):
    """All operands in one step: open, racing, fused or compensated (these from the first to the last)."""

    how: str
    dtype: str
    by: str = ""

    def emit(self, maker: Maker, operands: Sequence[int]) -> int:
        if len(operands) == 1 and self.how != "fused":
            return operands[0]
        return maker.put(self.how, self.dtype, operands, self.by)

    def text(self, place: Place) -> str:
        return self.words(place) + place.format(self.dtype)

    def words(self, place: Place) -> str:
        if self.how == "compensated":
            return f"compensated({', '.join([self.by] + [str(place.size)] * place.shown)})"
        by = f"left open by {self.by}" if self.how == "open" and self.by else self.by
        return WORDS[self.how] + place.args(by)


@dataclass(frozen=True, slots=True)
class Visit:
    """In which order operands are taken: as they are, "reversed", in "strides" of ``number``, "from" place ``number``
    on and round again, or as "listed"."""

    kind: str = ""
    number: int = 0
    listed: tuple[int, ...] = ()

    def order(self, size: int) -> list[int]:
        match self.kind:
            case "reversed":
                return list(range(size - 1, -1, -1))
            case "strides":
                return [i for lane in range(self.number) for i in range(lane, size, self.number)]
            case "from":
                return [*range(self.number, size), *range(min(self.number, size))]
            case "listed" if len(self.listed) == size:
                return list(self.listed)
            case "listed":
                raise Mismatch
        return list(range(size))

    def text(self) -> str:
        words = {"strides": f"in strides of {self.number}", "from": f"from {self.number} round"}
        listed = "in the order " + " ".join(map(str, self.listed))
        return listed if self.kind == "listed" else words.get(self.kind, self.kind)


@dataclass(frozen=True, slots=True)
class Carry:
    """Steps that the running sum goes through between two additions, and whether also before the first and after the
    last one."""

    hops: tuple[Hop, ...] = ()
    first: bool = False
    last: bool = False

    def text(self, dtype: str, unit: str) -> str:
        if not self.hops:
            return ""
        both = f"after each {unit}"
        when = {
            (1, 1): both,
            (0, 1): "after each addition",
            (1, 0): "before each addition",
            (0, 0): "between additions",
        }
        return f", running sum {hop_words(self.hops, dtype)} {when[self.first, self.last]}"


@dataclass(frozen=True, slots=True)
class Fold(Pattern):
    """One running sum: ``head`` operands first, then ``width`` at a time, by ``add``, ``fma`` or a Flat step."""

    dtype: str
    how: str = "add"
    width: int = 1
    head: int = 1
    visit: Visit = Visit()
    carry: Carry = Carry()
    by: str = ""

    def emit(self, maker: Maker, operands: Sequence[int]) -> int:
        queue = [operands[i] for i in self.visit.order(len(operands))]
        head = queue[: self.head]
        total = head[0] if len(head) == 1 else maker.put(self.how, self.dtype, head, self.by)
        total = hopped(maker, total, self.carry.hops) if self.carry.first else total
        for i in range(self.head, len(queue), self.width):
            total = self._step(maker, total, queue[i : i + self.width])
            if i + self.width < len(queue) or self.carry.last:
                total = hopped(maker, total, self.carry.hops)
        return total

    def _step(self, maker: Maker, total: int, more: list[int]) -> int:
        return maker.put(self.how, self.dtype, [*more, total] if self.how == "fma" else [total, *more], self.by)

    def text(self, place: Place) -> str:
        said = f"sequential{place.args(self.visit.text())}"
        unit = place.unit
        if self.how == "fma":
            said += " with fused products"
        elif self.how != "add":
            first = "" if self.head == self.width else f", first of {self.head}"
            step = Flat(self.how, self.dtype, self.by).words(replace(place, shown=False))
            kind, _, by = step.partition("(")
            said += f" of {kind}({self.width}+1{first}" + (f", {by}" if by else ")")
            unit = f"{self.width} {unit}s"
        return said + place.format(self.dtype) + self.carry.text(self.dtype, unit)


@dataclass(frozen=True, slots=True)
class Bits(Pattern):
    """A complete binary tree over the places 0..2^k-1 (those that exist): ``order`` lists the index bits in which the
    two sides of an addition differ, the additions of terms first."""

    dtype: str
    order: tuple[int, ...]

    def emit(self, maker: Maker, operands: Sequence[int]) -> int:
        if len(operands) > 1 << len(self.order):
            raise Mismatch
        left = dict(enumerate(operands))
        for bit in self.order:
            merged: dict[int, int] = {}
            for i in sorted(left):
                key = i & ~(1 << bit)
                merged[key] = maker.put("add", self.dtype, (merged[key], left[i])) if key in merged else left[i]
            left = merged
        return left[0]

    def text(self, place: Place) -> str:
        full = 1 << len(self.order)
        padded = f"of {full}" if place.size < full else ""
        names = place.bits if len(place.bits) == len(self.order) else tuple(range(len(self.order)))
        down = self.order == tuple(range(len(self.order)))[::-1]
        kind = "shuffle-down" if down else f"bits {','.join(str(names[b]) for b in self.order)}"
        size = [f"{place.size} {padded}".strip()] if place.shown else [padded] if padded else []
        return f"tree({', '.join([*size, kind])})" + place.format(self.dtype)


@dataclass(frozen=True, slots=True)
class Pairwise(Pattern):
    """Halves, each added up in the same way, down to ``leaf`` operands, which ``inner`` adds.

    ``split`` says where an odd number is cut: "low" (the smaller half first), "high", "neighbours" (at the largest
    power of two below it, as when neighbours are added level by level), or "multiple of k".
    """

    dtype: str
    split: str = "low"
    leaf: int = 1
    inner: Pattern = One()

    def cut(self, size: int) -> int:
        half = size // 2
        if self.split == "neighbours":
            half = 1 << ((size - 1).bit_length() - 1)
        elif self.split == "high":
            half = (size + 1) // 2
        elif self.split != "low":
            half -= half % int(self.split.rsplit(" ", 1)[1])
        if not 0 < half < size:
            raise Mismatch
        return half

    def leaves(self, size: int) -> Iterator[int]:
        """The sizes at which halving stops."""
        waiting = [size]
        while waiting:
            size = waiting.pop()
            if size <= self.leaf:
                yield size
            else:
                waiting += [size - (cut := self.cut(size)), cut]

    def emit(self, maker: Maker, operands: Sequence[int]) -> int:
        if len(operands) <= self.leaf:
            return self.inner.emit(maker, operands)
        cut = self.cut(len(operands))
        return maker.put("add", self.dtype, (self.emit(maker, operands[:cut]), self.emit(maker, operands[cut:])))

    def parts(self) -> tuple[Pattern, ...]:
        return () if self.leaf == 1 else (self.inner,)

    def text(self, place: Place) -> str:
        words = {"low": "", "high": "larger half first", "neighbours": "neighbours first"}
        split = words.get(self.split, f"halves a {self.split}")
        leaf = ""
        if self.leaf > 1:
            leaf = f"leaf {self.leaf}: {self.inner.text(place.within(self.leaf, self.dtype))}"
        return "pairwise" + place.args(split, leaf) + place.format(self.dtype)


def hopped(maker: Maker, number: int, hops: Sequence[Hop]) -> int:
    """A partial sum after the steps between two additions."""
    for how, dtype in hops:
        number = maker.put(how, dtype, (number,))
    return number


def hop_words(hops: Sequence[Hop], dtype: str) -> str:
    """Such steps in words; ``dtype`` is the format of the additions."""
    return " and ".join(_hop(how, to, dtype) for how, to in hops)


def _hop(how: str, to: str, dtype: str) -> str:
    match how:
        case "neg":
            return "negated"
        case "cast":
            return f"rounded to {to}"
    return "rescaled" if to == dtype else f"rescaled in {to}"
