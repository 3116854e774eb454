"""Says where two programs part and in what: explain(a, b, inputs...) -> Explanation."""

from equivalence.divergence.explain import NOTHING, explain
from equivalence.divergence.finding import KINDS, Explanation

__all__ = ["KINDS", "NOTHING", "Explanation", "explain"]
