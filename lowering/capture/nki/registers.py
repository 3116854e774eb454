"""Registers of the new API: 32-bit integers that instructions and loops can use (NKI.md §1.5).

A register that was given a number holds it while the kernel is traced.  One that was loaded from a tensor holds what
only the device knows: it can choose an index of a view, and nothing else that is modelled.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lowering.capture.nki.assumptions import assume
from lowering.capture.nki.dtypes import FLOATS
from lowering.capture.nki.tile import Tile
from lowering.capture.nki.tracer import current, here, unmodelled
from lowering.capture.trace import TensorRef
from lowering.errors import UsageError

REGISTER = "register"  # the space of a loaded register's storage: one int32


class VirtualRegister:
    """``number``: its value, or None; ``loaded``: the tile that holds it, where only the device knows it."""

    def __init__(self, number: int | None = None, loaded: Tile | None = None) -> None:
        self.number, self.loaded = number, loaded

    def known(self, what: str) -> int:
        if self.number is None:
            if self.loaded is None:
                raise UsageError(f"{here()}: a register is read before it is given a value")
            raise unmodelled(f"{what} a register whose value only the device knows")
        return self.number

    def __int__(self) -> int:
        return self.known("a number from")

    __index__ = __int__

    def __bool__(self) -> bool:
        return self.known("a condition on") != 0

    def _with(self, other: Any, function: Any) -> int:
        return function(self.known("arithmetic with"), int(other))

    def __add__(self, other: Any) -> int:
        return self._with(other, lambda a, b: a + b)

    def __sub__(self, other: Any) -> int:
        return self._with(other, lambda a, b: a - b)

    def __rsub__(self, other: Any) -> int:
        return self._with(other, lambda a, b: b - a)

    def __mul__(self, other: Any) -> int:
        return self._with(other, lambda a, b: a * b)

    def __floordiv__(self, other: Any) -> int:
        return self._with(other, lambda a, b: a // b)

    def __mod__(self, other: Any) -> int:
        return self._with(other, lambda a, b: a % b)

    __radd__, __rmul__ = __add__, __mul__

    def __lt__(self, other: Any) -> bool:
        return self.known("a comparison with") < int(other)

    def __le__(self, other: Any) -> bool:
        return self.known("a comparison with") <= int(other)

    def __gt__(self, other: Any) -> bool:
        return self.known("a comparison with") > int(other)

    def __ge__(self, other: Any) -> bool:
        return self.known("a comparison with") >= int(other)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, int | np.integer | VirtualRegister):
            return False
        return self is other or self.known("a comparison with") == int(other)

    __hash__ = object.__hash__


def dynamic_index(value: Any) -> tuple[int, TensorRef | None]:
    """(number, None) of an index that is known; (0, where the device finds it) of one that is not."""
    if isinstance(value, int):
        return value, None
    if isinstance(value, VirtualRegister):
        if value.loaded is None:
            return value.known("an index from"), None
        return 0, value.loaded.ref
    if isinstance(value, Tile):
        if value.size != 1:
            raise UsageError(f"{here()}: an index is a number or a tensor of one element, not of shape {value.shape}")
        return 0, value.ref
    if isinstance(value, np.integer) or hasattr(value, "__index__"):
        return int(value), None
    raise UsageError(f"{here()}: {value!r} is no index of a tensor")


def alloc(x: Any = None) -> VirtualRegister:
    """A register; ``x``: its first value."""
    return VirtualRegister(None if x is None else int(x))


def move(dst: VirtualRegister, src: Any) -> None:
    """dst = a number or another register."""
    _register("register_move", dst)
    if isinstance(src, VirtualRegister):
        dst.number, dst.loaded = src.number, src.loaded
    else:
        dst.number, dst.loaded = int(src), None


def load(dst: VirtualRegister, src: Tile) -> None:
    """``tensor_load`` dst=[one int32 of the space 'register'] src=[one element]: what the element is at that time."""
    _register("register_load", dst)
    if not isinstance(src, Tile) or src.size != 1:
        raise UsageError(f"{here()}: register_load takes a tensor of one element")
    if src.dtype_name in FLOATS:
        assume("register_load")
    place = type(src).new(REGISTER, (1, 1), "int32")
    current().emit("tensor_load", [place.ref], [src.view_of], "sp")
    dst.number, dst.loaded = None, place


def store(dst: Tile, src: Any) -> None:
    """``tensor_store`` dst=[one element] src=[number or register]."""
    if not isinstance(dst, Tile) or dst.size != 1:
        raise UsageError(f"{here()}: register_store writes a tensor of one element")
    loaded = src.loaded.ref if isinstance(src, VirtualRegister) and src.loaded is not None else int(src)
    current().emit("tensor_store", [dst.view_of], [loaded], "sp")


def _register(what: str, value: Any) -> None:
    if not isinstance(value, VirtualRegister):
        raise UsageError(f"{here()}: {what} writes a register, and not a {type(value).__name__}")
