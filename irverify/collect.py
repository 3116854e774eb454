"""What the workers left in the exchange, as programs to judge: parsed KIR, shared inputs, shapes that count.

Takes an Exchange; gives Variants and ShapeResults of what was skipped.  Reads text and plain arrays only.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np

from equivalence.verdicts import Level, ShapeResult
from irverify import oversize
from irverify.exchange import Exchange
from irverify.failures import error_of
from irverify.pairing import pair_programs
from irverify.weights import keep_own
from lowering.ir.parser import parse_program
from lowering.ir.program import Program

if TYPE_CHECKING:
    from equivalence.judge.layouts import LaidOut

Records = tuple[dict[str, Any], dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Variant:
    """Both programs at one set of shapes, and the inputs they share, under A's names."""

    label: str
    program_a: Program
    program_b: Program
    inputs: dict[str, np.ndarray]

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        return {name: array.shape for name, array in self.inputs.items() if not name.startswith("weight:")}


@dataclass(frozen=True, slots=True)
class Collected:
    """Everything the two workers found."""

    variants: list[Variant]
    skipped: list[ShapeResult]
    notes: list[str]
    kernels: tuple[list[str], list[str]]
    laid_out: list[LaidOut] = field(default_factory=list["LaidOut"])


def variant(exchange: Exchange, index: int, files: tuple[str, str], frameworks: tuple[str, str]) -> Variant | None:
    """One of the sets of shapes that both sides have by now (the given one is number 0); None where one side failed."""
    names = f"a.v{index}", f"b.v{index}"
    if any("failure" in exchange.read(name) for name in names):
        return None
    return paired(exchange, names, files, frameworks)


def paired(exchange: Exchange, names: tuple[str, str], files: tuple[str, str], frameworks: tuple[str, str]) -> Variant:
    """Two captures, by the names under which they were published, that did not fail."""
    records = exchange.read(names[0]), exchange.read(names[1])
    return _variant(exchange, names, records, files, _functional(frameworks))[0]


def _functional(frameworks: tuple[str, str]) -> tuple[bool, bool]:
    return frameworks[0] == "jax", frameworks[1] == "jax"


def collect(exchange: Exchange, files: tuple[str, str], frameworks: tuple[str, str]) -> Collected:
    """The variants that both sides were captured at.  The given one is always the first."""
    functional = _functional(frameworks)
    variants: list[Variant] = []
    numbers: list[int] = []
    skipped = [*_not_run(exchange), *_outside_a(exchange)]
    notes: dict[str, None] = {}
    kernels: tuple[list[str], list[str]] = ([], [])
    for index, record_a, record_b in _records(exchange):
        if "failure" in record_b or "failure" in record_a:
            skipped.append(_specialised(record_a, record_b, files))
            continue
        names = f"a.v{index}", f"b.v{index}"
        found, unpaired = _variant(exchange, names, (record_a, record_b), files, functional)
        variants.append(found)
        numbers.append(index)
        notes.update(dict.fromkeys(unpaired))
        for side, record in enumerate((record_a, record_b)):
            said = (found.program_a, found.program_b)[side].notes  # which the judge lists
            notes.update(dict.fromkeys(f"{files[side]}: {note}" for note in record["notes"] if note not in said))
            kernels[side].extend(name for name in record["kernels"] if name not in kernels[side])
    laid_out = list(_laid_out(exchange, numbers, files, functional))
    return Collected(variants, skipped, [*notes, *_end_note(exchange)], kernels, laid_out)


def _records(exchange: Exchange) -> Iterator[tuple[int, dict[str, Any], dict[str, Any]]]:
    index = 0
    while exchange.has(f"a.v{index}") and exchange.has(f"b.v{index}"):
        yield index, exchange.read(f"a.v{index}"), exchange.read(f"b.v{index}")
        index += 1


def _not_run(exchange: Exchange) -> Iterator[ShapeResult]:
    """The given set, where it is too large and smaller sizes stand in its place."""
    if exchange.has(oversize.PUBLISHED):
        yield ShapeResult({}, Level.UNDECIDED, exchange.read(oversize.PUBLISHED)["message"])


def _outside_a(exchange: Exchange) -> Iterator[ShapeResult]:
    for file in sorted(exchange.directory.glob("skipped.*.json")):
        record = exchange.read(file.name.removesuffix(".json"))
        yield ShapeResult(
            {}, Level.UNDECIDED, f"{record['label']}: not counted, A does not run there: {record['message']}"
        )


def _specialised(record_a: dict[str, Any], record_b: dict[str, Any], files: tuple[str, str]) -> ShapeResult:
    failed, file = (record_b, files[1]) if "failure" in record_b else (record_a, files[0])
    message = str(error_of(failed["failure"], file)).split("\n")[0]
    shapes = {k: v.data.shape for k, v in record_a.get("inputs", {}).items()}
    return ShapeResult(shapes, Level.UNDECIDED, f"{failed['label']}: scope, this side is specialised: {message}")


def _laid_out(
    exchange: Exchange, numbers: list[int], files: tuple[str, str], functional: tuple[bool, bool]
) -> Iterator[LaidOut]:
    """The layouts that a side was captured in.  A jax function has no strides: it stays what it was."""
    from equivalence.judge.layouts import LaidOut

    base = exchange.read("layouts")["base"] if exchange.has("layouts") else None
    if base not in numbers or all(functional):
        return
    for layout in count():
        names = tuple(f"{s}.v{base}" if functional[i] else f"{s}.l{layout}" for i, s in enumerate("ab"))
        if not all(exchange.has(name) for name in names):
            return
        records = exchange.read(names[0]), exchange.read(names[1])
        label = next(record["label"] for record, jax in zip(records, functional) if not jax)
        views = {k: (tuple(s), o) for r in reversed(records) for k, (s, o) in r.get("views", {}).items()}
        refused = [
            f"{file} does not run: {str(error_of(record['failure'], file)).splitlines()[0].removeprefix(f'{file}: ')}"
            for record, file in zip(records, files) if "failure" in record
        ]  # fmt: skip
        if refused:
            yield LaidOut(label, numbers.index(base), refused="; ".join(refused), views=views)
            continue
        found, _ = _variant(exchange, (names[0], names[1]), records, files, functional)
        yield LaidOut(label, numbers.index(base), found.program_a, found.program_b, views=views)


def _end_note(exchange: Exchange) -> list[str]:
    note = exchange.read("end")["note"] if exchange.has("end") else "the time limit ended the search for more shapes"
    return [note] if note else []


def _variant(
    exchange: Exchange, names: tuple[str, str], records: Records, files: tuple[str, str], functional: tuple[bool, bool]
) -> tuple[Variant, list[str]]:
    """Both programs, paired, and the values of their inputs; where both have an input, A's value is the one."""
    record_a, record_b = records
    program_a, program_b = (parse_program(exchange.read_text(f"{name}.kir")) for name in names)
    keep_own(program_a, program_b, record_a, record_b)
    for program, record in ((program_a, record_a), (program_b, record_b)):
        program.attrs["derived"] = list(record.get("derived", ()))
    names_b = list(program_b.input_names)
    notes = pair_programs(program_a, program_b, files, functional)
    renamed = dict(zip(names_b, program_b.input_names))
    inputs = {renamed[name]: value.data for name, value in record_b["inputs"].items() if name in renamed}
    inputs |= {name: value.data for name, value in record_a["inputs"].items() if name in program_a.input_names}
    return Variant(record_a["label"], program_a, program_b, inputs), notes
