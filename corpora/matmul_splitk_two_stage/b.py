"""Split-K matmul in two stages: partial products to a workspace, then one sum over the slices."""

import torch
import triton
import triton.language as tl


@triton.jit
def partial_kernel(a_ptr, b_ptr, part_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    piece = tl.program_id(2)
    rk = piece * BK + tl.arange(0, BK)
    a = tl.load(a_ptr + rm[:, None] * K + rk[None, :], mask=(rm[:, None] < M) & (rk[None, :] < K), other=0.0)
    b = tl.load(b_ptr + rk[:, None] * N + rn[None, :], mask=(rk[:, None] < K) & (rn[None, :] < N), other=0.0)
    out = piece * M * N + rm[:, None] * N + rn[None, :]
    tl.store(part_ptr + out, tl.dot(a, b), mask=(rm[:, None] < M) & (rn[None, :] < N))


def matmul(a, b):
    M, K = a.shape
    N = b.shape[1]
    pieces = triton.cdiv(K, 32)
    part = torch.empty((pieces, M, N), device=a.device, dtype=torch.float32)
    partial_kernel[(triton.cdiv(M, 16), triton.cdiv(N, 16), pieces)](a, b, part, M, N, K, BM=16, BN=16, BK=32)
    return part.sum(dim=0)
