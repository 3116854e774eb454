"""The registry of mutation operators, and those that change arithmetic.

An operator takes a Program and gives the Edits that it could make to it, in a fixed order: the n-th edit of a clone is
the n-th edit of the original.  Operators on memory and control are in operators_memory.py, on accumulation and
rounding in operators_rounding.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from equivalence.mutants.edits import Edit, Place, bypass, is_array, places, used, wrap
from equivalence.numerics.formats import format_of
from lowering.ir.program import Program
from lowering.ir.types import DType, dtype

Operator = Callable[[Program], Iterator[Edit]]
OPERATORS: dict[str, Operator] = {}


def operator(name: str) -> Callable[[Operator], Operator]:
    """Registers an operator under the name that the table shows."""

    def register(fn: Operator) -> Operator:
        OPERATORS[name] = fn
        return fn

    return register


def live(program: Program) -> Iterator[Place]:
    """Places whose results are read, or that have none."""
    read = used(program)
    for place in places(program):
        if not place.op.results or any(id(v) in read for v in place.op.results):
            yield place


def setting(place: Place, key: str, value: object) -> Edit:
    """An attribute changed."""
    old = place.op.attrs[key]
    shown = "an array" if is_array(old) else f"{old!r} -> {value!r}"
    return Edit(f"{place.op.name} {key} {shown}", lambda: place.op.attrs.__setitem__(key, value))


def swapping(place: Place, i: int, j: int) -> Edit:
    def apply() -> None:
        operands = place.op.operands
        operands[i], operands[j] = operands[j], operands[i]

    return Edit(f"operands {i} and {j} of {place.op.name} swapped", apply)


def bypassing(place: Place, operand: int) -> Edit:
    return Edit(f"{place.op.name} dropped, operand {operand} stays", lambda: bypass(place, operand))


# -- constants ---------------------------------------------------------------------------------------------------


def next_up(value: float, dt: DType) -> float:
    """The next number of the format away from zero."""
    fmt = format_of(dt.name)
    exponent = max(int(np.floor(np.log2(abs(value)))), fmt.emin)
    return value + np.copysign(2.0 ** (exponent - fmt.p + 1), value)


def changed_array(values: np.ndarray, number: int) -> np.ndarray:
    """One element changed."""
    result = values.copy()
    flat = result.reshape(-1)
    place = number % max(1, flat.size)
    flat[place] = ~flat[place] if flat.dtype == bool else flat[place] + np.ones((), flat.dtype)
    return result


def constants(program: Program) -> Iterator[tuple[Place, DType]]:
    for place in live(program):
        if place.op.name == "constant":
            yield place, dtype(place.op.attrs["to"])


@operator("constant")
def constant(program: Program) -> Iterator[Edit]:
    for number, (place, dt) in enumerate(constants(program)):
        value = place.op.attrs["value"]
        if is_array(value):
            yield setting(place, "value", changed_array(value, number))
        elif dt.is_float and np.isfinite(value):
            yield setting(place, "value", value * 1.5 if value else 1.0)
            yield setting(place, "value", -value if value else 1e-3)
        elif dt.is_float:
            yield setting(place, "value", -1e3 if value < 0 else 1e3)
            yield setting(place, "value", 0.0)
        elif dt.kind == "bool":
            yield setting(place, "value", not value)
        else:
            yield setting(place, "value", value + 1)
            yield setting(place, "value", value - 1)


@operator("constant by 1 ulp")
def constant_ulp(program: Program) -> Iterator[Edit]:
    for place, dt in constants(program):
        value = place.op.attrs["value"]
        if dt.is_float and not is_array(value) and np.isfinite(value) and value:
            yield setting(place, "value", next_up(value, dt))


# -- operands ----------------------------------------------------------------------------------------------------


@operator("swap operands")
def swap(program: Program) -> Iterator[Edit]:
    for place in live(program):
        op = place.op
        if (
            op.name in ("sub", "div", "rem", "shl", "shr")
            or (op.name == "math" and len(op.operands) == 2)
            or (op.name == "cmp" and op.attrs["pred"] not in ("eq", "ne"))
            or (op.name == "dot" and op.operands[0].type == op.operands[1].type)
        ):
            yield swapping(place, 0, 1)
        elif op.name == "fma":
            yield swapping(place, 1, 2)
        elif op.name == "concat" and op.operands[0].type == op.operands[1].type:
            yield swapping(place, 0, 1)


@operator("commute (control)")
def commute(program: Program) -> Iterator[Edit]:
    """Changes nothing: a verdict below bitwise is a false alarm."""
    for place in live(program):
        if place.op.name in ("add", "mul", "and", "or", "xor"):
            yield swapping(place, 0, 1)


@operator("select arms")
def select_arms(program: Program) -> Iterator[Edit]:
    for place in live(program):
        if place.op.name == "select":
            yield swapping(place, 1, 2)
            yield bypassing(place, 1)
            yield bypassing(place, 2)


@operator("drop a term")
def drop_term(program: Program) -> Iterator[Edit]:
    for place in live(program):
        if place.op.name in ("add", "sub", "mul", "div", "or", "xor", "and"):
            yield bypassing(place, 0)
            if place.op.name in ("add", "mul"):
                yield bypassing(place, 1)
        elif place.op.name in ("neg", "abs", "not", "round"):
            yield bypassing(place, 0)


@operator("widen a clamp")
def widen(program: Program) -> Iterator[Edit]:
    for place in live(program):
        if place.op.name in ("min", "max"):
            yield bypassing(place, 0)
            yield bypassing(place, 1)


@operator("negate")
def negate(program: Program) -> Iterator[Edit]:
    for place in live(program):
        if place.op.results and place.op.results[0].type.dtype.is_float and place.op.name not in ("for", "constant"):
            yield Edit(f"{place.op.name} negated", lambda place=place: wrap(place, "neg"))


# -- functions ---------------------------------------------------------------------------------------------------

_FUNCTIONS = {
    "sqrt": ("rsqrt", "cbrt"),
    "rsqrt": ("sqrt",),
    "exp": ("exp2", "expm1"),
    "exp2": ("exp",),
    "expm1": ("exp",),
    "log": ("log2", "log1p"),
    "log2": ("log",),
    "log1p": ("log",),
    "erf": ("tanh", "erfc"),
    "tanh": ("erf", "atan"),
    "sin": ("cos",),
    "cos": ("sin",),
    "pow": ("atan2",),
}
_PREDICATES = {
    "lt": ("le", "gt"),
    "le": ("lt", "ge"),
    "gt": ("ge", "lt"),
    "ge": ("gt", "le"),
    "eq": ("ne", "le"),
    "ne": ("eq",),
}
_SWAPPED = {
    "add": "sub",
    "sub": "add",
    "mul": "div",
    "div": "mul",
    "and": "or",
    "or": "and",
    "min": "max",
    "max": "min",
}


@operator("function")
def function(program: Program) -> Iterator[Edit]:
    for place in live(program):
        if place.op.name == "math":
            for other in _FUNCTIONS.get(place.op.attrs["fn"], ()):
                yield setting(place, "fn", other)


@operator("compare")
def compare(program: Program) -> Iterator[Edit]:
    for place in live(program):
        if place.op.name == "cmp":
            for other in _PREDICATES[place.op.attrs["pred"]]:
                yield setting(place, "pred", other)


def _renamed(place: Place, name: str) -> Edit:
    from lowering.ir.ops import RECORDS

    def apply() -> None:
        kept = {key: place.op.attrs.get(key, default) for key, default in RECORDS[name].attrs.items()}
        kept["rounding"] = RECORDS[name].attrs.get("rounding", "rne")
        place.op.attrs = {key: kept[key] for key in RECORDS[name].attrs}
        place.op.name = name

    return Edit(f"{place.op.name} -> {name}", apply)


@operator("exchange an operation")
def exchange(program: Program) -> Iterator[Edit]:
    for place in live(program):
        if place.op.name in _SWAPPED and not (place.op.name == "sub" and place.op.results[0].type.dtype.kind == "bool"):
            yield _renamed(place, _SWAPPED[place.op.name])


@operator("flavour of NaN")
def flavour(program: Program) -> Iterator[Edit]:
    """Shows only on NaN: equal on finite inputs."""
    for place in live(program):
        if "nan" in place.op.attrs and place.op.results[0].type.dtype.is_float:
            yield setting(place, "nan", "number" if place.op.attrs["nan"] == "propagate" else "propagate")
        if place.op.name == "cmp" and place.op.operands[0].type.dtype.is_float:
            yield setting(place, "unordered", not place.op.attrs["unordered"])
