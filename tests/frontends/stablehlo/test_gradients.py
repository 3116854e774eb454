"""Vector-Jacobian products lowered to KIR and evaluated, against jax's own."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from tests.frontends.stablehlo.support import assert_same, evaluate, integers, lower, normal

A, B, V = normal(3, 5, 7), normal(7, 4), normal(11)

CASES: dict[str, tuple[Any, ...]] = {
    "softmax": (lambda x: jax.nn.softmax(x), A),
    "maxpool": (lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 3), (1, 2, 1), "SAME"), A),
    "conv": (
        lambda x, k: lax.conv_general_dilated(
            x, k, (2, 1), "SAME", rhs_dilation=(1, 2), dimension_numbers=("NHWC", "HWIO", "NHWC")
        ),
        normal(2, 6, 7, 3),
        normal(3, 2, 3, 5),
    ),
    "sort": (lambda x: jnp.sort(x, axis=1), A),
    "cumsum": (lambda x: jnp.cumsum(x, 1), A),
    "cumprod": (lambda x: jnp.cumprod(x, 1), A),
    "take": (lambda x, j: jnp.take(x, j, axis=1), A, integers(2, 3)),
    "max": (lambda x: x.max(1), A),
    "gelu": (jax.nn.gelu, A),
    "scan": (lambda x: lax.scan(lambda c, y: (c * 0.5 + y, c), 0.0, x), V),
    "sdpa": (
        lambda q, k, v: jax.nn.dot_product_attention(q, k, v, is_causal=True),
        normal(2, 6, 3, 4),
        normal(2, 6, 3, 4),
        normal(2, 6, 3, 4),
    ),
    "prod": (jnp.prod, V),
    "dwconv": (
        lambda x, k: lax.conv_general_dilated(x, k, (1,), [(1, 1)], feature_group_count=4),
        normal(2, 4, 9),
        normal(8, 1, 3),
    ),
    "topk": (lambda x: lax.top_k(x, 3), A),
    "lse": (jax.nn.logsumexp, A),
    "einsum": (lambda a, b: jnp.einsum("abc,cd->dab", a, b), A, B),
    "cumlse": (lambda x: lax.cumlogsumexp(x, axis=0), A),
}


@pytest.mark.parametrize("name", CASES)
def test_a_gradient_is_jax_s_gradient(name: str) -> None:
    fn, *args = CASES[name]
    floats = [a for a in args if a.dtype.kind == "f"]
    out, pullback = jax.vjp(lambda *given: fn(*given, *args[len(given) :]), *floats)
    leaves, tree = jax.tree_util.tree_flatten(out)
    seeds = [_seed(leaf, i) for i, leaf in enumerate(leaves)]
    given = [seed for seed in seeds if seed.dtype != jax.dtypes.float0]
    program = lower(fn, *args, backward=True)
    gradients = evaluate(program, *args, *given)[len(leaves) :]
    for got, want in zip(gradients, pullback(tree.unflatten(seeds)), strict=True):
        assert_same(got, np.asarray(want), ulps=512)


def _seed(leaf: Any, i: int) -> np.ndarray:
    if not jnp.issubdtype(leaf.dtype, jnp.floating):
        return np.zeros(leaf.shape, jax.dtypes.float0)
    return normal(*leaf.shape, seed=7 + i).astype(leaf.dtype)
