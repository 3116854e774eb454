"""The three kinds of error irverify ever shows, and the source span they point at.

Gives: Span, UsageError, Unsupported, InternalError.  Knows nothing of any IR or framework.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Span:
    """A place in the user's source: file, 1-based line and column (0 = unknown), and the variable named there."""

    file: str = "?"
    line: int = 0
    column: int = 0
    name: str = ""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" if self.line else self.file


UNKNOWN_SPAN = Span()


class IrverifyError(Exception):
    """Base of every error that is shown without a traceback.  ``exit_code`` is the process's exit status."""

    exit_code = 4


class UsageError(IrverifyError):
    """Something the user can fix in the command or the file: the message says what was given and what to write."""

    exit_code = 2


class Unsupported(IrverifyError):
    """A construct that is not modelled: ``construct`` names it at ``span``; ``hint`` says what would help."""

    exit_code = 3

    def __init__(self, construct: str, span: Span = UNKNOWN_SPAN, hint: str = "") -> None:
        self.construct, self.span, self.hint = construct, span, hint
        super().__init__(f"unsupported: {construct} at {span}" + (f" ({hint})" if hint else ""))


class InternalError(IrverifyError):
    """A contradiction inside irverify itself: please report it with the input files."""

    exit_code = 4
