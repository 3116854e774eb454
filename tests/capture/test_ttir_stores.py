"""Which pointers a kernel may write to: places in loops and branches are kept apart, exchanges are followed."""

from __future__ import annotations

import pytest

pytest.importorskip("triton")

import torch
import triton
import triton.language as tl

from lowering.capture.trace import Launch


@triton.jit
def carried(x, y, n, B: tl.constexpr):
    p = x + tl.arange(0, B)
    q = y + tl.arange(0, B)
    for _ in range(n):
        tl.store(q, tl.load(p) * 2)
        p += B
        q += B


@triton.jit
def carried_while(x, y, n, B: tl.constexpr):
    p = x + tl.arange(0, B)
    q = y + tl.arange(0, B)
    i = 0
    while i < n:
        tl.store(q, tl.load(p) * 2)
        p += B
        q += B
        i += 1


@triton.jit
def exchanged(x, y, n, B: tl.constexpr):
    p = x + tl.arange(0, B)
    q = y + tl.arange(0, B)
    for _ in range(n):
        tl.store(q, tl.load(p) * 2)
        p, q = q, p


@triton.jit
def branched(x, y, n, B: tl.constexpr):
    p = x + tl.arange(0, B)
    q = y + tl.arange(0, B)
    if n > 1:
        p += B
        q += B
    tl.store(q, tl.load(p))


@triton.jit
def chosen(x, y, n, B: tl.constexpr):
    p = y + tl.arange(0, B)
    if n > 1:
        p = x + tl.arange(0, B)
    tl.store(p, tl.zeros((B,), tl.float32))


@pytest.mark.parametrize(
    ("kernel", "written"),
    [(carried, {1}), (carried_while, {1}), (branched, {1}), (exchanged, {0, 1}), (chosen, {0, 1})],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_parameters_that_may_be_written(session, kernel, written) -> None:
    def host(x, y):
        kernel[(1,)](x, y, 2, B=16)

    trace = session.capture(host, [torch.zeros(32), torch.zeros(32)])
    (launch,) = [event for event in trace.events if isinstance(event, Launch)]
    assert set(launch.written) == written
