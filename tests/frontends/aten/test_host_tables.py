"""Tables that the call makes of no input: their formula is lowered, not the rounded values, while it holds."""

from __future__ import annotations

from collections.abc import Callable

import torch

from lowering.capture.torch_host import torch_session
from lowering.ir.program import Program
from tests.frontends.aten.harness import evaluated, lowered

Function = Callable[[torch.Tensor], torch.Tensor]


def angles() -> torch.Tensor:
    rates = 10000.0 ** (-torch.arange(0, 6, 2).float() / 6)
    return torch.outer(torch.arange(5).float(), rates)


def program(fn: Function) -> Program:
    """Its values are torch's."""
    x = torch.randn(5, 3, generator=torch.Generator().manual_seed(1))
    with torch_session() as session:
        made = lowered(session, fn, [x])
    torch.testing.assert_close(evaluated(made, [x])["out0"], fn(x), rtol=1e-6, atol=1e-6)
    return made


def functions(made: Program) -> list[str]:
    return sorted(str(op.attrs["fn"]) for op in made.walk() if op.name == "math")


def tables(made: Program) -> list[str]:
    """The dtypes of the constants that are arrays."""
    return [op.attrs["to"] for op in made.walk() if op.name == "constant" and "value" in op.attrs and _array(op)]


def _array(op) -> bool:
    return getattr(op.attrs["value"], "size", 1) > 1


def test_angles_of_rope() -> None:
    made = program(lambda x: x * angles().cos() + x.flip(1) * angles().sin())
    assert functions(made) == ["cos", "pow", "pow", "sin"] and set(tables(made)) <= {"i64"}


def test_a_table_moved_to_the_inputs_device() -> None:
    assert functions(program(lambda x: x * angles().cos().to(x.device))) == ["cos", "pow"]


def test_one_used_twice_is_made_once() -> None:
    def fn(x: torch.Tensor) -> torch.Tensor:
        table = angles().cos()
        return (x + table) * table

    assert functions(program(fn)) == ["cos", "pow"]


def test_a_table_that_was_written_to_is_data() -> None:
    def fn(x: torch.Tensor) -> torch.Tensor:
        table = angles().cos()
        table[1] = 7.0
        return x * table

    made = program(fn)
    assert not functions(made) and "f32" in tables(made)


def test_a_formula_whose_start_was_written_to_is_data() -> None:
    """What the table was made of has other values by now, also where torch did not see it change."""

    def fn(x: torch.Tensor) -> torch.Tensor:
        p = angles()
        table = p.cos()
        p.numpy()[1] = 7.0
        return x * table

    made = program(fn)
    assert not functions(made) and "f32" in tables(made)


def test_what_the_host_reads_of_a_table_is_no_path() -> None:
    def fn(x: torch.Tensor) -> torch.Tensor:
        table = angles().cos()
        y = x * table
        return y if table[0, 0].item() == 1 else -y

    assert not any(op.name == "observe" for op in program(fn).walk())


def test_whole_numbers_stay_data() -> None:
    made = program(lambda x: x[torch.arange(5).flip(0)])
    assert tables(made) == ["i64"]
