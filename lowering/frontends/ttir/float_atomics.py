"""Float extrema that Triton spells as two atomics on bits: tl.atomic_max and tl.atomic_min of the floats themselves.

Takes a lowered kernel's block and changes it in place.  Where the sign bit is clear the signed extremum of the bits is
the floats', where it is set the opposite unsigned one is; each lane does exactly one of the two.  Only where nothing
reads what the atomics found.  Must not know about MLIR.
"""

from __future__ import annotations

from collections.abc import Iterator

from lowering.ir.builder import Builder
from lowering.ir.program import Block, Op, Value

#: What may lie between the two, and what is dropped where only they needed it.
_PURE = frozenset({"bitcast", "shr", "cmp", "xor", "and", "constant"})
#: The signed combiner where the sign is clear: (the unsigned one where it is set, what becomes of a positive NaN).
_PAIRS = {"max": ("min", "propagate"), "min": ("max", "number")}

Makers = dict[Value, Op]


def join_float_atomics(build: Builder, body: Block) -> None:
    """Rewrites the pairs in ``body`` and its regions as one atomic on floats."""
    makers = {value: op for op in body.walk() for value in op.results}
    read = _read(body)
    pairs = [
        (block, first, second, found)
        for block in body.blocks()
        for first, second in _neighbours(block)
        if not {first.result, second.result} & read and (found := _float_of(first, second, makers)) is not None
    ]
    for block, first, second, operands in pairs:
        _join(build, block, first, second, operands)
    if pairs:
        body.drop_unused(_PURE)


def _read(body: Block) -> set[Value]:
    """Values that something reads; a bitcast that nothing reads is nothing."""
    used = {value for op in body.walk() for value in op.operands}
    return {v for op in body.walk() if op.name != "bitcast" or op.result in used for v in op.operands}


def _neighbours(block: Block) -> Iterator[tuple[Op, Op]]:
    """Atomics with only arithmetic between them, each in one pair at most."""
    waiting: Op | None = None
    for op in block.ops:
        if op.name == "atomic_rmw":
            if waiting is not None and _are_a_pair(waiting, op):
                yield waiting, op
                waiting = None
            else:
                waiting = op
        elif op.name not in _PURE:
            waiting = None


def _are_a_pair(first: Op, second: Op) -> bool:
    """The signed extremum, then the opposite unsigned one, under masks at the same addresses."""
    other, _ = _PAIRS.get(first.attrs["combine"], ("", ""))
    kinds = first.operands[1].type.dtype.kind, second.operands[1].type.dtype.kind
    masked = len(first.operands) == len(second.operands) == 3 and first.operands[0] is second.operands[0]
    return masked and second.attrs["combine"] == other and kinds == ("int", "uint")


def _float_of(first: Op, second: Op, makers: Makers) -> list[Value] | None:
    """(the floats[, the mask]) of a pair whose masks split the lanes by the sign of the floats."""
    value = _source(first.operands[1], makers)
    if not value.type.dtype.is_float or _source(second.operands[1], makers) is not value:
        return None
    rest: list[list[Value]] = []
    for op, sign in ((first, False), (second, True)):
        factors = _factors(op.operands[2], makers)
        rest.append([m for m in factors if _sign(m, value, makers) is not sign])
        if len(rest[-1]) != len(factors) - 1:
            return None
    return [value, *rest[0]] if rest[0] == rest[1] else None


def _source(bits: Value, makers: Makers) -> Value:
    """What was there before all bitcasts: their last float, if there is one."""
    maker = makers.get(bits)
    while maker is not None and maker.name == "bitcast" and not bits.type.dtype.is_float:
        bits = maker.operands[0]
        maker = makers.get(bits)
    return bits


def _factors(mask: Value, makers: Makers) -> list[Value]:
    """The truth values of which the mask is the conjunction, at most two; those that always hold are left out."""
    maker = makers.get(mask)
    parts = list(maker.operands) if maker is not None and maker.name == "and" else [mask]
    return [p for p in parts if _literal(p, makers) not in (True, 1)]


def _sign(truth: Value, value: Value, makers: Makers) -> bool | None:
    """Whether it is the sign bit of ``value`` (its bits, shifted down as unsigned), or False for the opposite."""
    maker = makers.get(truth)
    if maker is None:
        return None
    if maker.name == "xor":
        rest = [v for v in maker.operands if _literal(v, makers) not in (True, 1)]
        inner = _sign(rest[0], value, makers) if len(rest) == 1 else None
        return None if inner is None else not inner
    if maker.name != "cmp" or maker.attrs["pred"] not in ("eq", "ne") or _literal(maker.operands[1], makers) != 0:
        return None
    shift = makers.get(_uncast(maker.operands[0], makers))
    if shift is None or shift.name != "shr" or shift.operands[0].type.dtype.kind != "uint":
        return None
    bits, by = shift.operands
    found = _source(bits, makers) is value and _literal(by, makers) == value.type.dtype.bits - 1
    return maker.attrs["pred"] == "ne" if found else None


def _uncast(x: Value, makers: Makers) -> Value:
    maker = makers.get(x)
    return maker.operands[0] if maker is not None and maker.name == "bitcast" else x


def _literal(x: Value, makers: Makers) -> object:
    """The number that is in every lane, or None."""
    maker = makers.get(_uncast(x, makers))
    value = maker.attrs["value"] if maker is not None and maker.name == "constant" else None
    return value if isinstance(value, bool | int) else None


def _join(build: Builder, block: Block, first: Op, second: Op, operands: list[Value]) -> None:
    """The second atomic becomes one on floats; the first goes, and so does a bitcast of what the second found."""
    combine = first.attrs["combine"]
    scratch = Block()
    with build.into(scratch), build.at(second.span):
        build.op(
            "atomic_rmw", [first.operands[0], *operands], combine=combine, order=first.attrs["order"],
            nan=_PAIRS[combine][1],
        )  # fmt: skip
    gone = {first.result, second.result}
    block.ops = [
        scratch.ops[0] if op is second else op
        for op in block.ops
        if op is not first and not (op.name == "bitcast" and op.operands[0] in gone)
    ]
