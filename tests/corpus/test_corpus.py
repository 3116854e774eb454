"""Every corpus pair as a~b, b~a and a~a: the verdict, the culprit's line and the findings that expect.toml states."""

from __future__ import annotations

from dataclasses import replace

import pytest

from equivalence.judge import judge
from equivalence.verdicts import Level, Report
from irverify.collect import Variant
from lowering.ir.parser import parse_program
from lowering.ir.printer import print_program
from tests.corpus.conftest import Captured
from tests.corpus.explained import missing
from tests.corpus.harness import Case, cases, doubled, swapped

every_pair = pytest.mark.parametrize("case", cases(), ids=lambda case: case.name)


def judged(case: Case, variants: list[Variant]) -> Report:
    return judge(
        [v.program_a for v in variants],
        [v.program_b for v in variants],
        [v.inputs for v in variants],
        case.options(),
    )


@every_pair
def test_verdict(case: Case, captured: Captured) -> None:
    report = judged(case, captured[case.name].variants)
    assert report.verdict.level is Level(case.expect["verdict"]), report.verdict.reason
    errors = {finding.code for finding in report.findings if finding.severity == "error"}
    if report.verdict.level is not Level.DIFFERENT:
        assert errors == ({case.expect["finding"]} if "finding" in case.expect else set())
    if report.verdict.level is Level.REASSOCIATED:
        assert not missing(report)
        silent = replace(report, orders=[], outputs=[replace(o, freedoms=[]) for o in report.outputs])
        assert missing(silent)  # of a report that names neither
    if "culprit" in case.expect:
        assert report.witness is not None
        assert report.divergence is not None and report.divergence.b is not None
        assert report.divergence.b.line == case.expect["culprit"]["line"], report.divergence.what


@every_pair
def test_the_other_way_round(case: Case, captured: Captured) -> None:
    """What is different one way is different the other way, and equality has the same strength."""
    report = judged(case, [swapped(v) for v in captured[case.name].variants])
    assert report.verdict.level is Level(case.expect["verdict"]), report.verdict.reason


@every_pair
def test_identity(case: Case, captured: Captured) -> None:
    """A program against itself is bitwise, unless something in it races."""
    given = doubled(captured[case.name].variants[0])
    report = judged(case, [given])
    races = any(op.name == "atomic_rmw" for op in given.program_a.walk())
    assert report.verdict.level is (Level.REASSOCIATED if races else Level.BITWISE), report.verdict.reason


@every_pair
def test_round_trip(case: Case, captured: Captured) -> None:
    for variant in captured[case.name].variants:
        for program in (variant.program_a, variant.program_b):
            text = print_program(program)
            assert print_program(parse_program(text)) == text


def test_enough_of_everything() -> None:
    """At least 40 pairs, a third of them different, at every level that exists now."""
    verdicts = [case.expect["verdict"] for case in cases()]
    assert len(verdicts) >= 40 and verdicts.count("different") * 3 >= len(verdicts)
    assert {"bitwise", "reassociated", "real", "close", "undecided", "different"} <= set(verdicts)
