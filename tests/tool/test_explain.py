"""The explain command."""

from __future__ import annotations

import pytest

from equivalence.verdicts import Level
from irverify.explain import REGISTRY
from tests.tool.conftest import Run


@pytest.mark.parametrize("code", sorted(REGISTRY))
def test_every_entry_is_whole(code: str, run: Run) -> None:
    result = run("explain", code)
    assert result.exit_code == 0
    for title in ("What it means", "Why", "Example", "What to do"):
        assert title in result.stdout


def test_every_verdict_word_is_explained() -> None:
    assert {level.value for level in Level} <= REGISTRY.keys()


def test_unknown_code_gets_suggestions(run: Run) -> None:
    result = run("explain", "reasociated")
    assert result.exit_code == 2 and "did you mean reassociated" in result.stderr


def test_without_a_code_all_are_listed(run: Run) -> None:
    result = run("explain")
    assert result.exit_code == 0 and all(code in result.stdout for code in REGISTRY)
