"""Random bits made by the backend's generator.  jax's default threefry needs none of this: it is integer ops."""

from __future__ import annotations

from collections.abc import Sequence

from lowering.frontends.stablehlo.node import Node, handles
from lowering.ir.program import Value


@handles("stablehlo.rng_bit_generator")
def _rng_bit_generator(node: Node) -> Sequence[Value]:
    node.translator.note("rng_bit_generator's bits are the backend's: two programs that draw them do not compare equal")
    return [node.b("random", to=t.dtype.name, shape=t.shape, dist="bits", stream=i) for i, t in enumerate(node.types)]


@handles("stablehlo.rng")
def _rng(node: Node) -> Value:
    raise node.unsupported("a stateful generator", "use jax.random with a key")
