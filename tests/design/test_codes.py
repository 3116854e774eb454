"""Every finding code that the source uses has an entry in the explain registry."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from irverify.explain import REGISTRY

ROOT = Path(__file__).parents[2]


def codes_in(tree: ast.Module) -> Iterator[str]:
    """First arguments, or ``code=``, of Finding(...)."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and getattr(node.func, "id", getattr(node.func, "attr", "")) == "Finding":
            given = [*node.args[:1], *(keyword.value for keyword in node.keywords if keyword.arg == "code")]
            yield from (value.value for value in given if isinstance(value, ast.Constant))


def test_every_code_is_explained() -> None:
    used = {
        code: path.relative_to(ROOT)
        for root in ("irverify", "equivalence", "lowering")
        for path in (ROOT / root).rglob("*.py")
        for code in codes_in(ast.parse(path.read_text()))
    }
    missing = {code: str(path) for code, path in used.items() if code not in REGISTRY}
    assert not missing, f"add entries to irverify/explain/findings.py for {missing}"


def test_codes_are_found() -> None:
    assert list(codes_in(ast.parse("Finding('a-b', 'text')\nv.Finding(code='c', message='')"))) == ["a-b", "c"]
