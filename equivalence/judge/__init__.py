"""Two programs -> verdict.  Gives judge()."""

from equivalence.judge.judge import judge

__all__ = ["judge"]
