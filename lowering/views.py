"""A view of memory that was just written, as structure ops on the value: so that chains of views need no memory.

Takes the written value with its TensorRef and the TensorRef that is wanted; gives a value, or None when only memory
can tell.  Knows nothing of ops or storages.
"""

from __future__ import annotations

import math

from lowering.capture.trace import TensorRef
from lowering.ir.builder import Builder
from lowering.ir.program import Value


def as_view(builder: Builder, value: Value, written: TensorRef, wanted: TensorRef) -> Value | None:
    """``wanted`` read from memory that holds ``value`` written through the injective view ``written``."""
    if written.dtype != wanted.dtype:
        return None
    if _dense(written) and _dense(wanted) and _size(written) == _size(wanted) and written.offset == wanted.offset:
        return builder.reshape(value, wanted.shape)
    return _dimension_by_dimension(builder, value, written, wanted)


def _dimension_by_dimension(builder: Builder, value: Value, written: TensorRef, wanted: TensorRef) -> Value | None:
    """Each wanted dimension is one written dimension (sliced), a repetition, or of extent 1."""
    strides = {s: d for d, (s, n) in enumerate(zip(written.strides, written.shape, strict=True)) if n > 1}
    sources: list[int | None] = []
    for stride, extent in zip(wanted.strides, wanted.shape, strict=True):
        sources.append(_source(strides, written, stride, extent))
        if extent > 1 and stride and sources[-1] is None:
            return None
    used = [s for s in sources if s is not None]
    if len(used) != len(set(used)) or min(wanted.shape, default=1) == 0:
        return None
    starts = _starts(written, wanted.offset - written.offset)
    return None if starts is None else _cut(builder, value, written, wanted, sources, starts)


def _source(strides: dict[int, int], written: TensorRef, stride: int, extent: int) -> int | None:
    """The written dimension that a wanted one walks along: the coarsest whose stride divides its own."""
    if extent == 1 or stride <= 0:  # one that walks back is no slice
        return None
    fits = [(s, d) for s, d in strides.items() if stride % s == 0 and stride // s * (extent - 1) < written.shape[d]]
    return max(fits, default=(0, None))[1]


def _starts(written: TensorRef, offset: int) -> list[int] | None:
    """The multi-index of the element at ``offset``, for a nested layout (each stride beyond the reach of the finer)."""
    starts = [0] * len(written.shape)
    for d in sorted(range(len(starts)), key=lambda d: -written.strides[d]):
        if written.shape[d] > 1:
            starts[d] = min(max(0, offset) // written.strides[d], written.shape[d] - 1)
            offset -= starts[d] * written.strides[d]
    return None if offset else starts


def _cut(builder: Builder, value: Value, written: TensorRef, wanted: TensorRef, sources: list[int | None],
         starts: list[int]) -> Value | None:  # fmt: skip
    limit, step = [s + 1 for s in starts], [1] * len(starts)
    for source, stride, extent in zip(sources, wanted.strides, wanted.shape, strict=True):
        if source is not None:
            step[source] = stride // written.strides[source]
            limit[source] = starts[source] + step[source] * (extent - 1) + 1
            if limit[source] > written.shape[source]:
                return None
    if starts != [0] * len(starts) or limit != list(written.shape) or max(step, default=1) > 1:
        value = builder("slice", value, start=tuple(starts), limit=tuple(limit), step=tuple(step))
    return _arranged(builder, value, wanted, sources)


def _arranged(builder: Builder, value: Value, wanted: TensorRef, sources: list[int | None]) -> Value:
    """Dimensions in the wanted order, those of extent 1 put in or dropped, then repetition."""
    used = [s for s in sources if s is not None]
    kept = sorted(used)
    value = builder.reshape(value, [value.type.shape[s] for s in kept])
    perm = tuple(kept.index(s) for s in used)
    value = value if list(perm) == sorted(perm) else builder("transpose", value, perm=perm)
    places = [d for d, s in enumerate(sources) if s is not None]
    if all(s is not None or n == 1 for s, n in zip(sources, wanted.shape, strict=True)):
        return builder.reshape(value, wanted.shape)
    return builder.broadcast(value, wanted.shape, places)


def _dense(ref: TensorRef) -> bool:
    """Row-major without gaps."""
    stride = 1
    for extent, given in zip(reversed(ref.shape), reversed(ref.strides), strict=True):
        if extent > 1 and given != stride:
            return False
        stride *= extent
    return True


def _size(ref: TensorRef) -> int:
    return math.prod(ref.shape)
