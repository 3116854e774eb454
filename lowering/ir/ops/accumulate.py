"""Records of the ops that combine many lanes; each says what the source promises about order and precision.

``order``: 'sequential' (left fold by index), 'pairwise', 'unordered' (left open by the source IR), 'racing' (atomics:
not even deterministic).  ``impl``: names the implementation of an open order, as part of its key.
"""

from __future__ import annotations

from collections.abc import Sequence

from lowering.ir.ops.record import REQUIRED, Attrs, arity, register, require
from lowering.ir.program import Block
from lowering.ir.types import TensorType, dtype

COMBINERS = ("add", "mul", "max", "min", "and", "or", "xor", "argmax", "argmin", "region")
ORDERS = ("sequential", "pairwise", "unordered", "racing")
DOT_PRECISIONS = ("ieee", "tf32", "tf32x3", "bf16", "bf16x3", "bf16x6")


def _combiner(types: Sequence[TensorType], attrs: Attrs, regions: Sequence[Block], what: str) -> None:
    combine = attrs["combine"]
    require(combine in COMBINERS and attrs["order"] in ORDERS, f"{what}: combine {combine!r}, order {attrs['order']!r}")
    require(len({t.shape for t in types}) == 1, f"{what}: operand shapes differ")
    if combine == "region":
        require(len(regions) == 1 and len(regions[0].args) == 2 * len(types), f"{what}: region takes 2 x operands")
    elif combine in ("argmax", "argmin"):
        require(len(types) == 2 and types[1].dtype.is_integer, f"{what} {combine}: takes values and their indices")
    else:
        arity(types, 1, f"{what} {combine}")


def _reduce(types: Sequence[TensorType], attrs: Attrs, regions: Sequence[Block]) -> list[TensorType]:
    _combiner(types, attrs, regions, "reduce")
    axis = attrs["axis"]
    return [t.with_shape(t.shape[:axis] + t.shape[axis + 1 :]) for t in types]


def _scan(types: Sequence[TensorType], attrs: Attrs, regions: Sequence[Block]) -> list[TensorType]:
    _combiner(types, attrs, regions, "scan")
    return list(types)


def _dot(types: Sequence[TensorType], attrs: Attrs, _regions: Sequence[Block]) -> list[TensorType]:
    lhs, rhs = types[0], types[1]
    require(len(types) in (2, 3) and lhs.rank == rhs.rank >= 2, f"dot: {', '.join(map(str, types))}")
    require(lhs.shape[:-2] == rhs.shape[:-2] and lhs.shape[-1] == rhs.shape[-2], f"dot: {lhs} x {rhs}")
    require(attrs["precision"] in DOT_PRECISIONS, f"dot has no precision {attrs['precision']!r}")
    result = TensorType(dtype(attrs["acc"]), (*lhs.shape[:-1], rhs.shape[-1]))
    require(len(types) == 2 or types[2] == result, f"dot: accumulator {types[-1]} is not {result}")
    return [result]


def _sort(types: Sequence[TensorType], attrs: Attrs, regions: Sequence[Block]) -> list[TensorType]:
    require(len({t.shape for t in types}) == 1, "sort: operand shapes differ")
    require(len(regions) in (0, 1) and attrs["order"] in ("ascending", "descending", "region"), "sort: order")
    return list(types)


def _scatter(types: Sequence[TensorType], attrs: Attrs, regions: Sequence[Block]) -> list[TensorType]:
    base, updates = types[0], types[1]
    require(len(types) == 2 + base.rank, "scatter: operands are base, updates, one index per dimension of base")
    require(all(t.shape == updates.shape for t in types[1:]), "scatter: indices have the updates' shape")
    require(base.dtype is updates.dtype, "scatter: dtypes differ")
    return [base]


register(
    "reduce",
    _reduce,
    "Folds lanes along `axis` (which disappears). 'argmax'/'argmin' take (values, indices) and return the winning "
    "pair; among equal values the lowest index wins (tie='lowest') or any (tie='any'). nan as for min/max. "
    "'region' folds with a block of 2n arguments (accumulators, then elements).",
    primitive=True,
    attrs={
        "axis": REQUIRED,
        "combine": REQUIRED,
        "order": "unordered",
        "nan": "propagate",
        "tie": "lowest",
        "impl": "",
    },
    regions=None,
)
register(
    "scan",
    _scan,
    "Inclusive prefix fold along `axis`, from the end when reverse.",
    primitive=True,
    attrs={
        "axis": REQUIRED,
        "combine": REQUIRED,
        "order": "unordered",
        "nan": "propagate",
        "tie": "lowest",
        "reverse": False,
        "impl": "",
    },
    regions=None,
)
register(
    "dot",
    _dot,
    "[..., M, K] x [..., K, N] (+ accumulator [..., M, N]) -> dtype `acc`. Operands are first rounded as `precision` "
    "says; terms are accumulated in `acc` in `order`; whether a product is rounded before it is added is open unless "
    "product='rounded' or 'fused'.",
    primitive=True,
    attrs={"acc": REQUIRED, "precision": "ieee", "order": "unordered", "product": "open", "impl": ""},
)
register(
    "sort",
    _sort,
    "Permutes all operands alike along `axis` so that operand 0 is ascending or descending (NaN last / first as in "
    "the total order), or by a comparator region (a0, b0, a1, b1, ...) -> i1 'a before b'. stable keeps equal keys.",
    primitive=True,
    attrs={"axis": REQUIRED, "order": "ascending", "stable": True},
    regions=None,
)
register(
    "scatter",
    _scatter,
    "base with updates combined in at base[i0, i1, ...]: combine 'set' | 'add' | 'mul' | 'min' | 'max' | 'and' | 'or' "
    "| 'xor'; indices out of bounds are dropped. Colliding updates: order as for reduce.",
    primitive=True,
    attrs={"combine": "set", "order": "unordered", "nan": "propagate", "impl": ""},
)
