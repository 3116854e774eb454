"""Pairs of bodies that differ in one attribute, operand or dtype of one instruction: none of them may look equal."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from lowering.capture.nki import instructions as isa
from lowering.capture.nki.tile import Tile
from lowering.capture.nki.trace import PSUM
from tests.frontends.nki.instruction_runs import Body, given, tile
from tests.frontends.nki.test_open_choices import compared

X, Y = given(8, 8), given(8, 8, seed=1)
LARGE = np.arange(64, dtype=np.int32).reshape(8, 8) + 2**24


def made(function: Any, *attributes: Any, shape: tuple[int, int] = (8, 8), dtype: str = "float32", **more: Any) -> Body:
    """One instruction that takes x and gives a tile."""

    def body(x: Tile, y: Tile) -> Tile:
        dst = tile(shape, dtype)
        function(dst, x, *attributes, **more)
        return dst

    return body


def product(flag: bool | None, turns: int = 2, dtype: str = "float32", swapped: bool = False) -> Body:
    def body(x: Tile, y: Tile) -> Tile:
        dst = tile((8, 8), dtype, PSUM)
        for _ in range(turns):
            isa.nc_matmul(dst, *((y, x) if swapped else (x, y)), accumulate=flag)
        return dst

    return body


def accumulated(command: str) -> Body:
    def body(x: Tile, y: Tile) -> Tile:
        dst, total = tile((8, 8)), tile((8, 1))
        isa.activation(dst, "copy", x, reduce_op="add", reduce_cmd="reset_reduce")
        isa.activation(dst, "copy", y, reduce_op="add", reduce_cmd=command, reduce_res=total)
        return total

    return body


def masked(columns: int) -> Body:
    def body(x: Tile, y: Tile) -> Tile:
        dst, mask = tile((8, 8)), np.zeros((8, 8), bool)
        mask[:, :columns] = True
        isa.copy(dst, y, "dve")
        isa.copy(dst, x, "dve", mask)
        return dst

    return body


def summed(engine: str) -> Body:
    def body(x: Tile, y: Tile) -> Tile:
        dst = tile((8, 8), "int32")
        isa.tensor_tensor(dst, x, y, "add", engine)
        return dst

    return body


def scanned(initial: float, reverse: bool) -> Body:
    def body(x: Tile, y: Tile) -> Tile:
        dst = tile((8, 8))
        isa.tensor_tensor_scan(dst, x, y, initial, "mult", "subtract", reverse1=reverse)
        return dst

    return body


def shuffled(*first: int) -> Body:
    return made(isa.shuffle, [*first, *range(2, 8), *[255] * 24])


def selected(multiplier: int, comparison: str) -> Body:
    def body(x: Tile, y: Tile) -> Tile:
        dst = tile((8, 8))
        isa.affine_select(dst, [[-1, 8]], multiplier, x, -9.0, comparison)
        return dst

    return body


def by_activation(function: str, **more: Any) -> Body:
    def body(x: Tile, y: Tile) -> Tile:
        dst = tile((8, 8))
        isa.activation(dst, function, x, **more)
        return dst

    return body


def folded(op: str, negate: bool = False) -> Body:
    def body(x: Tile, y: Tile) -> Tile:
        dst = tile((8, 1))
        isa.tensor_reduce(dst, op, x, (1,), negate)
        return dst

    return body


def cumulated(command: str) -> Body:
    return made(isa.tensor_scalar_cumulative, "mult", "add", 1.0, 2.0, command)


PAIRS: dict[str, tuple[Body, Body]] = {
    "operands of a product": (product(None), product(None, swapped=True)),
    "accumulation": (product(None), product(False)),
    "passes": (product(None), product(None, 3)),
    "PSUM in bf16": (product(None), product(None, dtype="bfloat16")),
    "transpose": (made(isa.nc_transpose, "dve"), made(isa.copy, "dve")),
    "a dtype": (by_activation("exp"), made(lambda dst, x: isa.activation(dst, "exp", x), dtype="bfloat16")),
    "a bias": (by_activation("exp"), by_activation("exp", bias=0.5)),
    "a table": (by_activation("gelu"), by_activation("gelu_apprx_tanh")),
    "negate": (folded("add"), folded("add", True)),
    "reverse": (made(isa.tensor_scalar, "subtract", 3.0), made(isa.tensor_scalar, "subtract", 3.0, True)),
    "reduce_cmd": (accumulated("reduce"), accumulated("reset_reduce")),
    "an idle accumulator": (accumulated("reduce"), accumulated("idle")),
    "a mask": (masked(4), masked(5)),
    "a scan's first value": (scanned(0.0, False), scanned(1.0, False)),
    "a scan's order": (scanned(0.0, False), scanned(0.0, True)),
    "a load of the accumulator": (cumulated("reset_reduce"), cumulated("load_reduce")),
    "a shuffle": (shuffled(0, 1), shuffled(1, 0)),
    "a comparison": (selected(1, "is_ge"), selected(1, "is_gt")),
    "a multiplier": (selected(1, "is_ge"), selected(2, "is_ge")),
}


@pytest.mark.parametrize("name", PAIRS)
def test_a_difference_is_seen(name: str) -> None:
    assert compared(*PAIRS[name], X, Y) == (False, False)


def test_the_engine_of_an_integer_sum_is_seen() -> None:
    assert compared(summed("pool"), summed("dve"), LARGE, LARGE) == (False, False)
