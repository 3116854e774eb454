"""What leaves a kernel without a meaning is an error of a comparison too, where one side alone does it."""

from __future__ import annotations

from pathlib import Path

import pytest

from irverify import compare

SUM = """
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl

@nki.jit
def rows(x):
    out = nl.ndarray((8, 1), dtype=nl.float32, buffer=nl.shared_hbm)
    total = nl.zeros((8, 1), dtype=nl.float32, buffer=nl.sbuf)
    for block in nl.RANGE(4):
        part = nl.load(x[:, block * 16:(block + 1) * 16])
        total[...] = nl.add(total, nl.sum(part, axis=1, keepdims=True))
    nl.store(out, total)
    return out
"""


@pytest.mark.parametrize(("kind", "code"), [("affine_range", 1), ("sequential_range", 0)])
def test_turns_that_depend_on_each_other(kind: str, code: int, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(SUM.replace("RANGE", "static_range"))
    (tmp_path / "b.py").write_text(SUM.replace("RANGE", kind))
    report = compare(str(tmp_path / "a.py"), str(tmp_path / "b.py"), inputs=["f32[8,64]"], shapes=["given"])
    assert report.exit_code == code
    errors = [finding for finding in report.findings if finding.severity == "error"]
    assert bool(errors) is bool(code)
    if errors:
        assert errors[0].code in ("nki-carried", "nki-affine-accumulate") and errors[0].span is not None
        assert errors[0].span.line == 11
