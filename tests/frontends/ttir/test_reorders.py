"""can_reorder=True leaves the order of lanes open: equal to itself, to no fixed order, unless it is reduced."""

from __future__ import annotations

import pytest
import triton
import triton.language as tl

from equivalence.verdicts import Level
from lowering.frontends.ttir import lower_kernel
from lowering.ir.builder import Builder
from lowering.ir.program import Program
from lowering.ir.types import F32, TensorType
from tests.frontends.ttir.compile import ttir_of
from tests.semantics.programs import arrays, level

N = 16
SIGNATURE = {"x": "*fp32", "y": "*fp32", "out": "*fp32"}


@triton.jit
def cat(x, y, out, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(out + tl.arange(0, 2 * N), tl.cat(tl.load(x + at), tl.load(y + at), can_reorder=True))


@triton.jit
def two_stores(x, y, out, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(out + at, tl.load(x + at))
    tl.store(out + N + at, tl.load(y + at))


@triton.jit
def fixed_cat(x, y, out, N: tl.constexpr):
    at = tl.arange(0, N)
    both = tl.join(tl.load(x + at), tl.load(y + at))
    tl.store(out + tl.arange(0, 2 * N), tl.reshape(tl.trans(both), (2 * N,)))


@triton.jit
def ravel(x, y, out, N: tl.constexpr, REORDER: tl.constexpr):
    at = tl.arange(0, 4)[:, None] * 4 + tl.arange(0, 4)[None, :]
    flat = tl.reshape(tl.load(x + at), (N,), can_reorder=REORDER)  # type: ignore
    tl.store(out + tl.arange(0, N), flat * 2.0)


@triton.jit
def addressed(x, y, out, N: tl.constexpr, REORDER: tl.constexpr):
    """The order decides where x goes."""
    at = tl.arange(0, 4)[:, None] * 4 + tl.arange(0, 4)[None, :]
    tl.store(out + tl.reshape(at, (N,), can_reorder=REORDER), tl.load(x + tl.arange(0, N)))  # type: ignore


@triton.jit
def total(x, y, out, N: tl.constexpr, REORDER: tl.constexpr):
    at = tl.arange(0, 4)[:, None] * 4 + tl.arange(0, 4)[None, :]
    flat = tl.reshape(tl.load(x + at), (N,), can_reorder=REORDER)  # type: ignore
    tl.store(out, tl.sum(flat * 2.0, 0))


@triton.jit
def total_of_all(x, y, out, N: tl.constexpr, REORDER: tl.constexpr):
    at = tl.arange(0, 4)[:, None] * 4 + tl.arange(0, 4)[None, :]
    tl.store(out, tl.sum(tl.load(x + at) * 2.0) if REORDER else tl.sum(tl.reshape(tl.load(x + at), (N,)) * 2.0, 0))


@triton.jit
def weighted(x, y, out, N: tl.constexpr, REORDER: tl.constexpr):
    at = tl.arange(0, 4)[:, None] * 4 + tl.arange(0, 4)[None, :]
    flat = tl.reshape(tl.load(x + at), (N,), can_reorder=REORDER)  # type: ignore
    tl.store(out, tl.sum(flat * tl.load(y + tl.arange(0, N)), 0))


@triton.jit
def row_sums(x, y, out, N: tl.constexpr, REORDER: tl.constexpr):
    at = tl.arange(0, 4)[:, None] * 4 + tl.arange(0, 4)[None, :]
    again = tl.reshape(tl.load(x + at), (2, N // 2), can_reorder=REORDER)  # type: ignore
    tl.store(out + tl.arange(0, 2), tl.sum(again, 1))


def host(fn: object, outputs: int, **constants: object) -> Program:
    name = fn.__name__  # type: ignore[attr-defined]
    text = ttir_of(fn, SIGNATURE, {"N": N, **constants})  # type: ignore[arg-type]
    kernel, b = lower_kernel(text, name=name, options={}, key=f"{name} {constants}"), Builder()
    b.block.args = [b.value(TensorType(F32, (N,))) for _ in "xy"]
    buffers = [b("alloc", bytes=4 * N) for _ in "xy"]
    for buffer, value in zip(buffers, b.block.args, strict=True):
        b.op("write", [buffer, value], strides=(1,), offset=0)
    out = b("alloc", bytes=4 * outputs)
    b.op("launch", [*buffers, out], kernel=name, grid=(1, 1, 1))
    result = b("read", out, to="f32", shape=(outputs,), strides=(1,), offset=0)
    return Program(b.block, ["x0", "x1"], [("out0", result)], {name: kernel}, {"key": f"host {name} {constants}"})


def said(a: Program, b: Program) -> Level:
    return level(a, b, data=arrays(1, f"f32[{N}]", f"f32[{N}]"))


def test_a_cat_in_an_open_order_is_no_cat() -> None:
    assert said(host(cat, 2 * N), host(two_stores, 2 * N)) is Level.UNDECIDED
    assert said(host(cat, 2 * N), host(fixed_cat, 2 * N)) is Level.UNDECIDED
    assert said(host(fixed_cat, 2 * N), host(two_stores, 2 * N)) is Level.BITWISE
    assert said(host(cat, 2 * N), host(cat, 2 * N)) is Level.BITWISE


@pytest.mark.parametrize(("fn", "outputs"), [(ravel, N), (addressed, N), (weighted, 1), (row_sums, 2)])
def test_an_open_order_that_matters_is_undecided(fn: object, outputs: int) -> None:
    opened, fixed = (host(fn, outputs, REORDER=r) for r in (True, False))
    assert said(opened, fixed) is Level.UNDECIDED
    assert said(opened, host(fn, outputs, REORDER=True)) not in (Level.UNDECIDED, Level.DIFFERENT)
    assert said(fixed, host(fn, outputs, REORDER=False)) is Level.BITWISE


@pytest.mark.parametrize("fn", [total, total_of_all])
def test_an_open_order_before_a_sum_is_an_order_of_the_sum(fn: object) -> None:
    opened, fixed = (host(fn, 1, REORDER=r) for r in (True, False))
    assert said(opened, fixed) is Level.REASSOCIATED
    assert "reorder" not in {op.name for op in opened.kernels[fn.__name__].body.walk()}  # type: ignore[attr-defined]
