"""How much of SBUF and PSUM is in use at once: the least that any placement needs in program order.

Takes a trace; gives a Peak.  A tile is in use from its first access to its last; each block of a Beta-1 tensor is a
tile of its own.
"""

from __future__ import annotations

from dataclasses import dataclass

from lowering.capture.nki.dtypes import size_of
from lowering.capture.nki.trace import BETA1, Instr, NkiStorage, NkiTrace
from lowering.capture.trace import TensorRef
from lowering.legality.hardware import LANES
from lowering.legality.places import lane_bytes, lanes_of, lowest_highest, refs

Tile = tuple[int, int]  # storage and block


@dataclass(frozen=True, slots=True)
class Peak:
    """The most bytes of a partition that tiles take at once, and the instruction at which they do (its number)."""

    nbytes: int = 0
    at: int = 0
    tiles: int = 0


def high_water(trace: NkiTrace, where: str) -> Peak:
    """Of the core that needs most.

    Tiles of at most 32 (64) partitions may share theirs with three (one) more of their kind.  A tile whose place the
    source names counts from the beginning of its memory, so that tiles at one place count once.
    """
    cores = {storage.core for storage in trace.storages.values() if storage.space == where}
    return max((_peak(trace, where, core) for core in cores), key=lambda peak: peak.nbytes, default=Peak())


def _peak(trace: NkiTrace, where: str, core: int) -> Peak:
    first, last = _ranges(trace, where, core)
    begins, ends = _by_time(first), _by_time(last)
    now, tiles, peak = 0, 0, Peak()
    pinned: dict[Tile, int] = {}
    for at in sorted({*begins, *ends}):
        for tile in begins.get(at, ()):
            storage = trace.storages[tile[0]]
            tiles += 1
            if storage.pinned is None:
                now += _share(storage)
            else:
                pinned[tile] = storage.pinned[1] + lane_bytes(storage)
        total = max(now // LANES, *pinned.values(), 0) if pinned else now // LANES
        if total > peak.nbytes:
            peak = Peak(total, at, tiles)
        for tile in ends.get(at, ()):
            tiles -= 1
            now -= 0 if pinned.pop(tile, None) is not None else _share(trace.storages[tile[0]])
    return peak


def _by_time(ranges: dict[Tile, int]) -> dict[int, list[Tile]]:
    made: dict[int, list[Tile]] = {}
    for tile, at in ranges.items():
        made.setdefault(at, []).append(tile)
    return made


def _share(storage: NkiStorage) -> int:
    """Bytes of all partitions that a tile keeps from tiles of its size and of larger ones."""
    lanes = lanes_of(storage)
    return lane_bytes(storage) * (32 if lanes <= 32 else 64 if lanes <= 64 else LANES)


def _ranges(trace: NkiTrace, where: str, core: int) -> tuple[dict[Tile, int], dict[Tile, int]]:
    """First and last instruction that accesses each tile of a core's memory."""
    first: dict[Tile, int] = {}
    last: dict[Tile, int] = {}
    wanted = {n for n, storage in trace.storages.items() if storage.space == where and storage.core == core}
    for at, instr in enumerate(trace.instrs):
        for ref in refs(instr):
            if ref.storage in wanted and not _clears(trace, instr):
                for block in blocks(trace.storages[ref.storage], ref):
                    tile = ref.storage, block
                    first.setdefault(tile, at)
                    last[tile] = at
    return first, last


def _clears(trace: NkiTrace, instr: Instr) -> bool:
    """nl.zeros of several blocks in Beta-1: each is filled when it is needed, or overwritten by a matmul."""
    dst = instr.dst[0] if instr.dst else None
    if trace.generation != BETA1 or instr.op != "mem_set" or not isinstance(dst, TensorRef):
        return False
    return len(blocks(trace.storages[dst.storage], dst)) > 1


def blocks(storage: NkiStorage, ref: TensorRef) -> range:
    """The blocks of a tensor that a view reaches into."""
    if not storage.blocks:
        return range(1)
    size, tile = size_of(ref.dtype), max(lane_bytes(storage) * lanes_of(storage), 1)
    low, high = lowest_highest(ref)
    return range(low * size // tile, high * size // tile + 1)
