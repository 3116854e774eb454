"""Linear layer with bias and ReLU."""

import jax.numpy as jnp


def linear_relu(x, w, bias):
    y = jnp.dot(x, w, preferred_element_type=jnp.float32) + bias
    return jnp.maximum(y, 0.0).astype(x.dtype)
