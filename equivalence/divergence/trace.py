"""Runs a program and keeps where every lane came from: each value's lanes are numbered, each application is logged.

Takes a Program and inputs; gives Trace: applications with the numbers of their operands' lanes, stores, outputs.
Must not compare anything (cone.py) nor judge (the rules).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from equivalence.evaluator import Lanes, Limits, Machine
from equivalence.evaluator.frame import Frame
from equivalence.evaluator.lanes import FLOAT_DATA, Planes
from equivalence.interpretations.base import Interpretation, Site, tag
from equivalence.interpretations.depends import Depends
from equivalence.interpretations.exact import Exact
from equivalence.interpretations.reassociated import Reassociated
from lowering.errors import Unsupported
from lowering.ir.program import Op, Program, Value

NODE = "node"
MARKS = tuple(f"mark{salt}" for salt in range(4))
#: Ops that only choose or move lanes, but whose choice may be the bug: their results get numbers of their own.
READS = frozenset(("load", "read", "gather", "slice", "dynamic_slice", "select", "pad", "dynamic_update_slice"))
BUFFER_BITS = 40  # an address names its buffer in the bits above


@dataclass(eq=False, slots=True)
class Choice:
    """What an executed load, store or select went by: address and condition lanes, and the index values behind them."""

    address: Lanes | None
    condition: Lanes | None
    values: dict[Value, Lanes]
    launch: Op | None
    rejected: np.ndarray | None = None  # lane numbers of what a select did not take


@dataclass(eq=False, slots=True)
class Application:
    """One executed operation: ``first`` is the number of its first lane, ``operands`` the numbers of what it used."""

    op: Op | None
    name: str
    attrs: dict[str, Any]
    first: int
    shape: tuple[int, ...]
    planes: Planes
    data: np.ndarray
    operands: list[np.ndarray]
    label: str = ""  # the input's name
    choice: Choice | None = None

    @property
    def size(self) -> int:
        return int(np.prod(self.shape, dtype=np.int64))

    @property
    def numbers(self) -> np.ndarray:
        return np.arange(self.first, self.first + self.size, dtype=np.int64).reshape(self.shape)


@dataclass(eq=False, slots=True)
class Stored:
    """One executed store: addresses, the lanes that were written, and their numbers."""

    op: Op
    address: np.ndarray
    inside: np.ndarray
    nodes: np.ndarray
    choice: Choice


class Marks(Depends):
    """One more bit set of touched inputs, under a hash of its own: four of them tell sets of hundreds apart."""

    name = "marks"

    def __init__(self, salt: int) -> None:
        super().__init__()
        self.plane, self._salt = MARKS[salt], np.uint64(0xD1342543DE82EF95 * (2 * salt + 1) % 2**64)
        self.planes = {self.plane: np.dtype(np.uint64)}

    def literal(self, data: np.ndarray, lanes: Lanes) -> Planes:
        return {self.plane: np.zeros((1,) * data.ndim, np.uint64)}

    def atom(self, name: str, index: np.ndarray, lanes: Lanes) -> Planes:
        mixed = (index.astype(np.uint64) + np.uint64(tag(name))) * self._salt
        mixed = (mixed ^ (mixed >> np.uint64(29))) * np.uint64(0x9E3779B97F4A7C15)
        return {self.plane: np.uint64(1) << (mixed >> np.uint64(58))}

    def undefined(self, first: int, lanes: Lanes) -> Planes:
        return {self.plane: np.zeros((1,) * lanes.data.ndim, np.uint64)}


#: Lanes of a run that are kept, about 60 bytes each.
MOST_LANES = 1 << 24


class TooLarge(Unsupported):
    """A run that cannot be traced within memory."""


class Numbered(Interpretation):
    """Several interpretations as one, with a plane of lane numbers; logs every application."""

    name = "numbered"
    counts_lanes = True

    def __init__(self, inner: Sequence[Interpretation]) -> None:
        self.inner = inner
        self.planes = {NODE: np.dtype(np.int64)}
        for interpretation in inner:
            self.planes |= interpretation.planes
        self.log: list[Application] = []
        self.count = 0
        self.op: Op | None = None  # being executed

    def keep(
        self, name: str, attrs: dict[str, Any], planes: Planes, data: np.ndarray, operands: list[np.ndarray]
    ) -> Application:
        planes = {plane: array for plane, array in planes.items() if plane != NODE}
        shape = np.broadcast_shapes(data.shape, *(array.shape for array in planes.values()))
        if self.count > MOST_LANES:
            raise TooLarge(f"a trace of more than {MOST_LANES} lanes", hint="give smaller inputs")
        application = Application(self.op, name, attrs, self.count, shape, planes, data, operands)
        self.log.append(application)
        self.count += application.size
        return application

    def _given(self, name: str, planes: list[Planes], data: np.ndarray, label: str = "") -> Planes:
        merged = {plane: array for one in planes for plane, array in one.items()}
        application = self.keep(name, {}, merged, data, [])
        application.label = label
        return {**merged, NODE: application.numbers}

    def literal(self, data: np.ndarray, lanes: Lanes) -> Planes:
        return self._given("literal", [i.literal(data, lanes) for i in self.inner], data)

    def atom(self, name: str, index: np.ndarray, lanes: Lanes) -> Planes:
        return self._given("input", [i.atom(name, index, lanes) for i in self.inner], lanes.data, name)

    def undefined(self, first: int, lanes: Lanes) -> Planes:
        return self._given("undefined", [i.undefined(first, lanes) for i in self.inner], lanes.data)

    def apply(self, site: Site, out: Lanes, args: Sequence[Lanes]) -> Planes:
        merged: Planes = {}
        for interpretation in self.inner:
            merged |= interpretation.apply(site, out, args)
        application = self.keep(site.name, site.attrs, merged, out.data, [_numbers(a) for a in args])
        return {**merged, NODE: application.numbers}

    def several(self, site: Site, outs: Sequence[Lanes], args: Sequence[Lanes], extra: Any = None) -> list[Planes]:
        merged: list[Planes] = [{} for _ in outs]
        for interpretation in self.inner:
            for mine, planes in zip(merged, interpretation.several(site, outs, args, extra), strict=True):
                mine |= planes
        operands = [_numbers(a) for a in args]
        kept = [self.keep(site.name, site.attrs, p, o.data, operands) for p, o in zip(merged, outs, strict=True)]
        return [{**planes, NODE: k.numbers} for planes, k in zip(merged, kept, strict=True)]


def _numbers(lanes: Lanes) -> np.ndarray:
    assert lanes.planes is not None
    return lanes.planes[NODE]


@dataclass(eq=False, slots=True)
class Trace:
    """A run.  ``outputs`` are Lanes with planes; ``definers`` the op of each SSA value; ``arguments`` what a
    kernel's parameter is at a launch; ``allocs`` the op that made each buffer number."""

    program: Program
    log: list[Application]
    count: int
    outputs: dict[str, Lanes]
    stores: list[Stored]
    allocs: dict[int, Op]
    definers: dict[Value, Op]
    order: dict[int, int] = field(default_factory=dict)  # id(op) -> textual position
    steps: int = 0  # executed ops
    starts: list[int] = field(default_factory=list)  # first lanes of the log's entries, when asked for
    origins: np.ndarray | None = None  # per lane the inputs that it comes from, as bits, when asked for

    def application(self, number: int) -> Application:
        """The application that made lane ``number``."""
        if len(self.starts) != len(self.log):
            self.starts = [made.first for made in self.log]
        return self.log[max(0, bisect_right(self.starts, number) - 1)]


class TracingMachine(Machine):
    """A Machine that tells its Numbered interpretation which op runs, and notes what loads and selects went by."""

    def __init__(self, program: Program, numbered: Numbered, limits: Limits | None = None) -> None:
        super().__init__(program, [numbered], limits=limits or Limits())
        self.numbered = numbered
        self.latest: dict[Value, Lanes] = {}
        self.stores: list[Stored] = []
        self.allocs: dict[int, Op] = {}
        self.launch: Op | None = None
        self.definers = {value: op for op in program.walk() for value in op.results}
        self._behind: dict[tuple[Value, ...], list[Value]] = {}

    def op(self, frame: Frame, op: Op) -> None:
        outer, self.numbered.op = self.numbered.op, op
        if op.name == "launch":
            self.launch = op
        if op.name == "store":
            self._stored(frame, op)
        operands = [frame.values[v] for v in op.operands] if op.name in READS else []
        super().op(frame, op)
        for value in op.results:
            self._made(frame, op, value, operands)
        self.numbered.op = outer

    def _made(self, frame: Frame, op: Op, value: Value, operands: Sequence[Lanes]) -> None:
        lanes = frame.values[value]
        if op.name == "alloc":
            self.allocs[int(lanes.data[0]) >> BUFFER_BITS] = op
        if lanes.planes is None:
            self.latest[value] = lanes
        elif op.name in READS and not (op.name == "select" and operands[0].taint == FLOAT_DATA):
            frame.values[value] = self._renumbered(frame, op, lanes, operands)

    def _renumbered(self, frame: Frame, op: Op, lanes: Lanes, operands: Sequence[Lanes]) -> Lanes:
        assert lanes.planes is not None
        planes = dict(lanes.planes)
        application = self.numbered.keep(op.name, op.attrs, planes, lanes.data, [planes[NODE]])
        application.choice = self._choice(frame, op, operands)
        return lanes.replace(planes={**lanes.planes, NODE: application.numbers})

    def _choice(self, frame: Frame, op: Op, operands: Sequence[Lanes]) -> Choice:
        if op.name == "load":
            mask = operands[1] if len(operands) > 1 else None
            return Choice(operands[0], mask, self._snapshot(frame, op.operands[:2]), self._within(frame))
        if op.name != "select":
            return Choice(None, None, self._snapshot(frame, op.operands[1:]), self._within(frame))
        made = Choice(None, operands[0], self._snapshot(frame, op.operands[:1]), self._within(frame))
        if operands[1].planes is not None and operands[2].planes is not None:
            made.rejected = np.where(operands[0].data, _numbers(operands[2]), _numbers(operands[1]))
        return made

    def _within(self, frame: Frame) -> Op | None:
        return self.launch if frame.instance is not None else None

    def _stored(self, frame: Frame, op: Op) -> None:
        address, value, *mask = (frame.values[v] for v in op.operands)
        parts = [address.data, *(m.data for m in mask)]
        if value.planes is None:
            return
        parts.append(_numbers(value))
        if frame.active is not None:
            parts.append(frame.active.reshape(-1, *([1] * len(address.shape))))
        shape = np.broadcast_shapes((1, *address.shape), *(p.shape for p in parts))
        inside = np.ones(shape, bool)
        for part in [*(m.data for m in mask), *parts[len(mask) + 2 :]]:
            inside &= part
        choice = Choice(
            address,
            mask[0] if mask else None,
            self._snapshot(frame, [op.operands[0], *op.operands[2:]]),
            self._within(frame),
        )
        self.stores.append(
            Stored(op, np.broadcast_to(address.data, shape), inside, np.broadcast_to(_numbers(value), shape), choice)
        )

    def _snapshot(self, frame: Frame, roots: Sequence[Value]) -> dict[Value, Lanes]:
        """The index values from which ``roots`` were computed, as they are now."""
        found = {}
        for value in self._closure(tuple(roots)):
            lanes = frame.values.get(value) or self.latest.get(value)
            if lanes is not None:
                found[value] = lanes
        return found

    def _closure(self, roots: tuple[Value, ...]) -> list[Value]:
        if roots not in self._behind:
            seen: dict[Value, None] = {}
            waiting = list(roots)
            while waiting:
                value = waiting.pop()
                if value in seen:
                    continue
                seen[value] = None
                op = self.definers.get(value)
                if op is not None and not op.regions and value.type.dtype.is_integer:
                    waiting.extend(v for v in op.operands if v.type.dtype.is_integer)
            self._behind[roots] = list(seen)
        return self._behind[roots]


def trace(program: Program, inputs: Mapping[str, np.ndarray], seed: int) -> Trace:
    """Runs ``program`` with every lane numbered.  Raises TooLarge beyond MOST_LANES lanes."""
    if sum(x.size for x in inputs.values()) > MOST_LANES // 4:
        raise TooLarge("a trace of so large an input", hint="give smaller inputs")
    numbered = Numbered([Exact(seed), Reassociated(seed), Depends(), *map(Marks, range(len(MARKS)))])
    machine = TracingMachine(program, numbered)
    outcome = machine.run(inputs)
    outputs = {name: machine.lift(lanes) for name, lanes in outcome.outputs.items()}
    order = {id(op): position for position, op in enumerate(program.walk())}
    return Trace(
        program,
        numbered.log,
        numbered.count,
        outputs,
        machine.stores,
        machine.allocs,
        machine.definers,
        order,
        machine.steps,
    )


@dataclass(frozen=True, slots=True, eq=False)
class Edit:
    """What ``ops`` give instead: ``make(op, number of its execution, operands, what it gives)`` is the data."""

    ops: tuple[Op, ...]
    make: Callable[[Op, int, Sequence[Lanes], Lanes], np.ndarray]


class EditedMachine(Machine):
    """A Machine in which some ops give other values."""

    def __init__(self, program: Program, interpretations: list[Interpretation], limits: Limits, edit: Edit) -> None:
        super().__init__(program, interpretations, limits=limits)
        self.edit, self.turns = edit, {id(op): 0 for op in edit.ops}

    def op(self, frame: Frame, op: Op) -> None:
        turn = self.turns.get(id(op))
        operands = [frame.values[v] for v in op.operands] if turn is not None else []
        super().op(frame, op)
        if turn is not None:
            lanes = frame.values[op.result]
            frame.values[op.result] = lanes.replace(data=self.edit.make(op, turn, operands, lanes))
            self.turns[id(op)] = turn + 1


def rerun(
    program: Program, inputs: Mapping[str, np.ndarray], seed: int, *, words: bool, steps: int, edit: Edit | None = None
) -> list[Lanes]:
    """The outputs alone, under as little as a comparison needs; gives up after ``steps`` ops."""
    interpretations: list[Interpretation] = [Depends()]
    if words:
        interpretations += [Exact(seed), Reassociated(seed)]
    limits = Limits(steps=steps)
    if edit is None:
        machine = Machine(program, interpretations, limits=limits)
    else:
        machine = EditedMachine(program, interpretations, limits, edit)
    return [machine.lift(lanes) for lanes in machine.run(inputs).outputs.values()]
