"""What the documents show is so: programs parse, commands exist, links lead somewhere, README's example runs."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from irverify import compare
from irverify.cli import main
from irverify.explain import REGISTRY
from lowering.ir.parser import parse_program
from lowering.ir.printer import print_program
from tests.docs.blocks import ROOT, blocks

pytestmark = pytest.mark.usefixtures("forked_workers")

DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
_LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]+)(?:#[^)]*)?\)")
_COMMAND = re.compile(r"^ {4}(?:\.venv/bin/)?(irverify [a-z].*)$", re.MULTILINE)


def ids(paths: list[Path]) -> list[str]:
    return [str(path.relative_to(ROOT)) for path in paths]


@pytest.mark.parametrize("document", DOCUMENTS, ids=ids(DOCUMENTS))
def test_links_lead_somewhere(document: Path) -> None:
    links = [link for link in _LINK.findall(document.read_text()) if "://" not in link]
    assert not [link for link in links if not (document.parent / link).exists()]


def test_programs_parse_and_print_again() -> None:
    programs = [block.text for document in DOCUMENTS for block in blocks(document) if block.language == "kir"]
    assert programs
    for text in programs:
        assert print_program(parse_program(text)) == text


COMMANDS = [line for document in DOCUMENTS for line in _COMMAND.findall(document.read_text())]


@pytest.mark.parametrize("line", COMMANDS)
def test_options_exist(line: str) -> None:
    """Every option of a shown command is one that the command has."""
    command, *words = shlex.split(line, comments=True)[1:]
    known = CliRunner().invoke(main, [command, "--help"]).output
    assert all(word in known for word in words if word.startswith("--"))


def test_explained_codes_exist() -> None:
    shown = [code for line in COMMANDS for code in re.findall(r"irverify explain ([a-z-]+)", line)]
    assert set(shown) <= set(REGISTRY)


def test_readme_in_python() -> None:
    pair = ROOT / "corpora" / "softmax"
    report = compare(str(pair / "a.py"), str(pair / "b.py"), inputs=["f32[37,130]"])
    assert (str(report.verdict.level), report.exit_code) == ("reassociated", 0)


def test_make_targets_exist() -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    shown = {name for document in DOCUMENTS for name in re.findall(r"^ {4}make ([a-z]+)", document.read_text(), re.M)}
    assert shown and shown <= targets
