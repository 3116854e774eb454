"""Reductions of Beta-1 and the functions made of them: sum, max, ..., mean, var, softmax, rms_norm (NKI.md §1.8).

A mask that is a box narrows the data; any other is filled with the identity of the operation first.
"""

from __future__ import annotations

from typing import Any

from lowering.capture.nki import instructions, math_beta1
from lowering.capture.nki.dtypes import dtype_name
from lowering.capture.nki.made_beta1 import Made
from lowering.capture.nki.masks_beta1 import Box, regions
from lowering.capture.nki.produce_beta1 import produced, result, tile_of
from lowering.capture.nki.tensor_beta1 import Tensor
from lowering.capture.nki.tracer import current, here, unmodelled
from lowering.errors import UsageError

F32 = "float32"
_IDENTITY = {"add": 0.0, "mult": 1.0, "max": float("-inf"), "min": float("inf"), "logical_and": 1.0, "logical_or": 0.0}


def fold(
    op: str, x: Any, axis: Any, dtype: Any = None, mask: Any = None, keepdims: bool = False, negate: bool = False
) -> Tensor:
    """The named axes of x combined by ``op`` (KLR's name); kept axes come first, in their order."""
    data = tile_of("the data of a reduction", x)
    axes = _axes(axis, data.ndim)
    if 0 in axes:
        raise UsageError(f"{here()}: a reduction along axis 0, the partitions, of {data.shape}: only free axes fold")
    shape = [1 if d in axes else n for d, n in enumerate(data.shape) if keepdims or d not in axes]
    dst = result(shape, data.dtype_name if dtype is None else dtype_name(dtype))
    found = regions(mask, data.shape)
    if not found:
        dst.made = Made([])
        return dst
    (box, concrete), *_ = found
    if concrete is not None:
        data = _filled(op, data, mask)
    narrow = data.cut(box)
    order = [d for d in range(data.ndim) if d not in axes] + axes
    turned = narrow.remade([narrow.shape[d] for d in order], [narrow.strides[d] for d in order])
    kept: Box = tuple((0, 1) if d in axes else box[d] for d in range(data.ndim) if keepdims or d not in axes)
    kept += ((0, 1),) * (dst.ndim - len(kept))
    trailing = list(range(data.ndim - len(axes), data.ndim))
    instructions.tensor_reduce(dst.cut(kept), op, turned, trailing, negate)
    dst.made = Made([(current().trace.instrs[-1], kept)])
    return dst


def _axes(axis: Any, rank: int) -> list[int]:
    given = axis if isinstance(axis, list | tuple) else [axis]
    if any(not -rank <= int(one) < rank for one in given):
        raise UsageError(f"{here()}: axis {axis} of a tile of {rank} dimensions")
    return sorted({int(one) % rank for one in given})


def _filled(op: str, data: Tensor, mask: Any) -> Tensor:
    """The data where the mask holds, the identity elsewhere."""
    if op not in _IDENTITY:
        raise unmodelled(f"a reduction by {op} under a mask that is no box")
    whole = result(data.shape, "float32")
    instructions.memset(whole, _IDENTITY[op])
    return produced(whole, [data], mask, lambda d, a, m: instructions.copy(d, a, "dve", m))


def sum(x: Any, axis: Any, dtype: Any = None, mask: Any = None, keepdims: bool = False, **_: Any) -> Tensor:
    return fold("add", x, axis, dtype, mask, keepdims)


def prod(x: Any, axis: Any, dtype: Any = None, mask: Any = None, keepdims: bool = False, **_: Any) -> Tensor:
    return fold("mult", x, axis, dtype, mask, keepdims)


def max(x: Any, axis: Any, dtype: Any = None, mask: Any = None, keepdims: bool = False, **_: Any) -> Tensor:
    return fold("max", x, axis, dtype, mask, keepdims)


def min(x: Any, axis: Any, dtype: Any = None, mask: Any = None, keepdims: bool = False, **_: Any) -> Tensor:
    return fold("min", x, axis, dtype, mask, keepdims)


def all(x: Any, axis: Any, dtype: Any = "uint8", mask: Any = None, keepdims: bool = False, **_: Any) -> Tensor:
    return fold("logical_and", x, axis, dtype, mask, keepdims)


def mean(x: Any, axis: Any, dtype: Any = None, mask: Any = None, keepdims: bool = False, **_: Any) -> Tensor:
    """The sum in f32, times 1 / n."""
    data = boxed("nl.mean", x, mask)
    _assume("nl_mean: the sum in f32 times 1/n")
    total = fold("add", data, axis, F32, None, keepdims)
    return math_beta1.multiply(total, 1.0 / _count(data, axis), dtype=data.dtype_name if dtype is None else dtype)


def var(x: Any, axis: Any, dtype: Any = None, mask: Any = None, **_: Any) -> Tensor:
    """The mean of (x - mean)^2, in f32."""
    data = boxed("nl.var", x, mask)
    _assume("nl_var: the mean of (x - mean)^2, each in f32")
    off = math_beta1.subtract(data, mean(data, axis, F32, keepdims=True), dtype=F32)
    squares = math_beta1.multiply(off, off, dtype=F32)
    return mean(squares, axis, data.dtype_name if dtype is None else dtype)


def softmax(x: Any, axis: Any, dtype: Any = None, compute_dtype: Any = None, mask: Any = None, **_: Any) -> Tensor:
    """exp(x - max) times the reciprocal of the sum, in f32."""
    data = boxed("nl.softmax", x, mask)
    if compute_dtype is not None and dtype_name(compute_dtype) != F32:
        raise unmodelled(f"nl.softmax with compute_dtype {dtype_name(compute_dtype)}")
    _assume("nl_softmax: exp(x - max) * (1 / sum), each in f32")
    least = fold("max", data, axis, F32, None, True, negate=True)
    powers = result(data.shape, F32)
    if least.free == 1:
        instructions.activation(powers, "exp", data, bias=least)
    else:
        moved = math_beta1.add(data, least, dtype=F32)
        instructions.activation(powers, "exp", moved)
    share = math_beta1.reciprocal(fold("add", powers, axis, F32, None, True))
    return math_beta1.multiply(powers, share, dtype=data.dtype_name if dtype is None else dtype)


def rms_norm(
    x: Any, w: Any, axis: Any, n: Any, epsilon: float = 1e-6, dtype: Any = None, compute_dtype: Any = None,
    mask: Any = None, **_: Any,
) -> Tensor:  # fmt: skip
    """x * rsqrt(sum of squares / n + epsilon) * w, in compute_dtype (f32 where it is not given)."""
    data = boxed("nl.rms_norm", x, mask)
    _assume("nl_rms_norm: x * rsqrt(sum(x*x) * (1/n) + epsilon) * w, each in f32")
    inner = F32 if compute_dtype is None else dtype_name(compute_dtype)
    total = fold("add", math_beta1.square(data, dtype=inner), axis, F32, None, True)
    scale = result(total.shape, F32)
    instructions.tensor_scalar(scale, total, "mult", 1.0 / float(n), op1="add", operand1=float(epsilon))
    normal = math_beta1.multiply(data, math_beta1.rsqrt(scale), dtype=inner)
    kind = data.dtype_name if dtype is None else dtype
    return math_beta1.copy(normal, dtype=kind) if w is None else math_beta1.multiply(normal, w, dtype=kind)


def boxed(what: str, x: Any, mask: Any) -> Tensor:
    """x, whose mask has to let all of it through."""
    data = tile_of(f"{what}'s operand", x)
    found = regions(mask, data.shape)
    if len(found) != 1 or found[0][1] is not None or data.cut(found[0][0]) is not data:
        raise unmodelled(f"{what} under a mask")
    return data


def _count(data: Tensor, axis: Any) -> int:
    count = 1
    for one in _axes(axis, data.ndim):
        count *= data.shape[one]
    return count


def _assume(name: str) -> None:
    current().trace.assumed[name] = None
