"""A small mutation run, and proof that a blind judge would be caught by it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from equivalence.mutants.draw import Mutant, mutate
from equivalence.mutants.operators import OPERATORS
from equivalence.verdicts import Level, Report, Verdict
from lowering.ir.parser import parse_program
from lowering.ir.printer import print_program
from lowering.ir.program import Program
from tests.mutation.oracle import Oracle
from tests.mutation.run import Task, trials
from tests.mutation.table import Summary
from tests.mutation.trial import JudgeFn, real_judge

PROGRAMS = {file.stem: file.read_text() for file in sorted((Path(__file__).parent / "programs").glob("*.kir"))}


def inputs(name: str) -> dict[str, np.ndarray]:
    program, rng = parse_program(PROGRAMS[name]), np.random.default_rng(7)
    drawn = {n: rng.standard_normal(v.type.shape) for n, v in zip(program.input_names, program.body.args, strict=True)}
    if name == "quantise":
        drawn["scale"] = np.abs(drawn["scale"]) + 0.01
    types = {n: v.type.dtype.numpy for n, v in zip(program.input_names, program.body.args, strict=True)}
    return {n: x.astype(types[n]) for n, x in drawn.items()}


def summary(names: list[str], judge: JudgeFn, count: int, *operators: str) -> Summary:
    result = Summary()
    for name in names:
        for one in trials(Task(name, PROGRAMS[name], inputs(name), count, 3, frozenset(operators)), judge):
            result.add(one)
    return result


@pytest.mark.parametrize("name", PROGRAMS)
def test_no_mutant_escapes(name: str) -> None:
    result = summary([name], real_judge, 5)
    assert len(result.trials) >= 4
    assert result.holds, result.text()


def saying(level: Level) -> JudgeFn:
    def judge(a: Program, b: Program, arrays: object, seed: int) -> Report:
        del a, b, arrays, seed
        return Report(Verdict(level, strength="evidence" if level is Level.REAL else None))

    return judge


@pytest.mark.parametrize("level", [Level.BITWISE, Level.REASSOCIATED, Level.REAL])
def test_a_blind_judge_is_caught(level: Level) -> None:
    result = summary(["rms_norm", "softmax"], saying(level), 6, "constant", "drop a term", "function", "flip a mask")
    assert len(result.escaped) >= 6
    assert not result.holds
    assert "SURVIVED" in result.text()


def test_a_judge_blind_to_rounding_is_caught() -> None:
    result = summary(["rms_norm"], saying(Level.REASSOCIATED), 6, "round trip", "accumulator dtype")
    assert len(result.escaped) >= 4


def test_a_judge_blind_to_order_is_caught_at_bitwise_only() -> None:
    for level, caught in ((Level.BITWISE, True), (Level.REASSOCIATED, False)):
        result = summary(["rms_norm"], saying(level), 3, "reorder a sum")
        assert bool(result.escaped) == caught


def test_a_crash_breaks_the_bar() -> None:
    def judge(a: Program, b: Program, arrays: object, seed: int) -> Report:
        raise ValueError("no")

    assert not summary(["clamp"], judge, 1).holds


def mutant(name: str, operator: str, wanted: str) -> Mutant:
    program = parse_program(PROGRAMS[name])
    for number in range(sum(1 for _ in OPERATORS[operator](program))):
        made = mutate(program, operator, number)
        if made is not None and wanted in made.what:
            return made
    raise AssertionError(f"{operator} never says {wanted!r}")


@pytest.mark.parametrize(
    ("name", "operator", "wanted", "bits", "terms", "function"),
    [
        ("rms_norm", "commute (control)", "add", "same", "same", "same"),
        ("rms_norm", "reorder a sum", "reversed", "different", "same", "same"),
        ("rms_norm", "accumulator dtype", "bf16", "different", "different", "same"),
        ("rms_norm", "cancel", "mul", "different", "different", "same"),
        ("rms_norm", "constant by 1 ulp", "1e-06", "different", "different", "different"),
        ("attention", "dot precision", "tf32", "different", "different", "same"),
        ("softmax", "index by one", "", "different", "different", "different"),
        ("clamp", "exchange an operation", "min -> max", "different", "different", "different"),
    ],
)
def test_the_oracle(name: str, operator: str, wanted: str, bits: str, terms: str, function: str) -> None:
    made = mutant(name, operator, wanted).program
    oracle = Oracle(parse_program(PROGRAMS[name]), inputs(name))
    found = oracle.same_bits(made), oracle.same_terms(made), oracle.same_function(made)
    assert tuple(f.status for f in found) == (bits, terms, function), found


@pytest.mark.parametrize("operator", OPERATORS)
def test_operators_leave_the_original_alone(operator: str) -> None:
    for text in PROGRAMS.values():
        program = parse_program(text)
        for number in range(min(3, sum(1 for _ in OPERATORS[operator](program)))):
            mutate(program, operator, number)
        assert print_program(program) == print_program(parse_program(text))
