"""Exchanges of pairs that Triton's library spells in integers: tl.flip, tl.sort and tl.topk in the values themselves.

Takes a lowered kernel's block and changes it in place.  The library writes ``x ^ xor_sum(x, axis)`` along an axis of
extent 2, on the bits of floats: that is x reversed along the axis, bit for bit.  Must not know about MLIR.
"""

from __future__ import annotations

from lowering.ir.builder import Builder
from lowering.ir.program import Block, Op, Value

_MOVES = ("reshape", "reverse", "transpose", "broadcast", "slice")
_UNUSED = frozenset({*_MOVES, "bitcast", "reduce", "xor"})

Makers = dict[Value, Op]


def exchange_pairs(build: Builder, body: Block) -> None:
    """Rewrites the exchanges in ``body`` and its regions; what nothing uses afterwards goes."""
    makers = {value: op for op in body.walk() for value in op.results}
    if not sum(_reverse(op, makers) for op in body.walk()):
        return
    for block in body.blocks():
        _unwrap_bits(build, block, makers)
    body.drop_unused(_UNUSED)


def _reverse(op: Op, makers: Makers) -> bool:
    """Turns ``x ^ xor_sum(x)`` into x reversed; says whether it did."""
    if op.name != "xor":
        return False
    for x, other in (op.operands, op.operands[::-1]):
        axis = _xor_sum_axis(x, other, makers)
        if axis is not None:
            op.name, op.operands, op.attrs = "reverse", [x], {"axes": (axis,)}
            return True
    return False


def _xor_sum_axis(x: Value, other: Value, makers: Makers) -> int | None:
    """The axis of extent 2 if ``other`` is the xor of x's two elements along it, spread over both."""
    spread = makers.get(other)
    if other.type != x.type or spread is None or spread.name != "broadcast":
        return None
    kept = makers.get(spread.operands[0])
    total = makers.get(kept.operands[0]) if kept is not None and kept.name == "reshape" else kept
    if total is None or total.name != "reduce" or total.attrs["combine"] != "xor" or total.operands != [x]:
        return None
    axis, shape = total.attrs["axis"], x.type.shape
    one = x.type.rank == 1  # the total is a scalar, spread as one or as an array of one
    aligned = spread.attrs["dims"] == tuple(range(x.type.rank))
    aligned &= spread.operands[0].type.shape == (*shape[:axis], 1, *shape[axis + 1 :])
    return axis if shape[axis] == 2 and (one or aligned) else None


def _unwrap_bits(build: Builder, block: Block, makers: Makers) -> None:
    """A float's bits that are only moved about, then read as that float again: the moves are made on the float."""
    ops, block.ops = block.ops, []
    with build.into(block):
        for op in ops:
            moves = _moves_of_bits(op, makers)
            if moves is not None:
                bits, chain = moves
                value = bits.operands[0]
                with build.at(op.span):
                    for move in chain:
                        value = build(move.name, value, **move.attrs)
                        makers[value] = block.ops[-1]
                op.name, op.operands, op.attrs = "reshape", [value], {"shape": op.result.type.shape}
            block.ops.append(op)


def _moves_of_bits(op: Op, makers: Makers) -> tuple[Op, list[Op]] | None:
    """(the bitcast that took the bits, the moves after it, first to last) of a bitcast back to the same dtype."""
    if op.name != "bitcast":
        return None
    chain: list[Op] = []
    maker = makers.get(op.operands[0])
    while maker is not None and maker.name in _MOVES:
        chain.insert(0, maker)
        maker = makers.get(maker.operands[0])
    if maker is None or maker.name != "bitcast" or maker.operands[0].type.dtype is not op.result.type.dtype:
        return None
    return maker, chain
