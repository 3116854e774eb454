"""Reductions whose order a launch's configuration changes: row sums, row dots, softmax, layer norm, matmul.

Every host function takes arrays, then a Config: block lengths and the number of warps.
"""

from dataclasses import dataclass

import torch
import triton
import triton.language as tl


@dataclass(frozen=True)
class Config:
    """``block`` along rows (of the output, for a matmul), ``block_k`` along what a dot adds up."""

    warps: int = 4
    block: int = 16
    block_k: int = 16


@triton.jit
def _row_sum(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = 0.0
    for start in range(0, n, BLOCK):
        at = start + tl.arange(0, BLOCK)
        total += tl.sum(tl.load(x_ptr + row * n + at, mask=at < n, other=0.0), axis=0)
    tl.store(y_ptr + row, total)


def row_sum(x, config):
    y = torch.empty(x.shape[0], device=x.device)
    _row_sum[(x.shape[0],)](x, y, x.shape[1], BLOCK=config.block, num_warps=config.warps)
    return y


@triton.jit
def _row_sum_in_lanes(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    lanes = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, n, BLOCK):
        at = start + tl.arange(0, BLOCK)
        lanes += tl.load(x_ptr + row * n + at, mask=at < n, other=0.0)
    tl.store(y_ptr + row, tl.sum(lanes, axis=0))


def row_sum_in_lanes(x, config):
    y = torch.empty(x.shape[0], device=x.device)
    _row_sum_in_lanes[(x.shape[0],)](x, y, x.shape[1], BLOCK=config.block, num_warps=config.warps)
    return y


@triton.jit
def _row_chain(x_ptr, y_ptr, n):
    row = tl.program_id(0)
    total = 0.0
    for i in range(n):
        total += tl.load(x_ptr + row * n + i)
    tl.store(y_ptr + row, total)


def row_chain(x, config):
    """One after another: no choice is left, whatever the number of warps."""
    y = torch.empty(x.shape[0], device=x.device)
    _row_chain[(x.shape[0],)](x, y, x.shape[1], num_warps=config.warps)
    return y


@triton.jit
def _row_dot(x_ptr, w_ptr, y_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = 0.0
    for start in range(0, n, BLOCK):
        at = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * n + at, mask=at < n, other=0.0)
        w = tl.load(w_ptr + at, mask=at < n, other=0.0)
        total += tl.sum(x * w, axis=0)
    tl.store(y_ptr + row, total)


def row_dot(x, w, config):
    y = torch.empty(x.shape[0], device=x.device)
    _row_dot[(x.shape[0],)](x, w, y, x.shape[1], BLOCK=config.block, num_warps=config.warps)
    return y


@triton.jit
def _softmax(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    top = -float("inf")
    for start in range(0, n, BLOCK):
        at = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * n + at, mask=at < n, other=-float("inf"))
        top = tl.maximum(top, tl.max(x, axis=0))
    total = 0.0
    for start in range(0, n, BLOCK):
        at = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * n + at, mask=at < n, other=-float("inf"))
        total += tl.sum(tl.exp(x - top), axis=0)
    for start in range(0, n, BLOCK):
        at = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * n + at, mask=at < n, other=-float("inf"))
        tl.store(y_ptr + row * n + at, tl.exp(x - top) / total, mask=at < n)


def softmax(x, config):
    y = torch.empty_like(x)
    _softmax[(x.shape[0],)](x, y, x.shape[1], BLOCK=config.block, num_warps=config.warps)
    return y


@triton.jit
def _layer_norm(x_ptr, w_ptr, y_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = 0.0
    for start in range(0, n, BLOCK):
        at = start + tl.arange(0, BLOCK)
        total += tl.sum(tl.load(x_ptr + row * n + at, mask=at < n, other=0.0), axis=0)
    mean = total / n
    squares = 0.0
    for start in range(0, n, BLOCK):
        at = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * n + at, mask=at < n, other=0.0)
        centred = tl.where(at < n, x - mean, 0.0)
        squares += tl.sum(centred * centred, axis=0)
    scale = 1 / tl.sqrt(squares / n + 1e-5)
    for start in range(0, n, BLOCK):
        at = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * n + at, mask=at < n, other=0.0)
        w = tl.load(w_ptr + at, mask=at < n, other=0.0)
        tl.store(y_ptr + row * n + at, (x - mean) * scale * w, mask=at < n)


def layer_norm(x, w, config):
    y = torch.empty_like(x)
    _layer_norm[(x.shape[0],)](x, w, y, x.shape[1], BLOCK=config.block, num_warps=config.warps)
    return y


@triton.jit
def _matmul(a_ptr, b_ptr, c_ptr, M, N, K, BLOCK: tl.constexpr, BLOCK_K: tl.constexpr):
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK, BLOCK), tl.float32)
    for start in range(0, K, BLOCK_K):
        k = start + tl.arange(0, BLOCK_K)
        a_at, b_at = rows[:, None] * K + k[None, :], k[:, None] * N + columns[None, :]
        a = tl.load(a_ptr + a_at, mask=(rows[:, None] < M) & (k[None, :] < K), other=0.0)
        b = tl.load(b_ptr + b_at, mask=(k[:, None] < K) & (columns[None, :] < N), other=0.0)
        total = tl.dot(a, b, total)
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(c_ptr + rows[:, None] * N + columns[None, :], total, mask=inside)


def matmul(a, b, config):
    (m, k), n = a.shape, b.shape[1]
    c = torch.empty((m, n), device=a.device, dtype=torch.float32)
    grid = (triton.cdiv(m, config.block), triton.cdiv(n, config.block))
    _matmul[grid](a, b, c, m, n, k, BLOCK=config.block, BLOCK_K=config.block_k, num_warps=config.warps)
    return c
