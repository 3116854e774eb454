"""In what order the terms of an accumulation lie in the arrays that are summed, and what to call them.

Takes a Graph and terms (lanes, or pairs of lanes for products); gives an order and labels.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from equivalence.order.lanes import Graph, Made

_MOST = 24  # lanes of a term that are looked at
_ACCUMULATE = ("reduce", "scan", "dot", "sort")
Atoms = dict[str, int]


def ordered(graph: Graph, terms: Sequence[tuple[int, ...]]) -> list[int]:
    """Positions of the terms by the place of the input elements they come from; equal places keep their order."""
    found = [_atoms(graph, lanes) for lanes in terms]
    names = sorted({name for atoms in found for name in atoms})
    # The array that is summed over is the one whose elements tell most terms apart.
    names.sort(key=lambda name: -len({atoms.get(name, -1) for atoms in found}))
    missing = 1 << 62
    keys = [tuple(atoms.get(name, missing) for name in names) for atoms in found]
    return sorted(range(len(terms)), key=lambda i: keys[i])


def _atoms(graph: Graph, lanes: Sequence[int]) -> Atoms:
    """Per input the first element that a term comes from, without looking into other accumulations first."""
    found: Atoms = {}
    waiting, seen = [(graph.source(lane), 0) for lane in lanes], set[int]()
    later: list[int] = []
    while (waiting or (not found and later)) and len(seen) < _MOST * 8:
        lane, depth = waiting.pop(0) if waiting else (later.pop(0), 0)
        if lane in seen:
            continue
        seen.add(lane)
        made = graph.at(lane)
        if made.name == "input":
            place = int(made.number - made.application.first)
            label = made.application.label
            found[label] = min(found.get(label, place), place)
        elif made.name in _ACCUMULATE:
            if not found and made.name != "dot":
                later.extend(graph.source(i) for i in made.axis_lanes()[:1])
            elif made.name == "dot":
                later.extend(graph.source(i) for i in made.factors()[0])
        elif depth < _MOST:
            waiting.extend((graph.source(made.given(i)), depth + 1) for i in range(len(made.application.operands)))
    return found


def labels(graph: Graph, terms: Sequence[tuple[int, ...]]) -> tuple[str, ...]:
    """A short text for every term: x[3, 5], x[3, k]*w[k, 5], exp(x[3, 5] - max), 1e-05."""
    return tuple(" * ".join(_label(graph, graph.at(lane), 0) for lane in lanes) for lanes in terms)


_INFIX = {"add": "+", "sub": "-", "mul": "*", "div": "/"}


def _label(graph: Graph, made: Made, depth: int) -> str:
    if made.name == "input":
        inner = ", ".join(str(i) for i in _element(made))
        return f"{made.application.label}[{inner}]" if inner else made.application.label
    if made.name == "literal":
        return f"{made.value:.6g}"
    if made.name in ("reduce", "scan"):
        return f"{made.application.attrs['combine']}(...)"
    if made.name == "dot":
        return "dot(...)"
    if depth > 2:
        return "..."
    parts = [
        _label(graph, graph.at(graph.source(made.given(i))), depth + 1) for i in range(len(made.application.operands))
    ]
    if made.name in ("cast", "bitcast"):
        return parts[0]
    if made.name in _INFIX:
        text = f" {_INFIX[made.name]} ".join(parts)
        return f"({text})" if depth else text
    name = str(made.application.attrs.get("fn") or made.application.attrs.get("combine") or made.name)
    return f"{name}({', '.join(parts)})"


def _element(made: Made) -> tuple[int, ...]:
    """The index of an input element, without the batch axis."""
    shape = made.application.shape
    place = made.number - made.application.first
    return tuple(int(i) for i in np.unravel_index(place, shape))[1:]
