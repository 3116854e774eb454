"""Exchanges of pairs spelled as xor sums of bits are reversals of the values, and nothing else is taken for one."""

from __future__ import annotations

import numpy as np
import pytest
import triton
import triton.language as tl

from equivalence.evaluator import Machine
from lowering.frontends.ttir import lower_kernel
from lowering.ir.builder import Builder
from lowering.ir.program import Function, Program
from lowering.ir.types import F32, TensorType
from tests.frontends.ttir.compile import ttir_of

SIGNATURE = {"x": "*fp32", "y": "*fp32"}


@triton.jit
def flipped(x, y, N: tl.constexpr):
    lanes = tl.arange(0, N)
    tl.store(y + lanes, tl.flip(tl.load(x + lanes)))


@triton.jit
def sorted_down(x, y, N: tl.constexpr):
    lanes = tl.arange(0, N)
    tl.store(y + lanes, tl.sort(tl.load(x + lanes), descending=True))


@triton.jit
def xor_with_total(x, y, N: tl.constexpr):
    lanes = tl.arange(0, N)
    bits = tl.load(x + lanes).to(tl.int32, bitcast=True)
    tl.store(y + lanes, (bits ^ tl.xor_sum(bits, 0, keep_dims=True)).to(tl.float32, bitcast=True))


def lowered(fn: object, n: int) -> Function:
    return lower_kernel(ttir_of(fn, SIGNATURE, {"N": n}), name=fn.__name__, options={}, key="")  # type: ignore


def run(kernel: Function, x: np.ndarray) -> np.ndarray:
    b = Builder()
    b.block.args = [b.value(TensorType(F32, x.shape))]
    source, target = (b("alloc", bytes=x.nbytes) for _ in "xy")
    b.op("write", [source, b.block.args[0]], strides=(1,), offset=0)
    b.op("launch", [source, target], kernel=kernel.name, grid=(1, 1, 1))
    out = b("read", target, to="f32", shape=x.shape, strides=(1,), offset=0)
    program = Program(b.block, ["x"], [("out", out)], {kernel.name: kernel})
    return Machine(program, []).run({"x": x}).outputs["out"].data[0]


@pytest.mark.parametrize("fn", [flipped, sorted_down])
def test_no_bits_are_left(fn: object) -> None:
    kernel = lowered(fn, 16)
    assert not {"bitcast", "reduce"} & {op.name for op in kernel.body.walk()}


def test_what_is_computed() -> None:
    x = np.random.default_rng(0).standard_normal(16).astype(np.float32)
    np.testing.assert_array_equal(run(lowered(flipped, 16), x), x[::-1])
    np.testing.assert_array_equal(run(lowered(sorted_down, 16), x), np.sort(x)[::-1])


@pytest.mark.parametrize("n", [2, 4])
def test_only_pairs_are_exchanges(n: int) -> None:
    x = np.array([1.5, -2.0, 3.25, 7.0], np.float32)[:n]
    kernel = lowered(xor_with_total, n)
    assert ("reverse" in {op.name for op in kernel.body.walk()}) == (n == 2)
    bits = x.view(np.int32)
    np.testing.assert_array_equal(run(kernel, x).view(np.int32), bits ^ np.bitwise_xor.reduce(bits))
