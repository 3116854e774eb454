"""The command: text, JSON, exit codes, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from irverify.cli import main

pytestmark = pytest.mark.usefixtures("forked_workers")

ROOT = Path(__file__).parents[2]
CORPORA = ROOT / "corpora"


def run(*words: Any) -> Result:
    return CliRunner().invoke(main, ["tolerance", *map(str, words)], catch_exceptions=False)


@pytest.fixture(scope="module")
def document(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Triton's softmax over many columns with the Pallas one beside it."""
    file = tmp_path_factory.mktemp("tolerance") / "report.json"
    pair = CORPORA / "softmax" / "a.py", CORPORA / "softmax" / "b.py"
    result = run(*pair, "--input", "f32[3,4096]", "--check", "1e-2,1e-2", "--mutants", 6, "--json", file)
    assert result.exit_code == 1, result.output
    assert "too loose: rtol 0.01, atol 0.01" in result.output and "B beside A" in result.output
    return json.loads(file.read_text())


def test_a_pair_as_json(document: dict[str, Any]) -> None:
    assert (document["schema"], document["verdict"], document["exit_code"]) == ("irverify-tolerance/1", "too loose", 1)
    assert [s["framework"] for s in document["subjects"]] == ["torch", "jax"]
    assert document["side"]["status"] in ("equivalent", "permitted", "inseparable")
    passing = {c["name"] for c in document["candidates"] if c["status"] == "passes"}
    assert {"zeros", "bf16 accumulator"} <= passing
    assert document["broken"] == [] and document["reorderings"] == 48
    assert document["outputs"][0]["worst_alone"]["rtol"] <= document["outputs"][0]["worst"]["rtol"]


def test_every_key_is_documented(document: dict[str, Any]) -> None:
    text = (ROOT / "docs" / "report-schema.md").read_text().split("irverify-tolerance/1", 1)[1]
    parts = [document, document["outputs"][0], document["candidates"][0], document["mutants"]]
    keys = {key for part in parts for key in part}
    assert not {key for key in keys if f"`{key}`" not in text}


def test_one_file() -> None:
    result = run(CORPORA / "softmax" / "b.py", "--input", "f32[5,67]", "--mutants", 4)
    assert result.exit_code == 0, result.output
    assert (
        result.output.startswith("derived:") and "expected" in result.output and "24 runs in 8 orders" in result.output
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--check", "1e-3"], "--check is '1e-3'; write two numbers"),
        (["--check", "-1,0"], "write two numbers from 0 up"),
        (["--draws", "0"], "--draws is 0; write a number from 1"),
        (["--mutants", "-1"], "--mutants is -1; write a number from 0"),
        (["--json", "/nowhere/at/all.json"], "cannot be written"),
    ],
)
def test_what_is_refused(words: list[str], message: str) -> None:
    result = run(CORPORA / "softmax" / "b.py", "--input", "f32[5,67]", *words)
    assert result.exit_code == 2 and message in result.output
