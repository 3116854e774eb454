"""Attention by its definition: scores and softmax in f32, probabilities rounded to f16; [B*H, L, D]."""

import jax.numpy as jnp


def attention(q, k, v):
    s = jnp.einsum("bld,bmd->blm", q, k, preferred_element_type=jnp.float32) * q.shape[-1] ** -0.5
    p = jnp.exp(s - jnp.max(s, axis=-1, keepdims=True))
    l = jnp.sum(p, axis=-1, keepdims=True)
    o = jnp.einsum("blm,bmd->bld", p.astype(jnp.float16), v, preferred_element_type=jnp.float32)
    return (o / l).astype(jnp.float16)
