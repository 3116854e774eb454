"""Numbers that a host draws for itself may steer it: unlike ones leave a pair undecided, whatever the words say."""

from __future__ import annotations

from pathlib import Path

import pytest

from equivalence.verdicts import Level
from irverify import compare

PLAIN = "import torch\ndef block(x):\n    return x + torch.relu(x) * 0.5\n"
DROPS = "import torch\nimport random\nimport numpy as np\ndef block(x):\n    if {} < {}:\n        return x\n" + "".join(
    PLAIN.splitlines(keepends=True)[2:]
)


@pytest.mark.parametrize("draw", ["random.random()", "np.random.rand()", "torch.rand(1).item()"])
def test_a_branch_by_a_drawn_number(tmp_path: Path, draw: str) -> None:
    plain, drops, again = (tmp_path / name for name in ("a.py", "b.py", "c.py"))
    plain.write_text(PLAIN)
    drops.write_text(DROPS.format(draw, -1))
    again.write_text(DROPS.format(draw, -2))
    report = compare(plain, drops, inputs=["f32[4,6]"], shapes="given")
    assert report.verdict.level is Level.UNDECIDED and "random streams" in report.verdict.reason
    same = compare(drops, again, inputs=["f32[4,6]"], shapes="given")
    assert same.verdict.level is Level.BITWISE, "both draw the same number from the same stream"
