"""What a call does to lists and dicts that it was given: a difference where the other side does not do the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from irverify import loading
from irverify._capture import CaptureOptions, load_adapter
from irverify.containers import root_of
from irverify.options import CompareOptions
from irverify.orchestrate import _briefly
from irverify.pairing import pair_programs
from irverify.values import ArrayValue
from lowering.ir.parser import parse_program
from lowering.ir.printer import print_program

SUBJECTS = Path(__file__).parents[1] / "capture" / "subjects" / "containers.py"


def arguments() -> list[tuple[None, Any]]:
    tensors = [ArrayValue(np.linspace(i, i + 1, 4, dtype=np.float32)) for i in range(4)]
    return [(None, tensors[0]), (None, tensors[1:3]), (None, {"m": tensors[3], "step": 3, "mode": "early"})]


@pytest.fixture(scope="module")
def captured():
    """Every subject once, as KIR."""
    adapter = load_adapter("irverify._capture_torch:TorchAdapter", CaptureOptions())
    with adapter.session():
        module = loading.load(SUBJECTS)
        names = [name for name, value in vars(module).items() if callable(value)]
        bound = {name: loading.bind(getattr(module, name), arguments(), name) for name in names}
        return {name: adapter.capture(getattr(module, name), bound[name]) for name in names}


@pytest.fixture
def different(captured):
    """The names of the outputs in which two subjects differ."""

    def of(*names: str) -> list[str]:
        a, b = (parse_program(captured[name].kir) for name in names)
        assert pair_programs(a, b, ("a.py", "b.py")) == []
        report = _briefly(CompareOptions(a="a.py", b="b.py"))(a, b, captured[names[0]].inputs)
        return [output.name for output in report.outputs if str(output.verdict.level) == "different"]

    return of


@pytest.mark.parametrize(
    ("name", "changed"),
    [
        ("appends", "written:len(cache)"),
        ("drops", "written:len(cache)"),
        ("empties", "written:len(cache)"),
        ("rebinds", "written:state.m"),
        ("overwrites", "written:state.m"),
        ("counts", "written:state.step"),
        ("renames", "written:keys(state)"),
        ("forgets", "written:state.m"),
        ("switches", "written:state.mode"),
        ("exchanges_memory", "written:x"),
    ],
)
def test_what_one_side_alone_changes(different, name, changed):
    assert changed in different(name, "leaves") and changed in different("leaves", name)
    assert different(name, name) == []


@pytest.mark.parametrize(
    "names",
    [
        ("leaves", "copies"),
        ("appends", "appends_kv"),
        ("appends_kv", "appends"),
        ("rebinds", "overwrites"),
        ("leaves", "rebinds_alike"),
    ],
)
def test_what_comes_to_the_same(different, names):
    assert different(*names) == []


def test_another_entry(different):
    assert different("appends_kv", "appends_another") == ["written:kv.2"]


def test_words_are_said(captured):
    assert "the call changes its arguments: state.mode becomes 'late'" in captured["switches"].notes
    assert "the call changes its arguments: keys(state) becomes 'mode', 'momentum', 'step'" in captured["renames"].notes


def test_what_was_held_is_in_the_program(captured):
    text = captured["appends"].kir
    assert "i64 2 len(cache)" in parse_program(text).attrs["contents"] and print_program(parse_program(text)) == text


@pytest.mark.parametrize("name", ["cache", "cache.2", "len(cache)", "keys(cache.0)", "written:len(cache.0.1)"])
def test_whose_part_it_is(name):
    assert root_of(name) == "cache"
