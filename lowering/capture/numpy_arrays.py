"""Arrays of numpy host code that calls kernels: numpy's names and dtypes over the tensors of a torch session.

Takes virtual tensors; gives arrays that can be cut, put together and computed with.  A kernel gets their tensors.
What numpy has beyond that is Unsupported, with the user's line.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from types import EllipsisType
from typing import Any, NoReturn

import ml_dtypes
import numpy as np
import torch

from lowering.capture.user_frames import CAPTURE_FRAME, user_span
from lowering.errors import Unsupported

_EXOTIC = {np.dtype(ml_dtypes.bfloat16): torch.bfloat16, np.dtype(ml_dtypes.float8_e5m2): torch.float8_e5m2,
           np.dtype(ml_dtypes.float8_e4m3fn): torch.float8_e4m3fn}  # fmt: skip
_ARITHMETIC: dict[str, Callable[..., torch.Tensor]] = {
    "add": torch.add, "subtract": torch.sub, "multiply": torch.mul, "maximum": torch.maximum, "minimum": torch.minimum,
    "matmul": torch.matmul,
}  # fmt: skip
_OF_FLOATS: dict[str, Callable[..., torch.Tensor]] = {
    "divide": torch.div, "exp": torch.exp, "log": torch.log, "sqrt": torch.sqrt, "tanh": torch.tanh, "sin": torch.sin,
    "cos": torch.cos,
}  # fmt: skip
_OF_ONE: dict[str, Callable[..., torch.Tensor]] = {
    "negative": torch.neg, "absolute": torch.abs, "square": torch.square,
}  # fmt: skip


def unread(what: str) -> Unsupported:
    return Unsupported(f"{what} in numpy host code", user_span(CAPTURE_FRAME), "write the host over torch tensors")


def torch_dtype(dtype: Any) -> torch.dtype:
    kind = np.dtype(dtype)
    found = _EXOTIC.get(kind) or getattr(torch, kind.name, None)
    if not isinstance(found, torch.dtype):
        raise unread(f"dtype {kind.name}")
    return found


def numpy_dtype(dtype: torch.dtype) -> np.dtype[Any]:
    name = str(dtype).removeprefix("torch.")
    return next((kind for kind, other in _EXOTIC.items() if other is dtype), None) or np.dtype(name)


class HostArray:
    """``tensor``: what it is of."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, tensor: torch.Tensor) -> None:
        self.tensor = tensor

    # -- what it is ----------------------------------------------------------------------------------------------

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.tensor.shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        return numpy_dtype(self.tensor.dtype)

    @property
    def ndim(self) -> int:
        return self.tensor.dim()

    @property
    def size(self) -> int:
        return prod(self.shape)

    @property
    def T(self) -> HostArray:
        return self.transpose()

    def __len__(self) -> int:
        return self.shape[0]

    def __iter__(self) -> Any:
        return (self[number] for number in range(len(self)))

    def __array__(self, *_: Any, **__: Any) -> NoReturn:
        raise unread("a kernel's argument or result among the numbers of a plain array")

    def __bool__(self) -> NoReturn:
        raise unread("a decision by a kernel's argument or result")

    __float__ = __int__ = __index__ = __bool__

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        raise unread(f"ndarray.{name}")

    # -- other shapes --------------------------------------------------------------------------------------------

    def reshape(self, *shape: Any, order: str = "C") -> HostArray:
        if order != "C":
            raise unread(f"reshape(order={order!r})")
        return HostArray(self.tensor.reshape(_shape(shape)))

    def transpose(self, *axes: Any) -> HostArray:
        order = _shape(axes) if axes and axes != (None,) else tuple(range(self.ndim))[::-1]
        return HostArray(self.tensor.permute(order))

    def swapaxes(self, first: int, second: int) -> HostArray:
        return HostArray(self.tensor.transpose(first, second))

    def ravel(self) -> HostArray:
        return self.reshape(-1)

    def squeeze(self, axis: Any = None) -> HostArray:
        return HostArray(self.tensor.squeeze() if axis is None else self.tensor.squeeze(axis))

    def flatten(self) -> HostArray:
        return self.copy().reshape(-1)

    def copy(self, order: str = "C") -> HostArray:
        return HostArray(self.tensor.contiguous().clone())

    def astype(self, dtype: Any, **_: Any) -> HostArray:
        return HostArray(self.tensor.to(torch_dtype(dtype), copy=True))

    # -- parts ---------------------------------------------------------------------------------------------------

    def __getitem__(self, key: Any) -> HostArray:
        return HostArray(self.tensor[_key(key)])

    def __setitem__(self, key: Any, value: Any) -> None:
        self.tensor[_key(key)] = _like(value, self.tensor.dtype)

    # -- arithmetic ----------------------------------------------------------------------------------------------

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> HostArray:
        if method != "__call__" or kwargs:
            raise unread(f"np.{ufunc.__name__}.{method} with {', '.join(kwargs) or 'these arguments'}")
        return computed(ufunc.__name__, *inputs)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        own = _FUNCTIONS.get(function.__name__)
        if own is None:
            raise unread(f"np.{function.__name__}")
        return own(*args, **kwargs)

    def __add__(self, other: Any) -> HostArray:
        return computed("add", self, other)

    def __sub__(self, other: Any) -> HostArray:
        return computed("subtract", self, other)

    def __rsub__(self, other: Any) -> HostArray:
        return computed("subtract", other, self)

    def __mul__(self, other: Any) -> HostArray:
        return computed("multiply", self, other)

    def __truediv__(self, other: Any) -> HostArray:
        return computed("divide", self, other)

    def __rtruediv__(self, other: Any) -> HostArray:
        return computed("divide", other, self)

    def __matmul__(self, other: Any) -> HostArray:
        return computed("matmul", self, other)

    def __neg__(self) -> HostArray:
        return computed("negative", self)

    __radd__, __rmul__ = __add__, __mul__

    def __iadd__(self, other: Any) -> HostArray:
        return self._now(computed("add", self, other))

    def __isub__(self, other: Any) -> HostArray:
        return self._now(computed("subtract", self, other))

    def __imul__(self, other: Any) -> HostArray:
        return self._now(computed("multiply", self, other))

    def __itruediv__(self, other: Any) -> HostArray:
        return self._now(computed("divide", self, other))

    def _now(self, value: HostArray) -> HostArray:
        """In place: whoever has the array, or a part of it, sees it."""
        if not np.can_cast(value.dtype, self.dtype, "same_kind"):
            raise unread(f"{value.dtype.name} put into an array of {self.dtype.name}")
        self.tensor[...] = value.tensor.to(self.tensor.dtype)
        return self

    def _other_operator(self, *_: Any) -> NoReturn:
        raise unread("this operator of arrays")

    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __pow__ = __rpow__ = _other_operator  # type: ignore[assignment]
    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __and__ = __or__ = __xor__ = __invert__ = _other_operator
    __lshift__ = __rshift__ = __ipow__ = __ifloordiv__ = __imod__ = __imatmul__ = __rmatmul__ = _other_operator


def computed(name: str, *operands: Any) -> HostArray:
    """A ufunc, in the dtype that numpy computes it in."""
    function = _ARITHMETIC.get(name) or _OF_FLOATS.get(name) or _OF_ONE.get(name)
    if function is None:
        raise unread(f"np.{name}")
    kind = np.result_type(*(np.dtype(x.dtype) if isinstance(x, HostArray) else x for x in operands))
    if name in _OF_FLOATS and kind.kind in "iub":
        kind = np.dtype(np.float64)
    if kind.kind == "b" or (name == "matmul" and kind.kind in "iu"):
        raise unread(f"np.{name} of {kind.name}")
    return HostArray(function(*(_like(x, torch_dtype(kind)) for x in operands)))


def _like(value: Any, dtype: torch.dtype) -> torch.Tensor:
    """An operand as a tensor of that dtype, on the device."""
    if isinstance(value, HostArray):
        return value.tensor.to(dtype)
    made = np.asarray(value).astype(numpy_dtype(dtype))
    carried = torch.from_numpy(made.astype(np.float32)) if dtype in _EXOTIC.values() else torch.from_numpy(made)
    return carried.to("cuda").to(dtype)


def _shape(given: tuple[Any, ...]) -> tuple[int, ...]:
    inner = given[0] if len(given) == 1 and isinstance(given[0], list | tuple) else given
    return tuple(int(n) for n in inner)


def _key(key: Any) -> Any:
    """Subscripts that torch takes as numpy does: numbers, slices forwards, None, an ellipsis."""
    parts = key if isinstance(key, tuple) else (key,)
    for part in parts:
        backwards = isinstance(part, slice) and part.step is not None and part.step < 0
        if backwards or isinstance(part, bool) or not isinstance(part, int | np.integer | slice | EllipsisType | None):
            raise unread(f"the subscript {part!r}")
    return tuple(int(part) if isinstance(part, np.integer) else part for part in parts)


# -- functions of numpy ------------------------------------------------------------------------------------------------


def _pad(array: HostArray, pad_width: Any, mode: str = "constant", constant_values: Any = 0) -> HostArray:
    if mode != "constant" or not isinstance(constant_values, int | float):
        raise unread(f"np.pad(mode={mode!r}, constant_values={constant_values!r})")
    widths = np.broadcast_to(np.asarray(pad_width), (array.ndim, 2)).tolist()
    flat = [width for pair in reversed(widths) for width in pair]
    return HostArray(torch.nn.functional.pad(array.tensor, flat, value=constant_values))


def _concatenate(arrays: Sequence[Any], axis: int = 0) -> HostArray:
    return HostArray(torch.cat(_alike(arrays), axis))


def _stack(arrays: Sequence[Any], axis: int = 0) -> HostArray:
    return HostArray(torch.stack(_alike(arrays), axis))


def _alike(arrays: Sequence[Any]) -> list[torch.Tensor]:
    kind = torch_dtype(np.result_type(*(x.dtype for x in arrays)))
    return [_like(x, kind) for x in arrays]


def made(shape: tuple[int, ...], value: int | None, dtype: Any) -> HostArray:
    """A new array, filled with a number or with nothing."""
    kind = torch_dtype(dtype)
    if value is None:
        return HostArray(torch.empty(shape, dtype=kind, device="cuda"))
    return HostArray(torch.full(shape, value, dtype=kind, device="cuda"))


def _made_like(value: int | None) -> Callable[..., HostArray]:
    return lambda array, dtype=None: made(array.shape, value, array.dtype if dtype is None else dtype)


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "pad": _pad, "concatenate": _concatenate, "stack": _stack,
    "reshape": lambda array, *shape, **given: array.reshape(*shape, *given.values()),
    "transpose": lambda array, axes=None: array.transpose(*([] if axes is None else axes)),
    "swapaxes": lambda array, first, second: array.swapaxes(first, second),
    "squeeze": lambda array, axis=None: array.squeeze(axis),
    "ravel": lambda array: array.ravel(),
    "copy": lambda array: array.copy(),
    "expand_dims": lambda array, axis: HostArray(array.tensor.unsqueeze(axis)),
    "broadcast_to": lambda array, shape: HostArray(array.tensor.expand(shape)),
    "tile": lambda array, reps: HostArray(torch.tile(array.tensor, _shape((reps,)))),
    "dot": lambda a, b: computed("matmul", a, b),
    "zeros_like": _made_like(0), "ones_like": _made_like(1), "empty_like": _made_like(None),
    "shape": lambda array: array.shape,
}  # fmt: skip
