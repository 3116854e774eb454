"""Evaluator handlers of the ops that combine lanes: reduce, scan, dot, sort, scatter.

A named combiner goes to the interpretations whole; a region is run as a left fold (of blocks where it is long), the
same on both sides, or as a tree (Limits.tree), which a combiner that is associative does not tell from it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from equivalence.evaluator import structure
from equivalence.evaluator.buffers import Access, Buffer
from equivalence.evaluator.colliding import accumulate
from equivalence.evaluator.frame import Frame
from equivalence.evaluator.lanes import FLOAT_DATA, INDEX, Lanes, joined, union
from equivalence.evaluator.machine import Machine, handles
from equivalence.evaluator.structure_ops import levelled
from equivalence.evaluator.tied import Rows, spared
from equivalence.interpretations import ieee, summation
from lowering.errors import Unsupported
from lowering.ir.program import Op, Value

LONG, BLOCK = 16, 8  # a left fold of more lanes than LONG is one of blocks, where the order is open


def full_axis(lanes: Lanes, axis: int) -> Lanes:
    """The same lanes with ``axis`` at its full extent in every array."""
    return lanes.map(lambda a: structure.materialise(a, lanes.shape, [axis]))


def open_order(m: Machine, frame: Frame, op: Op, out: Lanes, extent: int) -> int:
    """The freedom of an accumulation in an open order; integers have none."""
    if extent <= 1 or not out.dtype.is_float or op.attrs["order"] in ("sequential", "pairwise"):
        return 0
    site = m.site(frame, op)
    combine = op.attrs.get("combine", "add")
    inside = "one pass of the PE" if op.attrs.get("impl") == "nki" else "one dot"
    what = f"the order of {extent} {'products added inside ' + inside if op.name == 'dot' else combine + ' terms'}"
    if combine in ("max", "min"):
        what += " (which only the sign of a zero can show)"
    return m.freedoms.bit("order", site.key, what, op.span)


@handles("reduce")
def reduce(m: Machine, frame: Frame, op: Op, x: list[Lanes]) -> Sequence[Lanes]:
    axis, combine = op.attrs["axis"], op.attrs["combine"]
    x = [full_axis(a, axis) for a in levelled(m, x)]
    if combine == "region":
        return _fold_region(m, frame, op, x, axis)
    if x[0].shape[axis] == 0:
        raise Unsupported(f"a {combine} over no elements", op.span)
    if combine in ("argmax", "argmin"):
        return _extreme_pair(m, frame, op, x, axis)
    if op.attrs["order"] == "sequential" and combine in ("add", "mul"):
        return [_left_fold(m, frame, op, x[0], axis)]
    result = op.result.type
    data = summation.reduce(m.limits.summation, op.attrs, result.dtype, x[0].data, axis + 1)
    return [_accumulated(m, frame, op, data, x, x[0].shape[axis])]


def _accumulated(m: Machine, frame: Frame, op: Op, data: np.ndarray, x: Sequence[Lanes], extent: int) -> Lanes:
    result = op.result.type
    out = Lanes(result.dtype, result.shape, data, None, taint=max(a.taint for a in x))
    if out.taint == INDEX and all(a.planes is None for a in x):
        return out
    out = m.interpreted(frame, op, out, x)
    return out.replace(freedoms=out.freedoms | open_order(m, frame, op, out, extent))


def _pick(x: Lanes, axis: int, position: int) -> Lanes:
    shape = x.shape[:axis] + x.shape[axis + 1 :]
    return x.map(lambda a: a.take(position, axis=axis + 1), shape)


def _left_fold(m: Machine, frame: Frame, op: Op, x: Lanes, axis: int) -> Lanes:
    """A specified order is a chain of ordinary operations."""
    total = _pick(x, axis, 0)
    for position in range(1, x.shape[axis]):
        step = Op(op.attrs["combine"], [], [Value("", op.result.type)], {"rounding": "rne"}, [], op.span)
        total = m.primitive(frame, step, [total, _pick(x, axis, position)])
    return total


def _run_region(m: Machine, frame: Frame, op: Op, arguments: Sequence[Lanes]) -> list[Lanes]:
    """One step of a scalar region on all lanes at once: lanes become instances while it runs."""
    region, shape = op.regions[0], arguments[0].shape
    batch = max(a.batch for a in arguments)
    active, frame.active = frame.active, None
    for value, lanes in zip(region.args, arguments, strict=True):
        frame.values[value] = lanes.map(lambda a, x=lanes: np.ascontiguousarray(x.full(a, batch)).reshape(-1), ())
    results = m.block(frame, region)
    frame.active = active
    count = batch * int(np.prod(shape))

    def back(a: np.ndarray) -> np.ndarray:
        return np.broadcast_to(a, (count,)).reshape(batch, *shape)

    return [lanes.map(back, shape) for lanes in results]


def _fold_region(m: Machine, frame: Frame, op: Op, x: Sequence[Lanes], axis: int) -> list[Lanes]:
    extent = x[0].shape[axis]
    if extent == 0:
        raise Unsupported("a reduction over no elements", op.span)
    total = _tree(m, frame, op, _columns(x, axis)) if _in_a_tree(m, op) else _in_blocks(m, frame, op, x, axis)
    return [_with_order(m, frame, op, t, extent) for t in total]


def _columns(x: Sequence[Lanes], axis: int, start: int = 0) -> list[list[Lanes]]:
    return [[_pick(a, axis, position) for a in x] for position in range(start, x[0].shape[axis])]


def _in_blocks(m: Machine, frame: Frame, op: Op, x: Sequence[Lanes], axis: int) -> list[Lanes]:
    """A left fold; a long one in an open order of blocks, which are folded side by side, then of their results."""
    extent, done = x[0].shape[axis], 1
    if not _is_long(op, extent):
        total = [_pick(a, axis, 0) for a in x]
    else:
        count = extent // BLOCK
        totals = _in_blocks(m, frame, op, [_blocks(a, axis, count) for a in x], axis + 1)
        total, done = _in_blocks(m, frame, op, totals, axis), count * BLOCK
    for column in _columns(x, axis, done):
        total = _run_region(m, frame, op, [*total, *column])
    return total


def _is_long(op: Op, extent: int) -> bool:
    return extent > LONG and op.attrs["order"] != "sequential"


def _blocks(x: Lanes, axis: int, count: int) -> Lanes:
    """``axis`` without its rest, as (``count``, BLOCK)."""
    shape = (*x.shape[:axis], count, BLOCK, *x.shape[axis + 1 :])

    def cut(a: np.ndarray) -> np.ndarray:
        kept = a.take(np.arange(count * BLOCK), axis=axis + 1)
        return kept.reshape(*kept.shape[: axis + 1], count, BLOCK, *kept.shape[axis + 2 :])

    return x.map(cut, shape)


def _in_a_tree(m: Machine, op: Op) -> bool:
    return m.limits.tree and op.attrs["order"] != "sequential"


def _tree(m: Machine, frame: Frame, op: Op, columns: list[list[Lanes]]) -> list[Lanes]:
    """A balanced tree: of neighbours; in a kernel of far halves, as warps shuffle (there order is no one's promise)."""
    while len(columns) > 1:
        half = len(columns) // 2
        if frame.instance is not None:
            pairs, rest = list(zip(columns[:half], columns[len(columns) - half :])), columns[half : len(columns) - half]
        else:
            pairs, rest = list(zip(columns[0 : 2 * half : 2], columns[1::2])), columns[2 * half :]
        columns = [_run_region(m, frame, op, [*low, *high]) for low, high in pairs] + rest
    return columns[0]


def _with_order(m: Machine, frame: Frame, op: Op, lanes: Lanes, extent: int) -> Lanes:
    """A generic combiner in an open order: the freedom holds for integers too."""
    if extent <= 1 or lanes.planes is None or op.attrs["order"] == "sequential":
        return lanes
    bit = m.freedoms.bit("order", m.site(frame, op).key, f"the order of {extent} terms of a generic combiner", op.span)
    return lanes.replace(freedoms=lanes.freedoms | bit)


def _extreme_pair(m: Machine, frame: Frame, op: Op, x: Sequence[Lanes], axis: int) -> Sequence[Lanes]:
    values, indices = (a.full(a.data, max(b.batch for b in x)) for a in x)
    data = ieee.argextreme(op.attrs, values, indices, axis + 1)
    outs = _outs(op, data, x)
    site, freedom = m.site(frame, op), union(x)
    if op.attrs["tie"] != "lowest" or op.attrs["order"] == "racing":
        freedom |= m.freedoms.bit(
            "order", site.key, f"which of several equal extrema {op.attrs['combine']} names", op.span
        )
    if all(a.planes is None for a in x):
        return [o.replace(freedoms=freedom) for o in outs]
    lifted = [m.lift(a) for a in x]
    return _several(m, site, [o.replace(freedoms=freedom) for o in outs], lifted, None)


def _outs(op: Op, data: Sequence[np.ndarray], x: Sequence[Lanes]) -> list[Lanes]:
    taint = max(a.taint for a in x)
    outs = []
    for value, array in zip(op.results, data, strict=True):
        dt = value.type.dtype
        fits = None if dt.is_float else dt
        outs.append(Lanes(dt, value.type.shape, array.astype(dt.numpy, copy=False), None, taint=taint, fits=fits))
    return outs


def _several(m: Machine, site: object, outs: list[Lanes], args: list[Lanes], extra: object) -> list[Lanes]:
    """Results of a primitive with several, from every interpretation."""
    outs = [o.replace(literal=0 if all(a.literal == 0 for a in args) else 1) for o in outs]
    planes: list[dict[str, np.ndarray]] = [{} for _ in outs]
    for interpretation in m.interpretations:
        for merged, own in zip(planes, interpretation.several(site, outs, args, extra), strict=True):  # type: ignore[arg-type]
            merged.update(own)
    return [o.replace(planes=p) for o, p in zip(outs, planes, strict=True)]


@handles("scan")
def scan(m: Machine, frame: Frame, op: Op, x: list[Lanes]) -> Sequence[Lanes]:
    axis = op.attrs["axis"]
    x = [full_axis(a, axis) for a in levelled(m, x)]
    extent = x[0].shape[axis]
    if extent == 0:
        return x
    if op.attrs["combine"] in ("region", "argmax", "argmin"):
        return _scan_region(m, frame, op, x, axis)
    data = summation.scan(m.limits.summation, op.attrs, op.result.type.dtype, x[0].data, axis + 1)
    return [_accumulated(m, frame, op, data, x, extent)]


def _scan_region(m: Machine, frame: Frame, op: Op, x: Sequence[Lanes], axis: int) -> list[Lanes]:
    if op.attrs["combine"] != "region":
        raise Unsupported(f"a scan with {op.attrs['combine']}", op.span)
    extent = x[0].shape[axis]
    if op.attrs["reverse"]:
        x = [_reversed(a, axis) for a in x]
    results = _prefixes(m, frame, op, x, axis)
    if op.attrs["reverse"]:
        results = [_reversed(a, axis) for a in results]
    return [_with_order(m, frame, op, result, extent) for result in results]


def _reversed(x: Lanes, axis: int) -> Lanes:
    return x.map(lambda a: np.flip(a, axis + 1))


def _prefixes(m: Machine, frame: Frame, op: Op, x: Sequence[Lanes], axis: int) -> list[Lanes]:
    """Left to right, or in a tree; long ones in blocks side by side, each then after the total of those before it."""
    columns, extent = _columns(x, axis), x[0].shape[axis]
    if _is_long(op, extent) and extent % BLOCK == 0 and not _in_a_tree(m, op):
        return _blocked_prefixes(m, frame, op, [_blocks(a, axis, extent // BLOCK) for a in x], axis)
    steps = _scan_tree(m, frame, op, columns) if _in_a_tree(m, op) else [columns[0]]
    for column in columns[len(steps) :]:
        steps.append(_run_region(m, frame, op, [*steps[-1], *column]))
    return [_stack(levelled(m, [step[k] for step in steps]), axis, x[k].shape) for k in range(len(x))]


def _blocked_prefixes(m: Machine, frame: Frame, op: Op, x: Sequence[Lanes], axis: int) -> list[Lanes]:
    """``x`` has blocks along ``axis`` and their lanes along the next one."""
    own = _prefixes(m, frame, op, x, axis + 1)
    totals = _prefixes(m, frame, op, [_pick(a, axis + 1, BLOCK - 1) for a in own], axis)
    rest = own[0].shape[axis] - 1
    before = [_spread(_part(a, axis, 0, rest), axis + 1) for a in totals]
    later = _run_region(m, frame, op, [*before, *(_part(a, axis, 1, rest) for a in own)])
    whole = [_appended(levelled(m, [_part(a, axis, 0, 1), b]), axis) for a, b in zip(own, later, strict=True)]
    return [_merged(a, axis) for a in whole]


def _part(x: Lanes, axis: int, start: int, count: int) -> Lanes:
    shape = (*x.shape[:axis], count, *x.shape[axis + 1 :])
    return x.map(lambda a: a.take(np.arange(start, start + count), axis=axis + 1), shape)


def _spread(x: Lanes, axis: int) -> Lanes:
    """A new ``axis`` along which nothing changes."""
    shape = (*x.shape[:axis], BLOCK, *x.shape[axis:])
    return x.map(lambda a: np.expand_dims(a, axis + 1), shape)


def _appended(parts: Sequence[Lanes], axis: int) -> Lanes:
    first, second = parts
    shape = (*first.shape[:axis], first.shape[axis] + second.shape[axis], *first.shape[axis + 1 :])

    def append(arrays: list[np.ndarray]) -> np.ndarray:
        batch = max(a.shape[0] for a in arrays)
        return np.concatenate([p.full(a, batch) for p, a in zip(parts, arrays, strict=True)], axis=axis + 1)

    return joined(parts, append, shape)


def _merged(x: Lanes, axis: int) -> Lanes:
    shape = (*x.shape[:axis], x.shape[axis] * x.shape[axis + 1], *x.shape[axis + 2 :])
    return x.map(lambda a: np.broadcast_to(a, (a.shape[0], *x.shape)).reshape(a.shape[0], *shape), shape)


def _scan_tree(m: Machine, frame: Frame, op: Op, columns: list[list[Lanes]]) -> list[list[Lanes]]:
    """All prefixes in twice as many steps as a fold takes: those of pairs of neighbours, then the ones between
    (Brent and Kung, 1982)."""
    if len(columns) == 1:
        return columns
    pairs = [_run_region(m, frame, op, [*low, *high]) for low, high in zip(columns[::2], columns[1::2])]
    inner = _scan_tree(m, frame, op, pairs)
    between = [_run_region(m, frame, op, [*before, *here]) for before, here in zip(inner, columns[2::2])]
    steps = [columns[0]]
    for k in range(1, len(columns)):
        steps.append(inner[k // 2] if k % 2 else between[k // 2 - 1])
    return steps


def _stack(parts: Sequence[Lanes], axis: int, shape: tuple[int, ...]) -> Lanes:
    def stack(arrays: list[np.ndarray]) -> np.ndarray:
        common = np.broadcast_shapes(*(a.shape for a in arrays))
        return np.stack([np.broadcast_to(a, common) for a in arrays], axis=axis + 1)

    return joined(parts, stack, shape)


@handles("dot")
def dot(m: Machine, frame: Frame, op: Op, x: list[Lanes]) -> Sequence[Lanes]:
    if op.attrs["order"] == "sequential":
        raise Unsupported("a dot in a specified order", op.span)
    result = op.result.type
    acc, unit = x[2] if len(x) > 2 else None, m.limits.unit
    if unit is None:
        data = summation.dot(m.limits.summation, op.attrs, result.dtype, x[0], x[1], acc)
    else:
        data = ieee.dot(op.attrs, result.dtype, x[0], x[1], acc, unit)
    return [_accumulated(m, frame, op, data, levelled(m, x), x[0].shape[-1] + len(x) - 2)]


@handles("sort")
def sort(m: Machine, frame: Frame, op: Op, x: list[Lanes]) -> Sequence[Lanes]:
    axis = op.attrs["axis"]
    x = [full_axis(a, axis) for a in levelled(m, x)]
    batch = max(a.batch for a in x)
    full = [a.full(a.data, batch) for a in x]
    if op.attrs["order"] == "region":
        return _sort_by_region(m, frame, op, x, axis)
    backward = m.limits.backward == "keys" and not op.attrs["stable"]
    places = _places(full[0], axis + 1, op.attrs["order"] == "descending", backward, m.limits.spared)
    moved = [a.map(lambda p, a=a: np.take_along_axis(a.full(p, batch), places, axis + 1)) for a in x]
    freedom = union(x)
    if not op.attrs["stable"] and (x[0].taint == FLOAT_DATA or _ties(moved[0].data, axis + 1)):
        freedom |= m.freedoms.bit("order", m.site(frame, op).key, "the order of equal keys", op.span)
    moved = [a.replace(freedoms=a.freedoms | freedom) for a in moved]
    if x[0].taint == INDEX:
        return moved
    outs = [a.replace(planes=None) for a in moved]
    outs = [o.replace(taint=max(o.taint, x[0].taint), freedoms=freedom) for o in outs]
    sorted_ = _several(m, m.site(frame, op), outs, x, places)
    if x[0].taint == FLOAT_DATA:
        return sorted_
    # Integer inputs say where floats go (a choice), but are not their own fingerprint.
    return [s if s.dtype.is_integer else o for s, o in zip(sorted_, moved, strict=True)]


def _places(keys: np.ndarray, axis: int, descending: bool, backward: bool, spare: Rows) -> np.ndarray:
    """The permutation that sorts; equal keys stay in order, or are reversed where ``spare`` does not have them."""
    forward = ieee.sort_permutation([keys], axis, descending)
    if not backward:
        return forward
    turned = keys.shape[axis] - 1 - ieee.sort_permutation([np.flip(keys, axis)], axis, descending)
    if not spare:
        return turned
    return np.where(np.take_along_axis(spared(keys, axis, spare), forward, axis), forward, turned)


def _ties(ordered: np.ndarray, axis: int) -> bool:
    return bool((np.diff(ordered, axis=axis) == 0).any())


def _sort_by_region(m: Machine, frame: Frame, op: Op, x: Sequence[Lanes], axis: int) -> list[Lanes]:
    """Odd-even transposition: stable, n rounds of compare and exchange of neighbours."""
    if max(a.taint for a in x) == FLOAT_DATA:
        raise Unsupported("a sort of float data by a comparator that is not a total order", op.span)
    extent, lanes = x[0].shape[axis], [_pick_all(a, axis) for a in x]
    for turn in range(extent):
        for i in range(turn % 2, extent - 1, 2):
            pairs = [v for column in lanes for v in (column[i + 1], column[i])]
            before = _run_region(m, frame, op, pairs)[0]
            for column in lanes:
                low, high = column[i], column[i + 1]
                column[i], column[i + 1] = m.merge(before, high, low), m.merge(before, low, high)
    return [_stack(levelled(m, column), axis, x[0].shape) for column in lanes]


def _pick_all(x: Lanes, axis: int) -> list[Lanes]:
    return [_pick(x, axis, position) for position in range(x.shape[axis])]


@handles("scatter")
def scatter(m: Machine, frame: Frame, op: Op, x: list[Lanes]) -> Sequence[Lanes]:
    base, updates = (m.lift(a) for a in levelled(m, x[:2]))
    inside = np.ones((1,) * (len(updates.shape) + 1), bool)
    for index, extent in zip(x[2:], base.shape, strict=True):
        m.observe(index, op.span, f"scatter {op.attrs['combine']}", x[:2])
        inside = inside & (index.data >= 0) & (index.data < extent)
    position = structure.flat_index([i.data for i in x[2:]], base.shape)
    batch = max(frame.batch if frame.instance is not None else 1, base.batch, updates.batch, position.shape[0])
    size = int(np.prod(base.shape))
    row = np.arange(batch, dtype=np.int64).reshape(-1, *([1] * len(updates.shape))) * size
    position = np.broadcast_to(position, (batch, *updates.shape)) + row
    flat = base.map(lambda a: np.broadcast_to(a, (batch, *base.shape)).reshape(1, -1), (batch * size,))
    cells = flat.replace(data=flat.data.copy(), planes={n: p.copy() for n, p in (flat.planes or {}).items()})
    buffer = Buffer("the scatter's result", batch * size * base.dtype.nbytes, -1, cells, written=True)
    access = Access(buffer, position, np.broadcast_to(inside, position.shape))
    old = m.undefined(updates.dtype, updates.shape, batch)
    accumulate(m, frame, op, access, updates, op.attrs["combine"], old)
    assert buffer.cells is not None
    result = buffer.cells.map(lambda a: a.reshape(batch, *base.shape), base.shape)
    return [result.replace(taint=max(result.taint, updates.taint))]
