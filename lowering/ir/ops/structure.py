"""Records of the ops that only move lanes: every interpretation moves its lanes the same way."""

from __future__ import annotations

from collections.abc import Sequence

from lowering.ir.ops.record import REQUIRED, Attrs, arity, register, require
from lowering.ir.program import Block
from lowering.ir.types import TensorType, dtype


def _typed(_types: Sequence[TensorType], attrs: Attrs, _regions: Sequence[Block]) -> list[TensorType]:
    return [TensorType(dtype(attrs["to"]), tuple(attrs["shape"]))]


def _broadcast(types: Sequence[TensorType], attrs: Attrs, _regions: Sequence[Block]) -> list[TensorType]:
    arity(types, 1, "broadcast")
    shape, dims = tuple(attrs["shape"]), tuple(attrs["dims"])
    require(len(dims) == types[0].rank and list(dims) == sorted(set(dims)), f"broadcast: dims {dims} for {types[0]}")
    for extent, d in zip(types[0].shape, dims, strict=True):
        require(extent in (1, shape[d]), f"broadcast: {types[0]} to {shape} along {dims}")
    return [types[0].with_shape(shape)]


def _reshape(types: Sequence[TensorType], attrs: Attrs, _regions: Sequence[Block]) -> list[TensorType]:
    arity(types, 1, "reshape")
    result = types[0].with_shape(tuple(attrs["shape"]))
    require(result.size == types[0].size, f"reshape: {types[0]} to {attrs['shape']}")
    return [result]


def _reorder(types: Sequence[TensorType], _attrs: Attrs, _regions: Sequence[Block]) -> list[TensorType]:
    arity(types, 1, "reorder")
    return [types[0]]


def _transpose(types: Sequence[TensorType], attrs: Attrs, _regions: Sequence[Block]) -> list[TensorType]:
    arity(types, 1, "transpose")
    perm: list[int] = list(attrs["perm"])
    require(sorted(perm) == list(range(types[0].rank)), f"transpose: perm {perm} for {types[0]}")
    return [types[0].with_shape(tuple(types[0].shape[i] for i in perm))]


def _slice(types: Sequence[TensorType], attrs: Attrs, _regions: Sequence[Block]) -> list[TensorType]:
    arity(types, 1, "slice")
    shape: list[int] = []
    for extent, start, limit, step in zip(types[0].shape, attrs["start"], attrs["limit"], attrs["step"], strict=True):
        require(0 <= start <= limit <= extent and step >= 1, f"slice: {start}:{limit}:{step} of {extent}")
        shape.append(-(-(limit - start) // step))
    return [types[0].with_shape(tuple(shape))]


def _pad(types: Sequence[TensorType], attrs: Attrs, _regions: Sequence[Block]) -> list[TensorType]:
    arity(types, 2, "pad")
    require(types[1].rank == 0 and types[1].dtype is types[0].dtype, "pad: the padding value is a scalar of the dtype")
    shape = [
        low + high + extent + max(0, extent - 1) * interior
        for extent, low, high, interior in zip(
            types[0].shape, attrs["low"], attrs["high"], attrs["interior"], strict=True
        )
    ]
    require(min(shape, default=0) >= 0, f"pad: negative extent {shape}")
    return [types[0].with_shape(tuple(shape))]


def _concat(types: Sequence[TensorType], attrs: Attrs, _regions: Sequence[Block]) -> list[TensorType]:
    axis: int = attrs["axis"]
    rest = {t.dtype.name + str(t.shape[:axis] + t.shape[axis + 1 :]) for t in types}
    require(len(rest) == 1, f"concat: {', '.join(map(str, types))} along {axis}")
    shape = list(types[0].shape)
    shape[axis] = sum(t.shape[axis] for t in types)
    return [types[0].with_shape(tuple(shape))]


def _reverse(types: Sequence[TensorType], _attrs: Attrs, _regions: Sequence[Block]) -> list[TensorType]:
    arity(types, 1, "reverse")
    return [types[0]]


def _gather(types: Sequence[TensorType], _attrs: Attrs, _regions: Sequence[Block]) -> list[TensorType]:
    require(len(types) == 1 + types[0].rank, f"gather: one index per dimension of {types[0]}, got {len(types) - 1}")
    require(len(set(types[1:])) <= 1, "gather: index types differ")
    require(all(t.dtype.is_integer for t in types[1:]), "gather: indices are integers")
    return [types[0].with_shape(types[1].shape if len(types) > 1 else ())]


def _dynamic_slice(types: Sequence[TensorType], attrs: Attrs, _regions: Sequence[Block]) -> list[TensorType]:
    require(len(types) == 1 + types[0].rank and all(t.rank == 0 for t in types[1:]), "dynamic_slice: scalar starts")
    return [types[0].with_shape(tuple(attrs["shape"]))]


def _dynamic_update_slice(types: Sequence[TensorType], _attrs: Attrs, _regions: Sequence[Block]) -> list[TensorType]:
    require(len(types) == 2 + types[0].rank and types[0].dtype is types[1].dtype, "dynamic_update_slice: operands")
    return [types[0]]


register(
    "constant",
    _typed,
    "A literal of dtype `to` and shape `shape`: `value` is one number (splat) or a numpy array.",
    attrs={"to": REQUIRED, "shape": (), "value": REQUIRED},
)
register(
    "iota", _typed, "start + the index along `axis`.", attrs={"to": REQUIRED, "shape": REQUIRED, "axis": 0, "start": 0}
)
register(
    "undefined",
    _typed,
    "Lanes of no particular value; each is poison until it is overwritten.",
    attrs={"to": REQUIRED, "shape": ()},
)
register(
    "broadcast",
    _broadcast,
    "Operand dimension i becomes result dimension dims[i]; extent 1 repeats.",
    attrs={"shape": REQUIRED, "dims": REQUIRED},
)
register("reshape", _reshape, "The same lanes in row-major order under another shape.", attrs={"shape": REQUIRED})
register("reorder", _reorder, "The same lanes in an order that the source leaves open; evaluated in the given one.")
register("transpose", _transpose, "Result dimension i is operand dimension perm[i].", attrs={"perm": REQUIRED})
register(
    "slice",
    _slice,
    "start:limit:step in each dimension.",
    attrs={"start": REQUIRED, "limit": REQUIRED, "step": REQUIRED},
)
register(
    "pad",
    _pad,
    "Edge padding low/high (negative crops) and interior padding with operand 1.",
    attrs={"low": REQUIRED, "high": REQUIRED, "interior": REQUIRED},
)
register("concat", _concat, "Operands side by side along `axis`.", attrs={"axis": REQUIRED})
register("reverse", _reverse, "Order reversed along each of `axes`.", attrs={"axes": REQUIRED})
register(
    "gather",
    _gather,
    "x[i0, i1, ...] lane by lane: one index operand per dimension of x, all of the result's shape. "
    "Out of bounds: mode 'clamp' moves the index in range, 'fill' gives an undefined lane.",
    attrs={"mode": "fill"},
)
register(
    "dynamic_slice",
    _dynamic_slice,
    "A window of `shape` at the scalar starts, clamped so that it fits.",
    attrs={"shape": REQUIRED},
)
register(
    "dynamic_update_slice",
    _dynamic_update_slice,
    "Operand 0 with operand 1 written at the scalar starts (operands 2...), clamped so that it fits.",
)
