"""The test framework registered as 'fake', files written from text, and a judge that says what it is told."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from equivalence.verdicts import Level, OutputResult, Report, ShapeResult, Verdict
from irverify import _capture, frameworks, orchestrate
from irverify.cli import main
from irverify.collect import Collected

Write = Callable[[str, str], Path]
Run = Callable[..., Result]


@pytest.fixture(autouse=True)
def fake_framework(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(_capture.ADAPTERS, "fake", "tests.tool.fake_adapter:FakeAdapter")
    monkeypatch.setitem(frameworks._ROOTS, "tests", "fake")
    monkeypatch.setattr(frameworks, "_SUPPORTED", (*frameworks._SUPPORTED, "fake"))


@pytest.fixture(autouse=True)
def _forked(forked_workers: None) -> None:
    """Every test of the tool."""


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes a file whose first line imports the fake framework."""

    def writer(name: str, text: str) -> Path:
        path = tmp_path / name
        path.write_text("import tests.tool.fake_adapter as fake\n" + textwrap.dedent(text))
        return path

    return writer


@pytest.fixture
def judged_at(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[Collected]]:
    """Replaces the judge by a fixed verdict; gives the list of what the judge was handed."""

    def install(level: Level, **changes: Any) -> list[Collected]:
        seen: list[Collected] = []

        def judge(collected: Collected, _options: Any, _given: Any = None) -> Report:
            seen.append(collected)
            verdict = Verdict(level)
            shapes = [ShapeResult(variant.shapes, level, variant.label) for variant in collected.variants]
            report = Report(verdict, [OutputResult("out0", "float32", (3, 5), verdict)], shapes=shapes)
            for name, value in changes.items():
                setattr(report, name, value)
            return report

        monkeypatch.setattr(orchestrate, "judged", judge)
        return seen

    return install


@pytest.fixture
def run() -> Run:
    """Runs the command line in this process; the subjects still run in their own."""

    def runner(*words: Any) -> Result:
        return CliRunner().invoke(main, [str(word) for word in words], catch_exceptions=False)

    return runner
