"""Reads the code blocks of a document and applies those that name a file to a copy of the packages.

The first line of such a block says where it goes: ``# FILE, at the end``, ``# FILE, new``, ``# FILE, before: LINE`` or
``# FILE, instead of: LINE`` (LINE is how one line of the file begins, without its indentation).
"""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_PLACE = re.compile(r"# ([\w./]+\.\w+), (at the end|new|before: (.+)|instead of: (.+))\n")


@dataclass(frozen=True, slots=True)
class Block:
    """One fenced block: its language, its text, and, when it is an edit, the file and the place."""

    language: str
    text: str
    file: str = ""
    how: str = ""
    line: str = ""


def blocks(document: Path) -> list[Block]:
    """All fenced blocks of a document, in order."""
    return [_block(language, text) for language, text in _BLOCK.findall(document.read_text())]


def _block(language: str, text: str) -> Block:
    place = _PLACE.match(text)
    if place is None:
        return Block(language, text)
    how = place[2].partition(":")[0]
    return Block(language, text[place.end() :], place[1], how, place[3] or place[4] or "")


def copy_packages(target: Path, *names: str) -> None:
    """Copies packages with their compiled caches (times are kept, so that the caches stay valid)."""
    for name in names:
        shutil.copytree(ROOT / name, target / name, dirs_exist_ok=True)


def apply(block: Block, root: Path) -> None:
    """Makes the edit that ``block`` describes below ``root``."""
    path = root / block.file
    if block.how == "new":
        path.write_text(block.text)
        return
    lines = path.read_text().splitlines(keepends=True)
    if block.how == "at the end":
        path.write_text("".join(lines) + block.text)
        return
    places = [i for i, line in enumerate(lines) if line.lstrip().startswith(block.line)]
    assert len(places) == 1, f"{block.file} has {len(places)} lines that begin {block.line!r}; the document names one"
    gap = "\n" if block.text.lstrip().startswith("def ") else ""
    kept = 1 if block.how == "instead of" else 0
    lines[places[0] : places[0] + kept] = [block.text + gap]
    path.write_text("".join(lines))
