"""Row softmax in jax.numpy."""

import jax.numpy as jnp


def softmax(x):
    e = jnp.exp(x - jnp.max(x, axis=1, keepdims=True))
    return e / jnp.sum(e, axis=1, keepdims=True)
