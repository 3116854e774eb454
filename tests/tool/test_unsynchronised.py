"""Reads that do not wait for a copy, as findings: an error where one side alone has them."""

from __future__ import annotations

import pytest

from irverify import unsynchronised
from lowering.ir.builder import Builder
from lowering.ir.program import Program

LINE = "/there/b.py\t6\t5\ttolist()"


def program(*lines: str) -> Program:
    return Program(Builder().block, [], [], attrs={"unsynchronised": list(lines)} if lines else {})


def test_one_side_alone():
    (finding,) = unsynchronised.findings(([program()], [program(LINE), program(LINE)]), ("a.py", "b.py"))
    assert (finding.code, finding.severity) == ("unsynchronised-read", "error")
    assert finding.message.startswith("b.py: tolist() reads on the host what the non_blocking copy of line 5 may not")
    assert finding.span is not None and (finding.span.file, finding.span.line) == ("/there/b.py", 6)


@pytest.mark.parametrize(("lines", "severities"), [([LINE], ["warning", "warning"]), ([], [])])
def test_both_or_none(lines, severities):
    found = unsynchronised.findings(([program(*lines)], [program(*lines)]), ("a.py", "b.py"))
    assert [finding.severity for finding in found] == severities
