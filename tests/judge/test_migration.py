"""What another device changes by itself: two matrix units on one program."""

from __future__ import annotations

import numpy as np
import pytest

from equivalence.evaluator import Limits, Machine
from equivalence.judge import migration
from equivalence.judge.migration import findings, moved, units
from equivalence.judge.runs import Pair
from equivalence.numerics.matrix_units import UNITS, dot
from equivalence.verdicts import Level
from lowering.errors import UsageError
from lowering.ir.program import Program, Value
from tests.semantics.programs import Kit, arrays, program

SPECS = ("bf16[64,64]", "bf16[64,64]")


def matmul(k: Kit, a: Value, b: Value) -> Value:
    return k.b("dot", a, b, acc="f32", precision="ieee", product="open")


def in_two_halves(k: Kit, a: Value, b: Value) -> Value:
    """The same terms, the second half of K first."""
    left = [k.b("slice", a, start=(0, i), limit=(64, i + 32), step=(1, 1)) for i in (32, 0)]
    right = [k.b("slice", b, start=(i, 0), limit=(i + 32, 64), step=(1, 1)) for i in (32, 0)]
    first = k.b("dot", left[0], right[0], acc="f32", precision="ieee", product="open")
    return k.b("dot", left[1], right[1], first, acc="f32", precision="ieee", product="open")


def pair(body=matmul, other=matmul, specs=SPECS) -> Pair:
    return Pair(program(body, *specs), program(other, *specs), arrays(1, *specs))


def evaluated(made: Program, inputs: dict[str, np.ndarray], name: str | None) -> np.ndarray:
    limits = Limits(unit=None if name is None else UNITS[name])
    return Machine(made, (), limits=limits).run(inputs).outputs["out0"].data[0]


@pytest.mark.parametrize("name", ["Ampere", "Hopper", "TPU", "Trainium"])
def test_a_program_is_evaluated_as_the_unit_adds(name: str) -> None:
    given = pair()
    found = evaluated(given.a, given.inputs, name)
    assert (found == dot(given.inputs["x0"], given.inputs["x1"], None, UNITS[name], "bf16", "f32")).all()
    assert (found != evaluated(given.a, given.inputs, None)).any()


def test_the_accumulator_of_a_dot_joins_its_first_step() -> None:
    given = pair(in_two_halves)
    a, b = given.inputs["x0"], given.inputs["x1"]
    first = dot(a[:, 32:], b[32:], None, UNITS["Hopper"], "bf16", "f32")
    expected = dot(a[:, :32], b[:32], first, UNITS["Hopper"], "bf16", "f32")
    assert (evaluated(given.a, given.inputs, "Hopper") == expected).all()


def test_integers_are_not_the_unit_s_matter() -> None:
    specs = ("i32[4,8]", "i32[8,4]")
    given = pair(lambda k, a, b: k.b("dot", a, b, acc="i32"), specs=specs)
    assert (evaluated(given.a, given.inputs, "Hopper") == given.inputs["x0"] @ given.inputs["x1"]).all()


def test_from_ampere_to_hopper_a_sixth_of_the_elements_changes() -> None:
    seen = moved(pair(), ("sm_80", "sm_90"))
    assert seen[0].label == "the given inputs" and seen[0].elements == 4096 and seen[0].alone == 0
    assert 0.1 < seen[0].differing / 4096 < 0.22
    assert seen[0].max_ulp >= 1
    assert len(seen) > 3


def test_one_unit_under_two_names_changes_nothing() -> None:
    assert all(found.differing == found.max_ulp == 0 for found in moved(pair(), ("sm_80", "sm_86")))


def test_the_finding_says_how_many_and_how_far() -> None:
    [found] = findings(pair(), ("sm_80", "sm_90a"), Level.BITWISE)
    assert found.code == "migration" and found.severity == "note"
    assert found.message.startswith("out0, sm_80 against sm_90a: ")
    assert "of 4096 elements (" in found.message and "on the given inputs; " in found.message
    assert "alike" not in found.message and "assumed" not in found.message


def test_what_the_programs_do_differently_is_told_apart() -> None:
    """Where no unit is involved the order of two halves is no difference: both sums are exact and rounded once."""
    specs = ("f32[64,64]", "f32[64,64]")
    [found] = findings(pair(matmul, in_two_halves, specs), ("sm_80", "sm_90"), Level.REASSOCIATED)
    assert "where all dots are evaluated alike: there the programs part" in found.message


def test_what_is_assumed_of_a_unit_is_said() -> None:
    [found] = findings(pair(), ("sm_90", "tpu_v5e"), Level.BITWISE)
    assert "; assumed, not measured: Google TPU, MXU of 128 x 128, the formats are documented; " in found.message


def test_a_dot_that_would_take_minutes_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(migration, "MOST_PRODUCTS", 64**3 - 1)
    [found] = findings(pair(), ("sm_80", "sm_90"), Level.BITWISE)
    assert found.message == "not looked at: a dot is too large for it; give smaller inputs"
    monkeypatch.setattr(migration, "MOST_PRODUCTS", 64**3)
    assert "differ in bits" in findings(pair(), ("sm_80", "sm_90"), Level.BITWISE)[0].message


def test_other_verdicts_are_not_looked_at() -> None:
    [found] = findings(pair(), ("sm_80", "sm_90"), Level.DIFFERENT)
    assert "not looked at: the two are different" in found.message


def test_a_format_that_a_target_lacks_is_said() -> None:
    found = findings(pair(), ("sm_75", "sm_80"), Level.BITWISE)
    assert found[0].message == "A: bf16 x bf16 into f32 on sm_75 is not modelled: one exact sum, rounded once"
    assert len(found) == 2


def test_a_target_without_a_unit_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="--target-b is 'cpu': its matrix unit is not modelled"):
        units(("sm_80", "cpu"))
