"""Facts that need no arithmetic: outputs of another number, dtype or shape.

Takes pairs; gives a Verdict when the two cannot be the same function at all.
"""

from __future__ import annotations

from equivalence.judge.runs import Pair
from equivalence.verdicts import Level, OutputResult, Verdict, Witness


def mismatch(pair: Pair) -> tuple[OutputResult, Witness] | None:
    """The first output whose dtype or shape differs, as `different` with the given inputs as its witness."""
    for (name, a), (_, b) in zip(pair.a.outputs, pair.b.outputs, strict=True):
        if a.type == b.type:
            continue
        what = "dtype" if a.type.dtype is not b.type.dtype else "shape"
        reason = f"{name} is {a.type} in A and {b.type} in B: another {what}"
        result = OutputResult(name, str(a.type.dtype), a.type.shape, Verdict(Level.DIFFERENT, reason=reason))
        return result, Witness(dict(pair.inputs), (), str(a.type), str(b.type), 0.0, "the captured programs", name)
    return None
