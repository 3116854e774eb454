"""The long text behind every word the tool prints: verdicts, findings, errors.  ``irverify explain CODE``.

Takes a code; gives its text, or the codes that look like it.
"""

from __future__ import annotations

import difflib

from irverify.explain import errors, findings, launches, legality, promises, verdicts
from irverify.explain.entry import Entry
from lowering.errors import UsageError

_FINDINGS = (*findings.ENTRIES, *launches.ENTRIES, *promises.ENTRIES)
SECTIONS = {
    "Verdicts": verdicts.ENTRIES,
    "Findings": _FINDINGS,
    "Legality of NKI kernels (irverify check)": legality.ENTRIES,
    "Errors": errors.ENTRIES,
}
REGISTRY: dict[str, Entry] = {entry.code: entry for entries in SECTIONS.values() for entry in entries}


def explain(code: str) -> str:
    """The long text; an unknown code is a usage error with suggestions."""
    wanted = code.strip().lower()
    if wanted in REGISTRY:
        return REGISTRY[wanted].text()
    near = difflib.get_close_matches(wanted, REGISTRY, n=3, cutoff=0.5)
    hint = f"; did you mean {', '.join(near)}?" if near else ""
    raise UsageError(f"{code!r} is no code{hint} (irverify explain lists them all)")


def listing() -> str:
    """Every code with its one line."""
    blocks = []
    for title, entries in SECTIONS.items():
        width = max(len(entry.code) for entry in entries)
        blocks.append("\n".join([title, *(f"  {entry.code:<{width}}  {entry.summary}" for entry in entries)]))
    return "\n\n".join(blocks)
