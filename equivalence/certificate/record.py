"""Runs a program and keeps every application with the numbers of its operands' lanes: the expression graph of a run.

Takes a Program and inputs; gives Graph.  Must not know what an operation means.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from equivalence.evaluator import Freedoms, Lanes, Limits, Machine
from equivalence.evaluator.freedoms import Choice
from equivalence.evaluator.lanes import FLOAT_DATA, Planes
from equivalence.interpretations.base import Interpretation, Site
from equivalence.interpretations.depends import Depends
from lowering.errors import UNKNOWN_SPAN, Span, Unsupported
from lowering.ir.program import Program
from lowering.ir.types import DType

NODE = "node"
MOST_LANES = 1 << 22


@dataclass(eq=False, slots=True)
class Step:
    """One executed operation: ``first`` is the number of its first lane, ``operands`` the numbers of what it used."""

    name: str
    attrs: dict[str, Any]
    span: Span
    first: int
    shape: tuple[int, ...]
    dtype: DType
    data: np.ndarray
    decided: bool  # no float data are in it
    operands: list[np.ndarray]
    output: int = 0  # of an operation with several results
    size: int = 0
    tables: list[Any] = field(default_factory=list)  # lanes.py's

    def __post_init__(self) -> None:
        self.size = int(np.prod(self.shape, dtype=np.int64))


class Recorded(Interpretation):
    """A plane of lane numbers; every application is a Step."""

    name = "recorded"
    counts_lanes = True

    def __init__(self) -> None:
        self.planes = {NODE: np.dtype(np.int64)}
        self.steps: list[Step] = []
        self.count = 0
        self.steering: list[str] = []  # where float data decide what runs or which elements are read

    def _keep(self, site: Site, shape: tuple[int, ...], out: Lanes, operands: list[np.ndarray], k: int = 0) -> Planes:
        decided = out.taint != FLOAT_DATA
        step = Step(site.name, site.attrs, site.span, self.count, shape, out.dtype, out.data, decided, operands, k)
        self.steps.append(step)
        self.count += step.size
        if self.count > MOST_LANES:
            raise Unsupported(f"a graph of more than {MOST_LANES} lanes", hint="give smaller inputs")
        return {NODE: np.arange(step.first, self.count, dtype=np.int64).reshape(shape)}

    def literal(self, data: np.ndarray, lanes: Lanes) -> Planes:
        return self._keep(Site("literal"), data.shape, lanes.replace(data=data), [])

    def atom(self, name: str, index: np.ndarray, lanes: Lanes) -> Planes:
        return self._keep(Site("input", {"input": name}), index.shape, lanes, [np.asarray(index)])

    def undefined(self, first: int, lanes: Lanes) -> Planes:
        return self._keep(Site("undefined"), (1,) * lanes.data.ndim, lanes, [])

    def steered(self, value: Lanes) -> bool:
        self.steering.append("control, a mask or an address follows float data")
        return False

    def unread(self, source: Lanes) -> None:
        self.steering.append("float data choose which elements are read")

    def apply(self, site: Site, out: Lanes, args: Sequence[Lanes]) -> Planes:
        ids = [a.planes[NODE] for a in args]  # type: ignore[index]
        if site.name == "dot":
            ids[0] = np.broadcast_to(ids[0], (*ids[0].shape[:-1], args[0].shape[-1]))
        return self._keep(site, self._shape(site, out, ids), out, ids)

    @staticmethod
    def _shape(site: Site, out: Lanes, ids: Sequence[np.ndarray]) -> tuple[int, ...]:
        """Extents at which results differ."""
        if site.name == "reduce":
            axis = site.attrs["axis"] + 1
            return ids[0].shape[:axis] + ids[0].shape[axis + 1 :]
        if site.name == "dot":
            rows, columns = (*ids[0].shape[:-1], 1), (*ids[1].shape[:-2], 1, ids[1].shape[-1])
            return np.broadcast_shapes(rows, columns, *(i.shape for i in ids[2:]))
        if site.name == "scan":
            return np.broadcast_shapes(ids[0].shape, out.data.shape)
        shapes = [i.shape for i in ids] + ([] if out.dtype.is_float else [out.data.shape])
        return np.broadcast_shapes(*shapes)

    def several(self, site: Site, outs: Sequence[Lanes], args: Sequence[Lanes], extra: Any = None) -> list[Planes]:
        ids = [a.planes[NODE] for a in args]  # type: ignore[index]
        shape = np.broadcast_shapes(*(i.shape for i in ids))
        if site.name == "reduce":
            axis = site.attrs["axis"] + 1
            shape = shape[:axis] + shape[axis + 1 :]
        return [self._keep(site, shape, out, ids, k) for k, out in enumerate(outs)]


@dataclass(eq=False, slots=True)
class Graph:
    """A run: ``outputs`` in the program's order; ``open``: why no output of it can be certified."""

    steps: list[Step]
    outputs: list[Lanes]
    open: list[list[str]]  # by output
    starts: list[int]

    def step(self, lane: int) -> Step:
        """The step that made a lane."""
        return self.steps[bisect_right(self.starts, lane) - 1]


#: Combiners whose result, as a real number, does not depend on the order of their operands.
_COMMUTING = ("add", "mul", "max", "min", "and", "or", "xor")
_ORDERS = re.compile(
    rf"the order of (colliding ({'|'.join(_COMMUTING)})s$|\d+ ({'|'.join(_COMMUTING)}) terms|\d+ products)"
)


def harmless(choice: Choice, locks: bool) -> bool:
    """Whether the same real numbers come out whatever is chosen: how to round, and in which order sums are added."""
    if choice.kind in ("order", "racing"):
        return _ORDERS.match(choice.what) is not None and not (locks and choice.kind == "racing")
    return choice.kind in ("contraction", "intrinsic", "lanes")


def record(program: Program, inputs: Mapping[str, np.ndarray], side: int, deadline: float) -> Graph:
    """Runs ``program``."""
    recorded, freedoms = Recorded(), Freedoms()
    machine = Machine(program, [recorded, Depends(marks=False)], freedoms, Limits(side=side, deadline=deadline))
    outcome = machine.run(inputs)
    outputs = [machine.lift(lanes) for lanes in outcome.outputs.values()]
    stray = [f"{e.what} at {e.span}" for e in outcome.events if e.code == "out-of-bounds"]
    locks = any(op.name == "atomic_cas" for op in program.walk())
    opened = []
    for lanes in outputs:
        choices = [c for c in freedoms.of(lanes.freedoms) if not harmless(c, locks)]
        where = [f"{c.what} at {c.span}" for c in choices]
        sites = [f"at {span}" for span in outcome.path_sites if span is not UNKNOWN_SPAN]
        steered = [" ".join([recorded.steering[0], *sites[:1]])] if recorded.steering else []
        opened.append([*stray, *where, *steered])
    return Graph(recorded.steps, outputs, opened, [s.first for s in recorded.steps])
