"""while, if and case.  A counted while becomes a KIR ``for``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lowering.frontends.stablehlo.node import Node, handles
from lowering.ir.program import Block, Op, Value
from lowering.ir.types import BOOL


@dataclass(frozen=True, slots=True)
class Counted:
    """Carry ``counter`` runs from its initial value while it is below ``bound``, by ``step``."""

    counter: int
    bound: Value
    step: Value


@handles("stablehlo.while")
def _while(node: Node) -> Sequence[Value]:
    condition = _condition(node)
    body = node.translator.region(node.region(1))
    counted = _counted(node, condition, body)
    if counted is None:
        return node.b.op("while", node.operands, [condition, body]).results
    if _runs_once(node, counted):
        return node.translator.inline(node.region(1), node.operands)
    return _for(node, body, counted)


def _condition(node: Node) -> Block:
    """The condition region; the KIR form also passes the carries on."""
    block = node.region(0)
    types = [v.type for v in node.operands]
    return node.b.region(types, lambda *args: [*node.translator.inline(block, args), *args], end="condition")


def _counted(node: Node, condition: Block, body: Block) -> Counted | None:
    """i < bound, i' = i + step, with a bound that no iteration changes and a positive literal step."""
    ends = body.ops[-1].operands
    made = {op.result.name: op for op in condition.ops if op.results}
    test = made.get(condition.ops[-1].operands[0].name)
    if test is None or test.name != "cmp" or test.attrs["pred"] not in ("lt", "gt"):
        return None
    i, limit = test.operands if test.attrs["pred"] == "lt" else test.operands[::-1]
    if i not in condition.args:
        return None
    counter = condition.args.index(i)
    bound = _outside(node, condition, body, limit, made)
    step = _step(node, body, counter, ends[counter])
    if bound is None or step is None or not _stays_in_range(node, bound, step):
        return None
    return Counted(counter, bound, step)


def _stays_in_range(node: Node, bound: Value, step: Value) -> bool:
    """Whether the last step cannot wrap.  A bound that is no literal is an extent: in 32 bits, far from the end."""
    by, last, dt = node.b.literal(step), node.b.literal(bound), step.type.dtype
    assert by is not None
    if last is None:
        return by == 1 or dt.bits >= 32
    return last - 1 + by <= np.iinfo(dt.numpy).max


def _outside(node: Node, condition: Block, body: Block, limit: Value, made: dict[str, Op]) -> Value | None:
    """The bound as a value known before the loop: a literal, or a carry that stays as it is."""
    if limit in condition.args:
        k = condition.args.index(limit)
        return node.operands[k] if body.ops[-1].operands[k] is body.args[k] else None
    if limit.name not in made:
        return limit
    literal = node.b.literal(limit)
    return None if literal is None else node.b.constant(literal, limit.type.dtype)


def _step(node: Node, body: Block, counter: int, ends: Value) -> Value | None:
    """The literal that the body adds to the counter."""
    op = node.b.definition(ends)
    if op is None or op.name != "add" or body.args[counter] not in op.operands:
        return None
    step = next((v for v in op.operands if v is not body.args[counter]), None)
    literal = None if step is None else node.b.literal(step)
    if step is None or literal is None or literal <= 0 or step.type.dtype.kind not in ("int", "uint"):
        return None
    return node.b.constant(literal, step.type.dtype)


def _runs_once(node: Node, counted: Counted) -> bool:
    """A kernel without a grid is a loop of one iteration."""
    first, bound, step = (node.b.literal(v) for v in (node.operands[counted.counter], counted.bound, counted.step))
    return first is not None and bound is not None and step is not None and first < bound <= first + step


def _for(node: Node, body: Block, counted: Counted) -> list[Value]:
    """The counter becomes the loop's own; it stays a carry only when its last value is read."""
    k, operands = counted.counter, node.operands
    read = any(True for _ in node.op.operation.results[k].uses)
    counter = body.args[k]
    if read:
        body.args[k] = node.b.value(counter.type)
        body.args.insert(0, counter)
    else:
        body.args = [counter, *(a for i, a in enumerate(body.args) if i != k)]
        last = body.ops[-1]
        last.operands = [v for i, v in enumerate(last.operands) if i != k]
        operands = [v for i, v in enumerate(operands) if i != k]
    loop = node.b.op("for", [node.operands[k], counted.bound, counted.step, *operands], [body])
    results = list(loop.results)
    if not read:
        results.insert(k, counted.bound)  # never read
    return results


@handles("stablehlo.if")
def _if(node: Node) -> Sequence[Value]:
    then, otherwise = (node.translator.region(node.region(i)) for i in (0, 1))
    return node.b.op("if", node.operands, [then, otherwise]).results


@handles("stablehlo.case")
def _case(node: Node) -> Sequence[Value]:
    """Branch by number; a number out of range takes the last branch."""
    branches = [r.blocks[0] for r in node.op.operation.regions]
    truth = _truth(node, node.operands[0])
    if len(branches) == 2 and truth is not None:
        # lax.cond: branch 1 is the one taken when the condition holds
        then, otherwise = (_region(node, branches[i]) for i in (1, 0))
        return node.b.op("if", [truth], [then, otherwise]).results
    return _branches(node, node.operands[0], branches, 0)


def _truth(node: Node, index: Value) -> Value | None:
    """The truth value that a branch number was converted from."""
    op = node.b.definition(index)
    return op.operands[0] if op is not None and op.name == "cast" and op.operands[0].type.dtype is BOOL else None


def _region(node: Node, block: Any) -> Block:
    return node.b.region([], lambda: node.translator.inline(block, []))


def _branches(node: Node, index: Value, branches: list[Any], first: int) -> list[Value]:
    translator, b = node.translator, node.b
    if first == len(branches) - 1:
        return translator.inline(branches[first], [])
    then = _region(node, branches[first])
    otherwise = b.region([], lambda: _branches(node, index, branches, first + 1))
    return b.op("if", [b.cmp("eq", index, b.like(first, index))], [then, otherwise]).results
