"""Sum of each row."""

import jax.numpy as jnp


def row_sum(x):
    return jnp.sum(x, axis=-1, keepdims=True)
