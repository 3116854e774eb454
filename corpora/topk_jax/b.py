"""The three largest elements of each row."""

import jax


def topk(x):
    return jax.lax.top_k(x, 3)
