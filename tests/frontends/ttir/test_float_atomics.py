"""tl.atomic_max and tl.atomic_min of floats are read as that; other atomics on bits stay atomics on bits."""

from __future__ import annotations

import numpy as np
import pytest
import triton
import triton.language as tl

from equivalence.evaluator import Machine
from equivalence.verdicts import Level
from lowering.frontends.ttir import lower_kernel
from lowering.ir.builder import Builder
from lowering.ir.program import Function, Program
from lowering.ir.types import F32, PTR, TensorType
from tests.frontends.ttir.compile import ttir_of
from tests.semantics.programs import level, program

ROWS, N = 6, 8
SIGNATURE = {"x": "*fp32", "y": "*fp32", "n": "i32"}


@triton.jit
def float_max(x, y, n, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.atomic_max(y + at, tl.load(x + tl.program_id(0) * N + at), mask=at < n)


@triton.jit
def float_min(x, y, n, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.atomic_min(y + at, tl.load(x + tl.program_id(0) * N + at))


@triton.jit
def scalar_max(x, y, n, N: tl.constexpr):
    for i in range(N):
        tl.atomic_max(y + i, tl.load(x + tl.program_id(0) * N + i))


@triton.jit
def used_max(x, y, n, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(x + at, tl.atomic_max(y + at, tl.load(x + tl.program_id(0) * N + at)))


@triton.jit
def signed_bits(x, y, n, N: tl.constexpr):
    at = tl.arange(0, N)
    bits = tl.load(x + tl.program_id(0) * N + at).to(tl.int32, bitcast=True)
    tl.atomic_max((y + at).to(tl.pointer_type(tl.int32), bitcast=True), bits)


@triton.jit
def wrong_way(x, y, n, N: tl.constexpr):
    """The two halves exchanged: signed where the sign is set."""
    at = tl.arange(0, N)
    v = tl.load(x + tl.program_id(0) * N + at)
    bits = v.to(tl.int32, bitcast=True)
    negative = (bits.to(tl.uint32, bitcast=True) >> 31).to(tl.int1)
    tl.atomic_max((y + at).to(tl.pointer_type(tl.int32), bitcast=True), bits, mask=negative)
    unsigned = (y + at).to(tl.pointer_type(tl.uint32), bitcast=True)
    tl.atomic_min(unsigned, bits.to(tl.uint32, bitcast=True), mask=negative == 0)


@triton.jit
def masked_apart(x, y, n, N: tl.constexpr):
    """Negative values are left out beyond n, others are not."""
    at = tl.arange(0, N)
    v = tl.load(x + tl.program_id(0) * N + at)
    bits = v.to(tl.int32, bitcast=True)
    negative = (bits.to(tl.uint32, bitcast=True) >> 31).to(tl.int1)
    tl.atomic_max((y + at).to(tl.pointer_type(tl.int32), bitcast=True), bits, mask=negative == 0)
    unsigned = (y + at).to(tl.pointer_type(tl.uint32), bitcast=True)
    tl.atomic_min(unsigned, bits.to(tl.uint32, bitcast=True), mask=negative & (at < n))


def lowered(fn: object) -> Function:
    text = ttir_of(fn, SIGNATURE, {"N": N})  # type: ignore[arg-type]
    return lower_kernel(text, name=fn.__name__, options={}, key=fn.__name__)  # type: ignore[attr-defined]


def host(fn: object, start: float, n: int = N) -> Program:
    kernel, b = lowered(fn), Builder()
    b.block.args = [b.value(TensorType(F32, (ROWS, N)))]
    source, target = b("alloc", bytes=4 * ROWS * N), b("alloc", bytes=4 * N)
    assert source.type == TensorType(PTR)
    b.op("write", [source, b.block.args[0]], strides=(N, 1), offset=0)
    b.op("write", [target, b.constant(start, F32, (N,))], strides=(1,), offset=0)
    count = b.constant(n, kernel.params[2].type.dtype)
    b.op("launch", [source, target, count], kernel=kernel.name, grid=(ROWS, 1, 1))
    out = b("read", target, to="f32", shape=(N,), strides=(1,), offset=0)
    return Program(b.block, ["x0"], [("out0", out)], {kernel.name: kernel}, {"key": "host"})


def values(seed: int = 0) -> np.ndarray:
    x = np.random.default_rng(seed).standard_normal((ROWS, N)).astype(np.float32)
    x[:, 0], x[:, 1] = -abs(x[:, 0]), abs(x[:, 1])
    return x


def run(fn: object, x: np.ndarray, start: float, n: int = N) -> np.ndarray:
    return Machine(host(fn, start, n), []).run({"x0": x}).outputs["out0"].data[0]


def extremum(combine: str) -> Program:
    return program(lambda k, x: k.b("reduce", x, axis=0, combine=combine), f"f32[{ROWS},{N}]")


@pytest.mark.parametrize(("fn", "combine"), [(float_max, "max"), (float_min, "min"), (scalar_max, "max")])
def test_read_as_one_atomic_on_floats(fn: object, combine: str) -> None:
    atomics = [op for op in lowered(fn).body.walk() if op.name == "atomic_rmw"]
    assert [(op.attrs["combine"], op.operands[1].type.dtype) for op in atomics] == [(combine, F32)]
    assert "bitcast" not in {op.name for op in lowered(fn).body.walk()}


@pytest.mark.parametrize("fn", [used_max, signed_bits, wrong_way, masked_apart])
def test_other_patterns_stay_atomics_on_bits(fn: object) -> None:
    atomics = [op for op in lowered(fn).body.walk() if op.name == "atomic_rmw"]
    assert all(op.operands[1].type.dtype.is_integer for op in atomics)


def test_values() -> None:
    x = values()
    assert np.array_equal(run(float_max, x, -np.inf), x.max(0))
    assert np.array_equal(run(float_min, x, np.inf), x.min(0))
    assert np.array_equal(run(used_max, x, -np.inf), x.max(0))  # two atomics on bits, one after the other
    kept = np.where(np.arange(N) < 5, x.max(0), np.float32(-np.inf))
    assert np.array_equal(run(float_max, x, -np.inf, 5), kept)


def test_signed_bits_are_compared_as_integers() -> None:
    x = values()
    bits = np.maximum(x.view(np.int32).max(0), np.float32(-np.inf).view(np.int32))
    assert np.array_equal(run(signed_bits, x, -np.inf).view(np.int32), bits)
    assert not np.array_equal(bits.view(np.float32), x.max(0))


@pytest.mark.parametrize(("fn", "start", "combine"), [(float_max, -np.inf, "max"), (float_min, np.inf, "min")])
def test_equal_to_a_reduction(fn: object, start: float, combine: str) -> None:
    assert level(host(fn, start), extremum(combine), "f32[6,8]", data={"x0": values()}) is Level.REASSOCIATED


@pytest.mark.parametrize(
    ("fn", "start", "combine"),
    [
        (float_max, 0.0, "max"),
        (float_max, -np.inf, "min"),
        (float_min, np.inf, "max"),
        (signed_bits, -np.inf, "max"),
        (wrong_way, -np.inf, "max"),
    ],
)
def test_what_is_another_function_is_different(fn: object, start: float, combine: str) -> None:
    assert level(host(fn, start), extremum(combine), "f32[6,8]", data={"x0": values()}) is Level.DIFFERENT


def test_lanes_left_out_are_different() -> None:
    a, b = host(masked_apart, -np.inf, 5), host(float_max, -np.inf, N)
    assert level(a, b, "f32[6,8]", data={"x0": values()}) is Level.DIFFERENT


def test_the_value_that_is_found_keeps_the_bits_honest() -> None:
    """Not recognised, but right: never called different."""
    found = level(host(used_max, -np.inf), extremum("max"), "f32[6,8]", data={"x0": values()})
    assert found not in (Level.BITWISE, Level.DIFFERENT)
