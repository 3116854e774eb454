"""Common to the scripts that generate documents: writes a file, or says whether it is current.

python docs/make_op_table.py [--check]
"""

from __future__ import annotations

import sys
from pathlib import Path

DOCS = Path(__file__).resolve().parent


def row(*cells: str) -> str:
    """A row of a Markdown table; a bar inside a cell is escaped."""
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def table(titles: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    return "\n".join([row(*titles), row(*["---"] * len(titles)), *(row(*cells) for cells in rows)])


def finish(path: Path, text: str) -> int:
    """Writes ``text``; with --check only compares.  Gives the exit status."""
    if "--check" not in sys.argv[1:]:
        path.write_text(text)
        return 0
    if path.read_text() == text:
        return 0
    print(f"{path.name} is out of date: run python docs/{Path(sys.argv[0]).name}", file=sys.stderr)
    return 1
