"""Removes from a finished program what nothing uses, and loop carries that no iteration changes or that only count.

Takes and gives a Program (changed in place).  Values are never recomputed or reordered: only dead ops go.
"""

from __future__ import annotations

from collections.abc import Iterable

from lowering.frontends.stablehlo.counters import merge_counters
from lowering.ir.program import Block, Op, Program, Value


def tidy(program: Program) -> Program:
    """The same program without dead ops and without invariant carries."""
    renamed: dict[Value, Value] = {}
    merge_counters(program.body, renamed)
    _hoist(program.body, renamed)
    _rename(program.body, renamed)
    program.outputs = [(name, _final(v, renamed)) for name, v in program.outputs]
    _sweep(program.body, {v for _, v in program.outputs})
    return program


def _final(value: Value, renamed: dict[Value, Value]) -> Value:
    while value in renamed:
        value = renamed[value]
    return value


def _rename(block: Block, renamed: dict[Value, Value]) -> None:
    for op in block.walk():
        op.operands = [_final(v, renamed) for v in op.operands]


def _hoist(block: Block, renamed: dict[Value, Value]) -> None:
    """A carry that the body yields unchanged is the value it started with, everywhere."""
    for op in block.ops:
        for region in op.regions:
            _hoist(region, renamed)
        if op.name == "for":
            _drop(op, [i for i in range(len(op.results)) if _unchanged(op, i, renamed)], renamed)


def _unchanged(loop: Op, i: int, renamed: dict[Value, Value]) -> bool:
    body = loop.regions[0]
    return _final(body.ops[-1].operands[i], renamed) is body.args[1 + i]


def _drop(loop: Op, carries: list[int], renamed: dict[Value, Value]) -> None:
    body = loop.regions[0]
    for i in carries:
        renamed[body.args[1 + i]] = loop.operands[3 + i]
        renamed[loop.results[i]] = loop.operands[3 + i]
    _keep(loop, [i for i in range(len(loop.results)) if i not in carries])


def _keep(loop: Op, carries: list[int]) -> None:
    body = loop.regions[0]
    loop.operands = [*loop.operands[:3], *(loop.operands[3 + i] for i in carries)]
    body.args = [body.args[0], *(body.args[1 + i] for i in carries)]
    body.ops[-1].operands = [body.ops[-1].operands[i] for i in carries]
    loop.results = [loop.results[i] for i in carries]


def _sweep(block: Block, live: set[Value]) -> None:
    """Drops ops whose results nothing live uses, last first.  ``live`` grows by what the kept ops use."""
    kept: list[Op] = []
    for op in reversed(block.ops):
        if op.results and not any(r in live for r in op.results):
            continue
        if op.name == "for":
            _sweep_loop(op, live)
        else:
            for region in op.regions:
                _sweep(region, live)
        live.update(op.operands)
        kept.append(op)
    block.ops = kept[::-1]


def _sweep_loop(loop: Op, live: set[Value]) -> None:
    """A carry lives when its result does, or when a live carry's next value is computed from it."""
    body = loop.regions[0]
    alive = {i for i, r in enumerate(loop.results) if r in live}
    while True:
        cone = _cone(body, [body.ops[-1].operands[i] for i in sorted(alive)])
        grown = alive | {i for i, arg in enumerate(body.args[1:]) if arg in cone}
        if grown == alive:
            break
        alive = grown
    _keep(loop, sorted(alive))
    _sweep(body, live)


def _cone(block: Block, wanted: Iterable[Value]) -> set[Value]:
    """Everything of ``block`` that ``wanted`` is computed from."""
    cone = set(wanted)
    for op in reversed(block.ops[:-1]):
        if not op.results or any(r in cone for r in op.results):
            cone.update(op.operands)
            for region in op.regions:
                cone.update(v for inner in region.walk() for v in inner.operands)
    return cone
