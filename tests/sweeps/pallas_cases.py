"""The Pallas operators that jax ships, each with the reference it is meant to equal: as data.

Takes nothing; gives CASES: name -> (operator, reference, argument arrays).  jax's own references where it has one.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np


@dataclass(frozen=True, slots=True)
class PallasCase:
    operator: Callable[..., Any]
    reference: Callable[..., Any]
    arguments: tuple[np.ndarray, ...]


def normal(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng([seed, *shape]).standard_normal(shape).astype(np.float32)


def library(module: str) -> Any:
    return importlib.import_module(f"jax.experimental.pallas.ops.{module}")


def mha(q: Any, k: Any, v: Any) -> Any:
    gpu = library("gpu.attention")
    return gpu.mha(q, k, v, segment_ids=None, causal=True, block_sizes=gpu.BlockSizes(block_q=16, block_k=16))


def mqa(q: Any, k: Any, v: Any) -> Any:
    return library("gpu.decode_attention").mqa(q, k, v, block_h=16, block_k=16, k_splits=2)


def gqa(q: Any, k: Any, v: Any) -> Any:
    return library("gpu.decode_attention").gqa(q, k, v, block_h=16, block_k=16, k_splits=2)


def flash(q: Any, k: Any, v: Any) -> Any:
    tpu = library("tpu.flash_attention")
    sizes = tpu.BlockSizes(block_q=128, block_k_major=128, block_k=128, block_b=1)
    return tpu.flash_attention(q, k, v, causal=True, block_sizes=sizes)


def attention(q: Any, k: Any, v: Any, scale: float = 1.0) -> Any:
    """Causal attention of [batch, heads, length, size] as the formula says."""
    scores = jnp.einsum("bhqd,bhkd->bhqk", q, k) * scale
    seen = jnp.tril(jnp.ones(scores.shape[-2:], bool))
    return jnp.einsum("bhqk,bhkd->bhqd", jax.nn.softmax(jnp.where(seen, scores, -jnp.inf), axis=-1), v)


def splash(q: Any, k: Any, v: Any) -> Any:
    tpu = library("tpu.splash_attention")
    mask = tpu.MultiHeadMask([tpu.CausalMask((256, 256))] * 2)
    return jax.vmap(tpu.make_splash_mha(mask, head_shards=1, q_seq_shards=1))(q, k, v)


def matmul(x: Any, y: Any) -> Any:
    return library("tpu.matmul").matmul(x, y, block_shape=(128, 128), block_k=128)


def grouped(x: Any, y: Any, sizes: Any) -> Any:
    gmm = library("tpu.megablox.gmm").gmm
    return gmm(x, y, sizes, preferred_element_type=jnp.float32, tiling=(128, 128, 128))


def grouped_reference(x: Any, y: Any, sizes: Any) -> Any:
    which = jnp.searchsorted(jnp.cumsum(sizes), jnp.arange(x.shape[0]), side="right")
    return jnp.einsum("mk,mkn->mn", x, y[which])


HEADS = tuple(normal(1, 2, 256, 128, seed=i) for i in range(3))

CASES: dict[str, PallasCase] = {
    "gpu softmax": PallasCase(
        lambda x: library("gpu.softmax").softmax(x), lambda x: jax.nn.softmax(x, axis=-1), (normal(5, 32),)
    ),
    "gpu layer_norm": PallasCase(
        lambda x, w, b: library("gpu.layer_norm").layer_norm(x, w, b),
        lambda x, w, b: library("gpu.layer_norm").layer_norm_reference(x, w, b),
        (normal(2, 5, 32), normal(32), normal(32, seed=1)),
    ),
    "gpu rms_norm": PallasCase(
        lambda x, w, b: library("gpu.rms_norm").rms_norm(x, w, b),
        lambda x, w, b: library("gpu.rms_norm").rms_norm_reference(x, w, b),
        (normal(2, 5, 32), normal(32), normal(32, seed=1)),
    ),
    "gpu mha": PallasCase(
        mha,
        lambda q, k, v: library("gpu.attention").mha_reference(q, k, v, segment_ids=None, causal=True),
        tuple(normal(1, 32, 2, 16, seed=i) for i in range(3)),
    ),
    "gpu mqa": PallasCase(
        mqa,
        lambda q, k, v: library("gpu.decode_attention").mqa_reference(q, k, v),
        (normal(1, 16, 32), normal(1, 64, 32), normal(1, 64, 32, seed=1)),
    ),
    "gpu gqa": PallasCase(
        gqa,
        lambda q, k, v: library("gpu.decode_attention").gqa_reference(q, k, v),
        (normal(1, 32, 32), normal(1, 64, 2, 32), normal(1, 64, 2, 32, seed=1)),
    ),
    "tpu flash attention": PallasCase(flash, attention, HEADS),
    "tpu splash attention": PallasCase(splash, attention, HEADS),
    "tpu matmul": PallasCase(matmul, jnp.matmul, (normal(256, 256), normal(256, 128))),
    "tpu grouped matmul": PallasCase(
        grouped, grouped_reference, (normal(256, 128), normal(3, 128, 128), np.array([100, 56, 100], np.int32))
    ),
}
