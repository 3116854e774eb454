"""Exit codes: 0 good enough, 1 different or below, 2 usage, 3 undecided or unsupported, 4 internal error.

Takes a Report; gives the code and the sentence that says why.
"""

from __future__ import annotations

from enum import IntEnum

from equivalence.verdicts import Level, Report


class ExitCode(IntEnum):
    """The process's exit status."""

    GOOD = 0  # meets --require, with error bounds within tolerance
    BELOW = 1  # different, or a weaker verdict than --require, or a bound beyond the tolerance
    USAGE = 2  # something to fix in the command or the file
    OPEN = 3  # undecided or unsupported
    INTERNAL = 4  # a bug of irverify


def exit_code_of(report: Report) -> ExitCode:
    """An error-severity finding (order-sensitive, precision-lost) means a bound beyond the tolerance."""
    level = report.verdict.level
    if level is Level.DIFFERENT:
        return ExitCode.BELOW
    if level in (Level.UNDECIDED, Level.UNSUPPORTED):
        return ExitCode.OPEN
    beyond = any(finding.severity == "error" for finding in report.findings)
    return ExitCode.BELOW if level < report.require or beyond else ExitCode.GOOD


def reason_for(report: Report) -> str:
    """The exit code in words."""
    level, wanted = report.verdict.level, report.require
    if level is Level.DIFFERENT:
        return "the two differ"
    if level in (Level.UNDECIDED, Level.UNSUPPORTED):
        return f"{level} is no verdict on the pair"
    if level < wanted:
        return f"{level} is below the required {wanted}"
    errors = [finding.code for finding in report.findings if finding.severity == "error"]
    if errors:
        return f"{level} meets the required {wanted}, but: {', '.join(dict.fromkeys(errors))}"
    return f"{level} meets the required {wanted}"
