"""Compensated sums: additions that carry the error of every addition along.

Takes a lane of a Graph; gives Compensated or None.  The error of t = s + x is whatever is s + x - t as a real number
and is computed from s, x and t alone; how it is computed (Kahan's or Knuth's way, with or without a choice by
magnitude) is found by its linear form, not by its spelling.  Kahan (1965): the error goes into the next term.
Neumaier (1974), and Ogita, Rump and Oishi's Sum2 (2005): errors are added up apart, and added to the sum at the end.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from equivalence.order.lanes import Graph, Made

Form = dict[int, int]
MOST = 1 << 16


@dataclass(frozen=True, slots=True)
class Compensated:
    """``terms``: the lanes that are added, first to last."""

    by: str
    terms: tuple[int, ...]


def recognise(graph: Graph, made: Made) -> Compensated | None:
    """A compensated sum of three terms or more that ends in this lane."""
    if made.name not in ("add", "sub"):
        return None
    return _apart(graph, made) or _kahan(graph, made)  # s + (c + e) reads as a step of Kahan too


def _kahan(graph: Graph, made: Made) -> Compensated | None:
    """t = s + y with y = x - c, where c is the error of the addition that made s."""
    terms: list[int] = []
    total = made
    while total.name == "add" and len(terms) < MOST:
        found = _kahan_step(graph, total)
        if found is None:
            break
        before, term = found
        terms.append(term)
        total = before
    if not terms:
        return None
    first = _first(graph, total)
    terms.extend(reversed(first))
    return Compensated("Kahan", tuple(reversed(terms))) if len(terms) > 2 else None


def _kahan_step(graph: Graph, total: Made) -> tuple[Made, int] | None:
    for s, y in _both(graph, total):
        if y.name not in ("sub", "add") or s.name != "add":
            continue
        operands = _operands(graph, y)
        for x, c in [operands] if y.name == "sub" else [operands, operands[::-1]]:
            want = 1 if y.name == "sub" else -1  # c = t - s - y is subtracted, its negation added
            if any(_is_error(graph, c, s, parts, want) for parts in _both(graph, s)):
                return s, x
    return None


def _first(graph: Graph, total: Made) -> list[int]:
    """The terms of the first addition, which has no error to take in: 0 + (x - 0), 0 + x or x."""
    found: list[int] = []
    for lane in _operands(graph, total) if total.name == "add" else (total.number,):
        made = graph.at(lane)
        if made.name == "sub" and _zero(graph, _operands(graph, made)[1]):
            made = graph.at(_operands(graph, made)[0])
        if not _zero(graph, made.number):
            found.append(made.number)
    return found


def _apart(graph: Graph, made: Made) -> Compensated | None:
    """s + c at the end, where c adds up the errors of the additions that made s."""
    for s, c in _both(graph, made):
        if s.name != "add" or c.name not in ("add", "sub"):
            continue
        terms, chosen = _errors(graph, s, c)
        if len(terms) > 2:
            return Compensated("Neumaier" if chosen else "two-sum", tuple(terms))
    return None


def _errors(graph: Graph, s: Made, c: Made) -> tuple[list[int], bool]:
    terms: list[int] = []
    chosen = False
    while s.name == "add" and len(terms) < MOST:
        found = _error_step(graph, s, c)
        if found is None:
            return [], False
        s, term, rest, error = found
        chosen |= _chooses(graph, error)
        terms.append(term)
        if rest is None:
            break
        c = graph.at(rest)
        if _zero(graph, rest):
            break
    first = _first(graph, s)
    return [*first, *reversed(terms)], chosen


def _error_step(graph: Graph, s: Made, c: Made) -> tuple[Made, int, int | None, int] | None:
    """(the sum before, the term added, what else c holds, the error) of one addition; None where c lacks its error."""
    candidates: list[tuple[int, int | None, int]] = [(c.number, None, -1)]
    if c.name in ("add", "sub"):
        a, b = _operands(graph, c)
        candidates += [(b, a, -1 if c.name == "add" else 1)] + ([(a, b, -1)] if c.name == "add" else [])
    for before, x in _both(graph, s):
        for error, rest, want in candidates:
            if _is_error(graph, error, s, (before, x), want):
                return before, x.number, rest, error
    return None


def _is_error(graph: Graph, lane: int, total: Made, parts: tuple[Made, Made], want: int) -> bool:
    """Whether ``lane`` is ``want`` times (t - s - x), computed from the three alone."""
    s, x = parts
    if s.number == x.number:
        return False
    form = _linear(graph, lane, {total.number, s.number, x.number}, 0)
    wanted = {total.number: want, s.number: -want, x.number: -want}
    for number in (s.number, x.number):
        if _zero(graph, number):
            wanted.pop(number)
            form = None if form is None else {k: v for k, v in form.items() if k != number}
    return form == wanted


def _linear(graph: Graph, lane: int, basis: set[int], depth: int) -> Form | None:
    """The lane as an integer combination of the basis lanes; None where it is something else."""
    if lane in basis:
        return {lane: 1}
    if depth > 6:
        return None
    made = graph.at(lane)
    if _zero(graph, lane):
        return {}
    if made.name == "add" and set(_operands(graph, made)) < basis:
        return None  # the sum once more: its error is not in it
    if made.name in ("add", "sub"):
        first, second = _operands(graph, made)
        a = _linear(graph, first, basis, depth + 1)
        b = None if a is None else _linear(graph, second, basis, depth + 1)  # most lanes fail at the first
        return None if a is None or b is None else _plus(a, b, 1 if made.name == "add" else -1)
    if made.name == "neg":
        inner = _linear(graph, graph.source(made.given()), basis, depth + 1)
        return None if inner is None else _plus({}, inner, -1)
    if made.name == "select":
        if not _by_magnitude(graph, made):
            return None
        ways = [_linear(graph, graph.source(made.given(i)), basis, depth + 1) for i in (1, 2)]
        return ways[0] if ways[0] == ways[1] else None
    return None


def _by_magnitude(graph: Graph, made: Made) -> bool:
    """Whether a choice between (u - t) + v and (v - t) + u takes the larger of u and v first."""
    test = graph.at(graph.source(made.given(0)))
    if test.name != "cmp" or test.application.attrs["pred"] not in ("ge", "gt", "le", "lt"):
        return False
    sizes = [graph.at(i) for i in _operands(graph, test)]
    if any(size.name != "abs" for size in sizes):
        return False
    larger, smaller = (graph.source(size.given()) for size in sizes)
    if test.application.attrs["pred"] in ("le", "lt"):
        larger, smaller = smaller, larger
    arms = [_first_taken(graph, graph.at(graph.source(made.given(i)))) for i in (1, 2)]
    return arms == [larger, smaller]


def _first_taken(graph: Graph, arm: Made) -> int:
    """u of (u - t) + v; -1 where an arm is no such sum."""
    for lane in _operands(graph, arm) if arm.name == "add" else ():
        inner = graph.at(lane)
        if inner.name == "sub":
            return _operands(graph, inner)[0]
    return -1


def _plus(a: Form, b: Form, sign: int) -> Form:
    total = Counter(a)
    for lane, count in b.items():
        total[lane] += sign * count
    return {lane: count for lane, count in total.items() if count}


def _chooses(graph: Graph, lane: int) -> bool:
    made = graph.at(lane)
    return made.name == "select" or (
        made.name in ("add", "sub") and any(graph.at(i).name == "select" for i in _operands(graph, made))
    )


def _operands(graph: Graph, made: Made) -> tuple[int, int]:
    return graph.source(made.given(0)), graph.source(made.given(1))


def _both(graph: Graph, made: Made) -> list[tuple[Made, Made]]:
    a, b = (graph.at(i) for i in _operands(graph, made))
    return [(a, b), (b, a)]


def _zero(graph: Graph, lane: int) -> bool:
    return graph.literal(lane) == 0
