"""What implementations promise about elementary functions: takes names, gives error bounds in ulp with their source.

The figures are in ``intrinsic_table``; this says which of them holds for a function, a format, an implementation and a
target.  Must not evaluate any function.
"""

from __future__ import annotations

import re
from dataclasses import replace
from math import inf
from typing import Final, Literal

import numpy as np
import numpy.typing as npt

from equivalence.numerics import intrinsic_table as figures
from equivalence.numerics.intrinsic_table import NOTHING, Bound

from .formats import Array, format_of, ulp

Implementation = Literal["exact", "cuda", "cuda-fast", "ptx", "triton", "xla", "torch", "nki"]
DEFAULT_TARGET: Final = "sm_80"

_BASIC: Final = frozenset({"add", "sub", "mul", "div", "sqrt", "fma", "rcp", "rem"})
_EXACT: Final = Bound(0.5, source="IEEE 754-2019 §5.4.1: correctly rounded")
#: Values at 0 of functions that libdevice, compiled with ftz, gives subnormal arguments.
_AT_ZERO: Final = {"log": -inf, "log2": -inf, "log10": -inf}


def table_for(implementation: str, target: str) -> str:
    """Whose figures are meant on ``target``."""
    for pattern, name, table, _ in figures.TARGETS:
        if name == implementation and re.fullmatch(pattern, target):
            return table
    return implementation


def _cuda(fn: str, dtype: str) -> Bound:
    if fn == "lgamma":
        return Bound(4.5 if dtype == "f64" else 6.5, source="CUDA guide, outside (-11.0001, -2.2637); none inside")
    if fn not in figures.CUDA:
        return NOTHING
    return Bound(figures.CUDA[fn][dtype == "f64"] + 0.5, source="CUDA C++ Programming Guide, maximum ulp error")


def _nvidia(fn: str, dtype: str, table: str) -> Bound:
    """CUDA's library, its fast intrinsics, PTX or Triton: figures of f32 say nothing about f64."""
    single = {"cuda": {}, "ptx": figures.APPROX, "cuda-fast": figures.APPROX | figures.FAST, "triton": figures.TRITON}
    if dtype == "f32" and fn in single[table]:
        return single[table][fn]
    if table == "ptx":
        return NOTHING
    bound = _cuda(fn, dtype)
    if table == "triton" and dtype == "f32" and fn in _AT_ZERO and bound.declared:
        return replace(bound, flushed=_AT_ZERO[fn])
    return bound


def _library(fn: str, dtype: str, table: str) -> Bound:
    """torch's or XLA's own functions."""
    rows = figures.XLA if table == "xla" else figures.TORCH
    known = dtype == "f32" or (table == "torch" and (fn in figures.SLEEF_U10 or fn == "div"))
    return rows[fn] if known and fn in rows else _EXACT if fn in _BASIC else NOTHING


def _larger(a: Bound, b: Bound) -> Bound:
    """What holds of either; where one says nothing, the other alone is known."""
    if not (a.declared and b.declared):
        return a if a.declared else b
    finer = min(a.limit, b.limit), max(a.absolute, b.absolute), max(a.per_arg, b.per_arg)
    most = a if a.ulp >= b.ulp else b
    return replace(most, ulp=max(a.ulp, b.ulp), limit=finer[0], absolute=finer[1], per_arg=finer[2])


def _single_or_double(fn: str, dtype: str, table: str) -> Bound:
    """The bound in f32 or f64."""
    if table == "exact":
        return _EXACT
    if table in ("ptx", "cuda", "cuda-fast", "triton"):
        return _nvidia(fn, dtype, table)
    if table == "trainium":
        return _EXACT if fn in ("add", "sub", "mul") else figures.TRAINIUM.get(fn, figures.TRAINIUM_OTHER)
    own, _, device = table.partition("-")
    bound = _library(fn, dtype, own)
    if device == "cuda" and fn not in _BASIC:
        return _larger(bound, _cuda(fn, dtype))
    if device == "tpu" and fn not in _BASIC and bound.declared:
        return replace(bound, status="assumed")
    return bound


_IMPLEMENTATIONS: Final = ("exact", "cuda", "cuda-fast", "ptx", "triton", "xla", "torch", "nki")


def declared_bound(fn: str, dtype: str, implementation: Implementation = "cuda", target: str = DEFAULT_TARGET) -> Bound:
    """The declared bound of ``fn`` in ``dtype`` on ``target``; ``NOTHING`` where none is.

    f16, bf16, TF32 and fp8 are computed in f32 by every implementation here and rounded once more: half an ulp, plus
    the f32 error in the coarser ulps (doubled: the rounding may cross a binade).  KeyError: no such implementation.
    """
    if implementation not in _IMPLEMENTATIONS:
        raise KeyError(f"no implementation {implementation!r}; known: {', '.join(_IMPLEMENTATIONS)}")
    table = table_for(implementation, target)
    if dtype in ("f32", "f64"):
        return _single_or_double(fn, dtype, table)
    if table == "ptx" and (fn, dtype) in figures.HALVES:
        return figures.HALVES[(fn, dtype)]
    fine, scale = _single_or_double(fn, "f32", table), 2.0 ** (format_of(dtype).p - 23)
    if table == "exact" or (fn in _BASIC and fine.ulp == 0.5):
        return _EXACT
    return replace(fine, ulp=0.5 + fine.ulp * scale, per_arg=fine.per_arg * scale, flushed=None)


def declared_ulp(fn: str, dtype: str, implementation: Implementation = "cuda") -> float:
    """Largest declared error in ulp for every argument; infinity where there is none or it is not a number of ulps."""
    bound = declared_bound(fn, dtype, implementation)
    return inf if bound.absolute or bound.per_arg or bound.limit < inf else bound.ulp


def error_at(bound: Bound, x: Array, result: Array, dtype: str) -> npt.NDArray[np.float64]:
    """Absolute error allowed at each argument x (largest in magnitude, if several), given results or references there.

    Subnormal results are charged one smallest normal: approximate units flush them.  Of a quotient x is the divisor.
    """
    if bound.beyond is not None:
        inner = error_at(replace(bound, beyond=None), x, result, dtype)
        outer = error_at(bound.beyond, x, result, dtype)
        return np.where(np.abs(np.asarray(x).astype(np.float64)) <= bound.limit, inner, outer)
    wide = np.abs(np.asarray(x).astype(np.float64))
    with np.errstate(all="ignore"):
        step = ulp(result, dtype)
        error = (bound.ulp + bound.per_arg * wide) * step if bound.per_arg else bound.ulp * step
        error = error + bound.absolute if bound.absolute else error
        tiny = np.abs(np.asarray(result)).astype(np.float64) < format_of(dtype).smallest_normal
        error = error + tiny * format_of(dtype).smallest_normal if tiny.any() else error
        if bound.flushed is not None:
            flushed = (wide > 0) & (wide < format_of(dtype).smallest_normal)
            distance = np.abs(np.asarray(result).astype(np.float64) - bound.flushed)
            error = np.where(flushed, error + distance, error) if flushed.any() else error
        outside = ~((wide <= bound.limit) & (wide >= bound.least))
    outside = outside | np.isnan(error)
    return np.where(outside, inf, error) if outside.any() else error
