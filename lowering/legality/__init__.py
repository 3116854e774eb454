"""Whether a kernel is legal on its hardware: functions on the trace of an NKI kernel, a file for each family of rules.

``check`` runs all of them.  Nothing here knows KIR or a judge; what a kernel computes is no matter here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from lowering.capture.nki.trace import NkiTrace
from lowering.legality.dtypes import dtypes
from lowering.legality.engines import engines
from lowering.legality.finding import Finding, merged
from lowering.legality.hazards import hazards
from lowering.legality.memory import memory
from lowering.legality.overlaps import overlaps
from lowering.legality.patterns import patterns
from lowering.legality.registers import registers
from lowering.legality.rules import RULES
from lowering.legality.sizes import sizes

FAMILIES: tuple[Callable[[NkiTrace], Iterator[Finding]], ...] = (
    sizes, memory, engines, dtypes, patterns, hazards, overlaps, registers,
)  # fmt: skip


#: Rules without which nobody knows what a kernel computes; the others say that it does not run, or not there.
MEANING = frozenset(["nki-carried", "nki-accumulate-undefined", "nki-overlap", "nki-register", "nki-bounds"])


def check(trace: NkiTrace) -> list[Finding]:
    """What is wrong with a kernel, errors first, then by line; one finding for each rule and line."""
    found = merged([finding for family in FAMILIES for finding in family(trace)])
    return sorted(found, key=lambda one: (one.severity, one.span.file, one.span.line, one.code))


__all__ = ["FAMILIES", "MEANING", "RULES", "Finding", "check"]
