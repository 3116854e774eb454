"""An order as a small tree of lines for people: regular parts by name, irregular ones opened up to a limit.

Takes an OrderTree; gives Items, which render.py prints and svg.py draws.  Must not know text or picture formats.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from equivalence.order.canonical import LEAVES, UNARY, Table, stripped
from equivalence.order.groupings import Before, Grouping, Then
from equivalence.order.patterns import WORDS, Pairwise, Pattern, Place, hop_words, hopped
from equivalence.order.recognise import Recogniser, is_irregular
from equivalence.order.tree import OrderTree
from equivalence.order.view import Found

FORMULA_MOST = 4  # terms of a sum below the root that is written out


@dataclass(slots=True)
class Item:
    """A step or a named part: what it does, the terms below it, its source line, and its operands, of which ``hidden``
    are left out before the last one; ``combined`` says how the operands are added."""

    label: str
    terms: str = ""
    line: str = ""
    children: list[Item] = field(default_factory=list)
    hidden: int = 0
    hidden_terms: str = ""
    combined: str = ""


def sketch(tree: OrderTree, limit: int = 60, most: int = 9) -> Item:
    """About ``limit`` items, those near the root first; of one step ``most`` operands, the last of them after a gap."""
    return _Sketch(stripped(tree), limit, most).item()


def opened(tree: OrderTree) -> Item:
    """Every step, for small trees: "+" for an addition."""
    tree = stripped(tree)
    items = [Item(label) for label in tree.terms]
    for step in tree.steps:
        label = {"add": "+", "fma": "fma"}.get(step.how) or _word(step.how, step.dtype, step.by, len(step.children))
        items.append(Item(label, line=step.line, children=[items[c] for c in step.children]))
    return items[-1] if items else Item("no terms")


def _word(how: str, dtype: str, by: str, count: int) -> str:
    if how in UNARY:
        return hop_words([(how, dtype)], dtype)
    if how == "compensated":
        return f"compensated ({by})"
    return WORDS.get(how, how) + (f", left open by {by}" if how == "open" and by else "")


class _Sketch:
    def __init__(self, tree: OrderTree, limit: int, most: int) -> None:
        self.tree, self.left, self.most = tree, limit, most
        self.table = Table()
        self.root = self.table.intern(tree) if tree.size else -1
        self.recogniser = Recogniser(self.table)
        self.spans = self._spans()
        self.waiting: deque[tuple[Item, int, tuple[int, ...]]] = deque()

    def _spans(self) -> dict[int, int]:
        found: dict[int, int] = {}
        for number, (how, _, children, _) in enumerate(self.table.nodes):
            mask = 1 << children[0] if how in LEAVES else 0
            for child in () if how in LEAVES else children:
                mask |= found[child]
            found[number] = mask
        return found

    def item(self) -> Item:
        if self.root < 0:
            return Item("no terms")
        top = self._short(self.root)
        self.waiting.append((top, self.root, self._leaves(self.root)))
        while self.waiting and self.left > 0:
            self._open(*self.waiting.popleft())
        return top

    def _leaves(self, root: int) -> tuple[int, ...]:
        below = (n for n in self.table.below(root) if self.table.nodes[n][0] in LEAVES)
        return tuple(sorted(below, key=lambda n: self.table.nodes[n][2]))

    def _short(self, node: int) -> Item:
        """An item without its operands."""
        leaves = self._leaves(node)
        numbers = [self.table.nodes[leaf][2][0] for leaf in leaves]
        if (node,) == leaves:
            return Item(self.tree.terms[numbers[0]])
        if node != self.root and (formula := self._formula(node, len(leaves))):
            return Item(formula)
        pattern = self.recogniser.pattern(node, leaves)
        note = self.table.notes.get(node)
        text = pattern.text(Place(len(leaves), dtype="" if node == self.root else self._dtype()))
        return Item(text, span_label(self.tree.terms, numbers), note.line if note else "")

    def _formula(self, node: int, size: int) -> str:
        """A few additions in full."""
        texts: dict[int, str] = {}
        for number in self.table.below(node) if size <= FORMULA_MOST else ():
            how, dtype, children, _ = self.table.nodes[number]
            if how in LEAVES:
                texts[number] = self.tree.terms[children[0]]
            elif how == "add" and dtype == self._dtype():
                deep = sorted(children, key=lambda c: -self.spans[c].bit_count())
                texts[number] = f"({' + '.join(texts[c] for c in deep)})"
            else:
                return ""
        return texts[node].removeprefix("(").removesuffix(")") if texts else ""

    def _dtype(self) -> str:
        """The format said at the root."""
        return self.recogniser.pattern(self.root, self._leaves(self.root)).dtype

    def _open(self, item: Item, node: int, leaves: tuple[int, ...]) -> None:
        """Gives an item its operands: the groups of a grouping, or the operands of an irregular sum."""
        if leaves == (node,):
            return
        pattern = self.recogniser.pattern(node, leaves)
        if is_irregular(pattern) and not isinstance(pattern, Grouping):
            if node != self.root:
                item.label = ""
            item.combined, operands = self._operands(node)
            item.label = f"{item.label}: {item.combined}" if item.label else item.combined
            deeper = True
        else:
            operands = _groups(pattern, leaves, Found(self.table))
            item.combined = _combined(pattern, len(operands))
            deeper = is_irregular(pattern)
        self._show(item, operands, deeper)

    def _show(self, item: Item, operands: Sequence[int], deeper: bool) -> None:
        most = self.most
        shown = list(operands) if len(operands) <= most else [*operands[: most - 2], operands[-1]]
        hidden = [n for n in operands if n not in set(shown)]
        item.hidden = len(hidden)
        numbers = [self.table.nodes[leaf][2][0] for node in hidden for leaf in self._leaves(node)]
        item.hidden_terms = span_label(self.tree.terms, sorted(set(numbers)))
        for operand in shown:
            child = self._short(operand)
            item.children.append(child)
            self.left -= 1
            if deeper:
                self.waiting.append((child, operand, self._leaves(operand)))

    def _operands(self, node: int) -> tuple[str, list[int]]:
        """The operands of an irregular sum: the running sum that goes through the larger operand each time."""
        how, dtype, children, _ = self.table.nodes[node]
        note = self.table.notes.get(node)
        if how != "add":
            return _word(how, dtype, note.by if note else "", len(children)), list(children)
        operands: list[int] = []
        while self.table.nodes[node][:2] == (how, dtype):
            small, large = sorted(self.table.nodes[node][2], key=lambda c: self.spans[c].bit_count())
            operands.append(small)
            node = large
        return "one after the other" if len(operands) > 1 else "+", [node, *reversed(operands)]


def _groups(pattern: Pattern, leaves: Sequence[int], maker: Found) -> list[int]:
    """The nodes of a regular order that a line of its own is worth: the groups, or none."""
    match pattern:
        case Then():
            return _groups(pattern.inner, leaves, maker)
        case Before():
            return _groups(pattern.inner, [hopped(maker, leaf, pattern.hops) for leaf in leaves], maker)
        case Grouping():
            return [pattern.inner.emit(maker, [leaves[i] for i in group]) for group in pattern.groups(len(leaves))]
        case Pairwise() if pattern.leaf > 1:
            ends = [0]
            for size in pattern.leaves(len(leaves)):
                ends.append(ends[-1] + size)
            return [pattern.inner.emit(maker, leaves[a:b]) for a, b in pairwise(ends)]
    return []


def _combined(pattern: Pattern, count: int) -> str:
    """How the groups of a regular order are added."""
    match pattern:
        case Then():
            return f"{_combined(pattern.inner, count)}, then {hop_words(pattern.hops, pattern.dtype)}"
        case Before():
            return _combined(pattern.inner, count)
        case Grouping():
            return pattern.outer.text(Place(count, False, pattern.dtype, "group"))
    return "pairwise"


# -- labels of terms -------------------------------------------------------------------------------------------------


def span_label(terms: Sequence[str], numbers: Sequence[int]) -> str:
    """The labels of some terms as one: x[3, 0..31], x[3, 0..120 by 8]; else the first ones and how many more."""
    texts = [terms[i] for i in numbers]
    if len(texts) <= 2:
        return ", ".join(texts)
    parts = [re.split(r"(\d+)", text) for text in texts]
    if all(part[::2] == parts[0][::2] for part in parts):
        columns = [_progression([part[i] for part in parts]) for i in range(1, len(parts[0]), 2)]
        if all(columns):
            words = parts[0][:]
            words[1::2] = [column or "" for column in columns]
            return "".join(words)
    return f"{', '.join(texts[:2])} and {len(texts) - 2} more"


def _progression(texts: list[str]) -> str:
    """Equal numbers, or numbers with one difference, as a range; "" for others."""
    if len(set(texts)) == 1:
        return texts[0]
    values = [int(text) for text in texts]
    step = values[1] - values[0]
    if any(b - a != step for a, b in pairwise(values)):
        return ""
    return f"{values[0]}..{values[-1]}" + (f" by {step}" if step != 1 else "")
