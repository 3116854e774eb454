"""Where and how two programs part: runs both with lane numbers, matches the cones of one element, asks the rules.

Takes two Programs, their inputs and the level they failed to reach; gives an Explanation.  Must not decide verdicts.
"""

from __future__ import annotations

import re
from dataclasses import replace

from equivalence.divergence import (
    rules_outputs,
    rules_reads,
    rules_repaired,
    rules_rounding,
    rules_steps,
    rules_undefined,
    rules_values,
)
from equivalence.divergence.finding import Context, Explanation, Rule, said
from equivalence.divergence.operands import parted, partners, words
from equivalence.divergence.repair import grafted
from equivalence.divergence.runs import Inputs, Runs, Wanted
from lowering.ir.program import Program

NOTHING = "no value differs at these inputs: only orders and roundings that a source leaves open do"
#: In order of trust: what reaches the result, then what is computed from it; a missing step is what is left.
BY_VALUE: list[Rule] = [
    rules_values.born_not_finite, rules_steps.other_operation, *rules_undefined.RULES, *rules_repaired.RULES,
    *rules_reads.RULES, rules_steps.ties, *rules_values.RULES, *rules_steps.RULES, *rules_rounding.RULES,
    rules_values.extra_eps, rules_steps.missing_step, rules_steps.other_value,
    rules_values.not_finite,
]  # fmt: skip
#: Where the values agree and only fingerprints differ, roundings and orders come before everything computed.
BY_WORD: list[Rule] = [
    *rules_undefined.RULES, *rules_reads.RULES, *rules_rounding.RULES,
    rules_steps.other_operation, rules_values.constants, rules_values.eps_place, rules_steps.functions,
    rules_steps.other_function, rules_steps.implementations, rules_steps.casts, rules_values.extra_eps,
]  # fmt: skip

#: What only programs of different functions can differ in.
OF_VALUES: list[Rule] = [
    *rules_undefined.RULES, *rules_reads.RULES, rules_values.extra_eps, rules_values.eps_place,
]  # fmt: skip


def explain(
    program_a: Program,
    program_b: Program,
    inputs_a: Inputs,
    inputs_b: Inputs,
    output_index: int | None = None,
    element: tuple[int, ...] | None = None,
    *,
    level_wanted: Wanted = "real",
    seed: int = 0,
) -> Explanation:
    """The earliest place where the two part, at the given output element or one that shows it more simply."""
    runs = Runs.of(program_a, program_b, inputs_a, inputs_b, level_wanted, seed)
    found = rules_outputs.types(runs.a, runs.b)
    if found is None and _written(runs, output_index):
        found = rules_outputs.overwritten(runs.a, runs.b) or mirrored(rules_outputs.overwritten(runs.b, runs.a))
    return found or _explained(runs.telling(), output_index, element)


def _written(runs: Runs, index: int | None) -> bool:
    """Whether what is written, not what is returned, is all that differs: a result that differs says more."""
    names = list(runs.a.outputs)
    if index is not None:
        return names[index].startswith("written:")
    return not any(runs.parts(position) for position, name in enumerate(names) if not name.startswith("written:"))


def _explained(runs: Runs, index: int | None, element: tuple[int, ...] | None) -> Explanation:
    """B is suspected first; where nothing is known against it, A."""
    context = runs.context(index, element)
    if context is None:
        return said("other", None, None, NOTHING)
    position = list(runs.a.outputs).index(context.name)
    found = ask(context)
    if found is None:
        other = runs.mirrored().context(position, context.element, only=True)
        found = mirrored(ask(other)) if other is not None else None
    found = found or _fallback(context)
    a = found.a or rules_outputs.made(runs.a, context.name)
    return replace(found, a=a, b=found.b or rules_outputs.made(runs.b, list(runs.b.outputs)[position]))


def ask(context: Context) -> Explanation | None:
    """What the first rule says that has something to say."""
    rules = BY_VALUE if context.by_value else [r for r in BY_WORD if not (context.same_function and r in OF_VALUES)]
    return next((e for e in (rule(context) for rule in rules) if e is not None), None)


def mirrored(found: Explanation | None) -> Explanation | None:
    """The same with A and B exchanged; source text in backquotes stays."""
    if found is None:
        return None
    parts = found.what.split("`")
    parts[::2] = [re.sub(r"\b[AB]\b", lambda m: "B" if m[0] == "A" else "A", part) for part in parts[::2]]
    return Explanation(found.b, found.a, "`".join(parts), found.kind)


def _fallback(c: Context) -> Explanation:
    """A step that alone explains the difference; else no more than the lines from which on nothing is known."""
    if c.by_value:
        for a, b in partners(c):
            if grafted(c, [b], [a]):
                computed = [f"{words(n)} ({n.value:.7g})" for n in (a, b)]
                what = f"A computes {computed[0]} where B computes {computed[1]}; with A's value B agrees"
                return said("other", a.made, b.made, what)
    what = "from these lines on the values differ"
    if not c.by_value:
        what = "the values agree; from these lines on the two compute them by another formula or in another order"
    return said("other", parted(c.a, c.first_a()), parted(c.b, c.first_b()), what)
