"""Access patterns [[stride, count], ...] and patterns of names over a storage (NKI.md §1.4).

Takes views; gives shapes, strides and views.  Knows no instruction.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from lowering.capture.nki.assumptions import assume
from lowering.capture.nki.dtypes import size_of
from lowering.capture.nki.tile import Tile
from lowering.capture.nki.tracer import current, here
from lowering.errors import UsageError


def access(view: Any, pattern: Sequence[Sequence[int]], offset: int | None, dtype: str) -> Any:
    """The view that ``pattern`` has of the view's storage, in elements of ``dtype``.

    offset None: from where the view starts.  An explicit one counts from there too: the documentation says this in one
    place and "from the storage's start" in another, so where the two differ the trace names the assumption.
    """
    if not isinstance(pattern, list | tuple) or not all(isinstance(p, list | tuple) and len(p) == 2 for p in pattern):
        raise UsageError(f"{here()}: ap: a pattern is a list of [stride, count], and not {pattern!r}")
    pairs = [(int(stride), int(count)) for stride, count in pattern]
    own = view.offset * size_of(view.dtype_name)
    if own % size_of(dtype):
        raise UsageError(f"{here()}: ap: the view's start is no whole number of {dtype} elements")
    start = own // size_of(dtype)
    if offset is None and _before_05():
        offset = 0
    if offset is not None and start:
        assume("ap_offset")
    at = start + (0 if offset is None else int(offset))
    extents = storage_extents_of(view.storage.shape, view.storage.dtype, dtype)
    if view.on_chip and pairs and pairs[0][1] > 1 and pairs[0][0] != prod(extents[1:]):
        wanted = prod(extents[1:])
        raise UsageError(
            f"{here()}: ap: the first pair is the partition, whose step is {wanted}, and not {pairs[0][0]}"
        )
    if any(count < 1 for _, count in pairs):
        raise UsageError(f"{here()}: ap: {pattern} has a count below 1")
    return view.remade([count for _, count in pairs], [stride for stride, _ in pairs], at, dtype)


def _before_05() -> bool:
    return current().trace.version in ("0.2", "0.3", "0.4")


def storage_extents(view: Tile) -> tuple[int, ...]:
    """The storage's shape in elements of the view's dtype."""
    return storage_extents_of(view.storage.shape, view.storage.dtype, view.dtype_name)


def storage_extents_of(shape: tuple[int, ...], dtype: str, to: str) -> tuple[int, ...]:
    return shape if dtype == to else (*shape[:-1], shape[-1] * size_of(dtype) // size_of(to))


def indirect_extents(view: Any, dtype: str) -> tuple[int, ...]:
    """The shape whose dimensions an indirect_dim counts: the view's where it is a whole tensor (under another shape,
    perhaps), the storage's otherwise; in elements of ``dtype``."""
    storage = view.storage
    whole = view.size * size_of(view.dtype_name) == prod(storage.shape) * size_of(storage.dtype)
    if whole and view.is_contiguous():
        return storage_extents_of(view.shape, view.dtype_name, dtype)
    return storage_extents_of(storage.shape, storage.dtype, dtype)


def within_storage(view: Tile) -> None:
    """A usage error where the view reaches beyond its storage."""
    reaches = [stride * (extent - 1) for stride, extent in zip(view.strides, view.shape, strict=True)]
    least = view.offset + sum(reach for reach in reaches if reach < 0)
    greatest = view.offset + sum(reach for reach in reaches if reach > 0)
    held = prod(storage_extents(view))
    if least < 0 or greatest >= held:
        raise UsageError(f"{here()}: ap reaches elements {least} to {greatest} of a tensor of {held} elements")


def extents(what: str, shape: Sequence[int], size: int) -> tuple[int, ...]:
    """``shape`` with its -1 resolved, if it has ``size`` elements; a usage error otherwise."""
    wanted = tuple(int(n) for n in shape)
    known = prod(n for n in wanted if n != -1)
    if wanted.count(-1) == 1 and known > 0:
        wanted = tuple(size // known if n == -1 else n for n in wanted)
    if prod(wanted) != size or any(n < 1 for n in wanted):
        raise UsageError(f"{here()}: {what}: {size} elements as {tuple(shape)}")
    return wanted


def merged(shape: Sequence[int], strides: Sequence[int]) -> tuple[int, int] | None:
    """(extent, stride) of dimensions that lie densely in each other; None where they do not."""
    extent, stride = 1, 1
    for n, step in reversed(list(zip(shape, strides, strict=True))):
        if n == 1:
            continue
        if extent == 1:
            stride = step
        elif step != stride * extent:
            return None
        extent *= n
    return extent, stride


Names = list[tuple[str, ...]]


def rearranged(view: Any, src: Sequence[Any], dst: Sequence[Any], fixed: dict[str, int]) -> Any:
    """``view`` with the dimensions that ``src`` names in the order and the groups of ``dst``."""
    source, wanted = _groups(src), _groups(dst)
    names = [name for group in source for name in group]
    if len(source) != view.ndim or sorted(names) != sorted(name for group in wanted for name in group):
        raise UsageError(f"{here()}: rearrange of shape {view.shape}: {tuple(src)} and {tuple(dst)} do not fit")
    for dim in reversed(range(len(source))):
        if len(source[dim]) != 1:
            view = view.reshape_dim(dim, _sizes(source[dim], fixed, view.shape[dim]))
    for name, extent in zip(names, view.shape, strict=True):
        if fixed.get(name, extent) != extent:
            raise UsageError(f"{here()}: rearrange: {name} is {extent}, and {fixed[name]} in fixed_sizes")
    view = view.permute([names.index(name) for group in wanted for name in group])
    for dim, group in enumerate(wanted):
        view = view.flatten_dims(dim, dim + len(group) - 1) if group else view.expand_dim(dim)
    return view


def _groups(pattern: Sequence[Any]) -> Names:
    return [tuple(one) if isinstance(one, list | tuple) else (one,) for one in pattern]


def _sizes(group: tuple[str, ...], fixed: dict[str, int], extent: int) -> tuple[int, ...]:
    """Extents of the names of one dimension; one of them may follow from the others."""
    unknown = [name for name in group if name not in fixed]
    if len(unknown) > 1:
        raise UsageError(f"{here()}: rearrange: fixed_sizes has to say {' or '.join(unknown)}")
    return extents("rearrange", [fixed.get(name, -1) for name in group], extent)
