"""Ops that write to memory which another lane of the same op reads or writes: on a GPU the lanes run in no order.

Takes an op that writes in place, or to ``out``, and its plain tensors; gives what is wrong with them in words.  torch
refuses some such calls (ATen/MemoryOverlap.cpp) and leaves the others undefined; capture runs them as if everything
were read first.  Must not know about traces.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch.utils._pytree import tree_iter

from lowering.capture.aten_policy import ALLOCATORS, packet_name, written_arguments

OVERLAP = "overlapping-memory"  # the code of the finding
MOST = 1 << 23  # elements of which addresses are listed
OVERWRITTEN = "writes memory that other lanes of the same operation read"
TWICE = "writes several values to one element"
#: Lane by lane, though torch does not tag them so.
_LANEWISE = frozenset({"aten.copy_", "aten.masked_fill_", "aten.where"})
#: Every element of the result reads a row of the operands, and one element of what is added to their product.
_ADDED_TO = ("addmm", "baddbmm", "addbmm", "addmv")
_PRODUCTS = frozenset(
    f"aten.{name}{mark}"
    for name in (*_ADDED_TO, "mm", "bmm", "mv", "matmul", "linear", "convolution")
    for mark in ("", "_")
)
_ADDENDS = frozenset(f"aten.{name}" for name in _ADDED_TO)  # with ``out``: ``self`` is added
#: One value for all elements, whatever the order.
_ONE_VALUE = frozenset({"aten.fill_", "aten.zero_"})


def overlap(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    """'' where every element is written by one lane, and read by no other one."""
    if not _writes(func):
        return ""
    names = written_arguments(func)
    written = list(_tensors([value for name, value in _named(func, args, kwargs) if name in names]))
    added = "self" if packet_name(func) in _ADDENDS else ""
    read = list(_tensors([value for name, value in _named(func, args, kwargs) if name not in (*names, added)]))
    addend = list(_tensors([value for name, value in _named(func, args, kwargs) if name == added]))
    read += [tensor for tensor in addend if _geometry(tensor) not in map(_geometry, written)]
    if not read and packet_name(func) in _ONE_VALUE:
        return ""
    if any(_written_twice(target) for target in written if not _constant(func, read)):
        return TWICE
    lanewise = torch.Tag.pointwise in func.tags or packet_name(func) in _LANEWISE
    pairs = ((target, source) for target in written for source in read)
    return OVERWRITTEN if any(_overwrites(func, lanewise, *pair) for pair in pairs) else ""


def _writes(func: Any) -> bool:
    """Whether it is one of torch's own ops on memory; those on lists of tensors come one by one."""
    other = torch.Tag.inplace_view in func.tags or packet_name(func) in ALLOCATORS
    return func.namespace == "aten" and func._schema.is_mutable and "_foreach_" not in func._schema.name and not other


def _named(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    yield from zip((argument.name for argument in func._schema.arguments), args)
    yield from kwargs.items()


def _tensors(values: list[Any]) -> Iterator[torch.Tensor]:
    for leaf in tree_iter(values):
        if isinstance(leaf, torch.Tensor) and leaf.layout is torch.strided and leaf.numel():
            yield leaf


def _constant(func: Any, read: list[torch.Tensor]) -> bool:
    """Whether all lanes write one value."""
    return packet_name(func) in {*_ONE_VALUE, "aten.copy_"} and all(source.dim() == 0 for source in read)


def _overwrites(func: Any, lanewise: bool, target: torch.Tensor, source: torch.Tensor) -> bool:
    if source.untyped_storage()._cdata != target.untyped_storage()._cdata or not _ranges_meet(target, source):
        return False
    if _geometry(target) == _geometry(source):
        return packet_name(func) in _PRODUCTS
    if max(target.numel(), source.numel()) > MOST:
        return False
    if not lanewise or source.itemsize != target.itemsize:
        return bool(np.intersect1d(_bytes(target), _bytes(source)).size)
    read = _addresses(source)
    if source.dim() > target.dim() or any(n not in (1, m) for n, m in zip(source.shape[::-1], target.shape[::-1])):
        return bool(np.intersect1d(_addresses(target), read).size)
    return _another_lane(_addresses(target).ravel(), np.broadcast_to(read, target.shape).ravel())


def _another_lane(written: np.ndarray, read: np.ndarray) -> bool:
    """Whether some lane reads what another one writes; int64[n] each, by lane."""
    order = np.argsort(written, kind="stable")
    place = np.minimum(np.searchsorted(written, read, sorter=order), len(order) - 1)
    writer = order[place]
    return bool(((written[writer] == read) & (writer != np.arange(len(read)))).any())


def _written_twice(target: torch.Tensor) -> bool:
    """Whether two elements of a tensor are one place in memory."""
    if _dense(target) or target.numel() > MOST:
        return False
    addresses = _addresses(target)
    return np.unique(addresses).size < addresses.size


def _dense(tensor: torch.Tensor) -> bool:
    """Whether each stride leaves room for all that the smaller ones reach: then no two elements are one."""
    reached = 0
    for stride, size in sorted((s, n) for s, n in zip(tensor.stride(), tensor.shape) if n > 1):
        if stride <= reached:
            return False
        reached += stride * (size - 1)
    return True


def _geometry(tensor: torch.Tensor) -> tuple[Any, ...]:
    steps = tuple((n, s) for n, s in zip(tensor.shape, tensor.stride()) if n > 1)
    return tensor.dtype, tensor.storage_offset(), steps


def _ranges_meet(a: torch.Tensor, b: torch.Tensor) -> bool:
    (first, last), (begin, end) = _range(a), _range(b)
    return first < end and begin < last


def _range(tensor: torch.Tensor) -> tuple[int, int]:
    """The bytes from the first element to the end of the last."""
    extent = 1 + sum((n - 1) * s for n, s in zip(tensor.shape, tensor.stride()))
    offset = int(tensor.storage_offset())
    return offset * tensor.itemsize, (offset + int(extent)) * tensor.itemsize


def _addresses(tensor: torch.Tensor) -> np.ndarray:
    """int64 of the tensor's shape: in its storage, in elements."""
    at = np.full((), tensor.storage_offset(), np.int64)
    for size, stride in zip(tensor.shape, tensor.stride()):
        at = at[..., None] + np.arange(size, dtype=np.int64) * stride
    return at


def _bytes(tensor: torch.Tensor) -> np.ndarray:
    return (_addresses(tensor)[..., None] * tensor.itemsize + np.arange(tensor.itemsize)).ravel()
