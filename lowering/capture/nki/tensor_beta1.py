"""Tensor: what Beta-1's kernels hold, a view with subscripts, operators and, where an instruction has just made it,
the memory of which instruction that was (NKI.md §1.4).

Subscripts: access_beta1.py.  Assignment and retargeting: assign_beta1.py.  Operators: operators_beta1.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, Self

import numpy as np

from lowering.capture.nki.access_beta1 import Access, Reach, resolved, strides_of
from lowering.capture.nki.dtypes import dtype_name, size_of
from lowering.capture.nki.indices_beta1 import Mask, ParDim
from lowering.capture.nki.made_beta1 import Made, Place, Sharing
from lowering.capture.nki.masks_beta1 import Box, regions, whole
from lowering.capture.nki.operators_beta1 import assigning, operators, ops
from lowering.capture.nki.tile import Tile, dense
from lowering.capture.nki.trace import PSUM, Indirect, View
from lowering.capture.nki.tracer import current, here, unmodelled
from lowering.capture.trace import TensorRef
from lowering.errors import UsageError


class Tensor(Tile):
    """``blocks``: how many of its first dimensions are block dimensions, before the partitions.

    ``_beyond``: the dimensions along which the view leaves its tensor, which only a mask allows.  ``made``: fresh.
    ``_sharing``: of a tensor whose blocks share places (a modulo allocation).  ``place``: of one block of such.
    """

    blocks = 0
    made: Made | None = None
    moved: Any = None  # once the instruction that made it was given another destination (assign_beta1)
    limit: Box | None = None  # what an operand's own mask leaves of it: `t[i_p, i_f][i_p < n]`
    origins: tuple[frozenset[int], ...] = ()  # of each dimension: the index tiles that it was taken by
    _beyond: tuple[Reach, ...] = ()
    _sharing: Sharing | None = None
    place: Place | None = None

    @classmethod
    def allocated(
        cls, space: str, shape: Sequence[int], dtype: str, tiles: np.ndarray | None = None, **more: Any
    ) -> Self:
        """Memory of its own; a shape with a ParDim has blocks before it."""
        extents = tuple(int(n) for n in shape)
        blocks = block_count(shape)
        if tiles is None:
            made = cls.new(space, extents, dtype, blocks=blocks, **more)
        else:
            made = cls.new(space, (int(tiles.max()) + 1, *extents[blocks:]), dtype, blocks=1, **more)
            made = made.remade(extents, (0,) * blocks + dense(extents[blocks:]))
            made._sharing = Sharing(tiles, np.arange(tiles.size).reshape(tiles.shape), {})
        made.blocks = blocks
        return made

    # -- what instructions see -----------------------------------------------------------------------------------

    @property
    def ref(self) -> TensorRef:
        self.settle()
        if self.limit is not None:
            raise unmodelled("an operand under a mask in other than a product")
        if self._beyond:
            self._told()
        if self._sharing is not None:
            raise unmodelled("an access to several blocks that share their place")
        return super().ref

    @property
    def view_of(self) -> View:
        return self._indirect if self._indirect is not None and not self._beyond else self.ref

    @property
    def goes_beyond(self) -> bool:
        """Whether only a mask keeps it within its tensor."""
        return bool(self._beyond)

    @property
    def buffer(self) -> str:
        return self.storage.space

    def settle(self) -> None:
        """A tile whose instruction writes elsewhere by now gets a place of its own again."""
        if self.moved is not None:
            undo, self.moved = self.moved, None
            undo()

    def _viewed(self) -> None:
        """A view of it is taken: the instructions that make it have to go on writing here."""
        self.settle()
        if self.made is not None:
            self.made.movable = False

    def _told(self) -> None:
        reach = self._beyond[0]
        least, greatest = reach.bounds(self.shape)
        places = f"indices {least} to {greatest} of dimension {reach.dim}, of {reach.extent}"
        raise UsageError(f"{here()}: {places}: out of bounds without a mask")

    def remade(self, shape: Sequence[int], strides: Sequence[int], offset: int | None = None, dtype: str = "") -> Self:
        self._viewed()
        if self._indirect is not None:
            raise unmodelled("a view of an indirect access")
        if self._beyond:
            self._told()
        return super().remade(shape, strides, offset, dtype)

    # -- views ---------------------------------------------------------------------------------------------------

    def __getitem__(self, key: Any) -> Tensor:
        if isinstance(key, Mask):
            return self._masked(key)
        if self._indirect is not None:
            raise unmodelled("a subscript of an indirect access")
        if self._beyond:
            self._told()
        self._viewed()
        keep = self.blocks if self.on_chip else None
        access = resolved(key, self.shape, keep)
        shape, (strides, offset) = access.shape, strides_of(access, self.strides)
        if not shape or (self.on_chip and len(shape) < 2 and self.ndim > 1):
            shape, strides = (*shape, 1), (*strides, 1)
            access = _with_axis(access)
        if access.indirect is not None:
            return self._gathered(access, strides, offset)
        made = type(self)(self.storage, shape, strides, self.offset + offset, self._dtype)
        made._beyond = tuple(reach for reach in access.reaches if reach.outside(shape))
        made.origins = access.origins
        self._keep_blocks(made, access)
        return made

    def _keep_blocks(self, made: Tensor, access: Access) -> None:
        if self.blocks:
            made.blocks = sum(dim is not None and dim < self.blocks for dim in access.kept)
        made.place = self.place
        if self._sharing is None:
            return
        taken = tuple(slice(None) if any(reach.steps) else reach.base for reach in access.reaches[: self.blocks])
        kept = tuple(n for n, one in zip(self.shape, taken) if isinstance(one, slice))
        if made.shape[: len(kept)] != kept or None in access.kept[: len(kept)]:
            raise unmodelled("an access to several blocks that share their place")
        rest = self._sharing.at(taken)
        if kept:
            made._sharing = rest
            return
        size, number = prod(self.shape[self.blocks :]), int(rest.tiles)
        made.offset += number * size
        tile = TensorRef(self.storage.id, self._dtype, (size,), (1,), number * size)
        made.place = Place(rest.owners, number, int(rest.blocks), tile)

    def occupy(self) -> None:
        """A write to a block that shares its place: what another block left there counts as never written."""
        place = self.place
        if place is not None and place.owners.get(place.number) != place.block:
            place.owners[place.number] = place.block
            if self.storage.space == PSUM:
                current().mark(place.tile, False)

    def _gathered(self, access: Access, strides: tuple[int, ...], offset: int) -> Tensor:
        """Elements whose place along one dimension another tile holds."""
        assert access.indirect is not None
        dim, index = access.indirect
        beyond = tuple(reach for reach in access.reaches if reach.dim != dim and reach.outside(access.shape))
        moving, step, at = (
            [d for d, extent in enumerate(index.shape) if extent > 1],
            self.strides[dim],
            self.offset + offset,
        )
        if not moving:
            base = TensorRef(self.storage.id, self._dtype, access.shape, strides, at)
            one = TensorRef(index.storage.id, index.dtype_name, (1, 1), (1, 1), index.ref.offset)
            made = self._through(Indirect(base, one, 0, "scalar", step))
        else:
            along = len(access.shape) - index.ndim + moving[0]
            if len(moving) > 1 or any(reach.steps[along] for reach in access.reaches):
                raise unmodelled("an indirect access that is not one index for each partition")
            rows = 0 if access.reaches[dim].base else self.shape[dim]  # indices below it are within bounds
            moved = tuple(step if d == along else stride for d, stride in enumerate(strides))
            made = self._through(
                Indirect(TensorRef(self.storage.id, self._dtype, access.shape, moved, at), index.ref, along, step=rows)
            )
        made._beyond = beyond
        return made

    def _through(self, indirect: Indirect) -> Tensor:
        base = indirect.base
        return type(self)(self.storage, base.shape, base.strides, base.offset, self._dtype, indirect)

    def _masked(self, mask: Mask) -> Tensor:
        """``t[i_p, i_f][mask]``: a product takes no more of it than the mask lets through, which has to be a box."""
        boxes = regions(mask, self.shape, split=True)
        if len(boxes) != 1 or self._indirect is not None:
            raise unmodelled("an operand under a mask that is no box")
        self._viewed()
        made = type(self)(self.storage, self.shape, self.strides, self.offset, self._dtype)
        made._beyond, made.origins = self._beyond, self.origins
        made.limit = None if boxes[0][0] == whole(self.shape) else boxes[0][0]
        return made

    def cut(self, box: Box) -> Tensor:
        """The part of the view that a box takes; dimensions of extent 1 stay, since they are broadcast."""
        if all((start, stop) == (0, extent) for (start, stop), extent in zip(box, self.shape, strict=True)):
            return self
        self.settle()
        starts = tuple(start if extent > 1 else 0 for (start, _), extent in zip(box, self.shape))
        shape = tuple(stop - start if extent > 1 else 1 for (start, stop), extent in zip(box, self.shape))
        if self._indirect is not None:
            return self._cut_indirect(starts, shape)
        offset = self.offset + sum(start * stride for start, stride in zip(starts, self.strides))
        made = type(self)(self.storage, shape, self.strides, offset, self._dtype)
        reaches = [reach.cut(starts) for reach in self._beyond]
        made._beyond = tuple(reach for reach in reaches if reach.outside(shape))
        made.origins, made.place = self.origins, self.place
        return made

    def _cut_indirect(self, starts: tuple[int, ...], shape: tuple[int, ...]) -> Tensor:
        assert self._indirect is not None
        base, index, dim = self._indirect.base, self._indirect.index, self._indirect.dim
        scalar = self._indirect.kind == "scalar"
        skipped = None if scalar else dim
        moves = [s * stride for d, (s, stride) in enumerate(zip(starts, base.strides)) if d != skipped]
        offset = base.offset + sum(moves)
        moving = next((d for d, extent in enumerate(index.shape) if extent > 1), 0)
        if self.shape[dim] > 1 and not scalar:
            extents = tuple(shape[dim] if d == moving else n for d, n in enumerate(index.shape))
            moved = index.offset + starts[dim] * index.strides[moving]
            index = TensorRef(index.storage, index.dtype, extents, index.strides, moved)
        narrow = TensorRef(base.storage, base.dtype, shape, base.strides, offset)
        made = self._through(Indirect(narrow, index, dim, self._indirect.kind, self._indirect.step))
        reaches = [reach.cut(starts) for reach in self._beyond]
        made._beyond = tuple(reach for reach in reaches if reach.outside(shape))
        return made

    def reshape(self, shape: Sequence[int]) -> Tensor:
        wanted: tuple[int, ...] = tuple(shape)
        made = self.reshaped(wanted)
        made.blocks = block_count(wanted)
        return made

    def expand_dims(self, axis: int) -> Tensor:
        axes = axis if isinstance(axis, list | tuple) else [axis]
        shape, strides = list(self.shape), list(self.strides)
        for one in sorted(int(a) % (self.ndim + len(axes)) for a in axes):
            shape.insert(one, 1)
            strides.insert(one, 0)
        return self.remade(shape, strides)

    def broadcast_to(self, shape: Sequence[int]) -> Tensor:
        """Free dimensions repeat as a view; partitions are copied to each other."""
        made = self.spread(tuple(int(n) for n in shape))
        if made.shape and self.on_chip and self.shape and self.shape[0] != made.shape[0]:
            return ops().copy(made)
        return made

    def spread(self, shape: tuple[int, ...]) -> Tensor:
        """numpy's broadcasting, as a view."""
        if shape == self.shape:
            return self
        lead = len(shape) - self.ndim
        fits = lead >= 0 and all(a in (1, b) for a, b in zip(self.shape, shape[lead:]))
        if not fits:
            raise UsageError(f"{here()}: a tile of shape {self.shape} does not broadcast to {shape}")
        strides = [s if extent > 1 else 0 for s, extent in zip(self.strides, self.shape)]
        return self.remade(shape, (0,) * lead + tuple(strides))

    def as_tile(self) -> Tensor:
        return self

    def view(self, dtype: Any) -> Tensor:
        """The bytes under another dtype; the last dimension counts its elements."""
        name = dtype_name(dtype)
        was, now = self.itemsize, size_of(name)
        if was == now:
            return self.remade(self.shape, self.strides, dtype=name)
        if not self.shape or self.strides[-1] != 1 or self.shape[-1] * was % now or self.offset * was % now:
            raise UsageError(f"{here()}: the bytes of {self.shape} in {self.dtype_name} are no whole number of {name}")
        strides = [stride * was // now for stride in self.strides[:-1]]
        return self.remade(
            (*self.shape[:-1], self.shape[-1] * was // now), (*strides, 1), self.offset * was // now, name
        )

    def astype(self, dtype: Any) -> Tensor:
        return ops().copy(self, dtype=dtype)

    def assert_shape(self, shape: Sequence[int]) -> Tensor:
        if tuple(int(n) for n in shape) != self.shape:
            raise UsageError(f"{here()}: assert_shape: the tensor has shape {self.shape}, and not {tuple(shape)}")
        return self

    # -- assignment ----------------------------------------------------------------------------------------------

    def __setitem__(self, key: Any, value: Any) -> None:
        assigning().assign(self[key], value)

    def __iadd__(self, other: Any) -> Tensor:
        return assigning().add_into(self, other)

    def __hash__(self) -> int:
        return id(self)

    def __iter__(self) -> Any:
        raise UsageError(f"{here()}: a tensor is not iterated over; subscript it")


def _with_axis(access: Access) -> Access:
    reaches = tuple(Reach(r.dim, r.extent, r.base, (*r.steps, 0)) for r in access.reaches)
    origins = (*access.origins, frozenset[int]())
    return Access((*access.shape, 1), reaches, (*access.kept, None), access.indirect, origins)


def block_count(shape: Any) -> int:
    """Dimensions before the partitions."""
    places = [at for at, n in enumerate(shape) if isinstance(n, ParDim)]
    if len(places) > 1:
        raise UsageError(f"{here()}: a shape has one nl.par_dim at most")
    return places[0] if places else 0


operators(Tensor)
