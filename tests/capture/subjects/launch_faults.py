"""Launches that no GPU runs, and autotuners that leave their trial runs' sums behind."""

import torch
import triton
import triton.language as tl


@triton.jit
def double(x, y, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + i, tl.load(x + i, mask=i < n) * 2, mask=i < n)


def launched(x, grid):
    y = torch.empty_like(x)
    double[grid](x, y, x.numel(), B=64)
    return y


def on_the_cpu(x):
    y = torch.zeros(40)
    double[(1,)](x, y, x.numel(), B=64)
    return y


def moved_to_the_cpu(x):
    y = torch.zeros_like(x).cpu()
    double[(1,)](x, y, x.numel(), B=64)
    return y


_CONFIGS = [triton.Config({"B": 32}), triton.Config({"B": 64})]


def _add(x, y, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.atomic_add(y + i, tl.load(x + i, mask=i < n), mask=i < n)


def _scale(x, y, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + i, tl.load(y + i, mask=i < n) + tl.load(x + i, mask=i < n), mask=i < n)


def _store(x, y, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + i, tl.load(x + i, mask=i < n), mask=i < n)


def _tuned(kernel, configs=_CONFIGS, **options):
    tuned = triton.autotune(configs=configs, key=["n"], **options)(triton.jit(kernel))

    def host(x):
        y = torch.zeros_like(x)
        tuned[lambda meta: (triton.cdiv(x.numel(), meta["B"]),)](x, y, x.numel())
        return y

    return host


adds = _tuned(_add)
updates = _tuned(_scale)
stores = _tuned(_store)
adds_reset = _tuned(_add, reset_to_zero=["y"])
updates_restored = _tuned(_scale, restore_value=["y"])
adds_hooked = _tuned(_add, configs=[triton.Config({"B": b}, pre_hook=lambda args: args["y"].zero_()) for b in (32, 64)])
adds_once = _tuned(_add, configs=_CONFIGS[:1])
