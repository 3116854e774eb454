"""Recognises what a reducer region computes: a named combiner, an argmax or argmin, an update or its negation.

Takes an MLIR block; gives a name or None.  A region is compared as an expression tree, so the order in which jax
happens to write its ops does not matter; what is not recognised is kept as a region, never guessed.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lowering.frontends.stablehlo.attributes import attribute, dense
from lowering.ir.types import BOOL, DType

Tree = tuple[Any, ...]

_NAMED = {
    "stablehlo.add": "add",
    "stablehlo.multiply": "mul",
    "stablehlo.maximum": "max",
    "stablehlo.minimum": "min",
    "stablehlo.and": "and",
    "stablehlo.or": "or",
    "stablehlo.xor": "xor",
}
_TRUTH = {"add": "or", "mul": "and", "max": "or", "min": "and"}
_COMMUTES = frozenset({"add", "mul", "max", "min", "and", "or", "xor", "eq", "ne", "total_eq", "total_ne"})


def named(block: Any, dt: DType) -> str | None:
    """The combiner of a region of two scalars: one named op of both arguments."""
    tree = returned(block)
    if len(tree) != 1 or len(tree[0]) != 3 or set(tree[0][1:]) != {("arg", 0), ("arg", 1)}:
        return None
    name = tree[0][0]
    if name not in _NAMED.values():
        return None
    return _TRUTH.get(name, name) if dt is BOOL else name


def arg_extremum(block: Any) -> str | None:
    """'argmax' | 'argmin' when the region is jax's: ties to the lower index, the first NaN wins."""
    tree = returned(block)
    for name, pred in (("argmax", "gt"), ("argmin", "lt")):
        if tree in (_arg_tree(pred, nan=True), _arg_tree(pred, nan=False)):
            return name
    return None


def _arg_tree(pred: str, nan: bool) -> list[Tree]:
    a, b, i, j = (("arg", k) for k in (0, 2, 1, 3))
    wins: Tree = (pred, a, b)
    if nan:
        wins = _node("or", wins, ("ne", a, a))
    takes = _node("or", wins, _node("and", _node("eq", a, b), ("lt", i, j)))
    return [("select", wins, a, b), ("select", takes, i, j)]


def returned(block: Any) -> list[Tree]:
    """What the region returns, as expression trees over ('arg', position)."""
    position = {argument: i for i, argument in enumerate(block.arguments)}
    *_, terminator = block.operations
    return [_tree(v, position) for v in terminator.operation.operands]


def _tree(value: Any, position: dict[Any, int]) -> Tree:
    if value in position:
        return ("arg", position[value])
    owner = value.owner
    if not hasattr(owner, "operands"):
        return ("outer", hash(value))
    operation = owner.operation if hasattr(owner, "operation") else owner
    if operation.name == "stablehlo.constant":
        return _constant(operation)
    return _node(_label(operation), *(_tree(v, position) for v in operation.operands))


def _constant(operation: Any) -> Tree:
    _, value = dense(operation.attributes["value"])
    value = value if not isinstance(value, np.ndarray) else value.reshape(-1).tolist()
    return ("literal", repr(value))


def _label(operation: Any) -> str:
    from jaxlib.mlir.dialects import stablehlo

    if operation.name != "stablehlo.compare":
        return str(_NAMED.get(operation.name, operation.name.removeprefix("stablehlo.")))
    pred = stablehlo.ComparisonDirectionAttr(operation.attributes["comparison_direction"]).value.lower()
    kind = attribute(operation, "compare_type")
    total = kind is not None and stablehlo.ComparisonTypeAttr(kind).value == "TOTALORDER"
    return f"total_{pred}" if total else pred


def _node(label: str, *children: Tree) -> Tree:
    return (label, *sorted(children, key=repr)) if label in _COMMUTES else (label, *children)


def neutral(combine: str, dt: DType) -> bool | int | float:
    """The value that changes nothing when combined."""
    if combine in ("max", "argmax"):
        return -float("inf") if dt.is_float else False if dt is BOOL else int(np.iinfo(dt.numpy).min)
    if combine in ("min", "argmin"):
        return float("inf") if dt.is_float else True if dt is BOOL else int(np.iinfo(dt.numpy).max)
    if combine == "and":
        return True if dt is BOOL else -1 if dt.kind == "int" else int(np.iinfo(dt.numpy).max)
    return 1 if combine == "mul" else 0


def same(known: Any, wanted: Any) -> bool:
    """Whether a known literal is that number."""
    return known is not None and known == wanted
