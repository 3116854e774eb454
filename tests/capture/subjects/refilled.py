"""Functions that keep something by the identity of an argument, and some that keep what they may."""

import functools

import torch
import triton
import triton.language as tl

NUMBERS = {}
CHECKED = []


@functools.lru_cache
def _largest(x):
    return x.abs().amax()


def by_lru_cache(x):
    return x / _largest(x)


def by_attribute(x):
    if not hasattr(x, "norm_"):
        x.norm_ = x.norm()
    return x / x.norm_


def number_by_id(x):
    if id(x) not in NUMBERS:
        NUMBERS[id(x)] = x.abs().max().item()
    return x / NUMBERS[id(x)]


def number_by_address(x):
    if x.data_ptr() not in NUMBERS:
        NUMBERS[x.data_ptr()] = float(x.sum())
    return x * NUMBERS[x.data_ptr()]


@functools.lru_cache
def _workspace(n, device):
    return torch.zeros(2 * n, device=device)


def into_a_kept_result(x):
    return torch.mul(x, 2, out=_workspace(x.numel(), x.device)[: x.numel()])


def through_a_workspace(x):
    work = _workspace(x.numel(), x.device)
    work[: x.numel()] = x * x
    return work[: x.numel()] + 1


@functools.lru_cache
def _table(n, device):
    return torch.arange(n, device=device).cos()


def by_shape(x):
    return x * _table(x.numel(), x.device)


def read_at_each_call(x):
    return x / x.abs().max().item()


def checked_once(x):
    if not CHECKED:
        CHECKED.append(bool(x.isfinite().all()))
    return x + 1


@triton.jit
def twice(x, y, n, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(y + i, 2 * tl.load(x + i, mask=i < n), mask=i < n)


@functools.lru_cache
def _twice(x):
    y = torch.empty_like(x)
    twice[(1,)](x, y, x.numel(), B=16)
    return y


def launched_once(x):
    return _twice(x) + x


def launched_each_time(x):
    return _twice.__wrapped__(x) + x


def changes_its_argument(x):
    return x.mul_(2)


def changes_it_by_a_kept_scale(x):
    x.div_(_largest(x))


def drawn(x):
    return x + torch.rand_like(x)


def takes_one_value(x):
    if float(x[0]) != 1:
        raise ValueError("another value")
    return x * 2
