"""Takes the float constants of two programs, gives which of them stand for the same number across dtypes, and why.

A constant is (dtype, value). c (coarse) and d (fine) are the same iff rounding d to c's dtype gives c and c is normal,
non-zero and finite. Guaranteed: two constants of one dtype are never the same, nor are two that are joined only through
a third; where these rules leave a choice, the coarser constants stay distinct. Must not know fields or operations.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import isfinite

from equivalence.fields.formats import FORMATS, finer
from equivalence.fields.forms import Form, exact
from equivalence.fields.recognition import recognise
from equivalence.fields.relations import related

Constant = tuple[str, float]
SHORT = 8  # odd parts below this


@dataclass(frozen=True)
class Identification:
    """`representative`: constant -> the finest constant it is the same as; `meaning`: constant -> its exact number;
    `assumptions`: every identification and recognition in words. Non-finite constants are in neither table."""

    representative: dict[Constant, Constant]
    meaning: dict[Constant, Form]
    assumptions: tuple[str, ...]


def same(coarse: Constant, fine: Constant) -> bool:
    """The rule for one pair, in this order."""
    if not finer(fine[0], coarse[0]):
        return False
    target, c = FORMATS[coarse[0]], Fraction(coarse[1])
    if c != Fraction(fine[1]) and _short(c):  # 0.5 in bf16 is a half, and not 0.501 rounded
        return False
    return target.is_normal(c) and target.round(Fraction(fine[1])) == c


def _short(c: Fraction) -> bool:
    """Whether a number has so few significant bits that it was hardly got by rounding."""
    odd = abs(c.numerator)
    return odd // (odd & -odd or 1) < SHORT


Edges = dict[Constant, set[Constant]]


def _edges(constants: Iterable[Constant]) -> Edges:
    nodes = sorted(constants)
    edges: Edges = {c: set() for c in nodes}
    for a, b in combinations(nodes, 2):
        if same(a, b) or same(b, a):
            edges[a].add(b)
            edges[b].add(a)
    return edges


def _component(start: Constant, edges: Edges) -> set[Constant]:
    seen, todo = {start}, [start]
    while todo:
        new = edges[todo.pop()] - seen
        seen |= new
        todo += new
    return seen


def _drop_coarsest(component: set[Constant], edges: Edges) -> None:
    """Make distinct the constants of a component that have no coarser one in it."""
    for c in [c for c in component if not any(finer(c[0], d[0]) for d in component)]:
        for d in edges[c]:
            edges[d].discard(c)
        edges[c] = set()


def _is_clique(component: set[Constant], edges: Edges) -> bool:
    return all(len(edges[c]) == len(component) - 1 for c in component)


def _groups(constants: Iterable[Constant]) -> list[list[Constant]]:
    """Partition into cliques of the rule, each sorted from coarse to fine."""
    edges, out, left = _edges(constants), [], list(constants)
    while left:
        component = _component(left[0], edges)
        if _is_clique(component, edges):
            out.append(sorted(component, key=lambda c: FORMATS[c[0]].precision))
            left = [c for c in left if c not in component]
        else:
            _drop_coarsest(component, edges)
    return out


def _meaning(group: list[Constant]) -> Form:
    dtype, value = group[-1]
    return recognise(value, dtype) or exact(value)


def _merged_in_one_dtype(groups: list[list[Constant]]) -> set[Form]:
    """Forms that two constants of one dtype would get through different fine constants (two roundings): not used."""
    seen: dict[tuple[str, Form], Constant] = {}
    clash = set()
    for group in groups:
        for c in group:
            if seen.setdefault((c[0], _meaning(group)), c) != c:
                clash.add(_meaning(group))
    return clash


def identify(constants_a: Collection[Constant], constants_b: Collection[Constant]) -> Identification:
    """One meaning for each finite constant of both programs; see the module's rules."""
    finite = sorted({c for c in [*constants_a, *constants_b] if isfinite(c[1])})
    groups = _groups(finite)
    clash = _merged_in_one_dtype(groups)
    representative = {c: group[-1] for group in groups for c in group}
    meaning = {
        c: exact(group[-1][1]) if _meaning(group) in clash else _meaning(group) for group in groups for c in group
    }
    sides = [{c for c in side if isfinite(c[1])} for side in (constants_a, constants_b)]
    alone = [sorted(side - other) for side, other in (sides, sides[::-1])]
    single = {group[0] for group in groups if len(group) == 1}
    known = {c: meaning[c] for c in finite if recognise(c[1], c[0]) is not None or c not in single}
    also, said = related(alone[0], alone[1], known)
    return Identification(representative, {**meaning, **also}, (*_words(groups, meaning), *said))


def _words(groups: list[list[Constant]], meaning: dict[Constant, Form]) -> Iterable[str]:
    for group in groups:
        dtype, value = group[-1]
        for coarse in group[:-1]:
            yield f"{coarse[0]} {coarse[1]!r} is {dtype} {value!r} rounded to {coarse[0]}"
        if meaning[group[-1]] != exact(value):
            yield f"{dtype} {value!r} is {meaning[group[-1]].words()} rounded to {dtype}"
