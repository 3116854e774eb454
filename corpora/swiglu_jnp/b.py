"""SwiGLU over a fused gate-and-up projection."""

import jax.numpy as jnp


def swiglu(x):
    gate, up = jnp.split(x, 2, axis=-1)
    return gate / (1.0 + jnp.exp(-gate)) * up
