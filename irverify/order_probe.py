"""``irverify order --probe``: the order that the real library uses here, and what the subject's IR promises of it.

Takes a subject, a number of terms, a dtype and a target; gives Revealed: text lines and plain data for JSON.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from irverify.options import CompareOptions
from irverify.order import SCHEMA
from irverify.probing import probe
from lowering.errors import IrverifyError

if TYPE_CHECKING:
    from equivalence.order.relation import Relation
    from irverify.probing import Probed


@dataclass(frozen=True, slots=True)
class Revealed:
    """A measured order; ``promised`` relates the one of the IR (A) to the measured one (B), where there is one."""

    probed: Probed
    promised: Relation | None
    why_not: str = ""

    def lines(self) -> Iterator[str]:
        from equivalence.order.naming import name
        from equivalence.order.render import text

        found = self.probed
        yield f"{found.subject}  {found.n} terms of {found.dtype}, measured with {found.version}"
        yield f"  {name(found.tree)}"
        yield f"  found in {found.runs} calls and {found.seconds:.2f} s; {self._agreement()}"
        yield from self._exponentials()
        yield from self._left_open()
        if self.promised is not None:
            yield f"  promised: {self.promised.a}"
            yield f"  measured: {self._filled()}"
        elif self.why_not:
            yield f"  what its IR promises is not known: {self.why_not}"
        yield ""
        yield from (f"  {line}" for line in text(found.tree).splitlines())

    def _exponentials(self) -> Iterator[str]:
        """What a softmax hides: exp itself is part of every random result."""
        found = self.probed
        if not found.exp:
            return
        said = (
            f"with exponentials as {found.exp} gives them, every bit of {found.whole} of {found.trials} random inputs"
        )
        if found.whole == found.trials:
            yield f"  {said}"
        elif found.read is None:
            yield f"  {said}; its own exp is not {found.exp}, and cannot be read from its results"
        else:
            yield f"  {said}; its own exp is not {found.exp}"
            yield f"  with exponentials read from its results, every bit of {found.read} of {found.trials} inputs"

    def _left_open(self) -> Iterator[str]:
        """'StableHLO leaves it open; jax 0.10, cpu does pairwise(...) here'."""
        from equivalence.order.naming import name

        found, framework = self.probed, _framework(self.probed)
        by = None
        if self.promised is not None:
            by = _OPEN.search(str(self.promised.a))
        elif not self.why_not and framework in _LEVELS and not found.subject.partition(":")[0].endswith(".py"):
            yield f"  {_LEVELS[framework]} leaves it open; {found.version} does {name(found.tree)} here"
        if by is not None:
            who = _LEVELS.get(framework, by[1]) if by[1].startswith("one ") else by[1]
            yield f"  {who} leaves it open; {found.version} does {name(found.tree)} here"

    def _agreement(self) -> str:
        found = self.probed
        if found.exp:
            masked = f"it gives the same bits on {found.verified} of {found.trials} inputs"
            return f"{masked} whose exponentials are 1, 0 or half a unit in 1's last place"
        said = f"it gives the same bits on {found.verified} of {found.trials} random inputs"
        return said if found.first is None else f"{said} (the first other one: {found.of_subject}, {found.of_tree})"

    def _filled(self) -> str:
        assert self.promised is not None
        return {
            "same": "as promised",
            "b refines a": "one way to fill in what is left open",
            "a refines b": "leaves open what is promised",
            "not deterministic": "one of the orders that may be taken",
        }.get(self.promised.kind, f"another order than the one promised: {self.promised.sentence}")

    def data(self) -> dict[str, Any]:
        from equivalence.order.naming import name

        found = self.probed
        return {
            "schema": SCHEMA,
            "subject": found.subject,
            "terms": found.n,
            "dtype": found.dtype,
            "order": str(name(found.tree)),
            "calls": found.runs,
            "seconds": round(found.seconds, 6),
            "verified": found.verified,
            "trials": found.trials,
            "version": found.version,
            **({"exp": found.exp, "whole": found.whole, "read": found.read} if found.exp else {}),
            "promised": None if self.promised is None else str(self.promised.a),
            "relation": None if self.promised is None else self.promised.kind,
        }


#: By framework: the level whose text leaves the order of its sums and products open.
_LEVELS = {"torch": "ATen", "jax": "StableHLO"}
_OPEN = re.compile(r"left open by ((?:one )?\w+)")


def _framework(found: Probed) -> str:
    return found.version.partition(" ")[0]


def reveal(options: CompareOptions, terms: int, dtype: str, target: str) -> Revealed:
    """Probes ``options.a`` where ``target`` says, 'cpu' or 'cuda'."""
    found = probe(options.a, terms, dtype, target, seed=options.seed, timeout=options.timeout, memory=options.memory)
    if not options.a.partition(":")[0].endswith(".py"):
        return Revealed(found, None)
    try:
        return Revealed(found, _promise(options, found))
    except IrverifyError as error:  # what was measured stands without it
        return Revealed(found, None, str(error).splitlines()[0])


def _promise(options: CompareOptions, found: Probed) -> Relation | None:
    from equivalence.order.element import element, run
    from equivalence.order.relation import relate
    from irverify.lower import program_of

    specs = (f"{found.dtype}[{found.n}]",) * (2 if found.tree.products else 1)
    one = program_of(replace(options, inputs=specs), None)
    named = element(run(one.program, one.inputs, options.seed)).named
    return relate(named[0].accumulation.tree, found.tree) if named else None
