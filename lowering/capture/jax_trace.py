"""What the jax capture hands to the StableHLO front end, as plain data.  Must not import jax."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from lowering.errors import UNKNOWN_SPAN, Span

#: Name of the composite that stands for Pallas's uninitialised or padded memory.
UNDEFINED = "irverify.undefined"
#: Codes of what a device does otherwise than the interpreter.
RACE, LOST, OVERLAP, ORDER = "parallel-revisit", "revisited-block", "aliased-overlap", "grid-order"
#: How a note begins that says that a grid stops short of an operand's end.
UNCOVERED = "the grid of a pallas_call leaves part of"


@dataclass(frozen=True, slots=True)
class ArraySpec:
    """An array by name; ``dtype`` is numpy's name ('float32', 'bfloat16', ...) of what the caller passes."""

    name: str
    dtype: str
    shape: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class DeviceFinding:
    """What a Pallas kernel leaves to the device that jax's interpreter decides; ``code`` as in ``irverify explain``.

    An error: on the device meant, or on every one, the result is not the interpreter's or depends on time.
    """

    code: str
    message: str
    span: Span = UNKNOWN_SPAN
    severity: Literal["error", "note"] = "error"
    in_program: bool = False  # the program shows it itself

    def __str__(self) -> str:
        return f"{self.code}: {self.message} ({self.span})"


@dataclass(slots=True)
class JaxTrace:
    """One jax function traced at given shapes.

    ``stablehlo``: module text with locations.  ``inputs`` and ``outputs`` in the order of @main.  ``key``: a digest of
    module and options.  ``options``: jax version, default_matmul_precision, x64.  ``notes``: assumptions made.
    ``findings``: what the interpreter's order of the grid hides.
    """

    stablehlo: str
    inputs: list[ArraySpec]
    outputs: list[ArraySpec]
    key: str
    options: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    findings: list[DeviceFinding] = field(default_factory=list)
