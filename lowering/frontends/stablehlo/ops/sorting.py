"""stablehlo.sort -> KIR sorts, one per key, ascending or descending; any other comparator stays a region."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lowering.frontends.stablehlo.node import Node, handles
from lowering.frontends.stablehlo.ops import combiners
from lowering.ir.program import Value

_ORDERS = {"lt": "ascending", "gt": "descending", "total_lt": "ascending", "total_gt": "descending"}


@handles("stablehlo.sort")
def _sort(node: Node) -> Sequence[Value]:
    axis, stable = node.int("dimension"), node.flag("is_stable")
    keys = _keys(combiners.returned(node.region())[0])
    if keys is None:
        region = node.translator.region(node.region())
        return node.b.op("sort", node.operands, [region], axis=axis, order="region", stable=stable).results
    arrays = list(node.operands)
    for i, (key, order) in enumerate(reversed(keys)):
        # the last key first: later stable sorts keep its order among equals
        arrays = _by_key(node, arrays, key, axis, order, stable or i > 0)
    return arrays


def _by_key(node: Node, arrays: list[Value], key: int, axis: int, order: str, stable: bool) -> list[Value]:
    places = [key, *(i for i in range(len(arrays)) if i != key)]
    results = node.b.op("sort", [arrays[i] for i in places], axis=axis, order=order, stable=stable).results
    return [results[places.index(i)] for i in range(len(places))]


def _keys(tree: Any) -> list[tuple[int, str]] | None:
    """The keys of a lexicographic comparator, first one first: k0 before, or k0 equal and the rest before."""
    single = _single_key(tree)
    if single is not None:
        return [single]
    if tree[0] != "or" or len(tree) != 3:
        return None
    for before, otherwise in (tree[1:], tree[:0:-1]):
        first = _single_key(before)
        rest = None if first is None else _rest(otherwise, first[0])
        if first is not None and rest is not None:
            return [first, *rest]
    return None


def _rest(tree: Any, key: int) -> list[tuple[int, str]] | None:
    """The keys that decide once ``key`` is equal."""
    if tree[0] != "and" or len(tree) != 3:
        return None
    for equal, otherwise in (tree[1:], tree[:0:-1]):
        if equal[0] in ("eq", "total_eq") and {_canonical_of(t) for t in equal[1:]} == {2 * key, 2 * key + 1}:
            return _keys(otherwise)
    return None


def _single_key(tree: Any) -> tuple[int, str] | None:
    """(operand, order) when the comparator compares one operand's two lanes, with jax's canonical zeros and NaNs."""
    if tree[0] not in _ORDERS or len(tree) != 3:
        return None
    a, b = _canonical_of(tree[1]), _canonical_of(tree[2])
    if a is None or b is None or a % 2 == b % 2 or a // 2 != b // 2:
        return None
    order = _ORDERS[tree[0]]
    if a > b:
        order = "descending" if order == "ascending" else "ascending"
    return a // 2, order


def _canonical_of(tree: Any) -> int | None:
    """The argument that ``tree`` is, seen through jax's 'one zero, one NaN' selects."""
    if tree[0] == "arg":
        return tree[1]
    if tree[0] != "select" or len(tree) != 4:
        return None
    condition, replaced, otherwise = tree[1:]
    inner = _canonical_of(otherwise)
    if inner is None or replaced[0] != "literal":
        return None
    lane = ("arg", inner)
    nan = condition == ("ne", lane, lane) and replaced == ("literal", "nan")
    zero = condition[0] == "eq" and set(condition[1:]) == {lane, ("literal", "0.0")} and replaced == ("literal", "0.0")
    return inner if nan or zero else None


@handles("chlo.top_k")
def _top_k(node: Node) -> Sequence[Value]:
    """The k largest along the last axis, with their indices; among equals the lower index comes first."""
    b, (x,) = node.b, node.operands
    values, indices = node.types
    axis, rank = x.type.rank - 1, x.type.rank
    lanes = b.index(x.type.shape, axis, indices.dtype)
    ordered = b.op("sort", [x, lanes], axis=axis, order="descending", stable=True).results
    limit = values.shape
    return [b("slice", v, start=(0,) * rank, limit=limit, step=(1,) * rank) for v in ordered]
