"""Views in host code: strides, offsets, aliases and grids made of them, each against what it should be."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch

from equivalence.judge import judge
from equivalence.verdicts import Level, Report
from irverify.exits import exit_code_of
from irverify.options import CompareOptions
from irverify.pairing import pair_programs
from lowering.pipeline import lower
from tests.capture.conftest import SUBJECTS

X = np.linspace(-2, 3, 35, dtype=np.float32).reshape(5, 7)
OPTIONS = CompareOptions(a="a.py", b="b.py")
Host = Callable[[torch.Tensor], Any]


@pytest.fixture
def views(session: Any) -> ModuleType:
    return session.import_file(SUBJECTS / "views.py")


def judged(session: Any, a: Host, b: Host) -> Report:
    programs = [lower(session.capture(function, [X])) for function in (a, b)]
    pair_programs(programs[0], programs[1], ("a.py", "b.py"))
    return judge(programs[:1], programs[1:], [{"x": X}], OPTIONS)


def updated(x: torch.Tensor) -> torch.Tensor:
    x[1:3].mul_(2)
    return x


RIGHT: dict[str, Host] = {
    "expanded": lambda x: x[0].expand(5, 7) * 2,
    "columns": lambda x: x[:, 2:] * 2,
    "update_of_a_view": updated,
    "grid_from_a_stride": lambda x: x * 2,
    "twice_with_other_grids": lambda x: x * 2,
}
WRONG: dict[str, Host] = {
    "expanded_taken_for_dense": RIGHT["expanded"],
    "columns_taken_for_dense": RIGHT["columns"],
    "update_of_a_view": lambda x: x[2:4].mul_(2),
    "grid_from_a_stride_of_a_view": lambda x: x[:, :4] * 2,
    "a_part_again": lambda x: x * 2,
}


@pytest.mark.parametrize("name", RIGHT)
def test_views_read_by_their_strides(session: Any, views: ModuleType, name: str) -> None:
    assert judged(session, getattr(views, name), RIGHT[name]).verdict.level is Level.BITWISE


@pytest.mark.parametrize("name", WRONG)
def test_views_misread(session: Any, views: ModuleType, name: str) -> None:
    assert judged(session, getattr(views, name), WRONG[name]).verdict.level is Level.DIFFERENT


@pytest.mark.parametrize("name", ["before_its_output", "atomics_beyond_its_output"])
def test_writes_outside_of_an_output(session: Any, views: ModuleType, name: str) -> None:
    """In B alone, and where nothing else is wrong: never good enough."""
    wanted: dict[str, Host] = {
        "before_its_output": lambda x: torch.cat([x.view(-1)[1:], torch.zeros(1, device=x.device)]),
        "atomics_beyond_its_output": lambda x: x.view(-1) * 1.0,
    }
    report = judged(session, wanted[name], getattr(views, name))
    assert exit_code_of(report) != 0
    assert ("out-of-bounds", "error") in [(finding.code, finding.severity) for finding in report.findings]


def written_in_b(x: torch.Tensor) -> torch.Tensor:
    y = x * 2
    x.zero_()
    return y


def shared_outputs(copied: bool) -> Host:
    def run(x: torch.Tensor) -> Any:
        y = x * 2
        z = y[0].clone() if copied else y[0]
        y[0].add_(1)
        return y, z

    return run


def test_what_is_written_counts_whoever_holds_it(session: Any) -> None:
    assert judged(session, lambda x: x * 2, written_in_b).verdict.level is Level.DIFFERENT
    assert judged(session, shared_outputs(False), shared_outputs(True)).verdict.level is Level.DIFFERENT
    assert judged(session, shared_outputs(True), shared_outputs(True)).verdict.level is Level.BITWISE


def test_an_alias_of_an_argument_is_noted(session: Any) -> None:
    said = "out0 shares the memory of the argument x"
    assert said in session.capture(lambda x: x.view(-1), [X]).notes
    assert said not in session.capture(lambda x: x.clone(), [X]).notes


def test_a_view_without_elements(session: Any) -> None:
    strided = np.lib.stride_tricks.as_strided(np.arange(80, dtype=np.float32)[16:], (3, 7), (80, 4))
    programs = [lower(session.capture(f, [strided])) for f in (lambda x: x[:0] * 2, lambda x: x[:0])]
    report = judge(programs[:1], programs[1:], [{"x": np.ascontiguousarray(strided)}], OPTIONS)
    assert report.verdict.level is Level.BITWISE
