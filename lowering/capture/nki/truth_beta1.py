"""Where the user's source asks whether there is a mask: in ``mask & more if mask else more``, which uses what it tests.

Gives ``asks_for_presence``.  Looks at the running frames and at the files that they come from.
"""

from __future__ import annotations

import ast
import linecache
import sys
from functools import cache
from itertools import islice
from pathlib import Path

from lowering.capture.user_frames import is_user_file

_PACKAGE = str(Path(__file__).parent)


def asks_for_presence() -> bool:
    """Whether the user's innermost running expression is the test of a conditional expression that then uses it."""
    frame = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        if not code.co_filename.startswith(_PACKAGE) and is_user_file(code.co_filename):
            place = next(islice(code.co_positions(), frame.f_lasti // 2, None), None)
            return place is not None and place in _tests(code.co_filename)
        frame = frame.f_back
    return False


@cache
def _tests(file: str) -> frozenset[tuple[int | None, int | None, int | None, int | None]]:
    """(line, end line, column, end column) of those conditional expressions of a file, and of their tests.

    Which of the two the branch instruction has differs between versions of Python.
    """
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except SyntaxError:
        return frozenset()
    asking = [node for node in ast.walk(tree) if isinstance(node, ast.IfExp) and _occurs(node.test, node.body)]
    found = [one for node in asking for one in (node, node.test)]
    return frozenset((one.lineno, one.end_lineno, one.col_offset, one.end_col_offset) for one in found)


def _occurs(part: ast.expr, whole: ast.expr) -> bool:
    return any(ast.dump(part) == ast.dump(node) for node in ast.walk(whole))
