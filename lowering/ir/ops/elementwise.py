"""Records of the scalar primitives: one lane in, one lane out; operands have one shape (no implicit broadcasting)."""

from __future__ import annotations

from collections.abc import Sequence

from lowering.ir.ops.record import REQUIRED, Attrs, TypeRule, arity, register, require, same_types
from lowering.ir.program import Block
from lowering.ir.types import BOOL, TensorType, dtype

#: Functions of ``math``, by number of operands.  All but sqrt have no exactly specified value in any source IR.
MATH_FUNCTIONS: dict[str, int] = {
    **dict.fromkeys(
        [
            "sqrt",
            "rsqrt",
            "exp",
            "exp2",
            "expm1",
            "log",
            "log2",
            "log10",
            "log1p",
            "sin",
            "cos",
            "tan",
            "asin",
            "acos",
            "atan",
            "sinh",
            "cosh",
            "tanh",
            "asinh",
            "acosh",
            "atanh",
            "erf",
            "erfc",
            "erfinv",
            "cbrt",
            "lgamma",
            "digamma",
        ],
        1,
    ),
    **dict.fromkeys(["pow", "atan2"], 2),
}
PREDICATES = ("eq", "ne", "lt", "le", "gt", "ge")
ROUNDINGS = ("floor", "ceil", "trunc", "even", "away")


def _same(n: int, what: str, *, floats: bool | None = None) -> TypeRule:
    def infer(types: Sequence[TensorType], _attrs: Attrs, _regions: Sequence[Block]) -> list[TensorType]:
        arity(types, n, what)
        result = same_types(types, what)
        if floats is not None:
            require(result.dtype.is_float == floats, f"{what} does not take {result.dtype}")
        return [result]

    return infer


def _math(types: Sequence[TensorType], attrs: Attrs, _regions: Sequence[Block]) -> list[TensorType]:
    require(attrs["fn"] in MATH_FUNCTIONS, f"math has no function {attrs['fn']!r}")
    arity(types, MATH_FUNCTIONS[attrs["fn"]], f"math {attrs['fn']}")
    return [same_types(types, f"math {attrs['fn']}")]


def _cmp(types: Sequence[TensorType], attrs: Attrs, _regions: Sequence[Block]) -> list[TensorType]:
    arity(types, 2, "cmp")
    require(attrs["pred"] in PREDICATES, f"cmp has no predicate {attrs['pred']!r}")
    return [same_types(types, "cmp").with_dtype(BOOL)]


def _select(types: Sequence[TensorType], _attrs: Attrs, _regions: Sequence[Block]) -> list[TensorType]:
    arity(types, 3, "select")
    require(types[0].dtype is BOOL and types[0].shape == types[1].shape, f"select: condition is {types[0]}")
    return [same_types(types[1:], "select")]


def _cast(types: Sequence[TensorType], attrs: Attrs, _regions: Sequence[Block]) -> list[TensorType]:
    arity(types, 1, "cast")
    return [types[0].with_dtype(dtype(attrs["to"]))]


def _bitcast(types: Sequence[TensorType], attrs: Attrs, _regions: Sequence[Block]) -> list[TensorType]:
    to = dtype(attrs["to"])
    require(to.bits == types[0].dtype.bits, f"bitcast {types[0].dtype} -> {to}: widths differ")
    return [types[0].with_dtype(to)]


def _round(types: Sequence[TensorType], attrs: Attrs, _regions: Sequence[Block]) -> list[TensorType]:
    require(attrs["mode"] in ROUNDINGS, f"round has no mode {attrs['mode']!r}")
    return _same(1, "round", floats=True)(types, attrs, ())


def _addptr(types: Sequence[TensorType], _attrs: Attrs, _regions: Sequence[Block]) -> list[TensorType]:
    arity(types, 2, "addptr")
    require(types[0].dtype.kind == "ptr" and types[1].dtype.is_integer, f"addptr: {types[0]}, {types[1]}")
    require(types[0].shape == types[1].shape, "addptr: shapes differ")
    return [types[0]]


def _opaque(types: Sequence[TensorType], attrs: Attrs, _regions: Sequence[Block]) -> list[TensorType]:
    return [types[0].with_dtype(dtype(attrs["to"]))]


for _name, _doc in {
    "add": "a + b: one rounding to the dtype (floats, nearest even); modulo 2^bits (integers); or (i1: exclusive or).",
    "sub": "a - b, as add.",
    "mul": "a * b, as add (i1: and).",
}.items():
    register(_name, _same(2, _name), _doc, primitive=True, attrs={"rounding": "rne"})
register(
    "div",
    _same(2, "div"),
    "Floats: a / b; accuracy 'exact' is one correct rounding (rounding rtz|rtp|rtn directs it), 'declared' is the "
    "implementation's (impl) division. "
    "Integers: rounding 'trunc' (C) or 'floor' (Python); by zero is undefined.",
    primitive=True,
    attrs={"accuracy": "exact", "impl": "", "rounding": "trunc"},
)
register(
    "rem",
    _same(2, "rem"),
    "Remainder with the sign of the dividend (rounding 'trunc', C fmod) or of the divisor ('floor').",
    primitive=True,
    attrs={"rounding": "trunc"},
)
register("fma", _same(3, "fma", floats=True), "a * b + c with a single rounding.", primitive=True)
register("neg", _same(1, "neg"), "-a: flips the sign bit (floats); modulo 2^bits (integers).", primitive=True)
register("abs", _same(1, "abs"), "|a|: clears the sign bit (floats); modulo 2^bits (integers).", primitive=True)
for _name in ("min", "max"):
    register(
        _name,
        _same(2, _name),
        f"{_name}(a, b). nan='number' returns the other operand when one is NaN (IEEE 754-2019 {_name}imumNumber), "
        "nan='propagate' returns NaN. -0 < +0 is not promised.",
        primitive=True,
        attrs={"nan": "propagate"},
    )
register(
    "math",
    _math,
    "fn(a[, b]). accuracy 'exact': correctly rounded; 'declared': whatever implementation impl "
    "('cuda', 'libdevice', 'xla', 'torch', 'nki:act') gives, within its declared error.",
    primitive=True,
    attrs={"fn": REQUIRED, "accuracy": "declared", "impl": ""},
)
register(
    "round",
    _round,
    "To an integral value: floor, ceil, trunc, even (ties to even) or away.",
    primitive=True,
    attrs={"mode": REQUIRED},
)
register(
    "cmp",
    _cmp,
    "a pred b -> i1. Floats: a NaN makes eq lt le gt ge false and ne true, unless unordered=True turns the answer "
    "for NaN round.",
    primitive=True,
    attrs={"pred": REQUIRED, "unordered": False},
)
register("select", _select, "c ? a : b, lane by lane; both are evaluated.", primitive=True)
register(
    "cast",
    _cast,
    "To dtype `to`. float->float: one rounding (rounding rne|rtz|rna|rtp|rtn), saturate=True clamps to the largest "
    "finite value, else overflow is the format's rule. float->int: truncates; out of range is overflow "
    "'saturate' | 'wrap' | 'undefined' (NaN -> 0 when saturating). int->float: one rounding. int->int: modulo 2^bits. "
    "To i1: a != 0.",
    primitive=True,
    attrs={"to": REQUIRED, "rounding": "rne", "saturate": False, "overflow": "undefined"},
)
register("bitcast", _bitcast, "The same bits under dtype `to` of equal width.", primitive=True, attrs={"to": REQUIRED})
for _name, _doc in {
    "and": "Bitwise and.",
    "or": "Bitwise or.",
    "xor": "Bitwise exclusive or.",
    "shl": "a << b; undefined for b >= bits.",
    "shr": "a >> b: arithmetic for signed, logical for unsigned dtypes; undefined for b >= bits.",
    "mulhi": "The high half of the double-width product.",
}.items():
    register(_name, _same(2, _name, floats=False), _doc, primitive=True)
for _name, _doc in {
    "not": "Bitwise complement (i1: negation).",
    "popcount": "Number of one bits.",
    "clz": "Number of leading zero bits (bits for 0).",
}.items():
    register(_name, _same(1, _name, floats=False), _doc, primitive=True)
register("addptr", _addptr, "Address + offset * bytes (the element size).", attrs={"bytes": REQUIRED})
register(
    "opaque",
    _opaque,
    "An uninterpreted function `fn` of its operands (inline asm, an unknown library call): equal only to itself.",
    primitive=True,
    attrs={"fn": REQUIRED, "to": REQUIRED},
)
