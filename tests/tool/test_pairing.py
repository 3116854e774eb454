"""Inputs and outputs of two programs brought together."""

from __future__ import annotations

import pytest

from irverify.pairing import align_written, pair_names, pair_programs
from lowering.errors import UsageError
from lowering.ir.builder import Builder
from lowering.ir.program import Program
from lowering.ir.types import DTYPES, TensorType


def program(inputs: list[str], outputs: list[str]) -> Program:
    """Each output is a new value, the sum of the first input with itself."""
    builder = Builder()
    builder.block.args = [builder.value(TensorType(DTYPES["f32"], (3, 5))) for _ in inputs]
    first = builder.block.args[0]
    return Program(builder.block, inputs, [(name, builder("add", first, first)) for name in outputs])


def test_names_by_name_then_by_position() -> None:
    assert pair_names(["x", "w", "eps"], ["w", "a", "b"]) == {"w": "w", "a": "x", "b": "eps"}


def test_an_argument_written_on_one_side_keeps_its_value_on_the_other() -> None:
    a, b = program(["x", "r"], ["out0"]), program(["y", "s"], ["out0", "written:y"])
    assert pair_programs(a, b, ("a.py", "b.py")) == []
    assert [name for name, _ in a.outputs] == [name for name, _ in b.outputs] == ["out0", "written:x"]
    assert a.outputs[1][1] is a.body.args[0] and b.outputs[1][1] is not b.body.args[0]


def test_two_captures_of_one_function() -> None:
    a, b = program(["x", "y"], ["out0", "written:y"]), program(["x", "y"], ["out0", "written:x"])
    assert align_written(a, b)
    assert [name for name, _ in a.outputs] == [name for name, _ in b.outputs] == ["out0", "written:y", "written:x"]
    assert a.outputs[2][1] is a.body.args[0] and b.outputs[1][1] is b.body.args[1]
    assert not align_written(a, program(["x", "y"], ["out0", "out1"]))


def test_written_against_returned() -> None:
    a, b = program(["x", "out"], ["written:out"]), program(["x"], ["out0"])
    assert pair_programs(a, b, ("a.py", "b.py")) == []
    assert len(a.outputs) == len(b.outputs) == 1


def test_scratch_that_the_other_side_does_not_take_is_noted() -> None:
    a, b = program(["x", "scratch"], ["out0", "written:scratch"]), program(["x"], ["out0"])
    [note] = pair_programs(a, b, ("a.py", "b.py"))
    assert "a.py writes to its argument 'scratch', which b.py does not take" in note


def test_two_against_one() -> None:
    with pytest.raises(UsageError, match="different numbers of outputs"):
        pair_programs(program(["x"], ["out0", "out1"]), program(["x"], ["out0"]), ("a.py", "b.py"))


def test_an_update_that_is_returned_meets_a_functional_side() -> None:
    a, b = program(["x"], ["out0"]), program(["x"], ["out0"])
    a.outputs.append(("written:x", a.outputs[0][1]))
    pair_programs(a, b, ("a.py", "b.py"), (False, True))
    assert [name for name, _ in a.outputs] == ["out0"]
    a.outputs.append(("written:x", a.outputs[0][1]))
    pair_programs(a, b, ("a.py", "b.py"), (False, False))
    assert [name for name, _ in b.outputs] == ["out0", "written:x"]


def test_results_with_none_in_other_places_do_not_correspond() -> None:
    with pytest.raises(UsageError, match=r"a.py returns \(out0\), b.py returns \(None, out1\)"):
        pair_programs(program(["x"], ["out0"]), program(["x"], ["out1"]), ("a.py", "b.py"))
    same = program(["x"], ["out0", "out2"]), program(["x"], ["out0", "out2"])
    assert pair_programs(*same, ("a.py", "b.py")) == []


def test_one_result_under_two_keys_is_noted() -> None:
    a, b = program(["x"], ["out.loss"]), program(["x"], ["out.mean"])
    assert "out.loss with out.mean" in pair_programs(a, b, ("a.py", "b.py"))[0]
    assert pair_programs(program(["x"], ["out.loss"]), program(["x"], ["out0"]), ("a.py", "b.py")) == []


@pytest.mark.parametrize("gradients", [["grad:x"], ["grad:x", "grad:other"]])
def test_a_gradient_that_one_side_does_not_give(gradients: list[str]) -> None:
    """The second input has other names on the two sides; messages use A's."""
    a = program(["x", "w"], ["out0", "grad:x", "grad:w"])
    b = program(["x", "v"], ["out0", *gradients])
    with pytest.raises(UsageError, match=r"b.py gives no gradient for w, a.py does"):
        pair_programs(a, b, ("a.py", "b.py"))


@pytest.mark.parametrize("jax_side", [0, 1])
def test_indices_of_jax_are_widened(jax_side: int) -> None:
    """An argmax is i64 in torch and i32 in jax; that is no difference between two ports."""

    def of(dtype: str) -> Program:
        made = program(["x"], ["out0"])
        builder = Builder()
        builder.block = made.body
        made.outputs.append(("out1", builder.cast(made.outputs[0][1], dtype, rounding="rtz")))
        return made

    sides = [of("i32" if side == jax_side else "i64") for side in (0, 1)]
    [note] = pair_programs(*sides, ("a.py", "b.py"), (jax_side == 0, jax_side == 1))
    assert "out1 compared as such" in note
    assert [side.outputs[1][1].type.dtype.name for side in sides] == ["i64", "i64"]
    plain = [of("i32"), of("i64")]
    assert pair_programs(*plain, ("a.py", "b.py")) == [] and plain[0].outputs[1][1].type.dtype.name == "i32"
