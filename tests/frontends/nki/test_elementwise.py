"""Copies, fills and arithmetic, bit for bit against numpy in f32 with one rounding on the way out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from lowering.capture.nki import instructions as isa
from lowering.capture.nki.tile import Tile
from lowering.capture.nki.trace import PSUM
from lowering.errors import Unsupported
from lowering.frontends.nki import Model
from tests.frontends.nki.instruction_runs import f32, given, lowered, part, rounded, run, same, tile, value

SHAPES = [(1, 1), (128, 7), (5, 2, 3)]
DTYPES = ["float32", "bfloat16"]
BINARY = {
    "add": np.add, "subtract": np.subtract, "mult": np.multiply, "max": np.maximum, "min": np.minimum,
    "is_equal": np.equal, "not_equal": np.not_equal, "is_gt": np.greater, "is_ge": np.greater_equal, "is_lt": np.less,
    "is_le": np.less_equal, "logical_and": np.logical_and, "logical_or": np.logical_or, "logical_xor": np.logical_xor,
    "mod": lambda x, y: np.mod(x, y) + np.float32(0), "fmod": np.fmod, "divide": np.divide,
    "abs_max": lambda x, y: np.where(np.abs(x) >= np.abs(y), x, y),
    "abs_min": lambda x, y: np.where(np.abs(x) <= np.abs(y), x, y),
}  # fmt: skip
EDGES = np.array([[0.0, -0.0, 1.5, -2.5, 3e38, -3e38, 1e-40, 0.49999997, 255.5, -0.5, 1e9, np.inf]], np.float32)


def two(op: str, dtype: str = "float32", engine: str = ""):
    def body(x: Tile, y: Tile) -> Tile:
        dst = tile(x.shape, dtype)
        isa.tensor_tensor(dst, x, y, op, engine)
        return dst

    return body


@pytest.mark.parametrize("op", BINARY)
def test_tensor_tensor(op: str) -> None:
    for shape, dtype in zip(SHAPES, [*DTYPES, "float32"], strict=True):
        x, y = given(*shape, dtype=dtype), given(*shape, dtype=dtype, seed=1)
        y.reshape(-1)[0] = x.reshape(-1)[0]
        wanted = rounded(BINARY[op](f32(x), f32(y)).astype(np.float32), dtype)
        got = value(two(op, dtype), x, y)
        same(got + got.dtype.type(0) if op == "mod" else got, wanted)  # the sign of a remainder 0 is open


@pytest.mark.parametrize("to", ["uint8", "int8", "int32", "bfloat16", "float8_e4m3", "float16", "uint32"])
def test_one_rounding_on_the_way_out(to: str) -> None:
    """Integers round to even and saturate, a NaN becomes 0; a float overflows to infinity where it has one."""
    x = np.concatenate([EDGES, np.array([[np.nan, -np.inf]], np.float32)], axis=1)
    same(value(two("add", to), x, np.zeros_like(x)), rounded(x + np.float32(0), to))


def test_integers_beyond_24_bits() -> None:
    """In f32 on the Vector engine; exact on GpSimd, modulo 2^32."""
    x = np.array([[2**24 + 1, 2**31 - 1, -7]], np.int32)
    y = np.array([[2, 1, 3]], np.int32)
    same(value(two("add", "int32", "dve"), x, y), rounded(f32(x) + f32(y), "int32"))
    same(value(two("add", "int32"), x, y), (x.astype(np.int64) + y).astype(np.int32))
    same(value(two("mult", "float32"), x, y), f32((x.astype(np.int64) * y).astype(np.int32)))


@pytest.mark.parametrize("dtype", ["int32", "uint8"])
def test_bit_operations(dtype: str) -> None:
    x, y = given(128, 5, dtype=dtype), given(128, 5, dtype=dtype, seed=1)
    for op, wanted in (("bitwise_and", x & y), ("bitwise_or", x | y), ("bitwise_xor", x ^ y), ("bitwise_not", ~x)):
        same(value(two(op, dtype), x, y), wanted)
    amount = np.abs(y) % x.dtype.type(x.dtype.itemsize * 8)
    unsigned = x.view(f"u{x.dtype.itemsize}")
    same(value(two("logical_shift_left", dtype), x, amount), (unsigned << amount.view(unsigned.dtype)).view(x.dtype))
    same(value(two("logical_shift_right", dtype), x, amount), (unsigned >> amount.view(unsigned.dtype)).view(x.dtype))


def test_bits_of_a_float_are_moved_untouched() -> None:
    x, mask = given(3, 4), np.full((3, 4), 0x7FFFFFFF, np.int32)
    same(value(two("bitwise_and", "float32"), x, mask), np.abs(x))


def scalar(op0: str, a: float, op1: str | None = None, c: float | None = None, dtype: str = "float32", **more: Any):
    def body(x: Tile, *lanes: Tile) -> Tile:
        dst = tile(x.shape, dtype)
        first, second = (lanes[0] if lanes else a), (lanes[1] if len(lanes) > 1 else c)
        isa.tensor_scalar(dst, x, op0, first, op1=op1, operand1=second, **more)
        return dst

    return body


@pytest.mark.parametrize("dtype", DTYPES)
def test_tensor_scalar(dtype: str) -> None:
    x = given(128, 6, dtype=dtype)
    wide = f32(x)
    same(value(scalar("mult", 0.1, "add", 0.3, dtype), x), rounded(wide * np.float32(0.1) + np.float32(0.3), dtype))
    same(value(scalar("subtract", 1.0, dtype=dtype, reverse0=True), x), rounded(np.float32(1) - wide, dtype))
    same(value(scalar("add", 1.0, "divide", 2.5, dtype, reverse1=True), x),
         rounded(np.float32(2.5) / (wide + np.float32(1)), dtype))  # fmt: skip
    same(value(scalar("max", 0.0, "is_gt", 0.5, dtype), x), rounded(f32(np.maximum(wide, 0) > 0.5), dtype))


def test_one_scalar_per_partition() -> None:
    x, a, c = given(128, 6), given(128, 1, seed=1), given(128, 1, seed=2, dtype="bfloat16")
    same(value(scalar("mult", 0, "add", 0), x, a, c), x * a + f32(c))


def test_a_product_and_a_sum_are_two_roundings_unless_the_model_fuses_them() -> None:
    x = np.array([[1 + 2.0**-12]], np.float32)
    apart, fused = np.float32(2.0**-11), np.float32(2.0**-11 + 2.0**-24)
    body = scalar("mult", float(x[0, 0]), "add", -1.0)
    assert value(body, x)[0, 0] == apart and value(body, x, model=Model(fma=True))[0, 0] == fused
    assert any("rounded one after the other" in note for note in lowered(body, x).notes)


@pytest.mark.parametrize("dtype", ["int32", "uint16"])
def test_tensor_scalar_on_bits(dtype: str) -> None:
    x = given(5, 7, dtype=dtype)
    low = x.dtype.type(0x0F)
    same(value(scalar("bitwise_and", 15, "bitwise_xor", 5, dtype), x), (x & low) ^ x.dtype.type(5))
    bits = x.view(f"u{x.dtype.itemsize}")
    same(value(scalar("logical_shift_right", 3, dtype=dtype), x), (bits >> bits.dtype.type(3)).view(x.dtype))
    same(value(scalar("logical_shift_left", 1, dtype=dtype, reverse0=True), x % 8),
         (bits.dtype.type(1) << (x % 8).view(bits.dtype)).view(x.dtype))  # fmt: skip
    same(value(scalar("bitwise_not", 0, dtype=dtype), x), ~x)
    with pytest.raises(Unsupported, match=r"2\.5 in a bit operation"):
        lowered(scalar("bitwise_and", 2.5, dtype=dtype), x)


@pytest.mark.parametrize(("op", "wanted"), [
    ("abs", np.abs), ("square", np.square), ("relu", lambda x: np.maximum(x, np.float32(0))),
    ("reciprocal", lambda x: np.float32(1) / x), ("rsqrt", lambda x: f32(1 / np.sqrt(x.astype(np.float64)))),
    ("logical_not", lambda x: f32(x == 0)), ("bypass", lambda x: x),
])  # fmt: skip
def test_operations_of_one_operand(op: str, wanted) -> None:
    x = np.abs(given(4, 5)) if op == "rsqrt" else given(4, 5)
    same(value(scalar(op, 0.0), x), wanted(x))


@pytest.mark.parametrize("dtype", DTYPES)
def test_scalar_tensor_tensor(dtype: str) -> None:
    x, y = given(128, 9, dtype=dtype), given(128, 9, dtype=dtype, seed=1)

    def body(a: Tile, c: Tile) -> Tile:
        dst = tile(a.shape, dtype)
        isa.scalar_tensor_tensor(dst, a, "mult", -0.7, "subtract", c, reverse1=True)
        return dst

    same(value(body, x, y), rounded(f32(y) - f32(x) * np.float32(-0.7), dtype))


def test_reciprocal() -> None:
    def body(x: Tile) -> Tile:
        dst = tile(x.shape, "bfloat16")
        isa.reciprocal(dst, x)
        return dst

    x = given(128, 3)
    same(value(body, x), rounded(np.float32(1) / x, "bfloat16"))


def copied(dtype: str, engine: str = "dve", space: str = "sbuf"):
    def body(x: Tile) -> Tile:
        dst = tile(x.shape, dtype, space)
        isa.copy(dst, x, engine)
        return dst

    return body


def test_a_copy_is_exact_where_no_dtype_changes() -> None:
    x = np.array([[2**24 + 1, -(2**31) + 1]], np.int32)
    same(value(copied("int32"), x), x)
    same(value(copied("int32", "act"), x), x)
    same(value(copied("int32", "act"), x, target="gen2"), rounded(f32(x), "int32"))
    same(value(copied("int16"), x), rounded(f32(x), "int16"))
    small = given(4, 5, dtype="int8")
    for dtype in ("int32", "int16", "uint8", "uint16", "float32", "bfloat16"):
        same(value(copied(dtype), small), rounded(f32(small), dtype))
    assert [op.name for op in lowered(copied("int32"), small).body.ops].count("cast") == 1
    assert "round" not in [op.name for op in lowered(copied("uint8"), small).body.ops]
    quiet = np.array([0x7FC12345], np.uint32).view(np.float32).reshape(1, 1)
    same(value(copied("float32", space=PSUM), quiet), quiet)


@pytest.mark.parametrize(("source", "to"), [(np.int32, "uint32"), (np.uint32, "int32")])
def test_a_copy_to_the_other_sign_keeps_bits_unless_the_model_says_otherwise(source: type, to: str) -> None:
    x = np.array([[0, 1, 2**24 + 1, 2**31 - 1, 2**31, 2**32 - 1]], np.uint32).view(source)
    same(value(copied(to), x), x.view(to))
    same(value(copied(to, "pool"), x), x.view(to))
    same(value(copied(to), x, model=Model(int32_uint32_copy="value")), rounded(f32(x), to))
    same(value(copied(to, "act"), x), rounded(f32(x), to))
    said = [any("keeps the bits" in note for note in lowered(copied(to, e), x).notes) for e in ("dve", "act")]
    assert said == [True, False]


@pytest.mark.parametrize(("dtype", "number"), [("float32", 0.1), ("bfloat16", 0.1), ("int32", -3), ("uint8", 200)])
def test_memset(dtype: str, number: float) -> None:
    def body(_: Tile) -> Tile:
        dst = tile((128, 3), dtype)
        isa.memset(dst, number)
        return dst

    wanted = np.full((128, 3), number).astype(np.float32 if dtype.startswith(("f", "b")) else np.int64)
    same(value(body, given(1, 1)), rounded(wanted, dtype))


@pytest.mark.parametrize("reverse", [False, True])
def test_copy_predicated(reverse: bool) -> None:
    old, new, where = given(5, 4), given(5, 4, seed=1), (given(5, 4, seed=2) > 0).astype(np.uint8)

    def body(dst: Tile, src: Tile, predicate: Tile) -> Tile:
        isa.copy_predicated(dst, src, predicate, reverse)
        return dst

    same(value(body, old, new, where), np.where((where != 0) != reverse, new, old))


def test_strided_views_and_another_order_of_the_free_axes() -> None:
    """Elements are taken in row-major order of each view."""
    x = given(4, 6)

    def body(a: Tile) -> Tile:
        dst = tile((4, 3, 2))
        isa.memset(dst, 7.0)
        isa.tensor_tensor(part(dst, slice(1, 4), slice(0, 3, 2), slice(None)), part(a, slice(0, 3), slice(0, 4)),
                          part(a, slice(1, 4), slice(1, 5)), "add")  # fmt: skip
        return dst

    wanted = np.full((4, 3, 2), 7.0, np.float32)
    wanted[1:, ::2] = (x[:3, :4] + x[1:, 1:5]).reshape(3, 2, 2)
    same(value(body, x), wanted)


MASKS = [np.tri(4, 6, 1, dtype=bool), np.arange(4)[:, None] + 0 * np.arange(6) < 3, np.zeros((4, 6), bool)]


@pytest.mark.parametrize("mask", MASKS)
def test_where_the_mask_is_false_dst_keeps_its_elements(mask: np.ndarray) -> None:
    old, x = given(4, 6), given(4, 6, seed=1)

    def body(dst: Tile, a: Tile) -> Tile:
        isa.tensor_scalar(dst, a, "add", 1.0, mask=mask)
        return dst

    same(value(body, old, x), np.where(mask, x + np.float32(1), old))


@pytest.mark.parametrize("mask", MASKS)
def test_what_was_never_written_is_undefined(mask: np.ndarray) -> None:
    def body(a: Tile) -> Tile:
        dst = tile(a.shape)
        isa.copy(dst, a, "dve", mask)
        return dst

    ran = run(body, given(4, 6))
    assert (ran.poison[0] == ~mask).all()


def names(body: Any, *arrays: np.ndarray) -> list[str]:
    return [op.name for op in lowered(body, *arrays).body.ops]


def test_saturation_is_spelled_out_unless_a_limit_makes_it_idle() -> None:
    x = given(4, 5, scale=300.0)
    assert {"max", "min"} <= set(names(scalar("mult", 2.0, dtype="int8"), x))
    clamped = names(scalar("max", -127.0, "min", 127.0, "int8"), x)
    assert clamped.count("max") == clamped.count("min") == 1
    half = names(scalar("max", -127.0, "mult", 2.0, "int8"), x)
    assert half.count("max") == 2 and half.count("min") == 1
    same(value(scalar("max", -127.0, "min", 127.0, "int8"), x), rounded(np.clip(x, -127, 127), "int8"))


def test_a_comparison_is_stored_and_used_as_the_truth_value_it_is() -> None:
    x, y, old = given(4, 5), given(4, 5, seed=1), given(4, 5, seed=2)

    def body(a: Tile, c: Tile, dst: Tile) -> Tile:
        where, no = tile(a.shape, "uint8"), tile(a.shape, "uint8")
        isa.tensor_tensor(where, a, c, "is_gt")
        isa.tensor_scalar(no, where, "logical_not", 0.0)
        isa.copy_predicated(dst, a, where)
        isa.copy_predicated(dst, c, no)
        return dst

    same(value(body, x, y, old), np.maximum(x, y))
    assert names(body, x, y, old).count("cmp") <= 2 and "round" not in names(body, x, y, old)


@pytest.mark.parametrize(("dtype", "number"), [("int8", 300), ("uint8", -1), ("int32", 2**40), ("int16", float("inf"))])
def test_a_number_that_a_tile_does_not_hold_is_refused(dtype: str, number: float) -> None:
    """Whether it saturates or wraps is not documented."""

    def body(x: Tile) -> Tile:
        dst = tile(x.shape, dtype)
        isa.memset(dst, number)
        return dst

    with pytest.raises(Unsupported, match=r"memset of .*, which .* does not hold"):
        lowered(body, given(4, 3))


def test_a_dtype_without_a_meaning_is_told_with_its_line() -> None:
    def body(x: Tile) -> Tile:
        isa.memset(tile(x.shape, "float8_e4m3fn_x4"), 1)
        return x

    with pytest.raises(Unsupported, match=r"a packed tile to 1 at .*test_elementwise\.py:"):
        lowered(body, given(4, 3))
