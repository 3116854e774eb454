"""The numbers and rules that docs/verdicts.md states are those of the code."""

from __future__ import annotations

import math
import re

from equivalence.fields.mersenne import MASK
from equivalence.fields.primes import SAFE_PRIMES
from equivalence.judge import realjudge, sensitivity, truth
from equivalence.judge.conclusions import SHRINK_SECONDS
from equivalence.judge.differential import MOST_ELEMENTS
from equivalence.verdicts import Finding, Level, Report, Verdict
from irverify.exits import exit_code_of
from irverify.options import SPECIALS
from tests.docs.blocks import ROOT

TEXT = (ROOT / "docs" / "verdicts.md").read_text()
PROSE = " ".join(TEXT.split())
README = (ROOT / "README.md").read_text()


def table(text: str, title: str) -> dict[str, str]:
    """First and second cells of the table whose first header is ``title``."""
    rows = re.search(rf"^\| {re.escape(title)} \|.*\n\|[-| ]+\n((?:\|.*\n)+)", text, re.MULTILINE)
    assert rows is not None
    cells = [[cell.strip(" `") for cell in line.strip("|\n").split("|")] for line in rows[1].splitlines()]
    return {row[0]: row[1] for row in cells}


def test_every_verdict_is_there_strongest_first() -> None:
    levels = [level.value for level in Level]
    for text in (TEXT, README):
        assert [re.sub(r"\(.*", "", name) for name in table(text, "verdict")] == levels


def test_tolerances() -> None:
    stated = table(TEXT, "output")
    coarse = float(stated.pop("8-bit formats"))
    assert {name: float(value) for name, value in stated.items()} == sensitivity.DEFAULT_TOLERANCE
    assert coarse == sensitivity.allowed("f8e4m3fn", None)


def test_exit_codes() -> None:
    assert set(table(TEXT, "code")) == {"0", "1", "2", "3", "4"}
    beyond = Finding("precision-lost", "", severity="error")
    codes = {level: int(exit_code_of(Report(Verdict(level)))) for level in Level}
    assert codes == {
        Level.BITWISE: 0, Level.REASSOCIATED: 0, Level.REAL: 0, Level.CLOSE: 1, Level.TESTED: 1, Level.UNDECIDED: 3,
        Level.UNSUPPORTED: 3, Level.DIFFERENT: 1,
    }  # fmt: skip
    assert int(exit_code_of(Report(Verdict(Level.BITWISE), findings=[beyond]))) == 1


def test_special_modes() -> None:
    assert {name.split("`")[0] for name in table(TEXT, "`--special`")} == set(SPECIALS)


def test_false_equal() -> None:
    assert int(MASK) == 2**61 - 1
    assert f"{1e10 * 2.0**-58:.1e}" == "3.5e-08" and "3.5 · 10⁻⁸" in PROSE
    assert f"{1e10 * 2.0**-61:.1e}" == "4.3e-09" and "4.3 · 10⁻⁹" in PROSE


def test_primes_of_real() -> None:
    exponents = [f"{math.log2(p):.1f}" for p in (min(SAFE_PRIMES), max(SAFE_PRIMES))]
    assert exponents == ["25.4", "26.0"] and "between 2^25.4 and 2^26.0" in PROSE
    assert f"{math.log2((min(SAFE_PRIMES) - 1) // 2):.1f}" == "24.4"
    assert (len(SAFE_PRIMES), realjudge.PRIMES) == (12, 3)
    assert "Twelve safe primes" in PROSE and "the seed picks three" in PROSE


def test_limits() -> None:
    assert MOST_ELEMENTS == 1 << 22 and "2²² elements" in PROSE
    assert truth.MOST_ELEMENTS == 1 << 19 and "2¹⁹ input elements" in PROSE
    assert SHRINK_SECONDS == 2.0 and "at most two seconds" in PROSE
