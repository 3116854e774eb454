"""``from irverify import compare``: the comparison as a function, for scripts, tests and notebooks.

Takes two functions or paths, inputs and the options of CompareOptions; gives a Report.  A function that lives in a
file is run from that file, in a child process like on the command line; one that does not (a notebook cell, a
closure) is run in this process, and the report says so.
"""

from __future__ import annotations

import inspect
import os
import types
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from equivalence.verdicts import Level
from irverify.loading import ComparesItself
from irverify.options import CompareOptions, parse_level
from irverify.report.view import ReportView
from irverify.sandbox import WORKER
from lowering.errors import UsageError

Subject = str | Path | Callable[..., Any]


def compare(a: Subject, b: Subject, inputs: Iterable[Any] = (), **options: Any) -> ReportView:
    """Compares two subjects.

    ``inputs``: one item per argument, as on the command line ('f32[37,130]') or as arrays of numpy, torch or jax.
    ``options``: the fields of irverify.options.CompareOptions (require, special, tolerance, shapes, seed, ...).
    """
    if os.environ.get(WORKER):
        raise ComparesItself
    options = _checked(options)
    places = _place(a), _place(b)
    if None in places:
        from irverify.inprocess import compare_here

        return ReportView(compare_here(a, b, tuple(inputs), CompareOptions(a="a", b="b", **options)))
    from irverify.orchestrate import compare as run

    place_a, place_b = str(places[0]), str(places[1])
    return ReportView(run(CompareOptions(a=place_a, b=place_b, inputs=tuple(inputs), **options)))


def _checked(options: dict[str, Any]) -> dict[str, Any]:
    known = CompareOptions.__dataclass_fields__.keys() - {"a", "b", "inputs"}
    unknown = sorted(options.keys() - known)
    if unknown:
        raise UsageError(f"compare has no option {unknown[0]!r}; its options are {', '.join(sorted(known))}")
    if isinstance(options.get("require"), str):
        options["require"] = parse_level(options["require"])
    if isinstance(options.get("shapes"), str):
        options["shapes"] = (options["shapes"],)
    assert isinstance(options.get("require", Level.REAL), Level)
    return options


def _place(subject: Subject) -> str | None:
    """'file.py:name' of a subject that a child process can find again; None for one that only exists here."""
    if isinstance(subject, str | Path):
        return str(subject)
    target = inspect.unwrap(subject)
    name, module = getattr(target, "__qualname__", ""), inspect.getmodule(target)
    file = getattr(module, "__file__", None)
    if not isinstance(target, types.FunctionType | type) or file is None or "<locals>" in name:
        return None
    return f"{file}:{name}" if _is_there(module, name) and Path(file).suffix == ".py" else None


def _is_there(module: Any, qualified_name: str) -> bool:
    found = module
    for part in qualified_name.split("."):
        found = getattr(found, part, None)
    return found is not None
