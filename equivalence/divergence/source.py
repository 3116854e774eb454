"""Where in the user's file a launch argument or a constant was written: refines the span of a host call.

Takes spans and reads the file they name, if it is there; gives spans.  Must not import or run the file.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from lowering.errors import Span

_Function = ast.FunctionDef | ast.AsyncFunctionDef


@lru_cache(maxsize=16)
def _parsed(file: str) -> tuple[ast.Module, list[str]] | None:
    try:
        text = Path(file).read_text()
        return ast.parse(text), text.splitlines()
    except (OSError, SyntaxError, ValueError):
        return None


def line_text(span: Span) -> str:
    """The text of the span's line, or nothing."""
    parsed = _parsed(span.file)
    return parsed[1][span.line - 1].strip() if parsed and 0 < span.line <= len(parsed[1]) else ""


def _calls_at(tree: ast.Module, line: int) -> Iterator[ast.Call]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and node.lineno == line:
            yield node


def _function_around(tree: ast.Module, line: int) -> _Function | None:
    around = [n for n in ast.walk(tree) if isinstance(n, _Function) and n.lineno <= line <= (n.end_lineno or 0)]
    return max(around, key=lambda n: n.lineno, default=None)


def _at(span: Span, node: ast.expr | ast.stmt) -> Span:
    return Span(span.file, node.lineno, node.col_offset + 1, span.name)


def _launch(tree: ast.Module, line: int) -> ast.Call | None:
    """The outermost call on the line: ``kernel[grid](...)`` before any call among its arguments."""
    calls = list(_calls_at(tree, line))
    return max(calls, key=lambda c: ((c.end_lineno or 0), -c.col_offset), default=None)


def argument(span: Span, position: int, count: int) -> Span:
    """Where operand ``position`` of the ``count`` operands of the launch at ``span`` comes from.

    Arguments that were folded into the kernel are no operands, so a position can mean several arguments; then the
    answer is given only if they stand on one line.
    """
    parsed = _parsed(span.file)
    call = _launch(parsed[0], span.line) if parsed else None
    if parsed is None or call is None:
        return span
    written = [a for a in call.args if not isinstance(a, ast.Starred)]
    slack = max(0, len(written) - count)
    candidates = written[position : position + slack + 1] if len(written) == len(call.args) else []
    if not candidates or len({c.lineno for c in candidates}) > 1:
        return span
    return _definition(parsed[0], span, candidates[0])


def _definition(tree: ast.Module, span: Span, node: ast.expr) -> Span:
    """A name's only assignment or its default in the enclosing function; anything else is where it stands."""
    function = _function_around(tree, span.line)
    if not isinstance(node, ast.Name) or function is None:
        return _at(span, node)
    assigned = [s for s in ast.walk(function) if isinstance(s, ast.Assign) and _binds(s, node.id)]
    if len(assigned) == 1 and not isinstance(assigned[0].targets[0], ast.Tuple):
        return _at(span, assigned[0])
    default = _default(function, node.id)
    return _at(span, default) if default is not None else _at(span, node)


def _binds(statement: ast.Assign, name: str) -> bool:
    return any(isinstance(n, ast.Name) and n.id == name for t in statement.targets for n in ast.walk(t))


def _default(function: _Function, name: str) -> ast.expr | None:
    arguments = [*function.args.posonlyargs, *function.args.args]
    defaults = dict(zip([a.arg for a in arguments[::-1]], function.args.defaults[::-1]))
    defaults |= {a.arg: d for a, d in zip(function.args.kwonlyargs, function.args.kw_defaults) if d is not None}
    return defaults.get(name)


def _numbers(node: ast.AST) -> Iterator[tuple[float, ast.expr]]:
    for inner in ast.walk(node):
        if isinstance(inner, ast.Constant) and isinstance(inner.value, int | float):
            yield float(inner.value), inner


def constant(span: Span, value: float, launch: Span | None) -> Span:
    """Where the number was written: on its own line, else among the arguments of the launch that folded it in."""
    parsed = _parsed(span.file)
    if parsed is None:
        return span
    statements = [n for n in ast.walk(parsed[0]) if isinstance(n, ast.expr) and n.lineno == span.line]
    if any(_same(number, value) for s in statements for number, _ in _numbers(s)) or launch is None:
        return span
    host = _parsed(launch.file)
    call = _launch(host[0], launch.line) if host else None
    for argument_ in [*call.args, *(k.value for k in call.keywords)] if call else []:
        for number, node in _numbers(argument_):
            if _same(number, value):
                return _at(launch, node)
    return span


def _same(written: float, value: float) -> bool:
    """The written number after rounding to f32 at most."""
    return abs(written - value) <= 1e-6 * abs(value)
