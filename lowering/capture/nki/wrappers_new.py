"""Elementwise functions of nki.language in the new API: each makes a tile in SBUF (NKI.md §1.8).

ELEMENTWISE: name -> function.  The dtype of a result is the first tile's, where none is asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lowering.capture.nki import instructions
from lowering.capture.nki.dtypes import FLOATS, dtype_name
from lowering.capture.nki.ops import ACTIVATIONS, ALU
from lowering.capture.nki.signatures import api, older_than
from lowering.capture.nki.tensor_new import NkiTensor
from lowering.capture.nki.trace import SBUF
from lowering.capture.nki.tracer import here
from lowering.errors import UsageError

BINARY = ("add", "subtract", "multiply", "divide", "power", "maximum", "minimum", "fmod", "mod", "equal", "not_equal",
          "greater", "greater_equal", "less", "less_equal", "logical_and", "logical_or", "logical_xor", "bitwise_and",
          "bitwise_or", "bitwise_xor", "left_shift", "right_shift", "abs_max", "abs_min")  # fmt: skip
UNARY = ("abs", "exp", "log", "sqrt", "square", "sin", "cos", "tan", "tanh", "arctan", "sigmoid", "relu", "silu",
         "silu_dx", "gelu", "gelu_dx", "gelu_apprx_tanh", "gelu_apprx_sigmoid", "gelu_apprx_sigmoid_dx", "softplus",
         "mish", "erf", "erf_dx", "sign")  # fmt: skip
ROUNDINGS = ("ceil", "floor", "trunc")


def tile_of(what: str, value: Any) -> NkiTensor:
    if not isinstance(value, NkiTensor):
        raise UsageError(f"{here()}: {what} takes a tile, and not a {type(value).__name__}")
    return value


def made_like(x: NkiTensor, dtype: Any = None, shape: Any = None) -> NkiTensor:
    """A new tile in SBUF."""
    return NkiTensor.new(
        SBUF, x.shape if shape is None else shape, x.dtype_name if dtype is None else dtype_name(dtype)
    )


def spread(x: NkiTensor, shape: tuple[int, ...]) -> NkiTensor:
    """x over ``shape``: dimensions of extent 1 are repeated by a view.

    Partitions too, as published kernels of 0.3 have it: that no engine reads one partition for another is a matter of
    legality (nki-partition-stride).
    """
    if x.shape == shape:
        return x
    if x.ndim < len(shape) and x.ndim >= 1:  # numpy's alignment, behind the partition
        missing = len(shape) - x.ndim
        x = x.remade((x.shape[0], *[1] * missing, *x.shape[1:]), (x.strides[0], *[0] * missing, *x.strides[1:]))
    if x.ndim != len(shape):
        raise UsageError(f"{here()}: a tile of shape {x.shape} does not go with one of shape {shape}")
    strides = [0 if n != wanted else stride for n, wanted, stride in zip(x.shape, shape, x.strides, strict=True)]
    if any(n not in (1, wanted) for n, wanted in zip(x.shape, shape, strict=True)):
        raise UsageError(f"{here()}: a tile of shape {x.shape} does not go with one of shape {shape}")
    return x.remade(shape, strides)


def common_shape(x: NkiTensor, y: NkiTensor) -> tuple[int, ...]:
    try:
        return np.broadcast_shapes(x.shape, y.shape)
    except ValueError:
        raise UsageError(f"{here()}: tiles of shapes {x.shape} and {y.shape} do not go together") from None


def _binary(name: str) -> Callable[..., NkiTensor]:
    op = ALU[name]

    def function(x: Any, y: Any, dtype: Any = None) -> NkiTensor:
        if isinstance(x, NkiTensor) and isinstance(y, NkiTensor):
            shape = x.shape if x.shape == y.shape else common_shape(x, y)
            dst = made_like(x, dtype, shape)
            instructions.tensor_tensor(dst, spread(x, shape), spread(y, shape), op)
            return dst
        tile, number = (y, x) if isinstance(y, NkiTensor) else (x, y)
        dst = made_like(tile_of(f"nl.{name}", tile), dtype)
        instructions.tensor_scalar(dst, tile, op, number, reverse0=tile is y)
        return dst

    return function


def _unary(name: str) -> Callable[..., NkiTensor]:
    op = ACTIVATIONS[name]

    def function(x: Any, dtype: Any = None) -> NkiTensor:
        dst = made_like(tile_of(f"nl.{name}", x), dtype)
        instructions.activation(dst, op, x)
        return dst

    return function


def _rounding(name: str) -> Callable[..., NkiTensor]:
    def function(x: Any, dtype: Any = None) -> NkiTensor:
        dst = made_like(tile_of(f"nl.{name}", x), dtype)
        instructions.activation(dst, name, x)
        return dst

    return function


def sin(x: Any, dtype: Any = None) -> NkiTensor:
    """Of any x: its argument is reduced first, which the table of nisa.activation does not do."""
    dst = made_like(tile_of("nl.sin", x), dtype)
    instructions.activation(dst, "sin_reduced", x)
    return dst


def rsqrt(x: Any, dtype: Any = None) -> NkiTensor:
    """On GpSimd from 0.5 on, on the Scalar engine before."""
    dst = made_like(tile_of("nl.rsqrt", x), dtype)
    if older_than("0.5"):
        instructions.activation(dst, "rsqrt", x)
    else:
        instructions.tensor_scalar(dst, x, "rsqrt", None, engine="pool")
    return dst


def reciprocal(x: Any, dtype: Any = None) -> NkiTensor:
    dst = made_like(tile_of("nl.reciprocal", x), dtype)
    instructions.reciprocal(dst, x)
    return dst


def negative(x: Any, dtype: Any = None) -> NkiTensor:
    dst = made_like(tile_of("nl.negative", x), dtype)
    instructions.tensor_scalar(dst, x, "mult", -1.0)
    return dst


def logical_not(x: Any, dtype: Any = None) -> NkiTensor:
    """x xor 1, as truth values."""
    dst = made_like(tile_of("nl.logical_not", x), dtype)
    instructions.tensor_scalar(dst, x, "logical_xor", 1.0)
    return dst


def invert(x: Any, dtype: Any = None) -> NkiTensor:
    """Every bit of an integer turned over."""
    if tile_of("nl.invert", x).dtype_name in FLOATS:
        raise UsageError(f"{here()}: nl.invert takes integers, and not {x.dtype_name}")
    dst = made_like(x, dtype)
    instructions.tensor_scalar(dst, x, "bitwise_not", None)
    return dst


def copy(x: Any, dtype: Any = None) -> NkiTensor:
    """From 0.6 on exact where the dtype stays; before, through the Scalar engine, in f32."""
    dst = made_like(tile_of("nl.copy", x), dtype)
    if older_than("0.6"):
        instructions.activation(dst, "copy", x)
    else:
        instructions.copy(dst, x, "dve")
    return dst


def where(condition: Any, x: Any, y: Any, dtype: Any = None) -> NkiTensor:
    """x where the condition is not 0, else y."""
    shape, kind = tile_of("nl.where (condition)", condition).shape, dtype
    for value in (y, x):
        if isinstance(value, NkiTensor):
            shape = common_shape(value, condition) if value.shape != shape else shape
            kind = dtype or value.dtype_name
    dst = made_like(condition, kind or "float32", shape)
    if isinstance(y, NkiTensor):
        instructions.copy(dst, spread(y, shape), "dve")
    else:
        instructions.memset(dst, y)
    chosen = spread(x, shape) if isinstance(x, NkiTensor) else x
    instructions.copy_predicated(dst, chosen, spread(condition, shape))
    return dst


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{name: _binary(name) for name in BINARY},
    **{name: _unary(name) for name in UNARY},
    **{name: _rounding(name) for name in ROUNDINGS},
    "sin": sin, "rsqrt": rsqrt, "reciprocal": reciprocal, "negative": negative, "logical_not": logical_not,
    "invert": invert, "copy": copy, "where": where,
}  # fmt: skip
_LATER = {"abs_max": "0.4", "abs_min": "0.4"}
ELEMENTWISE = {name: api(f"nl.{name}()", since=_LATER.get(name, "0.3"))(made) for name, made in _FUNCTIONS.items()}
