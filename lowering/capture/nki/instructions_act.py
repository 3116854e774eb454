"""Instructions that apply a function of the Scalar engine's tables, with the accumulators that go with them."""

from __future__ import annotations

from typing import Any

from lowering.capture.nki.operands import Mask, lane_or_number, reduced, same_elements
from lowering.capture.nki.tile import Tile
from lowering.capture.nki.tracer import current, here
from lowering.errors import UsageError

#: the pairs (op0, op1) that activate2 has
PAIRS = (("mult", "add"), ("mult", "subtract"), ("mult", "bypass"), ("add", "bypass"), ("subtract", "bypass"),
         ("bypass", "bypass"))  # fmt: skip


def activation(
    dst: Tile, op: str, data: Tile, bias: Any = None, scale: Any = 1.0, reduce_op: str | None = None,
    reduce_res: Tile | None = None, reduce_cmd: str = "idle", mask: Mask = None,
) -> None:  # fmt: skip
    """``nc_activate`` dst=[dst, reduce_res?] src=[data, bias: number or (P, 1) or None, scale: number or (P, 1)] op
    reduce_op reduce_cmd.

    dst = op(data * scale + bias); the Scalar engine's accumulator takes dst's elements as ``reduce_cmd`` says.
    activation_reduce is this with reduce_cmd='reset_reduce'.
    """
    same_elements("activation", dst, data)
    src = [data.view_of, lane_or_number("bias", bias, data), lane_or_number("scale", scale, data)]
    results = reduced("activation", dst, reduce_res, reduce_cmd)
    current().emit("nc_activate", results, src, "act", mask, op=op, reduce_op=reduce_op, reduce_cmd=reduce_cmd)


def activate2(
    dst: Tile, op: str, data: Tile, imm0: Any, imm1: Any, op0: str, op1: str, relu_param: Any = 0.0,
    reverse0: bool = False, reverse1: bool = False, reduce_op: str | None = None, reduce_res: Tile | None = None,
    reduce_cmd: str = "idle",
) -> None:  # fmt: skip
    """``activate2`` dst=[dst, reduce_res?] src=[data, imm0, imm1, relu_param: numbers or (P, 1)] op op0 op1 reverse0
    reverse1 reduce_op reduce_cmd: dst = op(op1(op0(data, imm0), imm1)); the Scalar engine's accumulator folds."""
    same_elements("activate2", dst, data)
    if (op0, op1) not in PAIRS:
        known = ", ".join(f"({a}, {b})" for a, b in PAIRS)
        raise UsageError(f"{here()}: activate2 has no (op0, op1) = ({op0}, {op1}); these are: {known}")
    names = ("imm0", "imm1", "relu_param")
    lanes = [lane_or_number(name, value, data) for name, value in zip(names, (imm0, imm1, relu_param), strict=True)]
    attrs = {"op": op, "op0": op0, "op1": op1, "reverse0": bool(reverse0), "reverse1": bool(reverse1),
             "reduce_op": reduce_op, "reduce_cmd": reduce_cmd}  # fmt: skip
    results = reduced("activate2", dst, reduce_res, reduce_cmd)
    current().emit("activate2", results, [data.view_of, *lanes], "act", None, **attrs)


def exponential(
    dst: Tile, src: Tile, max_value: Any = 0.0, reduce_res: Tile | None = None, reduce_cmd: str = "idle",
    reduce_init: Any = 0.0,
) -> None:  # fmt: skip
    """``exponential`` dst=[dst, reduce_res?] src=[src, max_value: number or (P, 1), reduce_init: likewise] reduce_cmd.

    dst = exp(src - max_value) on the Vector engine, whose accumulator adds dst's elements from left to right.
    """
    same_elements("exponential", dst, src)
    lanes = [lane_or_number("max_value", max_value, src), lane_or_number("reduce_init", reduce_init, src)]
    results = reduced("exponential", dst, reduce_res, reduce_cmd)
    current().emit("exponential", results, [src.view_of, *lanes], "dve", None, reduce_cmd=reduce_cmd)
