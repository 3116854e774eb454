"""Reads the verdict of one output off its evidence.  The rules are docs/verdicts.md, strongest first.

Takes Evidence and what `real` says; gives a Verdict.  Must not run anything.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import isfinite

from equivalence.evaluator import Freedoms
from equivalence.evaluator.freedoms import Choice
from equivalence.judge.evidence import Evidence
from equivalence.verdicts import Level, Verdict
from lowering.errors import UNKNOWN_SPAN, Span

CAP = "cap"  # the kind of a loop's bound that no run has reached: no choice, but nothing `real` has seen


@dataclass(slots=True)
class RealState:
    """What the `real` runs of a pair leave open: sites with an outcome never seen; opaque operations."""

    available: bool = False
    late: bool = False  # time was out before all of it was run
    sites: set[Span] = field(default_factory=set)  # decisions that were steered toward all their outcomes
    unread: bool = False  # float data choose elements of arrays that the other side does not have
    unseen: list[tuple[Span, str]] | None = None
    random: bool = False
    steered: bool = False  # the hosts draw unlike numbers, and may go on by them
    delta: dict[str, float] | None = None  # outputs whose real functions were shown to differ: by how much
    opaque: tuple[str, Span] | None = None  # the first operation that `real` cannot see into


def level(evidence: Evidence, freedoms: Freedoms, real: RealState) -> Verdict:
    """The strongest level that the evidence supports."""
    alike = evidence.equal["exact"] or evidence.equal["reassociated"]
    if real.steered or (real.random and not alike):
        return Verdict(Level.UNDECIDED, reason="random streams: the numbers that the two sides draw cannot be matched")
    if evidence.witnessed:
        return _different(evidence)
    if evidence.contradiction:
        return Verdict(Level.UNDECIDED, reason=f"irverify contradicts itself: {evidence.contradiction}")
    raced = next((c for c in freedoms.of(evidence.freedoms_a | evidence.freedoms_b) if c.kind == "race"), None)
    if raced is not None:
        return Verdict(Level.UNDECIDED, reason=f"a race: {raced.what}", site=raced.span, n_inputs=evidence.tests)
    host = _host_read(evidence, freedoms)
    if host is not None:
        return Verdict(Level.UNDECIDED, reason=f"region: {host.what}", site=host.span, n_inputs=evidence.tests)
    if evidence.undefined_a or evidence.undefined_b:
        side = "both sides" if evidence.undefined_a and evidence.undefined_b else ("A" if evidence.undefined_a else "B")
        return Verdict(Level.UNDECIDED, reason=f"an undefined value may reach {evidence.name} on {side}")
    if evidence.undetermined is not None:
        said, span = evidence.undetermined
        return Verdict(Level.UNDECIDED, reason=f"an open order: {said}", site=span, n_inputs=evidence.tests)
    if evidence.equal["exact"] and _fixed(evidence, freedoms):
        return Verdict(Level.BITWISE, n_inputs=evidence.tests)
    if evidence.equal["exact"] or evidence.equal["reassociated"]:
        return Verdict(Level.REASSOCIATED, n_inputs=evidence.tests)
    return _weaker(evidence, real, freedoms)


def _fixed(evidence: Evidence, freedoms: Freedoms) -> bool:
    """Every open choice is the same site on both sides, hence made alike; a race is never made alike."""
    sides = [{c for c in freedoms.of(bits) if c.kind != CAP} for bits in (evidence.freedoms_a, evidence.freedoms_b)]
    return sides[0] == sides[1] and all(choice.kind not in ("racing", "race") for choice in sides[0])


def _host_read(evidence: Evidence, freedoms: Freedoms) -> Choice | None:
    """A place where a host looks at data; one line of one file goes on alike on both sides, two sources may not."""
    sides = [{c for c in freedoms.of(bits) if c.kind == "host"} for bits in (evidence.freedoms_a, evidence.freedoms_b)]
    unlike = [c for c in sides[0] | sides[1] if c.span is UNKNOWN_SPAN or c not in sides[0] & sides[1]]
    return min(unlike, key=lambda c: c.key, default=None)


def _different(evidence: Evidence) -> Verdict:
    failure = evidence.witnessed[0]
    where = f"{evidence.name}[{', '.join(map(str, failure.index))}]"
    if failure.kind == "undefined":
        reason = f"{where} depends on an undefined value: {failure.value_a:.9g} against {failure.value_b:.9g}"
    else:
        reason = (
            f"{where} is {failure.value_a:.9g} in A and {failure.value_b:.9g} in B "
            f"({failure.label} inputs; rounding explains at most {failure.bound:.3g})"
        )
    return Verdict(Level.DIFFERENT, reason=reason, n_inputs=evidence.tests)


def _weaker(evidence: Evidence, real: RealState, freedoms: Freedoms) -> Verdict:
    if evidence.of_integers and evidence.max_abs > 0 and not isfinite(evidence.bound_a + evidence.bound_b):
        reason = (
            f"a bound: {evidence.name} differs by {evidence.max_abs:.9g}, and no error bound is known that explains it"
        )
        return Verdict(Level.UNDECIDED, reason=reason, n_inputs=evidence.tests)
    shown = real.available and evidence.real_runs and not evidence.real_mismatch and not evidence.integer_values
    if evidence.of_integers and not (shown and evidence.symbolic):
        reason = "the two agree for the given integer inputs; other values were not compared"
        return Verdict(Level.TESTED, reason=reason, n_inputs=evidence.tests)
    if real.available and evidence.real_runs and not evidence.real_mismatch:
        if real.unseen:
            span, outcome = real.unseen[0]
            reason = f"region: {outcome} was never seen at {span}" + (" (out of time)" if real.late else "")
            return Verdict(Level.UNDECIDED, reason=reason, site=span, n_inputs=evidence.tests)
        if real.unread:
            reason = "region: data choose elements to read, and those that no tested value chose were not all compared"
            return Verdict(Level.UNDECIDED, reason=reason, n_inputs=evidence.tests)
        capped = next((c for c in freedoms.of(evidence.freedoms_a | evidence.freedoms_b) if c.kind == CAP), None)
        if capped is not None:
            return Verdict(Level.UNDECIDED, reason=f"region: {capped.what}", site=capped.span, n_inputs=evidence.tests)
        if evidence.integer_values:
            reason = "equal for the given values of the integer inputs; nothing is proved for others"
            return Verdict(Level.TESTED, reason=reason, n_inputs=evidence.tests)
        return Verdict(Level.REAL, strength="evidence", n_inputs=evidence.tests)
    delta = (real.delta or {}).get(evidence.name)
    if delta is not None:
        return Verdict(
            Level.CLOSE,
            delta=delta,
            n_inputs=evidence.tests,
            reason="the real functions differ, but no tested input shows it",
        )
    if evidence.real_mismatch and real.opaque is not None:
        name, span = real.opaque
        return Verdict(Level.UNDECIDED, reason=f"opaque: {name}", site=span, n_inputs=evidence.tests)
    if real.late and not real.available and not evidence.real_mismatch:
        reason = "out of time before the two could be shown to be one real function; no tested input tells them apart"
        return Verdict(Level.TESTED, reason=reason, n_inputs=evidence.tests)
    return Verdict(
        Level.TESTED,
        reason="the two could not be shown to be one real function; no tested input tells them apart",
        n_inputs=evidence.tests,
        site=None if not evidence.path_differs else UNKNOWN_SPAN,
    )
