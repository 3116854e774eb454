"""Handlers of StableHLO and CHLO ops, one file per family.  Importing this package registers them all."""

from lowering.frontends.stablehlo.ops import (
    bits,
    calls,
    chlo,
    control,
    convolution,
    elementwise,
    indexing,
    products,
    random,
    reduction,
    scattering,
    shape,
    sorting,
    windows,
)

__all__ = [
    "bits",
    "calls",
    "chlo",
    "control",
    "convolution",
    "elementwise",
    "indexing",
    "products",
    "random",
    "reduction",
    "scattering",
    "shape",
    "sorting",
    "windows",
]
