"""What each pair should compute, in float64, and the inputs that tell a `different` pair apart.

TRUTH maps a pair to a formula over float64 inputs that a.py must meet: its outputs, then any inputs it writes.
WITNESS maps a pair to a function that turns the declared random inputs into ones where b.py goes wrong; a
`different` pair without an entry goes wrong on the random inputs themselves.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F


def rms_norm(x, w, eps=1e-6):
    return x / (x.square().mean(-1, keepdim=True) + eps).sqrt() * w


def layer_norm(x, w, b, eps=1e-5):
    return F.layer_norm(x, x.shape[-1:], w, b, eps)


def softmax(x):
    return torch.softmax(x, -1)


def attention(q, k, v, keep=None):
    """Attention with grouped heads; keep(rows, columns) says which keys a query sees."""
    group = q.shape[-3] // k.shape[-3] if q.ndim == 4 else 1
    if group > 1:
        k, v = (t.repeat_interleave(group, -3) for t in (k, v))
    s = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5
    if keep:
        rows, cols = torch.arange(s.shape[-2])[:, None], torch.arange(s.shape[-1])[None, :]
        s = s.masked_fill(~keep(rows, cols), -torch.inf)
    return torch.softmax(s, -1) @ v


def causal(q, k, v):
    past = k.shape[-2] - q.shape[-2]
    return attention(q, k, v, lambda row, col: col <= row + past)


def window(q, k, v):
    return attention(q, k, v, lambda row, col: (col <= row) & (row - col < 5))


def rope(x, cos, sin):
    """Rotates each pair (i, i + D/2) as a complex number."""
    half = x.shape[-1] // 2
    turned = torch.complex(x[..., :half], x[..., half:]) * torch.complex(cos, sin)[:, None, :]
    return torch.cat((turned.real, turned.imag), -1)


def conv1d(x, w):
    width = w.shape[1]
    padded = F.pad(x, (width - 1, 0))
    return sum(padded[..., i : i + x.shape[-1]] * w[:, i, None] for i in range(width))


def swiglu(x):
    gate, up = x.chunk(2, -1)
    return F.silu(gate) * up


def sgd_step(p, g, buf):
    new = 0.9 * buf + g + 0.01 * p
    return p - 0.1 * new, g, new


def adamw_step(p, g, m, v):
    m = 0.9 * m + 0.1 * g
    v = 0.999 * v + 0.001 * g.square()
    update = m / (1 - 0.9**3) / ((v / (1 - 0.999**3)).sqrt() + 1e-8)
    return p * (1 - 1e-3) - 1e-2 * update, g, m, v


def cross_entropy(x, labels):
    return F.cross_entropy(x, labels.long(), reduction="none")


def quantise(x, scale):
    return ((x / scale[:, None] + 0.5).floor()).clamp(-128, 127)


def batch_norm(x, running_var):
    y = F.batch_norm(x, None, None, training=True, eps=1e-5)
    return y, 0.9 * running_var + 0.1 * x.var(0)


def add_rms_norm(x, residual, w):
    return rms_norm(x + residual, w), x + residual


def dropout(x, keep):
    return x * keep / 0.75


def write_cache(k, slots, cache):
    cache = cache.clone()
    for row, slot in enumerate(slots.tolist()):
        cache[slot] = k[row]
    return k, slots, cache


def masked_softmax(x, keep):
    e = (x - x.amax(-1, keepdim=True)).exp() * keep
    return e / e.sum(-1, keepdim=True).clamp_min(1e-300)


def causal_softmax(x):
    return torch.softmax(x.masked_fill(torch.ones_like(x).triu(1) > 0, -torch.inf), -1)


def gelu_tanh(x):
    return F.gelu(x, approximate="tanh")


def matmul_t(lhs_t, rhs):
    return lhs_t.T @ rhs


def scaled_attention(q, k, v, scale=0.25):
    return torch.softmax(q @ k.T * scale, -1) @ v


def adamw_values(p, g, m, v):
    """Parameter and moments after a step."""
    m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
    denom = (v / (1 - 0.999**3)).sqrt() + 1e-8
    return p * (1 - 1e-3) - 1e-2 / (1 - 0.9**3) * m / denom, m, v


def row_sum(x):
    return x.sum(-1, keepdim=True)


TRUTH: dict[str, Callable[..., Any]] = {
    "adamw_coupled_decay": adamw_step,
    "adamw_torch": adamw_step,
    "add_blocks": torch.add,
    "add_missing_last_block": torch.add,
    "add_rms_norm_in_place": add_rms_norm,
    "add_rms_norm_no_residual": add_rms_norm,
    "add_torch": torch.add,
    "argmax_last_tie": lambda x: x.argmax(-1),
    "argmax_torch": lambda x: x.argmax(-1),
    "attention_causal_alignment": causal,
    "attention_causal_off_by_one": causal,
    "attention_gqa_head_map": attention,
    "attention_no_rescale": attention,
    "attention_one_tile_jnp": attention,
    "attention_window_nan_tile": window,
    "attention_window_off_by_one": window,
    "attention_wrong_scale": attention,
    "batch_norm_biased_variance": batch_norm,
    "causal_softmax_finite_mask": causal_softmax,
    "clamp_jnp": lambda x: x.clamp(-1, 1),
    "conv1d_causal_torch": conv1d,
    "conv1d_padding_shift": conv1d,
    "cross_entropy_ignore_index": F.cross_entropy,
    "cross_entropy_jnp": cross_entropy,
    "cross_entropy_torch": cross_entropy,
    "cumsum_torch": lambda x: x.cumsum(-1),
    "dequantise_int8_torch": lambda q: q.double() * 0.0123,
    "dropout_mask_torch": dropout,
    "dropout_no_rescale": dropout,
    "embedding_torch": lambda ids, table: table[ids],
    "flash_attention_causal_jnp": causal,
    "flash_attention_gqa_torch": attention,
    "flash_attention_torch": attention,
    "flash_attention_window_torch": window,
    "floor_div_negative": lambda p: (p.double() / 8).floor(),
    "fused_mul_add_torch": lambda x, y, z: x * y + z,
    "gelu_erf_torch": F.gelu,
    "gelu_tanh_for_erf": F.gelu,
    "gelu_tanh_jax": gelu_tanh,
    "kl_div_torch": lambda logq, p: F.kl_div(logq, p, reduction="none").sum(-1),
    "kv_cache_write_torch": write_cache,
    "l2_norm_eps_placement": lambda x: x / (x.norm(dim=-1, keepdim=True) + 1e-6),
    "layer_norm_padded_variance": layer_norm,
    "layer_norm_pallas": layer_norm,
    "layer_norm_torch": layer_norm,
    "linear_transposed_torch": F.linear,
    "masked_softmax_empty_row": masked_softmax,
    "matmul_bf16_hop_pallas": torch.matmul,
    "matmul_bias_relu_jnp": lambda x, w, bias: (x @ w + bias).relu(),
    "matmul_f16_hop": torch.matmul,
    "matmul_f32_torch": torch.matmul,
    "matmul_jnp": torch.matmul,
    "matmul_k_tail": torch.matmul,
    "matmul_missing_last_block": torch.matmul,
    "matmul_pallas": torch.matmul,
    "matmul_pallas_no_init": torch.matmul,
    "matmul_splitk_atomic": torch.matmul,
    "matmul_splitk_store": torch.matmul,
    "matmul_splitk_two_stage": torch.matmul,
    "matmul_splitk_uninitialised": torch.matmul,
    "matmul_swizzled": torch.matmul,
    "matmul_tf32_torch": torch.matmul,
    "matmul_wrong_stride": torch.matmul,
    "mean_scale_inside": lambda x: x.mean(-1),
    "nki_adamw": adamw_values,
    "nki_add_bf16": torch.add,
    "nki_attention": scaled_attention,
    "nki_attention_dropout_before_sum": lambda q, k, v, keep: (torch.softmax(q @ k.T * 0.25, -1) * keep * 1.25) @ v,
    "nki_attention_evacuated_plus_one": scaled_attention,
    "nki_attention_no_rescale": scaled_attention,
    "nki_beta1_mask_dropped": softmax,
    "nki_beta1_softmax": softmax,
    "nki_bias_gelu": lambda x, b: F.gelu(x + b[:, None]),
    "nki_bias_gelu_dropped": lambda x, b: F.gelu(x + b[:, None]),
    "nki_cross_entropy": lambda x, labels: cross_entropy(x, labels.long()),
    "nki_cumsum": lambda x: x.cumsum(-1),
    "nki_cumsum_no_carry": lambda x: x.cumsum(-1),
    "nki_embedding": lambda ids, table: table[ids],
    "nki_layer_norm": layer_norm,
    "nki_linear_relu": lambda x, w, b: (x @ w + b).relu(),
    "nki_matmul": torch.matmul,
    "nki_matmul_bf16": matmul_t,
    "nki_matmul_bf16_partial_sums": matmul_t,
    "nki_matmul_no_reset": matmul_t,
    "nki_matmul_operands_swapped": matmul_t,
    "nki_matmul_tile_sizes": matmul_t,
    "nki_max_pool": lambda x: F.max_pool2d(x, 2),
    "nki_migrated_matmul": matmul_t,
    "nki_migrated_promotion": lambda x: x + 1.1 * x,
    "nki_migrated_softmax": softmax,
    "nki_quantise_int8": lambda x, s: (x / s[:, None]).round().clamp(-128, 127),
    "nki_quantise_saturates": lambda x, s: (x / s[:, None]).round().clamp(-128, 127),
    "nki_quantise_truncated": lambda x, s: (x / s[:, None]).clamp(-128, 127).trunc(),
    "nki_rms_norm": rms_norm,
    "nki_rms_norm_weight_axis": rms_norm,
    "nki_rope": rope,
    "nki_rope_turned_back": rope,
    "nki_softmax": softmax,
    "nki_softmax_reciprocal": softmax,
    "nki_softmax_undefined_tail": softmax,
    "nki_sum_axis": lambda x: x.sum(1),
    "nki_swiglu": swiglu,
    "nki_swiglu_halves": swiglu,
    "nki_transpose": lambda x: x.t(),
    "quantise_int8_rows": quantise,
    "quantise_no_saturation": quantise,
    "quantise_truncates": quantise,
    "relu6_missing_upper": F.relu6,
    "relu_jnp": F.relu,
    "relu_max_select": F.relu,
    "rms_norm_gemma": lambda x, w: rms_norm(x, 1 + w),
    "rms_norm_out_dtype": rms_norm,
    "rms_norm_sqrt": rms_norm,
    "rms_norm_torch": rms_norm,
    "rms_norm_weight_cast": rms_norm,
    "rms_norm_wrong_eps": rms_norm,
    "rope_interleaved": rope,
    "rope_torch": rope,
    "row_max_jnp": lambda x: x.amax(-1),
    "row_max_zero_padding": lambda x: x.amax(-1),
    "sgd_momentum_torch": sgd_step,
    "sigmoid_tanh_jnp": torch.sigmoid,
    "silu_exp2_torch": F.silu,
    "softmax": softmax,
    "softmax_denominator_eps": softmax,
    "softmax_exp2": softmax,
    "softmax_log2e_rounded": softmax,
    "softmax_no_max": softmax,
    "softmax_no_other": softmax,
    "softmax_online_jnp": softmax,
    "sub_swapped": torch.sub,
    "sum_blocks_pallas": row_sum,
    "sum_f16_accumulator": lambda x: x.sum(0),
    "sum_kahan": lambda x: x.sum(-1),
    "sum_padding_pallas": row_sum,
    "sum_two_stage_torch": torch.sum,
    "swiglu_jnp": swiglu,
    "swiglu_pallas_halves": swiglu,
    "swiglu_sigmoid": swiglu,
    "topk_jax": lambda x: tuple(x.topk(3)),
    "transpose_torch": lambda x: x.t(),
    "variance_far_one_pass": lambda x: x.var(-1, unbiased=False),
    "variance_far_torch": lambda x: x.var(-1, unbiased=False),
    "variance_one_pass": lambda x: x.var(-1, unbiased=False),
}


def _scaled(factor: float) -> Callable[[list[Any]], list[Any]]:
    """The first input scaled."""
    return lambda inputs: [inputs[0] * factor, *inputs[1:]]


WITNESS: dict[str, Callable[[list[Any]], list[Any]]] = {
    "argmax_last_tie": lambda inputs: [inputs[0].round()],
    "l2_norm_eps_placement": _scaled(1e-5),
    "relu6_missing_upper": _scaled(10.0),
    "rms_norm_wrong_eps": _scaled(1e-3),
    "row_max_zero_padding": lambda inputs: [-inputs[0].abs() - 1],
    "softmax_no_max": _scaled(100.0),
}
