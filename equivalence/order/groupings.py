"""Patterns that group operands: each group is added up by one pattern, the partial sums by another.

Completes the language of patterns.py by blocks, lanes, groups by index bits, steps before and after, and the copy of
an irregular order.  Must not know how a pattern is found (recognise.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from equivalence.order.patterns import Hop, Maker, Mismatch, Pattern, Place, hop_words, hopped

FORMULA_MOST = 6  # steps and operands of an irregular order that is written out


@dataclass(frozen=True, slots=True)
class Grouping(Pattern):
    """``inner`` adds each group, ``outer`` the partial sums; ``split``: each group in a program instance of its own."""

    inner: Pattern
    outer: Pattern
    split: bool = False

    @property
    def dtype(self) -> str:  # type: ignore[override]
        return self.outer.dtype

    def groups(self, size: int) -> list[range | list[int]]:
        """The places of the operands of each group."""
        raise NotImplementedError(f"{type(self).__name__}.groups")

    def emit(self, maker: Maker, operands: Sequence[int]) -> int:
        outside, sums = maker.where, []
        for number, group in enumerate(self.groups(len(operands))):
            maker.where = f"part {number}" if self.split else outside
            sums.append(self.inner.emit(maker, [operands[i] for i in group]))
        maker.where = outside
        return self.outer.emit(maker, sums)

    def parts(self) -> tuple[Pattern, ...]:
        return self.inner, self.outer


@dataclass(frozen=True, slots=True)
class Blocked(Grouping):
    """Contiguous groups of ``width`` operands (the last one of what is left), the first of ``head`` if not 0."""

    width: int = 1
    head: int = 0

    def groups(self, size: int) -> list[range | list[int]]:
        starts = [*([0] * bool(self.head)), *range(self.head, size, self.width)]
        return [range(a, b) for a, b in zip(starts, [*starts[1:], size], strict=True)]

    def text(self, place: Place) -> str:
        sizes = [len(group) for group in self.groups(place.size)]
        inner = self.inner.text(place.within(max(sizes), self.dtype))
        outer = self.outer.text(place.of_groups(len(sizes), self.dtype, "block"))
        word, each, combined = ("split-K", "each", "combined") if self.split else ("blocked", "inner", "outer")
        return f"{word}({self._sizes(sizes)}, {each} {inner}, {combined} {outer})" + place.format(self.dtype)

    def _sizes(self, sizes: list[int]) -> str:
        head = [str(sizes.pop(0))] if self.head else []
        full = sizes.count(self.width)
        rest = [str(sizes[-1])] if sizes and sizes[-1] < self.width else []
        blocks = str(self.width) if head and full == 1 else f"{self.width} x {full}"
        return " + ".join([*head, blocks, *rest])


@dataclass(frozen=True, slots=True)
class Lanes(Grouping):
    """Lane j of ``width`` takes operands j, j + width and so on; with ``after``, what does not fill all lanes is
    added to their combination one by one (all of it where there are fewer operands than lanes)."""

    width: int = 2
    after: bool = False

    def groups(self, size: int) -> list[range | list[int]]:
        return [range(lane, size, self.width) for lane in range(min(self.width, size))]

    def emit(self, maker: Maker, operands: Sequence[int]) -> int:
        full = len(operands) - len(operands) % self.width if self.after else len(operands)
        rest = list(operands[full:])
        total = Grouping.emit(self, maker, operands[:full]) if full else rest.pop(0)
        for operand in rest:
            total = maker.put("add", self.dtype, (total, operand))
        return total

    def text(self, place: Place) -> str:
        size = f"{self.width} over {place.size}" if place.shown else str(self.width)
        each = self.inner.text(place.of_groups(-(-place.size // self.width), self.dtype, place.unit))
        bits = place.bits[: self.width.bit_length() - 1] if self.width & (self.width - 1) == 0 else ()
        combined = self.outer.text(place.of_groups(self.width, self.dtype, "lane", bits))
        rest = ", rest added after" * self.after + ", each lane in its own program" * self.split
        return f"strided-lanes({size}, each {each}, combined {combined}{rest})" + place.format(self.dtype)


@dataclass(frozen=True, slots=True)
class ByBits(Grouping):
    """A group is what differs in the index bits ``bits`` only (of ``of`` bits; places that do not exist left out)."""

    bits: tuple[int, ...] = ()
    of: int = 0

    def groups(self, size: int) -> list[range | list[int]]:
        if size > 1 << self.of:
            raise Mismatch
        mask = sum(1 << b for b in self.bits)
        found: dict[int, list[int]] = {}
        for i in range(size):
            found.setdefault(i & ~mask, []).append(i)
        return [found[key] for key in sorted(found)]

    def text(self, place: Place) -> str:
        names = place.bits if len(place.bits) == self.of else tuple(range(self.of))
        others = [b for b in range(self.of) if b not in self.bits]
        inner_bits, outer_bits = (tuple(names[b] for b in bits) for bits in (self.bits, others))
        count, size = 1 << len(others), 1 << len(self.bits)
        inner = self.inner.text(Place(size, False, self.dtype, place.unit, inner_bits))
        outer = self.outer.text(place.of_groups(count, self.dtype, "group", outer_bits))
        whole = place.size if place.size == 1 << self.of else f"{place.size} of {1 << self.of}"
        over = f" of {whole}" if place.shown or place.size != 1 << self.of else ""
        said = f"grouped(by bits {','.join(map(str, inner_bits))}{over}, inner {inner}, outer {outer}"
        return said + ", each group in its own program" * self.split + ")" + place.format(self.dtype)


@dataclass(frozen=True, slots=True)
class Before(Pattern):
    """Each operand goes through the same steps first."""

    hops: tuple[Hop, ...]
    inner: Pattern

    @property
    def dtype(self) -> str:  # type: ignore[override]
        return self.inner.dtype

    def emit(self, maker: Maker, operands: Sequence[int]) -> int:
        return self.inner.emit(maker, [hopped(maker, operand, self.hops) for operand in operands])

    def parts(self) -> tuple[Pattern, ...]:
        return (self.inner,)

    def text(self, place: Place) -> str:
        return f"{self.inner.text(place)}, each {place.unit} {hop_words(self.hops, self.dtype)} first"


@dataclass(frozen=True, slots=True)
class Then(Pattern):
    """The sum goes through more steps."""

    inner: Pattern
    hops: tuple[Hop, ...]

    @property
    def dtype(self) -> str:  # type: ignore[override]
        return self.inner.dtype

    def emit(self, maker: Maker, operands: Sequence[int]) -> int:
        return hopped(maker, self.inner.emit(maker, operands), self.hops)

    def parts(self) -> tuple[Pattern, ...]:
        return (self.inner,)

    def text(self, place: Place) -> str:
        return f"{self.inner.text(place)}, then {hop_words(self.hops, self.dtype)}"


@dataclass(frozen=True, slots=True)
class Irregular(Pattern):
    """The copy of an order in which nothing regular was found; its text has a digest of the exact order.

    ``nodes``: (how, dtype, children, by) with a child below 0 for operand ~child; the last one is the root.
    """

    size: int
    used: int
    depth: int
    dtype: str
    digest: str
    nodes: tuple[tuple[str, str, tuple[int, ...], str], ...]

    def emit(self, maker: Maker, operands: Sequence[int]) -> int:
        if len(operands) != self.size:
            raise Mismatch
        made: list[int] = []
        for how, dtype, children, by in self.nodes:
            made.append(maker.put(how, dtype, [operands[~c] if c < 0 else made[c] for c in children], by))
        return made[-1] if made else operands[-1]

    def text(self, place: Place) -> str:
        count = f"{self.used} of {self.size}" if self.used < self.size else str(self.size)
        said = f"irregular({count} {place.unit}s, {self._formula() or f'depth {self.depth}'}, {self.digest})"
        return said + place.format(self.dtype)

    def _formula(self) -> str:
        """A few steps in full, operands by their places; the digest says it exactly."""
        if not 0 <= self.size <= FORMULA_MOST >= len(self.nodes):
            return ""
        made: list[str] = []
        for how, _, children, _ in self.nodes:
            parts = [str(~c) if c < 0 else made[c] for c in children]
            made.append(f"({' + '.join(parts)})" if how == "add" else f"{how}({', '.join(parts)})")
        return made[-1] if made else ""
