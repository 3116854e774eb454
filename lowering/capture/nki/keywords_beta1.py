"""Keywords of `neuronxcc.nki.isa`: its functions take any (``**kwargs``), and one that is not documented is a mistake.

Takes functions; gives functions that refuse such a keyword with the user's line and the name that it is close to.
"""

from __future__ import annotations

import difflib
import functools
import inspect
from collections.abc import Callable
from typing import Any

from lowering.capture.nki.tracer import here
from lowering.errors import UsageError

#: not documented, found in published kernels, without a meaning for the numbers
_TAKEN = frozenset(["name", "buffer", "lowering_option", "schedule"])


def documented_keywords(namespace: dict[str, Any]) -> None:
    """Every function of a module that takes further keywords takes those that are named alone."""
    for name, function in list(namespace.items()):
        if name.startswith("_") or not inspect.isfunction(function):
            continue
        parameters = inspect.signature(function).parameters.values()
        if any(one.kind is one.VAR_KEYWORD for one in parameters):
            known = frozenset(one.name for one in parameters if one.kind is not one.VAR_KEYWORD)
            namespace[name] = _checked(name, function, known)


def _checked(name: str, function: Callable[..., Any], known: frozenset[str]) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        for key in kwargs:
            if key not in known and key not in _TAKEN:
                close = difflib.get_close_matches(key, known, 1)
                meant = f"{close[0]} is meant?  " if close else ""
                raise UsageError(
                    f"{here()}: nisa.{name} has no keyword {key}: {meant}Its keywords are {', '.join(sorted(known))}"
                )
        return function(*args, **kwargs)

    return call
