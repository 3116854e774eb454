"""One report through every renderer; the witness directory; the codes that are explained."""

from __future__ import annotations

import io
import json
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from equivalence.verdicts import (
    Check,
    Divergence,
    Finding,
    Level,
    OutputResult,
    Report,
    ShapeResult,
    SpecialValue,
    Subject,
    Verdict,
    Witness,
    worst,
)
from irverify.exits import exit_code_of
from irverify.report.html import report_to_html
from irverify.report.json import report_to_dict, report_to_json
from irverify.report.text import console_for, print_report
from irverify.report.witness import save_witness
from irverify.report.words import headline
from lowering.errors import Span, UsageError


@pytest.mark.parametrize(("levels", "said"), [
    (("bitwise", "different"), "agree in every test at the given shapes, differ at x[37]"),
    (("different", "different"), "not equivalent"),
    (("undecided", "different"), "not equivalent"),
])  # fmt: skip
def test_a_difference_at_other_shapes_only_is_said_to_be_one(levels: tuple[str, str], said: str) -> None:
    shapes = [ShapeResult({"x": (n,)}, Level(level), "") for n, level in zip((8, 37), levels)]
    assert said in headline(Report(Verdict(Level.DIFFERENT), shapes=shapes))


def test_a_difference_with_other_numbers_only_is_said_to_be_one() -> None:
    shapes = [ShapeResult({"x": (8,)}, Level.REAL, "given"),
              ShapeResult({"x": (8,)}, Level.DIFFERENT, "other numbers: 0.375 for 0.5")]  # fmt: skip
    words = headline(Report(Verdict(Level.DIFFERENT), shapes=shapes))
    assert "agree in every test as given, differ with other numbers: 0.375 for 0.5" in words


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "a.py"
    path.write_text("def f(x):\n    y = x + x\n    return y * x\n")
    return path


@pytest.fixture
def report(source: Path) -> Report:
    """Everything that a report can hold, with numbers that JSON lacks."""
    verdict = Verdict(Level.DIFFERENT, reason="B drops the last block", site=Span(str(source), 3, 12, "y"))
    special = SpecialValue("out0", "a NaN in x", 3.0, float("nan"), "max ignores NaN in A")
    return Report(
        verdict=verdict,
        outputs=[
            OutputResult("out0", "float32", (3, 5), verdict, 7.0, 0.25, float("inf"), 1e-7, None,
                         ["order inside tt.reduce"], [special]),
            OutputResult("out1", "float32", (5,), Verdict(Level.REAL, "certified")),
        ],
        divergence=Divergence(Span(str(source), 3, 12, "y"), None, "B multiplies by 2 where A adds"),
        witness=Witness({"x": np.arange(15, dtype=np.float32).reshape(3, 5),
                         "w": np.ones(3, ml_dtypes.bfloat16)}, (2, 4), 1.5, float("-inf"), 1e-7, output="out0"),
        assumptions=["shapes as given"],
        checks=[Check("{0,1} inputs", False, "2 of 64 differ"), Check("float64 judge", None, applies=False)],
        findings=[Finding("order-sensitive", "bound 0.5 exceeds 0.01", Span(str(source), 2, 5, "y"), "error")],
        timings={"capture": 1.25, "total": 2.5},
        subjects=(Subject(str(source), "f", "torch", ["k"]), Subject("b.py", "g", "jax")),
        shapes=[ShapeResult({"x": (3, 5)}, Level.DIFFERENT, "given")],
        exit_code=1,
        version="0",
    )  # fmt: skip


def text_of(report: Report) -> str:
    stream = io.StringIO()
    print_report(report, console_for(stream))
    return stream.getvalue()


def test_text_has_every_section(report: Report) -> None:
    text = text_of(report)
    for part in (
        "different: a.py:f and b.py:g: not equivalent",
        "B drops the last block",
        "order inside tt.reduce",
        "B multiplies by 2 where A adds",
        "return y * x",
        "out0[2,4]: A gives 1.5, B gives -inf",
        "error order-sensitive",
        "a NaN in x gives 3.0 in A, nan in B",
        "shapes as given",
        "FAILED  {0,1} inputs: 2 of 64 differ",
        "not applicable  float64 judge",
        "capture 1.25 s   total 2.50 s",
        "Checked 2 outputs at 1 set of shapes, 1 check. Exit 1: the two differ.",
    ):
        assert part in text, part


def test_piped_text_is_plain_and_whole(report: Report) -> None:
    report.assumptions = ["long " * 200 + "end"]
    text = text_of(report)
    assert "\x1b" not in text and "…" not in text and "long end" in text


def test_caret_points_at_the_column(report: Report) -> None:
    lines = text_of(report).splitlines()
    at = next(i for i, line in enumerate(lines) if line.strip() == "return y * x")
    assert lines[at][lines[at + 1].index("^")] == "y"


def test_json_is_strict_and_keeps_the_schemas_keys(report: Report) -> None:
    document = json.loads(report_to_json(report), parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
    assert document["schema"] == "irverify-report/1"
    assert document["divergence"]["a"]["line"] == 3 and document["divergence"]["b"] is None
    assert document["outputs"][0]["max_rel"] == "inf"
    assert document["special_values"][0]["value_b"] == "nan"
    assert document["witness"]["index"] == [2, 4]
    assert document["outputs"][1]["strength"] == "certified"


def test_every_key_is_documented(report: Report) -> None:
    page = (Path(__file__).parents[2] / "docs" / "report-schema.md").read_text()
    document = report_to_dict(report)
    keys = {*document, *document["outputs"][0], *document["witness"], *document["findings"][0], "error"}
    assert not [key for key in keys if f"`{key}`" not in page]


def test_html_is_escaped(report: Report) -> None:
    report.assumptions = ["x < y & z"]
    html = report_to_html(report)
    assert "x &lt; y &amp; z" in html and "<script" not in html and "different" in html


def test_witness_directory(report: Report, tmp_path: Path) -> None:
    save_witness(report, tmp_path / "deep" / "w")
    assert sorted(p.name for p in (tmp_path / "deep" / "w").iterdir()) == ["README.md", "inputs.npz", "report.json"]
    assert [p.name for p in (tmp_path / "deep").iterdir()] == ["w"]
    with np.load(tmp_path / "deep" / "w" / "inputs.npz", allow_pickle=False) as inputs:
        assert np.array_equal(inputs["x"], report.witness.inputs["x"])  # type: ignore[union-attr]
        assert inputs["w"].view(ml_dtypes.bfloat16).tolist() == [1, 1, 1]


def test_a_witness_with_weights_says_that_they_are_no_arguments(report: Report, tmp_path: Path) -> None:
    assert report.witness is not None
    save_witness(report, tmp_path / "plain")
    assert "weight:" not in (tmp_path / "plain" / "README.md").read_text()
    report.witness.inputs["weight:fc.bias"] = np.zeros(3, np.float32)
    save_witness(report, tmp_path / "model")
    assert 'if not n.startswith("weight:")' in (tmp_path / "model" / "README.md").read_text()


def test_witness_is_whole_or_absent(report: Report, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("irverify.report.witness._readme", full)
    with pytest.raises(UsageError, match="No space left"):
        save_witness(report, tmp_path / "w")
    assert [p.name for p in tmp_path.iterdir()] == ["a.py"]


def test_special_values_are_a_headline_of_their_own(report: Report) -> None:
    report.verdict = Verdict(Level.REAL, "evidence")
    first = text_of(report).splitlines()[0]
    assert "equal for finite inputs only: a NaN in x gives 3.0 in A, nan in B" in first


@pytest.mark.parametrize(
    ("level", "require", "severity", "code"),
    [
        (Level.BITWISE, Level.REAL, "warning", 0),
        (Level.REAL, Level.REAL, "warning", 0),
        (Level.REAL, Level.REAL, "error", 1),
        (Level.REAL, Level.BITWISE, "warning", 1),
        (Level.TESTED, Level.REAL, "warning", 1),
        (Level.TESTED, Level.TESTED, "warning", 0),
        (Level.UNDECIDED, Level.TESTED, "warning", 3),
        (Level.UNSUPPORTED, Level.TESTED, "warning", 3),
        (Level.DIFFERENT, Level.TESTED, "warning", 1),
    ],
)
def test_exit_codes(level: Level, require: Level, severity: str, code: int) -> None:
    finding = Finding("order-sensitive", "", None, severity)  # type: ignore[arg-type]
    assert exit_code_of(Report(Verdict(level), findings=[finding], require=require)) == code


def test_levels_are_ordered_and_merge_to_the_worst() -> None:
    assert Level.BITWISE > Level.REASSOCIATED > Level.REAL > Level.CLOSE > Level.TESTED > Level.UNDECIDED
    assert worst([Level.BITWISE, Level.UNSUPPORTED, Level.UNDECIDED]) is Level.UNSUPPORTED
    assert worst([Level.DIFFERENT, Level.UNSUPPORTED]) is Level.DIFFERENT
    evidence = Verdict.merge([Verdict(Level.REAL, "certified"), Verdict(Level.REAL, "evidence")])
    assert evidence.strength == "evidence"
    assert Verdict.merge([]).level is Level.UNDECIDED
    assert Verdict.merge([Verdict(Level.CLOSE, delta=1e-7), Verdict(Level.CLOSE, delta=1e-3)]).delta == 1e-3
