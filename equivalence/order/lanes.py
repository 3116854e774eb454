"""One lane of a Trace, for walks over accumulations: what made it, from which lanes, with what value.

Takes a Trace; gives Graph.  Must not know accumulations (extract.py) or a second program.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from equivalence.divergence.node import MOVES
from equivalence.divergence.trace import Application, Trace
from equivalence.interpretations.hashed import LITERAL
from lowering.errors import UNKNOWN_SPAN, Span
from lowering.ir.program import Op

_LEVELS = {"ttir": "TTIR", "stablehlo": "StableHLO", "aten": "ATen", "nki": "NKI"}


@dataclass(frozen=True, slots=True)
class Made:
    """What made a lane: an application, and the lane's place in it (batch axis first)."""

    number: int
    application: Application
    place: tuple[int, ...]

    @property
    def name(self) -> str:
        return self.application.name

    @property
    def op(self) -> Op | None:
        return self.application.op

    @property
    def span(self) -> Span:
        return self.op.span if self.op is not None else UNKNOWN_SPAN

    @property
    def value(self) -> float:
        return float(_at(self.application.data, self.place))

    def given(self, operand: int = 0) -> int:
        """The lane that an elementwise operand contributes."""
        return int(_at(self.application.operands[operand], self.place))

    def axis_lanes(self, operand: int = 0) -> list[int]:
        """The lanes along the axis of a reduce, scan or sort, in the order of their places."""
        axis = int(self.application.attrs["axis"]) + 1
        ids = self.application.operands[operand]
        inner = self.place if self.name in ("scan", "sort") else (*self.place[:axis], 0, *self.place[axis:])
        return [int(i) for i in _along(ids, inner, axis)]

    def factors(self) -> list[tuple[int, int]]:
        """The pairs of lanes that a dot multiplies for this result, in the order of the contracted axis."""
        a, b = self.application.operands[:2]
        row = _along(a, self.place[:-1] + (0,), a.ndim - 1)
        column = _along(b, self.place[:-2] + (0, self.place[-1]), b.ndim - 2)
        extent = max(len(row), len(column))
        row, column = np.broadcast_to(row, extent), np.broadcast_to(column, extent)
        return [(int(x), int(y)) for x, y in zip(row, column, strict=True)]


def _clamped(shape: tuple[int, ...], place: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(0 if extent == 1 else i for extent, i in zip(shape, place, strict=True))


def _at(array: np.ndarray, place: tuple[int, ...]) -> np.generic:
    return array[_clamped(array.shape, place)]


def _along(ids: np.ndarray, place: tuple[int, ...], axis: int) -> np.ndarray:
    spot: list[int | slice] = list(_clamped(ids.shape, place))
    spot[axis] = slice(None)
    return np.atleast_1d(ids[tuple(spot)])


@dataclass(slots=True)
class Graph:
    """Looks up what made a lane; ``levels`` and ``kernels`` say which source level an op belongs to."""

    trace: Trace
    levels: dict[int, str] = field(init=False)
    kernels: dict[int, str] = field(init=False)
    regions: dict[int, Op] = field(init=False)  # ops inside a generic combiner -> the reduce or scan that runs it
    _made: dict[int, Made] = field(default_factory=dict)

    def __post_init__(self) -> None:
        program = self.trace.program
        host = str(program.attrs.get("level", ""))
        self.levels = {id(op): host for op in program.body.walk()}
        self.kernels, self.regions = {}, {}
        for name, kernel in program.kernels.items():
            for op in kernel.body.walk():
                self.levels[id(op)] = str(kernel.attrs.get("level", ""))
                self.kernels[id(op)] = name
        for op in program.walk():
            if op.name in ("reduce", "scan"):
                self.regions |= {id(inner): op for region in op.regions for inner in region.walk()}

    def at(self, number: int) -> Made:
        """What made lane ``number``."""
        made = self._made.get(number)
        if made is None:
            application = self.trace.application(number)
            place = np.unravel_index(number - application.first, application.shape)
            made = self._made[number] = Made(number, application, tuple(int(i) for i in place))
        return made

    def source(self, number: int) -> int:
        """The lane before it was loaded, moved, or chosen by an index mask."""
        made = self.at(number)
        while made.name in MOVES and made.name != "bitcast" and len(made.application.operands) == 1:
            made = self.at(made.given())
        return made.number

    def literal(self, number: int) -> float | None:
        """The value of a lane that is one whatever the inputs are (exp(-inf) too); None where it depends on them."""
        made = self.at(number)
        for plane in ("exact", "reassociated"):
            if made.name == "literal" or int(_at(made.application.planes[plane], made.place)) & int(LITERAL):
                return made.value
        return None

    def level(self, made: Made) -> str:
        """The source level that says how ``made`` is computed, by its usual name."""
        return _LEVELS.get(self.levels.get(id(made.op), ""), "the source")

    def where(self, made: Made) -> str:
        """The program instance that computed it; "" on the host."""
        kernel = self.kernels.get(id(made.op))
        return "" if kernel is None else f"{kernel}[{made.place[0]}]"
