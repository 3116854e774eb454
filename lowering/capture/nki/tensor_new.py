"""NkiTensor: the views of the new API (NKI.md §1.4).  No view moves data; what only the device knows is an Indirect."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod
from typing import Any, NoReturn, Self

from lowering.capture.nki import patterns
from lowering.capture.nki.assign_new import assign
from lowering.capture.nki.dtypes import dtype_name, size_of
from lowering.capture.nki.indexing_new import filled, place_of, slice_of
from lowering.capture.nki.registers import dynamic_index
from lowering.capture.nki.tile import Tile, dense
from lowering.capture.nki.trace import HBM, Indirect, View
from lowering.capture.nki.tracer import current, here, unmodelled
from lowering.capture.trace import TensorRef
from lowering.errors import UsageError

_BETA1 = {"astype": ": it is Beta-1's; nisa.tensor_copy writes another dtype",
          "broadcast_to": ": it is Beta-1's; write broadcast(dim, size)",
          "expand_dims": ": it is Beta-1's; write expand_dim(dim)",
          "assert_shape": ": it is Beta-1's"}  # fmt: skip
_GROUP = 16  # partitions that share the indices of ``indirect``


class NkiTensor(Tile):
    """A view with the methods of NKI 0.5 and later."""

    _ref: TensorRef | None = None

    @property
    def ref(self) -> TensorRef:
        if self._ref is None:
            self._ref = TensorRef(self.storage.id, self._dtype, self.shape, self.strides, self.offset)
        return self._ref

    @property
    def view_of(self) -> View:
        return self._indirect or self.ref

    @property
    def buffer(self) -> str:
        return self.storage.space

    def remade(self, shape: Sequence[int], strides: Sequence[int], offset: int | None = None, dtype: str = "") -> Self:
        """Another view; of an indirect one, the same elements are still chosen by the device's data."""
        made = super().remade(shape, strides, offset, dtype)
        old = self._indirect
        if old is None:
            return made
        moved = old.kind == "vector" and (made.shape[:1], made.strides[:1]) != (self.shape[:1], self.strides[:1])
        if old.kind == "free" or moved or dtype not in ("", self._dtype):
            raise unmodelled("a view of an indirect view that changes which elements the index chooses")
        made._indirect = replace(old, base=made.ref)
        return made

    # -- basic indexing ------------------------------------------------------------------------------------------

    def __getitem__(self, key: Any) -> Self:
        """numpy's basic indexing; on chip an int on dimension 0 keeps it, at extent 1."""
        keys = key if isinstance(key, tuple) else (key,)
        if len(keys) != len(self.shape) or Ellipsis in keys:
            keys = filled(keys, self.ndim)
        on_chip, shape, strides, offset = self.on_chip, [], [], self.offset
        moving: tuple[Any, int] | None = None  # what the device's data add to the address: (register, step)
        for dim, one in enumerate(keys):
            extent, stride = self.shape[dim], self.strides[dim]
            if isinstance(one, slice):
                start, count, step, register = slice_of(one, dim, extent)
                shape.append(count)
                strides.append(stride * step)
                offset += start * stride
            else:
                place, register = place_of(one, dim, extent)
                offset += place * stride
                if on_chip and dim == 0:
                    shape.append(1)
                    strides.append(stride)
            if register is not None:
                moving = self._one_dynamic(moving, register, stride, dim)
        if not shape or (on_chip and len(shape) < 2):
            shape, strides = [*shape, 1], [*strides, 1]
        made = self.remade(shape, strides, offset)
        return made if moving is None else made._moved_by(*moving)

    def _one_dynamic(self, before: Any, register: Any, stride: int, dim: int) -> tuple[Any, int]:
        if before is not None or self._indirect is not None:
            raise UsageError(f"{here()}: a view has one index that only the device knows, and not two")
        if self.on_chip and dim == 0:
            raise UsageError(f"{here()}: the partition of a tile on chip cannot depend on the device's data")
        return register, stride

    def _moved_by(self, index: TensorRef, step: int) -> Self:
        """The view, moved by what ``index`` holds, times ``step`` elements."""
        self._indirect = Indirect(self.ref, index, 0, "scalar", step)
        return self

    def __setitem__(self, key: Any, value: Any) -> None:
        assign(self[key], value)

    def __iter__(self) -> NoReturn:
        raise UsageError(f"{here()}: a tensor is not iterated over: index it in a loop over range({self.shape[0]})")

    def __array__(self, *_: Any, **__: Any) -> NoReturn:
        said = "a tensor of a kernel is no numpy array, its data are on the device"
        raise UsageError(f"{here()}: {said}; views of it can be given to kernels as they are")

    def _no_operator(self, *_: Any) -> NoReturn:
        raise UsageError(f"{here()}: tiles of the new API have no operators: write nisa.tensor_tensor or nl.add")

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _no_operator
    __neg__ = __pow__ = __lt__ = __le__ = __gt__ = __ge__ = __and__ = __or__ = __matmul__ = _no_operator

    def __getattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"a tensor of the new API has no {name}" + _BETA1.get(name, ""))

    # -- views by name -------------------------------------------------------------------------------------------

    def slice(self, dim: int, start: int, end: int, step: int = 1) -> Self:
        """Elements start, start + step, ... before end of a dimension; 0 <= start < end <= its extent."""
        at = self._dim("slice", dim)
        if step < 1 or not 0 <= start < end <= self.shape[at]:
            raise UsageError(f"{here()}: slice {start}:{end}:{step} of dimension {at}, of {self.shape[at]}")
        return self._with(at, [-(-(end - start) // step)], [self.strides[at] * step], start * self.strides[at])

    def select(self, dim: int, index: Any) -> Self:
        """One index of a dimension, which goes away; ``index`` may be a register or a tensor of one element."""
        at = self._dim("select", dim)
        place, register = place_of(index, at, self.shape[at])
        keeps = self.on_chip and at == 0
        moving = None if register is None else self._one_dynamic(None, register, self.strides[at], at)
        extents, strides = ([1], [self.strides[at]]) if keeps else ([], [])
        made = self._with(at, extents, strides, place * self.strides[at])
        if not made.shape:
            made = made.remade((1,), (1,))
        return made if moving is None else made._moved_by(*moving)

    def vector_select(self, dim: int, vector_offset: Tile) -> Self:
        """Row vector_offset[p] for partition p; HBM, dimension 0."""
        if self._dim("vector_select", dim) != 0 or self.on_chip or self._indirect is not None:
            raise UsageError(f"{here()}: vector_select is for dimension 0 of a tensor in HBM")
        lanes = _lanes("vector_select", vector_offset)
        made = self.remade((lanes.shape[0], *self.shape[1:]), self.strides)
        made._indirect = Indirect(made.ref, lanes.ref, 0, "vector", self.shape[0])
        return made

    def permute(self, dims: Sequence[int]) -> Self:
        order = [int(dim) % self.ndim for dim in dims]
        if sorted(order) != list(range(self.ndim)):
            raise UsageError(f"{here()}: permute{tuple(dims)} of a tensor of {self.ndim} dimensions")
        if self.on_chip and order[0] != 0:
            raise UsageError(f"{here()}: permute{tuple(dims)}: dimension 0 is the partition and stays first on chip")
        return self.remade([self.shape[d] for d in order], [self.strides[d] for d in order])

    def broadcast(self, dim: int, size: int) -> Self:
        """A dimension of extent 1, repeated."""
        at = self._free_dim("broadcast", dim)
        if self.shape[at] != 1:
            raise UsageError(f"{here()}: broadcast of dimension {at}, of {self.shape[at]}: only extent 1 is repeated")
        return self._with(at, [int(size)], [0])

    def expand_dim(self, dim: int) -> Self:
        """A new dimension of extent 1 at ``dim``."""
        at = dim + self.ndim + 1 if dim < 0 else dim
        if not 0 <= at <= self.ndim or (self.on_chip and at == 0):
            raise UsageError(f"{here()}: expand_dim({dim}) of a tensor of shape {self.shape}")
        return self.remade([*self.shape[:at], 1, *self.shape[at:]], [*self.strides[:at], 1, *self.strides[at:]])

    def squeeze_dim(self, dim: int) -> Self:
        at = self._free_dim("squeeze_dim", dim)
        if self.shape[at] != 1:
            raise UsageError(f"{here()}: squeeze_dim({dim}) of a tensor of shape {self.shape}: its extent is not 1")
        return self._with(at, [], [])

    def reshape_dim(self, dim: int, shape: Sequence[int]) -> Self:
        """A dimension split; one extent may be -1."""
        at = self._free_dim("reshape_dim", dim)
        wanted = patterns.extents("reshape_dim", shape, self.shape[at])
        return self._with(at, wanted, [stride * self.strides[at] for stride in dense(wanted)])

    def flatten_dims(self, start_dim: int, end_dim: int) -> Self:
        """Dimensions start_dim to end_dim as one; they have to lie densely in each other."""
        first, last = self._dim("flatten_dims", start_dim), self._dim("flatten_dims", end_dim)
        if first > last or (self.on_chip and first == 0 and last > 0):
            raise UsageError(f"{here()}: flatten_dims({start_dim}, {end_dim}) of a tensor of shape {self.shape}")
        merged = patterns.merged(self.shape[first : last + 1], self.strides[first : last + 1])
        if merged is None:
            raise UsageError(f"{here()}: flatten_dims({start_dim}, {end_dim}): strides {self.strides} are not dense")
        extent, stride = merged
        shape, strides = [*self.shape[:first], extent], [*self.strides[:first], stride]
        return self.remade([*shape, *self.shape[last + 1 :]], [*strides, *self.strides[last + 1 :]])

    @property
    def T(self) -> Self:
        """For host functions, to which an argument is an array: the dimensions in reverse."""
        return self.transpose()

    def transpose(self, *axes: Any) -> Self:
        """As ``T``, numpy's."""
        if current().inside:
            raise UsageError(f"{here()}: a tensor of the new API has no T or transpose: write permute(dims)")
        order = axes[0] if len(axes) == 1 and isinstance(axes[0], list | tuple) else axes
        return self.permute(order or range(self.ndim)[::-1])

    def reshape(self, shape: Any, *more: int) -> Self:
        """The same elements in row-major order; on chip dimension 0 stays."""
        if more:
            shape = (shape, *more)
        made = self.reshaped(shape)
        if self.on_chip and made.shape[:1] != self.shape[:1]:
            raise UsageError(f"{here()}: reshape{tuple(shape)} of {self.shape}: dimension 0 is the partition and stays")
        return made

    def rearrange(
        self, src_pattern: Sequence[Any], dst_pattern: Sequence[Any], fixed_sizes: dict[str, int] | None = None
    ) -> Self:
        """einops' rearrange, with patterns as tuples of names and of tuples of names."""
        return patterns.rearranged(self, src_pattern, dst_pattern, fixed_sizes or {})

    def view(self, dtype: Any) -> Self:
        """The bytes read as another dtype; the last dimension is scaled and has to be dense."""
        to = dtype_name(dtype)
        old, new = size_of(self._dtype), size_of(to)
        if old == new:
            return self.remade(self.shape, self.strides, dtype=to)
        counts = [*self.strides[:-1], self.offset, self.shape[-1]]
        if self.strides[-1] != 1 or any(count * old % new for count in counts):
            raise UsageError(f"{here()}: a view of shape {self.shape}, strides {self.strides} has no view as {to}")
        *strides, offset, last = (count * old // new for count in counts)
        return self.remade([*self.shape[:-1], last], [*strides, 1], offset, to)

    reinterpret_cast = view

    def ap(
        self,
        pattern: Sequence[Sequence[int]],
        offset: int | None = None,
        scalar_offset: Any = None,
        vector_offset: Tile | None = None,
        indirect_dim: int = 0,
        dtype: Any = None,
    ) -> Self:
        """Shape and strides in elements of the storage, over the view's own; the offset counts from the view's."""
        made = patterns.access(self, pattern, offset, dtype_name(dtype) if dtype is not None else self._dtype)
        if scalar_offset is None and vector_offset is None:
            patterns.within_storage(made)
            return made
        if scalar_offset is not None and vector_offset is not None:
            raise UsageError(f"{here()}: ap takes a scalar_offset or a vector_offset, and not both")
        if self._indirect is not None:
            raise UsageError(f"{here()}: a view has one index that only the device knows, and not two")
        extents = patterns.indirect_extents(self, made.dtype_name)
        if not 0 <= indirect_dim < len(extents):
            raise UsageError(f"{here()}: ap: indirect_dim {indirect_dim} of a tensor of shape {extents}")
        step = prod(extents[indirect_dim + 1 :])
        if vector_offset is not None:
            return made._rows(_lanes("ap", vector_offset), step, prod(extents) // step)
        number, register = dynamic_index(scalar_offset)
        if register is None:
            made = made.remade(made.shape, made.strides, made.offset + number * step)
            patterns.within_storage(made)
            return made
        return made._moved_by(register, step)

    def _rows(self, lanes: Tile, step: int, rows: int) -> Self:
        if self.on_chip:
            raise UsageError(f"{here()}: ap: a vector_offset is for a tensor in HBM")
        if lanes.shape[0] != self.shape[0]:
            raise UsageError(f"{here()}: ap: {lanes.shape[0]} offsets for {self.shape[0]} rows of the pattern")
        if self.strides[0] != step:
            raise unmodelled(
                f"a vector_offset with a pattern whose first step, {self.strides[0]}, is not the row's {step}"
            )
        self._indirect = Indirect(self.ref, lanes.ref, 0, "vector", rows)
        return self

    def indirect(self, index: Tile, num_elem: int | None = None) -> Self:
        """Element i of the free axis is that at place index[i % 16, i // 16]; shape (P, num_elem)."""
        if not self.on_chip or self.ndim != 2 or self._indirect is not None:
            raise UsageError(f"{here()}: indirect is for a tile (P, F) on chip, and not for shape {self.shape}")
        count = int(num_elem) if num_elem is not None else index.free * _GROUP
        if count > index.free * _GROUP:
            raise UsageError(f"{here()}: indirect: {count} elements, and indices for {index.free * _GROUP}")
        if index.partitions < -(-self.shape[0] // _GROUP) * _GROUP:
            raise UsageError(f"{here()}: indirect: indices in {index.partitions} partitions, {_GROUP} for each group")
        made = self.remade((self.shape[0], count), self.strides)
        made._indirect = Indirect(made.ref, index.ref, 1, "free", _GROUP)
        return made

    # -- queries -------------------------------------------------------------------------------------------------

    def get_pattern(self) -> list[list[int]]:
        return [[stride, extent] for stride, extent in zip(self.strides, self.shape, strict=True)]

    def is_contiguous(self) -> bool:
        """The elements lie densely in row-major order."""
        wanted = dense(self.shape)
        return all(n == 1 or a == b for n, a, b in zip(self.shape, self.strides, wanted, strict=True))

    def is_indirect(self) -> bool:
        return self._indirect is not None

    # -- parts ---------------------------------------------------------------------------------------------------

    def _with(self, dim: int, extents: Sequence[int], strides: Sequence[int], more: int = 0) -> Self:
        """Dimension ``dim`` replaced by others, the offset moved."""
        shape = [*self.shape[:dim], *extents, *self.shape[dim + 1 :]]
        return self.remade(shape, [*self.strides[:dim], *strides, *self.strides[dim + 1 :]], self.offset + more)

    def _dim(self, what: str, dim: int) -> int:
        if not -self.ndim <= dim < self.ndim:
            raise UsageError(f"{here()}: {what}: dimension {dim} of a tensor of shape {self.shape}")
        return dim % self.ndim

    def _free_dim(self, what: str, dim: int) -> int:
        at = self._dim(what, dim)
        if at == 0 and self.on_chip:
            raise UsageError(f"{here()}: {what}: dimension 0 of a tile on chip is the partition")
        return at


def _lanes(what: str, index: Any) -> Tile:
    """(P, 1) indices on chip."""
    if not isinstance(index, Tile) or index.free != 1 or index.storage.space in (HBM, "shared_hbm"):
        raise UsageError(f"{here()}: {what}: the offsets are a tile (P, 1) in SBUF")
    return index
