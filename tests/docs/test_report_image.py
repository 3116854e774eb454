"""README's picture can be drawn from a real report, and names nothing of the machine it was drawn on."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.docs.blocks import ROOT


def test_the_picture_is_drawn(tmp_path: Path) -> None:
    target = tmp_path / "report.svg"
    script = ROOT / "docs" / "make_report_image.py"
    subprocess.run([sys.executable, script, "relu6_missing_upper", target], check=True)
    check(target.read_text(), "relu6_missing_upper")


def test_the_picture_in_the_repository() -> None:
    check((ROOT / "docs" / "images" / "report.svg").read_text(), "layer_norm_padded_variance")


def check(svg: str, pair: str) -> None:
    text = svg.replace("&#160;", " ")
    assert f"corpora/{pair}/b.py" in text and "different" in text and "Witness" in text
    assert str(ROOT) not in text
