"""Difference of two tensors."""

import jax.numpy as jnp


def difference(prediction, target):
    return jnp.subtract(prediction, target)
