"""MLIR location -> Span of the user's source.  Knows no ops.

Triton nests call sites: the frame we want is the innermost one that is not in Triton's own library, and the variable
named there (``tl.sum`` is lines of standard.py called from the line that a reader knows).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from jaxlib.mlir import ir

from lowering.errors import UNKNOWN_SPAN, Span

_LIBRARY = ("/triton/language/", "/triton/runtime/")


def span_of(location: ir.Location, caller: Span = UNKNOWN_SPAN) -> Span:
    """The innermost user frame of ``location``, else of the call we are in; a library frame when that is all."""
    frames = _frames(location, "")
    user = [frame for frame in frames if not _in_library(frame)]
    outer = [caller] if caller.line else []
    return (user or outer or frames or [UNKNOWN_SPAN])[0]


def _frames(location: ir.Location, name: str) -> list[Span]:
    """Known frames, innermost first; ``name`` is the variable that the frame's value is bound to."""
    match location:
        case ir.NameLoc():
            return _frames(location.child_loc, location.name_str)
        case ir.CallSiteLoc():
            return _frames(location.callee, name) + _frames(location.caller, "")
        case ir.FusedLoc():
            return [frame for part in cast(Iterable[ir.Location], location.locations) for frame in _frames(part, name)]
        case ir.FileLineColLoc():
            return [Span(location.filename, location.start_line, location.start_col, name)]
    return []


def _in_library(span: Span) -> bool:
    return any(folder in span.file.replace("\\", "/") for folder in _LIBRARY)
