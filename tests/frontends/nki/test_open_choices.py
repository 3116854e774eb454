"""What the level leaves open and what it does not: which programs have the same fingerprints."""

from __future__ import annotations

import numpy as np

from equivalence.evaluator import Machine
from equivalence.interpretations.exact import Exact
from equivalence.interpretations.reassociated import Reassociated
from lowering.capture.nki import instructions as isa
from lowering.capture.nki.tile import Tile
from lowering.capture.nki.trace import PSUM
from lowering.ir.program import Program
from tests.frontends.nki.instruction_runs import Body, given, lowered, part, tile


def equal(a: Program, b: Program, *arrays: np.ndarray) -> tuple[bool, bool]:
    """Whether the first outputs are the same under `exact` and under `reassociated`."""
    planes = []
    for program in (a, b):
        run = Machine(program, [Exact(1), Reassociated(1)]).run({f"x{i}": x for i, x in enumerate(arrays)})
        planes.append(next(iter(run.outputs.values())).planes or {})
    names = ("exact", "reassociated")
    return tuple(bool(np.array_equal(*(np.broadcast_arrays(*(p[n] for p in planes))))) for n in names)  # type: ignore[return-value]


def compared(a: Body, b: Body, *arrays: np.ndarray) -> tuple[bool, bool]:
    return equal(lowered(a, *arrays), lowered(b, *arrays), *arrays)


def activated(x: Tile, op: str, scale: float = 1.0) -> Tile:
    dst = tile(x.shape)
    isa.activation(dst, op, x, scale=scale)
    return dst


def scaled(x: Tile, op0: str, operand: float | Tile, op1: str | None = None, other: float | Tile | None = None) -> Tile:
    dst = tile(x.shape)
    isa.tensor_scalar(dst, x, op0, operand, op1=op1, operand1=other)
    return dst


X = given(4, 6)


def test_a_table_is_one_function_wherever_it_is_used() -> None:
    def first(x: Tile) -> Tile:
        return activated(scaled(x, "mult", 0.5), "exp")

    def second(x: Tile) -> Tile:
        return activated(x, "exp", scale=0.5)

    assert compared(first, second, X) == (True, True)
    assert compared(lambda x: activated(x, "exp"), lambda x: activated(x, "tanh"), X) == (False, False)


def test_the_same_function_of_another_engine_has_other_last_bits() -> None:
    def by_power(x: Tile) -> Tile:
        dst = tile(x.shape)
        isa.exponential(dst, x)
        return dst

    assert compared(lambda x: activated(x, "exp"), by_power, X) == (False, True)
    assert compared(lambda x: activated(x, "rsqrt"), lambda x: scaled(x, "rsqrt", 0.0), X) == (False, True)


def test_a_table_of_its_own_is_not_its_definition_put_together() -> None:
    """silu on the Scalar engine against x / (1 + exp(-x)) spelled by the user."""

    def spelled(x: Tile) -> Tile:
        below, dst = scaled(activated(x, "exp", scale=-1.0), "add", 1.0), tile(x.shape)
        isa.tensor_tensor(dst, x, below, "divide")
        return dst

    exact, reassociated = compared(lambda x: activated(x, "silu"), spelled, X)
    assert not exact and reassociated


def matmul(*cuts: int) -> Body:
    def body(x: Tile, y: Tile) -> Tile:
        dst = tile((3, 5), space=PSUM)
        for low, high in zip((0, *cuts), (*cuts, 8), strict=True):
            rows = slice(low, high)
            isa.nc_matmul(dst, part(x, rows, slice(None)), part(y, rows, slice(None)))
        return dst

    return body


def test_a_pass_cut_in_two_is_the_same_sum_in_another_order() -> None:
    x, y = given(8, 3), given(8, 5, seed=1)
    assert compared(matmul(), matmul(4), x, y) == (False, True)
    assert compared(matmul(4), matmul(2), x, y) == (False, True)
    twice = lowered(matmul(4), x, y)
    assert equal(twice, lowered(matmul(4), x, y), x, y) == (True, True)


def test_a_partial_sum_in_bf16_is_another_sum() -> None:
    def hop(x: Tile, y: Tile) -> Tile:
        dst, low = tile((3, 5), space=PSUM), tile((3, 5), "bfloat16")
        isa.nc_matmul(dst, part(x, slice(0, 4), slice(None)), part(y, slice(0, 4), slice(None)))
        isa.copy(low, dst, "dve")
        isa.copy(dst, low, "dve")
        isa.nc_matmul(dst, part(x, slice(4, 8), slice(None)), part(y, slice(4, 8), slice(None)), accumulate=True)
        return dst

    assert compared(matmul(4), hop, given(8, 3), given(8, 5, seed=1)) == (False, False)


def test_a_product_with_an_identity_moves_elements() -> None:
    def by_product(x: Tile) -> Tile:
        one, dst = tile((6, 6)), tile((4, 6), space=PSUM)
        isa.memset(one, 1.0)
        isa.affine_select(one, [[-1, 6]], 1, one, 0.0, "is_equal")
        isa.nc_matmul(dst, x, one, is_transpose=True)
        return dst

    def moved(x: Tile) -> Tile:
        dst = tile((4, 6))
        isa.nc_transpose(dst, x)
        return dst

    assert compared(by_product, moved, given(6, 4)) == (False, True)


def test_masks_are_part_of_the_source() -> None:
    """Two runs that differ in a mask alone do not make the same open choices."""

    def masked(rows: int) -> Body:
        def body(x: Tile, y: Tile) -> Tile:
            dst = tile((3, 5), space=PSUM)
            isa.nc_matmul(dst, x, y, mask=np.arange(3)[:, None] < np.full((1, 5), rows))
            return dst

        return body

    x, y = given(8, 3), given(8, 5, seed=1)
    assert lowered(masked(2), x, y).attrs["key"] != lowered(masked(3), x, y).attrs["key"]
    assert lowered(masked(2), x, y).attrs["key"] == lowered(masked(2), x, y).attrs["key"]
