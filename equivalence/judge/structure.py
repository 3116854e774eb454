"""Facts that need no arithmetic: outputs of another number, dtype or shape.

Takes pairs; gives a Verdict when the two cannot be the same function at all.
"""

from __future__ import annotations

from equivalence.judge.runs import Pair
from equivalence.verdicts import Divergence, Level, OutputResult, Verdict, Witness
from lowering.errors import Span
from lowering.ir.program import Program, Value


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


def scaled(given: Pair, pair: Pair) -> bool:
    """Whether sizes that are equal among the given inputs are equal in ``pair`` too."""
    becomes: dict[int, int] = {}
    for name, x in given.inputs.items():
        other = pair.inputs.get(name)
        if other is None or other.ndim != x.ndim:
            return False
        if any(becomes.setdefault(old, new) != new for old, new in zip(x.shape, other.shape, strict=True)):
            return False
    return True


def divergence(pair: Pair) -> Divergence | None:
    """Where each side makes the first output whose type differs: its allocation, or the operation that gives it."""
    for (name, a), (_, b) in zip(pair.a.outputs, pair.b.outputs, strict=True):
        if a.type != b.type:
            return Divergence(origin(pair.a, a), origin(pair.b, b), f"A makes {name} as {a.type}, B as {b.type}")
    return None


def origin(program: Program, output: Value) -> Span | None:
    """The place that fixed the output's type."""
    makers = {value: op for op in program.body.walk() for value in op.results}
    op = makers.get(output)
    while op is not None and op.operands and (op.name in ("read", "reshape", "addptr") or not op.span.line):
        op = makers.get(op.operands[0])
    return op.span if op is not None and op.span.line else None
