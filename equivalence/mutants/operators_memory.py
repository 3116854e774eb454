"""Mutation operators on memory, indices, control and launches."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from equivalence.mutants.edits import Edit, Place, before, constant, definition, drop, wrap, wrap_operand
from equivalence.mutants.operators import bypassing, live, operator, setting, swapping
from lowering.ir.program import Op, Program
from lowering.ir.types import BOOL


def calling(what: str, fn: Callable[..., object], *args: object) -> Edit:
    return Edit(what, lambda: fn(*args))


def bumped(values: tuple[int, ...], position: int, by: int) -> tuple[int, ...]:
    return tuple(v + by if i == position else v for i, v in enumerate(values))


def swapped(values: tuple[int, ...], i: int, j: int) -> tuple[int, ...]:
    changed = list(values)
    changed[i], changed[j] = changed[j], changed[i]
    return tuple(changed)


# -- masks -------------------------------------------------------------------------------------------------------


def _mask(op: Op) -> int | None:
    """The position of the mask operand."""
    position = {"load": 1, "store": 2, "atomic_rmw": 2}.get(op.name)
    return position if position is not None and len(op.operands) > position else None


def _all_true(place: Place, position: int) -> None:
    place.op.operands[position] = constant(place, 1, BOOL, place.op.operands[position].type.shape)


@operator("drop a mask")
def drop_mask(program: Program) -> Iterator[Edit]:
    for place in live(program):
        position = _mask(place.op)
        if position is not None:
            yield calling(f"mask of {place.op.name} always true", _all_true, place, position)


@operator("flip a mask")
def flip_mask(program: Program) -> Iterator[Edit]:
    for place in live(program):
        position = _mask(place.op)
        if position is not None:
            yield calling(f"mask of {place.op.name} flipped", wrap_operand, place, position, "not")


def _other(place: Place, value: float) -> None:
    type_ = place.op.results[0].type
    place.op.operands[2] = constant(place, value, type_.dtype, type_.shape)


@operator("other of a load")
def other(program: Program) -> Iterator[Edit]:
    for place in live(program):
        if place.op.name == "load" and len(place.op.operands) == 3:
            known = definition(program, place.op.operands[2])
            old = known.attrs["value"] if known is not None and known.name == "constant" else None
            for value in (0.0, 1.0, float("-inf")):
                if value != old and (place.op.results[0].type.dtype.is_float or value >= 0):
                    yield calling(f"other {old} -> {value}", _other, place, value)
            yield calling("no other", place.op.operands.pop)


# -- indices -----------------------------------------------------------------------------------------------------


def _plus(place: Place, position: int, by: int) -> None:
    type_ = place.op.operands[position].type
    wrap_operand(place, position, "add", constant(place, by, type_.dtype, type_.shape))


@operator("index by one")
def index(program: Program) -> Iterator[Edit]:
    for place in live(program):
        op = place.op
        if op.name == "iota":
            yield setting(place, "start", op.attrs["start"] + 1)
        elif op.name in ("read", "write"):
            yield setting(place, "offset", op.attrs["offset"] + 1)
        elif op.name in ("dynamic_slice", "gather", "addptr", "program_id", "dynamic_update_slice", "scatter"):
            first = {"dynamic_update_slice": 2, "scatter": 2}.get(op.name, 1)
            for position in range(first, len(op.operands)):
                yield calling(f"operand {position} of {op.name} plus 1", _plus, place, position, 1)
                yield calling(f"operand {position} of {op.name} minus 1", _plus, place, position, -1)


@operator("slice or pad offset")
def offset(program: Program) -> Iterator[Edit]:
    for place in live(program):
        op = place.op
        if op.name == "slice":
            for d in range(len(op.attrs["start"])):
                for by in (-1, 1):
                    yield _moved_slice(place, d, by)
        elif op.name == "pad":
            for d in range(len(op.attrs["low"])):
                for by in (-1, 1):
                    yield _moved_pad(place, d, by)


def _moved_slice(place: Place, d: int, by: int) -> Edit:
    attrs = place.op.attrs
    start, limit = bumped(attrs["start"], d, by), bumped(attrs["limit"], d, by)
    return Edit(f"slice moved by {by} in dimension {d}", lambda: attrs.update(start=start, limit=limit))


def _moved_pad(place: Place, d: int, by: int) -> Edit:
    attrs = place.op.attrs
    low, high = bumped(attrs["low"], d, by), bumped(attrs["high"], d, -by)
    return Edit(f"padding moved by {by} in dimension {d}", lambda: attrs.update(low=low, high=high))


@operator("axis, dimensions, strides")
def axes(program: Program) -> Iterator[Edit]:
    """Swaps that fit only where extents are equal: the others are not well formed and are not counted."""
    for place in live(program):
        op = place.op
        if op.name in ("program_id", "num_programs"):
            yield setting(place, "axis", (op.attrs["axis"] + 1) % 3)
        elif op.name in ("reduce", "scan", "concat", "iota", "sort"):
            rank = len(op.attrs["shape"]) if op.name == "iota" else op.operands[0].type.rank
            if rank > 1:
                yield setting(place, "axis", (op.attrs["axis"] + 1) % rank)
        elif op.name == "transpose":
            yield bypassing(place, 0)
        elif op.name in ("read", "write"):
            for d in range(len(op.attrs["strides"]) - 1):
                yield setting(place, "strides", swapped(op.attrs["strides"], d, d + 1))
        elif op.name == "reverse":
            yield bypassing(place, 0)


# -- loops and launches ------------------------------------------------------------------------------------------


def _combine_bound(place: Place, position: int, name: str) -> None:
    place.op.operands[position] = before(place, name, [place.op.operands[position], place.op.operands[2]])


@operator("loop bound or step")
def loop(program: Program) -> Iterator[Edit]:
    for place in live(program):
        if place.op.name == "for":
            yield calling("last iteration dropped", _combine_bound, place, 1, "sub")
            yield calling("one iteration more", _combine_bound, place, 1, "add")
            yield calling("first iteration dropped", _combine_bound, place, 0, "add")
            yield calling("step doubled", _combine_bound, place, 2, "add")


def _yield_carry(place: Place, carry: int) -> None:
    region = place.op.regions[0]
    region.ops[-1].operands[carry] = region.args[1 + carry]


def _swap_yields(place: Place, i: int, j: int) -> None:
    operands = place.op.regions[0].ops[-1].operands
    operands[i], operands[j] = operands[j], operands[i]


@operator("loop carry")
def carry(program: Program) -> Iterator[Edit]:
    for place in live(program):
        if place.op.name == "for":
            for i in range(len(place.op.results)):
                yield calling(f"carry {i} is not updated", _yield_carry, place, i)
                for j in range(i):
                    if place.op.results[i].type == place.op.results[j].type:
                        yield calling(f"yields {j} and {i} swapped", _swap_yields, place, i, j)


@operator("launch argument")
def argument(program: Program) -> Iterator[Edit]:
    for place in live(program):
        if place.op.name == "launch":
            for position, value in enumerate(place.op.operands):
                if value.type.rank == 0 and value.type.dtype.kind in ("int", "uint"):
                    yield calling(f"argument {position} plus 1", _plus, place, position, 1)
                    yield calling(f"argument {position} minus 1", _plus, place, position, -1)
                for earlier in range(position):
                    if place.op.operands[earlier].type == value.type:
                        yield swapping(place, earlier, position)


@operator("grid")
def grid(program: Program) -> Iterator[Edit]:
    for place in live(program):
        if place.op.name == "launch":
            extents = place.op.attrs["grid"]
            for d, extent in enumerate(extents):
                yield setting(place, "grid", bumped(extents, d, 1))
                if extent > 1:
                    yield setting(place, "grid", bumped(extents, d, -1))


# -- stores and atomics ------------------------------------------------------------------------------------------


@operator("drop a store")
def drop_store(program: Program) -> Iterator[Edit]:
    for place in live(program):
        if place.op.name in ("store", "atomic_rmw", "write") and not _is_read(program, place.op):
            yield calling(f"{place.op.name} dropped", drop, place)


def _is_read(program: Program, op: Op) -> bool:
    return any(v is r for r in op.results for o in program.walk() for v in o.operands)


def _to_store(place: Place) -> None:
    place.op.name, place.op.results, place.op.attrs = "store", [], {}


@operator("atomic")
def atomic(program: Program) -> Iterator[Edit]:
    for place in live(program):
        if place.op.name == "atomic_rmw":
            if not _is_read(program, place.op):
                yield calling("atomic -> store", _to_store, place)
            yield setting(place, "combine", "max")
            yield setting(place, "combine", "exchange")
        elif place.op.name == "scatter":
            yield setting(place, "combine", "max" if place.op.attrs["combine"] != "max" else "add")


@operator("twice")
def twice(program: Program) -> Iterator[Edit]:
    """A term counted twice."""
    for place in live(program):
        if place.op.name in ("load", "dot") and place.op.results[0].type.dtype.is_float:
            result = place.op.results[0]
            yield calling(f"{place.op.name} doubled", wrap, place, "add", result)
