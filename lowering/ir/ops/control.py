"""Records of control: structured loops and branches, launches and the program grid."""

from __future__ import annotations

from collections.abc import Sequence

from lowering.ir.ops.record import REQUIRED, Attrs, register, require
from lowering.ir.program import Block
from lowering.ir.types import BOOL, I32, TensorType, dtype


def _yielded(block: Block) -> list[TensorType]:
    require(bool(block.ops) and block.ops[-1].name in ("yield", "condition"), "a region ends with yield or condition")
    return [v.type for v in block.ops[-1].operands]


def _for(types: Sequence[TensorType], _attrs: Attrs, regions: Sequence[Block]) -> list[TensorType]:
    carried = list(types[3:])
    require([a.type for a in regions[0].args] == [types[0], *carried], "for: body takes the counter and the carries")
    require(_yielded(regions[0]) == carried, "for: body yields the carries")
    return carried


def _while(types: Sequence[TensorType], _attrs: Attrs, regions: Sequence[Block]) -> list[TensorType]:
    condition, body = regions
    require([a.type for a in condition.args] == list(types), "while: condition takes the carries")
    passed = _yielded(condition)
    require(bool(passed) and passed[0] == TensorType(BOOL), "while: condition(c, values...) with c an i1")
    require([a.type for a in body.args] == passed[1:], "while: body takes what condition passes")
    require(_yielded(body) == list(types), "while: body yields the carries")
    return passed[1:]


def _if(types: Sequence[TensorType], _attrs: Attrs, regions: Sequence[Block]) -> list[TensorType]:
    require(list(types) == [TensorType(BOOL)] and len(regions) == 2, "if: an i1, a then and an else region")
    require(_yielded(regions[0]) == _yielded(regions[1]), "if: both regions yield the same types")
    return _yielded(regions[0])


def _nothing(_types: Sequence[TensorType], _attrs: Attrs, _regions: Sequence[Block]) -> list[TensorType]:
    return []


def _i32(_types: Sequence[TensorType], _attrs: Attrs, _regions: Sequence[Block]) -> list[TensorType]:
    return [TensorType(I32)]


def _random(_types: Sequence[TensorType], attrs: Attrs, _regions: Sequence[Block]) -> list[TensorType]:
    return [TensorType(dtype(attrs["to"]), tuple(attrs["shape"]))]


register("for", _for, "for i in range(lower, upper, step): operands (lower, upper, step, carries...).", regions=1)
register(
    "while",
    _while,
    "Regions: condition(carries) ends with condition(c, values...); body(values) yields carries.",
    regions=2,
)
register("if", _if, "One of two regions by a scalar i1; yields values.", regions=2)
register("yield", _nothing, "Ends a region with its results.")
register("condition", _nothing, "Ends a while's condition region: (c, values...).")
register(
    "launch",
    _nothing,
    "Runs kernel `kernel` once per point of `grid` (x fastest) with the operands as parameters.",
    attrs={"kernel": REQUIRED, "grid": REQUIRED},
)
register("program_id", _i32, "This program instance's index along grid `axis`.", attrs={"axis": REQUIRED})
register("num_programs", _i32, "The grid's extent along `axis`.", attrs={"axis": REQUIRED})
register(
    "random",
    _random,
    "A draw from distribution `dist`. A `stream` of over 32 bits names its numbers; any other draw is fresh.",
    attrs={"to": REQUIRED, "shape": REQUIRED, "dist": REQUIRED, "stream": 0},
)
register("observe", _nothing, "The host looked at operand 0 and went on accordingly: it joins the path condition.")
