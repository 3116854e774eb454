"""The table of operator by verdict, the survivors in full, and whether the bars hold.

Takes Trials; gives text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from tests.mutation.trial import SURVIVES, Trial

COLUMNS = (*SURVIVES, "close", "tested", "undecided", "unsupported", "different", "internal", "crash")
EVIDENCE_BAR = 0.01  # non-equivalent survivors at `real evidence`, of all non-equivalent mutants


@dataclass(slots=True)
class Summary:
    trials: list[Trial] = field(default_factory=list)

    def add(self, one: Trial) -> None:
        self.trials.append(one)

    def those(self, keep: Callable[[Trial], bool]) -> list[Trial]:
        return [t for t in self.trials if keep(t)]

    @property
    def escaped(self) -> list[Trial]:
        return self.those(lambda t: t.escaped)

    @property
    def non_equivalent(self) -> int:
        """Mutants known to be other programs: refuted ones that the oracle does not clear, and escaped ones."""
        return len(self.those(lambda t: t.escaped or (t.verdict == "different" and not t.false_alarm)))

    @property
    def evidence_rate(self) -> float:
        return len([t for t in self.escaped if t.verdict == "real evidence"]) / max(1, self.non_equivalent)

    @property
    def holds(self) -> bool:
        strict = [t for t in self.escaped if t.verdict != "real evidence"]
        return not strict and self.evidence_rate <= EVIDENCE_BAR and not self.those(lambda t: t.verdict == "crash")

    def text(self) -> str:
        parts = [self.table(), self.totals()]
        parts += self.listing("SURVIVED, NOT EQUIVALENT", self.escaped)
        parts += self.listing("REFUTED, YET EQUIVALENT", self.those(lambda t: t.false_alarm))
        parts += self.listing("CRASHED", self.those(lambda t: t.verdict in ("crash", "internal")))
        return "\n".join(parts)

    def table(self) -> str:
        """Counts; in brackets how many of them are other programs according to the oracle."""
        names = list(dict.fromkeys(t.operator for t in sorted(self.trials, key=lambda t: t.operator)))
        width = max([len(n) for n in names] + [8])
        lines = [" ".join([" " * width, *(f"{c:>14}" for c in COLUMNS)])]
        for name in [*names, "all"]:
            chosen = [t for t in self.trials if name in (t.operator, "all")]
            lines.append(" ".join([f"{name:<{width}}", *(f"{_cell(chosen, c):>14}" for c in COLUMNS)]))
        return "\n".join(lines)

    def totals(self) -> str:
        judged = sum(t.judged for t in self.trials)
        checked = sum(t.checked for t in self.trials)
        unclear = len(self.those(lambda t: t.verdict in SURVIVES and t.truth == "cannot tell"))
        unsafe = len(self.those(lambda t: t.verdict in SURVIVES and t.truth == "unsafe" and bool(t.flagged)))
        return (
            f"{len(self.trials)} mutants of {len({t.program for t in self.trials})} programs; "
            f"{self.non_equivalent} known to be other programs; {len(self.escaped)} of them survived "
            f"({self.evidence_rate:.2%} at real evidence); {unclear} survivors the oracle cannot judge; "
            f"{unsafe} survivors go out of bounds and are reported as such; "
            f"judging {judged:.0f} s, oracle {checked:.0f} s"
        )

    @staticmethod
    def listing(title: str, trials: Iterable[Trial]) -> list[str]:
        lines = []
        for t in sorted(trials, key=lambda t: (t.verdict, t.operator, t.program)):
            lines.append(f"\n{title}: {t.program} [{t.operator} #{t.number}] {t.what}")
            lines.append(f"  judged {t.verdict}: {t.reason}\n  oracle {t.truth}: {t.detail}\n{t.diff}")
        return lines


def _cell(trials: list[Trial], verdict: str) -> str:
    chosen = [t for t in trials if t.verdict == verdict]
    wrong = Counter(t.escaped for t in chosen)[True]
    return f"{len(chosen)} ({wrong})" if wrong else str(len(chosen) or "")
