"""The import contracts of pyproject.toml hold, and a planted violation would be seen."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_contracts_hold() -> None:
    run = subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-cache"], cwd=ROOT, capture_output=True, text=True
    )
    assert run.returncode == 0, run.stdout


def test_a_planted_violation_is_seen(tmp_path: Path) -> None:
    """A copy of the three roots' outline in which the lowest imports the highest."""
    for root in ("irverify", "equivalence", "lowering"):
        (tmp_path / root).mkdir()
        (tmp_path / root / "__init__.py").write_text("")
    (tmp_path / "lowering" / "bad.py").write_text("import irverify\n")
    (tmp_path / "contracts.toml").write_text(
        '[tool.importlinter]\nroot_packages = ["irverify", "equivalence", "lowering"]\n'
        '[[tool.importlinter.contracts]]\nname = "layers"\ntype = "layers"\n'
        'layers = ["irverify", "equivalence", "lowering"]\n'
    )
    script = (
        "from importlinter.cli import lint_imports; raise SystemExit(lint_imports('contracts.toml', no_cache=True))"
    )
    run = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True)
    assert run.returncode == 1 and "lowering.bad" in run.stdout, run.stdout + run.stderr
