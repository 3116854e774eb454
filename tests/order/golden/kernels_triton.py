"""Triton kernels whose accumulation order is plain to see, one function a kind."""

import torch
import triton
import triton.language as tl


@triton.jit
def _scalar_loop(x_ptr, y_ptr, n, REVERSE: tl.constexpr):
    row = tl.program_id(0)
    total = 0.0
    for i in range(n):
        at = n - 1 - i if REVERSE else i
        total += tl.load(x_ptr + row * n + at)
    tl.store(y_ptr + row, total)


def sequential(x):
    y = torch.empty(x.shape[0], device=x.device)
    _scalar_loop[(x.shape[0],)](x, y, x.shape[1], REVERSE=False)
    return y


def reversed_sum(x):
    y = torch.empty(x.shape[0], device=x.device)
    _scalar_loop[(x.shape[0],)](x, y, x.shape[1], REVERSE=True)
    return y


@triton.jit
def _blocks(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = 0.0
    for start in range(0, n, BLOCK):
        at = start + tl.arange(0, BLOCK)
        total += tl.sum(tl.load(x_ptr + row * n + at, mask=at < n, other=0.0), axis=0)
    tl.store(y_ptr + row, total)


def blocked(x):
    y = torch.empty(x.shape[0], device=x.device)
    _blocks[(x.shape[0],)](x, y, x.shape[1], BLOCK=16)
    return y


@triton.jit
def _lanes(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    lanes = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, n, BLOCK):
        at = start + tl.arange(0, BLOCK)
        lanes += tl.load(x_ptr + row * n + at, mask=at < n, other=0.0)
    tl.store(y_ptr + row, tl.sum(lanes, axis=0))


def strided_lanes(x):
    y = torch.empty(x.shape[0], device=x.device)
    _lanes[(x.shape[0],)](x, y, x.shape[1], BLOCK=16)
    return y


@triton.jit
def _four(x_ptr, y_ptr, n):
    row = x_ptr + tl.program_id(0) * n
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    for i in range(0, n, 4):
        a += tl.load(row + i)
        b += tl.load(row + i + 1)
        c += tl.load(row + i + 2)
        d += tl.load(row + i + 3)
    tl.store(y_ptr + tl.program_id(0), (a + b) + (c + d))


def four_accumulators(x):
    y = torch.empty(x.shape[0], device=x.device)
    _four[(x.shape[0],)](x, y, x.shape[1])
    return y


@triton.jit
def _kahan(x_ptr, y_ptr, n):
    row = x_ptr + tl.program_id(0) * n
    total, lost = 0.0, 0.0
    for i in range(n):
        term = tl.load(row + i) - lost
        new = total + term
        lost = (new - total) - term
        total = new
    tl.store(y_ptr + tl.program_id(0), total)


def kahan(x):
    y = torch.empty(x.shape[0], device=x.device)
    _kahan[(x.shape[0],)](x, y, x.shape[1])
    return y


@triton.jit
def _neumaier(x_ptr, y_ptr, n):
    row = x_ptr + tl.program_id(0) * n
    total, lost = 0.0, 0.0
    for i in range(n):
        term = tl.load(row + i)
        new = total + term
        lost += tl.where(tl.abs(total) >= tl.abs(term), (total - new) + term, (term - new) + total)
        total = new
    tl.store(y_ptr + tl.program_id(0), total + lost)


def neumaier(x):
    y = torch.empty(x.shape[0], device=x.device)
    _neumaier[(x.shape[0],)](x, y, x.shape[1])
    return y


@triton.jit
def _two_sum(x_ptr, y_ptr, n):
    row = x_ptr + tl.program_id(0) * n
    total, lost = 0.0, 0.0
    for i in range(n):
        term = tl.load(row + i)
        new = total + term
        virtual = new - total
        lost += (total - (new - virtual)) + (term - virtual)
        total = new
    tl.store(y_ptr + tl.program_id(0), total + lost)


def two_sum(x):
    y = torch.empty(x.shape[0], device=x.device)
    _two_sum[(x.shape[0],)](x, y, x.shape[1])
    return y


@triton.jit
def _not_kahan(x_ptr, y_ptr, n):
    """The sign of the correction is wrong: no compensation at all."""
    row = x_ptr + tl.program_id(0) * n
    total, lost = 0.0, 0.0
    for i in range(n):
        term = tl.load(row + i) + lost
        new = total + term
        lost = (new - total) - term
        total = new
    tl.store(y_ptr + tl.program_id(0), total)


def not_kahan(x):
    y = torch.empty(x.shape[0], device=x.device)
    _not_kahan[(x.shape[0],)](x, y, x.shape[1])
    return y


@triton.jit
def _fma_chain(x_ptr, w_ptr, y_ptr, n):
    row = x_ptr + tl.program_id(0) * n
    total = 0.0
    for i in range(n):
        total = tl.fma(tl.load(row + i), tl.load(w_ptr + i), total)
    tl.store(y_ptr + tl.program_id(0), total)


def fma_chain(x, w):
    y = torch.empty(x.shape[0], device=x.device)
    _fma_chain[(x.shape[0],)](x, w, y, x.shape[1])
    return y


@triton.jit
def _matmul(a_ptr, b_ptr, c_ptr, K, N: tl.constexpr, M: tl.constexpr, BLOCK_K: tl.constexpr, HOP: tl.constexpr):
    i = tl.arange(0, M)[:, None]
    j = tl.arange(0, N)[None, :]
    total = tl.zeros((M, N), tl.bfloat16 if HOP else tl.float32)
    for start in range(0, K, BLOCK_K):
        k = start + tl.arange(0, BLOCK_K)
        a = tl.load(a_ptr + i * K + k[None, :])
        b = tl.load(b_ptr + k[:, None] * N + j)
        if HOP:
            total += tl.dot(a, b).to(tl.bfloat16)
        else:
            total = tl.dot(a, b, total)
    tl.store(c_ptr + i * N + j, total.to(tl.float32))


def matmul(a, b):
    c = torch.empty(16, 16, device=a.device)
    _matmul[(1,)](a, b, c, a.shape[1], N=16, M=16, BLOCK_K=16, HOP=False)
    return c


def matmul_bf16_hop(a, b):
    c = torch.empty(16, 16, device=a.device)
    _matmul[(1,)](a, b, c, a.shape[1], N=16, M=16, BLOCK_K=16, HOP=True)
    return c


@triton.jit
def _split_k(x_ptr, y_ptr, n, SLAB: tl.constexpr, ATOMIC: tl.constexpr):
    slab = tl.program_id(0)
    at = slab * SLAB + tl.arange(0, SLAB)
    part = tl.sum(tl.load(x_ptr + at, mask=at < n, other=0.0), axis=0)
    if ATOMIC:
        tl.atomic_add(y_ptr, part)
    else:
        tl.store(y_ptr + slab, part)


def split_atomic(x):
    y = torch.zeros(1, device=x.device)
    _split_k[(4,)](x, y, x.numel(), SLAB=16, ATOMIC=True)
    return y


def split_store(x):
    y = torch.empty(4, device=x.device)
    _split_k[(4,)](x, y, x.numel(), SLAB=16, ATOMIC=False)
    return ((y[0] + y[1]) + y[2]) + y[3]


@triton.jit
def _online(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    row = x_ptr + tl.program_id(0) * n
    top, total = -float("inf"), 0.0
    for start in range(0, n, BLOCK):
        at = start + tl.arange(0, BLOCK)
        x = tl.load(row + at, mask=at < n, other=-float("inf"))
        new = tl.maximum(top, tl.max(x, axis=0))
        total = total * tl.exp(top - new) + tl.sum(tl.exp(x - new), axis=0)
        top = new
    tl.store(y_ptr + tl.program_id(0), top + tl.log(total))


def online_logsumexp(x):
    y = torch.empty(x.shape[0], device=x.device)
    _online[(x.shape[0],)](x, y, x.shape[1], BLOCK=16)
    return y


@triton.jit
def _cumsum(x_ptr, y_ptr, n, BLOCK: tl.constexpr, REVERSE: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + tl.program_id(0) * n + at, mask=at < n, other=0.0)
    tl.store(y_ptr + tl.program_id(0) * n + at, tl.cumsum(x, axis=0, reverse=REVERSE), mask=at < n)


def cumsum(x):
    y = torch.empty_like(x)
    _cumsum[(x.shape[0],)](x, y, x.shape[1], BLOCK=64, REVERSE=False)
    return y


def cumsum_reversed(x):
    y = torch.empty_like(x)
    _cumsum[(x.shape[0],)](x, y, x.shape[1], BLOCK=64, REVERSE=True)
    return y


@triton.jit
def _never_lost(x_ptr, y_ptr, n):
    """The "error" is what adding once more gives: always 0."""
    row = x_ptr + tl.program_id(0) * n
    total, lost = 0.0, 0.0
    for i in range(n):
        term = tl.load(row + i) - lost
        new = total + term
        lost = new - (total + term)
        total = new
    tl.store(y_ptr + tl.program_id(0), total)


def never_lost(x):
    y = torch.empty(x.shape[0], device=x.device)
    _never_lost[(x.shape[0],)](x, y, x.shape[1])
    return y


@triton.jit
def _swapped_neumaier(x_ptr, y_ptr, n):
    """Neumaier's sum with the branches the wrong way round."""
    row = x_ptr + tl.program_id(0) * n
    total, lost = 0.0, 0.0
    for i in range(n):
        term = tl.load(row + i)
        new = total + term
        lost += tl.where(tl.abs(total) >= tl.abs(term), (term - new) + total, (total - new) + term)
        total = new
    tl.store(y_ptr + tl.program_id(0), total + lost)


def swapped_neumaier(x):
    y = torch.empty(x.shape[0], device=x.device)
    _swapped_neumaier[(x.shape[0],)](x, y, x.shape[1])
    return y


@triton.jit
def _merged(mean_1, square_1, n_1, mean_2, square_2, n_2):
    apart, n = mean_2 - mean_1, n_1 + n_2
    share = tl.where(n == 0.0, 0.0, n_2 / tl.where(n == 0.0, 1.0, n))
    return mean_1 + apart * share, square_1 + square_2 + apart * apart * n_1 * share, n


@triton.jit
def _welford(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + at, mask=at < n, other=0.0)
    _, square, count = tl.reduce((x, tl.zeros_like(x), (at < n).to(tl.float32)), 0, _merged)
    tl.store(y_ptr + row, square / count)


def welford(x):
    y = torch.empty(x.shape[0], device=x.device)
    _welford[(x.shape[0],)](x, y, x.shape[1], BLOCK=64)
    return y
