"""Counts runs against what was planned, so that a check says how much of it was run, and never passes unrun.

Takes runs as functions; gives their PairRuns, and words for those that could not be made.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from equivalence.evaluator.frame import OutOfTime
from lowering.errors import Unsupported


class OnPath(Protocol):
    @property
    def on_path(self) -> bool: ...


Run = TypeVar("Run", bound=OnPath)


@dataclass(slots=True)
class Tally:
    """``late``: time ended first; ``off_path``: runs on which a host reads something else, which say nothing."""

    planned: int = 0
    ran: int = 0
    late: bool = False
    off_path: int = 0
    refused: list[str] = field(default_factory=list[str])

    def attempt(self, run: Callable[[], Run]) -> Run | None:
        """The run if it can be made and counts; once time is out, nothing more is run."""
        if self.late:
            return None
        try:
            done = run()
        except OutOfTime:
            self.late = True
            return None
        except Unsupported as error:  # a loop that these inputs do not end, say
            self.refused.append(str(error))
            return None
        if not done.on_path:
            self.off_path += 1
            return None
        self.ran += 1
        return done

    @property
    def complete(self) -> bool:
        return self.ran == self.planned

    def missing(self) -> str:
        """Why runs are missing, in words; '' where none is."""
        why = [f"{self.off_path} on which the host would do something else"] if self.off_path else []
        why += [f"{len(self.refused)} that cannot be run ({self.refused[0]})"] if self.refused else []
        why += ["out of time"] if self.late else []
        return ", ".join(why)
