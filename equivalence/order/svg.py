"""A picture of an accumulation order: terms at the bottom, the result at the top, regular parts as one box.

Takes an OrderTree; gives SVG text that stands alone.  Must not know how parts are named (sketch.py).
"""

from __future__ import annotations

import textwrap
from dataclasses import dataclass, field
from xml.sax.saxutils import escape

from equivalence.order.canonical import stripped
from equivalence.order.naming import name
from equivalence.order.sketch import Item, opened, sketch
from equivalence.order.tree import OrderTree

OPENED_MOST = 16  # trees of so few terms are drawn step by step
CHARACTER, LINE, PAD, GAP, RISE, MARGIN = 7.0, 16.0, 8.0, 14.0, 36.0, 20.0
WRAP = 26
FONT = 'font-family="ui-monospace,Menlo,Consolas,monospace" font-size="12" fill="#1b1f24"'
LOOKS = {  # attributes, since not every viewer reads style sheets
    "box": 'fill="#f3f6fa" stroke="#57606a"',
    "sum": 'fill="#dbe9ff" stroke="#0b5cad"',
    "term": 'fill="#ffffff" stroke="#9aa4af"',
    "more": 'fill="#ffffff" stroke="#9aa4af" stroke-dasharray="3 3"',
}


@dataclass(slots=True)
class _Box:
    kind: str  # "sum", "box", "term" or "more"
    lines: list[str]
    children: list[_Box] = field(default_factory=list)
    level: int = 0  # 0 at the bottom
    x: float = 0.0  # of the middle
    span: float = 0.0  # width with everything below

    @property
    def width(self) -> float:
        return max(max(map(len, self.lines)) * CHARACTER + 2 * PAD, 2 * PAD + LINE)

    @property
    def height(self) -> float:
        return len(self.lines) * LINE + PAD


def svg(tree: OrderTree, limit: int = 24) -> str:
    """The picture; its title is the order's name."""
    tree = stripped(tree)
    small = tree.size <= OPENED_MOST and len(tree.steps) <= 2 * OPENED_MOST
    root = _boxes(opened(tree) if small else sketch(tree, limit, most=6))
    order = _bottom_up(root)
    for box in order:
        box.level = 1 + max((c.level for c in box.children), default=-1)
        box.span = max(box.width, sum(c.span for c in box.children) + GAP * (len(box.children) - 1))
    title = textwrap.wrap(str(name(tree)), 100)
    width = max(root.span, max(map(len, title)) * CHARACTER) + 2 * MARGIN
    tops = _tops(order, MARGIN + LINE * len(title) + PAD)
    _place(root, (width - root.span) / 2)
    height = max(tops[0] + box.height for box in order if box.level == 0) + MARGIN
    return _document(width, height, title, [*_edges(order, tops), *(_drawn(box, tops) for box in order)])


def _boxes(item: Item) -> _Box:
    top = _box(item)
    waiting = [(item, top)]
    while waiting:
        item, box = waiting.pop()
        below = [(child, _box(child)) for child in item.children]
        box.children = [b for _, b in below]
        if item.hidden:
            box.children.insert(len(below) - 1, _Box("more", [f"... {item.hidden} more"]))
        waiting.extend(below)
    return top


def _box(item: Item) -> _Box:
    lines = textwrap.wrap(item.combined if item.children else item.label, WRAP) or [item.label]
    if item.terms and not item.children:
        lines += textwrap.wrap(item.terms, WRAP)
    kind = "sum" if item.label in ("+", "fma") else "box" if item.children or item.terms else "term"
    return _Box(kind, lines)


def _bottom_up(root: _Box) -> list[_Box]:
    order, waiting = [], [root]
    while waiting:
        box = waiting.pop()
        order.append(box)
        waiting.extend(box.children)
    return order[::-1]


def _tops(order: list[_Box], start: float) -> list[float]:
    """The upper edge of each level."""
    levels = order[-1].level + 1
    heights = [max(box.height for box in order if box.level == level) for level in range(levels)]
    tops = [start] * levels
    for level in range(levels - 2, -1, -1):
        tops[level] = tops[level + 1] + heights[level + 1] + RISE
    return tops


def _place(root: _Box, left: float) -> None:
    waiting = [(root, left)]
    while waiting:
        box, left = waiting.pop()
        box.x = left + box.span / 2
        left += (box.span - sum(c.span for c in box.children) - GAP * (len(box.children) - 1)) / 2
        for child in box.children:
            waiting.append((child, left))
            left += child.span + GAP


def _edges(order: list[_Box], tops: list[float]) -> list[str]:
    lines: list[str] = []
    for box in order:
        y = tops[box.level] + box.height
        for child in box.children:
            end = tops[child.level]
            bend = min(RISE, end - y) / 2
            lines.append(
                f'<path d="M{box.x:.1f} {y:.1f}C{box.x:.1f} {y + bend:.1f} {child.x:.1f} {y:.1f} '
                f'{child.x:.1f} {y + 2 * bend:.1f}V{end:.1f}" fill="none" stroke="#57606a"/>'
            )
    return lines


def _drawn(box: _Box, tops: list[float]) -> str:
    y, x = tops[box.level], box.x - box.width / 2
    radius = box.height / 2 if box.kind == "sum" else 3
    size = f'width="{box.width:.1f}" height="{box.height:.1f}"'
    shape = f'<rect {LOOKS[box.kind]} x="{x:.1f}" y="{y:.1f}" {size} rx="{radius:g}"/>'
    return shape + "".join(
        f'<text x="{box.x:.1f}" y="{y + PAD / 2 + LINE * (i + 0.75):.1f}" text-anchor="middle">{escape(line)}</text>'
        for i, line in enumerate(box.lines)
    )


def _document(width: float, height: float, title: list[str], parts: list[str]) -> str:
    words = "".join(
        f'<text font-weight="bold" x="{MARGIN:g}" y="{MARGIN + LINE * (i + 0.5):g}">{escape(line)}</text>'
        for i, line in enumerate(title)
    )
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" viewBox="0 0 {width:.0f} {height:.0f}" '
        f'width="{width:.0f}" height="{height:.0f}">'
    )
    back = '<rect width="100%" height="100%" fill="#fff"/>'
    lines = [
        head,
        f"<title>{escape(' '.join(title))}</title>",
        f"<g {FONT}>",
        back,
        words,
        *parts,
        "</g></svg>",
    ]
    return "\n".join(lines) + "\n"
