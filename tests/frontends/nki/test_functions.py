"""Activations: correctly rounded values of their tables, scale and bias, and the accumulators they feed."""

from __future__ import annotations

import math

import numpy as np
import pytest

from lowering.capture.nki import instructions as isa
from lowering.capture.nki.tile import Tile
from lowering.errors import Unsupported
from tests.frontends.nki.instruction_runs import f32, given, lowered, part, rounded, run, same, tile, value

FUNCTIONS = {
    "exp": np.exp, "log": np.log, "sqrt": np.sqrt, "rsqrt": lambda x: 1 / np.sqrt(x), "tanh": np.tanh, "sin": np.sin,
    "arctan": np.arctan, "cos": np.cos, "tan": np.tan, "erf": lambda x: np.vectorize(math.erf)(x), "copy": np.positive,
    "square": np.square, "abs": np.abs, "relu": lambda x: np.maximum(x, 0), "sign": np.sign,
    "reciprocal": lambda x: 1 / x,
}  # fmt: skip


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def cdf(x: np.ndarray) -> np.ndarray:
    return (1 + np.vectorize(math.erf)(x / math.sqrt(2))) / 2


SPELLED = {
    "sigmoid": sigmoid, "silu": lambda x: x * sigmoid(x), "gelu": lambda x: x * cdf(x),
    "gelu_apprx_tanh": lambda x: x / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
    "gelu_apprx_sigmoid": lambda x: x * sigmoid(1.702 * x), "softplus": lambda x: np.log1p(np.exp(x)),
    "mish": lambda x: x * np.tanh(np.log1p(np.exp(x))), "erf_dx": lambda x: 2 / math.sqrt(math.pi) * np.exp(-x * x),
    "gelu_dx": lambda x: cdf(x) + x * np.exp(-x * x / 2) / math.sqrt(2 * math.pi),
    "silu_dx": lambda x: sigmoid(x) * (1 + x * (1 - sigmoid(x))),
    "gelu_apprx_sigmoid_dx": lambda x: sigmoid(1.702 * x) * (1 + 1.702 * x * (1 - sigmoid(1.702 * x))),
}  # fmt: skip


def activated(op: str, dtype: str = "float32", **more):
    def body(x: Tile, *lanes: Tile) -> Tile:
        dst = tile(x.shape, dtype)
        names = ("bias", "scale")
        isa.activation(dst, op, x, **more, **dict(zip(names, lanes)))
        return dst

    return body


@pytest.mark.parametrize("op", FUNCTIONS)
def test_a_table_is_the_function_correctly_rounded(op: str) -> None:
    for shape, dtype in (((1, 1), "float32"), ((128, 5), "bfloat16")):
        x = np.abs(given(*shape, dtype=dtype)) if op in ("log", "sqrt", "rsqrt") else given(*shape, dtype=dtype)
        x = np.clip(x, -1.5, 1.5) if op in ("sin", "arctan") else x
        wanted = FUNCTIONS[op](x.astype(np.float64)).astype(np.float32)
        same(value(activated(op), x), wanted)
        same(value(activated(op, "bfloat16"), x), rounded(wanted, "bfloat16"))


@pytest.mark.parametrize(("op", "bound"), [("sin", math.pi), ("arctan", math.pi / 2)])
def test_beyond_its_range_a_table_is_not_the_function(op: str, bound: float) -> None:
    x = np.array([[0.5, bound, -bound, bound + 0.25, -9.0, 40.0]], np.float32)
    wanted = FUNCTIONS[op](x.astype(np.float64)).astype(np.float32)
    found = value(activated(op), x)
    assert np.array_equal(found[:, :3], wanted[:, :3]) and (np.abs(found[:, 3:] - wanted[:, 3:]) > 0.5).all()


def test_a_sine_whose_argument_is_reduced_first_is_one_everywhere() -> None:
    x = given(8, 5, scale=30.0)
    same(value(activated("sin_reduced"), x), np.sin(x.astype(np.float64)).astype(np.float32))


@pytest.mark.parametrize("op", SPELLED)
def test_a_function_that_is_spelled_over_others_is_near_its_own(op: str) -> None:
    x = given(128, 5, scale=3.0)
    wanted = SPELLED[op](x.astype(np.float64))
    assert np.allclose(value(activated(op), x), wanted, rtol=2e-5, atol=2e-6)
    assert np.isfinite(value(activated(op), np.array([[-200.0, 200.0]], np.float32))).all()


def test_scale_and_bias() -> None:
    """fn(x * scale + bias): a product and a sum, each rounded to f32."""
    x, bias, scale = given(128, 6, dtype="bfloat16"), given(128, 1, dtype="bfloat16", seed=1), given(128, 1, seed=2)
    same(value(activated("copy"), x, bias, scale), f32(x) * scale + f32(bias))
    inner = (f32(x) * np.float32(0.125) + f32(bias)).astype(np.float64)
    same(value(activated("exp", scale=0.125), x, bias), np.exp(inner).astype(np.float32))


def test_prelu_takes_its_slope_from_activate2() -> None:
    def body(x: Tile) -> Tile:
        dst = tile(x.shape)
        isa.activate2(dst, "prelu", x, 2.0, 1.0, "mult", "subtract", relu_param=0.25)
        return dst

    x = given(4, 5)
    inner = x * np.float32(2) - np.float32(1)
    same(value(body, x), np.where(inner > 0, inner, inner * np.float32(0.25)))
    with pytest.raises(Unsupported, match="prelu"):
        lowered(activated("prelu"), x)


def whole(*shape: int, seed: int = 0) -> np.ndarray:
    """Small integers, whose sums are exact in every order."""
    return np.random.default_rng(seed).integers(-8, 9, shape).astype(np.float32)


@pytest.mark.parametrize("shape", [(1, 1), (128, 9), (3, 2, 4)])
def test_the_accumulator_is_kept_across_instructions(shape: tuple[int, ...]) -> None:
    x, y = whole(*shape), whole(*shape, seed=1)

    def body(a: Tile, c: Tile) -> tuple[Tile, ...]:
        dst, first, total, again = tile(shape), *(tile((shape[0], 1)) for _ in range(3))
        isa.activation(dst, "copy", a, reduce_op="add", reduce_res=first, reduce_cmd="reset_reduce")
        isa.activation(dst, "square", c, reduce_op="add", reduce_res=total, reduce_cmd="reduce")
        isa.activation(dst, "copy", c, reduce_res=again)  # idle: keeps it
        return dst, first, total, again

    ran = run(body, x, y)
    first = x.reshape(shape[0], -1).sum(1, keepdims=True)
    total = first + np.square(y).reshape(shape[0], -1).sum(1, keepdims=True)
    for got, wanted in zip(ran.values, (y, first, total, total), strict=True):
        same(got, wanted)


def test_an_accumulator_that_was_never_set_is_undefined() -> None:
    def body(a: Tile) -> tuple[Tile, ...]:
        dst, total, reset = tile((4, 3)), tile((4, 1)), tile((4, 1))
        isa.activation(dst, "copy", a, reduce_op="add", reduce_res=total, reduce_cmd="reduce")
        isa.activation(dst, "copy", a, reduce_op="add", reduce_res=reset, reduce_cmd="reset")
        return total, reset

    ran = run(body, whole(4, 3))
    assert ran.poison[0].all() and not ran.poison[1].any() and not ran.values[1].any()


def test_an_accumulator_of_other_partitions_is_refused() -> None:
    def body(a: Tile, c: Tile) -> Tile:
        isa.activation(tile((4, 3)), "copy", a, reduce_op="add", reduce_cmd="reset_reduce")
        total = tile((2, 1))
        isa.activation(tile((2, 3)), "copy", c, reduce_op="add", reduce_res=total, reduce_cmd="reduce")
        return total

    with pytest.raises(Unsupported, match="accumulator of partitions from 0 on that is used for 2 from 0 on"):
        lowered(body, whole(4, 3), whole(2, 3))


def test_exponential_on_the_vector_engine() -> None:
    x, top = given(128, 6), given(128, 1, seed=1)

    def body(a: Tile, m: Tile) -> tuple[Tile, ...]:
        dst, total = tile(a.shape, "bfloat16"), tile((128, 1))
        isa.exponential(dst, a, m, total, "load_reduce", 4.0)
        return dst, total

    ran = run(body, x, top)
    wanted = np.exp((x - top).astype(np.float64)).astype(np.float32)
    same(ran.values[0], rounded(wanted, "bfloat16"))
    assert np.allclose(ran.values[1][:, 0], 4 + wanted.sum(1), rtol=1e-6)
    assert any("before they are rounded to dst" in note for note in ran.program.notes)


def test_an_idle_instruction_clobbers_the_vector_engines_accumulator() -> None:
    def body(a: Tile) -> Tile:
        total = tile((4, 1))
        isa.exponential(tile((4, 3)), a, reduce_cmd="reset_reduce")
        isa.exponential(tile((4, 3)), a)
        isa.exponential(tile((4, 3)), a, reduce_res=total, reduce_cmd="reduce")
        return total

    assert run(body, whole(4, 3)).poison[0].all()


def test_masked_elements_take_no_part_in_the_accumulator() -> None:
    mask = np.tri(4, 6, dtype=bool)

    def body(a: Tile) -> tuple[Tile, ...]:
        dst, total = tile(a.shape), tile((4, 1))
        isa.activation(dst, "copy", a, reduce_op="add", reduce_res=total, reduce_cmd="reset_reduce", mask=mask)
        return dst, total

    x = whole(4, 6)
    ran = run(body, x)
    same(ran.values[1], (x * mask).sum(1, keepdims=True).astype(np.float32))
    assert (ran.poison[0] == ~mask).all() and not ran.poison[1].any()


def test_each_lane_has_its_own_accumulator() -> None:
    """What partitions 0 to 3 have added up is not touched by 4 to 7, nor read by them."""

    def body(a: Tile) -> tuple[Tile, Tile]:
        dst, total, other = tile((8, 3)), tile((4, 1)), tile((4, 1))
        for rows in (slice(0, 4), slice(4, 8)):
            halves = part(dst, rows, slice(None)), part(a, rows, slice(None))
            isa.activation(halves[0], "copy", halves[1], reduce_op="add", reduce_cmd="reset_reduce")
        for rows, result in ((slice(0, 4), total), (slice(4, 8), other)):
            halves = part(dst, rows, slice(None)), part(a, rows, slice(None))
            isa.activation(halves[0], "copy", halves[1], reduce_op="add", reduce_res=result, reduce_cmd="reduce")
        return total, other

    x = given(8, 3)
    total, other = run(body, x).values
    want = 2 * x.astype(np.float64).sum(axis=1, keepdims=True)
    assert np.allclose(total, want[:4], rtol=1e-5) and np.allclose(other, want[4:], rtol=1e-5)
