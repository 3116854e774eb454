"""The Pallas operators that jax ships, for TPU and GPU: lowered, evaluated, and free of undefined lanes."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lowering.capture.jax_pallas import instrumented_pallas
from tests.frontends.stablehlo.support import assert_same, evaluate, lower, normal, undefined_lanes

pytestmark = pytest.mark.slow


def _library(module: str) -> Any:
    return importlib.import_module(f"jax.experimental.pallas.ops.{module}")


def _mha(q: Any, k: Any, v: Any) -> Any:
    gpu = _library("gpu.attention")
    return gpu.mha(q, k, v, segment_ids=None, causal=True, block_sizes=gpu.BlockSizes(block_q=16, block_k=16))


def _decode(q: Any, k: Any, v: Any) -> Any:
    return _library("gpu.decode_attention").mqa(q, k, v, block_h=16, block_k=16, k_splits=2)


def _flash(q: Any, k: Any, v: Any) -> Any:
    tpu = _library("tpu.flash_attention")
    sizes = tpu.BlockSizes(block_q=128, block_k_major=128, block_k=128, block_b=1)
    return tpu.flash_attention(q, k, v, causal=True, block_sizes=sizes)


def _matmul(x: Any, y: Any) -> Any:
    return _library("tpu.matmul").matmul(x, y, block_shape=(128, 128), block_k=128)


def _gmm(x: Any, y: Any, sizes: Any) -> Any:
    grouped = _library("tpu.megablox.gmm").gmm
    return grouped(x, y, sizes, preferred_element_type=jnp.float32, tiling=(128, 128, 128))


def _splash(q: Any, k: Any, v: Any) -> Any:
    tpu = _library("tpu.splash_attention")
    mask = tpu.MultiHeadMask([tpu.CausalMask((256, 256))] * 2)
    return jax.vmap(tpu.make_splash_mha(mask, head_shards=1, q_seq_shards=1))(q, k, v)


CASES: dict[str, tuple[Callable[..., Any], tuple[np.ndarray, ...]]] = {
    "gpu softmax": (lambda x: _library("gpu.softmax").softmax(x), (normal(5, 32),)),
    "gpu layer_norm": (
        lambda x, w, b: _library("gpu.layer_norm").layer_norm(x, w, b),
        (normal(2, 5, 32), normal(32), normal(32, seed=1)),
    ),
    "gpu rms_norm": (
        lambda x, w, b: _library("gpu.rms_norm").rms_norm(x, w, b),
        (normal(2, 5, 32), normal(32), normal(32, seed=1)),
    ),
    "gpu mha": (_mha, tuple(normal(1, 32, 2, 16, seed=i) for i in range(3))),
    "gpu mqa": (_decode, (normal(1, 16, 32), normal(1, 64, 32), normal(1, 64, 32, seed=1))),
    "tpu flash attention": (_flash, tuple(normal(1, 2, 256, 128, seed=i) for i in range(3))),
    "tpu matmul": (_matmul, (normal(256, 256), normal(256, 128))),
    "tpu grouped matmul": (_gmm, (normal(256, 128), normal(3, 128, 128), np.array([100, 56, 100], np.int32))),
    "tpu splash attention": (_splash, tuple(normal(1, 2, 256, 128, seed=i) for i in range(3))),
}


@pytest.mark.parametrize("name", CASES)
def test_an_operator_computes_what_jax_s_interpreter_computes(name: str) -> None:
    fn, args = CASES[name]
    with instrumented_pallas([]):
        wanted = jax.tree_util.tree_leaves(jax.jit(lambda *given: fn(*given))(*args))
    program = lower(fn, *args)
    for got, want in zip(evaluate(program, *args), wanted, strict=True):
        assert_same(got, np.asarray(want), ulps=1024)
    assert undefined_lanes(program, *args) == 0
