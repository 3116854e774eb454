"""Handlers of ops with a combiner region: tt.reduce, tt.scan, and tt.map_elementwise.

A combiner is lowered to KIR first and then recognised there, so that a combiner written as a call, or with unsigned
integers, is seen for what it is.  What is not recognised stays a region.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from jaxlib.mlir import ir

from lowering.frontends.ttir.integers import unsigned_dtype
from lowering.frontends.ttir.registry import Result, attribute, lowers
from lowering.frontends.ttir.state import Lowering
from lowering.ir.ops import RECORDS
from lowering.ir.program import Block, Op, Value
from lowering.ir.types import DType, TensorType


@dataclass(frozen=True, slots=True)
class Combiner:
    """A named combiner: its attributes, and how operand 0 must be read (None: as it is)."""

    attrs: dict[str, Any] = field(default_factory=dict)
    read_as: Callable[[DType], DType] | None = None


@lowers("tt.reduce")
def reduce(low: Lowering, op: ir.Operation) -> Result:
    return _fold(low, op, "reduce", {})


@lowers("tt.scan")
def scan(low: Lowering, op: ir.Operation) -> Result:
    return _fold(low, op, "scan", {"reverse": bool(attribute(op, "reverse", False))})


def _fold(low: Lowering, op: ir.Operation, name: str, attrs: dict[str, Any]) -> Result:
    operands = low.operands(op)
    scalars = [v.type.with_shape(()) for v in operands]
    region = low.region(op.regions[0].blocks[0], scalars * 2)
    attrs = {"axis": attribute(op, "axis"), "impl": "cuda", **attrs}
    found = recognise(region)
    if found is None:
        return low.build.op(name, operands, [region], combine="region", **attrs).results
    if len(operands) == 2 and operands[0].type.dtype.is_float:
        low.note(f"which NaN {found.attrs['combine']} finds depends on the order of the fold: taken to find a number")
    return _named(low, name, operands, found, attrs)


def _named(low: Lowering, name: str, operands: list[Value], found: Combiner, attrs: dict[str, Any]) -> list[Value]:
    if found.read_as is None:
        return low.build.op(name, operands, **attrs, **found.attrs).results
    dt = operands[0].type.dtype
    read = [low.build.bitcast(operands[0], found.read_as(dt)), *operands[1:]]
    first, *rest = low.build.op(name, read, **attrs, **found.attrs).results
    return [low.build.bitcast(first, dt), *rest]


# -- recognition ------------------------------------------------------------------------------------------------------

#: An expression over the region's arguments: a tuple headed by the op, or an argument's number.
Expression = tuple[Any, ...] | int | str


def recognise(region: Block) -> Combiner | None:
    """The combiner that ``region`` spells out, or None."""
    outcomes = _expressions(region)
    n = len(region.args) // 2
    if outcomes is None:
        return None
    if n == 1:
        return _single(outcomes[0])
    return _winner(outcomes, region.args[0].type) if n == 2 else None


def _expressions(region: Block) -> list[Expression] | None:
    """What the region yields, as expressions; None when it has nested control or reads values from outside."""
    known: dict[Value, Expression] = {arg: i for i, arg in enumerate(region.args)}
    for op in region.ops[:-1]:
        if op.regions or len(op.results) != 1 or any(v not in known for v in op.operands):
            return None
        known[op.result] = _expression(op, [known[v] for v in op.operands])
    ends = region.ops[-1].operands
    return [known[v] for v in ends] if all(v in known for v in ends) else None


#: Attributes that are part of every expression; others only where they are not the default.
_SHOWN = ("nan", "pred", "unordered", "to")


def _expression(op: Op, operands: list[Expression]) -> Expression:
    if op.name == "or" and ("constant", False) in operands:  # tie_break_left=False before simplification
        return next(e for e in operands if e != ("constant", False))
    if op.name == "constant":
        return ("constant", op.attrs["value"])
    defaults = RECORDS[op.name].attrs
    details = [v for key, v in op.attrs.items() if key in _SHOWN or v != defaults[key]]
    return (op.name, *details, *operands)


_ARITHMETIC = ("add", "mul", "and", "or", "xor")


def _single(outcome: Expression) -> Combiner | None:
    for args in ((0, 1), (1, 0)):  # every one of these commutes
        for name in _ARITHMETIC:
            if outcome == (name, *args):
                return Combiner({"combine": name})
        for name in ("max", "min"):
            found = _extremum(outcome, name, args)
            if found is not None:
                return found
    return None


def _extremum(outcome: Expression, name: str, args: tuple[int, int]) -> Combiner | None:
    for nan in ("number", "propagate"):
        if outcome == (name, nan, *args):
            return Combiner({"combine": name, "nan": nan})
    return _unsigned_extremum(outcome, name, args)


def _unsigned_extremum(outcome: Expression, name: str, args: tuple[int, int]) -> Combiner | None:
    match outcome:
        case ("bitcast", _, (op, "propagate", ("bitcast", _, a), ("bitcast", _, b))) if op == name and (a, b) == args:
            return Combiner({"combine": name}, unsigned_dtype)
    return None


def _winner(outcomes: list[Expression], values: TensorType) -> Combiner | None:
    """tl.argmax and tl.argmin: (value, index) of the first of (a, i), (b, j) if it wins, else of the second.

    With NaNs the winner depends on the order of the fold, which neither 'number' nor 'propagate' says: it is noted.
    """
    for combine, pred in (("argmax", "gt"), ("argmin", "lt")):
        for unsigned in (False, True):
            if unsigned and values.dtype.kind != "int":
                continue
            for tie, wins in _wins(pred, unsigned, values.dtype).items():
                if outcomes == [("select", wins, 0, 2), ("select", wins, 1, 3)]:
                    attrs = {"combine": combine, "tie": tie, "nan": "number"}
                    return Combiner(attrs, unsigned_dtype if unsigned else None)
    return None


def _wins(pred: str, unsigned: bool, dt: DType) -> dict[str, Expression]:
    """The condition under which the first pair wins, by how ties are broken."""
    name = unsigned_dtype(dt).name
    a, b = (("bitcast", name, 0), ("bitcast", name, 2)) if unsigned else (0, 2)
    better: Expression = ("cmp", pred, False, a, b)
    # Equality does not care for signs: Triton compares the values as they are.
    tied: Expression = ("and", ("cmp", "eq", False, 0, 2), ("cmp", "lt", False, 1, 3))
    return {"lowest": ("or", better, tied), "any": better}


# -- map_elementwise --------------------------------------------------------------------------------------------------


@lowers("tt.map_elementwise")
def map_elementwise(low: Lowering, op: ir.Operation) -> Result:
    """The scalar region on whole tensors: inside, scalars take the operands' shape (``lifted``)."""
    operands = low.operands(op)
    blocks = list(op.regions[0].blocks)
    if attribute(op, "pack", 1) != 1 or len(blocks) != 1:
        raise low.unsupported("tt.map_elementwise with packs or several blocks", "use pack=1 and no early return")
    saved, low.lifted = low.lifted, operands[0].type.shape
    try:
        low.bind_all(blocks[0].arguments, operands)
        return low.straight(blocks[0])
    finally:
        low.lifted = saved
