"""The cases of trnsparse, trnfft, trnsolver and trnrand, in the manner of wheels_cases.

Takes the registry of wheels_cases; importing this module fills it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch

from tests.sweeps.wheels_cases import Arguments, case, load, normal, tensors

# -- trnsparse: blocks of 128 x 128 ------------------------------------------------------------------------------

SPARSE = "trnsparse.nki.kernels"


@case(
    "_bsr_spmm_kernel",
    SPARSE,
    lambda: {"blocks_pad": normal(1, 2, 128, 128), "b_gathered": normal(1, 2, 128, 24, seed=1)},
)
def bsr_spmm(blocks_pad, b_gathered):
    return (blocks_pad @ b_gathered).sum(1).reshape(-1, b_gathered.shape[-1])


@case(
    "_screened_spmm_kernel",
    SPARSE,
    lambda: {
        "a": normal(128, 128),
        "q": np.abs(normal(128, 1, seed=1)),
        "threshold_sqrt": np.float32([[0.4]]),
        "b": normal(128, 20, seed=2),
    },
)
def screened_spmm(a, q, threshold_sqrt, b):
    return (a * (q * q.T > threshold_sqrt).to(a.dtype)) @ b


@case("_spmm_dense_kernel", SPARSE, lambda: {"a": normal(128, 256), "b": normal(256, 24, seed=1)})
def spmm_dense(a, b):
    return a @ b


def _attention_arguments(*wanted: str) -> Arguments:
    """One block of queries and two of keys, heads of 16; the statistics are those of these very scores."""
    q, k = normal(1, 128, 16) * np.float32(0.25), normal(1, 2, 128, 16, seed=1)
    scores = (q[:, None] @ k.swapaxes(-1, -2)).transpose(0, 2, 1, 3).reshape(1, 128, 256)
    peak = scores.max(-1, keepdims=True)
    known = {
        "q_scaled_blocks": q,
        "k_gathered_pad": k,
        "v_gathered_pad": normal(1, 2, 128, 16, seed=2),
        "do_gathered_pad": normal(1, 2, 128, 16, seed=3),
        "D_blocks": normal(1, 128, 1, seed=4),
        "row_max": peak,
        "row_denom": np.exp(scores - peak).sum(-1, keepdims=True),
    }
    return {name: known[name] for name in wanted or known}


@case("_attn_stats_kernel", SPARSE, lambda: _attention_arguments("q_scaled_blocks", "k_gathered_pad"))
def attn_stats(q_scaled_blocks, k_gathered_pad):
    scores = q_scaled_blocks[:, None] @ k_gathered_pad.transpose(-1, -2)
    peak = scores.amax(-1, keepdim=True)
    return peak, torch.exp(scores - peak).sum(-1, keepdim=True)


def weights(q, k, row_max, row_denom):
    return torch.exp(q[:, None] @ k.transpose(-1, -2) - row_max[:, None]) / row_denom[:, None]


@case(
    "_attn_out_kernel",
    SPARSE,
    lambda: _attention_arguments("q_scaled_blocks", "k_gathered_pad", "v_gathered_pad", "row_max", "row_denom"),
)
def attn_out(q_scaled_blocks, k_gathered_pad, v_gathered_pad, row_max, row_denom):
    p = weights(q_scaled_blocks, k_gathered_pad, row_max, row_denom)
    return (p @ v_gathered_pad).sum(1).reshape(-1, v_gathered_pad.shape[-1])


@case("_attn_bwd_dq_kernel", SPARSE, _attention_arguments)
def attn_dq(q_scaled_blocks, k_gathered_pad, v_gathered_pad, do_gathered_pad, D_blocks, row_max, row_denom):
    p = weights(q_scaled_blocks, k_gathered_pad, row_max, row_denom)
    ds = p * (do_gathered_pad @ v_gathered_pad.transpose(-1, -2) - D_blocks[:, None])
    return (ds @ k_gathered_pad).sum(1).reshape(-1, k_gathered_pad.shape[-1])


def _dkdv_arguments() -> Arguments:
    peak = np.abs(normal(1, 2, 128, 1, seed=5)) + 2
    return {
        "k_blocks": normal(1, 128, 16),
        "v_blocks": normal(1, 128, 16, seed=1),
        "q_gathered_col": normal(1, 2, 128, 16, seed=2) * np.float32(0.25),
        "do_gathered_col": normal(1, 2, 128, 16, seed=3),
        "D_gathered_col": normal(1, 2, 128, 1, seed=4),
        "row_max_gathered_col": peak,
        "row_denom_gathered_col": np.exp(peak),
    }


@case("_attn_bwd_dkdv_kernel", SPARSE, _dkdv_arguments)
def attn_dkdv(
    k_blocks, v_blocks, q_gathered_col, do_gathered_col, D_gathered_col, row_max_gathered_col, row_denom_gathered_col
):
    scores = q_gathered_col @ k_blocks[:, None].transpose(-1, -2)
    p = torch.exp(scores - row_max_gathered_col) / row_denom_gathered_col
    ds = p * (do_gathered_col @ v_blocks[:, None].transpose(-1, -2) - D_gathered_col)
    dk = (ds.transpose(-1, -2) @ q_gathered_col).sum(1)
    dv = (p.transpose(-1, -2) @ do_gathered_col).sum(1)
    return dk.reshape(-1, dk.shape[-1]), dv.reshape(-1, dv.shape[-1])


# -- trnfft (Beta-1) ---------------------------------------------------------------------------------------------

FFT, STAGES = "trnfft.nki.dispatch", "trnfft.nki.butterfly"


def _complex(names: str, *shapes: tuple[int, ...]) -> Arguments:
    return {name: normal(*shape, seed=i) for i, (name, shape) in enumerate(zip(names.split(), shapes))}


def _gemm_arguments() -> Arguments:
    return _complex("a_real a_imag b_real b_imag", (64, 256), (64, 256), (256, 40), (256, 40))


def _gemm_package(given: Arguments, found: list[np.ndarray]) -> tuple[Any, Any]:
    t, of = tensors(given), load("trnfft.complex", "ComplexTensor")()
    product = load("trnfft.complex", "complex_matmul")()(of(t["a_real"], t["a_imag"]), of(t["b_real"], t["b_imag"]))
    return np.stack(found), np.stack([product.real, product.imag])


@case("_complex_gemm_kernel", FFT, _gemm_arguments, _gemm_package)
def complex_gemm(a_real, a_imag, b_real, b_imag):
    return a_real @ b_real - a_imag @ b_imag, a_real @ b_imag + a_imag @ b_real


@case(
    "_complex_linear_kernel",
    FFT,
    lambda: _complex("x_real x_imag w_real w_imag", (64, 128), (64, 128), (40, 128), (40, 128)),
)
def complex_linear(x_real, x_imag, w_real, w_imag):
    return x_real @ w_real.T - x_imag @ w_imag.T, x_real @ w_imag.T + x_imag @ w_real.T


@case("_complex_mul_kernel", FFT, lambda: _complex("a_real a_imag b_real b_imag", *[(16, 24)] * 4))
def complex_mul(a_real, a_imag, b_real, b_imag):
    return a_real * b_real - a_imag * b_imag, a_real * b_imag + a_imag * b_real


def _stage_arguments() -> Arguments:
    """The second stage of a transform of 16, two rows: four groups of four each."""
    angles = (-2 * np.pi * np.arange(2) / 4).astype(np.float32)
    return _complex("x_re x_im", (2, 16), (2, 16)) | {
        "tw_re_bcast": np.tile(np.cos(angles), (8, 1)),
        "tw_im_bcast": np.tile(np.sin(angles), (8, 1)),
        "n": 16,
        "stage": 1,
    }


@case("butterfly_stage_kernel_kahan", STAGES, _stage_arguments)
@case("butterfly_stage_kernel", STAGES, _stage_arguments)
def butterfly_stage(x_re, x_im, tw_re_bcast, tw_im_bcast, n, stage):
    half = 1 << stage
    re, im = (x.reshape(-1, 2 * half) for x in (x_re, x_im))
    product_re = tw_re_bcast * re[:, half:] - tw_im_bcast * im[:, half:]
    product_im = tw_re_bcast * im[:, half:] + tw_im_bcast * re[:, half:]
    out_re = torch.cat([re[:, :half] + product_re, re[:, :half] - product_re], 1)
    out_im = torch.cat([im[:, :half] + product_im, im[:, :half] - product_im], 1)
    return out_re.reshape(x_re.shape), out_im.reshape(x_im.shape)


# -- trnsolver (Beta-1) ------------------------------------------------------------------------------------------


def _jacobi_arguments() -> Arguments:
    given = normal(6, 6)
    turned = {"p": 1, "q": 4, "c": math.cos(0.3), "s": math.sin(0.3), "n": 6}
    return {"D_ref": given + given.T, "V_ref": np.eye(6, dtype=np.float32)} | turned


@case("jacobi_rotation_kernel", "trnsolver.nki.dispatch", _jacobi_arguments)
def jacobi_rotation(D_ref, V_ref, p, q, c, s, n):
    rows = torch.stack([D_ref[p] * c - D_ref[q] * s, D_ref[p] * s + D_ref[q] * c])
    D_ref[p], D_ref[q] = rows[0], rows[1]
    for matrix in (D_ref, V_ref):
        columns = torch.stack([matrix[:, p] * c - matrix[:, q] * s, matrix[:, p] * s + matrix[:, q] * c])
        matrix[:, p], matrix[:, q] = columns[0], columns[1]
    D_ref[p, q] = 0.0
    D_ref[q, p] = 0.0


# -- trnrand -----------------------------------------------------------------------------------------------------

RAND = "trnrand.nki.dispatch"
WORD = 0xFFFFFFFF


def _columns(names: str, *values: int) -> Arguments:
    """(8, 1) each: one value throughout, and the first counts up from it."""
    lane, zero = np.arange(8, dtype=np.int32)[:, None], np.zeros((8, 1), np.int32)
    return {name: (zero if i else lane) + value for i, (name, value) in enumerate(zip(names.split(), np.int32(values)))}


def _philox_arguments() -> Arguments:
    return _columns("counter_lo_ref key_lo_ref key_hi_ref", 5, 1234567, 89)


@case("philox4x32_kernel", RAND, _philox_arguments)
def philox(counter_lo_ref, key_lo_ref, key_hi_ref):
    zero = torch.zeros_like(counter_lo_ref)
    counter = torch.cat([counter_lo_ref, zero, zero, zero], 1).long()
    key = torch.cat([key_lo_ref, key_hi_ref], 1).long() & WORD
    return load(RAND, "philox4x32_reference")()(counter, key).to(torch.int32)


THREEFRY = "c0_ref c1_ref c2_ref c3_ref k0_ref k1_ref k2_ref k3_ref"


def _threefry_arguments() -> Arguments:
    return _columns(THREEFRY, 0, 3, 0, 0, 7654321, 12, 0, 0)


@case("threefry4x32_kernel", RAND, _threefry_arguments)
def threefry(c0_ref, c1_ref, c2_ref, c3_ref, k0_ref, k1_ref, k2_ref, k3_ref):
    counter = torch.cat([c0_ref, c1_ref, c2_ref, c3_ref], 1).long()
    key = torch.cat([k0_ref, k1_ref, k2_ref, k3_ref], 1).long() & WORD
    words = load(RAND, "threefry4x32_reference")()(counter, key)
    return (words & 0xFFFFFF).to(torch.float32) / 2**24


def gaussian(u1, u2, least):
    radius = torch.sqrt(-2.0 * torch.log(u1.clamp(min=least)))
    return torch.cat([radius * torch.cos(2 * math.pi * u2), radius * torch.sin(2 * math.pi * u2)], 1)


@case("threefry_normal_kernel", RAND, _threefry_arguments)
def threefry_normal(c0_ref, c1_ref, c2_ref, c3_ref, k0_ref, k1_ref, k2_ref, k3_ref):
    u = threefry(c0_ref, c1_ref, c2_ref, c3_ref, k0_ref, k1_ref, k2_ref, k3_ref)
    return torch.cat([gaussian(u[:, 0:1], u[:, 1:2], 1e-7), gaussian(u[:, 2:3], u[:, 3:4], 1e-7)], 1)


def _uniforms() -> Arguments:
    return {"uniforms_ref": np.random.default_rng(0).random((8, 2)).astype(np.float32)}


def _box_muller_package(given: Arguments, found: list[np.ndarray]) -> tuple[Any, Any]:
    return found[0].reshape(-1), load(RAND, "box_muller_cpu")()(torch.from_numpy(given["uniforms_ref"].reshape(-1)))


@case("box_muller_kernel", RAND, _uniforms, _box_muller_package)
def box_muller(uniforms_ref):
    return gaussian(uniforms_ref[:, 0:1], uniforms_ref[:, 1:2], 1e-10)


@case("sobol_gray_code_kernel", RAND, lambda: {"gray_ref": np.int32([[0], [1], [3], [2], [6], [77], [1234], [54321]])})
def sobol(gray_ref):
    """The direction vectors of the set bits, exclusive-or, by the package's own table."""
    columns = []
    for vectors in load(RAND, "_SOBOL_DIR_VECS")():
        total = torch.zeros_like(gray_ref)
        for k, vector in enumerate(vectors):
            total = total ^ ((gray_ref >> k) & 1) * vector
        columns.append(total.to(torch.float32) / 2**24)
    return torch.cat(columns, 1)


@case("halton_kernel", RAND, lambda: {"indices_ref": np.int32([[1], [2], [3], [10], [29], [841], [65537], [4000000]])})
def halton(indices_ref):
    """The digits of the index in each prime base, mirrored behind the point."""
    columns = []
    for base in load(RAND, "_HALTON_PRIMES")():
        rest, scale, total = indices_ref.long(), 1.0 / base, torch.zeros(indices_ref.shape)
        for _ in range(23):
            total = total + (rest % base).to(torch.float32) * scale
            rest, scale = rest // base, scale / base
        columns.append(total)
    return torch.cat(columns, 1)
