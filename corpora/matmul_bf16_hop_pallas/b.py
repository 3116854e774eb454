"""Matmul of bf16, tiled over K in Pallas; each tile's product takes a hop through bf16."""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl

BK = 16


def _matmul_kernel(a_ref, b_ref, o_ref):
    @pl.when(pl.program_id(0) == 0)
    def _():
        o_ref[...] = jnp.zeros_like(o_ref)

    tile = jnp.dot(a_ref[...], b_ref[...], preferred_element_type=jnp.bfloat16)
    o_ref[...] += tile.astype(jnp.float32)


def matmul(a, b):
    (m, k), n = a.shape, b.shape[1]
    assert k % BK == 0, "K is a multiple of the tile"
    return pl.pallas_call(
        _matmul_kernel,
        grid=(k // BK,),
        in_specs=[pl.BlockSpec((m, BK), lambda i: (0, i)), pl.BlockSpec((BK, n), lambda i: (i, 0))],
        out_specs=pl.BlockSpec((m, n), lambda i: (0, 0)),
        out_shape=jax.ShapeDtypeStruct((m, n), jnp.float32),
        interpret=True,
    )(a, b)
