"""Attention by its definition, in full f32."""

import jax
import jax.numpy as jnp


def attention(q, k, v):
    highest = jax.lax.Precision.HIGHEST
    s = jnp.matmul(q, k.T, precision=highest) * q.shape[-1] ** -0.5
    p = jnp.exp(s - jnp.max(s, axis=-1, keepdims=True))
    p = p / jnp.sum(p, axis=-1, keepdims=True)
    return jnp.matmul(p, v, precision=highest)
