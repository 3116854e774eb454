"""What implementations promise about elementary functions: takes names, gives error bounds in ulp with their source.

A bound is on |returned - exact real value|, so a correctly rounded function has 0.5; figures documented as a distance
from the correctly rounded result have 0.5 added. Must not evaluate any function.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf
from typing import Final, Literal

import numpy as np
import numpy.typing as npt

from .formats import Array, format_of, ulp

Implementation = Literal["exact", "cuda", "cuda-fast", "ptx", "triton", "xla", "torch"]


@dataclass(frozen=True)
class Bound:
    """Error at most (ulp + per_arg*|x|) ulps of the result plus ``absolute``, for |x| <= limit; beyond, nothing."""

    ulp: float
    absolute: float = 0.0
    per_arg: float = 0.0
    limit: float = inf
    source: str = ""

    @property
    def declared(self) -> bool:
        return self.ulp < inf


NOTHING: Final = Bound(inf, source="not declared")

# CUDA C++ Programming Guide, appendix "Mathematical Functions", maximum ulp error, full range. Where editions 10 to 12
# differ the larger. "Generated from extensive but not exhaustive tests": the vendor's claim, no proof. (f32, f64)
_CUDA: Final[dict[str, tuple[float, float]]] = {
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
_APPROX: Final[dict[str, Bound]] = {
    "rcp": Bound(1.0, source=_PTX + "rcp.approx.f32: 1 ulp"),
    "div": Bound(2.0, source=_PTX + "div.full.f32: 2 ulp"),
    "sqrt": Bound(2.0, source=_PTX + "sqrt.approx.f32: relative 2^-23"),
    "rsqrt": Bound(2.0**1.1, source=_PTX + "rsqrt.approx.f32: relative 2^-22.9"),
    "sin": Bound(0.0, 2**-20.5, limit=6.2831, source=_PTX + "sin.approx.f32: absolute 2^-20.5 in [-2pi, 2pi]"),
    "cos": Bound(0.0, 2**-20.5, limit=6.2831, source=_PTX + "cos.approx.f32: absolute 2^-20.5 in [-2pi, 2pi]"),
    "log2": Bound(4.0, 2**-22, source=_PTX + "lg2.approx.f32: absolute 2^-22 in (0.5, 2), relative 2^-22 elsewhere"),
    "exp2": Bound(2.5, source=_PTX + "ex2.approx.f32: 2 ulp of the correctly rounded result"),
    "tanh": Bound(2.0**13, source=_PTX + "tanh.approx.f32: relative 2^-11"),
}

_GUIDE: Final = "CUDA C++ Programming Guide, intrinsic functions (-use_fast_math)"
_FAST: Final[dict[str, Bound]] = {
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
_TRITON: Final[dict[str, Bound]] = {
    "exp": Bound(2.5, per_arg=1.22, source="ex2.approx of x * log2(e) rounded to f32"),
    "exp2": _APPROX["exp2"], "div": _APPROX["div"], "sqrt": _APPROX["sqrt"], "rsqrt": _APPROX["rsqrt"],
    # 1 / (1 + ex2.approx(-x log2 e)): the exponential's relative error where it dominates, a rounded sum, div.full
    "sigmoid": Bound(5.5, per_arg=1.22, source="exp as above, one rounded sum, div.full"),
}  # fmt: skip

# No document: twice the largest error seen on 400,000 normal f32 arguments against an f64 reference (jaxlib 0.10.2,
# CPU). lgamma and digamma are unbounded in ulp near their zeros.
_XLA: Final[dict[str, Bound]] = {
    name: Bound(2 * seen, source="measured, doubled: jaxlib 0.10.2 CPU, f32")
    for name, seen in {
        "exp": 5.3, "expm1": 5.3, "log": 1.2, "log2": 2.3, "log10": 2.5, "log1p": 2.4, "sin": 0.6, "cos": 0.6,
        "tan": 0.9, "asin": 2.2, "acos": 2.1, "atan": 0.9, "sinh": 24.5, "cosh": 24.5, "tanh": 3.9, "asinh": 2.9,
        "acosh": 4.2, "atanh": 2.8, "erf": 4.5, "erfc": 61.0, "erfinv": 63.0, "rsqrt": 1.7, "cbrt": 1.0,
        "sigmoid": 2.2, "i0e": 5.9, "i1e": 9.8,
    }.items()
} | {"exp2": Bound(8.0, per_arg=1.0, source="measured, doubled: jaxlib 0.10.2 CPU, f32, as exp(x ln 2)")}  # fmt: skip

# SLEEF reference: functions named _u10 have an error bound of 1.0 ulp; torch's CPU kernels use them on whole vectors.
_SLEEF_U10: Final = frozenset({
    "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "asin", "acos", "atan", "atan2",
    "tanh", "erf", "pow", "lgamma", "atanh",
})  # fmt: skip
_TORCH: Final[dict[str, Bound]] = {
    name: Bound(1.0, source="SLEEF reference, _u10: 1.0 ulp") for name in _SLEEF_U10
} | {
    name: Bound(2 * seen, source="measured, doubled: torch 2.13 CPU, f32")
    for name, seen in {"rsqrt": 1.5, "sqrt": 0.75, "asinh": 1.6, "acosh": 2.0, "erfc": 0.8, "erfinv": 0.5,
                       "sigmoid": 2.2, "i0e": 5.9, "i1e": 9.8}.items()
} | {"div": Bound(2.0, source="torch CUDA: a * (1 / b) for a number b, two roundings")}  # fmt: skip

_BASIC: Final = frozenset({"add", "sub", "mul", "div", "sqrt", "fma", "rcp", "rem"})
_EXACT: Final = Bound(0.5, source="IEEE 754-2019 §5.4.1: correctly rounded")


def _cuda(fn: str, dtype: str) -> Bound:
    if fn == "lgamma":
        return Bound(4.5 if dtype == "f64" else 6.5, source="CUDA guide, outside (-11.0001, -2.2637); none inside")
    if fn not in _CUDA:
        return NOTHING
    return Bound(_CUDA[fn][dtype == "f64"] + 0.5, source="CUDA C++ Programming Guide, maximum ulp error")


def _single_or_double(fn: str, dtype: str, implementation: str) -> Bound:
    """The bound in f32 or f64; tables of f32 say nothing about f64, but for the basic operations."""
    if implementation == "exact":
        return _EXACT
    single = dtype == "f32"
    if implementation == "ptx":
        return _APPROX.get(fn, NOTHING) if single else NOTHING
    if implementation in ("cuda", "cuda-fast", "triton"):
        table = {"cuda": {}, "cuda-fast": _APPROX | _FAST, "triton": _TRITON}[implementation]
        return table[fn] if single and fn in table else _cuda(fn, dtype)
    table = _XLA if implementation == "xla" else _TORCH
    known = single or (implementation == "torch" and (fn in _SLEEF_U10 or fn == "div"))
    return table[fn] if known and fn in table else _EXACT if fn in _BASIC else NOTHING


_IMPLEMENTATIONS: Final = ("exact", "cuda", "cuda-fast", "ptx", "triton", "xla", "torch")


def declared_bound(fn: str, dtype: str, implementation: Implementation = "cuda") -> Bound:
    """The declared bound of ``fn`` in ``dtype``; ``NOTHING`` where none is.

    f16, bf16, TF32 and fp8 are computed in f32 by every implementation here and rounded once more: half an ulp, plus
    the f32 error in the coarser ulps (doubled: the rounding may cross a binade).
    """
    if implementation not in _IMPLEMENTATIONS:
        raise KeyError(f"no implementation {implementation!r}; known: {', '.join(_IMPLEMENTATIONS)}")
    if dtype in ("f32", "f64"):
        return _single_or_double(fn, dtype, implementation)
    fine, scale = _single_or_double(fn, "f32", implementation), 2.0 ** (format_of(dtype).p - 23)
    if implementation == "exact" or (fn in _BASIC and fine.ulp == 0.5):
        return _EXACT
    return replace(fine, ulp=0.5 + fine.ulp * scale, per_arg=fine.per_arg * scale)


def declared_ulp(fn: str, dtype: str, implementation: Implementation = "cuda") -> float:
    """Largest declared error in ulp for every argument; infinity where there is none or it is not a number of ulps."""
    bound = declared_bound(fn, dtype, implementation)
    return inf if bound.absolute or bound.per_arg or bound.limit < inf else bound.ulp


def error_at(bound: Bound, x: Array, result: Array, dtype: str) -> npt.NDArray[np.float64]:
    """Absolute error allowed at each argument x (largest in magnitude, if several), given results or references there.

    Subnormal results are charged one smallest normal: approximate units flush them.
    """
    wide = np.abs(np.asarray(x).astype(np.float64))
    with np.errstate(all="ignore"):
        step = ulp(result, dtype)
        error = (bound.ulp + bound.per_arg * wide) * step if bound.per_arg else bound.ulp * step
        error = error + bound.absolute if bound.absolute else error
        tiny = np.abs(np.asarray(result)).astype(np.float64) < format_of(dtype).smallest_normal
        error = error + tiny * format_of(dtype).smallest_normal if tiny.any() else error
        outside = ~(wide <= bound.limit)
    return np.where(outside, inf, error) if outside.any() else error
