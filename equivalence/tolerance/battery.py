"""Wrong kernels for one program: the mistakes people make, as far as it has a place for them, then random edits.

Takes a Program; gives Mutants, each once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from equivalence.mutants.draw import Mutant, draw, mutate, text
from equivalence.mutants.operators import OPERATORS, Operator
from equivalence.mutants.planted import PLANTED
from lowering.ir.program import Program


@dataclass(frozen=True, slots=True, eq=False)
class Kind:
    """A mistake, and which edits make it: of an operator, those whose words contain ``words``."""

    name: str
    among: Mapping[str, Operator]
    operator: str
    words: str = ""


KINDS = (
    Kind("bf16 accumulator", OPERATORS, "accumulator dtype", "bf16"),
    Kind("bf16 accumulator", PLANTED, "accumulator of a loop in bf16"),
    Kind("result in bf16", PLANTED, "result rounded to bf16"),
    Kind("tail block missing", OPERATORS, "loop bound or step", "last iteration"),
    Kind("tail block missing", OPERATORS, "grid"),
    Kind("term of a sum missing", PLANTED, "term dropped from a sum"),
    Kind("epsilon dropped", PLANTED, "epsilon dropped"),
    Kind("epsilon moved", PLANTED, "epsilon moved"),
    Kind("tanh for erf", PLANTED, "tanh approximation of erf"),
    Kind("TF32 operands", OPERATORS, "dot precision", "'tf32'"),
    Kind("constant changed", OPERATORS, "constant"),
    Kind("mask dropped", OPERATORS, "drop a mask"),
    Kind("mask dropped", OPERATORS, "select arms", "dropped"),
    Kind("cast moved", OPERATORS, "move a cast"),
    Kind("cast dropped", OPERATORS, "drop a cast"),
)


def battery(program: Program, count: int, seed: int) -> Iterator[Mutant]:
    """Up to ``count``: each kind in turn until half of them, then random edits of any operator."""
    seen = {text(program)}
    rng = np.random.default_rng(seed)
    made = 0
    for mutant in _chain(_planted(program, rng), count - count // 2, draw(program, 2 * count, rng)):
        if made >= count:
            return
        if (own := text(mutant.program)) not in seen:
            seen.add(own)
            made += 1
            yield mutant


def _chain(first: Iterator[Mutant], most: int, then: Iterator[Mutant]) -> Iterator[Mutant]:
    for _, mutant in zip(range(most), first):
        yield mutant
    yield from then


def _planted(program: Program, rng: np.random.Generator) -> Iterator[Mutant]:
    """One of every kind, then a second one, and so on."""
    left: dict[Kind, list[int]] = {}
    for kind in KINDS:
        found = [n for n, edit in enumerate(kind.among[kind.operator](program)) if kind.words in edit.what]
        left[kind] = [int(n) for n in rng.permutation(found)] if found else []
    while any(left.values()):
        for kind, numbers in left.items():
            if numbers and (mutant := mutate(program, kind.operator, numbers.pop(), kind.among)) is not None:
                yield replace(mutant, operator=kind.name)
