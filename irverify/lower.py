"""One file captured at the given shape: as text (``irverify lower``), or as a program with its inputs.

Takes options and an entry; gives text or One.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from irverify import sandbox
from irverify.exchange import Exchange
from irverify.options import CompareOptions
from irverify.orchestrate import supervise
from irverify.prepare import prepare_one
from irverify.subjects import Side
from lowering.errors import UsageError

if TYPE_CHECKING:
    import numpy as np

    from lowering.ir.program import Program


@dataclass(frozen=True, slots=True)
class One:
    """A program, the values of its inputs by name, and where it came from."""

    side: Side
    program: Program
    inputs: dict[str, np.ndarray]


def lower(options: CompareOptions, entry: str | None, to: str) -> str:
    """The text of one form; a usage error names the forms that this subject has."""
    with captured(options, entry, to) as (side, exchange):
        if to == "kir":
            return exchange.read_text("a.v0.kir")
        sources = exchange.read("a.v0")["sources"]
        if to not in sources:
            has = ["trace"] if side.framework == "nki" else sources
            raise UsageError(f"{side.path}:{side.entry} has no {to}; it has {', '.join(['kir', *has])}")
        return exchange.read_text(f"a.v0.{to}")


def program_of(options: CompareOptions, entry: str | None) -> One:
    """The program of ``options.a`` at the given shape, and its inputs."""
    from lowering.ir.parser import parse_program

    with captured(options, entry, "kir") as (side, exchange):
        record: dict[str, Any] = exchange.read("a.v0")
        program = parse_program(exchange.read_text("a.v0.kir"))
        inputs = {name: record["inputs"][name].data for name in program.input_names}
        return One(side, program, inputs)


@contextmanager
def captured(options: CompareOptions, entry: str | None, form: str) -> Iterator[tuple[Side, Exchange]]:
    """What one child left when it had captured the file."""
    with tempfile.TemporaryDirectory(prefix="irverify-", ignore_cleanup_errors=True) as directory:
        exchange = Exchange(Path(directory), mapped=False)
        side, job = prepare_one(options.a, entry, options, exchange.directory, form)
        if form == "check" and side.framework != "nki":
            raise UsageError(f"{side.path}:{side.entry} is no NKI kernel; irverify check looks at those alone")
        child = sandbox.start("a", job.to_json(), exchange.directory, options.timeout, options.memory)
        supervise([child], exchange, [side.path.name], options)
        yield side, exchange
