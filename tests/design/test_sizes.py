"""No file and no function grows quietly: files at most 500 lines, functions at most 60; data tables are exempt."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MAX_FILE, MAX_FUNCTION = 500, 60
DATA_TABLES: frozenset[str] = frozenset()  # files that are one long table
FILES = [path for root in ("irverify", "equivalence", "lowering") for path in sorted((ROOT / root).rglob("*.py"))]


def long_functions(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            if lines > MAX_FUNCTION:
                yield f"{node.name} has {lines} lines"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_size_and_opening(path: Path) -> None:
    text = path.read_text()
    tree = ast.parse(text)
    if str(path.relative_to(ROOT)) not in DATA_TABLES:
        assert text.count("\n") <= MAX_FILE
    assert not list(long_functions(tree))
    assert not text.strip() or ast.get_docstring(tree), "a module opens with what it takes and gives"


def test_a_long_function_is_found() -> None:
    source = "def f():\n" + "    x = 1\n" * MAX_FUNCTION
    assert list(long_functions(ast.parse(source))) == [f"f has {MAX_FUNCTION + 1} lines"]
