"""Original against mutant on many inputs: same, different (with a witness), unsafe, or no answer.

Takes the original and its captured inputs; gives a Finding per mutant and kind of equality asked about.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from lowering.ir.program import Program
from tests.mutation.oracle import accumulation, moves, scalars
from tests.mutation.oracle.arithmetic import DEEP, IEEE, LAZY, WIDE, Arithmetic, CannotTell
from tests.mutation.oracle.interpreter import MEANINGS, Interpreter
from tests.mutation.oracle.samples import sets

Array = np.ndarray
FILLS = (5.0, -37.0)
DEEP_WORK = 40_000  # float operations up to which 200 bits are affordable for one run
TOLERANCE = {"ieee": 0.0, "lazy": 0.0, "wide": 1e-13, "deep": 1e-40}
_NOISE = {"ieee": 0.0, "lazy": 0.0, "wide": 1e-17, "deep": 1e-50}
assert accumulation and moves and scalars and MEANINGS


@dataclass(frozen=True, slots=True)
class Finding:
    """``status``: 'same', 'different', 'unsafe' (equal, but lanes go out of bounds) or 'cannot tell'."""

    status: str
    detail: str = ""


@dataclass(slots=True)
class Result:
    outputs: list[Array]
    strayed: dict[str, int]
    work: int
    largest: float
    unbounded: int


@dataclass(slots=True)
class Oracle:
    """Judges mutants of one program.  Results of the original are kept."""

    original: Program
    inputs: Mapping[str, Array]
    seed: int = 0
    seconds: float = 6.0
    known: dict[tuple[str, str, float], Result] = field(default_factory=dict)

    def same_bits(self, mutant: Program) -> Finding:
        """Bit for bit, with every accumulation taken in index order on both sides."""
        return self.compare(mutant, IEEE)

    def same_terms(self, mutant: Program) -> Finding:
        """Bit for bit once additions are exact: the order of a sum does not show, every other rounding does."""
        return self.compare(mutant, LAZY)

    def same_function(self, mutant: Program) -> Finding:
        """As functions of real numbers: 64-bit significands first; 200 bits decide where they are affordable."""
        quick = self.compare(mutant, WIDE)
        if quick.status in ("cannot tell", "unsafe"):
            return quick
        first = self.known.get(("wide", "captured", FILLS[0]))
        if first is None or first.work > DEEP_WORK:
            return quick
        deep = self.compare(mutant, DEEP)
        return quick if deep.status == "cannot tell" else deep

    def overflows(self, mutant: Program) -> bool:
        """Whether the mutant's rounded arithmetic leaves the finite numbers where the original's does not."""
        try:
            for name, arrays, fill, _ in self._runs(IEEE):
                before = self._original(IEEE, name, arrays, fill)
                after = run(mutant, IEEE, arrays, fill, False)
                if after.unbounded != before.unbounded:
                    return True
        except CannotTell:
            return False
        return False

    def compare(self, mutant: Program, arithmetic: Arithmetic) -> Finding:
        try:
            return self._compare(mutant, arithmetic)
        except CannotTell as reason:
            return Finding("cannot tell", str(reason))

    def _compare(self, mutant: Program, arithmetic: Arithmetic) -> Finding:
        deadline, count = time.monotonic() + self.seconds, 0
        strayed: dict[str, int] = {"load": 0, "store": 0}
        for name, arrays, fill, backwards in self._runs(arithmetic):
            if time.monotonic() > deadline and count:
                break
            count += 1
            before = self._original(arithmetic, name, arrays, fill)
            after = run(mutant, arithmetic, arrays, fill, backwards)
            for what in strayed:
                strayed[what] = max(strayed[what], after.strayed[what] - before.strayed[what])
            apart = difference(before.outputs, after.outputs, arithmetic, max(before.largest, after.largest))
            if apart is not None:
                return Finding("different", f"{name} inputs{', backwards' * backwards}, fill {fill}: {apart}")
        if any(strayed.values()):
            return Finding("unsafe", f"lanes out of bounds: {strayed}")
        return Finding("same", f"{count} runs")

    def _runs(self, arithmetic: Arithmetic) -> Iterator[tuple[str, dict[str, Array], float, bool]]:
        """Captured inputs with both fills and both orders of instances, then every other set."""
        for number, (name, arrays) in enumerate(sets(self.inputs, self.seed)):
            yield name, arrays, FILLS[number % 2], False
            if not number:
                yield name, arrays, FILLS[1], False
                yield name, arrays, FILLS[0], True

    def _original(self, arithmetic: Arithmetic, name: str, arrays: dict[str, Array], fill: float) -> Result:
        key = (arithmetic.name, name, fill)
        if key not in self.known:
            self.known[key] = run(self.original, arithmetic, arrays, fill, False)
        return self.known[key]


def run(program: Program, arithmetic: Arithmetic, arrays: dict[str, Array], fill: float, backwards: bool) -> Result:
    machine = Interpreter(program, arithmetic, fill, backwards)
    try:
        outputs = machine.run(arrays)
    except (ValueError, IndexError, TypeError, OverflowError) as error:
        raise CannotTell(f"{type(error).__name__}: {error}") from error
    return Result(outputs, dict(machine.store.strayed), machine.work, machine.largest, machine.unbounded)


def difference(a: list[Array], b: list[Array], arithmetic: Arithmetic, largest: float) -> str | None:
    """The first lane that differs, in words."""
    for number, (x, y) in enumerate(zip(a, b, strict=True)):
        if x.shape != y.shape:
            return f"output {number} has shape {x.shape} against {y.shape}"
        apart = lanes_apart(x, y, arithmetic, largest)
        if apart.any():
            at = tuple(int(i) for i in np.unravel_index(int(np.argmax(apart)), apart.shape))
            return f"output {number}{list(at)}: {float(x[at])!r} against {float(y[at])!r}, {int(apart.sum())} lanes"
    return None


def lanes_apart(x: Array, y: Array, arithmetic: Arithmetic, largest: float) -> Array:
    """Lanes that are not equal; a lane that is not finite in the original says nothing."""
    if x.dtype.kind in "iub":
        return np.asarray(x != y)
    with np.errstate(all="ignore"):
        high, low = (np.asarray(np.frompyfunc(float, 1, 1)(v), np.float64) for v in (x, y))
        finite, other = np.isfinite(high), np.isfinite(low)
        one_sided = finite & ~other
        gap = np.abs(np.where(finite & other, x - y, x * 0))
        size = np.maximum(np.abs(np.where(finite, x, 0)), np.abs(np.where(other, y, 0)))
        scale = max(largest, float(np.max(np.where(finite, np.abs(high), 0), initial=0.0)))
        limit = size * TOLERANCE[arithmetic.name] + scale * _NOISE[arithmetic.name]
        return one_sided | np.asarray(finite & other & np.asarray(gap > limit, bool), bool)
