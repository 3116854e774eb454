"""An accumulation order for people: as a text tree here, as a picture by svg.py.

Takes an OrderTree.  Must not know two orders.
"""

from __future__ import annotations

from equivalence.order.sketch import Item, sketch
from equivalence.order.svg import svg
from equivalence.order.tree import OrderTree

__all__ = ["svg", "text"]


def text(tree: OrderTree, limit: int = 60) -> str:
    """The order as a tree of lines, the root first: regular parts by name, irregular ones opened up to ``limit``."""
    lines: list[str] = []
    waiting: list[tuple[str, str, Item | str]] = [("", "", sketch(tree, limit))]
    while waiting:
        first, rest, item = waiting.pop()
        if isinstance(item, str):
            lines.append(first + item)
            continue
        lines.append(first + _line(item))
        below: list[Item | str] = [*item.children]
        if item.hidden:
            below.insert(len(below) - 1, _hidden(item))
        for i, child in reversed(list(enumerate(below))):
            last = i == len(below) - 1
            waiting.append((rest + ("└─ " if last else "├─ "), rest + ("   " if last else "│  "), child))
    return "\n".join(lines)


def _line(item: Item) -> str:
    line = f"  ({item.line})" if item.line else ""
    return item.label + (f": {item.terms}" if item.terms else "") + line


def _hidden(item: Item) -> str:
    return f"... {item.hidden} more" + (f": {item.hidden_terms}" if item.hidden_terms else "")
