"""MLIR locations -> spans in the user's source.

jax nests locations: name("file":l:c) for a frame, callsite(inner at outer) for a traceback, and a name on top for the
primitive.  The span is the innermost frame that is neither jax's nor irverify's.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lowering.capture import user_frames
from lowering.capture.user_frames import is_user_file
from lowering.errors import UNKNOWN_SPAN, Span

_CAPTURE = str(Path(user_frames.__file__).parent)


def span_of(location: Any, within: str = "", call: Span = UNKNOWN_SPAN) -> Span:
    """Where the user wrote it; ``call`` when no frame is the user's.

    Inside the function ``within``, called at ``call``, an op whose traceback does not pass through that function
    belongs to a jitted function of jax's (jnp.where, say), whose cached ops point at its first caller.
    """
    frames = list(_user_frames(location))
    if within and not any(_is_named(frame.name, within) for frame in frames):
        return call
    return frames[0] if frames else call


def _is_named(qualified: str, symbol: str) -> bool:
    """Whether a frame runs the function that became ``symbol``: MLIR appends _0, _1, ... to make symbols unique."""
    name = qualified.rpartition(".")[2]
    return symbol == name or symbol.rstrip("0123456789") == name + "_"


def _user_frames(location: Any) -> Iterator[Span]:
    for span in _frames(location, ""):
        if span.file.startswith(_CAPTURE):
            return  # further out is whoever called irverify
        if is_user_file(span.file):
            yield span


def _frames(location: Any, name: str) -> Iterator[Span]:
    """Frames of a traceback, innermost first."""
    from jaxlib.mlir import ir

    if isinstance(location, ir.FileLineColLoc):
        # jax's columns count from 0, a Span's from 1
        yield Span(location.filename, location.start_line, location.start_col + 1, name)
    elif isinstance(location, ir.NameLoc):
        yield from _frames(location.child_loc, location.name_str)
    elif isinstance(location, ir.CallSiteLoc):
        yield from _frames(location.callee, name)
        yield from _frames(location.caller, "")
    elif isinstance(location, ir.FusedLoc):
        for part in location.locations:
            yield from _frames(part, name)
