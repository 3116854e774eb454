"""Instructions that make each element of dst from elements at its place: copies, fills, arithmetic, selections."""

from __future__ import annotations

from math import isfinite
from typing import Any

from lowering.capture.nki.operands import Mask, lane_or_number, operand, reduced, same_elements, tile
from lowering.capture.nki.ops import BITVEC
from lowering.capture.nki.tile import Tile
from lowering.capture.nki.trace import PSUM
from lowering.capture.nki.tracer import current, here
from lowering.errors import UsageError

_INTEGERS_32 = ("int32", "uint32")


def copy(dst: Tile, src: Tile, engine: str, mask: Mask = None) -> None:
    """``nc_copy`` dst=[dst] src=[src]: dst = src on one engine."""
    same_elements("tensor_copy", dst, src)
    current().emit("nc_copy", [dst.view_of], [src.view_of], engine, mask)


def copy_predicated(dst: Tile, src: Any, predicate: Tile, reverse: bool = False, mask: Mask = None) -> None:
    """``copy_predicated`` dst=[dst] src=[src: tile or number, predicate] reverse_pred: src where predicate is not 0."""
    same_elements("tensor_copy_predicated", dst, predicate)
    if isinstance(src, Tile):
        same_elements("tensor_copy_predicated", dst, src)
    current().emit(
        "copy_predicated", [dst.view_of], [operand(src), predicate.view_of], "dve", mask, reverse_pred=bool(reverse)
    )


def memset(dst: Tile, value: Any, engine: str = "", mask: Mask = None) -> None:
    """``mem_set`` dst=[dst] src=[number]."""
    if isinstance(value, Tile) or value is None:
        raise UsageError(f"{here()}: memset takes a number, and not a {type(value).__name__}")
    tile("dst of memset", dst)
    current().emit("mem_set", [dst.view_of], [operand(value)], engine or "dve", mask)


def reciprocal(dst: Tile, data: Tile, mask: Mask = None) -> None:
    """``reciprocal`` dst=[dst] src=[data]."""
    same_elements("reciprocal", dst, data)
    current().emit("reciprocal", [dst.view_of], [data.view_of], "dve", mask)


def tensor_tensor(dst: Tile, data1: Tile, data2: Tile, op: str, engine: str = "", mask: Mask = None) -> None:
    """``tensor_tensor`` dst=[dst] src=[data1, data2] op: dst = op(data1, data2).

    engine 'pool' with operands of 32-bit integers and add, subtract or mult is exact; elsewhere f32 computes.
    """
    same_elements("tensor_tensor", dst, data1, data2)
    chosen = engine or ("pool" if op == "pow" or _native_integers(data1, data2, op) else "dve")
    current().emit("tensor_tensor", [dst.view_of], [data1.view_of, data2.view_of], chosen, mask, op=op)


def _native_integers(data1: Tile, data2: Tile, op: str) -> bool:
    """32-bit integers outside of PSUM are added and multiplied on GpSimd, exactly."""
    if op not in ("add", "subtract", "mult"):
        return False
    return all(t.dtype_name in _INTEGERS_32 and t.storage.space != PSUM for t in (data1, data2))


def tensor_scalar(
    dst: Tile, data: Tile, op0: str, operand0: Any, reverse0: bool = False, op1: str | None = None,
    operand1: Any = None, reverse1: bool = False, engine: str = "", mask: Mask = None,
) -> None:  # fmt: skip
    """``tensor_scalar`` dst=[dst] src=[data, operand0, operand1: number or (P, 1) or None] op0 op1 reverse0 reverse1.

    dst = op1(op0(data, operand0), operand1); a reversed operation takes its operand first; op1 None: op0 alone.
    """
    same_elements("tensor_scalar", dst, data)
    if op1 is None and operand1 is not None:
        raise UsageError(f"{here()}: tensor_scalar has operand1 and no op1")
    if op1 is not None and (op0 in BITVEC) != (op1 in BITVEC):
        raise UsageError(f"{here()}: tensor_scalar: {op0} and {op1} are not both bit operations or both arithmetic")
    src = [data.view_of, lane_or_number("operand0", operand0, data), lane_or_number("operand1", operand1, data)]
    for op, value in ((op0, src[1]), (op1, src[2])):
        if op in BITVEC and op != "bitwise_not":
            _whole(op, value)
    chosen = engine or ("pool" if op0 in _ON_POOL or op1 in _ON_POOL else "dve")
    current().emit("tensor_scalar", [dst.view_of], src, chosen, mask,
                   op0=op0, op1=op1, reverse0=bool(reverse0), reverse1=bool(reverse1))  # fmt: skip


_ON_POOL = ("pow", "rsqrt")


def _whole(op: str, value: Any) -> None:
    """A bit operation takes integers."""
    if value is None or (isinstance(value, float) and not isfinite(value)):
        raise UsageError(f"{here()}: tensor_scalar: {op} takes an integer, and not {value}")


def scalar_tensor_tensor(
    dst: Tile, data: Tile, op0: str, operand0: Any, op1: str, operand1: Tile, reverse0: bool = False,
    reverse1: bool = False, mask: Mask = None,
) -> None:  # fmt: skip
    """``nc_scalar_tensor_tensor`` dst=[dst] src=[data, operand0: number or (P, 1), operand1: tile] op0 op1
    reverse0 reverse1: dst = op1(op0(data, operand0), operand1)."""
    same_elements("scalar_tensor_tensor", dst, data, operand1)
    src = [data.view_of, lane_or_number("operand0", operand0, data), operand1.view_of]
    current().emit("nc_scalar_tensor_tensor", [dst.view_of], src, "dve", mask,
                   op0=op0, op1=op1, reverse0=bool(reverse0), reverse1=bool(reverse1))  # fmt: skip


def select_reduce(
    dst: Tile, predicate: Tile, on_true: Tile, on_false: Any, reduce_res: Tile | None = None, reduce_cmd: str = "idle",
    reduce_op: str = "max", reverse_pred: bool = False, mask: Mask = None,
) -> None:  # fmt: skip
    """``select_reduce`` dst=[dst, reduce_res?] src=[predicate, on_true, on_false: number or (P, 1)] reduce_op
    reduce_cmd reverse_pred: on_true where predicate is not 0, else on_false; the Vector engine's accumulator folds."""
    same_elements("select_reduce", dst, predicate, on_true)
    src = [predicate.view_of, on_true.view_of, lane_or_number("on_false", on_false, dst)]
    current().emit("select_reduce", reduced("select_reduce", dst, reduce_res, reduce_cmd), src, "dve", mask,
                   reduce_op=reduce_op, reduce_cmd=reduce_cmd, reverse_pred=bool(reverse_pred))  # fmt: skip


def range_select(
    dst: Tile, on_true: Tile, comp_op0: str, comp_op1: str, bound0: Any, bound1: Any, reduce_cmd: str = "idle",
    reduce_res: Tile | None = None, reduce_op: str = "max", range_start: Any = 0, on_false_value: float = 0.0,
    mask: Mask = None,
) -> None:  # fmt: skip
    """``nc_range_select`` dst=[dst, reduce_res?] src=[on_true, bound0: (P, 1), bound1: (P, 1), range_start: number or
    (P, 1)] comp_op0 comp_op1 on_false_value reduce_op reduce_cmd.

    dst[p, i] = on_true[p, i] where comp_op0(range_start + i, bound0[p]) and comp_op1(range_start + i, bound1[p]),
    else on_false_value.
    """
    same_elements("range_select", dst, on_true)
    names = ("bound0", "bound1", "range_start")
    lanes = [lane_or_number(name, value, dst) for name, value in zip(names, (bound0, bound1, range_start), strict=True)]
    attrs = {"comp_op0": comp_op0, "comp_op1": comp_op1, "on_false_value": float(on_false_value),
             "reduce_op": reduce_op, "reduce_cmd": reduce_cmd}  # fmt: skip
    results = reduced("range_select", dst, reduce_res, reduce_cmd)
    current().emit("nc_range_select", results, [on_true.view_of, *lanes], "dve", mask, **attrs)
