"""What a pair that is `reassociated` is equal up to, in words.

Takes the evidence of one output and the open choices; gives phrases, for the verdict's sentence.
"""

from __future__ import annotations

from collections.abc import Sequence

from equivalence.evaluator import Freedoms
from equivalence.evaluator.freedoms import Choice
from equivalence.judge.evidence import Evidence
from equivalence.judge.runs import Pair
from lowering.ir.program import Op

ACCUMULATION = "the order of accumulation"
LAWS = "the laws for zeros, maxima and fused products that `reassociated` grants"
_KINDS = {
    "contraction": "which products are fused into additions",
    "intrinsic": "the accuracy of intrinsics",
    "lanes": "the order of lanes",
    "racing": "the order in which instances write",
}


def phrases(evidence: Evidence, freedoms: Freedoms, pairs: Sequence[Pair]) -> list[str]:
    """The choices that the two sides need not make alike, and the order of terms where the words need that too."""
    sides = [set(freedoms.of(bits)) for bits in (evidence.freedoms_a, evidence.freedoms_b)]
    both = sorted(sides[0] | sides[1], key=lambda choice: (choice.kind, choice.key))
    words = [_words(choice) for choice in both if choice.kind == "racing" or choice in sides[0] ^ sides[1]]
    words = [word for word in words if word]
    if not evidence.equal["exact"]:
        given = pairs[0]
        accumulates = any(_accumulates(op) for program in (given.a, given.b) for op in program.walk())
        words = [ACCUMULATION, *words] if accumulates else words or [LAWS]
    return list(dict.fromkeys(words))


def _words(choice: Choice) -> str:
    if choice.kind != "order":
        return _KINDS.get(choice.kind, "")
    if choice.what.startswith("which of several equal extrema"):
        return "which of equal extrema is named"
    if choice.what == "the order of equal keys":
        return choice.what
    if "sign of a zero" in choice.what:
        return "the order of maxima and minima, which only the sign of a zero can show"
    return ACCUMULATION


def _accumulates(op: Op) -> bool:
    """Whether it adds or multiplies floats, once or along an axis: what an order of terms can be told of."""
    results = [value.type.dtype for value in op.results] or [value.type.dtype for value in op.operands]
    if not any(dtype.is_float for dtype in results):
        return False
    return op.name in ("add", "sub", "fma", "dot", "scan") or op.attrs.get("combine", "max") not in (
        "max",
        "min",
        "argmax",
        "argmin",
    )
