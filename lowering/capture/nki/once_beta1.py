"""Beta-1 traces the body of a loop once (NKI.md §1.5): what only Python remembers from turn to turn is not there.

``watched`` passes the turns of a loop on and refuses Python values that one turn leaves to the next.
``look_for_leaks`` refuses tiles made in a turn that are read outside of it.  Both raise usage errors.
"""

from __future__ import annotations

import ast
import linecache
import sys
from collections.abc import Iterator
from functools import lru_cache
from types import FrameType
from typing import Any, TypeVar

from lowering.capture.nki.trace import Indirect, Instr, Loop, NkiTrace
from lowering.capture.trace import TensorRef
from lowering.capture.user_frames import is_user_file
from lowering.errors import UsageError

TRACED_ONCE = ("affine_range", "sequential_range")
_PLAIN = (bool, int, float, str, bytes, type(None))
_Turn = TypeVar("_Turn")


# -- values of Python ------------------------------------------------------------------------------------------------


def watched(turns: Iterator[_Turn], kind: str) -> Iterator[_Turn]:
    """``turns``, of a loop in the user's file that is running."""
    frame = _user_frame()
    names = _carried(frame.f_code.co_filename, frame.f_lineno) if frame is not None else {}
    for turn in turns:
        before = _values(frame, names)
        yield turn
        after = _values(frame, names)
        for name, value in before.items():
            if name in after and after[name] != value:
                place = f"{frame.f_code.co_filename}:{names[name]}" if frame is not None else ""
                raise UsageError(
                    f"{place}: {name} is {value!r} in one turn of nl.{kind} and {after[name]!r} in the next: Beta-1 "
                    f"traces the body once, with {value!r}; write nl.static_range, or use the loop's variable"
                )


def _user_frame() -> FrameType | None:
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and not is_user_file(frame.f_code.co_filename):
        frame = frame.f_back
    return frame


def _values(frame: FrameType | None, names: dict[str, int]) -> dict[str, Any]:
    """The plain values among the locals ``names``."""
    if frame is None or not names:
        return {}
    held = frame.f_locals
    return {name: held[name] for name in names if type(held.get(name, ...)) in _PLAIN}


@lru_cache(16)
def _loops(text: str) -> list[ast.For]:
    """The for statements of a file."""
    try:
        return [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.For)]
    except SyntaxError:
        return []


def _carried(file: str, line: int) -> dict[str, int]:
    """Names that the body of the loop at ``line`` reads before it gives them a value; where it gives them one."""
    linecache.checkcache(file)
    text = "".join(linecache.getlines(file))
    loop = next((f for f in _loops(text) if f.lineno <= line <= (f.iter.end_lineno or f.lineno)), None)
    if loop is None:
        return {}
    uses = _Uses()
    for statement in loop.body:
        uses.visit(statement)
    targets = {node.id for node in ast.walk(loop.target) if isinstance(node, ast.Name)}
    return {name: at for name, at in uses.given.items() if name in uses.read_first and name not in targets}


class _Uses(ast.NodeVisitor):
    """Names in the order in which they are evaluated."""

    def __init__(self) -> None:
        self.read_first: set[str] = set()
        self.given: dict[str, int] = {}

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Load):
            if node.id not in self.given:
                self.read_first.add(node.id)
        else:
            self.given.setdefault(node.id, node.lineno)

    def visit_Assign(self, node: ast.Assign) -> None:
        self.visit(node.value)
        for target in node.targets:
            self.visit(target)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)
            self.visit(node.target)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self.visit(node.value)
        if isinstance(node.target, ast.Name) and node.target.id not in self.given:
            self.read_first.add(node.target.id)
        self.visit(node.target)

    def visit_For(self, node: ast.For) -> None:
        for part in (node.iter, node.target, *node.body, *node.orelse):
            self.visit(part)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        """A function's own names are not the loop's."""

    def visit_Lambda(self, node: ast.Lambda) -> None:
        """As above."""

    def _comprehension(self, node: Any) -> None:
        for generator in node.generators:
            self.visit(generator.iter)

    visit_ListComp = visit_SetComp = visit_GeneratorExp = visit_DictComp = _comprehension


# -- tiles -----------------------------------------------------------------------------------------------------------


def look_for_leaks(trace: NkiTrace, made_in: dict[int, tuple[Loop, ...]], exempt: frozenset[int]) -> None:
    """A usage error where an instruction reads a tile outside of the turn that made it.

    ``made_in``: the loops that were running when a storage was made; ``exempt``: accumulators of nl.loop_reduce.
    """
    inner = {number: loops for number, loops in made_in.items() if loops and number not in exempt}
    for instr in trace.instrs:
        for view in instr.src:
            if not isinstance(view, TensorRef | Indirect):
                continue
            loops = inner.get(view.base.storage if isinstance(view, Indirect) else view.storage, ())
            if loops and _left(loops, instr) is not None:
                _refuse(trace, view, loops, instr)


def _left(loops: tuple[Loop, ...], instr: Instr) -> Loop | None:
    """The first of ``loops`` whose turn the instruction is not in."""
    turns = {loop.id: loop.turn for loop in instr.loops}
    return next((loop for loop in loops if loop.kind in TRACED_ONCE and turns.get(loop.id) != loop.turn), None)


def _refuse(trace: NkiTrace, view: TensorRef | Indirect, loops: tuple[Loop, ...], instr: Instr) -> None:
    storage = trace.storages[view.base.storage if isinstance(view, Indirect) else view.storage]
    left = _left(loops, instr)
    assert left is not None
    inside = any(loop.id == left.id for loop in instr.loops)
    where = "in a later turn" if inside else "after the loop"
    raise UsageError(
        f"{instr.span}: {instr.op} reads {where} a tile that turn {left.turn} of nl.{left.kind} made at line "
        f"{storage.span.line}: Beta-1 traces the body once, so the tile is gone; make it before the loop and assign "
        "to it (t[...] = ...), or write nl.static_range"
    )
