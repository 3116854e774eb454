"""docs/nki.md against the code: every operation that is recorded or lowered is described; the trace shown is one."""

from __future__ import annotations

import ast
import runpy
from collections.abc import Iterator

from lowering.capture.nki.text_parser import parse_trace
from lowering.frontends.nki import HANDLERS
from tests.docs.blocks import ROOT

SCRIPT = ROOT / "docs" / "make_nki_tables.py"


def recorded(tree: ast.Module) -> Iterator[str]:
    """Operations that a file records: the first argument of emit(...)."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "emit" and node.args:
            first = node.args[0]
            if isinstance(first, ast.Constant) and isinstance(first.value, str):
                yield first.value


def test_every_operation_is_described() -> None:
    described = {op for op, _ in runpy.run_path(str(SCRIPT))["described"]()}
    files = (ROOT / "lowering" / "capture" / "nki").glob("*.py")
    emitted = {op for path in files for op in recorded(ast.parse(path.read_text()))}
    assert len(emitted) > 40 and emitted <= described, emitted - described
    assert set(HANDLERS) <= described, set(HANDLERS) - described
    text = (ROOT / "docs" / "nki.md").read_text()
    assert all(f"| `{op}` |" in text for op in described)


def test_an_operation_without_a_description_would_be_seen() -> None:
    assert list(recorded(ast.parse("current().emit('nc_new', [dst])\nother('x')"))) == ["nc_new"]


def test_the_trace_that_is_shown_is_one() -> None:
    text = (ROOT / "docs" / "nki.md").read_text().partition("```text\n")[2].partition("```")[0]
    trace = parse_trace(text)
    assert [instr.op for instr in trace.instrs] == ["nc_dma_copy", "nc_mat_mul"]
    assert trace.instrs[0].loops[0].kind == "affine_range" and trace.storages[3].space == "psum"
