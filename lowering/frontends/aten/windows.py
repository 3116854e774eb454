"""Sliding windows over the spatial dimensions of [N, C, ...]: what convolution and pooling are built on."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

from lowering.frontends.aten.context import Context
from lowering.ir.program import Value


@dataclass(frozen=True, slots=True)
class Window:
    """Kernel extents, strides and dilations, one per spatial dimension."""

    size: tuple[int, ...]
    stride: tuple[int, ...]
    dilation: tuple[int, ...]

    @property
    def count(self) -> int:
        return math.prod(self.size)

    def reach(self, d: int) -> int:
        """Extent of the dilated kernel along spatial dimension ``d``."""
        return self.dilation[d] * (self.size[d] - 1) + 1

    def outputs(self, extents: Sequence[int]) -> tuple[int, ...]:
        """How many windows fit."""
        return tuple((n - self.reach(d)) // self.stride[d] + 1 for d, n in enumerate(extents))


def spread(values: int | Sequence[int], rank: int) -> tuple[int, ...]:
    """One number per spatial dimension."""
    given = (values,) if isinstance(values, int) else tuple(values)
    return given * rank if len(given) == 1 else given


def patches(ctx: Context, x: Value, window: Window, outputs: Sequence[int]) -> Value:
    """[N, C, ...] -> [N, C, window.count, outputs...], offsets within the window in row-major order."""
    b, lead = ctx.builder, x.type.shape[:2]
    parts = []
    for offset in itertools.product(*map(range, window.size)):
        start = [o * d for o, d in zip(offset, window.dilation, strict=True)]
        limit = [s + st * (n - 1) + 1 for s, st, n in zip(start, window.stride, outputs, strict=True)]
        part = b("slice", x, start=(0, 0, *start), limit=(*lead, *limit), step=(1, 1, *window.stride))
        parts.append(b.reshape(part, (*lead, 1, *outputs)))
    return parts[0] if len(parts) == 1 else b("concat", *parts, axis=2)


def pad_spatial(ctx: Context, x: Value, low: Sequence[int], high: Sequence[int], value: float,
                interior: Sequence[int] | None = None) -> Value:  # fmt: skip
    """Pads (or crops) the spatial dimensions; ``interior`` puts lanes between neighbours."""
    between = tuple(interior or (0,) * len(low))
    if not any((*low, *high, *between)):
        return x
    filler = ctx.builder.constant(value, x.type.dtype)
    return ctx.builder("pad", x, filler, low=(0, 0, *low), high=(0, 0, *high), interior=(0, 0, *between))
