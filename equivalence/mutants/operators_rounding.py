"""Mutation operators on rounding, precision and the order of accumulation."""

from __future__ import annotations

from collections.abc import Iterator

from equivalence.mutants.edits import Edit, Place, after, before, constant, definition, replace_uses, wrap_operand
from equivalence.mutants.operators import live, operator, setting
from equivalence.mutants.operators_memory import calling
from lowering.ir.program import Program, Value
from lowering.ir.types import DTYPES

NARROW = ("bf16", "f16")


# -- casts -------------------------------------------------------------------------------------------------------


def _through(place: Place, name: str) -> None:
    """The result is rounded to ``name`` and widened back."""
    result = place.op.results[0]
    low = after(place, "cast", [result], to=name)
    back = Place(place.program, place.blocks, low)
    high = after(back, "cast", [low.results[0]], to=result.type.dtype.name)
    for op in place.program.walk():
        if op is not low:
            op.operands = [high.results[0] if v is result else v for v in op.operands]
    place.program.outputs = [(n, high.results[0] if v is result else v) for n, v in place.program.outputs]


@operator("round trip")
def round_trip(program: Program) -> Iterator[Edit]:
    for place in live(program):
        op = place.op
        if op.name in ("add", "mul", "sub", "div", "math", "dot", "reduce", "load", "max", "fma", "select"):
            if op.results[0].type.dtype.name in ("f32", "f64"):
                for name in NARROW:
                    yield calling(f"{op.name} through {name}", _through, place, name)


@operator("drop a cast")
def drop_cast(program: Program) -> Iterator[Edit]:
    """A narrowing that is widened again is left out."""
    for place in live(program):
        if place.op.name != "cast":
            continue
        inner = definition(program, place.op.operands[0])
        if inner is not None and inner.name == "cast" and inner.operands[0].type == place.op.results[0].type:
            replaced = place.op.results[0], inner.operands[0]
            yield calling("two casts dropped", replace_uses, program, *replaced)


def _narrowed(place: Place, to: str) -> None:
    """op in a narrower dtype: its float operands are cast down, its result back up."""
    op = place.op
    operands = [before(place, "cast", [v], to=to) if v.type.dtype.is_float else v for v in op.operands]
    result = op.results[0]
    inner = Value(result.name + "n", result.type.with_dtype(DTYPES[to]))
    op.operands, op.results = operands, [inner]
    back = after(place, "cast", [inner], to=result.type.dtype.name)
    back.results = [result]


@operator("compute in another dtype")
def compute_dtype(program: Program) -> Iterator[Edit]:
    for place in live(program):
        op = place.op
        if op.name in ("add", "sub", "mul", "div", "math", "fma") and op.results[0].type.dtype.name == "f32":
            for to in ("bf16", "f64"):
                yield calling(f"{op.name} computed in {to}", _narrowed, place, to)


def _moved_up(place: Place, inner_place: Place) -> None:
    """cast(op(a, b)) -> op(cast a, cast b)."""
    to, result = place.op.attrs["to"], place.op.results[0]
    inner = inner_place.op
    operands = [before(place, "cast", [v], to=to) for v in inner.operands]
    new = before(place, inner.name, operands, **inner.attrs)
    replace_uses(place.program, result, new)


@operator("move a cast")
def move_cast(program: Program) -> Iterator[Edit]:
    by_result = {id(p.op.results[0]): p for p in live(program) if p.op.results}
    for place in live(program):
        if place.op.name != "cast" or not place.op.results[0].type.dtype.is_float:
            continue
        inner = by_result.get(id(place.op.operands[0]))
        if inner is not None and inner.op.name in ("add", "sub", "mul", "div", "max", "min", "neg", "math"):
            if all(v.type.dtype.is_float for v in inner.op.operands):
                yield calling(f"cast moved before {inner.op.name}", _moved_up, place, inner)


@operator("rounding mode")
def rounding(program: Program) -> Iterator[Edit]:
    for place in live(program):
        op = place.op
        floats = bool(op.results) and op.results[0].type.dtype.is_float
        if op.name == "cast" and floats:
            yield setting(place, "rounding", "rtz")
            yield setting(place, "saturate", not op.attrs["saturate"])
        elif op.name == "cast" and op.operands[0].type.dtype.is_float:
            yield setting(place, "overflow", "wrap" if op.attrs["overflow"] == "saturate" else "saturate")
        elif op.name == "round":
            for mode in ("floor", "even", "trunc", "away"):
                if mode != op.attrs["mode"]:
                    yield setting(place, "mode", mode)
        elif op.name in ("div", "rem") and not (floats and op.name == "div"):
            yield setting(place, "rounding", "floor" if op.attrs["rounding"] == "trunc" else "trunc")


# -- accumulation ------------------------------------------------------------------------------------------------


def _accumulator(place: Place, to: str) -> None:
    """A reduce or dot whose terms are added in another dtype."""
    op = place.op
    result = op.results[0]
    if op.name == "reduce":
        op.operands = [before(place, "cast", list(op.operands), to=to)]
    else:
        op.attrs["acc"] = to
        op.operands = [*op.operands[:2], *(before(place, "cast", [v], to=to) for v in op.operands[2:])]
    inner = Value(result.name + "n", result.type.with_dtype(DTYPES[to]))
    op.results = [inner]
    after(place, "cast", [inner], to=result.type.dtype.name).results = [result]


@operator("accumulator dtype")
def accumulator(program: Program) -> Iterator[Edit]:
    for place in live(program):
        op = place.op
        if (op.name == "reduce" and op.attrs["combine"] == "add") or op.name == "dot":
            if op.results[0].type.dtype.name == "f32":
                for to in ("f16", "bf16", "f64"):
                    yield calling(f"{op.name} accumulates in {to}", _accumulator, place, to)


@operator("combiner")
def combiner(program: Program) -> Iterator[Edit]:
    table = {"add": ("max", "mul"), "max": ("min", "add"), "min": ("max",), "mul": ("add",), "and": ("or",),
             "or": ("and",), "argmax": ("argmin",), "argmin": ("argmax",)}  # fmt: skip
    for place in live(program):
        if place.op.name in ("reduce", "scan"):
            for combine in table.get(place.op.attrs["combine"], ()):
                yield setting(place, "combine", combine)
            if place.op.name == "scan":
                yield setting(place, "reverse", not place.op.attrs["reverse"])
        elif place.op.name == "sort":
            yield setting(place, "order", "descending" if place.op.attrs["order"] == "ascending" else "ascending")


@operator("reorder a sum")
def reorder(program: Program) -> Iterator[Edit]:
    """The same terms in another order: reassociated at best."""
    for place in live(program):
        op = place.op
        if op.name == "reduce" and op.attrs["combine"] == "add" and op.results[0].type.dtype.is_float:
            for order in ("sequential", "pairwise"):
                yield setting(place, "order", order)
            yield calling("terms reversed", wrap_reversed, place)
        elif op.name == "dot":
            yield calling("k reversed", _reversed_k, place)


def wrap_reversed(place: Place) -> None:
    wrap_operand(place, 0, "reverse", axes=(place.op.attrs["axis"],))


def _reversed_k(place: Place) -> None:
    rank = place.op.operands[0].type.rank
    wrap_operand(place, 0, "reverse", axes=(rank - 1,))
    wrap_operand(place, 1, "reverse", axes=(rank - 2,))


@operator("reassociate")
def reassociate(program: Program) -> Iterator[Edit]:
    """(a . b) . c -> a . (b . c)."""
    for place in live(program):
        op = place.op
        if op.name not in ("add", "mul") or not op.results[0].type.dtype.is_float:
            continue
        inner = definition(program, op.operands[0])
        if inner is not None and inner.name == op.name:
            yield calling(f"{op.name} regrouped", _regrouped, place, list(inner.operands))


def _regrouped(place: Place, inner: list[Value]) -> None:
    right = before(place, place.op.name, [inner[1], place.op.operands[1]], rounding="rne")
    place.op.operands = [inner[0], right]


@operator("dot precision")
def precision(program: Program) -> Iterator[Edit]:
    for place in live(program):
        if place.op.name == "dot" and place.op.operands[0].type.dtype.is_float:
            for name in ("ieee", "tf32", "bf16"):
                if name != place.op.attrs["precision"]:
                    yield setting(place, "precision", name)


@operator("cancel")
def cancel(program: Program) -> Iterator[Edit]:
    """(x + m) - m: the same real function, other bits."""
    for place in live(program):
        if place.op.name in ("add", "mul", "load") and place.op.results[0].type.dtype.name == "f32":
            yield calling(f"{place.op.name} plus and minus 3", _cancelled, place)


def _cancelled(place: Place) -> None:
    result = place.op.results[0]
    big = constant(place, 3.0, result.type.dtype, result.type.shape)
    up = after(place, "add", [result, big])
    down = after(Place(place.program, place.blocks, up), "sub", [up.results[0], big])
    for op in place.program.walk():
        if op is not up:
            op.operands = [down.results[0] if v is result else v for v in op.operands]
    place.program.outputs = [(n, down.results[0] if v is result else v) for n, v in place.program.outputs]


@operator("fuse")
def fuse(program: Program) -> Iterator[Edit]:
    """mul then add -> one fma, which the source now fixes."""
    for place in live(program):
        if place.op.name == "add" and place.op.results[0].type.dtype.is_float:
            inner = definition(program, place.op.operands[0])
            if inner is not None and inner.name == "mul":
                yield calling("mul and add fused", _fused, place, list(inner.operands))


def _fused(place: Place, factors: list[Value]) -> None:
    place.op.name, place.op.attrs = "fma", {}
    place.op.operands = [*factors, place.op.operands[1]]


@operator("accuracy")
def accuracy(program: Program) -> Iterator[Edit]:
    for place in live(program):
        if "accuracy" in place.op.attrs and place.op.results[0].type.dtype.is_float:
            yield setting(place, "accuracy", "exact" if place.op.attrs["accuracy"] == "declared" else "declared")
