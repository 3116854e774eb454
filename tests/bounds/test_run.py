"""`python -m tests.bounds`: results are kept and not made again, and a bound that is exceeded is an exit code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from equivalence.interpretations import error
from tests.bounds import run
from tests.tolerance.programs import normal, total

PROGRAMS = {"one.a": total(30), "two.b": total(40)}


def started(results: Path, monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    made = [(name, program, normal(program)) for name, program in PROGRAMS.items()]
    monkeypatch.setattr(run, "originals", lambda *_: iter(made))
    few = ["--elements", "200", "--seconds", "1", "--tries", "0", "--workers", "1"]
    return run.main([*few, "--results", str(results), *words])


def lines(results: Path) -> list[dict]:
    return [json.loads(line) for line in results.read_text().splitlines()]


def test_what_is_in_the_results_is_not_run_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    results = tmp_path / "results.jsonl"
    assert started(results, monkeypatch, "--only", "one") == 0
    assert [row["name"] for row in lines(results)] == ["one.a"] and lines(results)[0]["elements"] >= 200
    with results.open("a") as file:
        file.write('{"name": "two.b", "dig\n')  # cut off
    assert started(results, monkeypatch) == 0
    kept = results.read_text().splitlines()
    assert [json.loads(line)["name"] for line in (kept[0], kept[2])] == ["one.a", "two.b"] and len(kept) == 3
    monkeypatch.setitem(PROGRAMS, "one.a", total(31))  # another program of that name
    assert started(results, monkeypatch) == 0
    assert json.loads(results.read_text().splitlines()[-1])["name"] == "one.a"


def test_a_bound_that_is_exceeded_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(error.GROWTH, "bound", lambda n, u: error.worst(n, u) / 200)
    assert started(tmp_path / "results.jsonl", monkeypatch, "--only", "two") == 1
    assert lines(tmp_path / "results.jsonl")[0]["broken"]
