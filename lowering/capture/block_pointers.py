"""tl.make_block_ptr, tl.advance and boundary_check= for Triton versions that no longer have them (3.9 on).

Takes nothing; gives install().  A block pointer becomes pointers and masks in 64-bit integers, as Triton's own rewrite
made it.  Must not know about tensors or traces.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import triton.language as tl
from triton.language import core


class BlockPointerType(core.base_type):
    """Type of a block pointer: its base pointer type, shape of the block, and types of its integer parts."""

    def __init__(self, base: Any, block_shape: tuple[int, ...]) -> None:
        self.base, self.block_shape = base, block_shape

    @property
    def element_ty(self) -> Any:
        """The type of the block, as that of a pointer to one."""
        return core.block_type(self.base.element_ty, list(self.block_shape))

    def parts(self) -> list[Any]:
        rank = len(self.block_shape)
        return [self.base, *[core.int64] * (2 * rank), *[core.int32] * rank]

    def __eq__(self, other: object) -> bool:
        return type(other) is BlockPointerType and (self.base, self.block_shape) == (other.base, other.block_shape)

    def __hash__(self) -> int:
        return hash((str(self.base), self.block_shape))

    def __str__(self) -> str:
        return f"block_pointer<{self.base}, {self.block_shape}>"

    def mangle(self) -> str:
        return f"BP{self.base.mangle()}S{'_'.join(map(str, self.block_shape))}S"

    def _flatten_ir_types(self, builder: Any, out: list[Any]) -> None:
        for part in self.parts():
            part._flatten_ir_types(builder, out)

    def _unflatten_ir(self, handles: list[Any], cursor: int) -> tuple[BlockPointer, int]:
        values = []
        for part in self.parts():
            value, cursor = part._unflatten_ir(handles, cursor)
            values.append(value)
        return BlockPointer(values, self.block_shape), cursor


class BlockPointer(core.base_value):
    """``values``: base, shape and strides (int64), offsets (int32); one SSA value each, so that loops carry them."""

    def __init__(self, values: list[Any], block_shape: tuple[int, ...]) -> None:
        super().__init__()
        self.values, self.block_shape = values, block_shape
        self.type = BlockPointerType(values[0].type, block_shape)

    @property
    def dtype(self) -> Any:
        return self.values[0].dtype

    def part(self, which: int) -> list[Any]:
        """0: shape, 1: strides, 2: offsets."""
        rank = len(self.block_shape)
        return self.values[1 + which * rank : 1 + (which + 1) * rank]

    def _flatten_ir(self, handles: list[Any]) -> None:
        for value in self.values:
            value._flatten_ir(handles)

    def _set_name(self, builder: Any, name: str) -> None:
        for value in self.values:
            value._set_name(builder, name)


def _integers(values: Any, dtype: Any, semantic: Any) -> list[Any]:
    return [semantic.cast(semantic.to_tensor(core._unwrap_if_constexpr(value)), dtype) for value in values]


def _static(values: Any) -> tuple[int, ...]:
    given: Any = core._unwrap_if_constexpr(values)
    given = given if hasattr(given, "__iter__") else (given,)
    plain: list[Any] = [core._unwrap_if_constexpr(value) for value in given]
    return tuple(int(value) for value in plain)


def _make_block_ptr(base, shape, strides, offsets, block_shape, order, _semantic: Any = None):
    parts = [*_integers(shape, core.int64, _semantic), *_integers(strides, core.int64, _semantic)]
    return BlockPointer([base, *parts, *_integers(offsets, core.int32, _semantic)], _static(block_shape))


def _advance(base, offsets, _semantic: Any = None):
    steps = _integers(offsets, core.int32, _semantic)
    moved = [_semantic.add(old, step, False) for old, step in zip(base.part(2), steps)]
    return BlockPointer([base.values[0], *base.part(0), *base.part(1), *moved], base.block_shape)


def _indices(block: BlockPointer, semantic: Any) -> list[Any]:
    """Per dimension: offset + arange in int64, shaped to broadcast over the block."""
    rank, indices = len(block.block_shape), []
    for axis, (offset, size) in enumerate(zip(block.part(2), block.block_shape)):
        index = semantic.cast(semantic.arange(0, size), core.int64)
        index = semantic.add(index, semantic.cast(offset, core.int64), False)
        for other in range(rank):
            if other != axis:
                index = semantic.expand_dims(index, other)
        indices.append(index)
    return indices


def _pointers(block: BlockPointer, indices: list[Any], semantic: Any) -> Any:
    pointers = block.values[0]
    for index, stride in zip(indices, block.part(1)):
        pointers = semantic.add(pointers, semantic.mul(index, stride, False), False)
    return semantic.broadcast_impl_shape(pointers, list(block.block_shape))


def _mask(block: BlockPointer, indices: list[Any], checked: tuple[int, ...], semantic: Any) -> Any:
    mask = None
    for axis in checked:
        index, bound = indices[axis], block.part(0)[axis]
        zero = semantic.to_tensor(0)
        inside = semantic.and_(semantic.greater_equal(index, zero), semantic.less_than(index, bound))
        inside = semantic.broadcast_impl_shape(inside, list(block.block_shape))
        mask = inside if mask is None else semantic.and_(mask, inside)
    return mask


def _expand(block: BlockPointer, boundary_check: Any, semantic: Any) -> tuple[Any, Any]:
    indices = _indices(block, semantic)
    return _pointers(block, indices, semantic), _mask(block, indices, _static(boundary_check), semantic)


def _loader(original: Any) -> Callable[..., Any]:
    def load(pointer, mask=None, other=None, boundary_check=(), padding_option="", cache_modifier="",
             eviction_policy="", volatile=False, _semantic=None):  # fmt: skip
        rest = {"cache_modifier": cache_modifier, "eviction_policy": eviction_policy, "volatile": volatile}
        if isinstance(pointer, BlockPointer):
            padding = core._unwrap_if_constexpr(padding_option)
            pointer, mask = _expand(pointer, boundary_check, _semantic)
            if mask is not None and padding:
                other = float("nan") if padding == "nan" else 0
        return original(pointer, mask, other, **rest, _semantic=_semantic)

    return load


def _storer(original: Any) -> Callable[..., Any]:
    def store(
        pointer, value, mask=None, boundary_check=(), cache_modifier="", eviction_policy="", _semantic: Any = None
    ):
        if isinstance(pointer, BlockPointer):
            shape = list(pointer.block_shape)
            pointer, mask = _expand(pointer, boundary_check, _semantic)
            value = _semantic.broadcast_impl_shape(_semantic.to_tensor(value), shape)
        rest = {"cache_modifier": cache_modifier, "eviction_policy": eviction_policy}
        return original(pointer, value, mask, **rest, _semantic=_semantic)

    return store


def _builtin(function: Callable[..., Any], name: str) -> Any:
    """A triton.language builtin, filed under Triton's own module so that kernels' hashes do not look into it."""
    function.__name__ = function.__qualname__ = name
    function.__module__ = "triton.language.core"
    return core.builtin(function)


def install() -> Callable[[], None]:
    """Adds block pointers to triton.language if they are missing; gives the undo function."""
    if "boundary_check" in inspect.signature(tl.load).parameters:
        return lambda: None
    new = {"make_block_ptr": _builtin(_make_block_ptr, "make_block_ptr"), "advance": _builtin(_advance, "advance"),
           "load": _builtin(_loader(core.load), "load"), "store": _builtin(_storer(core.store), "store")}  # fmt: skip
    old = [(module, name, module.__dict__.get(name)) for module in (tl, core) for name in new]
    for module, name, _ in old:
        setattr(module, name, new[name])

    def undo() -> None:
        for module, name, value in old:
            if value is None:
                delattr(module, name)
            else:
                setattr(module, name, value)

    return undo
