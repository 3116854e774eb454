"""Records of memory: flat buffers of bytes, addressed by ``ptr``; host views and kernel loads, stores and atomics."""

from __future__ import annotations

from collections.abc import Sequence

from lowering.ir.ops.record import REQUIRED, Attrs, register, require
from lowering.ir.program import Block
from lowering.ir.types import BOOL, PTR, TensorType, dtype

ATOMICS = ("add", "max", "min", "and", "or", "xor", "exchange")


def _alloc(_types: Sequence[TensorType], _attrs: Attrs, _regions: Sequence[Block]) -> list[TensorType]:
    return [TensorType(PTR)]


def _read(types: Sequence[TensorType], attrs: Attrs, _regions: Sequence[Block]) -> list[TensorType]:
    require(types[0] == TensorType(PTR), "read: takes a buffer")
    return [TensorType(dtype(attrs["to"]), tuple(attrs["shape"]))]


def _write(types: Sequence[TensorType], attrs: Attrs, _regions: Sequence[Block]) -> list[TensorType]:
    require(types[0] == TensorType(PTR) and len(types) == 2, "write: takes a buffer and a value")
    require(len(attrs["strides"]) == types[1].rank, f"write: strides {attrs['strides']} for {types[1]}")
    return []


def _masked(types: Sequence[TensorType], what: str) -> None:
    require(types[0].dtype is PTR, f"{what}: operand 0 is {types[0]}, not an address")
    require(len({t.shape for t in types}) == 1, f"{what}: shapes differ: {', '.join(map(str, types))}")


def _load(types: Sequence[TensorType], attrs: Attrs, _regions: Sequence[Block]) -> list[TensorType]:
    _masked(types, "load")
    result = types[0].with_dtype(dtype(attrs["to"]))
    require(len(types) < 2 or types[1].dtype is BOOL, "load: operand 1 is the mask")
    require(len(types) < 3 or types[2] == result, f"load: `other` is {types[-1]}, not {result}")
    return [result]


def _store(types: Sequence[TensorType], _attrs: Attrs, _regions: Sequence[Block]) -> list[TensorType]:
    _masked(types, "store")
    require(len(types) in (2, 3) and (len(types) == 2 or types[2].dtype is BOOL), "store: address, value[, mask]")
    return []


def _atomic_rmw(types: Sequence[TensorType], attrs: Attrs, _regions: Sequence[Block]) -> list[TensorType]:
    _masked(types, "atomic_rmw")
    require(attrs["combine"] in ATOMICS, f"atomic_rmw has no {attrs['combine']!r}")
    return [types[1]]


def _atomic_cas(types: Sequence[TensorType], _attrs: Attrs, _regions: Sequence[Block]) -> list[TensorType]:
    _masked(types, "atomic_cas")
    return [types[1]]


def _promise(types: Sequence[TensorType], _attrs: Attrs, _regions: Sequence[Block]) -> list[TensorType]:
    require(len(types) == 1 and types[0].dtype is BOOL, "promise takes one condition")
    return []


def _barrier(_types: Sequence[TensorType], _attrs: Attrs, _regions: Sequence[Block]) -> list[TensorType]:
    return []


register(
    "alloc",
    _alloc,
    "A new buffer of `bytes` bytes, contents undefined; `name` is for messages.",
    attrs={"bytes": REQUIRED, "name": ""},
)
register(
    "read",
    _read,
    "A strided view (elements; offset too) of a buffer as a tensor of dtype `to`.",
    attrs={"to": REQUIRED, "shape": REQUIRED, "strides": REQUIRED, "offset": 0},
)
register(
    "write",
    _write,
    "Writes a tensor through a strided view (elements; offset too) of a buffer.",
    attrs={"strides": REQUIRED, "offset": 0},
)
register(
    "load",
    _load,
    "Lane by lane from (address[, mask[, other]]). A masked-off lane is `other`, or undefined when there is none. "
    "An out-of-bounds active lane is undefined and a finding.",
    attrs={"to": REQUIRED},
)
register("store", _store, "Lane by lane to (address, value[, mask]); lanes hitting one address race.")
register(
    "atomic_rmw",
    _atomic_rmw,
    "memory[address] = combine(memory[address], value) for (address, value[, mask]); returns the old value. "
    "The order among lanes and program instances is racing. `nan` as for max and min.",
    primitive=True,
    attrs={"combine": REQUIRED, "order": "racing", "nan": "number"},
)
register("atomic_cas", _atomic_cas, "(address, compare, value): stores value where memory equals compare; returns old.")
register("barrier", _barrier, "All threads of a program instance have finished what comes before.")
register(
    "promise",
    _promise,
    "What the source says always holds, to its compiler (`kind` promise) or to itself (`kind` assert); `what` is for "
    "messages. An active lane where the condition is false is a finding.",
    attrs={"what": REQUIRED, "kind": "promise"},
)
