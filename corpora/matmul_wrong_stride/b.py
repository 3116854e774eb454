"""Batched matmul, f16 in, f32 accumulator and output."""

import torch
import triton
import triton.language as tl


@triton.jit
def bmm_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K, stride_ab, stride_bb, stride_cb,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):
    batch = tl.program_id(2)
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        rk = k + tl.arange(0, BK)
        a_offs = batch * stride_ab + rm[:, None] * K + rk[None, :]
        b_offs = batch * stride_bb + rk[:, None] * N + rn[None, :]
        a = tl.load(a_ptr + a_offs, mask=(rm[:, None] < M) & (rk[None, :] < K), other=0.0)
        b = tl.load(b_ptr + b_offs, mask=(rk[:, None] < K) & (rn[None, :] < N), other=0.0)
        acc += tl.dot(a, b)
    c_offs = batch * stride_cb + rm[:, None] * N + rn[None, :]
    tl.store(c_ptr + c_offs, acc, mask=(rm[:, None] < M) & (rn[None, :] < N))


def bmm(a, b):
    B, M, K = a.shape
    N = b.shape[2]
    c = torch.empty((B, M, N), device=a.device, dtype=torch.float32)
    grid = (triton.cdiv(M, 16), triton.cdiv(N, 16), B)
    bmm_kernel[grid](
        a, b, c, M, N, K,
        a.stride(0), a.stride(0), c.stride(0),
        BM=16, BN=16, BK=16,
    )
    return c
