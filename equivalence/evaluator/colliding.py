"""Accumulates many lanes into elements that several of them may hit: atomics and scatter.

The order among colliding lanes is racing (or open): one legal order is evaluated, and floats carry the freedom.
"""

from __future__ import annotations

import numpy as np

from equivalence.evaluator import any_order
from equivalence.evaluator.buffers import Access
from equivalence.evaluator.frame import Frame
from equivalence.evaluator.lanes import Lanes
from equivalence.evaluator.machine import Machine
from lowering.errors import Span
from lowering.ir.program import Op, Value
from lowering.ir.types import DType, TensorType

_ATTRS = {"add": {"rounding": "rne"}, "mul": {"rounding": "rne"}, "max": {"nan": "number"}, "min": {"nan": "number"}}


#: Combiners of integers that do the same to the bits of signed and of unsigned ones.
_OF_BITS = frozenset({"add", "and", "or", "xor"})


def reinterpret(m: Machine, frame: Frame, lanes: Lanes, to: DType, span: Span) -> Lanes:
    """The same bits as ``to``."""
    if lanes.dtype is to:
        return lanes
    op = Op("bitcast", [], [Value("", TensorType(to, lanes.shape))], {"to": to.name}, [], span)
    return m.primitive(frame, op, [lanes])


def combining_dtype(given: DType, stored: DType, combine: str) -> DType:
    """The dtype to combine in: the operation's own, or the buffer's where that is the same on the bits."""
    same = combine == "exchange" or (combine in _OF_BITS and given.is_integer and stored.is_integer)
    return stored if same else given


def accumulate(m: Machine, frame: Frame, op: Op, access: Access, value: Lanes, combine: str, old: Lanes) -> Lanes:
    """memory = combine(memory, value) for the lanes inside; ``old`` with the lanes inside replaced by what they saw."""
    position = access.position[access.inside]
    if not position.size:
        return old
    full = value.map(lambda a: np.broadcast_to(a, access.inside.shape)[access.inside][None], (position.size,))
    seen = _in_some_order(m, frame, op, access, position, full, combine)
    seen = m.lift(reinterpret(m, frame, seen, old.dtype, op.span))

    def put(target: np.ndarray, source: np.ndarray) -> np.ndarray:
        result = np.array(np.broadcast_to(target, access.inside.shape))
        result[access.inside] = source.reshape(-1)
        return result

    assert old.planes is not None and seen.planes is not None
    planes = {name: put(old.planes[name], seen.planes[name]) for name in old.planes}
    return old.replace(data=put(old.data, seen.data), planes=planes, freedoms=old.freedoms | seen.freedoms)


def _in_some_order(
    m: Machine, frame: Frame, op: Op, access: Access, position: np.ndarray, value: Lanes, combine: str
) -> Lanes:
    """``rounds``, with the lanes of a float sum in the order that the limits name, where they name one."""
    if m.limits.backward == "sets" and op.name == "scatter" and op.attrs.get("order") != "sequential":
        return _placed(m, frame, op, access, position, value, combine, np.arange(position.size)[::-1])
    order = m.limits.summation
    fixed = op.attrs.get("order", "racing") == "sequential" or combine not in ("add", "mul")
    if order is None or fixed or not value.dtype.is_float:
        return rounds(m, frame, op, access, position, value, combine)
    return _placed(m, frame, op, access, position, value, combine, order.places(position.size))


def _placed(
    m: Machine, frame: Frame, op: Op, access: Access, position: np.ndarray, value: Lanes, combine: str,
    places: np.ndarray,
) -> Lanes:  # fmt: skip
    """``rounds`` of the lanes in the order of ``places``."""
    moved = value.map(lambda a: a[:, places])
    seen = rounds(m, frame, op, access, position[places], moved, combine)
    back = np.argsort(places)
    return seen.map(lambda a: np.broadcast_to(a, (a.shape[0], position.size))[:, back])


def occurrence(position: np.ndarray) -> np.ndarray:
    """For each lane, how many earlier lanes hit the same element."""
    order = np.argsort(position, kind="stable")
    ordered = position[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
    rank = np.arange(position.size) - np.repeat(starts, np.diff(np.r_[starts, position.size]))
    result = np.empty_like(rank)
    result[order] = rank
    return result


def rounds(m: Machine, frame: Frame, op: Op, access: Access, position: np.ndarray, value: Lanes, combine: str) -> Lanes:
    """The n-th lane to hit an element goes in round n; returns what each lane saw before its update."""
    turn = occurrence(position)
    number = int(turn.max()) + 1
    freedom = _freedom(m, frame, op, value, combine, number)
    seen: Lanes | None = None
    size, terms = position.size, (position, value)
    open_sum = combine == "add" and value.dtype.is_float and op.attrs.get("order", "racing") != "sequential"
    start = any_order.before(m, access.buffer, position, value) if open_sum else None
    halved = number > 64 and combine in _ATTRS and not any(id(v) in m.used for v in op.results)
    if halved:
        position, value, turn = _halved(m, frame, op, position, value, combine)
        number = 1
    for n in range(number):
        lanes = turn == n
        spot = Access(access.buffer, position[lanes][None], np.ones((1, int(lanes.sum())), bool))
        here = value.map(lambda a, pick=lanes: a[:, pick], (int(lanes.sum()),))
        before = m.memory.gather(spot, value.dtype, op.span)
        stored, before = before.dtype, m.lift(reinterpret(m, frame, before, value.dtype, op.span))
        after = here if combine in ("exchange", "set") else _combine(m, frame, op, before, here, combine)
        after = reinterpret(m, frame, after, stored, op.span)
        m.memory.scatter(spot, m.lift(after.replace(freedoms=after.freedoms | freedom)), op.span, None)
        before = m.lift(before.replace(freedoms=before.freedoms | freedom))
        seen = before if number == 1 else _spread(seen, before, lanes, position.size)
    if start is not None:
        any_order.after(m, access.buffer, *terms, start)
    assert seen is not None
    return m.undefined(value.dtype, (size,)) if halved else seen


def _spread(seen: Lanes | None, part: Lanes, lanes: np.ndarray, size: int) -> Lanes:
    def put(source: np.ndarray, target: np.ndarray | None) -> np.ndarray:
        result = np.zeros((1, size), source.dtype) if target is None else target
        result[:, lanes] = source
        return result

    assert part.planes is not None
    old = seen.planes if seen is not None and seen.planes is not None else dict.fromkeys(part.planes)
    planes = {name: put(plane, old[name]) for name, plane in part.planes.items()}
    return part.replace(data=put(part.data, seen.data if seen else None), planes=planes, shape=(size,), literal=1)


def _combine(m: Machine, frame: Frame, op: Op, a: Lanes, b: Lanes, combine: str) -> Lanes:
    attrs = dict(_ATTRS.get(combine, {}))
    if "nan" in op.attrs and combine in ("max", "min"):
        attrs["nan"] = op.attrs["nan"]
    step = Op(combine, [], [Value("", TensorType(b.dtype, b.shape))], attrs, [], op.span)
    return m.primitive(frame, step, [a.replace(product=False), b.replace(product=False)])


def _halved(
    m: Machine, frame: Frame, op: Op, position: np.ndarray, value: Lanes, combine: str
) -> tuple[np.ndarray, Lanes, np.ndarray]:
    """Lanes of one element combined pairwise until one is left: a tree, legal since the order is open."""
    order = np.argsort(position, kind="stable")
    position, value = position[order], value.map(lambda a: a[:, order])
    while True:
        turn = occurrence(position)
        partner = np.flatnonzero(turn % 2 == 1)
        if not partner.size:
            return position, value, turn
        left, right = (value.map(lambda a, at=at: a[:, at], (at.size,)) for at in (partner - 1, partner))
        merged = m.lift(_combine(m, frame, op, left, right, combine))
        keep = np.setdiff1d(np.arange(position.size), partner)
        slot = np.searchsorted(keep, partner - 1)

        def fold(a: np.ndarray, b: np.ndarray, keep: np.ndarray = keep, slot: np.ndarray = slot) -> np.ndarray:
            result = a[:, keep]
            result[:, slot] = b
            return result

        assert value.planes is not None and merged.planes is not None
        planes = {name: fold(plane, merged.planes[name]) for name, plane in value.planes.items()}
        value = value.replace(
            data=fold(value.data, merged.data),
            planes=planes,
            shape=(keep.size,),
            freedoms=value.freedoms | merged.freedoms,
        )
        position = position[keep]


def _freedom(m: Machine, frame: Frame, op: Op, value: Lanes, combine: str, number: int) -> int:
    """Floats in a racing order; extrema and integer sums do not depend on it; the last of several writes does."""
    if op.name == "scatter" and (number == 1 or op.attrs.get("order") == "sequential"):
        return 0
    if combine not in ("exchange", "set") and not value.dtype.is_float:
        return 0
    kind = "racing" if op.attrs.get("order", "racing") == "racing" or combine in ("exchange", "set") else "order"
    if combine == "exchange" and number > 1 and not m.locks:
        kind = "race"  # who comes last leaves its value
    return m.freedoms.bit(kind, m.site(frame, op).key, f"the order of colliding {combine}s", op.span)
