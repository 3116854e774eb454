"""Writes docs/support-matrix.md from the registries of handlers: which source ops each front end reads.

python docs/make_support_matrix.py [--check]
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from generated import DOCS, finish, table

import lowering.frontends.stablehlo.translate
import lowering.frontends.ttir.kernel  # noqa: F401  (fills its registry)
from lowering.frontends import aten
from lowering.frontends.aten.registry import PRIMS
from lowering.frontends.stablehlo.node import HANDLERS as STABLEHLO
from lowering.frontends.ttir import libdevice
from lowering.frontends.ttir.extern import SPECIAL
from lowering.frontends.ttir.registry import HANDLERS as TTIR
from lowering.frontends.ttir.state import IGNORED

PATH = DOCS / "support-matrix.md"
FRONT_ENDS = {"TTIR": TTIR, "StableHLO, CHLO": STABLEHLO, "ATen": aten.HANDLERS}

#: Source names that mean one thing: name, without its dialect where that is enough -> the row it stands in.
ALIASES = {
    "stablehlo.exponential": "exp", "exponential": "random",
    **{f"{name}{kind}": name for name in ("add", "sub", "mul", "neg", "abs", "rem") for kind in ("f", "i")},
    **dict.fromkeys(["absolute"], "abs"), **dict.fromkeys(["subtract", "rsub"], "sub"),
    **dict.fromkeys(["multiply"], "mul"), **dict.fromkeys(["negate", "negative"], "neg"),
    **dict.fromkeys(["divf", "divsi", "divui", "divide", "true_divide", "precise_divf", "floor_divide", "floordivsi",
                     "ceildivsi", "ceildivui"], "div"),
    **dict.fromkeys(["remsi", "remui", "remainder", "fmod"], "rem"),
    **dict.fromkeys(["maximumf", "maxnumf", "maxsi", "maxui", "maximum", "fmax"], "max"),
    **dict.fromkeys(["minimumf", "minnumf", "minsi", "minui", "minimum", "fmin"], "min"),
    **dict.fromkeys(["cmpf", "cmpi", "compare", "eq", "ne", "lt", "le", "gt", "ge", "less", "less_equal", "greater",
                     "greater_equal", "not_equal"], "compare"),
    **dict.fromkeys(["where"], "select"), **dict.fromkeys(["clampf", "clip", "clamp_min", "clamp_max"], "clamp"),
    **dict.fromkeys(["andi", "bitwise_and", "__and__", "logical_and"], "and"),
    **dict.fromkeys(["ori", "bitwise_or", "__or__", "logical_or"], "or"),
    **dict.fromkeys(["xori", "bitwise_xor", "__xor__", "logical_xor"], "xor"),
    **dict.fromkeys(["bitwise_not", "logical_not"], "not"),
    **dict.fromkeys(["shli", "shift_left", "bitwise_left_shift", "__lshift__"], "shift left"),
    **dict.fromkeys(["shrsi", "shrui", "shift_right_arithmetic", "shift_right_logical", "bitwise_right_shift",
                     "__rshift__"], "shift right"),
    **dict.fromkeys(["mulhiui", "mulsi_extended", "mului_extended"], "mulhi"),
    **dict.fromkeys(["ctpop", "popcnt"], "popcount"), **dict.fromkeys(["ctlz", "count_leading_zeros"], "clz"),
    **dict.fromkeys(["extf", "truncf", "extsi", "extui", "trunci", "sitofp", "uitofp", "fptosi", "fptoui", "fp_to_fp",
                     "convert", "_to_copy", "to", "index_cast", "index_castui"], "convert"),
    **dict.fromkeys(["bitcast", "bitcast_convert"], "bitcast"),
    **dict.fromkeys(["exponential_minus_one"], "expm1"), **dict.fromkeys(["log_plus_one"], "log1p"),
    **dict.fromkeys(["sine"], "sin"), **dict.fromkeys(["cosine"], "cos"), **dict.fromkeys(["logistic"], "sigmoid"),
    **dict.fromkeys(["powf", "power", "float_power"], "pow"), **dict.fromkeys(["precise_sqrt"], "sqrt"),
    **dict.fromkeys(["arcsin"], "asin"), **dict.fromkeys(["arccos"], "acos"), **dict.fromkeys(["arctan"], "atan"),
    **dict.fromkeys(["arctan2"], "atan2"), **dict.fromkeys(["erf_inv", "special_erfinv"], "erfinv"),
    **dict.fromkeys(["special_erf"], "erf"), **dict.fromkeys(["nextafter", "next_after"], "nextafter"),
    **dict.fromkeys(["roundeven", "round_nearest_even", "round_nearest_afz"], "round"), "fix": "trunc",
    **dict.fromkeys(["is_finite"], "isfinite"), **dict.fromkeys(["is_inf"], "isinf"),
    **dict.fromkeys(["is_pos_inf"], "isposinf"), **dict.fromkeys(["is_neg_inf"], "isneginf"),
    **dict.fromkeys(["sum", "amax", "amin", "prod", "any", "all", "mean"], "reduce"),
    **dict.fromkeys(["cumsum", "cumprod", "cummax", "cummin", "logcumsumexp"], "scan"),
    **dict.fromkeys(["dot_general", "mm", "bmm", "addmm", "baddbmm", "matmul", "mv", "addmv", "linear", "dot_scaled",
                     "addbmm", "inner", "vdot"], "dot"),
    **dict.fromkeys(["convolution", "_convolution", "convolution_overrideable"], "convolution"),
    **dict.fromkeys(["cat", "concat", "concatenate", "join", "stack"], "concatenate"),
    **dict.fromkeys(["trans"], "transpose"), **dict.fromkeys(["flip"], "reverse"),
    **dict.fromkeys(["broadcast_in_dim", "splat", "expand", "broadcast_to", "expand_dims"], "broadcast"),
    **dict.fromkeys(["make_range", "arange"], "iota"), **dict.fromkeys(["constant_pad_nd"], "pad"),
    **dict.fromkeys(["top_k"], "topk"), **dict.fromkeys(["full", "scalar_tensor"], "constant"),
    **dict.fromkeys(["take_along_dim", "index_select", "index", "embedding"], "gather"),
    **dict.fromkeys(["scatter_add", "scatter_reduce", "index_add", "index_put", "index_copy", "atomic_rmw"], "scatter"),
    **dict.fromkeys(["rng", "rng_bit_generator", "rand", "randn", "randint", "uniform", "normal_functional"], "random"),
}  # fmt: skip

HEADER = """# Which source operations are read

Generated by `docs/make_support_matrix.py` from the front ends' registries of handlers; do not edit. An operation that
is not here gives `unsupported`, with its name and source line. A handler may refuse a form of its operation (an
overload, an attribute); the message then says which.

Before ATen operations reach their handlers, composite ones are taken apart by PyTorch's own decompositions, so many
more than these can be used (`scaled_dot_product_attention`, `layer_norm`, losses). `jnp` functions and Pallas kernels
arrive as the StableHLO that JAX makes of them. The instructions of NKI, and which of them have a meaning, are listed in
[nki.md](nki.md).
"""


def text() -> str:
    counts = ", ".join(f"{name} {len(handlers)}" for name, handlers in FRONT_ENDS.items())
    return "\n".join([HEADER, f"Handlers: {counts}.\n", shared(), *map(others, FRONT_ENDS), extras()])


def bare(name: str) -> str:
    return name.rpartition(".")[2]


def meaning(name: str) -> str:
    return ALIASES.get(name) or ALIASES.get(bare(name), bare(name))


def rows() -> dict[str, dict[str, list[str]]]:
    """Meaning -> front end -> source ops."""
    found: dict[str, dict[str, list[str]]] = {}
    for front_end, handlers in FRONT_ENDS.items():
        for name in sorted(handlers):
            found.setdefault(meaning(name), {}).setdefault(front_end, []).append(name)
    return dict(sorted(found.items()))


def shared() -> str:
    """What at least two front ends read."""
    lines = [
        (name, *(spelled(places.get(front_end, ())) for front_end in FRONT_ENDS))
        for name, places in rows().items()
        if len(places) > 1
    ]
    return "## Operations of two or three front ends\n\n" + table(("", *FRONT_ENDS), lines) + "\n"


def others(front_end: str) -> str:
    names = [n for places in rows().values() if list(places) == [front_end] for n in places[front_end]]
    return f"## {front_end} only\n\n{spelled(sorted(names))}\n"


def extras() -> str:
    known = {*SPECIAL, *libdevice.ELEMENTWISE, *libdevice.UNSIGNED, *libdevice.BITCASTS, *libdevice.CONVERSIONS}
    return (
        "## More\n\n"
        "libdevice functions (`tt.extern_elementwise`) known by symbol, f32 and f64; any other is opaque, equal only "
        f"to itself on equal operands: {spelled(sorted(unpaired(known)))}\n\n"
        f"TTIR ops without a numeric meaning, skipped: {spelled(sorted(IGNORED))}\n\n"
        f"Primitives of PyTorch's decompositions, read as the ATen op of the same meaning: {spelled(sorted(PRIMS))}\n"
    )


def unpaired(symbols: Iterable[str]) -> set[str]:
    """Symbols without the f32 twins of f64 ones, and without their prefix."""
    names = {symbol.removeprefix("__nv_") for symbol in symbols}
    return {name for name in names if not (name.endswith("f") and name[:-1] in names)}


def spelled(names: Iterable[str]) -> str:
    return " ".join(f"`{re.sub(r'^aten[.]', '', name)}`" for name in names) or ""


if __name__ == "__main__":
    sys.exit(finish(PATH, text()))
