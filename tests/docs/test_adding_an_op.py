"""The steps of docs/adding-an-op.md are true: applied in order to a copy of the packages, they do what it says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from equivalence.evaluator.machine import HANDLERS
from equivalence.interpretations.error import Error
from lowering.ir.ops import RECORDS
from tests.docs.blocks import ROOT, Block, apply, blocks, copy_packages

DOCUMENT = ROOT / "docs" / "adding-an-op.md"
BLOCKS = blocks(DOCUMENT)
EDITS = [block for block in BLOCKS if block.file]
CONTRACT = "tests/interpretations/test_contract.py"


def run_tests(root: Path, *files: str) -> tuple[int, str]:
    """pytest in the copy; (status, output)."""
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:xdist", "-rf", "--tb=short", *files]
    environment = {**os.environ, "PYTHONPATH": str(root)}
    run = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True)
    return run.returncode, run.stdout + run.stderr


def failed(output: str) -> set[str]:
    return set(re.findall(r"^FAILED [^:]+::(\S+)", output, re.MULTILINE))


def is_record(block: Block) -> bool:
    return block.file.startswith("lowering/ir/ops/")


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("packages")
    copy_packages(root, "lowering", "equivalence", "tests/interpretations")
    (root / "tests" / "__init__.py").write_text("")
    (root / "conftest.py").write_text(f"import lowering\nassert lowering.__file__.startswith({str(root)!r})\n")
    return root


@pytest.mark.slow
def test_the_steps(copy: Path) -> None:
    for block in filter(is_record, EDITS):
        apply(block, copy)
    status, output = run_tests(copy, CONTRACT)
    announced = next(block for block in BLOCKS if block.language == "text")
    assert status == 1 and failed(output) == set(announced.text.split()), output

    for block in EDITS:
        if not is_record(block):
            apply(block, copy)
    new = [block.file for block in EDITS if block.how == "new"]
    status, output = run_tests(copy, CONTRACT, *new)
    assert status == 0, output


def test_error_has_a_rule_for_every_primitive() -> None:
    """What the contract test cannot see: `error` looks its rules up when they are needed."""
    elsewhere = {name for name in RECORDS if name in HANDLERS} - {"reduce", "scan", "dot"}
    asked = [name for name, record in RECORDS.items() if record.primitive and name not in elsewhere]
    assert not [name for name in asked if not hasattr(Error, f"op_{name}")]
