"""Two programs -> verdict.  Gives judge(), and Given: a run that may be begun before every set of shapes is known."""

from equivalence.judge.given import Given
from equivalence.judge.judge import judge
from equivalence.judge.runs import Pair

__all__ = ["Given", "Pair", "judge"]
