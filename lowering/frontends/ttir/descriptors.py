"""Handlers of tensor descriptors: loads and stores of blocks, with lanes outside the tensor padded or dropped.

A descriptor is several KIR values (types.BlockType.parts); a descriptor parameter is its address, and the extents and
strides that Triton passes in the parameters after it.
"""

from __future__ import annotations

from collections.abc import Sequence

from jaxlib.mlir import ir

from lowering.errors import Span
from lowering.frontends.ttir.registry import Result, attribute, lowers
from lowering.frontends.ttir.state import Lowering
from lowering.frontends.ttir.types import BlockType, block_type, tensor_type
from lowering.ir.program import Value
from lowering.ir.types import BOOL, I64, PTR, TensorType

#: tt.DescriptorReduceKind by number.
REDUCTIONS = {1: "add", 2: "min", 3: "max", 6: "and", 7: "or", 8: "xor"}


def parameter_type(source: ir.Value, span: Span) -> TensorType:
    """The KIR type of a kernel's parameter."""
    return TensorType(PTR) if block_type(source.type, span) else tensor_type(source.type, span)


def bind_parameters(low: Lowering, sources: Sequence[ir.Value], params: Sequence[Value]) -> None:
    for i, (source, param) in enumerate(zip(sources, params, strict=True)):
        block = block_type(source.type, low.span)
        if block is None:
            low.bind(source, param)
        else:
            low.bind(source, *_from_parameters(low, block, params[i : i + 1 + 2 * len(block.shape)]))


def _from_parameters(low: Lowering, block: BlockType, params: Sequence[Value]) -> list[Value]:
    extents_and_strides = params[1:]
    if len(extents_and_strides) < 2 * len(block.shape) or any(not p.type.dtype.is_integer for p in extents_and_strides):
        raise low.unsupported("descriptor parameter without extents and strides after it")
    return [params[0], *(low.build.cast(p, I64) for p in extents_and_strides), low.build.constant(False, BOOL)]


@lowers("tt.make_tensor_descriptor")
def make_tensor_descriptor(low: Lowering, op: ir.Operation) -> Result:
    base, *rest = low.operands(op)
    pads_nan = low.build.constant(attribute(op, "padding", 1) == 2, BOOL)
    return [base, *(low.build.cast(x, I64) for x in rest), pads_nan]


@lowers("tt.descriptor_load")
def descriptor_load(low: Lowering, op: ir.Operation) -> Result:
    block, parts = _descriptor(low, op.operands[0])
    address, inside = _lanes(low, block, parts, low.operands_after(op, 1))
    value = low.build("load", address, inside, _padding(low, block, parts[-1]), to=block.dtype.name)
    return low.build.reshape(value, low.type(op.results[0]).shape)


@lowers("tt.descriptor_store")
def descriptor_store(low: Lowering, op: ir.Operation) -> Result:
    block, parts = _descriptor(low, op.operands[0])
    value, *starts = low.operands_after(op, 1)
    address, inside = _lanes(low, block, parts, starts)
    low.build.op("store", [address, low.build.reshape(value, block.shape), inside])
    return None


@lowers("tt.descriptor_reduce")
def descriptor_reduce(low: Lowering, op: ir.Operation) -> Result:
    combine = REDUCTIONS.get(attribute(op, "kind"))
    if combine is None:
        raise low.unsupported("tt.descriptor_reduce inc or dec")
    block, parts = _descriptor(low, op.operands[0])
    value, *starts = low.operands_after(op, 1)
    address, inside = _lanes(low, block, parts, starts)
    low.build.op("atomic_rmw", [address, low.build.reshape(value, block.shape), inside], combine=combine)
    return None


def _descriptor(low: Lowering, source: ir.Value) -> tuple[BlockType, list[Value]]:
    block = block_type(source.type, low.span)
    assert block is not None
    return block, low.flat([source])


def _padding(low: Lowering, block: BlockType, pads_nan: Value) -> Value:
    zero = low.build.constant(0, block.dtype, block.shape)
    if not block.dtype.is_float:
        return zero
    choose = low.build.broadcast(pads_nan, block.shape)
    return low.build("select", choose, low.build.like(float("nan"), zero), zero)


def _lanes(low: Lowering, block: BlockType, parts: list[Value], starts: Sequence[Value]) -> tuple[Value, Value]:
    """Address of every lane of the block, and whether it lies in the tensor."""
    rank, shape = len(block.shape), block.shape
    base, extents, strides = parts[0], parts[1 : 1 + rank], parts[1 + rank : 1 + 2 * rank]
    address, inside = low.build.broadcast(base, shape), low.build.true(shape)
    zero = low.build.constant(0, I64, shape)
    for axis, (start, extent, stride) in enumerate(zip(starts, extents, strides, strict=True)):
        start64, extent, stride = (low.build.broadcast(x, shape) for x in (low.build.cast(start, I64), extent, stride))
        place = low.build("add", start64, low.build.index(shape, axis))
        within = low.build("and", low.build.cmp("ge", place, zero), low.build.cmp("lt", place, extent))
        inside = low.build("and", inside, within)
        address = low.build("addptr", address, low.build("mul", place, stride), bytes=block.dtype.nbytes)
    return address, inside
