"""The accumulations of chosen output elements of a program, named.

Takes a program and its inputs; gives Element: one output element with its accumulations, each with its name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from equivalence.divergence.cone import root_of
from equivalence.divergence.trace import Trace, trace
from equivalence.order.extract import Accumulation, accumulations
from equivalence.order.naming import Name, name
from lowering.errors import UsageError
from lowering.ir.program import Program


@dataclass(frozen=True, slots=True)
class Named:
    """An accumulation and the name of its order."""

    accumulation: Accumulation
    name: Name


@dataclass(frozen=True, slots=True)
class Element:
    """One element of an output: the outermost accumulation first; none where nothing is added up."""

    output: str
    index: tuple[int, ...]
    named: tuple[Named, ...]


def run(program: Program, inputs: Mapping[str, np.ndarray], seed: int) -> Trace:
    """The program's trace.  Raises Unsupported (TooLarge) where it does not fit in memory."""
    return trace(program, inputs, seed)


def element(made: Trace, output: str | int = 0, index: Sequence[int] | None = None) -> Element:
    """An output's element (its last one by default: there ragged tails and causal masks have all their terms).

    Raises UsageError where there is no such output or element.
    """
    names = list(made.outputs)
    found = names[output] if isinstance(output, int) and 0 <= output < len(names) else output
    if found not in made.outputs:
        raise UsageError(f"there is no output {output}; the outputs are {', '.join(names)} (0 to {len(names) - 1})")
    lanes = made.outputs[str(found)]
    if index is None and 0 in lanes.shape:
        return Element(str(found), (), ())
    place = tuple(extent - 1 for extent in lanes.shape) if index is None else tuple(index)
    inside = len(place) == len(lanes.shape) and all(0 <= i < n for i, n in zip(place, lanes.shape, strict=True))
    if not inside:
        shape = ", ".join(map(str, lanes.shape))
        raise UsageError(f"{found} has no element {list(place)}; its shape is [{shape}]: --index 0,0 for the first")
    if not lanes.dtype.is_float:
        return Element(str(found), place, ())
    every = accumulations(made, root_of(lanes, place))
    return Element(str(found), place, tuple(Named(one, name(one.tree)) for one in every))
