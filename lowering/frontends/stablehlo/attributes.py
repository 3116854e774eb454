"""Payloads of MLIR attributes as Python and numpy values."""

from __future__ import annotations

from typing import Any

import numpy as np

from lowering.errors import UNKNOWN_SPAN, Span
from lowering.frontends.stablehlo.types import element_type
from lowering.ir.types import BOOL, DType


def attribute(operation: Any, name: str) -> Any:
    """The attribute called ``name``, or None."""
    attributes = operation.attributes
    return attributes[name] if name in attributes else None  # noqa: SIM401  (an MLIR map, not a dict)


def ints(attribute: Any) -> tuple[int, ...]:
    """An array<i64: ...> or a dense integer attribute, flattened."""
    from jaxlib.mlir import ir

    if isinstance(attribute, ir.DenseElementsAttr):
        return tuple(int(v) for v in np.array(attribute).reshape(-1))
    return tuple(int(v) for v in attribute)


def dense(attribute: Any, span: Span = UNKNOWN_SPAN) -> tuple[DType, Any]:
    """The dtype of a dense constant and its value: a number when splat (or of rank 0), else an array."""
    dt = element_type(attribute.type.element_type, span)
    shape = tuple(attribute.type.shape)
    if attribute.is_splat and attribute.type.rank >= 0 and np.prod(shape, dtype=int) > 0:
        return dt, _scalar(attribute, dt)
    return dt, _array(attribute, dt).reshape(shape)


def _scalar(attribute: Any, dt: DType) -> bool | int | float:
    from jaxlib.mlir import ir

    if dt.is_float:
        return float(ir.FloatAttr(attribute.get_splat_value()).value)
    value = np.array(attribute).reshape(-1)[0]
    return bool(value) if dt is BOOL else int(value)


def _array(attribute: Any, dt: DType) -> np.ndarray:
    if dt.is_float and dt.name not in ("f64", "f32", "f16"):
        attribute = _widened(attribute)  # the bindings hand out no other float format; f32 holds each exactly
    return np.array(attribute).astype(dt.numpy)


def _widened(attribute: Any) -> Any:
    """The constant converted to f32 by StableHLO's own interpreter."""
    from jaxlib.mlir import ir
    from jaxlib.mlir.dialects import func, stablehlo

    with attribute.context, ir.Location.unknown():
        module = ir.Module.create()
        wide = ir.RankedTensorType.get(attribute.type.shape, ir.F32Type.get())
        with ir.InsertionPoint(module.body):
            main = func.FuncOp("main", ir.FunctionType.get([], [wide]))
            with ir.InsertionPoint(main.add_entry_block()):
                func.ReturnOp([stablehlo.ConvertOp(wide, stablehlo.ConstantOp(attribute).result).result])
        return stablehlo.eval_module(module, [])[0]
