"""What a kernel promises its compiler: looked at in every run, in the instances that come to it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from equivalence.judge import judge
from equivalence.verdicts import Level, Report
from lowering.ir.program import Program
from lowering.ir.types import I32
from tests.semantics.programs import arrays, launched, options

SIZE, BLOCK = 12, 4


def blocks(multiple: int, of: str = "place", kind: str = "promise", under: int = 3) -> Program:
    """x + x in blocks of 4; promised is that the place of each block, or its first element, is such a multiple.

    ``under``: instances from that number on make no promise.
    """

    def body(k: Any, x: Any, out: Any) -> None:
        b = k.b
        place = b("mul", b("program_id", axis=0), b.constant(BLOCK, I32))
        lanes = b("add", b.broadcast(place, (BLOCK,)), b("iota", to="i32", shape=(BLOCK,)))
        value = b("load", b("addptr", b.broadcast(x, (BLOCK,)), lanes, bytes=4), to="f32")
        b.op("store", [b("addptr", b.broadcast(out, (BLOCK,)), lanes, bytes=4), b("add", value, value)])

        def promised() -> list[Any]:
            first = b("load", b("addptr", x, place, bytes=4), to="f32")
            rest = b("rem", place, b.constant(multiple, I32))
            held = b.cmp("eq", rest, b.like(0, rest)) if of == "place" else b.cmp("gt", first, b.like(1e9, first))
            b.op("promise", [held], what="what is said", kind=kind)
            return []

        asked = b.cmp("lt", b("program_id", axis=0), b.constant(under, I32))
        b.op("if", [asked], [b.region([], promised), b.region([], list)])

    return launched(body, f"f32[{SIZE}]", out=f"f32[{SIZE}]", grid=SIZE // BLOCK)


def report(a: Program, b: Program) -> Report:
    with np.errstate(all="ignore"):
        return judge([a], [b], [arrays(1, f"f32[{SIZE}]")], options())


@pytest.mark.parametrize(("kind", "code"), [("promise", "false-promise"), ("assert", "assert-fails")])
def test_what_one_side_alone_says_wrongly_is_its_error(kind: str, code: str) -> None:
    found = report(blocks(4), blocks(8, kind=kind))
    assert found.verdict.level is Level.BITWISE
    assert [(f.code, f.severity, f.message[:2]) for f in found.findings] == [(code, "error", "B:")]


def test_what_both_say_wrongly_is_a_warning() -> None:
    assert {(f.code, f.severity) for f in report(blocks(8), blocks(8)).findings} == {("false-promise", "warning")}


@pytest.mark.parametrize("right", [blocks(4), blocks(2), blocks(8, under=1), blocks(8, of="element")])
def test_what_is_so_and_what_is_not_come_to_is_no_finding(right: Program) -> None:
    """Instance 0 stands at 0, a multiple of everything; elements are others on other inputs."""
    assert report(blocks(4), right).findings == []
