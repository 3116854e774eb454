"""Evaluator handlers of memory: host views, kernel loads and stores, atomics.

Active lanes only; a masked-off lane without `other`, and any lane out of bounds, is a fresh undefined lane.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from equivalence.evaluator.buffers import Access
from equivalence.evaluator.colliding import accumulate, combining_dtype, reinterpret
from equivalence.evaluator.frame import Frame
from equivalence.evaluator.lanes import FLOAT_DATA, INDEX, Lanes
from equivalence.evaluator.machine import Machine, any_value, handles
from equivalence.evaluator.memory import row_major
from lowering.errors import Unsupported
from lowering.ir.program import Op
from lowering.ir.types import BOOL, DType, dtype


@handles("alloc")
def alloc(m: Machine, frame: Frame, op: Op, _: list[Lanes]) -> Sequence[Lanes]:
    base = m.memory.alloc(op.attrs["bytes"], op.attrs["name"] or "a buffer")
    return [Lanes(op.result.type.dtype, (), np.array([base], np.int64))]


@handles("read")
def read(m: Machine, frame: Frame, op: Op, x: list[Lanes]) -> Sequence[Lanes]:
    dt = dtype(op.attrs["to"])
    buffer = m.memory.at(int(any_value(x[0])), op.span)
    lanes = m.memory.read(buffer, dt, op.attrs["shape"], op.attrs["strides"], op.attrs["offset"])
    return [reinterpret(m, frame, settled(lanes), dt, op.span)]


@handles("write")
def write(m: Machine, frame: Frame, op: Op, x: list[Lanes]) -> Sequence[Lanes]:
    if 0 in x[1].shape:
        return []
    buffer = m.memory.at(int(any_value(x[0])), op.span)
    whole = x[1].data.size and int(np.prod(x[1].shape)) * x[1].dtype.nbytes == buffer.nbytes
    if whole and buffer.cells is not None and buffer.cells.dtype is not x[1].dtype:
        buffer.cells, buffer.written = None, False  # entirely overwritten: the old element type is forgotten
    if whole and buffer.cells is None and row_major(x[1].shape, op.attrs["strides"]) and not op.attrs["offset"]:
        m.memory.adopt(buffer, m.lift(x[1]))
        return []
    stored = m.memory.stored_dtype(buffer, x[1].dtype, op.span)
    value = m.lift(reinterpret(m, frame, x[1], stored, op.span))
    m.memory.write(buffer, value, op.attrs["strides"], op.attrs["offset"])
    return []


def settled(lanes: Lanes) -> Lanes:
    """Loaded lanes: index integers are concrete again, unless some are undefined."""
    assert lanes.planes is not None
    poison = lanes.planes.get("poison")
    if poison is not None and poison.any():
        return lanes.replace(taint=FLOAT_DATA)
    if poison is not None and poison.size > 1:
        lanes = lanes.replace(planes={**lanes.planes, "poison": poison[(slice(0, 1),) * poison.ndim]})
    return lanes.replace(planes=None) if lanes.taint == INDEX and not lanes.dtype.is_float else lanes


def _full(frame: Frame, parts: Sequence[np.ndarray], shape: tuple[int, ...]) -> list[np.ndarray]:
    batch = max(p.shape[0] for p in parts)
    return [np.broadcast_to(p, (batch, *shape)) for p in parts]


def _active(frame: Frame, x: Sequence[Lanes], mask: Lanes | None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(addresses, wanted lanes, wanted lanes of running instances) at full extents."""
    shape = x[0].shape
    parts = [x[0].data]
    parts.append(np.ones((1,) * (len(shape) + 1), bool) if mask is None else mask.data)
    if frame.active is not None:
        parts.append(frame.active.reshape(-1, *([1] * len(shape))))
    address, wanted, *running = _full(frame, parts, shape)
    return address, wanted, wanted & running[0] if running else wanted


@handles("load")
def load(m: Machine, frame: Frame, op: Op, x: list[Lanes]) -> Sequence[Lanes]:
    mask, other = (x[1] if len(x) > 1 else None), (x[2] if len(x) > 2 else None)
    dt, shape = dtype(op.attrs["to"]), x[0].shape
    address, wanted, active = _active(frame, x, mask)
    if mask is not None:
        m.observe(mask, op.span)
    m.observe(x[0].replace(taint=INDEX), op.span, lanes=active)
    if any(followed.taint == FLOAT_DATA for followed in x[:2]):
        m.beside("load", [*_touched(m, address), *([other] if other is not None else [])])
        for source in _touched(m, address) if x[0].taint == FLOAT_DATA else []:
            m.chosen_from(x[0], source)
    value, got = _loaded(m, frame, op, dt, address, active)
    if got is not None and got.all():
        return [value] if value is not None else [m.undefined(dt, shape, frame.batch)]
    if value is None:
        value, got = _masked(m, op, dt, shape, other, address.shape[0]), np.ones((1,), bool)
        return [value]
    assert got is not None
    if (active & ~got).any():
        m.event("out-of-bounds", f"a lane reads outside {_name(m, address, active & ~got)}", op.span)
        value = m.merge(Lanes(BOOL, shape, got | ~active), m.lift(value), m.undefined(dt, shape, address.shape[0]))
    if wanted.all():
        return [value]
    return [
        m.merge(Lanes(BOOL, shape, wanted), m.lift(value), m.lift(_masked(m, op, dt, shape, other, address.shape[0])))
    ]


def _touched(m: Machine, address: np.ndarray) -> list[Lanes]:
    """The contents of the buffers that addresses point into: data may choose other elements of them."""
    buffers = [m.memory.buffers.get(int(n)) for n in np.unique(address >> 40)]
    return [b.cells for b in buffers if b is not None and b.cells is not None]


def _masked(m: Machine, op: Op, dt: DType, shape: tuple[int, ...], other: Lanes | None, batch: int) -> Lanes:
    """What masked-off lanes hold."""
    if other is not None:
        return other
    if m.limits.masked_load_is_zero:
        m.event("masked-load-without-other", "masked-off lanes are 0 on this target only", op.span)
        return m.literal(np.zeros((1,) * (len(shape) + 1)), dt, shape)
    return m.undefined(dt, shape, batch)


def _name(m: Machine, address: np.ndarray, lanes: np.ndarray) -> str:
    buffer = m.memory.buffers.get(int(address[lanes][0]) >> 40)
    return buffer.name if buffer else "every buffer"


def _loaded(
    m: Machine, frame: Frame, op: Op, dt: DType, address: np.ndarray, active: np.ndarray
) -> tuple[Lanes | None, np.ndarray | None]:
    """(lanes as read, which of them are good); (None, None) when no lane is active."""
    value: Lanes | None = None
    got: np.ndarray | None = None
    for access in m.memory.resolve(address, active, dt, op.span):
        if m.memory.visits.foreign(access, frame.instance):
            m.race(f"{access.buffer.name} is read after another instance of the launch wrote it", op.span)
        m.memory.visits.note_read(access, frame.instance)
        _unfenced(m, frame, access, op, atomic=False)
        if frame.instance is not None and access.buffer.number in m.memory.visits.watched and access.buffer.cells:
            m.memory.fences.reads(access, frame.instance)
        lanes = m.memory.gather(access, m.memory.stored_dtype(access.buffer, dt, op.span), op.span)
        lanes = reinterpret(m, frame, settled(lanes), dt, op.span)
        if value is None or got is None:
            value, got = lanes, access.inside
        else:
            value = m.merge(Lanes(BOOL, lanes.shape, access.inside), m.lift(lanes), m.lift(value))
            got = got | access.inside
    return value, got


def _unfenced(m: Machine, frame: Frame, access: Access, op: Op, atomic: bool) -> None:
    """A lane reads what another lane of its program instance wrote: without a barrier either may come first."""
    if frame.instance is not None and m.memory.fences.reads_across(access, frame.instance, atomic):
        what = f"{access.buffer.name} is read by another lane than wrote it, with no barrier between"
        m.event("race", what, op.span)
        m.followed |= m.freedoms.bit("race", f"{what} {op.span}", what, op.span)


@handles("store")
def store(m: Machine, frame: Frame, op: Op, x: list[Lanes]) -> Sequence[Lanes]:
    mask = x[2] if len(x) > 2 else None
    address, _, active = _active(frame, [x[0]], mask)
    for followed, lanes in zip((x[0], *x[2:]), (active, None)):
        m.observe(followed, op.span, lanes=lanes)
    if any(followed.taint == FLOAT_DATA for followed in (x[0], *x[2:])):
        m.beside("store", [x[1], *_touched(m, address)])
    if address.shape[0] < frame.batch and x[1].batch > 1:
        address, active = (np.broadcast_to(a, (frame.batch, *x[0].shape)) for a in (address, active))
    for access in m.memory.resolve(address, active, x[1].dtype, op.span):
        _store(m, frame, op, access, x[1], active)
    return []


def _store(m: Machine, frame: Frame, op: Op, access: Access, value: Lanes, active: np.ndarray) -> None:
    if not access.buffer.written and int(access.inside.sum()) * value.dtype.nbytes == 0 and not active.any():
        return
    _bounded(m, access, op)
    stored = m.memory.stored_dtype(access.buffer, value.dtype, op.span)
    value = m.lift(reinterpret(m, frame, value, stored, op.span))
    instance = frame.instance if frame.instance is None or access.inside.shape[0] > 1 else frame.instance[:1]
    if m.memory.visits.mixed(access, instance, "store"):
        m.race(f"an element of {access.buffer.name} is stored by one instance and updated by another", op.span)
    if m.memory.scatter(access, value, op.span, instance):
        m.race(
            f"an element of {access.buffer.name} is touched by two lanes, one of which writes another value", op.span
        )


def _bounded(m: Machine, access: Access, op: Op) -> None:
    if access.strays:
        m.event("out-of-bounds", f"a lane writes outside {access.buffer.name}", op.span, "error")


@handles("atomic_rmw")
def atomic_rmw(m: Machine, frame: Frame, op: Op, x: list[Lanes]) -> Sequence[Lanes]:
    mask = x[2] if len(x) > 2 else None
    address, _, active = _active(frame, [x[0]], mask)
    for followed, lanes in zip((x[0], *x[2:]), (active, None)):
        m.observe(followed, op.span, lanes=lanes)
    # Instances add once each, even where everything about them is uniform.
    address, active = (np.broadcast_to(a, (frame.batch, *x[0].shape)) for a in (address, active))
    if any(followed.taint == FLOAT_DATA for followed in (x[0], *x[2:])):
        m.beside("atomic", [x[1], *_touched(m, address)])
    old = m.undefined(x[1].dtype, x[0].shape, frame.batch)
    for access in m.memory.resolve(address, active, x[1].dtype, op.span):
        _bounded(m, access, op)
        stored = m.memory.stored_dtype(access.buffer, x[1].dtype, op.span)
        own = combining_dtype(x[1].dtype, stored, op.attrs["combine"])
        value = m.lift(reinterpret(m, frame, x[1], own, op.span))
        if frame.instance is not None and access.buffer.number in m.memory.visits.watched:
            _unfenced(m, frame, access, op, atomic=True)
            m.memory.fences.write(access, frame.instance, atomic=True)
        _ordered(m, frame, access, op)
        collided = m.memory.visits.stamped(access, frame.instance)
        position = access.position[access.inside]
        several = collided is not None or np.unique(position).size < position.size
        old = accumulate(m, frame, op, access, value, op.attrs["combine"], old)
        if several and any(id(v) in m.used for v in op.results):
            kind = "racing" if m.locks else "race"
            bit = m.freedoms.bit(kind, f"old {op.span}", "what an atomic operation finds", op.span)
            old = old.replace(freedoms=old.freedoms | bit)
    return [old]


def _ordered(m: Machine, frame: Frame, access: Access, op: Op) -> None:
    """Races that an atomic update is part of: with a plain load or store of another instance, or another combiner's."""
    visits, name, combine = m.memory.visits, access.buffer.name, op.attrs["combine"]
    read = visits.read_by_others(access, frame.instance)
    if read is not None and read.any():
        m.race(f"an element of {name} is read by one instance and updated by another", op.span)
    alone = combine != "exchange" or m.locks
    if visits.mixed(access, frame.instance, combine, commutes=alone):
        what = "is changed in two ways by several instances, one of them atomic" if alone else "is exchanged by several"
        m.race(f"an element of {name} {what}", op.span)


@handles("atomic_cas")
def atomic_cas(m: Machine, frame: Frame, op: Op, x: list[Lanes]) -> Sequence[Lanes]:
    """One lane at a time, in program order."""
    address, _, active = _active(frame, x[:1], None)
    out = np.zeros(address.shape, x[1].dtype.numpy)
    compare, value = (np.broadcast_to(a.data, address.shape) for a in x[1:3])
    for access in m.memory.resolve(address, active, x[1].dtype, op.span):
        _bounded(m, access, op)
        cells = m.memory.cells(access.buffer, x[1].dtype, op.span)
        if max(cells.taint, x[1].taint, x[2].taint) != INDEX:
            raise Unsupported(
                "a compare-and-swap on data", op.span, "only locks that start from a constant are modelled"
            )
        m.race(f"compare-and-swap on {access.buffer.name}: program order was assumed", op.span)
        for lane in zip(*np.nonzero(access.inside), strict=True):
            place = access.position[lane]
            out[lane] = cells.data.reshape(-1)[place]
            if out[lane] == compare[lane]:
                one = m.lift(Lanes(x[1].dtype, (), np.array([value[lane]])))
                spot = Access(access.buffer, np.array([place]), np.array([True]))
                m.memory.scatter(spot, one, op.span, None)
                cells = m.memory.cells(access.buffer, x[1].dtype, op.span)
    return [Lanes(x[1].dtype, x[0].shape, out)]


@handles("barrier")
def barrier(m: Machine, frame: Frame, op: Op, _: list[Lanes]) -> Sequence[Lanes]:
    if frame.instance is not None:
        m.memory.fences.barrier(frame.instance, frame.active)
    return []


@handles("promise")
def promise(m: Machine, frame: Frame, op: Op, x: list[Lanes]) -> Sequence[Lanes]:
    """A finding where the condition is false in an instance that runs; floats are others on other inputs, no matter."""
    held = x[0].data.reshape(len(x[0].data), -1).all(axis=1)
    broken = ~held if frame.active is None else ~held & frame.active
    if x[0].taint != FLOAT_DATA and broken.any():
        code, said = ("false-promise", "is not so") if op.attrs["kind"] == "promise" else ("assert-fails", "fails")
        m.event(code, f"{op.attrs['what']} {said} here", op.span)
    return []
