"""Handlers of tt.dot and tt.dot_scaled.  Inside a dot the order of products and their rounding are left open.

Input precision (tf32 and friends) concerns f32 operands only; narrower operands have exact products in f32.
"""

from __future__ import annotations

import numpy as np
from jaxlib.mlir import ir

from lowering.frontends.ttir.integers import unsigned
from lowering.frontends.ttir.registry import Result, attribute, lowers
from lowering.frontends.ttir.state import Lowering
from lowering.ir.program import Value
from lowering.ir.types import BF16, DTYPES, F16, F32, I16, I32, DType

#: tt.InputPrecision by number.
PRECISIONS = ("tf32", "tf32x3", "ieee", "bf16x3", "bf16x6")
#: tt.ScaleDotElemType by number.
SCALED_TYPES = ("e4m3", "e5m2", "e2m3", "e3m2", "e2m1", "bf16", "fp16")
_FP8 = {"e4m3": DTYPES["f8e4m3fn"], "e5m2": DTYPES["f8e5m2"]}
#: The sixteen values of a 4-bit float (OCP Microscaling Formats, e2m1): sign, two exponent bits, one mantissa bit.
E2M1 = np.array([s * v for s in (1.0, -1.0) for v in (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)])


@lowers("tt.dot")
def dot(low: Lowering, op: ir.Operation) -> Result:
    lhs, rhs, acc = low.operands(op)
    is_f32 = lhs.type.dtype is F32
    precision = PRECISIONS[attribute(op, "inputPrecision", 2)] if is_f32 else "ieee"
    imprecise = attribute(op, "maxNumImpreciseAcc", 0)
    # Hopper's fp8 units add up this many products in a short accumulator before they use a full one.
    impl = f"cuda:imprecise={imprecise}" if imprecise and lhs.type.dtype.bits == 8 else "cuda"
    return low.build("dot", lhs, rhs, acc, acc=acc.type.dtype.name, precision=precision, impl=impl)


@lowers("tt.dot_scaled")
def dot_scaled(low: Lowering, op: ir.Operation) -> Result:
    """Microscaling: blocks of the operands share a power-of-two scale.  Scaled operands are exact in the wide type."""
    lhs, rhs, acc, lhs_scale, rhs_scale = _scaled_operands(low, op)
    wide = _wide(low, op)
    lhs = _scaled(low, _decoded(low, op, lhs, "a", 1, wide), lhs_scale, wide)
    rhs_t = low.build("transpose", _decoded(low, op, rhs, "b", 0, wide), perm=_swapped(rhs))
    rhs = low.build("transpose", _scaled(low, rhs_t, rhs_scale, wide), perm=_swapped(rhs))
    return low.build("dot", lhs, rhs, acc, acc=acc.type.dtype.name, impl="cuda")


def _swapped(x: Value) -> tuple[int, ...]:
    *outer, rows, columns = range(x.type.rank)
    return (*outer, columns, rows)


def _scaled_operands(low: Lowering, op: ir.Operation) -> tuple[Value, Value, Value, Value | None, Value | None]:
    present = attribute(op, "operandSegmentSizes")
    given = iter(low.operands(op))
    lhs, rhs, acc, lhs_scale, rhs_scale = (next(given) if n else None for n in present)
    assert lhs is not None and rhs is not None and acc is not None
    return lhs, rhs, acc, lhs_scale, rhs_scale


def _wide(low: Lowering, op: ir.Operation) -> DType:
    """Triton multiplies in f16 where an operand is f16, else in bf16."""
    kinds = [SCALED_TYPES[attribute(op, f"{side}_elem_type")] for side in "ab"]
    return F16 if "fp16" in kinds else BF16


def _decoded(low: Lowering, op: ir.Operation, x: Value, side: str, k_axis: int, wide: DType) -> Value:
    """The operand's elements in the wide type; packed 4-bit floats are taken apart."""
    kind = SCALED_TYPES[attribute(op, f"{side}_elem_type")]
    if kind in ("e2m3", "e3m2"):
        raise low.unsupported(f"tt.dot_scaled with {kind} elements", "6-bit floats are not modelled")
    if kind != "e2m1":
        if not x.type.dtype.is_float:
            x = low.build.bitcast(x, _FP8[kind])
        return low.build.cast(x, wide)
    if not attribute(op, f"{'lhs' if side == 'a' else 'rhs'}_k_pack", True):
        raise low.unsupported("tt.dot_scaled with 4-bit floats not packed along K")
    return _unpacked(low, x, x.type.rank - 2 + k_axis, wide)


def _unpacked(low: Lowering, x: Value, axis: int, wide: DType) -> Value:
    """Two 4-bit floats a byte, the low half first, side by side along ``axis``."""
    bits = low.build.cast(unsigned(low.build, x), I32)
    halves = [low.build("and", bits, low.build.like(15, bits)), low.build("shr", bits, low.build.like(4, bits))]
    shape = x.type.shape
    apart = [low.build.reshape(h, (*shape[: axis + 1], 1, *shape[axis + 1 :])) for h in halves]
    together = low.build("concat", *apart, axis=axis + 1)
    index = low.build.reshape(together, (*shape[:axis], 2 * shape[axis], *shape[axis + 1 :]))
    return low.build("gather", low.build.constant(E2M1, wide), index)


def _scaled(low: Lowering, x: Value, scale: Value | None, wide: DType) -> Value:
    """x[..., row, k] * 2^(scale[..., row, k // block] - 127); the scale 255 is NaN."""
    if scale is None:
        return x
    if not scale.type.dtype.is_integer or scale.type.dtype.bits != 8:
        raise low.unsupported(f"tt.dot_scaled with scales of {scale.type.dtype}", "scales are e8m0 in bytes")
    rows, blocks = x.type.shape[:-1], scale.type.shape[-1]
    factor = _spread(low, _power(low, scale, wide), (*rows, blocks), x.type.shape[-1] // blocks)
    return low.build("mul", x, factor)


def _power(low: Lowering, scale: Value, wide: DType) -> Value:
    """2^(scale - 127): an e8m0 byte is the exponent field of a bf16."""
    code = low.build.cast(unsigned(low.build, scale), I16)
    bits = low.build("shl", code, low.build.like(7, code))
    power = low.build.bitcast(bits, BF16)
    nan = low.build.cmp("eq", code, low.build.like(255, code))
    return low.build.cast(low.build("select", nan, low.build.like(float("nan"), power), power), wide)


def _spread(low: Lowering, x: Value, shape: tuple[int, ...], times: int) -> Value:
    """Every element of the last dimension repeated ``times`` times."""
    spread = low.build.broadcast(low.build.reshape(x, (*shape, 1)), (*shape, times))
    return low.build.reshape(spread, (*shape[:-1], shape[-1] * times))
