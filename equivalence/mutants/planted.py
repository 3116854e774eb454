"""Mistakes that people make in kernels, each an operator on KIR: an epsilon lost, a term missed, a coarser function.

Gives PLANTED, a registry like OPERATORS: `draw` does not draw from it, so that its own table stays what it is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

from equivalence.mutants.edits import (
    Edit,
    Place,
    after,
    before,
    bypass,
    constant,
    definition,
    is_array,
    replace_uses,
)
from equivalence.mutants.operators import Operator, live
from equivalence.mutants.operators_memory import calling
from lowering.ir.program import Op, Program, Value
from lowering.ir.types import I32

PLANTED: dict[str, Operator] = {}
LARGEST_EPSILON = 1e-2
_MOVES = ("broadcast", "reshape", "cast", "transpose")


def planted(name: str) -> Callable[[Operator], Operator]:
    def register(fn: Operator) -> Operator:
        PLANTED[name] = fn
        return fn

    return register


# -- epsilons ----------------------------------------------------------------------------------------------------


def literal(program: Program, value: Value) -> float | None:
    """The number that a value is throughout, followed through broadcasts and launch arguments; None otherwise."""
    for _ in range(32):
        made = definition(program, value)
        if made is None:
            given = _argument(program, value)
            if given is None:
                return None
            value = given
        elif made.name == "constant":
            return None if is_array(made.attrs["value"]) else float(made.attrs["value"])
        elif made.name in _MOVES:
            value = made.operands[0]
        else:
            return None
    return None


def _argument(program: Program, value: Value) -> Value | None:
    """What the host passes for a kernel's parameter."""
    for name, kernel in program.kernels.items():
        for position, param in enumerate(kernel.params):
            if param is value:
                return next((op.operands[position] for op in _launches(program, name)), None)
    return None


def _launches(program: Program, kernel: str) -> Iterator[Op]:
    return (op for op in program.walk() if op.name == "launch" and op.attrs["kernel"] == kernel)


def _epsilons(program: Program) -> Iterator[tuple[Place, int]]:
    """Additions of a small constant, and which operand it is."""
    for place in live(program):
        if place.op.name == "add" and place.op.results[0].type.dtype.is_float:
            for position in (1, 0):
                number = literal(program, place.op.operands[position])
                if number is not None and 0 < abs(number) <= LARGEST_EPSILON:
                    yield place, position
                    break


@planted("epsilon dropped")
def epsilon_dropped(program: Program) -> Iterator[Edit]:
    for place, position in _epsilons(program):
        yield calling("epsilon dropped", bypass, place, 1 - position)


@planted("epsilon moved")
def epsilon_moved(program: Program) -> Iterator[Edit]:
    """sqrt(x + eps) -> sqrt(x) + eps, and the same of 1/sqrt."""
    by_op = {id(p.op): p for p in live(program)}
    for place, position in _epsilons(program):
        for user in program.walk():
            root = user.name == "math" and user.attrs["fn"] in ("sqrt", "rsqrt")
            if root and user.operands[0] is place.op.results[0] and id(user) in by_op:
                yield calling("epsilon moved out of the root", _moved_out, place, by_op[id(user)], position)


def _moved_out(added: Place, root: Place, position: int) -> None:
    inside, epsilon = added.op.operands[1 - position], added.op.operands[position]
    attrs = {**root.op.attrs, "fn": "sqrt"}
    total = before(root, "add", [before(root, "math", [inside], **attrs), epsilon])
    if root.op.attrs["fn"] == "rsqrt":
        one = constant(root, 1.0, total.type.dtype, total.type.shape)
        total = before(root, "div", [one, total])
    replace_uses(root.program, root.op.results[0], total)


# -- terms -------------------------------------------------------------------------------------------------------


@planted("term dropped from a sum")
def term_dropped(program: Program) -> Iterator[Edit]:
    for place in live(program):
        op = place.op
        sums = op.name == "reduce" and op.attrs["combine"] == "add"
        if sums or op.name == "dot":
            axis = op.attrs["axis"] if sums else op.operands[0].type.rank - 1
            extent = op.operands[0].type.shape[axis]
            if extent > 1:
                for which, words in ((0, "first"), (extent - 1, "last")):
                    yield calling(f"{words} of {extent} terms left out of a {op.name}", _without, place, axis, which)


def _without(place: Place, axis: int, which: int) -> None:
    x = place.op.operands[0]
    shape = x.type.shape
    number = before(place, "iota", [], to="i32", shape=shape, axis=axis)
    kept = before(place, "cmp", [number, constant(place, which, I32, shape)], pred="ne")
    zero = constant(place, 0, x.type.dtype, shape)
    place.op.operands[0] = before(place, "select", [kept, x, zero])


# -- functions and formats ---------------------------------------------------------------------------------------


@planted("tanh approximation of erf")
def tanh_for_erf(program: Program) -> Iterator[Edit]:
    """erf(z) -> tanh(2/sqrt(pi) (z + 0.08943 z^3)): what makes of one gelu the other (Hendrycks and Gimpel, 2016)."""
    for place in live(program):
        if place.op.name == "math" and place.op.attrs["fn"] == "erf":
            yield calling("tanh for erf", _approximated, place)


def _approximated(place: Place) -> None:
    z, place.op.attrs = place.op.operands[0], {**place.op.attrs, "fn": "tanh"}
    dt, shape = z.type.dtype, z.type.shape
    cube = before(place, "mul", [before(place, "mul", [z, z]), z])
    scaled = before(place, "mul", [cube, constant(place, 2 * 0.044715, dt, shape)])
    total = before(place, "add", [z, scaled])
    place.op.operands[0] = before(place, "mul", [total, constant(place, 2 / math.sqrt(math.pi), dt, shape)])


@planted("accumulator of a loop in bf16")
def narrow_carry(program: Program) -> Iterator[Edit]:
    for place in live(program):
        if place.op.name == "for":
            for position, result in enumerate(place.op.results):
                if result.type.dtype.name == "f32":
                    yield calling(f"carry {position} rounded to bf16 each time", _narrow_carry, place, position)


def _narrow_carry(place: Place, position: int) -> None:
    region = place.op.regions[0]
    end = Place(place.program, (*place.blocks, region), region.ops[-1])
    low = before(end, "cast", [end.op.operands[position]], to="bf16")
    end.op.operands[position] = before(end, "cast", [low], to="f32")


@planted("result rounded to bf16")
def narrow_output(program: Program) -> Iterator[Edit]:
    """What is stored in f32 went through bf16."""
    for place in live(program):
        if place.op.name == "store" and place.op.operands[1].type.dtype.name == "f32":
            yield calling("stored through bf16", _stored, place)
    for place in live(program):
        made = place.op.results[0] if len(place.op.results) == 1 else None
        if made is not None and made.type.dtype.name == "f32" and any(v is made for _, v in program.outputs):
            yield calling("output through bf16", _returned, place)


def _stored(place: Place) -> None:
    low = before(place, "cast", [place.op.operands[1]], to="bf16")
    place.op.operands[1] = before(place, "cast", [low], to="f32")


def _returned(place: Place) -> None:
    result = place.op.results[0]
    low = after(place, "cast", [result], to="bf16")
    high = after(Place(place.program, place.blocks, low), "cast", [low.results[0]], to="f32")
    place.program.outputs = [(n, high.results[0] if v is result else v) for n, v in place.program.outputs]
