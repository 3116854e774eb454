"""What a check says: plain records, with the rule of the documentation that is broken."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from lowering.errors import UNKNOWN_SPAN, Span
from lowering.legality.rules import RULES

Severity = Literal["error", "warning"]


@dataclass(frozen=True, slots=True)
class Finding:
    """``code``: a key of RULES; ``count``: how many instructions at ``span`` break the rule, of which this is one."""

    code: str
    message: str
    span: Span = UNKNOWN_SPAN
    severity: Severity = "error"
    count: int = 1

    @property
    def rule(self) -> str:
        """The documentation's rule, in a sentence."""
        return RULES[self.code]


def merged(findings: list[Finding]) -> list[Finding]:
    """One for each rule and line of the source: the first of the gravest, and how many there were."""
    made: dict[tuple[str, str, int], Finding] = {}
    for one in findings:
        key = one.code, one.span.file, one.span.line
        known = made.get(key)
        if known is None:
            made[key] = one
        else:
            graver = one if known.severity == "warning" and one.severity == "error" else known
            made[key] = replace(graver, count=known.count + one.count)
    return list(made.values())
