"""Finds the line of the user's source that is being executed, for the spans of recorded events.

Takes the running Python stack; gives a Span.  Must not import torch or triton: it only knows where they live.
"""

from __future__ import annotations

import sys
import sysconfig
from itertools import islice
from pathlib import Path
from types import CodeType, FrameType

from lowering.errors import UNKNOWN_SPAN, Span

_HERE = str(Path(__file__).parent)
_STDLIB = sysconfig.get_paths()["stdlib"]
_LIBRARIES = frozenset(("torch", "triton", "numpy", "ml_dtypes", "jax", "jaxlib"))
_ENGINE = "_engine_run_backward"  # torch's only Python door to the autograd engine
_is_user_file: dict[str, bool] = {}


def _is_library(module: str) -> bool:
    return module.split(".")[0] in _LIBRARIES


def is_user_file(file: str) -> bool:
    """True for the user's files and kernel libraries; False for the standard library, generated code and capture."""
    if file not in _is_user_file:
        in_stdlib = file.startswith(_STDLIB) and "site-packages" not in Path(file).parts
        _is_user_file[file] = not (in_stdlib or file.startswith(("<", _HERE)))
    return _is_user_file[file]


def _column(code: CodeType, instruction: int) -> int:
    position = next(islice(code.co_positions(), instruction // 2, None), None)
    return (position[2] or 0) + 1 if position else 0


CAPTURE_FRAME = "run_captured"  # spans are looked for above this function only


def span_of(frame: FrameType) -> Span:
    """Where ``frame`` stands now; ``name`` is the function's name."""
    code = frame.f_code
    return Span(code.co_filename, frame.f_lineno, _column(code, frame.f_lasti), code.co_name)


def user_span(stop: str, of_backward_node: Span | None = None) -> Span:
    """Span of the innermost user frame, not looking past the capture function named ``stop``.

    Ops that the autograd engine itself issues have no user frame of their own: they get ``of_backward_node``, the
    span of the forward op, rather than the line that called ``backward()``.
    """
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        file, name = frame.f_code.co_filename, frame.f_code.co_name
        if is_user_file(file) and not _is_library(frame.f_globals.get("__name__", "")):
            return span_of(frame)
        if name == _ENGINE and of_backward_node is not None:
            return of_backward_node
        if name == stop and file.startswith(_HERE):
            break
        frame = frame.f_back
    return UNKNOWN_SPAN
