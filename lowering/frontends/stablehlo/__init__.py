"""StableHLO front end: module text in, KIR program out."""

from lowering.frontends.stablehlo.translate import lower_module

__all__ = ["lower_module"]
