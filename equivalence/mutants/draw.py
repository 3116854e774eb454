"""Draws mutants of one program: every operator in turn, a random edit of it each time, until enough are well formed.

Takes a Program and a random generator; gives Mutants.  Must not know who judges them.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from equivalence.mutants import operators_memory, operators_rounding
from equivalence.mutants.edits import clone, well_formed
from equivalence.mutants.operators import OPERATORS, Operator
from lowering.ir.ops.record import TypeRuleError
from lowering.ir.printer import print_program
from lowering.ir.program import Program

_SPAN = re.compile(r' @"[^"]*":\d+:\d+(:"[^"]*")?')
assert operators_memory and operators_rounding


@dataclass(frozen=True, slots=True)
class Mutant:
    """``number`` is the edit's position among those that ``operator`` offers for this program."""

    operator: str
    number: int
    what: str
    program: Program


def mutate(program: Program, operator: str, number: int, among: Mapping[str, Operator] = OPERATORS) -> Mutant | None:
    """One edit made to a copy; None where the result is not well formed or nothing has changed."""
    copy = clone(program)
    edit = next(e for n, e in enumerate(among[operator](copy)) if n == number)
    try:
        edit.apply()
    except (TypeRuleError, IndexError, KeyError, ValueError):
        return None
    if not well_formed(copy) or text(copy) == text(program):
        return None
    return Mutant(operator, number, edit.what, copy)


def draw(
    program: Program, count: int, rng: np.random.Generator, only: frozenset[str] = frozenset()
) -> Iterator[Mutant]:
    """Up to ``count`` mutants, spread over the operators that find something in the program."""
    left = {}
    for name, find in OPERATORS.items():
        if not only or name in only:
            numbers = rng.permutation(sum(1 for _ in find(program)))
            left[name] = [int(n) for n in numbers]
    made = 0
    while made < count and any(left.values()):
        for name in rng.permutation([name for name, numbers in left.items() if numbers]):
            if made < count and (mutant := _next(program, str(name), left[name])) is not None:
                made += 1
                yield mutant


def _next(program: Program, name: str, numbers: list[int]) -> Mutant | None:
    while numbers:
        mutant = mutate(program, name, numbers.pop())
        if mutant is not None:
            return mutant
    return None


def text(program: Program) -> str:
    """KIR without spans and digests."""
    return re.sub(r', key="[^"]*"', "", _SPAN.sub("", print_program(program)))


def diff(before: Program, after: Program) -> str:
    """The lines that differ, with one line around them."""
    a, b = text(before).splitlines(), text(after).splitlines()
    return "\n".join(list(difflib.unified_diff(a, b, n=1, lineterm=""))[2:])
