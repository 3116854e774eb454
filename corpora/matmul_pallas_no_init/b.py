"""Matmul in Pallas: tiles of M and K, f32 output."""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl

BM, BK = 16, 32


def _matmul_kernel(a_ref, b_ref, o_ref):
    o_ref[...] = jnp.dot(a_ref[...], b_ref[...], preferred_element_type=jnp.float32)


def matmul(a, b):
    (m, k), n = a.shape, b.shape[1]
    pad = -k % BK
    a = jnp.pad(a, ((0, 0), (0, pad)))
    b = jnp.pad(b, ((0, pad), (0, 0)))
    return pl.pallas_call(
        _matmul_kernel,
        grid=(pl.cdiv(m, BM), (k + pad) // BK),
        in_specs=[pl.BlockSpec((BM, BK), lambda i, j: (i, j)), pl.BlockSpec((BK, n), lambda i, j: (j, 0))],
        out_specs=pl.BlockSpec((BM, n), lambda i, j: (i, 0)),
        out_shape=jax.ShapeDtypeStruct((m, n), jnp.float32),
        interpret=True,
    )(a, b)
