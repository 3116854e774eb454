"""What a kernel writes as ``op=``: ALU operations and activation functions, by KLR's names (NKI.md §1.7).

Gives Op, an object that is ``nl.add`` when passed and, where it is called, the wrapper of nki.language.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lowering.capture.nki.tracer import here
from lowering.errors import UsageError

#: nki.language's name -> KLR's AluOp or ActivationFunc
ALU = {
    "add": "add", "subtract": "subtract", "multiply": "mult", "divide": "divide", "maximum": "max", "minimum": "min",
    "max": "max", "min": "min", "sum": "add", "power": "pow", "mod": "mod", "fmod": "fmod", "equal": "is_equal",
    "not_equal": "not_equal", "greater": "is_gt", "greater_equal": "is_ge", "less": "is_lt", "less_equal": "is_le",
    "logical_and": "logical_and", "logical_or": "logical_or", "logical_xor": "logical_xor",
    "logical_not": "logical_not", "bitwise_and": "bitwise_and", "bitwise_or": "bitwise_or",
    "bitwise_xor": "bitwise_xor", "bitwise_not": "bitwise_not", "invert": "bitwise_not",
    "left_shift": "logical_shift_left", "right_shift": "logical_shift_right", "abs_max": "abs_max",
    "abs_min": "abs_min", "bypass": "bypass", "average": "average", "abs": "abs", "square": "square", "relu": "relu",
    "rsqrt": "rsqrt", "reciprocal": "reciprocal", "prod": "mult", "all": "logical_and", "negative": "negative",
}  # fmt: skip
ACTIVATIONS = {
    "copy": "copy", "square": "square", "sigmoid": "sigmoid", "relu": "relu", "prelu": "prelu", "gelu": "gelu",
    "gelu_dx": "gelu_dx", "gelu_apprx_tanh": "gelu_apprx_tanh", "gelu_apprx_sigmoid": "gelu_apprx_sigmoid",
    "gelu_apprx_sigmoid_dx": "gelu_apprx_sigmoid_dx", "silu": "silu", "silu_dx": "silu_dx", "tanh": "tanh",
    "softplus": "softplus", "mish": "mish", "erf": "erf", "erf_dx": "erf_dx", "exp": "exp", "sign": "sign",
    "abs": "abs", "log": "log", "sin": "sin", "arctan": "arctan", "sqrt": "sqrt", "rsqrt": "rsqrt",
    "reciprocal": "reciprocal", "cos": "cos", "tan": "tan",
}  # fmt: skip
BITVEC = frozenset(["bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_not", "logical_shift_left",
                    "logical_shift_right"])  # fmt: skip
_NUMPY = {"amax": "max", "amin": "min", "absolute": "abs", "invert": "invert", "bitwise_not": "invert"}


class Op:
    """One name of nki.language that is a function and a value of ``op=``."""

    def __init__(self, name: str, function: Callable[..., Any] | None = None) -> None:
        self.__name__ = self.name = name
        self.function = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.function is None:
            raise UsageError(f"{here()}: nl.{self.name} is a value of op=, and no function")
        return self.function(*args, **kwargs)

    def __repr__(self) -> str:
        return f"nl.{self.name}"


def alu(op: Any) -> str:
    """The AluOp that ``op`` stands for: an Op, or a numpy function (Beta-1)."""
    return _named(op, ALU, "an ALU operation")


def activation(op: Any) -> str:
    """The ActivationFunc that ``op`` stands for."""
    return _named(op, ACTIVATIONS, "an activation function")


def _named(op: Any, table: dict[str, str], what: str) -> str:
    name = getattr(op, "__name__", None) or str(op)
    if isinstance(op, np.ufunc) or getattr(op, "__module__", "").startswith("numpy"):
        name = _NUMPY.get(name, name)
    if name not in table:
        raise UsageError(f"{here()}: {name} is not {what}; these are: {', '.join(sorted(table))}")
    return table[name]
