"""Evaluator handlers of the structure ops: lanes move alike under every interpretation."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from equivalence.evaluator import structure
from equivalence.evaluator.frame import Frame
from equivalence.evaluator.lanes import INTEGER_DATA, Lanes, joined
from equivalence.evaluator.machine import Machine, any_value, handles
from lowering.errors import Unsupported
from lowering.ir.program import Op
from lowering.ir.types import BOOL, dtype


@handles("constant")
def constant(m: Machine, frame: Frame, op: Op, _: list[Lanes]) -> Sequence[Lanes]:
    dt, shape, value = dtype(op.attrs["to"]), tuple(op.attrs["shape"]), op.attrs["value"]
    data = value[None] if isinstance(value, np.ndarray) else _splat(value, dt.numpy, len(shape))
    return [m.literal(data, dt, shape)]


def _splat(value: float | int, storage: np.dtype, rank: int) -> np.ndarray:
    with np.errstate(all="ignore"):
        if storage.kind in "iu":
            bits = 8 * storage.itemsize
            unsigned = np.array(int(value) % (1 << bits), f"u{storage.itemsize}")
            return unsigned.view(storage).reshape((1,) * (rank + 1))
        return np.full((1,) * (rank + 1), value).astype(storage)


@handles("iota")
def iota(m: Machine, frame: Frame, op: Op, _: list[Lanes]) -> Sequence[Lanes]:
    shape, axis = tuple(op.attrs["shape"]), op.attrs["axis"]
    extents = [1] * (len(shape) + 1)
    extents[axis + 1] = shape[axis]
    data = (np.arange(shape[axis], dtype=np.int64) + op.attrs["start"]).reshape(extents)
    return [m.literal(data, dtype(op.attrs["to"]), shape)]


@handles("undefined")
def undefined(m: Machine, frame: Frame, op: Op, _: list[Lanes]) -> Sequence[Lanes]:
    return [m.undefined(dtype(op.attrs["to"]), tuple(op.attrs["shape"]), frame.batch)]


@handles("broadcast")
def broadcast(m: Machine, frame: Frame, op: Op, x: list[Lanes]) -> Sequence[Lanes]:
    shape, dims = tuple(op.attrs["shape"]), op.attrs["dims"]
    return [x[0].map(lambda a: structure.broadcast(a, dims, len(shape)), shape)]


@handles("reshape")
def reshape(m: Machine, frame: Frame, op: Op, x: list[Lanes]) -> Sequence[Lanes]:
    shape = tuple(op.attrs["shape"])
    return [x[0].map(lambda a: structure.reshape(a, x[0].shape, shape), shape)]


@handles("reorder")
def reorder(m: Machine, frame: Frame, op: Op, x: list[Lanes]) -> Sequence[Lanes]:
    """Each lane may be any of them: two sources go on alike only if they are one and the same (kind 'host')."""
    what = "the source leaves the order of lanes open (can_reorder=True); row-major order was taken"
    bit = m.freedoms.bit("host", m.site(frame, op).key, what, op.span)
    lanes = m.lift(x[0])
    return [lanes.replace(freedoms=lanes.freedoms | bit, taint=max(lanes.taint, INTEGER_DATA))]


@handles("transpose")
def transpose(m: Machine, frame: Frame, op: Op, x: list[Lanes]) -> Sequence[Lanes]:
    return [x[0].map(lambda a: structure.transpose(a, op.attrs["perm"]), op.result.type.shape)]


@handles("slice")
def slice_(m: Machine, frame: Frame, op: Op, x: list[Lanes]) -> Sequence[Lanes]:
    bounds = op.attrs["start"], op.attrs["limit"], op.attrs["step"]
    return [x[0].map(lambda a: structure.slice_(a, x[0].shape, *bounds), op.result.type.shape)]


@handles("reverse")
def reverse(m: Machine, frame: Frame, op: Op, x: list[Lanes]) -> Sequence[Lanes]:
    return [x[0].map(lambda a: structure.reverse(a, op.attrs["axes"]))]


@handles("pad")
def pad(m: Machine, frame: Frame, op: Op, x: list[Lanes]) -> Sequence[Lanes]:
    parts, shape = levelled(m, x), op.result.type.shape
    low, interior = op.attrs["low"], op.attrs["interior"]
    if shape == x[0].shape and not any(low) and not any(interior):
        return [x[0]]
    return [joined(parts, lambda a: structure.pad(a[0], a[1], x[0].shape, low, interior, shape), shape)]


@handles("concat")
def concat(m: Machine, frame: Frame, op: Op, x: list[Lanes]) -> Sequence[Lanes]:
    shapes = [a.shape for a in x]
    axis = op.attrs["axis"]
    return [joined(levelled(m, x), lambda a: structure.concat(a, shapes, axis), op.result.type.shape)]


def levelled(m: Machine, parts: Sequence[Lanes]) -> list[Lanes]:
    """All with planes, or all without."""
    if all(p.planes is None for p in parts):
        return list(parts)
    return [m.lift(p) for p in parts]


@handles("gather")
def gather(m: Machine, frame: Frame, op: Op, x: list[Lanes]) -> Sequence[Lanes]:
    source, indices = x[0], x[1:]
    for index in indices:
        m.observe(index, op.span, f"gather {op.attrs['mode']}", [source])
        m.chosen_from(index, source)
    if not indices:
        return [source]
    arrays = [i.data.astype(np.int64) for i in indices]
    inside = np.ones((1,) * arrays[0].ndim, bool)
    clipped = []
    for index, extent in zip(arrays, source.shape, strict=True):
        inside = inside & (index >= 0) & (index < extent)
        clipped.append(np.clip(index, 0, max(0, extent - 1)))
    shape = op.result.type.shape
    position = structure.flat_index(clipped, source.shape)
    taken = source.map(lambda a: structure.take(a, source.shape, position), shape)
    if op.attrs["mode"] == "clamp" or inside.all():
        return [taken]
    return [m.merge(Lanes(BOOL, shape, inside), m.lift(taken), m.undefined(taken.dtype, shape))]


def _starts(m: Machine, op: Op, x: Sequence[Lanes], starts: Sequence[Lanes], window: Sequence[int]) -> list[int]:
    """Clamped so that the window fits; starts are uniform scalars outside of launches."""
    shape = x[0].shape
    for start in starts:
        m.observe(start, op.span, op.name, x)
        if (start.data != any_value(start)).any():
            raise Unsupported(f"a {op.name} at another place in each program instance", op.span)
    return [
        int(min(max(int(any_value(s)), 0), extent - size))
        for s, extent, size in zip(starts, shape, window, strict=True)
    ]


@handles("dynamic_slice")
def dynamic_slice(m: Machine, frame: Frame, op: Op, x: list[Lanes]) -> Sequence[Lanes]:
    window = tuple(op.attrs["shape"])
    for chosen in x[1:]:
        m.chosen_from(chosen, x[0])
    start = _starts(m, op, x[:1], x[1:], window)
    limit = [s + w for s, w in zip(start, window, strict=True)]
    return [x[0].map(lambda a: structure.slice_(a, x[0].shape, start, limit, [1] * len(window)), window)]


@handles("dynamic_update_slice")
def dynamic_update_slice(m: Machine, frame: Frame, op: Op, x: list[Lanes]) -> Sequence[Lanes]:
    base, update = levelled(m, x[:2])
    start = _starts(m, op, x[:2], x[2:], update.shape)
    if update.shape == base.shape:
        return [update]
    window = (slice(None), *(slice(s, s + w) for s, w in zip(start, update.shape, strict=True)))

    def write(arrays: list[np.ndarray]) -> np.ndarray:
        result = np.array(np.broadcast_to(arrays[0], (max(a.shape[0] for a in arrays), *base.shape)))
        result[window] = arrays[1]
        return result

    return [joined([base, update], write, base.shape)]


@handles("addptr")
def addptr(m: Machine, frame: Frame, op: Op, x: list[Lanes]) -> Sequence[Lanes]:
    data = x[0].data + x[1].data.astype(np.int64) * np.int64(op.attrs["bytes"])
    taint = max(a.taint for a in x)
    for a in x:
        m.observe(a, op.span, lanes=np.zeros((1,), bool))  # which lanes count is known where they are read
    poison = [p for p in ((a.planes or {}).get("poison") for a in x) if p is not None and p.any()]
    planes = None
    if poison:
        planes = m.lift(Lanes(op.result.type.dtype, op.result.type.shape, data)).planes
        planes = {**(planes or {}), "poison": np.bitwise_or.reduce(np.broadcast_arrays(*poison))}
    return [Lanes(op.result.type.dtype, op.result.type.shape, data, planes, taint=taint)]


@handles("random")
def random(m: Machine, frame: Frame, op: Op, _: list[Lanes]) -> Sequence[Lanes]:
    dt, shape = dtype(op.attrs["to"]), tuple(op.attrs["shape"])
    m.draw_number += 1
    stream = op.attrs["stream"]  # a large number names one draw; else draws are told apart by their order
    number = 0 if stream >> 32 else m.draw_number
    name = f"random {op.attrs['dist']} {stream} draw {number}"
    m.event("random-stream", f"a {op.attrs['dist']} draw whose stream nothing specifies", op.span)
    rng = np.random.default_rng([number, stream, *shape])
    data = rng.standard_normal(shape) if "normal" in op.attrs["dist"] else rng.random(shape)
    return [m.input(name, data.astype(dt.numpy), dt, shape)]
