"""Random bits of a generator that is the backend's.  jax's default threefry needs none of this: it is integer ops."""

from __future__ import annotations

from collections.abc import Sequence

from lowering.frontends.stablehlo.node import Node, handles
from lowering.ir.program import Value


@handles("stablehlo.rng_bit_generator")
def _rng_bit_generator(node: Node) -> Sequence[Value]:
    raise node.unsupported("bits that the backend's generator makes of a key", "use jax.random with a threefry key")


@handles("stablehlo.rng")
def _rng(node: Node) -> Value:
    raise node.unsupported("a stateful generator", "use jax.random with a key")
