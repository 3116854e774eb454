"""Where tiles lie: banks and capacity of PSUM, capacity of SBUF by live ranges, partitions that an access starts at.

Takes a trace; gives findings, and the high-water marks that the cost table shows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from lowering.capture.nki.trace import BETA1, PSUM, SBUF, Instr, NkiStorage, NkiTrace
from lowering.capture.trace import TensorRef
from lowering.legality.finding import Finding
from lowering.legality.hardware import HARDWARE, LANES, PSUM_BANK, PSUM_BYTES
from lowering.legality.places import accesses, lanes_of, named, on_chip, refs, spot, tile_bytes

_COMPUTE = ("pe", "dve", "act", "pool")


@dataclass(frozen=True, slots=True)
class Peak:
    """The most bytes of a partition that tiles take at once, and the instruction at which they do (its number)."""

    nbytes: int = 0
    at: int = 0
    tiles: int = 0


def memory(trace: NkiTrace) -> Iterator[Finding]:
    """Capacity, banks, start partitions."""
    yield from _capacity(trace)
    for instr in trace.instrs:
        if instr.op in ("nc_mat_mul", "mat_mul_mx"):
            yield from _bank(trace, instr)
        if instr.engine in _COMPUTE:
            yield from _starts(trace, instr)


# -- capacity --------------------------------------------------------------------------------------------------------


def _capacity(trace: NkiTrace) -> Iterator[Finding]:
    hardware = HARDWARE[trace.target]
    limits = {
        SBUF: ("nki-sbuf-capacity", hardware.sbuf, hardware.usable),
        PSUM: ("nki-psum-capacity", PSUM_BYTES, PSUM_BYTES),
    }
    alone: set[str] = set()
    for storage in trace.storages.values():
        if storage.space in limits and tile_bytes(storage) > limits[storage.space][1]:
            code, held, _ = limits[storage.space]
            said = f"a tile of shape {storage.shape} takes {tile_bytes(storage)} bytes per partition of {held}"
            yield Finding(code, said, storage.span)
            alone.add(storage.space)
    for where, (code, _, usable) in limits.items():
        peak = high_water(trace, where)
        if where in alone or peak.nbytes <= usable:
            continue
        said = f"{peak.tiles} tiles that are in use at once take {peak.nbytes} bytes per partition of {usable}"
        spills = where == SBUF and trace.generation == BETA1
        yield Finding(code, said, trace.instrs[peak.at].span, "warning" if spills else "error")


def high_water(trace: NkiTrace, where: str) -> Peak:
    """The least that any placement needs in program order: a tile is in use from its first access to its last.

    Tiles of at most 32 (64) partitions may share theirs with three (one) more of their kind.  A tile whose place the
    source names counts from the beginning of its place, so that tiles at one place count once.
    """
    cores = {storage.core for storage in trace.storages.values() if storage.space == where}
    return max((_peak(trace, where, core) for core in cores), key=lambda peak: peak.nbytes, default=Peak())


def _peak(trace: NkiTrace, where: str, core: int) -> Peak:
    first, last = _ranges(trace, where, core)
    begins: dict[int, list[NkiStorage]] = {}
    ends: dict[int, list[NkiStorage]] = {}
    for number, at in first.items():
        begins.setdefault(at, []).append(trace.storages[number])
        ends.setdefault(last[number], []).append(trace.storages[number])
    now, tiles, peak = 0, 0, Peak()
    pinned: dict[int, int] = {}
    for at in sorted({*begins, *ends}):
        for storage in begins.get(at, ()):
            tiles += 1
            if storage.pinned is None:
                now += _share(storage)
            else:
                pinned[storage.id] = storage.pinned[1] + tile_bytes(storage)
        total = max(now // LANES, *pinned.values(), 0) if pinned else now // LANES
        if total > peak.nbytes:
            peak = Peak(total, at, tiles)
        for storage in ends.get(at, ()):
            tiles -= 1
            now -= 0 if pinned.pop(storage.id, None) is not None else _share(storage)
    return peak


def _share(storage: NkiStorage) -> int:
    """Bytes of all partitions that the tile keeps from tiles of its size and of larger ones."""
    lanes = lanes_of(storage)
    return tile_bytes(storage) * (32 if lanes <= 32 else 64 if lanes <= 64 else LANES)


def _ranges(trace: NkiTrace, where: str, core: int) -> tuple[dict[int, int], dict[int, int]]:
    """First and last instruction that accesses each storage of a core's memory."""
    first: dict[int, int] = {}
    last: dict[int, int] = {}
    wanted = {n for n, storage in trace.storages.items() if storage.space == where and storage.core == core}
    for at, instr in enumerate(trace.instrs):
        for ref in refs(instr):
            if ref.storage in wanted:
                first.setdefault(ref.storage, at)
                last[ref.storage] = at
    return first, last


# -- places ----------------------------------------------------------------------------------------------------------


def _bank(trace: NkiTrace, instr: Instr) -> Iterator[Finding]:
    dst = instr.dst[0]
    if not isinstance(dst, TensorRef) or trace.storages[dst.storage].space != PSUM:
        return
    storage = trace.storages[dst.storage]
    at = spot(storage, dst)
    base = storage.pinned[1] if storage.pinned else 0
    crosses = (base + at.low) // PSUM_BANK != (base + at.high - 1) // PSUM_BANK
    if at.high - at.low > _bank_bytes(trace) or (crosses and at.high - at.low <= PSUM_BANK):
        said = f"{instr.op} writes bytes {base + at.low} to {base + at.high - 1} of each partition of PSUM"
        yield Finding("nki-psum-bank", said, instr.span)


def _bank_bytes(trace: NkiTrace) -> int:
    """Trainium3 takes more columns than a bank holds."""
    return PSUM_BANK if HARDWARE[trace.target].generation < 4 else PSUM_BYTES


def _starts(trace: NkiTrace, instr: Instr) -> Iterator[Finding]:
    for access in accesses(instr):
        if not on_chip(trace, access.ref) or not access.exact:
            continue
        storage = trace.storages[access.ref.storage]
        at = spot(storage, access.ref)
        start = at.lane + (storage.pinned[0] if storage.pinned else 0)
        allowed = (0,) if at.lanes > 64 else (0, 64) if at.lanes > 32 else (0, 32, 64, 96)
        if start not in allowed:
            said = f"{instr.op} accesses {at.lanes} partitions of {named(trace, access.ref)} from partition {start} on"
            yield Finding("nki-start-partition", said, instr.span)
