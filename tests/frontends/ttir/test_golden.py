"""Each construct lowers to the KIR text that is checked in, and that text parses back to itself.

``IRVERIFY_UPDATE_GOLDEN=1 pytest tests/frontends/ttir`` writes the files anew.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from lowering.frontends.ttir import lower_kernel
from lowering.ir.parser import parse_program
from lowering.ir.printer import print_program
from lowering.ir.program import Block, Function, Program
from tests.frontends.ttir.compile import ttir_of
from tests.frontends.ttir.sources import SOURCES

GOLDEN = Path(__file__).parent / "golden"


def lowered(name: str) -> Function:
    source = SOURCES[name]
    ttir = ttir_of(source.fn, source.signature, source.constants, **source.options)
    return lower_kernel(ttir, name=name, options={"enable_fp_fusion": True}, key="key")


def text_of(kernel: Function) -> str:
    """The KIR text, with file names instead of paths."""
    for op in kernel.body.walk():
        op.span = replace(op.span, file=Path(op.span.file).name)
    text = print_program(Program(Block(), [], [], {kernel.name: kernel}))
    return text.replace(f"{GOLDEN.parent}{os.sep}", "")


@pytest.mark.parametrize("name", SOURCES)
def test_golden(name: str) -> None:
    text, path = text_of(lowered(name)), GOLDEN / f"{name}.kir"
    if os.environ.get("IRVERIFY_UPDATE_GOLDEN"):
        path.write_text(text)
    assert text == path.read_text()


@pytest.mark.parametrize("name", SOURCES)
def test_round_trip(name: str) -> None:
    text = text_of(lowered(name))
    assert print_program(parse_program(text)) == text


def test_every_golden_file_has_a_source() -> None:
    assert {path.stem for path in GOLDEN.glob("*.kir")} == set(SOURCES)
