"""Causal softmax of a square score matrix."""

import jax.numpy as jnp


def causal_softmax(x):
    x = jnp.where(jnp.tri(x.shape[0], dtype=bool), x, -jnp.inf)
    e = jnp.exp(x - jnp.max(x, axis=-1, keepdims=True))
    return e / jnp.sum(e, axis=-1, keepdims=True)
