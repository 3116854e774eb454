"""Condition numbers: where a program's sums cancel, and how many of an output's digits that costs.

Σ|terms| / |Σ terms| of every float addition, reduction, scan and dot on the way to an element, followed along the
operand that brings in the largest error; the largest is the element's, with the line that it is computed at.  It is
never more than what the error bound shows to be lost, so absolute errors that an exponential makes relative are none.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from equivalence.evaluator import Freedoms, Limits, Machine
from equivalence.evaluator.lanes import Lanes, Planes
from equivalence.fields.constants import Constant, Form
from equivalence.interpretations.base import Site, Sums
from equivalence.interpretations.error import unit, wide
from equivalence.interpretations.error_meaning import MeantError
from equivalence.interpretations.hashed import Hashed
from equivalence.numerics.formats import format_of
from lowering.errors import Span
from lowering.ir.program import Program

Array = np.ndarray
NOWHERE = -1
_SUMS = frozenset({"add", "sub", "fma", "reduce", "scan", "dot"})


@dataclass(frozen=True, slots=True)
class Cancellation:
    """Of one element: ``number`` is Σ|terms| / |Σ terms| at ``span``; ``bits`` those of the output's format."""

    number: float
    span: Span | None
    bits: int

    @property
    def digits(self) -> tuple[float, float]:
        """Decimal digits that the format has, and those that are left."""
        whole = self.bits * math.log10(2)
        return whole, max(0.0, whole - math.log10(max(self.number, 1.0)))

    def __str__(self) -> str:
        whole, left = self.digits
        many = f"{self.number:.2g} times" if math.isfinite(self.number) else "infinitely many times"
        where = f"at line {self.span.line} " if self.span is not None and self.span.line else ""
        return f"{where}the terms added are {many} as large as their sum, which leaves {left:.1f} of {whole:.1f} digits"


class Condition(MeantError):
    """As MeantError, with planes ``loss`` (the condition number) and ``site`` (the number of its place)."""

    def __init__(self, meaning: Mapping[Constant, Form]) -> None:
        super().__init__(meaning, usual=False)
        self.planes = {**self.planes, "loss": np.dtype(np.float64), "site": np.dtype(np.int32)}
        self.spans: list[Span] = []
        self._numbers: dict[Span, int] = {}

    def literal(self, data: Array, lanes: Lanes) -> Planes:
        return {**super().literal(data, lanes), **_nothing(data.ndim)}

    def atom(self, name: str, index: Array, lanes: Lanes) -> Planes:
        return {**super().atom(name, index, lanes), **_nothing(index.ndim)}

    def undefined(self, first: int, lanes: Lanes) -> Planes:
        return {**super().undefined(first, lanes), **_nothing(lanes.data.ndim)}

    def several(self, site: Site, outs: Sequence[Lanes], args: Sequence[Lanes], extra: Any = None) -> list[Planes]:
        made = super().several(site, outs, args, extra)
        return [{**planes, **_nothing(planes["bound"].ndim)} for planes in made]

    def in_any_order(self, out: Lanes, sums: Sums) -> Planes:
        planes = super().in_any_order(out, replace(sums, passed={"bound": sums.passed["bound"]}))
        loss = _capped(_over(sums.size, np.abs(wide(out)[0])), planes["bound"], out)
        return {**planes, "loss": loss, "site": np.full(sums.count.shape, NOWHERE, np.int32)}

    def apply(self, site: Site, out: Lanes, args: Sequence[Lanes]) -> Planes:
        planes = super().apply(site, out, args)
        if not out.dtype.is_float or (not args[0].dtype.is_float and site.name != "select"):
            return {**planes, **_nothing(out.data.ndim)}
        with np.errstate(all="ignore"):
            loss, place = _dominating(site, out, args)
            if site.name in _SUMS and site.attrs.get("combine", "add") == "add":
                own = _own(site, out, args)
                loss, place = np.where(own > loss, own, loss), np.where(own > loss, self._number(site.span), place)
            loss = _capped(loss, planes["bound"], out)
        return {**planes, "loss": loss, "site": np.where(loss > 1, place, NOWHERE).astype(np.int32)}

    def _number(self, span: Span) -> int:
        if span not in self._numbers:
            self._numbers[span] = len(self.spans)
            self.spans.append(span)
        return self._numbers[span]


def _nothing(ndim: int) -> Planes:
    return {"loss": np.zeros((1,) * ndim), "site": np.full((1,) * ndim, NOWHERE, np.int32)}


def _over(size: Array, total: Array) -> Array:
    return np.where(size > 0, size / np.where(total > 0, total, 1.0) + np.where(total > 0, 0.0, np.inf), 0.0)


def _capped(loss: Array, bound: Array, out: Lanes) -> Array:
    """No more than the relative error in units of the roundoff."""
    lost = _over(bound, np.abs(wide(out))) / unit(out.dtype)[0]
    return np.minimum(loss, lost.reshape(loss.shape) if lost.size == loss.size else lost)


def _own(site: Site, out: Lanes, x: Sequence[Lanes]) -> Array:
    """Σ|terms| / |Σ terms| of one operation; 1 where two exact numbers are added."""
    total, e = np.abs(wide(out)), [a.planes["bound"] for a in x]  # type: ignore[index]
    match site.name:
        case "add" | "sub":
            size = np.abs(wide(x[0])) + np.abs(wide(x[1]))
            return np.where(e[0] + e[1] > 0, _over(size, total), 1.0)
        case "fma":
            return _over(np.abs(wide(x[0]) * wide(x[1])) + np.abs(wide(x[2])), total)
        case "dot":
            size = np.matmul(np.abs(x[0].full(wide(x[0]))), np.abs(x[1].full(wide(x[1]))))
            return _over(size + (np.abs(wide(x[2])) if len(x) > 2 else 0.0), total)
    axis = site.attrs["axis"] + 1
    lanes = np.abs(Hashed.full_axis(wide(x[0]), x[0].shape, axis))
    if site.name == "reduce":
        return _over(lanes.sum(axis=axis), total)
    lanes = np.flip(lanes, axis) if site.attrs["reverse"] else lanes
    size = np.cumsum(lanes, axis=axis)
    return _over(np.flip(size, axis) if site.attrs["reverse"] else size, total)


def _dominating(site: Site, out: Lanes, x: Sequence[Lanes]) -> tuple[Array, Array]:
    """Loss and place of the operand, or of the lane of it, whose error is the largest in the result."""
    planes = [(a.planes["bound"], a.planes["loss"], a.planes["site"]) for a in x]  # type: ignore[index]
    if site.name in ("reduce", "scan"):
        return _along(x[0], planes[0], site.attrs["axis"] + 1, keep=site.name == "scan")
    if site.name == "dot":
        sides = [_along(lanes, p, lanes.data.ndim + k, keep=True) for k, lanes, p in zip((-1, -2), x, planes)]
        (la, pa), (lb, pb) = sides
        return np.where(la >= lb, la, lb), np.where(la >= lb, pa, pb)
    if site.name == "select":
        (_, la, pa), (_, lb, pb) = planes[1:]
        return np.where(x[0].data, la, lb), np.where(x[0].data, pa, pb)
    relative = site.name not in ("add", "sub", "max", "min")
    weights = [_over(e, np.abs(wide(a))) if relative else e for a, (e, _, _) in zip(x, planes)]
    if site.name == "fma":
        product = np.abs(wide(x[0]) * wide(x[1]))
        weights = [weights[0] * product, weights[1] * product, planes[2][0]]
    best, loss, place = weights[0], planes[0][1], planes[0][2]
    for weight, (_, own, where) in zip(weights[1:], planes[1:]):
        more = weight > best
        best, loss, place = np.where(more, weight, best), np.where(more, own, loss), np.where(more, where, place)
    return loss, place


def _along(x: Lanes, planes: tuple[Array, Array, Array], axis: int, keep: bool) -> tuple[Array, Array]:
    """Of the lane of the largest error along ``axis``."""
    e, loss, place = (Hashed.full_axis(p, x.shape, axis) for p in planes)
    shape = np.broadcast_shapes(e.shape, loss.shape, place.shape)
    at = np.expand_dims(np.argmax(np.broadcast_to(e, shape), axis=axis), axis)
    taken = [np.take_along_axis(np.broadcast_to(p, shape), at, axis) for p in (loss, place)]
    return (taken[0], taken[1]) if keep else (taken[0].squeeze(axis), taken[1].squeeze(axis))


def cancellations(
    program: Program, inputs: Mapping[str, Array], meaning: Mapping[Constant, Form], deadline: float,
    index: Mapping[int, tuple[int, ...]] | None = None,
) -> list[Cancellation | None]:  # fmt: skip
    """By output, of the element ``index`` names, else of the one with the largest error bound; None of integers.

    Raises what the evaluator raises.
    """
    condition, limits = Condition(meaning), Limits()
    limits.deadline = min(limits.deadline, deadline)
    outcome = Machine(program, [condition], Freedoms(), limits).run(dict(inputs))
    made: list[Cancellation | None] = []
    for position, lanes in enumerate(outcome.outputs.values()):
        if not lanes.dtype.is_float or lanes.planes is None or not lanes.data.size:
            made.append(None)
            continue
        bound, loss, place = (lanes.full(lanes.planes[name])[0] for name in ("bound", "loss", "site"))
        at = (index or {}).get(position)
        if at is None:
            known = np.isfinite(lanes.full(lanes.data)[0].astype(np.float64)) & np.isfinite(bound)
            at = np.unravel_index(int(np.argmax(np.where(known, bound, -1.0))), bound.shape)
        number = int(place[at])
        span = condition.spans[number] if number != NOWHERE else None
        made.append(Cancellation(float(max(loss[at], 1.0)), span, format_of(lanes.dtype.name).p))
    return made


__all__ = ["Cancellation", "Condition", "cancellations"]
