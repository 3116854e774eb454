"""Microscaled formats against numpy: scales by frexp, elements by ml_dtypes, places by the documentation's layout."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from equivalence.evaluator import Machine
from lowering.capture.nki import instructions
from lowering.capture.nki.tile import Tile
from lowering.capture.nki.trace import PSUM
from lowering.errors import Unsupported, UsageError
from lowering.nki_program import lower_nki
from tests.frontends.nki.instruction_runs import BF16, Body, run, same, tile, traced, value

PACKED = {"float8_e4m3fn_x4": ml_dtypes.float8_e4m3fn, "float8_e5m2_x4": ml_dtypes.float8_e5m2}
LARGEST = {"float8_e4m3fn_x4": 8, "float8_e5m2_x4": 15}  # exponents


def as_bytes(x: Tile) -> Tile:
    """A packed tile as bytes, of which one element has as many as its dtype."""
    times = x.itemsize
    strides = [*(stride * times for stride in x.strides), 1]
    return x.remade((*x.shape, times), strides, x.offset * times, dtype="uint8")


def quantized(dtype: str) -> Body:
    def body(x: Tile) -> tuple[Tile, ...]:
        lanes, columns = x.shape[0], x.shape[1] // 4
        dst, scales = tile((lanes, columns), dtype), tile((lanes, columns), "uint8")
        instructions.quantize_mx(dst, x, scales)
        return as_bytes(dst), scales

    return body


def exponents(x: np.ndarray, dtype: str, less: int = 1) -> np.ndarray:
    """floor(log2 of the largest magnitude of 8 x 4) - (Emax - less), at least -127: (lanes / 8, columns / 4)."""
    lanes, columns = x.shape
    top = np.abs(x.astype(np.float64)).reshape(lanes // 8, 8, columns // 4, 4).max(axis=(1, 3))
    _, exponent = np.frexp(top)  # top = m * 2^exponent, 0.5 <= m < 1
    return np.where(top == 0, -127, np.maximum(exponent - 1 - (LARGEST[dtype] - less), -127))


def spread(scales: np.ndarray) -> np.ndarray:
    return np.repeat(np.repeat(2.0**scales, 8, axis=0), 4, axis=1)


@pytest.mark.parametrize("dtype", PACKED)
@pytest.mark.parametrize(("lanes", "source"), [(32, BF16), (128, np.float16), (8, BF16)])
def test_quantize_mx(dtype: str, lanes: int, source: type) -> None:
    rng = np.random.default_rng(lanes)
    x = (rng.standard_normal((lanes, 24)) * 2.0 ** rng.integers(-9, 9, (lanes, 24))).astype(source)
    x[:8, :4] = 0
    ran = run(quantized(dtype), x, target="gen4")
    scales = exponents(x, dtype)
    wanted = (x.astype(np.float64) / spread(scales)).astype(PACKED[dtype])
    same(ran.values[0].reshape(lanes, 24), wanted.view(np.uint8))
    rows = np.arange(lanes // 8)
    places = rows // 4 * 32 + rows % 4
    same(ran.values[1][places], (scales + 127).astype(np.uint8))
    others = np.setdiff1d(np.arange(lanes), places)
    assert ran.poison[1][others].all() and not ran.poison[1][places].any() and not ran.poison[0].any()


def test_before_05_a_scale_is_half_as_large_and_elements_saturate() -> None:
    x = np.random.default_rng(3).standard_normal((32, 8)).astype(BF16)
    x[0, 0] = 7.75  # 1.9375 * 2^2: 496 in units of the scale, and e4m3fn ends at 448
    trace = traced(quantized("float8_e4m3fn_x4"), x, target="gen4")
    trace.version = "0.4"
    outputs = Machine(lower_nki(trace), ()).run({"x0": x}).outputs
    got = np.asarray(outputs["out0"].data).reshape(32, 8).view(ml_dtypes.float8_e4m3fn)
    quotient = x.astype(np.float64) / spread(exponents(x, "float8_e4m3fn_x4", less=0))
    same(got, np.clip(quotient, -448, 448).astype(ml_dtypes.float8_e4m3fn))
    assert got[0, 0] == 448


def product(dtype: str, other: str, rows: int, columns: int, passes: int = 1, to: str = "float32") -> Body:
    """Stationary and moving as integers of the packed size."""

    def body(left: Tile, right: Tile, left_scales: Tile, right_scales: Tile) -> Tile:
        dst = tile((rows, columns), to, PSUM)
        operands = [x.remade(x.shape, x.strides, dtype=name) for x, name in ((left, dtype), (right, other))]
        for _ in range(passes):
            instructions.nc_matmul_mx(dst, operands[0], operands[1], left_scales, right_scales)
        return dst

    return body


def elements(packed: np.ndarray, dtype: str) -> np.ndarray:
    """(lanes, columns, 4) in f64."""
    if dtype != "float4_e2m1fn_x4":
        return packed.view(PACKED[dtype]).astype(np.float64).reshape(*packed.shape, 4)
    halves = packed.view(np.uint8).reshape(*packed.shape, 2)
    code = np.stack([halves & 15, halves >> 4], axis=-1).reshape(*packed.shape, 4)
    return code.view(ml_dtypes.float4_e2m1fn).astype(np.float64)


def random_packed(dtype: str, lanes: int, columns: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    if dtype == "float4_e2m1fn_x4":
        return rng.integers(0, 2**16, (lanes, columns)).astype(np.uint16)
    return rng.integers(-4, 5, (lanes, columns * 4)).astype(PACKED[dtype]).view(np.uint32)


@pytest.mark.parametrize(
    ("dtype", "other"),
    [("float8_e4m3fn_x4", "float8_e5m2_x4"), ("float4_e2m1fn_x4", "float8_e4m3fn_x4"), ("float4_e2m1fn_x4",) * 2],
)
@pytest.mark.parametrize("lanes", [32, 128])
def test_matmul_mx(dtype: str, other: str, lanes: int) -> None:
    """Small whole numbers and near scales: the sum is exact in every order."""
    left, right = random_packed(dtype, lanes, 6, 1), random_packed(other, lanes, 5, 2)
    scales = [np.random.default_rng(n).integers(125, 130, (lanes, c)).astype(np.uint8) for n, c in ((3, 6), (4, 5))]
    got = value(product(dtype, other, 6, 5), left, right, *scales, target="gen4")
    groups = np.arange(lanes) // 8
    places = groups // 4 * 32 + groups % 4
    wide = [
        elements(x, name) * 2.0 ** (s[places].astype(float) - 127)[:, :, None]
        for x, name, s in zip((left, right), (dtype, other), scales, strict=True)
    ]
    same(got, np.einsum("kmj,knj->mn", *wide).astype(np.float32))


def test_passes_add_and_psum_in_bf16_is_rounded() -> None:
    name = "float8_e4m3fn_x4"
    left, right = random_packed(name, 32, 4, 1), random_packed(name, 32, 4, 2)
    ones = np.full((4, 4), 127, np.uint8)
    one = np.einsum("kmj,knj->mn", elements(left, name), elements(right, name)).astype(np.float32)
    got = value(product(name, name, 4, 4, 2), left, right, ones, ones, target="gen4")
    same(got, one + one)
    once = one.astype(BF16)
    narrow = value(product(name, name, 4, 4, 2, "bfloat16"), left, right, ones, ones, target="gen4")
    same(narrow, (once.astype(np.float32) + one).astype(BF16))


def test_the_ends_of_scales() -> None:
    """0 is 2^-127, 255 is NaN."""
    name = "float8_e5m2_x4"
    left = np.full((32, 4), 2.0**14, ml_dtypes.float8_e5m2).view(np.uint32)
    codes = np.array([[0], [0], [0], [0]], np.uint8)
    got = value(product(name, name, 1, 1), left, left, codes, codes + 127, target="gen4")
    same(got, np.full((1, 1), 128 * 2.0**28 * 2.0**-127, np.float32))
    codes[3] = 255
    assert np.isnan(value(product(name, name, 1, 1), left, left, codes, codes, target="gen4")).all()


def test_what_was_quantized_is_multiplied() -> None:
    """Both instructions meet in the same layout."""
    x = np.random.default_rng(5).integers(-8, 9, (64, 8)).astype(BF16)

    def body(x: Tile) -> Tile:
        dst, scales, out = tile((64, 2), "float8_e4m3fn_x4"), tile((64, 2), "uint8"), tile((2, 2), "float32", PSUM)
        moved = tile((64, 2), "float8_e4m3fn_x4")
        instructions.quantize_mx(dst, x, scales)
        instructions.copy(moved, dst, "dve")
        instructions.nc_matmul_mx(out, moved, moved, scales, scales)
        return out

    wide = x.astype(np.float64).reshape(64, 2, 4)  # whole numbers up to 8 pass e4m3fn unchanged
    same(value(body, x, target="gen4"), np.einsum("kmj,knj->mn", wide, wide).astype(np.float32))


def test_packed_tiles_are_moved_and_nothing_else() -> None:
    def body(x: Tile) -> Tile:
        packed, out = x.remade(x.shape, x.strides, dtype="float8_e5m2_x4"), tile(x.shape, "float8_e5m2_x4")
        instructions.tensor_tensor(out, packed, packed, "add")
        return out

    with pytest.raises(Unsupported, match="packed elements are moved, quantized and multiplied"):
        value(body, np.zeros((32, 4), np.uint32))


def test_scales_of_another_layout_are_refused() -> None:
    left = random_packed("float8_e4m3fn_x4", 64, 4, 1)
    short = np.zeros((8, 4), np.uint8)  # 64 partitions have scales in partitions 0..3 and 32..35
    with pytest.raises(UsageError, match="it has to be \\(36 or more, 4\\) in bytes"):
        value(product("float8_e4m3fn_x4", "float8_e4m3fn_x4", 4, 4), left, left, short, short)
