"""Integer scalars of a jaxpr at many grid points at once: what program ids decide before a kernel runs.

Gives Known and ``computed``.  Must not import jax; primitives come by name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

Axes = frozenset[int]
NO_AXES: Axes = frozenset()


@dataclass(frozen=True, slots=True)
class Known:
    """A value by grid point: ``data`` (one number a point, or one for all), None where it is not an integer that
    program ids decide; ``axes``: the grid axes that it may differ along.
    """

    data: np.ndarray | None = None
    axes: Axes = NO_AXES


def _truncated(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """XLA's integer division, towards zero; what it gives for 0 does not matter."""
    b = np.where(b == 0, 1, b)
    return np.sign(a) * np.sign(b) * (np.abs(a) // np.abs(b))


def _remainder(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.fmod(a, np.where(b == 0, 1, b))


def _selected(which: np.ndarray, *cases: np.ndarray) -> np.ndarray:
    return np.choose(which.astype(np.int64), cases)


def _cast(a: np.ndarray, new_dtype: Any = None, **_: Any) -> np.ndarray:
    return a.astype(np.dtype(new_dtype))


def _same(a: np.ndarray, *_args: Any, **_params: Any) -> np.ndarray:
    return a


_OPS: dict[str, Callable[..., np.ndarray]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "max": np.maximum,
    "min": np.minimum,
    "neg": np.negative,
    "sign": np.sign,
    "abs": np.abs,
    "div": _truncated,
    "rem": _remainder,
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "not": np.invert,
    "clamp": lambda low, x, high: np.clip(x, low, high),
    "select_n": _selected,
    "convert_element_type": _cast,
    "copy": _same,
    "stop_gradient": _same,
    "multiple_of": _same,
    "squeeze": _same,
    "reshape": _same,
    "broadcast_in_dim": _same,
}
#: Operations whose parameters say something about the result.
_TAKES_PARAMETERS = ("convert_element_type",)


def computed(name: str, operands: Sequence[Known], params: dict[str, Any], aval: Any) -> Known:
    """The result of an operation without effect; unknown unless it is an integer scalar made of known ones."""
    axes = NO_AXES.union(*(operand.axes for operand in operands))
    known = [operand.data for operand in operands if operand.data is not None]
    op = _OPS.get(name)
    is_scalar = getattr(aval, "shape", None) == () and getattr(aval, "dtype", np.dtype("O")).kind in "iub"
    if op is None or not is_scalar or len(known) < len(operands):
        return Known(None, axes)
    return Known(np.asarray(op(*known, **(params if name in _TAKES_PARAMETERS else {}))), axes)


def literal(value: Any) -> Known:
    """A constant of the jaxpr."""
    number = np.asarray(value)
    return Known(number) if number.shape == () and number.dtype.kind in "iub" else Known()
