"""What a Pallas kernel's body does to its Refs at every grid point: reads, writes, and what precedes what in a step.

Takes the kernel's jaxpr and the grid points; gives a list of Access.  Control that program ids decide is followed;
of other control every branch may be taken, and what one writes counts as written.  Must not know what a device does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lowering.capture.jax_scalars import NO_AXES, Axes, Known, computed, literal
from lowering.errors import UNKNOWN_SPAN, Span

_ACCESSES = ("get", "swap", "addupdate", "masked_load", "masked_swap")
#: Start (None: not known) and extent of a window, per dimension of a Ref.
Window = tuple[tuple[np.ndarray | None, int], ...]


@dataclass(frozen=True, slots=True)
class Access:
    """One read or write.  ``at``: the points where it may happen; of a read those where the step wrote nothing to that
    Ref before, so that it sees what was there.  ``axes``: what a written value, or whether it is written, depends on.
    """

    ref: int
    writes: bool
    at: np.ndarray
    window: Window
    axes: Axes
    span: Span


@dataclass(frozen=True, slots=True)
class _Ref:
    number: int
    shape: tuple[int, ...]


class Steps:
    """The walk.

    ``accesses``: what was found so far; ``opaque``: Refs that something not modelled touches (copies, semaphores).
    """

    def __init__(self, points: np.ndarray, grid: Sequence[int], program_axes: Sequence[int]) -> None:
        self.points, self.grid, self.program_axes = points, grid, program_axes
        self.accesses: list[Access] = []
        self.opaque: set[int] = set()
        self._written: dict[int, np.ndarray] = {}  # by Ref: the points at which this step has written to it
        self._contents: dict[int, Axes] = {}
        self._left_over: set[int] = set()
        self._refs, self._muted = 0, 0

    def ref(self, aval: Any, axes: Axes | None = None) -> _Ref:
        """A Ref, numbered in the order of these calls: what it holds at first differs along ``axes``, or is whatever
        other steps left there (None)."""
        made = _Ref(self._refs, tuple(getattr(aval, "shape", ())))
        self._written[made.number] = np.zeros(len(self.points), bool)
        self._contents[made.number] = axes or NO_AXES
        if axes is None:
            self._left_over.add(made.number)
        self._refs += 1
        return made

    def run(self, jaxpr: Any, arguments: Sequence[Any], at: np.ndarray, path: Axes = NO_AXES) -> list[Any]:
        """Walks ``jaxpr`` where ``at`` says; gives what it returns."""
        variables = [*jaxpr.constvars, *jaxpr.invars]
        found = dict(zip(variables, arguments, strict=True))
        atoms = [*jaxpr.outvars, *(atom for eqn in jaxpr.eqns for atom in eqn.invars)]
        used = {atom for atom in atoms if not hasattr(atom, "val")}

        def value(atom: Any) -> Any:
            return literal(atom.val) if hasattr(atom, "val") else found.get(atom, Known())

        for eqn in jaxpr.eqns:
            operands = [value(atom) for atom in eqn.invars]
            results = self._eqn(eqn, operands, at, path, any(v in used for v in eqn.outvars))
            found.update(zip(eqn.outvars, results, strict=False))
        return [value(atom) for atom in jaxpr.outvars]

    def _eqn(self, eqn: Any, operands: list[Any], at: np.ndarray, path: Axes, is_used: bool) -> list[Any]:
        name, params = eqn.primitive.name, eqn.params
        handler: Callable[..., list[Any]] | None = getattr(self, f"_on_{name}", None)
        is_outside = name in _ACCESSES and not isinstance(operands[0], _Ref)
        if handler is not None and not is_outside:
            return handler(eqn, operands, at, path, is_used)
        inner = next((params[key] for key in ("jaxpr", "call_jaxpr") if key in params), None)
        if inner is not None and len(_plain(inner).invars) == len(operands):
            return self.run(_plain(inner), [*_constants(inner), *operands], at, path)
        for operand in operands:
            if isinstance(operand, _Ref):
                self.opaque.add(operand.number)
        if is_outside or any(isinstance(operand, _Ref) for operand in operands):
            return [Known(None, self._all_axes()) for _ in eqn.outvars]
        return [computed(name, operands, params, v.aval) for v in eqn.outvars]

    def _all_axes(self) -> Axes:
        return frozenset(range(len(self.grid)))

    # -- the grid ------------------------------------------------------------------------------------------------

    def _on_program_id(self, eqn: Any, *_: Any) -> list[Any]:
        axis = self.program_axes[eqn.params["axis"]]
        return [Known(self.points[:, axis], frozenset({axis}))]

    def _on_num_programs(self, eqn: Any, *_: Any) -> list[Any]:
        return [Known(np.asarray(self.grid[self.program_axes[eqn.params["axis"]]]))]

    # -- accesses ------------------------------------------------------------------------------------------------

    def _on_get(self, eqn: Any, operands: list[Any], at: np.ndarray, path: Axes, _used: bool) -> list[Any]:
        ref, *indices = operands
        return [self._read(ref, _window(ref, eqn.params["tree"].unflatten(indices)), at, path, indices, eqn)]

    def _on_swap(self, eqn: Any, operands: list[Any], at: np.ndarray, path: Axes, is_used: bool) -> list[Any]:
        ref, new, *indices = operands
        window = _window(ref, eqn.params["tree"].unflatten(indices))
        old = self._read(ref, window, at, path, indices, eqn) if is_used else Known(None, self._all_axes())
        self._write(ref, window, at, path, [new, *indices], eqn)
        return [old]

    def _on_addupdate(self, eqn: Any, operands: list[Any], at: np.ndarray, path: Axes, _used: bool) -> list[Any]:
        self._on_swap(eqn, operands, at, path, True)
        return []

    def _on_masked_load(self, eqn: Any, operands: list[Any], at: np.ndarray, path: Axes, _used: bool) -> list[Any]:
        ref, transforms, _, _ = eqn.params["args_tree"].unflatten(operands)
        return [self._read(ref, _window(ref, transforms), at, path, operands[1:], eqn)]

    def _on_masked_swap(self, eqn: Any, operands: list[Any], at: np.ndarray, path: Axes, is_used: bool) -> list[Any]:
        ref, transforms, _, _ = eqn.params["args_tree"].unflatten(operands)
        window, axes = _window(ref, transforms), operands[1:]
        old = self._read(ref, window, at, path, axes, eqn) if is_used else Known(None, self._all_axes())
        self._write(ref, window, at, path, axes, eqn)
        return [old]

    def _read(self, ref: _Ref, window: Window, at: np.ndarray, path: Axes, steer: Sequence[Any], eqn: Any) -> Known:
        axes = path.union(self._contents[ref.number], *(x.axes for x in steer if isinstance(x, Known)))
        fresh = at & ~self._written[ref.number]
        if ref.number in self._left_over and fresh.any():
            axes = self._all_axes()
        self._note(Access(ref.number, False, fresh, window, axes, _span(eqn)))
        return Known(None, axes)

    def _write(self, ref: _Ref, window: Window, at: np.ndarray, path: Axes, given: Sequence[Any], eqn: Any) -> None:
        axes = path.union(*(x.axes for x in given if isinstance(x, Known)))
        self._note(Access(ref.number, True, at, window, axes, _span(eqn)))
        self._written[ref.number] = self._written[ref.number] | at
        self._contents[ref.number] |= axes

    def _note(self, access: Access) -> None:
        if access.at.any() and not self._muted:
            self.accesses.append(access)

    # -- control -------------------------------------------------------------------------------------------------

    def _on_cond(self, eqn: Any, operands: list[Any], at: np.ndarray, path: Axes, _used: bool) -> list[Any]:
        which, *arguments = operands
        path, before, after = path | which.axes, dict(self._written), []
        results: list[list[Any]] = []
        last = len(eqn.params["branches"]) - 1
        for number, branch in enumerate(eqn.params["branches"]):
            taken = at if which.data is None else at & (np.clip(which.data, 0, last) == number)
            if taken.any():
                self._written = dict(before)
                results.append(self.run(branch.jaxpr, [*_constants(branch), *arguments], taken, path))
                after.append(self._written)
        self._written = {ref: np.logical_or.reduce([seen.get(ref, False) for seen in [before, *after]])
                         for ref in {ref for seen in [before, *after] for ref in seen}}  # fmt: skip
        return [_joined(values, path) for values in zip(*results, strict=True)] if results else []

    def _on_scan(self, eqn: Any, operands: list[Any], at: np.ndarray, path: Axes, _used: bool) -> list[Any]:
        body, consts = eqn.params["jaxpr"], operands[: eqn.params["num_consts"]]
        if eqn.params["length"] == 0:
            return [Known() for _ in eqn.outvars]
        return self._loop(body, consts, operands[len(consts) :], at, path)[: len(eqn.outvars)]

    def _on_while(self, eqn: Any, operands: list[Any], at: np.ndarray, path: Axes, _used: bool) -> list[Any]:
        skipped, count = eqn.params["cond_nconsts"], eqn.params["body_nconsts"]
        condition, consts = operands[:skipped], operands[skipped : skipped + count]
        carried = operands[skipped + count :]
        steer = NO_AXES.union(*(x.axes for x in [*condition, *carried] if isinstance(x, Known)))
        return self._loop(eqn.params["body_jaxpr"], consts, carried, at, path | steer)

    def _loop(self, body: Any, consts: list[Any], varying: list[Any], at: np.ndarray, path: Axes) -> list[Any]:
        """One iteration with a carry of unknown value; twice, since the carry may depend on what the body reads."""
        for muted in (True, False):
            axes = NO_AXES.union(*(x.axes for x in varying if isinstance(x, Known)))
            varying = [x if isinstance(x, _Ref) else Known(None, axes) for x in varying]
            before = dict(self._written)
            self._muted += muted
            results = self.run(body.jaxpr, [*_constants(body), *consts, *varying], at, path)
            self._muted -= muted
            if muted:
                self._written = before
                found = NO_AXES.union(*(x.axes for x in results if isinstance(x, Known)))
                varying = [x if isinstance(x, _Ref) else Known(None, x.axes | found) for x in varying]
        return results

    def _on_run_scoped(self, eqn: Any, operands: list[Any], at: np.ndarray, path: Axes, _used: bool) -> list[Any]:
        inner = eqn.params["jaxpr"]
        fresh = [self.ref(v.aval) for v in inner.invars]
        return self.run(inner, [*operands, *fresh], at, path)


def _plain(jaxpr: Any) -> Any:
    """The jaxpr of a closed one."""
    return getattr(jaxpr, "jaxpr", jaxpr)


def _constants(jaxpr: Any) -> list[Known]:
    return [literal(value) for value in getattr(jaxpr, "consts", ())]


def _joined(values: Sequence[Any], path: Axes) -> Any:
    if len(values) == 1:
        return values[0]
    return Known(None, path.union(*(x.axes for x in values if isinstance(x, Known))))


def _window(ref: _Ref, transforms: Sequence[Any]) -> Window:
    """Where in the Ref; all of an index array, a stride or a second transform may be anywhere."""
    if not transforms:
        return tuple((np.asarray(0), extent) for extent in ref.shape)
    first = getattr(transforms[0], "indices", None)
    if len(transforms) > 1 or first is None:
        return tuple((None, extent) for extent in ref.shape)
    return tuple(_along(index, extent) for index, extent in zip(first, ref.shape, strict=True))


def _along(index: Any, extent: int) -> tuple[np.ndarray | None, int]:
    if not hasattr(index, "stride"):
        return _start(index), 1
    whole = isinstance(index.size, int) and index.stride == 1
    return (_start(index.start), index.size) if whole else (None, extent)


def _start(index: Any) -> np.ndarray | None:
    return index.data if isinstance(index, Known) else np.asarray(index) if isinstance(index, int) else None


def _span(eqn: Any) -> Span:
    """The user's line of an equation."""
    return next(_user_lines(eqn), UNKNOWN_SPAN)


def _user_lines(eqn: Any) -> Iterator[Span]:
    from jax._src.source_info_util import user_frames

    for frame in user_frames(eqn.source_info.traceback):
        yield Span(frame.file_name, frame.start_line)
