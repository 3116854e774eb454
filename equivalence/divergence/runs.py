"""Two programs run side by side, and the output element at which to compare them.

Takes Programs and inputs; gives Runs, whose ``context`` is both sides at the element that shows most simply how
they differ.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import numpy as np

from equivalence.divergence.cone import Side, columns, cone, match, root_of, side
from equivalence.divergence.finding import Context, Repaired
from equivalence.divergence.node import Node
from equivalence.divergence.trace import Edit, Trace, rerun, trace
from equivalence.evaluator import Lanes
from lowering.ir.program import Program

Wanted = Literal["exact", "reassociated", "real", "ieee"]
Inputs = Mapping[str, np.ndarray]
CANDIDATES = 6  # differing elements that are tried; the one whose cones differ least is explained


class Runs:
    """Both runs, and the choice of the element to look at."""

    def __init__(self, a: Trace, b: Trace, inputs_a: Inputs, inputs_b: Inputs, wanted: Wanted, seed: int) -> None:
        self.a, self.b, self.inputs_a, self.inputs_b = a, b, inputs_a, inputs_b
        self.wanted: Wanted = wanted
        self.seed = seed
        self.plane = "exact" if wanted == "exact" else "reassociated"
        self.by_value = wanted in ("real", "ieee")
        self.same_function = not self.by_value
        self.flat = columns(a, self.plane), columns(b, self.plane)

    @classmethod
    def of(cls, a: Program, b: Program, inputs_a: Inputs, inputs_b: Inputs, wanted: Wanted, seed: int) -> Runs:
        """Runs both programs."""
        return cls(trace(a, inputs_a, seed), trace(b, inputs_b, seed), inputs_a, inputs_b, wanted, seed)

    def mirrored(self) -> Runs:
        """The same with A and B exchanged."""
        return Runs(self.b, self.a, self.inputs_b, self.inputs_a, self.wanted, self.seed)

    def telling(self) -> Runs:
        """The same at inputs without repeated values, if they differ there too: zeros and ones are equal by chance."""
        if not self.by_value or not any(map(_repeats, [*self.inputs_a.values(), *self.inputs_b.values()])):
            return self
        inputs = _spread(self.inputs_a, self.seed), _spread(self.inputs_b, self.seed)
        other = Runs.of(self.a.program, self.b.program, *inputs, self.wanted, self.seed)
        return other if other.differs() else self

    def context(self, index: int | None, element: tuple[int, ...] | None, *, only: bool = False) -> Context | None:
        """The simplest of a few elements that differ, by value if any does, else by word; ``element`` is one."""
        for position, (name, a, b) in enumerate(zip(self.a.outputs, self.a.outputs.values(), self.b.outputs.values())):
            if index in (None, position):
                gap = self._value_gap(a, b) if self.by_value else self._word_gap(a, b)
                chosen = [] if only else self._differing(a, b, gap)
                if element is not None and gap[element] > 0:
                    chosen.append(element)
                if chosen:
                    return min((self._at(name, a, b, e, position) for e in chosen), key=_distance)
        return self._by_word().context(index, element, only=only) if self.by_value else None

    def _by_word(self) -> Runs:
        runs = Runs(self.a, self.b, self.inputs_a, self.inputs_b, "reassociated", self.seed)
        runs.same_function = self.same_function
        return runs

    def differs(self) -> bool:
        """Whether some output differs by value."""
        both = zip(self.a.outputs.values(), self.b.outputs.values(), strict=False)
        return any(self._differing(a, b, self._value_gap(a, b)) for a, b in both)

    def parts(self, position: int) -> bool:
        """Whether the two differ in that output, as far as is looked at."""
        a, b = list(self.a.outputs.values())[position], list(self.b.outputs.values())[position]
        return bool(self._differing(a, b, self._value_gap(a, b) if self.by_value else self._word_gap(a, b)))

    # -- which element ---------------------------------------------------------------------------------------------

    def _differing(self, a: Lanes, b: Lanes, gap: np.ndarray) -> list[tuple[int, ...]]:
        """A few elements that clearly differ or are undefined on one side: the farthest apart, and some spread over."""
        gap = np.where(_undefined(a, b), np.inf, gap)
        clear = np.flatnonzero(gap > (_noise(a) if self.by_value else 0))
        if not clear.size:
            return []
        farthest = clear[np.argsort(-gap.ravel()[clear], kind="stable")][: CANDIDATES // 2]
        least = gap.ravel()[farthest[0]] if np.isinf(gap.ravel()[farthest[0]]) else 0.3 * gap.ravel()[farthest[0]]
        large = clear[gap.ravel()[clear] >= least]
        spread = large[np.linspace(0, len(large) - 1, CANDIDATES).astype(int)]
        picked = dict.fromkeys([*farthest.tolist(), *spread.tolist()])
        return [tuple(int(i) for i in np.unravel_index(n, gap.shape)) for n in picked]

    def _word_gap(self, a: Lanes, b: Lanes) -> np.ndarray:
        """Infinite where the fingerprints differ."""
        return np.where(self._differ(a, b), np.inf, 0.0)

    def _differ(self, a: Lanes, b: Lanes) -> np.ndarray:
        return a.full(a.planes[self.plane])[0] != b.full(b.planes[self.plane])[0]  # type: ignore[index]

    @staticmethod
    def _value_gap(a: Lanes, b: Lanes, floor: float = 1e-2) -> np.ndarray:
        """Distance relative to the element, or to ``floor`` times the largest; infinite where one is not finite."""
        x, y = (v.full(v.data)[0].astype(np.float64) for v in (a, b))
        with np.errstate(all="ignore"):
            largest = np.max(np.abs(x), initial=0, where=np.isfinite(x))
            scale = np.maximum(np.maximum(np.abs(x), np.abs(y)), floor * (1e-30 + largest))
            gap = np.where(np.isfinite(x) == np.isfinite(y), np.abs(x - y) / scale, np.inf)
        return np.nan_to_num(gap, nan=0.0, posinf=np.inf)

    # -- its context -----------------------------------------------------------------------------------------------

    def _at(self, name: str, a: Lanes, b: Lanes, element: tuple[int, ...], position: int) -> Context:
        mine = side(self.a, self.flat[0], root_of(a, element)), side(self.b, self.flat[1], root_of(b, element))
        gap = float(self._value_gap(a, b)[element])
        tolerance = float(np.clip(gap / 10, 3e-7, 2e-5)) if self.by_value else 0.0
        vouched = self._vouched(position)
        match(mine[1], mine[0], tolerance, vouched)
        match(mine[0], mine[1], tolerance)
        apart = float(self._value_gap(a, b, floor=1.0)[element])
        repaired = self._repaired(position, a, element, min(_noise(a), gap / 3))
        context = Context(*mine, name, element, self.by_value, apart, repaired, self.same_function)
        context.front_a, context.front_b = (_thinned(s) for s in mine)
        context.missing, context.extra = _only(*mine), _only(mine[1], mine[0])
        return context

    def _vouched(self, position: int) -> np.ndarray | None:
        """Words of A behind outputs on which both agree everywhere: what B computes for those is right."""
        roots: list[np.ndarray] = []
        for at, (a, b) in enumerate(zip(self.a.outputs.values(), self.b.outputs.values(), strict=False)):
            agree = self._value_gap(a, b).max(initial=0) <= _noise(a) if self.by_value else not self._differ(a, b).any()
            if at != position and agree:
                roots.append(np.unique(a.planes["node"]))  # type: ignore[index]
        if not roots:
            return None
        flags = cone(self.a, np.concatenate(roots))
        return self.flat[0].words[flags]

    def _repaired(self, position: int, a: Lanes, element: tuple[int, ...], noise: float) -> Repaired:
        def repaired(program: Program, edit: Edit | None = None, everywhere: bool = True) -> bool:
            words, steps = not self.by_value, 2 * self.b.steps
            outputs = rerun(program, self.inputs_b, self.seed, words=words, steps=steps, edit=edit)
            b = outputs[position]
            if not self.by_value:
                return not self._differ(a, b).any()
            if not everywhere:
                return bool(self._value_gap(a, b)[element] <= noise)
            near = (self._value_gap(a, b) <= noise).mean() > 0.99
            return bool(near and (self._value_gap(a, b, floor=1.0) <= noise).all()) and not _undefined(a, b).any()

        return repaired


def _repeats(x: np.ndarray) -> bool:
    return x.dtype.kind not in "iub" and x.size > 4 and 2 * np.unique(x.astype(np.float64)).size < x.size


def _spread(inputs: Inputs, seed: int) -> dict[str, np.ndarray]:
    """Repeated values moved apart by a quarter of the largest; inputs that were nowhere negative stay so."""
    rng = np.random.default_rng(seed)
    spread = {}
    for name, x in inputs.items():
        wide = x.astype(np.float64)
        noise = 0.25 * (np.max(np.abs(wide), initial=0) or 1.0) * rng.standard_normal(x.shape)
        moved = wide + (np.abs(noise) if (wide >= 0).all() and wide.any() else noise)
        spread[name] = moved.astype(x.dtype) if _repeats(x) else x
    return spread


def _undefined(a: Lanes, b: Lanes) -> np.ndarray:
    """Elements that depend on something undefined on one side only."""
    return b.full(b.planes["poison"])[0] != a.full(a.planes["poison"])[0]  # type: ignore[index]


def _thinned(mine: Side) -> list[Node]:
    """The frontier with at most four lanes of one op: the first two and the last two say what it is about."""
    by_op: dict[int, list[Node]] = {}
    for node in (Node(mine, n) for n in mine.frontier()):
        by_op.setdefault(id(node.op), []).append(node)
    kept = [n for same in by_op.values() for n in (same if len(same) <= 4 else [*same[:2], *same[-2:]])]
    return sorted(kept, key=lambda n: n.number)


def _noise(lanes: Lanes) -> float:
    """Relative distance of two right answers in a dtype."""
    return {"f64": 1e-12, "f32": 1e-4, "f16": 4e-3, "bf16": 3e-2}.get(
        lanes.dtype.name, 0.0 if lanes.dtype.is_integer else 1e-1
    )


def _only(mine: Side, other: Side) -> list[Node]:
    """Input elements in one cone and not in the other."""
    known = other.words[other.cone & other.leaf]
    leaves = np.flatnonzero(mine.cone & mine.leaf & ~mine.literal)
    lanes = leaves[~np.isin(mine.words[leaves], known)]
    return [node for node in (Node(mine, int(n)) for n in lanes) if node.name == "input"]


def _distance(c: Context) -> tuple[bool, int, int]:
    """How far apart the cones are: elements first, then operations.

    An element for which each side reads what the other does not comes before one at an edge, where a shift looks
    like a mask.
    """
    return not (c.missing and c.extra), len(c.missing) + len(c.extra), int(c.a.bad.sum() + c.b.bad.sum())
