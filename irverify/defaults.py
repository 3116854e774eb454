"""Float parameters that both entries have, with the same default: capture folds these into the program too.

Takes two parsed files and their entries; gives the defaults that can be given as other values by name (scalars.py).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

Defaults = dict[str, tuple[int, float]]  # by name: how many positional arguments leave it at its default, and the value


def shared_defaults(a: tuple[ast.Module, str], b: tuple[ast.Module, str], method: str = "forward") -> Defaults:
    """What both have under one name with one value; of a class in ``method``."""
    mine, theirs = (dict(_floats(*side, method)) for side in (a, b))
    both = [name for name in mine if name in theirs and mine[name][1] == theirs[name][1]]
    return {name: (min(mine[name][0], theirs[name][0]), mine[name][1]) for name in both}


def shared_by_constructors(a: tuple[ast.Module, str], b: tuple[ast.Module, str]) -> Defaults:
    """The same of the classes' constructors."""
    both = all(isinstance(definition(*side), ast.ClassDef) for side in (a, b))
    return shared_defaults(a, b, "__init__") if both else {}


def _floats(tree: ast.Module, entry: str, method: str) -> Iterator[tuple[str, tuple[int, float]]]:
    node, skipped = definition(tree, entry), 0
    if isinstance(node, ast.ClassDef):
        node, skipped = next((n for n in node.body if isinstance(n, ast.FunctionDef) and n.name == method), None), 1
    if not isinstance(node, ast.FunctionDef):
        return
    positional = [*node.args.posonlyargs, *node.args.args]
    first = len(positional) - len(node.args.defaults)
    for offset, default in enumerate(node.args.defaults):
        place = first + offset
        named = place >= len(node.args.posonlyargs)
        if named and (value := _float(default)) is not None:
            yield positional[place].arg, (place - skipped, value)
    for parameter, default in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True):
        if default is not None and (value := _float(default)) is not None:
            yield parameter.arg, (len(positional) - skipped, value)


def definition(tree: ast.Module, entry: str) -> ast.stmt | None:
    """The function or class of that name at the top of the file."""
    found = (n for n in tree.body if isinstance(n, ast.FunctionDef | ast.ClassDef) and n.name == entry)
    return next(found, None)


def body_of(tree: ast.Module, entry: str) -> str | None:
    """The text of a definition without its docstring and decorators' places; None where there is none."""
    node = definition(tree, entry)
    if node is None:
        return None
    body: list[ast.stmt] = node.body  # type: ignore[attr-defined]
    kept = body[1:] if ast.get_docstring(node) is not None else body  # type: ignore[arg-type]
    return "\n".join([ast.dump(n) for n in kept])


def _float(node: ast.expr) -> float | None:
    try:
        value = ast.literal_eval(node)
    except ValueError:
        return None
    return value if type(value) is float else None
