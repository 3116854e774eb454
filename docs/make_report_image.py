"""Draws the picture of README.md: runs a real comparison of the corpus and exports its report as SVG.

    python docs/make_report_image.py [PAIR] [OUTPUT.svg]

Takes a folder of corpora/ with its expect.toml; gives docs/images/report.svg.  Times vary from run to run, so no test
compares the picture; tests/docs/test_report_image.py only checks that one is drawn.
"""

from __future__ import annotations

import dataclasses
import io
import os
import re
import sys
import tomllib
from pathlib import Path
from typing import Any

from rich.console import Console

from irverify.options import CompareOptions
from irverify.orchestrate import compare
from irverify.report.text import print_report

ROOT = Path(__file__).resolve().parents[1]
WIDTH = 116


def report_of(pair: str) -> Any:
    """The report on a pair, with file names relative to the repository."""
    folder = ROOT / "corpora" / pair
    inputs = tuple(tomllib.loads((folder / "expect.toml").read_text()).get("inputs", ()))
    a, b = (str((folder / name).relative_to(ROOT)) for name in ("a.py", "b.py"))
    return relative(compare(CompareOptions(a=a, b=b, inputs=inputs)))


def relative(thing: Any) -> Any:
    """``thing`` with the repository's own path cut from every string in it."""
    if isinstance(thing, str):
        return thing.replace(f"{ROOT}/", "")
    if isinstance(thing, (list, tuple)):
        return type(thing)(relative(item) for item in thing)
    if dataclasses.is_dataclass(thing) and not isinstance(thing, type):
        fields = {f.name: relative(getattr(thing, f.name)) for f in dataclasses.fields(thing)}
        return dataclasses.replace(thing, **fields)
    return thing


def svg_of(pair: str) -> str:
    """The command and its report as a terminal window."""
    console = Console(record=True, width=WIDTH, file=io.StringIO(), highlight=False, force_terminal=True)
    folder = f"corpora/{pair}"
    report = report_of(pair)
    inputs = tomllib.loads((ROOT / folder / "expect.toml").read_text()).get("inputs", ())
    command = " ".join([f"irverify compare {folder}/a.py {folder}/b.py", *(f"--input '{text}'" for text in inputs)])
    console.print(f"$ {command}\n", style="bold")
    print_report(report, console)
    svg = console.export_svg(title="irverify", unique_id="report")
    return re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL)  # no font is fetched: any monospaced one will do


def main(pair: str = "layer_norm_padded_variance", output: str = str(ROOT / "docs" / "images" / "report.svg")) -> None:
    os.chdir(ROOT)  # source lines are read by their relative names
    Path(output).write_text(svg_of(pair))


if __name__ == "__main__":
    main(*sys.argv[1:])
