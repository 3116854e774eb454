"""Whether the loop bodies of a Beta-1 kernel are functions of their loops' variables alone, as bodies traced once are.

Takes the trace of a kernel and that of a second run, whose affine and sequential ranges went backwards; raises a usage
error where a turn is not the same in both: something of Python's went from turn to turn (NKI.md §1.5).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

import numpy as np

from lowering.capture.nki.once_beta1 import TRACED_ONCE
from lowering.capture.nki.trace import PSUM, Indirect, Instr, Loop, NkiTrace
from lowering.capture.trace import TensorRef
from lowering.errors import UsageError

Loops = Mapping[int, tuple[Loop, ...]]
_Place = tuple[Any, ...]
_OF_THE_ORDER = ("accumulate", "asked")  # which pass is the first is no matter of the source
_FIRST_OR_LATER = ("nc_copy", "tensor_tensor")  # into PSUM: what a product is put there by, or added


def has_turns(trace: NkiTrace) -> bool:
    """Whether there is a loop that could go backwards."""
    turns: dict[int, set[int]] = defaultdict(set)
    for instr in trace.instrs:
        for loop in instr.loops:
            if loop.kind in TRACED_ONCE:
                turns[loop.id].add(loop.turn)
    return any(len(seen) > 1 for seen in turns.values())


def same_turns(trace: NkiTrace, made_in: Loops, turned: NkiTrace, turned_made_in: Loops) -> None:
    """A usage error at the first instruction that a turn has otherwise in the other order.

    ``made_in``: the loops that were running when a storage was made.
    """
    mine, other = _by_turn(trace, made_in), _by_turn(turned, turned_made_in)
    for place, instrs in mine.items():
        found = other.get(place, [])
        for number, (instr, said) in enumerate(instrs):
            if number >= len(found) or found[number][1] != said:
                _refuse(instr)


def _refuse(instr: Instr) -> None:
    loop = next((loop for loop in reversed(instr.loops) if loop.kind in TRACED_ONCE), None)
    where = f"turn {loop.turn} of nl.{loop.kind}" if loop is not None else "the kernel"
    raise UsageError(
        f"{instr.span}: {instr.op} in {where} depends on what Python did in other turns (a list, an iterator, an "
        "attribute): Beta-1 traces the body once; write nl.static_range, or use the loop's variable"
    )


def _by_turn(trace: NkiTrace, made_in: Loops) -> dict[_Place, list[tuple[Instr, _Place]]]:
    """The instructions of each turn in their order, with what they do, storages named by where they are made."""
    names = _names(trace, made_in)
    found: dict[_Place, list[tuple[Instr, _Place]]] = defaultdict(list)
    for instr in trace.instrs:
        place = (_path(instr.loops), instr.core)
        found[place].append((instr, _said(trace, instr, names)))
    return found


def _path(loops: tuple[Loop, ...]) -> _Place:
    return tuple((loop.kind, loop.turn) for loop in loops)


def _names(trace: NkiTrace, made_in: Loops) -> dict[int, _Place]:
    seen: dict[_Place, int] = defaultdict(int)
    names: dict[int, _Place] = {}
    for number, storage in trace.storages.items():
        place = (_path(made_in.get(number, ())), storage.span.file, storage.span.line, storage.span.column)
        names[number] = (*place, seen[place])
        seen[place] += 1
    return names


def _said(trace: NkiTrace, instr: Instr, names: Mapping[int, _Place]) -> _Place:
    dst = instr.dst[0] if instr.dst else None
    if instr.op in _FIRST_OR_LATER and isinstance(dst, TensorRef) and trace.storages[dst.storage].space == PSUM:
        return (instr.span.line, _operand(dst, names))
    attrs = {name: value for name, value in instr.attrs.items() if name not in _OF_THE_ORDER}
    operands = [_operand(one, names) for one in (*instr.dst, *instr.src)]
    return (instr.op, instr.engine, instr.span.line, *operands, _plain(instr.mask), *sorted(_items(attrs)))


def _items(attrs: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [(name, _plain(value)) for name, value in attrs.items()]


def _operand(one: Any, names: Mapping[int, _Place]) -> Any:
    if isinstance(one, TensorRef):
        return names[one.storage], one.dtype, tuple(one.shape), tuple(one.strides), one.offset
    if isinstance(one, Indirect):
        return _operand(one.base, names), _operand(one.index, names), one.dim, one.kind, one.step
    return repr(one)


def _plain(value: Any) -> str:
    return f"{value.shape}{value.tobytes()!r}" if isinstance(value, np.ndarray) else repr(value)
