"""What went wrong in a worker, as data: the user's exception with the user's own lines, or one of our three errors.

Takes an exception; gives a dict for the exchange, and back in the parent the error to raise.
"""

from __future__ import annotations

import traceback
from pathlib import Path
from typing import Any

from lowering.errors import InternalError, IrverifyError, Span, Unsupported, UsageError

_OURS = ("irverify", "equivalence", "lowering")
_ROOT = Path(__file__).resolve().parents[1]
_OUR_BUGS = (AttributeError, KeyError, NameError, AssertionError, ImportError)
_OUT_OF_MEMORY = ("can't allocate memory", "RESOURCE_EXHAUSTED", "std::bad_alloc")
_FRAMEWORKS = {"torch": "torch", "triton": "triton", "jax": "jax", "jaxlib": "jax"}


class Undecided(IrverifyError):
    """Nothing could be said within the limits: the message says which limit and how to raise it."""

    exit_code = 3


def describe(error: BaseException, user_file: Path) -> dict[str, Any]:
    """The exception as plain data."""
    trace = "".join(traceback.format_exception(error))
    base = {"message": str(error), "trace": trace}
    if isinstance(error, Unsupported):
        span = error.span
        where = [span.file, span.line, span.column, span.name]
        return base | {"kind": "unsupported", "construct": error.construct, "span": where, "hint": error.hint}
    if isinstance(error, UsageError):
        return base | {"kind": "usage"}
    if isinstance(error, MemoryError) or any(words in str(error) for words in _OUT_OF_MEMORY):
        return base | {"kind": "memory"}
    if isinstance(error, ModuleNotFoundError) and (error.name or "").split(".")[0] in _FRAMEWORKS:
        return base | {"kind": "missing", "module": (error.name or "").split(".")[0]}
    frames = _user_frames(error, user_file)
    if isinstance(error, InternalError) or not frames or _is_our_bug(error):
        return base | {"kind": "internal"}
    return base | {"kind": "raised", "type": type(error).__name__, "frames": frames}


def _user_frames(error: BaseException, user_file: Path) -> list[list[Any]]:
    """[file, line, function, source line] from the first frame in the user's file on, without ours and torch's."""
    frames = traceback.extract_tb(error.__traceback__)
    start = next((i for i, frame in enumerate(frames) if _same_file(frame.filename, user_file)), None)
    if start is None:
        return _syntax_frame(error)
    shown = [frame for frame in frames[start:] if not _is_library(frame.filename)]
    return [[frame.filename, frame.lineno, frame.name, frame.line] for frame in shown]


def _syntax_frame(error: BaseException) -> list[list[Any]]:
    if isinstance(error, SyntaxError) and error.filename:
        return [[error.filename, error.lineno, "<module>", (error.text or "").strip()]]
    return []


def _same_file(filename: str, user_file: Path) -> bool:
    return filename == str(user_file) or Path(filename) == user_file.resolve()


def _is_library(filename: str) -> bool:
    return "site-packages" in filename or filename.startswith("<") or _is_ours(filename)


def _is_ours(filename: str) -> bool:
    path = Path(filename)
    return path.is_relative_to(_ROOT) and path.relative_to(_ROOT).parts[0] in _OURS


def _is_our_bug(error: BaseException) -> bool:
    """An error of a kind that user code rarely provokes, raised by a line of ours under the user's call."""
    frames = traceback.extract_tb(error.__traceback__)
    if not frames or not _is_ours(frames[-1].filename) or not isinstance(error, _OUR_BUGS):
        return False
    above = next((i for i in reversed(range(len(frames))) if not _is_ours(frames[i].filename)), -1)
    looked_up = isinstance(error, AttributeError) and frames[above + 1].name == "__getattr__"
    return not looked_up  # a name that the user asks one of our stand-ins for, and that it does not have


def error_of(data: dict[str, Any], file: str) -> IrverifyError:
    """The error that the parent raises for a failure described in a worker."""
    match data["kind"]:
        case "usage":
            return UsageError(data["message"])
        case "unsupported":
            return Unsupported(data["construct"], Span(*data["span"]), data["hint"])
        case "memory":
            return Undecided(f"{file}: ran out of memory while it was captured; try --memory 32G or smaller inputs")
        case "missing":
            name = data["module"]
            return UsageError(
                f"{file} imports {name}, which is not installed here: pip install 'irverify[all]' "
                "(irverify doctor shows what is usable)"
            )
        case "raised":
            return UsageError(_raised(data, file))
    return with_trace(InternalError(f"{file}: {data['message'] or 'no message'}"), data["trace"])


def with_trace(error: IrverifyError, trace: str) -> IrverifyError:
    """Keeps a worker's traceback for ``--debug``."""
    error.add_note(trace)
    return error


def _raised(data: dict[str, Any], file: str) -> str:
    lines = [f"{file}: the kernel raised {data['type']}: {data['message']}"]
    for path, line, function, source in data["frames"]:
        lines += [f"    {path}:{line} in {function}", f"        {source}"]
    return "\n".join(lines)
