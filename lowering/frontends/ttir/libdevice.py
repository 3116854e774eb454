"""The meaning of NVIDIA's libdevice functions, by symbol: a table of rows (KIR op, attributes).  Builds nothing.

Elementary functions have libdevice's declared error (impl 'libdevice', fast ones 'cuda-fast'); functions that IEEE 754
defines are exact.
The f32 function of a pair ends in f: __nv_expf and __nv_exp.
"""

from __future__ import annotations

from typing import Any

Row = tuple[str, dict[str, Any]]


def _pair(name: str, row: Row) -> dict[str, Row]:
    return {f"__nv_{name}f": row, f"__nv_{name}": row}


def _math(fn: str, impl: str = "libdevice") -> Row:
    return ("math", {"fn": fn, "impl": impl})


_ELEMENTARY = (
    *("rsqrt", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "asin", "acos", "atan"),
    *("sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "erf", "erfc", "erfinv", "cbrt", "lgamma", "pow", "atan2"),
)
#: C's names of the roundings to integral values.
_INTEGRAL = {
    "floor": "floor",
    "ceil": "ceil",
    "trunc": "trunc",
    "rint": "even",
    "nearbyint": "even",
    "round": "away",
}
_DIRECTED = {"rz": "rtz", "rd": "rtn", "ru": "rtp"}

ELEMENTWISE: dict[str, Row] = {
    **{symbol: row for name in _ELEMENTARY for symbol, row in _pair(name, _math(name)).items()},
    **{symbol: row for c, mode in _INTEGRAL.items() for symbol, row in _pair(c, ("round", {"mode": mode})).items()},
    **_pair("fabs", ("abs", {})),
    "__nv_abs": ("abs", {}),
    "__nv_llabs": ("abs", {}),
    **_pair("fma", ("fma", {})),
    "__nv_fmaf_rn": ("fma", {}),
    "__nv_fma_rn": ("fma", {}),
    **_pair("fmod", ("rem", {})),
    **_pair("fmax", ("max", {"nan": "number"})),
    **_pair("fmin", ("min", {"nan": "number"})),
    "__nv_sqrtf": _math("sqrt"),
    "__nv_sqrt": ("math", {"fn": "sqrt", "accuracy": "exact"}),
    "__nv_fsqrt_rn": ("math", {"fn": "sqrt", "accuracy": "exact"}),
    "__nv_dsqrt_rn": ("math", {"fn": "sqrt", "accuracy": "exact"}),
    "__nv_fdiv_rn": ("div", {}),
    "__nv_ddiv_rn": ("div", {}),
    **{
        f"__nv_{t}{op}_{c}": (op, {"rounding": k})
        for t in "fd"
        for op in ("add", "sub", "mul", "div")
        for c, k in _DIRECTED.items()
    },
    **{
        f"__nv_fast_{fn}f": _math(fn, "cuda-fast") for fn in ("exp", "log", "log2", "log10", "sin", "cos", "tan", "pow")
    },
    "__nv_fast_fdividef": ("div", {"accuracy": "declared", "impl": "cuda-fast"}),
    "__nv_mulhi": ("mulhi", {}),
    "__nv_mul64hi": ("mulhi", {}),
    "__nv_popc": ("popcount", {}),
    "__nv_popcll": ("popcount", {}),
    "__nv_clz": ("clz", {}),
    "__nv_clzll": ("clz", {}),
}
#: The same on operands read as unsigned.
UNSIGNED: dict[str, Row] = {"__nv_umulhi": ("mulhi", {}), "__nv_umul64hi": ("mulhi", {})}
#: Reinterpretations of bits.
BITCASTS = frozenset(
    f"__nv_{name}"
    for name in (
        *("float_as_int", "float_as_uint", "int_as_float", "uint_as_float"),
        *("double_as_longlong", "longlong_as_double"),
    )
)
#: Conversions with a fixed rounding: source is unsigned, KIR's rounding.
CONVERSIONS: dict[str, tuple[bool, str]] = {
    f"__nv_{source}2{target}_{c}": (source in ("uint", "ull"), k)
    for source in ("int", "uint", "ll", "ull")
    for target in ("float", "double")
    for c, k in {"rn": "rne", **_DIRECTED}.items()
}
#: Conversions to signed integers, saturating (PTX ISA, cvt): KIR's mode of the rounding to an integral value.
TO_INTEGERS: dict[str, str] = {
    f"__nv_{source}2{target}_{c}": mode
    for source in ("float", "double")
    for target in ("int", "ll")
    for c, mode in {"rn": "even", "rz": "trunc", "rd": "floor", "ru": "ceil"}.items()
} | {f"__nv_ll{c}{t}": mode for c, mode in (("rint", "even"), ("round", "away")) for t in ("", "f")}
