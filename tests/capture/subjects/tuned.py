"""Autotuned kernels that update an argument, with and without a word to the autotuner, and some that only write."""

import torch
import triton
import triton.language as tl

CONFIGS = [triton.Config({"B": 32}), triton.Config({"B": 64})]


@triton.jit
def _sum(x, y, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.atomic_add(y, tl.sum(tl.load(x + i, mask=i < n, other=0.0), axis=0))


@triton.jit
def _double(x, y, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + i, 2 * tl.load(x + i, mask=i < n), mask=i < n)


@triton.jit
def _step(p, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(p + i, 2 * tl.load(p + i, mask=i < n), mask=i < n)


@triton.jit
def _positive(p, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    p_i = tl.load(p + i, mask=i < n)
    tl.store(p + i, tl.where(p_i > 0, p_i, 0.0), mask=i < n)


def _zeroes(arguments):
    arguments["y"].zero_()


def _summed(kernel):
    def summed(x):
        y = torch.zeros(1, device=x.device)
        kernel[lambda meta: (triton.cdiv(x.numel(), meta["B"]),)](x, y, x.numel())
        return y

    return summed


def _updated(kernel, *more):
    def updated(x):
        p = x + 0
        kernel[lambda meta: (triton.cdiv(x.numel(), meta["B"]),)](*([p] * (1 + len(more))), x.numel())
        return p

    return updated


def _tuned(kernel, **options):
    return triton.autotune(**{"configs": CONFIGS, "key": ["n"], **options})(kernel)


sums = _summed(_tuned(_sum))
sums_reset = _summed(_tuned(_sum, reset_to_zero=["y"]))
sums_with_one = _summed(_tuned(_sum, configs=CONFIGS[:1]))
sums_with_hooks = _summed(_tuned(_sum, configs=[triton.Config(c.kwargs, pre_hook=_zeroes) for c in CONFIGS]))
sums_with_other_hooks = _summed(_tuned(_sum, configs=[triton.Config(c.kwargs, pre_hook=dict) for c in CONFIGS]))
steps = _updated(_tuned(_step))
steps_restored = _updated(_tuned(_step, restore_value=["p"]))
doubles_itself = _updated(_tuned(_double), "twice")
doubles_itself_restored = _updated(_tuned(_double, restore_value=["x"]), "twice")
positive = _updated(_tuned(_positive))


def doubles(x):
    y = torch.empty_like(x)
    _tuned(_double)[lambda meta: (triton.cdiv(x.numel(), meta["B"]),)](x, y, x.numel())
    return y


def tuned_before(x):
    kernel = _tuned(_step)
    launch = kernel[lambda meta: (triton.cdiv(x.numel(), meta["B"]),)]
    launch(torch.zeros_like(x), x.numel())  # where it changes nothing
    p = x + 0
    launch(p, x.numel())
    return p
