"""Generated documents are current, and a stale one would be seen."""

from __future__ import annotations

import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.blocks import ROOT

SCRIPTS = [
    "make_op_table.py",
    "make_support_matrix.py",
    "make_matrix_units.py",
    "make_intrinsics.py",
    "make_nki_tables.py",
]


@pytest.mark.parametrize("script", SCRIPTS)
def test_current(script: str) -> None:
    run = subprocess.run([sys.executable, ROOT / "docs" / script, "--check"], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr


def test_a_stale_file_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture) -> None:
    finish = runpy.run_path(str(ROOT / "docs" / "generated.py"))["finish"]
    (tmp_path / "page.md").write_text("old\n")
    monkeypatch.setattr(sys, "argv", ["make_page.py", "--check"])
    assert finish(tmp_path / "page.md", "new\n") == 1
    assert "page.md is out of date" in capsys.readouterr().err
