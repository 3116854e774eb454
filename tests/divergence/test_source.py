"""Spans of launches are refined to the argument, default or assignment that the number or buffer comes from."""

from __future__ import annotations

from pathlib import Path

import pytest

from equivalence.divergence.source import argument, constant
from lowering.errors import Span

TEXT = """\
def kernel(x_ptr, out_ptr, n, eps, SLOPE):
    out = x_ptr * SLOPE + 3.0


def host(x, eps=1e-5):
    n = x.numel()
    out = empty(n)
    kernel[(1,)](
        x, out,
        n, eps,
        SLOPE=0.1,
    )
    return out
"""
LAUNCH = 8


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "b.py"
    path.write_text(TEXT)
    return str(path)


@pytest.mark.parametrize(("position", "line"), [(0, 9), (1, 7), (2, 6), (3, 5)])
def test_arguments(file: str, position: int, line: int) -> None:
    """A parameter, an assigned name twice, a default."""
    assert argument(Span(file, LAUNCH), position, 4).line == line


def test_a_folded_argument_makes_positions_open(file: str) -> None:
    """With three operands for four arguments, operand 1 is on line 9 or 10: the launch itself is named."""
    assert argument(Span(file, LAUNCH), 1, 3).line == LAUNCH


def test_constants(file: str) -> None:
    launch = Span(file, LAUNCH)
    assert constant(Span(file, 2), 3.0, launch).line == 2
    assert constant(Span(file, 2), 0.1, launch).line == 11
    assert constant(Span(file, 2), 0.25, launch).line == 2
    assert constant(Span(file, 2), 0.1, None).line == 2


def test_no_file() -> None:
    span = Span("gone.py", 3)
    assert argument(span, 0, 1) == span and constant(span, 1.0, span) == span
