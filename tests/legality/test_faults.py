"""What leaves a kernel without a meaning is an error of a comparison too, where one side alone does it."""

from __future__ import annotations

from pathlib import Path

import pytest

from irverify import compare

pytestmark = pytest.mark.usefixtures("forked_workers")

SUM = """
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl

@nki.jit
def rows(x):
    out = nl.ndarray((8, 1), dtype=nl.float32, buffer=nl.shared_hbm)
    total = nl.zeros((8, 1), dtype=nl.float32, buffer=nl.sbuf)
    for block in nl.RANGE(4):
        part = nl.load(x[:, block * 16:(block + 1) * 16])
        total[...] = nl.OP(total, nl.sum(part, axis=1, keepdims=True))
    nl.store(out, total)
    return out
"""


@pytest.mark.parametrize(("kind", "code"), [("affine_range", 1), ("sequential_range", 0)])
def test_turns_that_depend_on_each_other(kind: str, code: int, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(SUM.replace("RANGE", "static_range").replace("OP", "subtract"))
    (tmp_path / "b.py").write_text(SUM.replace("RANGE", kind).replace("OP", "subtract"))
    report = compare(str(tmp_path / "a.py"), str(tmp_path / "b.py"), inputs=["f32[8,64]"], shapes=["given"])
    assert report.exit_code == code
    errors = [finding for finding in report.findings if finding.severity == "error"]
    assert bool(errors) is bool(code)
    if errors:
        assert errors[0].code == "nki-carried" and errors[0].span is not None
        assert errors[0].span.line == 11


def test_a_sum_that_an_affine_range_carries_is_an_assumption(tmp_path: Path) -> None:
    """Associative sums are allowed; in which order they are added nobody says."""
    (tmp_path / "a.py").write_text(SUM.replace("RANGE", "static_range").replace("OP", "add"))
    (tmp_path / "b.py").write_text(SUM.replace("RANGE", "affine_range").replace("OP", "add"))
    report = compare(str(tmp_path / "a.py"), str(tmp_path / "b.py"), inputs=["f32[8,64]"], shapes=["given"])
    assert report.exit_code == 0
    assert any("in the order of its turns" in assumption for assumption in report.assumptions)
