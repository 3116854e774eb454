"""Access patterns: within their tensor, few dimensions, short strides, one partition after the other.

Takes a trace; gives findings.
"""

from __future__ import annotations

from collections.abc import Iterator

from lowering.capture.nki.trace import BETA1, Instr, NkiTrace
from lowering.legality.finding import Finding
from lowering.legality.places import (
    Access,
    accesses,
    dims,
    elements,
    lowest_highest,
    named,
    of_one_tile,
    on_chip,
    spot,
    within,
)

MOST_DIMS, MOST_COUNT, MOST_STRIDE = 4, (1 << 16) - 1, (1 << 15) - 1
_COMPUTE = ("pe", "dve", "act", "pool")


def patterns(trace: NkiTrace) -> Iterator[Finding]:
    """Of every view of every instruction; DMA has descriptors and no such patterns."""
    for instr in trace.instrs:
        for access in accesses(instr):
            yield from _bounds(trace, instr, access)
            if instr.engine in _COMPUTE and access.exact and on_chip(trace, access.ref):
                yield from _pattern(trace, instr, access)


def _bounds(trace: NkiTrace, instr: Instr, access: Access) -> Iterator[Finding]:
    if not access.exact or within(trace, access.ref):
        return
    low, high = lowest_highest(access.ref)
    held = elements(trace.storages[access.ref.storage], access.ref.dtype)
    verb = "writes" if access.writes else "reads"
    said = f"{instr.op} {verb} elements {low} to {high} of {named(trace, access.ref)}, which holds {held}"
    yield Finding("nki-bounds", said, instr.span)


def _pattern(trace: NkiTrace, instr: Instr, access: Access) -> Iterator[Finding]:
    """Beta-1's compiler spreads a partition over others by a matmul with ones; in the new API nothing does."""
    ref = of_one_tile(trace.storages[access.ref.storage], access.ref)
    found = dims(ref, 1)
    if len(found) > MOST_DIMS:
        said = f"{instr.op} accesses {named(trace, ref)} in {len(found)} free dimensions that do not join"
        yield Finding("nki-pattern", said, instr.span)
    for stride, count in found:
        if abs(stride) > MOST_STRIDE or count > MOST_COUNT:
            said = f"{instr.op} accesses {named(trace, ref)} with a dimension of {count} elements {stride} apart"
            yield Finding("nki-pattern", said, instr.span)
    at = spot(trace.storages[ref.storage], ref)
    if at.lanes > 1 and at.step != 1 and not (at.step == 0 and trace.generation == BETA1):
        apart = f"partitions {at.step:g} apart" if at.step else f"one partition in the place of {at.lanes}"
        said = f"{instr.op} accesses {named(trace, ref)} with {apart}"
        yield Finding("nki-partition-stride", said, instr.span)
