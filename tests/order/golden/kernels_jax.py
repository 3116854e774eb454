"""JAX and Pallas functions whose accumulation order is plain to see, or left open by StableHLO."""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def total(x):
    return x.sum(axis=1)


def dot(x, y):
    return jnp.dot(x, y)


def fori(x):
    return jax.lax.fori_loop(0, x.shape[1], lambda i, acc: acc + x[:, i], jnp.zeros(x.shape[0], x.dtype))


def scan(x):
    return jax.lax.scan(lambda acc, column: (acc + column, None), jnp.zeros(x.shape[0], x.dtype), x.T)[0]


def pairwise(x):
    while x.shape[1] > 1:
        x = x[:, 0::2] + x[:, 1::2]
    return x[:, 0]


def _sum_kernel(x_ref, o_ref):
    @pl.when(pl.program_id(0) == 0)
    def _():
        o_ref[...] = jnp.zeros_like(o_ref)

    o_ref[...] += jnp.sum(x_ref[...], axis=1)


def pallas_blocks(x):
    return pl.pallas_call(
        _sum_kernel,
        out_shape=jax.ShapeDtypeStruct((x.shape[0],), x.dtype),
        grid=(x.shape[1] // 16,),
        in_specs=[pl.BlockSpec((x.shape[0], 16), lambda k: (0, k))],
        out_specs=pl.BlockSpec((x.shape[0],), lambda k: (0,)),
        interpret=True,
    )(x)
