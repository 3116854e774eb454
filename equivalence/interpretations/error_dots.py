"""What a dot's operands and products lose before they are added: coarser operands, split ones, products that underflow.

Takes names of formats and magnitudes; gives errors in f64.  Must not know Lanes or sites.
"""

from __future__ import annotations

import numpy as np

from equivalence.numerics.formats import format_of
from lowering.ir.types import DType

Array = np.ndarray


class Split:
    """A dot whose f32 operands are sums of ``parts`` of a narrow format, of which small products are left out.

    As Triton's F32DotTC pass and XLA's dot algorithms do it (Henry, Tang and Heinecke, arXiv:1904.06376): a1 = rnd(a),
    a2 = rnd(a - a1) and so on, to nearest, so |a - a1 - ... - ai| <= u^i |a| and |ai| <= u^(i-1) (1 + u) |a|.  Of two
    parts a2 b2 is left out, of three a2 b3, a3 b2 and a3 b3.  With s parts, which miss r of an operand, a product is
    off by r(a) b + a r(b) - r(a) r(b), at most 2 u^s + u^2s of |a| |b|, and by what is left out, at most (1 + u)^2
    times u^2 of two parts, or 2 u^3 + u^4 of three.
    """

    def __init__(self, fmt: str, parts: int) -> None:
        self.format = format_of(fmt)
        u = 2.0**-self.format.p
        self.products = {2: 3, 3: 6}[parts]
        left_out = {2: u**2, 3: 2 * u**3 + u**4}[parts]
        self.lost = (2 * u**parts + u ** (2 * parts) + (1 + u) ** 2 * left_out) * (1 + 2.0**-40)
        self.spread = ((1 + u) / (1 - u)) ** 2  # magnitudes of all products of parts against |a| |b|

    def beyond(self, size: Array) -> Array:
        """Errors of operands whose parts are subnormal, and so perhaps flushed, or that the format does not hold."""
        lowest = 2.0 ** (self.format.emin + 3 * self.format.p)
        small = (size > 0) & (size < lowest)
        large = size > self.format.max
        if not (small.any() or large.any()):
            return np.zeros((1,) * size.ndim)
        return np.where(large, np.inf, np.where(small, np.minimum(size, 2.0 ** (self.format.emin + 2)), 0.0))


#: What rounding a dot's operand costs: (of the value, at least), by precision.
COARSE = {name: (2.0**-fmt.p, 2.0 ** (fmt.emin - fmt.p)) for name in ("tf32", "bf16") for fmt in [format_of(name)]}
#: By a dot's precision; products of two parts are exact in f32.
SPLITS = {"tf32x3": Split("tf32", 2), "bf16x3": Split("bf16", 2), "bf16x6": Split("bf16", 3)}


def underflow(a: DType, b: DType, out: DType) -> float:
    """What a product may lose where it is subnormal; 0 where the format holds every product of the operands'."""
    low = sum(format_of(x.name).emin - format_of(x.name).p + 1 for x in (a, b))
    fmt = format_of(out.name)
    return 0.0 if low > fmt.emin - fmt.p else 2.0 ** (fmt.emin - fmt.p)
