"""The table of approximate functions: what each implementation promises, and who says so.  Data, no code.

A bound is on |returned - exact real value| of f32 unless said otherwise; figures documented as a distance from the
correctly rounded result have 0.5 added.  docs/intrinsics.md is generated from it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf
from typing import Final, Literal

Status = Literal["documented", "measured", "derived", "assumed", "none"]


@dataclass(frozen=True)
class Bound:
    """Error at most (ulp + per_arg*|x|) ulps of the result plus ``absolute``, for ``least`` <= |x| <= ``limit``.

    Beyond the limit ``beyond`` holds, or nothing; of a quotient x is the divisor.  ``flushed``: the function's value at
    0, where subnormal arguments are taken for 0; None where they are not.
    """

    ulp: float
    absolute: float = 0.0
    per_arg: float = 0.0
    limit: float = inf
    source: str = ""
    status: Status = "documented"
    beyond: Bound | None = None
    least: float = 0.0
    flushed: float | None = None

    @property
    def declared(self) -> bool:
        return self.ulp < inf


NOTHING: Final = Bound(inf, source="not declared", status="none")
#: Taken for functions about which nobody says anything, so that they do not count as unknown.
ASSUMED: Final = Bound(2.0, source="no document: 2 ulp are assumed", status="assumed")

# CUDA C++ Programming Guide, appendix "Mathematical Functions", maximum ulp error, full range. Where editions 10 to 12
# differ the larger. "Generated from extensive but not exhaustive tests": the vendor's claim, no proof. (f32, f64)
CUDA: Final[dict[str, tuple[float, float]]] = {
    "add": (0, 0), "sub": (0, 0), "mul": (0, 0), "div": (0, 0), "fma": (0, 0), "sqrt": (0, 0), "rcp": (0, 0),
    "rsqrt": (2, 1), "cbrt": (1, 1), "hypot": (3, 2),
    "exp": (2, 1), "exp2": (2, 1), "exp10": (2, 1), "expm1": (1, 1),
    "log": (1, 1), "log2": (1, 1), "log10": (2, 1), "log1p": (1, 1),
    "sin": (2, 2), "cos": (2, 2), "tan": (4, 2), "sinpi": (2, 2), "cospi": (2, 2),
    "asin": (4, 2), "acos": (3, 2), "atan": (2, 2), "atan2": (3, 2),
    "sinh": (3, 2), "cosh": (2, 1), "tanh": (2, 2), "asinh": (3, 3), "acosh": (4, 3), "atanh": (3, 2),
    "pow": (9, 2), "erf": (2, 2), "erfc": (4, 5), "erfinv": (2, 5), "erfcinv": (4, 6), "erfcx": (4, 4),
    "normcdf": (5, 5), "tgamma": (11, 10), "i0": (6, 6), "i1": (6, 6),
}  # fmt: skip
# lgamma: 6 (f32) and 4 (f64) ulp outside about (-11, -2.26), "larger inside": kept apart, see declared_bound.

_PTX: Final = "PTX ISA, floating-point instructions, "
APPROX: Final[dict[str, Bound]] = {
    "rcp": Bound(1.0, source=_PTX + "rcp.approx.f32: 1 ulp"),
    "div": Bound(2.0, source=_PTX + "div.full.f32: 2 ulp"),
    "sqrt": Bound(2.0, source=_PTX + "sqrt.approx.f32: relative 2^-23"),
    "rsqrt": Bound(2.0**1.1, source=_PTX + "rsqrt.approx.f32: relative 2^-22.9"),
    "sin": Bound(
        0.0,
        2**-20.5,
        limit=6.2831,
        source=_PTX + "sin.approx.f32: absolute 2^-20.5 in [-2pi, 2pi]",
        beyond=Bound(0.0, 2**-14.7, limit=314.159, source=_PTX + "sin.approx.f32: 2^-14.7 in [-100pi, 100pi]"),
    ),
    "cos": Bound(
        0.0,
        2**-20.5,
        limit=6.2831,
        source=_PTX + "cos.approx.f32: absolute 2^-20.5 in [-2pi, 2pi]",
        beyond=Bound(0.0, 2**-14.7, limit=314.159, source=_PTX + "cos.approx.f32: 2^-14.7 in [-100pi, 100pi]"),
    ),
    "log2": Bound(4.0, 2**-22, source=_PTX + "lg2.approx.f32: absolute 2^-22 in (0.5, 2), relative 2^-22 elsewhere"),
    "exp2": Bound(2.5, source=_PTX + "ex2.approx.f32: 2 ulp of the correctly rounded result"),
    "tanh": Bound(2.0**13, source=_PTX + "tanh.approx.f32: relative 2^-11"),
}

#: Of f16 and bf16 instructions: absolute or relative to the result, instead of f32's rounded once more.
HALVES: Final[dict[tuple[str, str], Bound]] = {
    ("exp2", "f16"): Bound(2**1.1, source=_PTX + "ex2.approx.f16: relative 2^-9.9"),
    ("exp2", "bf16"): Bound(2.0, source=_PTX + "ex2.approx.ftz.bf16: relative 2^-7"),
    ("tanh", "f16"): Bound(0.0, 2**-10.987, source=_PTX + "tanh.approx.f16: absolute 2^-10.987"),
    ("tanh", "bf16"): Bound(0.0, 2**-8, source=_PTX + "tanh.approx.bf16: absolute 2^-8"),
}

_GUIDE: Final = "CUDA C++ Programming Guide, intrinsic functions (-use_fast_math)"
FAST: Final[dict[str, Bound]] = {
    "div": Bound(
        2.0, limit=2.0**126, least=2.0**-126, source=_PTX + "div.approx.f32: 2 ulp for |b| in [2^-126, 2^126]"
    ),
    "exp": Bound(2.5, per_arg=1.173, source=_GUIDE + ": __expf 2 + floor(|1.173 x|)"),
    "exp10": Bound(2.5, per_arg=2.97, source=_GUIDE + ": __exp10f 2 + floor(|2.97 x|)"),
    "log": Bound(3.5, 2**-21.41, source=_GUIDE + ": __logf absolute 2^-21.41 in [0.5, 2], else 3 ulp"),
    "log2": Bound(2.5, 2**-22, source=_GUIDE + ": __log2f absolute 2^-22 in [0.5, 2], else 2 ulp"),
    "log10": Bound(3.5, 2**-24, source=_GUIDE + ": __log10f absolute 2^-24 in [0.5, 2], else 3 ulp"),
    "sin": Bound(0.0, 2**-21.41, limit=3.1415, source=_GUIDE + ": __sinf absolute 2^-21.41 in [-pi, pi]"),
    "cos": Bound(0.0, 2**-21.19, limit=3.1415, source=_GUIDE + ": __cosf absolute 2^-21.19 in [-pi, pi]"),
}

# Triton 3.9's PTX for sm_90, f32: exp is ex2.approx(x * log2 e); div is div.full; sqrt and rsqrt are the approx.ftz
# instructions; exp2 is libdevice's (ex2.approx.ftz); log, log2, sin, cos and erf are libdevice's, compiled with ftz.
# Rounding x * log2 e (2^-24) and the constant (2^-26.2) moves the result by 1.22 |x| 2^-24 of itself.
TRITON: Final[dict[str, Bound]] = {
    "exp": Bound(2.5, per_arg=1.22, source="ex2.approx of x * log2(e) rounded to f32", status="derived"),
    "exp2": APPROX["exp2"], "div": APPROX["div"],
    "sqrt": replace(APPROX["sqrt"], flushed=0.0), "rsqrt": replace(APPROX["rsqrt"], flushed=inf),
    # 1 / (1 + ex2.approx(-x log2 e)): the exponential's relative error where it dominates, a rounded sum, div.full
    "sigmoid": Bound(5.5, per_arg=1.22, source="exp as above, one rounded sum, div.full", status="derived"),
}  # fmt: skip

# No document: twice the largest error seen on 400,000 normal f32 arguments against an f64 reference (jaxlib 0.10.2,
# CPU). lgamma and digamma are unbounded in ulp near their zeros.
XLA: Final[dict[str, Bound]] = {
    name: Bound(2 * seen, source="measured, doubled: jaxlib 0.10.2 CPU, f32", status="measured")
    for name, seen in {
        "exp": 5.3, "expm1": 5.3, "log": 1.2, "log2": 2.3, "log10": 2.5, "log1p": 2.4, "sin": 0.6, "cos": 0.6,
        "tan": 0.9, "asin": 2.2, "acos": 2.1, "atan": 0.9, "sinh": 24.5, "cosh": 24.5, "tanh": 3.9, "asinh": 2.9,
        "acosh": 4.2, "atanh": 2.8, "erf": 4.5, "erfc": 61.0, "erfinv": 63.0, "rsqrt": 1.7, "cbrt": 1.0,
        "sigmoid": 2.2, "i0e": 5.9, "i1e": 9.8,
    }.items()
} | {
    "exp2": Bound(8.0, per_arg=1.0, source="measured, doubled: jaxlib 0.10.2 CPU, f32, as exp(x ln 2)",
                  status="measured"),
}  # fmt: skip

# SLEEF reference: functions named _u10 have an error bound of 1.0 ulp; torch's CPU kernels use them on whole vectors.
SLEEF_U10: Final = frozenset({
    "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "asin", "acos", "atan", "atan2",
    "tanh", "erf", "pow", "lgamma", "atanh",
})  # fmt: skip
TORCH: Final[dict[str, Bound]] = {
    name: Bound(1.0, source="SLEEF reference, _u10: 1.0 ulp") for name in SLEEF_U10
} | {
    name: Bound(2 * seen, source="measured, doubled: torch 2.13 CPU, f32", status="measured")
    for name, seen in {"rsqrt": 1.5, "sqrt": 0.75, "asinh": 1.6, "acosh": 2.0, "erfc": 0.8, "erfinv": 0.5,
                       "sigmoid": 2.2, "i0e": 5.9, "i1e": 9.8}.items()
} | {"div": Bound(2.0, source="torch CUDA: a * (1 / b) for a number b, two roundings", status="derived")}  # fmt: skip

#: Trainium's engines: piecewise polynomials in these ranges of abs(x), with no error stated (NKI's documentation); the
#: 16 ulp (2^-20 of the result, far less than bf16 shows) are assumed.  Zero is no matter to sqrt.
_POLYNOMIAL = Bound(16.0, source="NKI documentation: a piecewise polynomial, no error stated", status="assumed")
TRAINIUM: Final[dict[str, Bound]] = {
    "exp": _POLYNOMIAL, "tanh": _POLYNOMIAL, "erf": _POLYNOMIAL, "div": _POLYNOMIAL,
    "log": replace(_POLYNOMIAL, least=2.0**-64, limit=2.0**64), "sin": replace(_POLYNOMIAL, limit=3.14159275),
    "atan": replace(_POLYNOMIAL, limit=1.5707964), "sqrt": replace(_POLYNOMIAL, limit=2.0**118),
    "rsqrt": replace(_POLYNOMIAL, least=2.0**-87, limit=2.0**97),
}  # fmt: skip
TRAINIUM_OTHER: Final = _POLYNOMIAL

#: Targets and whose table is meant there, by what a front end names: (pattern, implementation, table, why).
TARGETS: Final[tuple[tuple[str, str, str, str], ...]] = (
    (r"sm_\d+[a-z]?", "triton", "triton", "PTX ISA states one figure for every target from sm_75 to sm_120"),
    (r"sm_\d+[a-z]?", "cuda", "cuda", "libdevice: the guide states one figure for every target"),
    (r"sm_\d+[a-z]?", "cuda-fast", "cuda-fast", "the guide's intrinsics and PTX ISA, every target"),
    (r"sm_\d+[a-z]?", "torch", "torch-cuda", "torch's CUDA kernels call the CUDA library; the larger of both tables"),
    (r"sm_\d+[a-z]?", "xla", "xla-cuda", "left open by StableHLO; XLA calls libdevice or its own: the larger of both"),
    (r"cpu", "torch", "torch", "SLEEF on whole vectors"),
    (r"cpu", "xla", "xla", "left open by StableHLO; measured on this backend"),
    (r"tpu\w*", "xla", "xla-tpu", "left open by StableHLO, nothing is published: the CPU's figures are assumed"),
    (r"\w+", "nki", "trainium", "piecewise polynomials whose error nobody states: assumed"),
)
