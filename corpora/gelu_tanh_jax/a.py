"""GELU, tanh approximation."""

import jax


def gelu(x):
    return jax.nn.gelu(x, approximate=True)
