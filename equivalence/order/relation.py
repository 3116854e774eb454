"""How two accumulation orders of the same terms are related, and in what they differ, in words.

Takes two OrderTrees, terms matched by their numbers; gives a Relation.  Must not know where the trees come from, and
judges no values: "different" says that the orders are, not that any result is.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Literal

from equivalence.order.canonical import LEAVES, UNARY, Table, stripped
from equivalence.order.filling import legal_orders, worst
from equivalence.order.naming import Name, name
from equivalence.order.refinement import refines, spans
from equivalence.order.tree import OrderTree
from equivalence.order.wording import words

__all__ = ["Difference", "Kind", "Relation", "Topic", "legal_orders", "relate", "worst"]

Kind = Literal["same", "a refines b", "b refines a", "different", "not deterministic"]
Topic = Literal["terms", "accumulator", "rounding", "fused", "order"]


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing in which two orders differ."""

    topic: Topic
    words: str


@dataclass(frozen=True, slots=True)
class Relation:
    """``kind``, with the differences in the order of their importance, and all in one ``sentence``.

    ``a refines b``: B leaves an order open, and A is one of the orders, or leaves less of it open.
    """

    kind: Kind
    sentence: str
    differences: tuple[Difference, ...]
    a: Name
    b: Name


def relate(a: OrderTree, b: OrderTree) -> Relation:
    """The relation of two orders."""
    a, b = stripped(a), stripped(b)
    sides = _Sides(a, b)
    named = name(a), name(b)
    differences = tuple(sides.differences(named))
    kind = sides.kind()
    return Relation(kind, _sentence(kind, sides, named, differences), differences, *named)


def _sentence(kind: Kind, sides: _Sides, named: tuple[Name, Name], differences: tuple[Difference, ...]) -> str:
    said = "; ".join(d.words for d in differences)
    match kind:
        case "same":
            return _same(sides, named)
        case "a refines b":
            return f"{said}: A is one way to fill in what B leaves open"
        case "b refines a":
            return f"{said}: B is one way to fill in what A leaves open"
        case "not deterministic":
            return _racing(sides, named, said)
    return said


def _same(sides: _Sides, named: tuple[Name, Name]) -> str:
    """Two open orders are the same order only in what they promise."""
    opened = [tree.open_steps() for tree in sides.trees]
    if not any(opened):
        return f"A and B add in the same order: {named[0]}"
    return f"A and B leave the same open: either adds {words(named[0])}"


def _racing(sides: _Sides, named: tuple[Name, Name], said: str) -> str:
    who = " and ".join(side for side, root in zip("AB", sides.roots, strict=True) if sides.races(root))
    said = said or f"A and B both add {words(named[0])}"
    may = {"a refines b": "; A is an order that B may take", "b refines a": "; B is an order that A may take"}
    return f"{said}: {who} may give other bits at each run" + may.get(sides.filled(("open", "racing")), "")


class _Sides:
    """Two orders in one table."""

    def __init__(self, a: OrderTree, b: OrderTree) -> None:
        self.table = Table()
        self.trees = a, b
        self.roots = self.table.intern(a), self.table.intern(b)
        self.nodes = tuple(self.table.below(root) if root >= 0 else [] for root in self.roots)
        self.spans = spans(self.table, [root for root in self.roots if root >= 0])

    def kind(self) -> Kind:
        if any(self.races(root) for root in self.roots):
            return "not deterministic"
        return self.filled(("open",))

    def filled(self, opened: tuple[str, ...]) -> Kind:
        """The kind where steps of the kinds ``opened`` have no order."""
        a, b = self.roots
        if a == b:
            return "same"
        if a < 0 or b < 0 or self.trees[0].size != self.trees[1].size:
            return "different"
        if refines(self.table, a, b, frozenset(opened)):
            return "a refines b"
        return "b refines a" if refines(self.table, b, a, frozenset(opened)) else "different"

    def races(self, root: int) -> bool:
        return root >= 0 and any(self.table.nodes[n][0] == "racing" for n in self.table.below(root))

    # -- in what they differ -------------------------------------------------------------------------------------

    def differences(self, named: tuple[Name, Name]) -> list[Difference]:
        found = [self._terms(), self._accumulators(), self._roundings(), self._fused(), self._order(named)]
        kept = [d for d in found if d is not None]
        if not kept and self.roots[0] != self.roots[1]:
            kept.append(Difference("order", self._adds(named)))
        return kept

    def _terms(self) -> Difference | None:
        a, b = (tree.size for tree in self.trees)
        if a != b:
            return Difference("terms", f"A adds {_count(a, 'term')}, B {b}")
        used = [self.spans.get(root, 0) for root in self.roots]
        if used[0] != used[1]:
            return Difference("terms", f"A adds {used[0].bit_count()} of {_count(a, 'term')}, B {used[1].bit_count()}")
        return None

    def _steps(self, side: int, *hows: str) -> list[int]:
        return [n for n in self.nodes[side] if self.table.nodes[n][0] in hows]

    def _accumulators(self) -> Difference | None:
        formats: list[Counter[str]] = []
        for side in (0, 1):
            steps = [n for n in self.nodes[side] if self.table.nodes[n][0] not in (*UNARY, *LEAVES)]
            formats.append(Counter(self.table.nodes[n][1] for n in steps))
        if not all(formats) or formats[0].keys() == formats[1].keys():
            return None
        a, b = (" and ".join(sorted(f, key=lambda d: -f[d])) for f in formats)
        return Difference("accumulator", f"A accumulates in {a}, B in {b}")

    def _roundings(self) -> Difference | None:
        said = [self._hops(how, verb) for how, verb in (("cast", "rounds"), ("scale", "rescales"), ("neg", "negates"))]
        said = [s for s in said if s]
        return Difference("rounding", "; ".join(said)) if said else None

    def _hops(self, how: str, verb: str) -> str:
        """Where one side has steps of a kind that the other has not."""
        places = [{(self.spans[n], self.table.nodes[n][1]) for n in self._steps(side, how)} for side in (0, 1)]
        if places[0] == places[1]:
            return ""
        a, b = (self._hop_words(side, how) for side in (0, 1))
        if a == b:
            return f"A and B {verb[:-1]} {a}, but at other places"
        return f"A {verb} {a}, B {b}"

    def _hop_words(self, side: int, how: str) -> str:
        terms = sum(self.table.nodes[self.table.nodes[n][2][0]][0] in LEAVES for n in self._steps(side, how))
        sums = len(self._steps(side, how)) - terms
        formats = sorted({self.table.nodes[n][1] for n in self._steps(side, how)})
        to = f" to {' and '.join(formats)}" if how == "cast" and formats else ""
        counted = [_count(terms, "term")] * (terms > 0) + [_count(sums, "partial sum")] * (sums > 0)
        return (" and ".join(counted) or "none") + to

    def _fused(self) -> Difference | None:
        kinds = [tuple(len(self._steps(side, how)) for how in ("fma", "fused", "compensated")) for side in (0, 1)]
        if kinds[0] == kinds[1]:
            return None
        a, b = (self._fused_words(side, *kinds[side]) for side in (0, 1))
        return Difference("fused", f"A {a}, B {b}")

    def _fused_words(self, side: int, fma: int, fused: int, compensated: int) -> str:
        said = [f"fuses {_count(fma, 'product')} into {'additions' if fma > 1 else 'an addition'}"] * (fma > 0)
        if fused:
            most = max(len(self.table.nodes[n][2]) for n in self._steps(side, "fused"))
            said.append(f"adds up to {most} at a time with one rounding")
        if compensated:
            said.append(f"carries errors along ({self.table.nodes[self._steps(side, 'compensated')[0]][3]})")
        if any(self.table.nodes[n][3] for n in self._steps(side, "open")):
            said.append("leaves open how products are rounded")
        products = self._steps(1 - side, "fma")
        return " and ".join(said) or ("rounds products first" if products else "rounds every addition")

    def _order(self, named: tuple[Name, Name]) -> Difference | None:
        table = Table()
        bare = [_bare(self.table, root, table) if root >= 0 else -1 for root in self.roots]
        alike = named[0].pattern == named[1].pattern  # of another number of terms
        return Difference("order", self._adds(named)) if bare[0] != bare[1] and not alike else None

    def _adds(self, named: tuple[Name, Name]) -> str:
        a, b = map(words, named)
        return f"A adds {a}, B adds {b}" if a != b else f"A adds in the order {named[0]}, B in {named[1]}"


def _count(number: int, what: str) -> str:
    return f"{number} {what}" + "s" * (number != 1)


def _bare(table: Table, root: int, bare: Table) -> int:
    """The order alone: formats, roundings and fusing left out."""
    ids: dict[int, int] = {}
    for number in table.below(root):
        how, _, children, _ = table.nodes[number]
        if how in LEAVES:
            ids[number] = bare.put("term", "", children)
        elif how in UNARY:
            ids[number] = ids[children[0]]
        else:
            kind = "add" if how in ("fma", "fused") and len(children) == 2 else how
            ids[number] = bare.put(kind, "", [ids[c] for c in children])
    return ids[root]
