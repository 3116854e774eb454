"""What two jax programs ask of a device that their values here do not show: precisions of products, donated arguments.

Takes the programs of both sides and what their captures noted; gives Findings, where the two ask for other things.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from equivalence.verdicts import Finding
from irverify.exchange import Exchange
from lowering.ir.program import Program

PRECISION, DONATED = "dot-precision", "donated-argument"
#: How the front end's notes on products that a device may round begin, by what was asked for.
_ASKED = {name: f"StableHLO {name} precision is resolved as" for name in ("DEFAULT", "HIGH")}
DONATES = "donates "  # how the capture's note on donated arguments begins


def findings(exchange: Exchange, sides: Sequence[Program], files: tuple[str, str]) -> Iterator[Finding]:
    """Warnings: the verdict takes products to be exact to their operands, and no argument to be lost."""
    if all(program.attrs.get("level") == "stablehlo" for program in sides):
        yield from _precision(sides, files)
    notes = [exchange.read(f"{side}.v0")["notes"] for side in "ab"]
    donated = [[note for note in of if note.startswith(DONATES)] for of in notes]
    for of, other, file in zip(donated, reversed(donated), files, strict=True):
        for note in of:
            if not other:
                yield Finding(DONATED, f"{file} {note}; the other side does not")


def _precision(sides: Sequence[Program], files: tuple[str, str]) -> Iterator[Finding]:
    asked = [{name for name, words in _ASKED.items() if any(words in note for note in p.notes)} for p in sides]
    if asked[0] == asked[1]:
        return
    words = [f"{file} {_in_words(names)}" for file, names in zip(files, asked, strict=True)]
    said = f"products of f32 are asked for otherwise: {'; '.join(words)}"
    yield Finding(
        PRECISION, f"{said}. The verdict holds where both are f32; a TPU rounds operands to bf16, a GPU to TF32"
    )


def _in_words(names: set[str]) -> str:
    return f"has {' and '.join(sorted(names))} precision" if names else "fixes their precision"
