"""`neuronxcc.nki.isa`: instructions that give a tile, with ``mask=`` and ``dtype=`` (NKI.md §1.6, Appendix A).

Engines, modes and versions are those of isa_new.py.  Everything is checked and recorded by instructions.py.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lowering.capture.nki import instructions, language_beta1, matmul_beta1
from lowering.capture.nki.dtypes import dtype_name
from lowering.capture.nki.indices_beta1 import Index, Mask
from lowering.capture.nki.isa_fold_beta1 import *  # noqa: F403  (more of the names of nki.isa)
from lowering.capture.nki.isa_new import (
    dge_mode,
    engine,
    engine_name,
    gpsimd_engine,
    nc_version,
    oob_mode,
    reduce_cmd,
    scalar_engine,
    tensor_engine,
    unknown_engine,
    vector_engine,
)
from lowering.capture.nki.keywords_beta1 import documented_keywords
from lowering.capture.nki.language_beta1 import fp32
from lowering.capture.nki.made_beta1 import Made
from lowering.capture.nki.ops import activation as activation_of
from lowering.capture.nki.ops import alu
from lowering.capture.nki.placeholders import placeholder
from lowering.capture.nki.produce_beta1 import (
    in_sbuf,
    like,
    produced,
    result,
    tensor_of,
    tile_of,
    together,
    under,
    unmasked,
)
from lowering.capture.nki.promotion_beta1 import promoted
from lowering.capture.nki.tensor_beta1 import Tensor
from lowering.capture.nki.tracer import current, here, unmodelled
from lowering.errors import UsageError

OTHERS = [dge_mode, gpsimd_engine, scalar_engine, tensor_engine, unknown_engine, vector_engine]  # names of the module


def get_nc_version() -> nc_version:
    return nc_version[current().trace.target]


def _optional(op: Any) -> str | None:
    return None if op is None else alu(op)


# -- Tensor engine ----------------------------------------------------------------------------------------------------


def nc_matmul(
    stationary: Any, moving: Any, *, is_stationary_onezero: bool = False, is_moving_onezero: bool = False,
    is_transpose: bool = False, tile_position: Any = (), tile_size: Any = (), mask: Any = None, perf_mode: Any = None,
    **_: Any,
) -> Tensor:  # fmt: skip
    return matmul_beta1.nc_matmul(stationary, moving, mask, is_transpose, perf_mode)


def nc_transpose(data: Any, *, mask: Any = None, dtype: Any = None, engine: Any = engine.unknown, **_: Any) -> Tensor:
    return matmul_beta1.nc_transpose(data, mask, dtype, engine_name(engine))


# -- elementwise ------------------------------------------------------------------------------------------------------


def tensor_tensor(
    data1: Any, data2: Any, op: Any, *, dtype: Any = None, mask: Any = None, engine: Any = engine.unknown, **_: Any
) -> Tensor:
    x, y = tile_of("data1 of tensor_tensor", data1), tile_of("data2 of tensor_tensor", data2)
    name, chosen = alu(op), engine_name(engine)
    x, y = together("tensor_tensor", x, y)
    dst = result(x.shape, promoted(x, y) if dtype is None else dtype_name(dtype))
    return produced(dst, [x, y], mask, lambda d, a, b, m: instructions.tensor_tensor(d, a, b, name, chosen, m))


def tensor_scalar(
    data: Any, op0: Any, operand0: Any, reverse0: bool = False, op1: Any = None, operand1: Any = None,
    reverse1: bool = False, *, dtype: Any = None, mask: Any = None, engine: Any = engine.unknown, **_: Any,
) -> Tensor:  # fmt: skip
    tile, dst = like("data of tensor_scalar", data, dtype)
    first, second, chosen = alu(op0), _optional(op1), engine_name(engine)

    def emit(d: Tensor, x: Tensor, a: Any, b: Any, m: Any) -> None:
        instructions.tensor_scalar(d, x, first, a, reverse0, second, b, reverse1, chosen, m)

    return produced(dst, [tile, operand0, operand1], mask, emit)


def scalar_tensor_tensor(
    *, data: Any, op0: Any, operand0: Any, op1: Any, operand1: Any, reverse0: bool = False, reverse1: bool = False,
    dtype: Any = None, mask: Any = None, **_: Any,
) -> Tensor:  # fmt: skip
    tile, dst = like("data of scalar_tensor_tensor", data, dtype)
    first, second = alu(op0), alu(op1)

    def emit(d: Tensor, x: Tensor, a: Any, b: Tensor, m: Any) -> None:
        instructions.scalar_tensor_tensor(d, x, first, a, second, b, reverse0, reverse1, m)

    return produced(dst, [tile, operand0, tile_of("operand1 of scalar_tensor_tensor", operand1)], mask, emit)


def tensor_copy(src: Any, *, mask: Any = None, dtype: Any = None, engine: Any = engine.unknown, **_: Any) -> Tensor:
    tile, dst = like("src of tensor_copy", src, dtype)
    chosen = engine_name(engine) or "dve"
    return produced(dst, [tile], mask, lambda d, a, m: instructions.copy(d, a, chosen, m))


def tensor_copy_dynamic_src(
    src: Any, *, mask: Any = None, dtype: Any = None, engine: Any = engine.unknown, **_: Any
) -> Tensor:
    """A copy from a place that a tile of one element moves."""
    return tensor_copy(src, mask=mask, dtype=dtype, engine=engine)


def tensor_copy_dynamic_dst(
    *, dst: Any, src: Any, mask: Any = None, dtype: Any = None, engine: Any = engine.unknown, **_: Any
) -> None:
    place, tile = tile_of("dst of tensor_copy_dynamic_dst", dst), tile_of("src of tensor_copy_dynamic_dst", src)
    for box, concrete in under(mask, [place, tile], place.shape):
        instructions.copy(place.cut(box), tile.cut(box), engine_name(engine) or "dve", concrete)


def tensor_copy_predicated(
    *, src: Any, dst: Any, predicate: Any, reverse_pred: bool = False, mask: Any = None, **_: Any
) -> None:
    place, chosen = tile_of("dst of tensor_copy_predicated", dst), tile_of("predicate", predicate)
    produced(place, [src, chosen], mask,
             lambda d, s, p, m: instructions.copy_predicated(d, s, p, reverse_pred, m)).made = None  # fmt: skip


def memset(shape: Any, value: Any, dtype: Any, *, mask: Any = None, engine: Any = engine.unknown, **_: Any) -> Tensor:
    dst, chosen = result([int(n) for n in shape], dtype), engine_name(engine)
    return produced(dst, [], mask, lambda d, m: instructions.memset(d, value, chosen, m))


def reciprocal(data: Any, *, dtype: Any = None, mask: Any = None, **_: Any) -> Tensor:
    tile, dst = like("data of reciprocal", data, dtype)
    return produced(dst, [tile], mask, instructions.reciprocal)


def iota(expr: Any, dtype: Any, *, mask: Any = None, **_: Any) -> Tensor:
    if isinstance(expr, int | np.integer):
        expr = Index(np.full((1, 1), int(expr), np.int64), frozenset())
    if not isinstance(expr, Index):
        raise UsageError(f"{here()}: nisa.iota takes an expression of index tiles, not a {type(expr).__name__}")
    if mask is not None:
        raise unmodelled("nisa.iota under a mask")
    values = np.broadcast_to(expr.values, expr.grid)
    values = np.ascontiguousarray(values if values.ndim > 1 else values[:, None])
    return produced(
        result(values.shape, dtype), [], None, lambda d, m: instructions.iota(d, None, values=values, mask=m)
    )


def affine_select(
    pred: Any, on_true_tile: Any, on_false_value: Any, *, mask: Any = None, dtype: Any = None, **_: Any
) -> Tensor:
    """The tile where the comparisons of ``pred`` hold, the value elsewhere."""
    tile, dst = like("on_true_tile of affine_select", on_true_tile, dtype)
    if not isinstance(pred, Mask | bool | np.bool_):
        raise UsageError(f"{here()}: pred of affine_select compares index tiles; it is a {type(pred).__name__}")
    chosen = pred.over(tile.shape) if isinstance(pred, Mask) else np.full(tile.shape, bool(pred))
    made = []
    for box, concrete in under(mask, [dst, tile], dst.shape):
        part = np.ascontiguousarray(chosen[tuple(slice(*bounds) for bounds in box)])
        instructions.affine_select(
            dst.cut(box), None, 0, in_sbuf(tile.cut(box)), on_false_value, predicate=part, mask=concrete
        )
        made.append((current().trace.instrs[-1], box))
    dst.made = Made(made)
    return dst


def range_select(
    *, on_true_tile: Any, comp_op0: Any, comp_op1: Any, bound0: Any, bound1: Any, reduce_cmd: Any = reduce_cmd.idle,
    reduce_res: Any = None, reduce_op: Any = np.amax, range_start: Any = 0, on_false_value: Any = fp32.min,
    mask: Any = None, dtype: Any = None, **_: Any,
) -> Tensor:  # fmt: skip
    tile, dst = like("on_true_tile of range_select", on_true_tile, dtype)
    first, second, folded = alu(comp_op0), alu(comp_op1), alu(reduce_op)

    def emit(d: Tensor, t: Tensor, a: Any, b: Any, r: Any, m: Any) -> None:
        instructions.range_select(d, t, first, second, a, b, reduce_cmd.name, r, folded, range_start, on_false_value, m)

    return produced(dst, [tile, bound0, bound1, reduce_res], mask, emit)


def select_reduce(
    *, dst: Any, predicate: Any, on_true: Any, on_false: Any, reduce_res: Any = None, reduce_cmd: Any = reduce_cmd.idle,
    reduce_op: Any = np.amax, reverse_pred: bool = False, mask: Any = None, **_: Any,
) -> None:  # fmt: skip
    place, folded = tile_of("dst of select_reduce", dst), alu(reduce_op)

    def emit(d: Tensor, p: Tensor, t: Tensor, f: Any, r: Any, m: Any) -> None:
        instructions.select_reduce(d, p, t, f, r, reduce_cmd.name, folded, reverse_pred, m)

    produced(place, [predicate, on_true, on_false, reduce_res], mask, emit).made = None


def dropout(data: Any, prob: Any, *, mask: Any = None, dtype: Any = None, **_: Any) -> Tensor:
    return language_beta1.dropout(data, prob, dtype, mask)


# -- Scalar engine ----------------------------------------------------------------------------------------------------


def activation(
    op: Any, data: Any, *, bias: Any = None, scale: Any = 1.0, reduce_op: Any = None, reduce_res: Any = None,
    reduce_cmd: Any = reduce_cmd.idle, mask: Any = None, dtype: Any = None, **_: Any,
) -> Tensor:  # fmt: skip
    tile, dst = like("data of activation", data, dtype)
    function, folded = activation_of(op), _optional(reduce_op)

    def emit(d: Tensor, x: Tensor, b: Any, s: Any, r: Any, m: Any) -> None:
        instructions.activation(d, function, x, b, s, folded, r, reduce_cmd.name, m)

    return produced(dst, [tile, bias, scale, reduce_res], mask, emit)


def activation_reduce(
    op: Any, data: Any, *, reduce_op: Any, reduce_res: Any, bias: Any = None, scale: Any = 1.0, mask: Any = None,
    dtype: Any = None, **_: Any,
) -> Tensor:  # fmt: skip
    return activation(op, data, bias=bias, scale=scale, reduce_op=reduce_op, reduce_res=reduce_res,
                      reduce_cmd=reduce_cmd.reset_reduce, mask=mask, dtype=dtype)  # fmt: skip


# -- DMA --------------------------------------------------------------------------------------------------------------


def dma_copy(
    *, dst: Any, src: Any, mask: Any = None, dst_rmw_op: Any = None, oob_mode: Any = oob_mode.error, **_: Any
) -> None:
    place, source = tensor_of("dst of dma_copy", dst), tensor_of("src of dma_copy", src)
    rmw = None if dst_rmw_op is None else alu(dst_rmw_op)
    for box, concrete in under(mask, [place, source], place.shape):
        part = source.cut(box) if source.shape == place.shape else source
        instructions.dma_copy(place.cut(box), part, concrete, rmw, oob_mode.name)


def dma_transpose(src: Any, *, axes: Any = None, mask: Any = None, dtype: Any = None, **_: Any) -> Tensor:
    tile = tensor_of("src of dma_transpose", src)
    order = tuple(axes) if axes is not None else {2: (1, 0), 3: (2, 1, 0), 4: (3, 1, 2, 0)}.get(tile.ndim, ())
    if sorted(order) != list(range(tile.ndim)):
        raise UsageError(f"{here()}: dma_transpose: axes {axes} of a tensor of shape {tile.shape}")
    if order == (1, 0):
        return matmul_beta1.load_transpose2d(tile, mask, dtype)
    unmasked("dma_transpose", mask)
    shape = tuple(tile.shape[axis] for axis in order)
    dst = result(shape, tile.dtype_name if dtype is None else dtype_name(dtype))
    return produced(dst, [], None, lambda d, m: instructions.dma_transpose(d, tile, order, m))


documented_keywords(globals())
_WITHOUT_MODEL = ("builtin_custom_op", "tensor_scalar_cumulative", "_tiled_offloaded_memcpy", "_tiled_offloaded_fma",
                  "dma_engine")  # fmt: skip


def __getattr__(name: str) -> Any:
    """Names without a model say so where they are used."""
    if name in _WITHOUT_MODEL:
        return placeholder(f"nisa.{name}")
    raise AttributeError(f"nki.isa of Beta-1 has no {name}")
