"""nki.isa of the new API: copies, arithmetic and folds of the Vector, Scalar and GpSimd engines."""

from __future__ import annotations

from math import isfinite
from typing import Any

from lowering.capture.nki import instructions
from lowering.capture.nki.dtypes import FLOATS
from lowering.capture.nki.enums_new import engine, engine_name, reduce_cmd, word_of
from lowering.capture.nki.ops import activation as activation_of
from lowering.capture.nki.ops import alu
from lowering.capture.nki.signatures import api, older_than
from lowering.capture.nki.tile import Tile
from lowering.capture.nki.tracer import current, here
from lowering.errors import UsageError

UNKNOWN, IDLE, RESET_REDUCE = engine.unknown, reduce_cmd.idle, reduce_cmd.reset_reduce


def _cmd(command: Any) -> str:
    return "idle" if command is IDLE else word_of("reduce_cmd", command, reduce_cmd)


def _alu_or_none(op: Any) -> str | None:
    return None if op is None else alu(op)


@api("nisa.tensor_copy")
def tensor_copy(dst: Tile, src: Tile, engine: Any = UNKNOWN, name: Any = None) -> None:
    instructions.copy(dst, src, engine_name(engine) or "dve")


@api("nisa.memset")
def memset(dst: Tile, value: Any, engine: Any = UNKNOWN, name: Any = None) -> None:
    """From 0.3 on a number with a fraction does not fit an integer tile; 0.2 dropped the fraction."""
    if isinstance(value, float) and isinstance(dst, Tile) and dst.dtype_name not in FLOATS and not value.is_integer():
        if not older_than("0.3") or not isfinite(value):
            raise UsageError(f"{here()}: nisa.memset: {value} is no number of an {dst.dtype_name} tile")
        value = int(value)
    instructions.memset(dst, value, engine_name(engine))


@api("nisa.reciprocal")
def reciprocal(dst: Tile, data: Tile, name: Any = None) -> None:
    instructions.reciprocal(dst, data)


@api("nisa.tensor_tensor")
def tensor_tensor(dst: Tile, data1: Tile, data2: Tile, op: Any, engine: Any = UNKNOWN, name: Any = None) -> None:
    instructions.tensor_tensor(dst, data1, data2, alu(op), engine_name(engine))


@api("nisa.tensor_scalar")
def tensor_scalar(
    dst: Tile, data: Tile, op0: Any, operand0: Any, reverse0: bool = False, op1: Any = None, operand1: Any = None,
    reverse1: bool = False, engine: Any = UNKNOWN, name: Any = None,
) -> None:  # fmt: skip
    instructions.tensor_scalar(
        dst, data, alu(op0), operand0, reverse0, _alu_or_none(op1), operand1, reverse1, engine_name(engine)
    )


@api("nisa.scalar_tensor_tensor")
def scalar_tensor_tensor(
    dst: Tile, data: Tile, op0: Any, operand0: Any, op1: Any, operand1: Tile, reverse0: bool = False,
    reverse1: bool = False, name: Any = None,
) -> None:  # fmt: skip
    instructions.scalar_tensor_tensor(dst, data, alu(op0), operand0, alu(op1), operand1, reverse0, reverse1)


@api("nisa.tensor_reduce")
def tensor_reduce(
    dst: Tile, op: Any, data: Tile, axis: Any, negate: bool = False, keepdims: bool = False, name: Any = None
) -> None:
    axes = tuple(axis) if isinstance(axis, list | tuple) else (axis,)
    if axes == (1,) and isinstance(data, Tile) and data.ndim > 2 and older_than("0.3"):
        axes = (data.ndim - 1,)
        _note(f"{here()}: NKI 0.2 folds the last axis of {data.shape} where axis=1 is asked for")
    elif axes == (1,) and isinstance(data, Tile) and data.ndim > 2:
        hint = "NKI 0.2 folded the last one (--nki-version 0.2)"
        raise UsageError(f"{here()}: tensor_reduce: axis 1 of {data.shape}: only trailing free axes fold; {hint}")
    instructions.tensor_reduce(dst, alu(op), data, axes, negate)


def _note(text: str) -> None:
    if text not in current().trace.notes:
        current().trace.notes.append(text)


@api("nisa.tensor_partition_reduce")
def tensor_partition_reduce(dst: Tile, op: Any, data: Tile, name: Any = None) -> None:
    instructions.tensor_partition_reduce(dst, alu(op), data)


@api(
    "nisa.tensor_scalar_reduce",
    added={"reduce_cmd": "0.4", "reduce_init": "0.4", "reduce_res_negate": "0.6"},
)
def tensor_scalar_reduce(
    dst: Tile, data: Tile, op0: Any, operand0: Any, reduce_op: Any, reduce_res: Tile | None = None,
    reverse0: bool = False, reduce_cmd: Any = RESET_REDUCE, reduce_init: Any = None, reduce_res_negate: bool = False,
    name: Any = None,
) -> None:  # fmt: skip
    if reduce_res is None and older_than("0.6"):
        raise UsageError(f"{here()}: nisa.tensor_scalar_reduce needs reduce_res before NKI 0.6")
    instructions.tensor_scalar_reduce(
        dst, data, alu(op0), operand0, alu(reduce_op), reduce_res, reverse0, _cmd(reduce_cmd), reduce_init,
        reduce_res_negate,
    )  # fmt: skip


@api("nisa.tensor_scalar_cumulative")
def tensor_scalar_cumulative(
    dst: Tile, src: Tile, op0: Any, op1: Any, imm0: Any, imm1: Any = None, reduce_cmd: Any = RESET_REDUCE,
    name: Any = None,
) -> None:  # fmt: skip
    instructions.tensor_scalar_cumulative(dst, src, alu(op0), alu(op1), imm0, imm1, _cmd(reduce_cmd))


@api("nisa.tensor_tensor_scan")
def tensor_tensor_scan(
    dst: Tile, data0: Tile, data1: Tile, initial: Any, op0: Any, op1: Any, reverse0: bool = False,
    reverse1: bool = False, name: Any = None,
) -> None:  # fmt: skip
    instructions.tensor_tensor_scan(dst, data0, data1, initial, alu(op0), alu(op1), reverse0, reverse1)


# -- functions of the tables -----------------------------------------------------------------------------------------


@api("nisa.activation")
def activation(
    dst: Tile, op: Any, data: Tile, bias: Any = None, scale: Any = 1.0, reduce_op: Any = None, reduce_res: Any = None,
    reduce_cmd: Any = None, name: Any = None,
) -> None:  # fmt: skip
    """reduce_cmd is idle where it is not given; in 0.2 that reset the accumulator."""
    command = ("reset" if older_than("0.3") else "idle") if reduce_cmd is None else _cmd(reduce_cmd)
    instructions.activation(dst, activation_of(op), data, bias, scale, _added(reduce_op), reduce_res, command)


def _added(reduce_op: Any) -> str | None:
    """The Scalar engine's accumulator adds."""
    folded = _alu_or_none(reduce_op)
    if folded not in (None, "add"):
        raise UsageError(f"{here()}: nisa.activation: reduce_op has to be nl.add, and not {folded}")
    return folded


@api("nisa.activation_reduce")
def activation_reduce(
    dst: Tile, op: Any, data: Tile, reduce_op: Any, reduce_res: Tile, bias: Any = None, scale: Any = 1.0,
    name: Any = None,
) -> None:  # fmt: skip
    instructions.activation(
        dst, activation_of(op), data, bias, scale, _added(reduce_op), reduce_res, "reset_reduce"
    )  # fmt: skip


@api("nisa.activate2", since="0.4")
def activate2(
    dst: Tile, op: Any, data: Tile, imm0: Any, imm1: Any, op0: Any, op1: Any, relu_param: Any = 0.0,
    reverse0: bool = False, reverse1: bool = False, reduce_op: Any = None, reduce_res: Tile | None = None,
    reduce_cmd: Any = IDLE, name: Any = None,
) -> None:  # fmt: skip
    instructions.activate2(
        dst, activation_of(op), data, imm0, imm1, alu(op0), alu(op1), relu_param, reverse0, reverse1,
        _alu_or_none(reduce_op), reduce_res, _cmd(reduce_cmd),
    )  # fmt: skip


@api("nisa.exponential")
def exponential(
    dst: Tile, src: Tile, max_value: Any = 0.0, reduce_res: Tile | None = None, reduce_cmd: Any = IDLE,
    reduce_init: Any = 0.0, name: Any = None,
) -> None:  # fmt: skip
    instructions.exponential(dst, src, max_value, reduce_res, _cmd(reduce_cmd), reduce_init)
