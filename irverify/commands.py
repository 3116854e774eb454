"""What each command does, once its words are options: run, render, write.

Takes options; gives an exit code.  Errors are raised; cli.py shows them.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import click

from irverify.options import CompareOptions
from lowering.errors import UsageError


def run_compare(options: CompareOptions, json_file: str | None) -> int:
    """Text on standard output, or the JSON document there or in a file."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before numpy: the judge has threads of its own
    os.environ.setdefault("NUMPY_MADVISE_HUGEPAGE", "0")  # making huge pages costs more than seconds of use repay
    from irverify.orchestrate import compare
    from irverify.progress import progress
    from irverify.report.json import report_to_json
    from irverify.report.text import console_for, print_report

    _check_target(json_file, "--json")
    with progress() as show:
        report = compare(options, show)
    if json_file is not None:
        write_text(report_to_json(report), json_file)
    if json_file != "-":
        print_report(report, console_for(sys.stdout))
    return report.exit_code


def _check_target(file: str | None, option: str) -> None:
    """Refuses a file that cannot be written before any work is done."""
    if file in (None, "-"):
        return
    parent = Path(file).absolute().parent
    if Path(file).is_dir() or not parent.is_dir() or not os.access(parent, os.W_OK):
        raise UsageError(f"{option} {file} cannot be written; give a file in a directory that exists, or -")


def write_text(text: str, target: str) -> None:
    """To standard output for '-'; to a file all at once."""
    if target == "-":
        click.echo(text, nl=False)
        return
    try:
        _replace(Path(target), text)
    except OSError as error:
        raise UsageError(f"--json {target} cannot be written: {error.strerror}") from None


def _replace(path: Path, text: str) -> None:
    if path.exists() and not path.is_file():  # /dev/stderr, a pipe: not ours to replace
        path.write_text(text)
        return
    with tempfile.NamedTemporaryFile("w", dir=path.absolute().parent, prefix=f".{path.name}-", delete=False) as file:
        file.write(text)
    umask = os.umask(0)
    os.umask(umask)
    os.chmod(file.name, 0o666 & ~umask)
    os.replace(file.name, path)


def run_lower(options: CompareOptions, entry: str | None, to: str) -> int:
    from irverify.lower import lower

    click.echo(lower(options, entry, to), nl=False)
    return 0


def run_check(options: CompareOptions, entry: str | None, with_cost: bool, json_file: str | None) -> int:
    """Text on standard output, or the JSON document there or in a file."""
    from irverify.check import check, checked_to_json
    from irverify.report.check import print_checked
    from irverify.report.text import console_for

    _check_target(json_file, "--json")
    checked = check(options, entry)
    if json_file is not None:
        write_text(checked_to_json(checked, with_cost), json_file)
    if json_file != "-":
        print_checked(checked, console_for(sys.stdout), with_cost)
    return checked.exit_code


def run_tolerance(options: CompareOptions, check: str | None, draws: int, mutants: int, json_file: str | None) -> int:
    """Text on standard output, or the JSON document there or in a file."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before numpy
    from irverify.progress import progress
    from irverify.report.text import console_for
    from irverify.report.tolerance import print_tolerances
    from irverify.report.tolerance_json import tolerances_to_json
    from irverify.tolerance import Question, parse_check, tolerance

    _check_target(json_file, "--json")
    question = Question(parse_check(check), draws, mutants)
    with progress() as show:
        assessed = tolerance(options, question, options.entry_a, show)
    if json_file is not None:
        write_text(tolerances_to_json(assessed), json_file)
    if json_file != "-":
        print_tolerances(assessed, console_for(sys.stdout))
    return assessed.report.exit_code


def run_order(
    options: CompareOptions, entry: str | None, output: str, index: str | None, svg: str | None, json_file: str | None
) -> int:
    """Text on standard output, or the JSON document there or in a file; the picture in a file of its own."""
    from irverify.order import drawn, order

    _check_target(json_file, "--json")
    _check_target(svg, "--svg")
    found = order(options, entry, output, index)
    picture = drawn(found) if svg is not None else ""
    return _give_order(found, picture, svg, json_file)


def run_probe(
    options: CompareOptions, entry: str | None, what: tuple[int, str, str], svg: str | None, json_file: str | None
) -> int:
    """The same for an order that was measured; ``what``: number of terms, dtype, target."""
    from dataclasses import replace

    from equivalence.order.render import svg as drawing
    from irverify.order_probe import reveal

    _check_target(json_file, "--json")
    _check_target(svg, "--svg")
    if entry is not None:
        options = replace(options, a=f"{options.a}:{entry}")
    found = reveal(options, *what)
    return _give_order(found, drawing(found.probed.tree) if svg is not None else "", svg, json_file)


def _give_order(found: Any, picture: str, svg: str | None, json_file: str | None) -> int:
    import json

    if json_file is not None:
        write_text(json.dumps(found.data(), indent=2) + "\n", json_file)
    if svg is not None:
        write_text(picture, svg)
    if json_file != "-" and svg != "-":
        for line in found.lines():
            click.echo(line)
    return 0


def run_doctor(warm: bool) -> int:
    from irverify.doctor import examine, print_findings, warm_caches

    if warm:
        warm_caches(click.echo)
    return print_findings(examine(), click.echo)


def run_explain(code: str | None) -> int:
    from irverify.explain import explain, listing

    click.echo(listing() if code is None else explain(code))
    return 0
