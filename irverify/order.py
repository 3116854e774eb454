"""``irverify order``: how each reduction of one output element is added up.

Takes options, an entry, an output and an index; gives Ordered, text lines and plain data for JSON.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from irverify.lower import program_of
from irverify.options import CompareOptions
from lowering.errors import UsageError

if TYPE_CHECKING:
    from equivalence.order.element import Element, Named

SCHEMA = "irverify-order/1"


@dataclass(frozen=True, slots=True)
class Ordered:
    """One output element of a subject, in words and as data."""

    subject: str
    element: Element

    def lines(self) -> Iterator[str]:
        where = f"{self.element.output}[{', '.join(map(str, self.element.index))}]"
        yield f"{self.subject}  {where}"
        if not self.element.named:
            yield "  nothing is added up: no sum of three terms or more, and none in an open order"
        for one in self.element.named:
            yield ""
            yield from (f"  {line}" for line in _lines(one))

    def data(self) -> dict[str, Any]:
        return {
            "schema": SCHEMA,
            "subject": self.subject,
            "output": self.element.output,
            "index": list(self.element.index),
            "accumulations": [_data(one) for one in self.element.named],
        }


def parse_index(text: str) -> tuple[int, ...]:
    """'3,5' -> (3, 5).  Raises UsageError."""
    try:
        return tuple(int(part) for part in text.split(",") if part.strip())
    except ValueError:
        raise UsageError(f"--index is {text!r}; write whole numbers: --index 3,5") from None


def order(options: CompareOptions, entry: str | None, output: str, index: str | None) -> Ordered:
    """The accumulations of one element.  ``output``: its number from 0, or its name."""
    from equivalence.order.element import element, run

    one = program_of(options, entry)
    made = run(one.program, one.inputs, options.seed)
    place = None if index is None else parse_index(index)
    found = element(made, int(output) if output.isdecimal() else output, place)
    return Ordered(f"{one.side.path.name}:{one.side.entry}", found)


def drawn(ordered: Ordered) -> str:
    """The outermost accumulation as SVG.  Raises UsageError where there is none."""
    from equivalence.order.render import svg

    if not ordered.element.named:
        raise UsageError("there is nothing to draw: this element adds nothing up")
    return svg(ordered.element.named[0].accumulation.tree)


def _lines(one: Named) -> Iterator[str]:
    from equivalence.order.render import text

    accumulation = one.accumulation
    times = "" if accumulation.count == 1 else f"{accumulation.count} of this kind, "
    depth = accumulation.tree.depth()
    yield f"{accumulation.tree.what}: {times}at most {depth} addition{'s' * (depth != 1)} on the way of a term"
    yield from (f"  {line}" for line in text(accumulation.tree).splitlines())


def _data(one: Named) -> dict[str, Any]:
    accumulation = one.accumulation
    return {
        "order": str(one.name),
        "terms": accumulation.tree.size,
        "dtype": one.name.dtype,
        "depth": accumulation.tree.depth(),
        "count": accumulation.count,
        "fixed": not accumulation.tree.open_steps(),
        "file": accumulation.span.file,
        "line": accumulation.span.line,
        "first_terms": list(accumulation.tree.terms[:8]),
    }
