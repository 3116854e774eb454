"""Runs the user's file (in the worker) and finds the entry in it; binds arguments to its parameters.

Takes a path and names; gives the module, the callable and bound arguments.  Knows no framework.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import inspect
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from lowering.errors import UsageError

AS_GIVEN = "Python arguments have the given values"  # a note, save where other numbers are tried


class ComparesItself(BaseException):
    """The file calls ``compare`` while it is imported: what it compares is defined by then, the rest is not needed.

    No Exception, so that a script's own ``except Exception`` does not go on to the next comparison.
    """


def own_kernel_cache(path: Path) -> None:
    """A compiled-kernel cache of the file's own: Triton's is keyed by source text, so twins would share spans."""
    base = os.environ.get("TRITON_CACHE_DIR")
    if base:
        digest = hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:16]
        os.environ["TRITON_CACHE_DIR"] = str(Path(base) / digest)


def load(path: Path) -> ModuleType:
    """Imports the file: under its package's name when it lies in a package, else under a name of its own."""
    path = path.resolve()
    root, parts = _package_of(path)
    sys.path.insert(0, str(root))  # the file's own helpers come first, as when it is run as a script
    if len(parts) > 1:
        try:
            return importlib.import_module(".".join(parts))
        except ComparesItself:
            raise UsageError(
                f"{path} calls irverify.compare while it is imported; put the call under if __name__ == '__main__':"
            ) from None
    return _load_alone(path)


def load_again(module: ModuleType, path: Path) -> ModuleType:
    """The file once more, as a module of its own: what it found out at its import it finds out anew."""
    sys.modules.pop(module.__name__, None)
    try:
        return load(path)
    finally:
        sys.modules[module.__name__] = module


def _package_of(path: Path) -> tuple[Path, list[str]]:
    parts, folder = [path.stem], path.parent
    while (folder / "__init__.py").exists():
        parts.insert(0, folder.name)
        folder = folder.parent
    return folder, parts


def _load_alone(path: Path) -> ModuleType:
    name = f"subject_{path.stem}"  # never 'triton' or 'softmax': the file must not shadow an installed module
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise UsageError(f"{path} cannot be imported as Python; its name should end in .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses and triton look their module up by name
    quiet, sys.dont_write_bytecode = sys.dont_write_bytecode, True  # leave nothing beside the user's file
    try:
        spec.loader.exec_module(module)
    except ComparesItself:
        pass  # as far as it ran, it is the module
    finally:
        sys.dont_write_bytecode = quiet
    return module


def find(module: ModuleType, entry: str) -> Any:
    """The object called ``entry`` ('softmax', 'Kernels.softmax')."""
    found: Any = module
    for part in entry.split("."):
        if not hasattr(found, part):
            raise UsageError(f"{module.__file__}: {entry!r} is not there after the file has run")
        found = getattr(found, part)
    if not callable(found):
        raise UsageError(f"{module.__file__}: {entry!r} is a {type(found).__name__}; the entry must be callable")
    return found


@dataclass(frozen=True, slots=True)
class Bound:
    """Arguments as one function takes them.  ``names``: the shared name of each, in the order args then kwargs."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    names: tuple[str, ...]
    notes: tuple[str, ...] = ()


def bind(function: Callable[..., Any], arguments: Sequence[tuple[str | None, Any]], where: str) -> Bound:
    """Positional arguments in order, named ones by name; a name that this side lacks is left out, and noted.

    A destination that only one side takes (``out``) is the usual reason for a name that the other side lacks.
    """
    signature = _signature(function)
    known = set(signature.parameters) if signature else set()
    open_ended = signature is None or any(p.kind is p.VAR_KEYWORD for p in signature.parameters.values())
    positional = [value for name, value in arguments if name is None]
    named = {name: value for name, value in arguments if name is not None and (open_ended or name in known)}
    dropped = [name for name, _ in arguments if name is not None and name not in named]
    if signature is not None:
        _check_fits(signature, positional, named, where)
    names = _names(signature, len(positional)) + tuple(named)
    notes = [f"{where} takes no argument {name!r}; it was left out on that side" for name in dropped]
    notes += _python_values(signature, names, positional, named)
    return Bound(tuple(positional), named, names, tuple(notes))


def _python_values(
    signature: inspect.Signature | None, names: Sequence[str], positional: Sequence[Any], named: dict[str, Any]
) -> list[str]:
    """A note on arguments that are no arrays, defaults too: the program is the one for these values of them."""
    given = dict(zip(names, [*positional, *named.values()]))
    parameters = signature.parameters.values() if signature else ()
    defaults = {p.name: p.default for p in parameters if p.name not in given and p.default is not p.empty}
    fixed = [f"{name}={value!r}" for name, value in (given | defaults).items() if _is_python_value(value)]
    return [f"{AS_GIVEN}: {', '.join(fixed)}"] if fixed else []


def _is_python_value(value: Any) -> bool:
    """A number, a truth value or a word, or several of them."""
    if isinstance(value, list | tuple):
        return bool(value) and all(_is_python_value(item) for item in value)
    return isinstance(value, bool | int | float | complex | str)


def _signature(function: Callable[..., Any]) -> inspect.Signature | None:
    try:
        return inspect.signature(function)
    except (TypeError, ValueError):
        return None


def _check_fits(signature: inspect.Signature, positional: Sequence[Any], named: dict[str, Any], where: str) -> None:
    try:
        signature.bind(*positional, **named)
    except TypeError as error:
        given = len(positional) + len(named)
        raise UsageError(
            f"{where}{signature}: the {given} inputs given do not fit: {error}. "
            "Give one --input per argument, in order, or name=spec"
        ) from None


def _names(signature: inspect.Signature | None, count: int) -> tuple[str, ...]:
    """Names for the positional arguments: the parameter's own, numbered under *args."""
    if signature is None:
        return tuple(f"arg{i}" for i in range(count))
    names: list[str] = []
    for parameter in signature.parameters.values():
        if parameter.kind is parameter.VAR_POSITIONAL:
            names += [f"{parameter.name}[{i}]" for i in range(count - len(names))]
        elif parameter.kind is not parameter.KEYWORD_ONLY:
            names.append(parameter.name)
    return tuple(names[:count])
