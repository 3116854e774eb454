"""Clamp to [-1, 1]."""

import jax.numpy as jnp


def clamp(x):
    return jnp.minimum(jnp.maximum(x, -1.0), 1.0)
