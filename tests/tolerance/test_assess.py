"""Proposed tolerances: too loose, too tight, adequate; one program and a pair."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
import pytest

from equivalence.mutants.draw import Mutant, mutate
from equivalence.mutants.planted import PLANTED
from equivalence.tolerance import Request, TolerancesReport, assess
from equivalence.tolerance.orders import orders, run, values
from equivalence.tolerance.result import Status
from lowering.errors import Unsupported, UsageError
from lowering.ir.parser import parse_program
from lowering.ir.printer import print_program
from lowering.ir.program import Program
from tests.tolerance.programs import NORMED, normal, softmax, stored, total


def checked(program: Program, rtol: float, atol: float, **changes: object) -> TolerancesReport:
    return assess(Request(program, normal(program), check=(rtol, atol), **changes))  # type: ignore[arg-type]


def statuses(report: TolerancesReport) -> dict[str, Status]:
    return {f"{t.name} {t.what}".strip(): t.status for t in report.trials}


def test_a_hundredth_is_too_loose_for_a_norm() -> None:
    report = checked(stored("rms_norm"), 1e-2, 1e-2)
    assert (report.verdict, report.exit_code) == ("too loose", 1)
    assert {"bf16 accumulator", "result in bf16"} <= {t.name for t in report.loose}
    assert statuses(report)["zeros"] == "caught"


def test_zeros_pass_for_a_softmax_of_many() -> None:
    """1/4096 is below an atol of 1e-2, as is anything of about that size."""
    report = assess(Request(softmax(4096), {"x": np.zeros((2, 4096), np.float32)}, check=(1e-2, 1e-2), mutants=0))
    assert {t.name for t in report.loose} >= {"zeros"} and report.exit_code == 1
    few = assess(Request(softmax(8), {"x": np.zeros((2, 8), np.float32)}, check=(1e-2, 1e-2), mutants=0))
    assert statuses(few)["zeros"] == "caught"
    assert statuses(few)["its mean throughout"] == "equivalent"


def test_the_derived_tolerance_is_adequate() -> None:
    program = stored("rms_norm")
    derived = assess(Request(program, normal(program)))
    assert (derived.verdict, derived.exit_code, derived.loose) == ("derived", 0, [])
    found = derived.outputs[0].expected
    assert found is not None
    report = checked(program, found.rtol, found.atol)
    assert (report.verdict, report.exit_code) == ("adequate", 0), report.loose
    assert not report.uncovered
    beyond = [t for t in report.counted() if t.beyond_bounds]
    assert len(beyond) >= 12 and not any(t.passes["proposed"] for t in beyond)


def test_too_tight_says_order_and_element() -> None:
    program, inputs = total(500), {"x": np.random.default_rng(0).standard_normal((3, 500)).astype(np.float32)}
    report = assess(Request(program, inputs, check=(0.0, 1e-7), mutants=0, draws=1))
    assert (report.verdict, report.exit_code) == ("too tight", 1)
    first = report.tight[0]
    order = next(o for o in orders(0) if o.name == first.order)
    again = values(run(program, inputs, order, np.inf))[0]
    assert float(again[first.index]) == first.value
    assert abs(first.value - inputs["x"][first.index].astype(np.float64).sum()) < 1e-4
    assert abs(first.value - first.reference) > first.allowed == 1e-7
    assert report.uncovered == 3


def test_both_at_once() -> None:
    """Tiny rows beside large ones: what is too tight for these lets zeros pass for those."""
    program = parse_program(print_program(total(300)))
    x = np.random.default_rng(1).standard_normal((3, 300)).astype(np.float32) * np.float32(30)
    x[0] *= np.float32(1e-9)
    two = parse_program(
        'program(%0: f32[3,300] "x", %1: f32[3,300] "y") {} {\n'
        '  %2 = reduce %0 {axis=1, combine="add"} : f32[3]\n  %3 = reduce %1 {axis=1, combine="add"} : f32[3]\n'
        '  return "out0" %2, "out1" %3\n}\n'
    )
    inputs = {"x": x, "y": x * np.float32(1e-9)}
    report = assess(Request(two, inputs, check=(0.0, 1e-6), mutants=0))
    assert report.verdict == "too tight and too loose"
    assert {t.what for t in report.loose if t.name == "zeros"} == {"as out1"}
    assert program.outputs


def test_what_rounding_hides_is_not_held_against_a_tolerance() -> None:
    """1e-3 beside a sum of eight squares of a hundred is below what rounding may do."""
    inputs = {"x": normal(NORMED)["x"] * np.float32(1e4)}
    derived = assess(Request(NORMED, inputs, mutants=40))
    assert statuses(derived)["epsilon dropped epsilon dropped"] in ("inseparable", "unseen")
    small = assess(Request(NORMED, {"x": normal(NORMED)["x"]}, mutants=40))
    assert statuses(small)["epsilon dropped epsilon dropped"] == "caught"


def test_time_that_is_out_is_said() -> None:
    program = stored("rms_norm")
    report = assess(Request(program, normal(program), deadline=time.monotonic() + 0.05, mutants=1000))
    assert len(report.trials) < 500 and any("out of time" in note for note in report.notes)


def test_too_little_was_tried() -> None:
    """A tolerance that nothing speaks against is adequate only once something could have."""
    program = stored("rms_norm")
    inputs = normal(program)

    def wrong(p: Program, count: int, seed: int) -> Iterator[Mutant]:
        yield from (found for found in [mutate(p, "function", 0)] if found is not None)
        time.sleep(0.6)
        yield from (found for found in [mutate(p, "negate", 0)] if found is not None)

    report = assess(Request(program, inputs, check=(3e-6, 1e-6), deadline=time.monotonic() + 0.6, wrong=wrong))
    assert (report.verdict, report.exit_code) == ("open", 3), report.notes


# -- pairs -------------------------------------------------------------------------------------------------------


def mutant(name: str, operator: str, words: str = "", registry: object = None) -> Program:
    from equivalence.mutants.operators import OPERATORS

    among = PLANTED if registry else OPERATORS
    program = stored(name)
    for number, edit in enumerate(among[operator](program)):
        found = mutate(program, operator, number, among)
        if words in edit.what and found is not None:
            return found.program
    raise AssertionError(operator)


def test_a_reordered_side_is_permitted() -> None:
    report = checked(stored("rms_norm"), 1e-5, 1e-6, b=mutant("rms_norm", "reorder a sum", "reversed"), mutants=0)
    assert report.side is not None and report.side.status == "permitted" and report.exit_code == 0
    assert report.runs == 48  # B's orders as well


def test_a_wrong_side_that_passes() -> None:
    wrong = mutant("rms_norm", "term dropped from a sum", "last", PLANTED)
    loose = checked(stored("rms_norm"), 0.2, 0.2, b=wrong, mutants=0)
    assert loose.side is not None and (loose.side.status, loose.side.beyond_bounds) == ("passes", True)
    assert loose.side in loose.loose and loose.exit_code == 1
    strict = checked(stored("rms_norm"), 1e-5, 1e-6, b=wrong, mutants=0)
    assert strict.side is not None and strict.side.status == "caught" and strict.exit_code == 0


def test_a_coarser_side_that_fails_makes_nothing_too_tight() -> None:
    """B's bf16 accumulator widens what the pair needs; that a tolerance for A alone refuses it is right."""
    coarse = mutant("rms_norm", "accumulator dtype", "bf16")
    report = checked(stored("rms_norm"), 1e-5, 1e-6, b=coarse, mutants=0)
    own = report.outputs[0]
    assert own.worst is not None and own.worst_alone is not None and own.worst.rtol > 100 * own.worst_alone.rtol
    assert not report.tight and report.side is not None and report.side.status == "caught"


@pytest.mark.parametrize("fill", [0.0, 7.0])
def test_unwritten_memory_in_b_counts_as_wrong(fill: float) -> None:
    """Whatever lies there, be it the right value by accident."""
    head = 'program(%0: f32[8] "x") {} {\n  %1 = alloc {bytes=32} : ptr\n'
    tail = '  %9 = read %1 {to="f32", shape=[8], strides=[1]} : f32[8]\n  return "out0" %9\n}\n'
    whole = parse_program(head + "  write %1, %0 {strides=[1]}\n" + tail)
    part = parse_program(
        head + "  %2 = slice %0 {start=[0], limit=[6], step=[1]} : f32[6]\n  write %1, %2 {strides=[1]}\n" + tail
    )
    report = assess(Request(whole, {"x": np.full(8, fill, np.float32)}, b=part, check=(1e-2, 1e-2), mutants=0))
    assert report.side is not None and report.side.status == "caught"
    assert report.side.outside == 0.25


def test_nothing_is_said_of_what_is_undefined_throughout() -> None:
    program = parse_program(
        'program(%0: f32[8] "x") {} {\n  %1 = alloc {bytes=32} : ptr\n'
        '  %2 = read %1 {to="f32", shape=[8], strides=[1]} : f32[8]\n'
        '  %3 = add %0, %2 : f32[8]\n  return "out0" %3\n}\n'
    )
    with pytest.raises(Unsupported, match="every element of which follows undefined values"):
        assess(Request(program, {"x": np.ones(8, np.float32)}, check=(1e-2, 1e-2)))


def test_an_undefined_value_that_reaches_nothing_is_none() -> None:
    """Times zero: the mark stays, the value does not move."""
    program = parse_program(
        'program(%0: f32[8] "x") {} {\n  %1 = alloc {bytes=32} : ptr\n'
        '  %2 = read %1 {to="f32", shape=[8], strides=[1]} : f32[8]\n'
        '  %3 = constant {to="f32", shape=[8], value=0.0} : f32[8]\n'
        "  %4 = mul %2, %3 : f32[8]\n  %5 = add %0, %4 : f32[8]\n"
        '  return "out0" %5\n}\n'
    )
    report = assess(Request(program, {"x": np.ones(8, np.float32)}, check=(1e-2, 1e-2), mutants=0))
    assert report.verdict == "adequate" and statuses(report)["zeros"] == "caught"


def test_types_that_differ_are_no_matter_of_tolerance() -> None:
    with pytest.raises(UsageError, match="no tolerance compares them"):
        assess(Request(total(8), normal(total(8)), b=total(8, "bf16")))


def test_an_unknown_exchange_of_outputs() -> None:
    two = parse_program('program(%0: f32[3,8] "x") {} {\n  return "out0" %0, "out1" %0\n}\n')
    with pytest.raises(UsageError, match="A gives 1 outputs, B gives 2"):
        assess(Request(total(8), normal(total(8)), b=two))
