"""Where tiles lie: banks and capacity of PSUM, capacity of SBUF by live ranges, partitions that an access starts at.

Takes a trace; gives findings.
"""

from __future__ import annotations

from collections.abc import Iterator

from lowering.capture.nki.trace import BETA1, PSUM, SBUF, Instr, NkiTrace
from lowering.capture.trace import TensorRef
from lowering.legality.finding import Finding
from lowering.legality.hardware import HARDWARE, PSUM_BANK, PSUM_BYTES
from lowering.legality.live import high_water
from lowering.legality.places import accesses, lane_bytes, named, on_chip, spot

_COMPUTE = ("pe", "dve", "act", "pool")


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
        if storage.space in limits and lane_bytes(storage) > limits[storage.space][1]:
            code, held, _ = limits[storage.space]
            shape = storage.shape[storage.blocks :]
            said = f"a tile of shape {shape} takes {lane_bytes(storage)} bytes per partition of {held}"
            yield Finding(code, said, storage.span)
            alone.add(storage.space)
    for where, (code, _, usable) in limits.items():
        peak = high_water(trace, where)
        if where in alone or peak.nbytes <= usable:
            continue
        said = f"{peak.tiles} tiles that are in use at once take {peak.nbytes} bytes per partition of {usable}"
        spills = where == SBUF and trace.generation == BETA1
        yield Finding(code, said, trace.instrs[peak.at].span, "warning" if spills else "error")


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
