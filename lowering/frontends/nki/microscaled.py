"""Microscaled formats: elements of 8 or 4 bits whose groups, 8 partitions x 4 elements, share a power of two.

Semantics: NKI.md §1.6 (quantize_mx, nc_matmul_mx) and §2.3; where scales lie: the guide to MXFP matmuls of NKI's
documentation.  The scales of four groups of partitions (a quadrant of 32) are in the first four partitions of it.
"""

from __future__ import annotations

from math import prod

import numpy as np

from lowering.capture.nki.dtypes import size_of
from lowering.capture.nki.trace import Instr, Operand
from lowering.capture.trace import TensorRef
from lowering.errors import Unsupported
from lowering.frontends.nki.contractions import accumulated
from lowering.frontends.nki.numerics import to_f32
from lowering.frontends.nki.packed import HELD, held
from lowering.frontends.nki.state import IMPL, State, handler
from lowering.ir.program import Value
from lowering.ir.types import DTYPES, F32, I32

LANES, ELEMENTS = 8, 4  # of a group
#: the values of a 4-bit float by its bits (OCP Microscaling Formats, e2m1)
E2M1 = np.array(
    [sign * value for sign in (1.0, -1.0) for value in (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)], np.float32
)
_MOST = {"float8_e4m3fn": 8, "float8_e5m2": 15}  # the exponent of the largest numbers of a dtype
_NAN = 255  # among the codes of scales


@handler("quantize_mx")
def quantize_mx(state: State, instr: Instr) -> None:
    """X = 2^(the exponent of the group's largest element - (Emax - 1)), before NKI 0.5 - Emax; dst = src / X."""
    b, (dst, scales) = state.builder, (_plain(instr, view) for view in instr.dst)
    x = to_f32(b, state.view(instr.src[0]))
    lanes, groups = x.type.shape[0] // LANES, prod(x.type.shape[1:]) // ELEMENTS
    x = b.reshape(x, (lanes, LANES, groups, ELEMENTS))
    exponent = b("and", b("shr", b.bitcast(x, DTYPES["u32"]), b.constant(23, DTYPES["u32"], x.type.shape)),
                 b.constant(255, DTYPES["u32"], x.type.shape))  # fmt: skip
    flat = b.reshape(b("transpose", b.cast(exponent, I32), perm=(0, 2, 1, 3)), (lanes, groups, LANES * ELEMENTS))
    largest = b("reduce", flat, axis=2, combine="max", order="unordered", impl=IMPL)
    old = state.trace.version < "0.5"
    less = _MOST[HELD[dst.dtype]] - (0 if old else 1)
    code = b("max", b("sub", largest, b.like(less, largest)), b.like(0, largest))
    state.assume("mx_scale")
    quotient = b("div", x, b.broadcast(_power(state, code), x.type.shape, (0, 2)), accuracy="exact")
    to = DTYPES["f8e4m3fn" if HELD[dst.dtype] == "float8_e4m3fn" else "f8e5m2"]
    small = b("cast", quotient, to=to.name, saturate=old)
    target = held(dst)
    state.memory.write(target, b.reshape(small, target.shape))
    _put_scales(state, scales, b.cast(code, DTYPES["u8"]))


def _put_scales(state: State, scales: TensorRef, codes: Value) -> None:
    """Row r of the codes, (rows, groups), goes to partition 32 * (r // 4) + r % 4; other partitions stay."""
    b, (rows, groups) = state.builder, codes.type.shape
    for row in range(0, rows, 4):
        count = min(4, rows - row)
        part = b("slice", codes, start=(row, 0), limit=(row + count, groups), step=(1, 1))
        target = _scale_rows(scales, row, count)
        state.memory.write(target, b.reshape(part, target.shape))


def _scale_rows(scales: TensorRef, row: int, count: int) -> TensorRef:
    """The scales of groups ``row`` to ``row + count``, of one quadrant."""
    at = scales.offset + scales.strides[0] * (row // 4 * 32 + row % 4)
    return TensorRef(scales.storage, "uint8", (count, *scales.shape[1:]), scales.strides, at)


@handler("mat_mul_mx")
def mat_mul_mx(state: State, instr: Instr) -> None:
    """As nc_mat_mul, on elements times their scales; partitions and the four elements of one place are contracted."""
    b, (left, right, left_scales, right_scales) = state.builder, instr.src
    first = b("transpose", _scaled(state, instr, left, left_scales), perm=(1, 0))
    second = _scaled(state, instr, right, right_scales)
    product = b("dot", first, second, acc="f32", precision="ieee", order="unordered", impl=IMPL)
    state.assume("pe_product_rounding")
    state.assume("mx_product")
    state.put_f32(instr, accumulated(state, instr, b.reshape(product, state.shape(instr.dst[0]))))


def _scaled(state: State, instr: Instr, operand: Operand, scales: Operand) -> Value:
    """(4 * partitions, elements): every packed element's four along the contracted axis, in f32."""
    b, view, codes = state.builder, _plain(instr, operand), _plain(instr, scales)
    lanes, count = view.shape[0], prod(view.shape[1:])
    x = _elements(state, view)
    rows = [
        state.memory.read(_scale_rows(codes, row, min(4, lanes // LANES - row))) for row in range(0, lanes // LANES, 4)
    ]
    flat = [b.reshape(part, (part.type.shape[0], count)) for part in rows]
    whole = b("concat", *flat, axis=0) if len(flat) > 1 else flat[0]
    factor = _power(state, b.cast(whole, I32))
    grouped = b.reshape(x, (lanes // LANES, LANES, count, ELEMENTS))
    scaled = b("mul", grouped, b.broadcast(factor, grouped.type.shape, (0, 2)))
    turned = b("transpose", b.reshape(scaled, (lanes, count, ELEMENTS)), perm=(0, 2, 1))
    return b.reshape(turned, (lanes * ELEMENTS, count))


def _elements(state: State, view: TensorRef) -> Value:
    """What a packed view holds, in f32, row-major."""
    b, x = state.builder, state.memory.read(held(view))
    if x.type.dtype.is_float:
        return to_f32(b, x)
    code = b.cast(x, I32)
    halves = [b("and", code, b.like(15, code)), b("shr", code, b.like(4, code))]
    pairs = b("concat", *(b.reshape(half, (*half.type.shape, 1)) for half in halves), axis=len(code.type.shape))
    return b("gather", b.constant(E2M1, F32), pairs)


def _power(state: State, code: Value) -> Value:
    """2^(code - 127) in f32 of codes in i32; NaN for 255."""
    b = state.builder
    power = b.bitcast(b("shl", code, b.like(23, code)), F32)
    power = b("select", b.cmp("eq", code, b.like(0, code)), b.like(2.0**-127, power), power)
    return b("select", b.cmp("eq", code, b.like(_NAN, code)), b.like(float("nan"), power), power)


def _plain(instr: Instr, view: Operand) -> TensorRef:
    if not isinstance(view, TensorRef):
        raise Unsupported(f"{instr.op} of an indirect view", instr.span)
    if instr.op == "mat_mul_mx" and view.dtype not in HELD and size_of(view.dtype) != 1:
        raise Unsupported(f"{instr.op} of a tile of {view.dtype}", instr.span)
    return view
