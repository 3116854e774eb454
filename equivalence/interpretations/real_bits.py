"""Values of integer inputs under `real`, for every value they can have: polynomials in their bits.

Takes Cells of integers; gives Cells whose residues are sums of 2^k times a random residue for each bit, and what is
known of such residues: bits, bounds and the inputs they come from.  Two that are equal for all residues of the bits
are equal for all bits.  Shifts, masks, packing and two's complement move bits; sums and products that cannot wrap are
those of the fields.  None is given where that is not known.  Must not know decisions or sites.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass

import numpy as np

from equivalence.evaluator.lanes import Lanes
from equivalence.interpretations.base import tag
from equivalence.interpretations.real_cell import BOTH, CONCRETE, DATA, NONNEG, PURE, WHOLE, Array, Cell, cell, flag
from equivalence.interpretations.real_channels import Channels
from lowering.ir.types import DType

ZERO, ONE = np.uint64(0), np.uint64(1 << 63)  # the bit ids of constants; with the top bit set, an id is a complement
MOST = 1 << 23  # bits of one value, and
MOST_ALL = 1 << 25  # of all that are remembered: beyond, integers are what the run has
EVERY = np.uint64((1 << 64) - 1)
_LARGEST = 2.0**52
_SALT = {"and": np.uint64(0x2545F4914F6CDD1D), "xor": np.uint64(0x5851F42D4C957F2D)}  # operations that name new bits


@dataclass(frozen=True, slots=True)
class Batch:
    """Values by their residues (sorted ``keys``): bounds, inputs, and bits uint64[n, width] where they are known."""

    keys: Array
    low: Array
    high: Array
    origins: Array
    rows: Array | None


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of lanes: all of one shape; ``rows`` [..., width] in two's complement, or None."""

    low: Array
    high: Array
    origins: Array
    rows: Array | None


class Bits:
    """The memory of one Real."""

    def __init__(self, channels: Channels) -> None:
        self.channels = channels
        self.batches: list[Batch] = []
        self._seen: set[bytes] = set()
        self._size = 0

    def twin(self) -> Bits:
        other = copy(self)
        other.batches, other._seen = [*self.batches], {*self._seen}
        return other

    def absorb(self, twin: Bits) -> None:
        """What a run under ``twin`` has found."""
        known = {id(batch) for batch in self.batches}
        self.batches += [batch for batch in twin.batches if id(batch) not in known]
        self._seen |= twin._seen

    # -- leaves --------------------------------------------------------------------------------------------------

    def atom(self, name: str, index: Array, lanes: Lanes, within: tuple[int, int] | None) -> Cell | None:
        """Elements of an input, one residue for each bit; ``within``: the values that were declared."""
        width = lanes.dtype.bits + (lanes.dtype.kind == "uint")
        if width > 64 or index.size * width > MOST:
            return None
        words = self.channels.elements(f"bits of {name}", index)[0].astype(np.uint64)
        base = ((index.astype(np.uint64) + np.uint64(1)) << np.uint64(7)) ^ (words << np.uint64(37))
        ids = (base[..., None] + np.arange(width, dtype=np.uint64)) & ~ONE
        if lanes.dtype.kind == "uint":
            ids[..., -1] = ZERO
        if within is not None and lanes.data.size and within[0] <= lanes.data.min() and lanes.data.max() <= within[1]:
            low, high = within
            top = max(high.bit_length(), (-low - 1).bit_length() if low < 0 else 0)
            if top < width:
                ids[..., top:] = ids[..., top : top + 1] if low < 0 else ZERO
        return self.made(ids, lanes.data, np.uint64(1 << tag(name) % 64))

    # -- what is known -------------------------------------------------------------------------------------------

    def known(self, lanes: Lanes) -> Known | None:
        """Of every lane, or None where some lane is neither concrete nor found again."""
        x = cell(lanes)
        shape = np.broadcast_shapes(lanes.data.shape, *(plane.shape for plane in x))
        concrete = np.broadcast_to((x.mark & CONCRETE) != 0, shape)
        if lanes.data.dtype == np.uint64 and (lanes.data >> np.uint64(63)).any():
            return None
        data = np.broadcast_to(lanes.data, shape).astype(np.int64)
        low, high = data.astype(np.float64), data.astype(np.float64)
        origins = np.zeros(shape, np.uint64)
        if concrete.all():
            return Known(low, high, origins, _of_values(data))
        at = ~concrete
        found = self.find(x, at, shape)
        if found is None:
            return None
        low[at], high[at], origins[at] = found.low, found.high, found.origins
        if found.rows is None:
            return Known(low, high, origins, None)
        own = _of_values(data) if concrete.any() else np.zeros((*shape, 1), np.uint64)
        width = max(own.shape[-1], found.rows.shape[-1])
        rows = np.array(extended(own, width))
        rows[at] = extended(found.rows, width)
        return Known(low, high, origins, rows)

    def find(self, x: Cell, at: Array, shape: tuple[int, ...]) -> Known | None:
        """The lanes ``at``; None where one is not found."""
        keys = _keys(x, shape)[at]
        low, high, origins = np.zeros(keys.size), np.zeros(keys.size), np.zeros(keys.size, np.uint64)
        left, parts = np.ones(keys.size, bool), list[tuple[Array, Array | None]]()
        for batch in reversed(self.batches):
            place = np.minimum(np.searchsorted(batch.keys, keys), batch.keys.size - 1)
            here = left & (batch.keys[place] == keys)
            if not here.any():
                continue
            place = place[here]
            low[here], high[here], origins[here] = batch.low[place], batch.high[place], batch.origins[place]
            parts.append((here, None if batch.rows is None else batch.rows[place]))
            left &= ~here
            if not left.any():
                break
        if left.any():
            return None
        if not parts or any(rows is None for _, rows in parts):
            return Known(low, high, origins, None if parts else np.zeros((0, 1), np.uint64))
        width = max(rows.shape[-1] for _, rows in parts if rows is not None)
        whole = np.zeros((keys.size, width), np.uint64)
        for here, rows in parts:
            assert rows is not None
            whole[here] = extended(rows, width)
        return Known(low, high, origins, whole)

    def inputs_of(self, lanes: Lanes) -> np.uint64:
        """The inputs whose values lanes are computed from, as a bit set; of lanes that are not found again none."""
        if lanes.planes is None:
            return ZERO  # an integer of shapes and literals alone
        x = cell(lanes)
        shape = np.broadcast_shapes(*(plane.shape for plane in x))
        at = np.broadcast_to(x.alive & ((x.mark & CONCRETE) == 0), shape)
        if not at.any() or not self.batches:
            return ZERO
        keys, total = np.unique(_keys(x, shape)[at]), ZERO
        for batch in self.batches:
            place = np.minimum(np.searchsorted(batch.keys, keys), batch.keys.size - 1)
            here = batch.keys[place] == keys
            total = total | np.bitwise_or.reduce(batch.origins[place[here]], initial=ZERO)
        return total

    def remember(self, x: Cell, shape: tuple[int, ...], known: Known) -> bool:
        """Whether there was room for it."""
        flat = _keys(x, shape).reshape(-1)
        keys, first = np.unique(flat, return_index=True)
        digest = hashlib.blake2b(keys.tobytes() + bytes([known.rows is not None]), digest_size=16).digest()
        if digest in self._seen:
            return True
        rows = None
        if known.rows is not None:
            rows = np.broadcast_to(known.rows, (*shape, known.rows.shape[-1])).reshape(flat.size, -1)[first]
        self._size += 4 * keys.size + (0 if rows is None else rows.size)
        if self._size > MOST_ALL:
            return False
        low, high, origins = (
            np.broadcast_to(p, shape).reshape(-1)[first] for p in (known.low, known.high, known.origins)
        )
        self._seen.add(digest)
        self.batches.append(Batch(keys, low, high, origins, rows))
        return True

    # -- making --------------------------------------------------------------------------------------------------

    def made(self, ids: Array, data: Array, origins: Array | np.uint64, data_mark: bool = False) -> Cell | None:
        """The Cell of bits [..., width] in two's complement; ``data``: the integers that the run has."""
        ids = trimmed(ids)
        shape, width = ids.shape[:-1], ids.shape[-1]
        v, w = np.zeros(shape, np.uint32), np.zeros(shape, np.uint32)
        for k in range(width):
            column = ids[..., k]
            if not column.any():
                continue
            for channel, field, total in zip((0, 1), (self.channels.field.v, self.channels.field.w), (v, w)):
                weight = (1 << k) % field.m if k < width - 1 else (-(1 << k)) % field.m
                term = field.mul(self._residues(column, channel, field), np.full(shape, weight, np.uint32))
                total[...] = field.add(total, term)
        constant = ((ids & ~ONE) == 0).all(axis=-1)
        low, high = bounds(ids)
        mark = flag(constant, CONCRETE) | flag(low >= 0, NONNEG) | (BOTH | WHOLE)
        mark = mark | flag(~constant, PURE) | (DATA if data_mark else np.uint32(0))
        x = Cell(np.broadcast_to(data, shape).astype(np.float64), v, w, mark)
        if constant.all():
            return x
        known = Known(low, high, np.broadcast_to(np.asarray(origins, np.uint64), shape), ids)
        return x if self.remember(x, shape, known) else None

    def _residues(self, ids: Array, channel: int, field: object) -> Array:
        bare = ids & ~ONE
        value = np.where(
            bare == 0, np.uint32(0), self.channels.elements("bit", np.ascontiguousarray(bare).view(np.int64))[channel]
        )
        return np.where((ids & ONE) != 0, field.sub(np.ones(ids.shape, np.uint32), value), value)  # type: ignore[attr-defined]


def _keys(x: Cell, shape: tuple[int, ...]) -> Array:
    return (np.broadcast_to(x.v, shape).astype(np.uint64) << np.uint64(32)) | np.broadcast_to(x.w, shape)


def _of_values(data: Array) -> Array:
    """The bits of concrete integers, in as few columns as they need."""
    width = 1 + max(
        int(data.max(initial=0)).bit_length(), (-int(data.min(initial=0)) - 1).bit_length() if (data < 0).any() else 0
    )
    shifts = np.arange(width, dtype=np.int64)
    return np.where((data[..., None] >> shifts) & 1, ONE, ZERO)


def extended(rows: Array, width: int) -> Array:
    """More columns, or fewer (what is left is the value modulo 2^width)."""
    own = rows.shape[-1]
    if own >= width:
        return rows[..., :width]
    more = np.broadcast_to(rows[..., -1:], (*rows.shape[:-1], width - own))
    return np.concatenate([rows, more], axis=-1)


def trimmed(rows: Array) -> Array:
    """Without columns that repeat the sign everywhere."""
    width = rows.shape[-1]
    while width > 1 and (rows[..., width - 1] == rows[..., width - 2]).all():
        width -= 1
    return rows[..., :width]


def bounds(rows: Array) -> tuple[Array, Array]:
    """(least, largest) value of each lane; columns that repeat the sign count once."""
    repeats = np.flip(np.logical_and.accumulate(np.flip(rows[..., 1:] == rows[..., :-1], -1), axis=-1), -1)
    weights = 2.0 ** np.arange(rows.shape[-1])
    no = np.zeros((*rows.shape[:-1], 1), bool)
    sign = ~np.concatenate([no, repeats], -1) & np.concatenate([repeats, ~no], -1)  # the first of those that repeat
    plain = ~sign & ~np.concatenate([no, repeats], -1)
    high = (weights * (plain & (rows != ZERO))).sum(-1) - (weights * (sign & (rows == ONE))).sum(-1)
    low = (weights * (plain & (rows == ONE))).sum(-1) - (weights * (sign & (rows != ZERO))).sum(-1)
    return low, high


def wrapped(rows: Array, dtype: DType) -> Array:
    """The value modulo 2^bits as ``dtype`` reads it."""
    rows = extended(rows, dtype.bits)
    if dtype.kind != "uint":
        return rows
    return np.concatenate([rows, np.zeros((*rows.shape[:-1], 1), np.uint64)], -1)


def both(name: str, a: Array, b: Array) -> Array:
    """A bitwise operation on bits; of two unknown ones a new bit named by them, in any order."""
    if name == "xor":
        flip = (a ^ b) & ONE
        x, y = a & ~ONE, b & ~ONE
        new = np.where(x == 0, y, np.where(y == 0, x, np.where(x == y, ZERO, _pair(name, x, y))))
        return new ^ flip
    if name == "or":
        return both("and", a ^ ONE, b ^ ONE) ^ ONE
    new = np.where(a == ONE, b, np.where(b == ONE, a, np.where(a == b, a, _pair(name, a, b))))
    return np.where((a == ZERO) | (b == ZERO) | (a == (b ^ ONE)), ZERO, new)


def _pair(name: str, a: Array, b: Array) -> Array:
    x, y = np.minimum(a, b), np.maximum(a, b)
    with np.errstate(over="ignore"):
        mixed = (x ^ _SALT[name]) * np.uint64(0x9E3779B97F4A7C15) ^ (y + np.uint64(0x632BE59BD9B4E019)) * np.uint64(
            0xC2B2AE3D27D4EB4F
        )
        mixed = (mixed ^ (mixed >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
    return ((mixed ^ (mixed >> np.uint64(32))) & ~ONE) | np.uint64(1)


def fits(low: Array, high: Array, dtype: DType) -> bool:
    """Whether values within these bounds are what they are in ``dtype``."""
    bits = dtype.bits
    least, most = (0.0, 2.0**bits - 1) if dtype.kind == "uint" else (-(2.0 ** (bits - 1)), 2.0 ** (bits - 1) - 1)
    inside = (low >= least) & (high <= most) & (np.abs(low) < _LARGEST) & (np.abs(high) < _LARGEST)
    return bool(inside.all())


def hull(name: str, parts: Sequence[Known]) -> tuple[Array, Array]:
    """Bounds of a sum, difference or product."""
    if name == "neg":
        return -parts[0].high, -parts[0].low
    a, b = parts
    if name == "add":
        return a.low + b.low, a.high + b.high
    if name == "sub":
        return a.low - b.high, a.high - b.low
    ends = [x * y for x in (a.low, a.high) for y in (b.low, b.high)]
    return np.minimum.reduce(ends), np.maximum.reduce(ends)
