"""Elementwise functions of Beta-1's nki.language, with numpy's broadcasting (NKI.md §1.8).

Each gives a tile: operands to f32, the function, one rounding to ``dtype`` (promoted where it is not stated).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lowering.capture.nki import instructions
from lowering.capture.nki.dtypes import FLOATS, dtype_name
from lowering.capture.nki.indices_beta1 import Mask
from lowering.capture.nki.ops import ACTIVATIONS, ALU, BITVEC
from lowering.capture.nki.produce_beta1 import lifted, produced, result, tile_of
from lowering.capture.nki.promotion_beta1 import promoted
from lowering.capture.nki.tensor_beta1 import Tensor
from lowering.capture.nki.tile import Tile
from lowering.capture.nki.tracer import here, unmodelled
from lowering.errors import UsageError

_COMPARISONS = frozenset(["equal", "not_equal", "greater", "greater_equal", "less", "less_equal", "logical_and",
                          "logical_or", "logical_xor", "logical_not"])  # fmt: skip

_ROUNDINGS = ("ceil", "floor", "trunc")


def combine(dst: Tensor, op: str, x: Any, y: Any, mask: np.ndarray | None = None) -> None:
    """dst = op(x, y) by the instruction that the operands call for; ``op`` is KLR's name."""
    if not isinstance(y, Tile):
        instructions.tensor_scalar(dst, _spread(x, dst), op, y, mask=mask)
    elif not isinstance(x, Tile):
        instructions.tensor_scalar(dst, _spread(y, dst), op, x, reverse0=True, mask=mask)
    elif _lane(y, dst) and op not in BITVEC and x.dtype_name in FLOATS:
        instructions.tensor_scalar(dst, _spread(x, dst), op, y, mask=mask)
    elif _lane(x, dst) and op not in BITVEC and y.dtype_name in FLOATS:
        instructions.tensor_scalar(dst, _spread(y, dst), op, x, reverse0=True, mask=mask)
    else:
        instructions.tensor_tensor(dst, _spread(x, dst), _spread(y, dst), op, mask=mask)


def _spread(x: Any, dst: Tensor) -> Any:
    """x over dst's shape; another order of as many free elements is left as it is."""
    if x.shape == dst.shape or (x.partitions, x.free) == (dst.partitions, dst.free):
        return x
    return x.spread(dst.shape)


def _lane(x: Tile, dst: Tensor) -> bool:
    """One element per partition, for a destination with more."""
    return x.free == 1 and dst.free > 1 and x.partitions == dst.partitions and x.ndim == dst.ndim


def binary(name: str, x: Any, y: Any, dtype: Any = None, mask: Any = None) -> Tensor:
    """The function ``name`` of nki.language."""
    tiles = [value for value in (x, y) if isinstance(value, Tile)]
    if not tiles:
        raise UsageError(f"{here()}: nl.{name} of two numbers: one operand has to be a tile")
    for value in (x, y):
        if isinstance(value, Tile):
            tile_of(f"an operand of nl.{name}", value)
        elif not isinstance(value, int | float | np.generic):
            raise UsageError(f"{here()}: nl.{name}: a {type(value).__name__} is no operand")
    try:
        shape = np.broadcast_shapes(*(tile.shape for tile in tiles))
    except ValueError:
        told = " and ".join(str(tile.shape) for tile in tiles)
        raise UsageError(f"{here()}: nl.{name}: shapes {told} do not broadcast") from None
    default = "uint8" if name in _COMPARISONS else promoted(x, y)
    dst = result(shape, default if dtype is None else dtype_name(dtype))
    x, y = (lifted(value, dst.ndim) if isinstance(value, Tensor) else value for value in (x, y))
    return produced(dst, [x, y], mask, lambda d, a, b, m: combine(d, ALU[name], a, b, m))


def unary(name: str, x: Any, dtype: Any = None, mask: Any = None) -> Tensor:
    """An activation function, or an ALU operation of one operand."""
    data = tile_of(f"nl.{name}'s operand", x)
    default = "uint8" if name in _COMPARISONS else data.dtype_name
    if name in ACTIVATIONS and default not in FLOATS and name not in ("abs", "square", "relu", "sign", "copy"):
        default = "float32"
    dst = result(data.shape, default if dtype is None else dtype_name(dtype))
    if name == "reciprocal":
        return produced(dst, [data], mask, instructions.reciprocal)
    function = name if name in _ROUNDINGS else ACTIVATIONS.get(name)
    if function is not None:
        return produced(dst, [data], mask, lambda d, a, m: instructions.activation(d, function, a, mask=m))
    if name == "negative":
        return produced(dst, [data], mask, lambda d, a, m: instructions.tensor_scalar(d, a, "mult", -1.0, mask=m))
    return produced(dst, [data], mask, lambda d, a, m: instructions.tensor_scalar(d, a, ALU[name], 0, mask=m))


def _binary(name: str) -> Callable[..., Tensor]:
    def function(x: Any, y: Any, dtype: Any = None, mask: Any = None, **_: Any) -> Tensor:
        return binary(name, x, y, dtype, mask)

    function.__name__ = function.__qualname__ = name
    return function


def _unary(name: str) -> Callable[..., Tensor]:
    def function(x: Any, dtype: Any = None, mask: Any = None, **_: Any) -> Tensor:
        return unary(name, x, dtype, mask)

    function.__name__ = function.__qualname__ = name
    return function


add, subtract, multiply, divide, power = (_binary(n) for n in ("add", "subtract", "multiply", "divide", "power"))
maximum, minimum, fmod, mod = (_binary(n) for n in ("maximum", "minimum", "fmod", "mod"))
equal, not_equal, greater, greater_equal = (_binary(n) for n in ("equal", "not_equal", "greater", "greater_equal"))
less, less_equal = (_binary(n) for n in ("less", "less_equal"))
logical_and, logical_or, logical_xor = (_binary(n) for n in ("logical_and", "logical_or", "logical_xor"))
bitwise_and, bitwise_or, bitwise_xor = (_binary(n) for n in ("bitwise_and", "bitwise_or", "bitwise_xor"))
left_shift, right_shift = (_binary(n) for n in ("left_shift", "right_shift"))
exp, log, sqrt, rsqrt, square, sin, cos, tan = (
    _unary(n) for n in ("exp", "log", "sqrt", "rsqrt", "square", "sin", "cos", "tan")
)
tanh, arctan, sigmoid, relu, silu, silu_dx = (
    _unary(n) for n in ("tanh", "arctan", "sigmoid", "relu", "silu", "silu_dx")
)
gelu, gelu_dx, gelu_apprx_tanh, gelu_apprx_sigmoid = (
    _unary(n) for n in ("gelu", "gelu_dx", "gelu_apprx_tanh", "gelu_apprx_sigmoid")
)
softplus, mish, erf, erf_dx, sign, reciprocal = (
    _unary(n) for n in ("softplus", "mish", "erf", "erf_dx", "sign", "reciprocal")
)
abs, negative, invert, logical_not = (_unary(n) for n in ("abs", "negative", "invert", "logical_not"))
ceil, floor, trunc = (_unary(n) for n in _ROUNDINGS)


def copy(src: Any, mask: Any = None, dtype: Any = None, **_: Any) -> Tensor:
    """A copy in SBUF."""
    data = tile_of("nl.copy's operand", src)
    dst = result(data.shape, data.dtype_name if dtype is None else dtype_name(dtype))
    return produced(dst, [data], mask, lambda d, a, m: instructions.copy(d, a, "dve", m))


def static_cast(input_data: Any, dtype: Any) -> Any:
    """A number stays a number."""
    return copy(input_data, dtype=dtype) if isinstance(input_data, Tile) else input_data


def where(condition: Any, x: Any, y: Any, dtype: Any = None, mask: Any = None, **_: Any) -> Tensor:
    """x where condition is not 0, else y."""
    tiles = [value for value in (condition, x, y) if isinstance(value, Tensor)]
    if isinstance(condition, Mask) or not tiles:
        raise unmodelled("nl.where with a condition that is no tile")
    kind = dtype_name(promoted(x, y) if dtype is None else dtype)
    shape = np.broadcast_shapes(*(tile.shape for tile in tiles))
    chosen = cast(x, kind) if isinstance(x, Tensor) else x
    dst = result(shape, kind)
    operands = [lifted(value, dst.ndim) if isinstance(value, Tensor) else value for value in (condition, chosen, y)]

    def emit(d: Tensor, c: Any, a: Any, b: Any, m: np.ndarray | None) -> None:
        if isinstance(b, Tensor):
            instructions.copy(d, _spread(b, d), "dve", m)
        else:
            instructions.memset(d, b, mask=m)
        instructions.copy_predicated(d, _spread(a, d) if isinstance(a, Tensor) else a, _spread(c, d), mask=m)

    produced(dst, operands, mask, emit)
    if dst.made is not None:
        dst.made.movable = False  # two instructions make it, of which the second needs the first
    return dst


def cast(x: Tensor, dtype: str) -> Tensor:
    return x if x.dtype_name == dtype else copy(x, dtype=dtype)
