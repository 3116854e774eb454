"""Instructions that make each element from elements at its place: copies, fills, arithmetic on two engines."""

from __future__ import annotations

from typing import Any, cast

from lowering.capture.nki.trace import Indirect, Instr, Operand
from lowering.capture.trace import TensorRef
from lowering.errors import Unsupported
from lowering.frontends.nki import alu
from lowering.frontends.nki.numerics import from_f32, range_of, to_f32
from lowering.frontends.nki.state import EXACT, State, handler
from lowering.ir.program import Value
from lowering.ir.types import DTYPES, I32, DType


@handler("nc_copy")
def copy(state: State, instr: Instr) -> None:
    """The same elements, in row-major order of both views; gen2's Scalar engine takes integers through f32."""
    x, to = state.view(instr.src[0]), state.dtype(instr.dst[0])
    if instr.engine != "act" and _other_sign(state, x, to):
        return state.put(instr, state.builder.bitcast(x, to))
    if instr.engine == "act" and state.trace.target in ("gen2", "trn1", "inf2"):
        return state.put(instr, from_f32(state.builder, to_f32(state.builder, x), to))
    return state.put(instr, state.converted(x, to))


def _other_sign(state: State, x: Value, to: DType) -> bool:
    """Whether the bits of x, int32 or uint32, are kept as the other of the two; numbers that both have are the same."""
    if {x.type.dtype.name, to.name} != {"i32", "u32"} or state.model.int32_uint32_copy != "bits":
        return False
    low, high = state.ranges.get(x, range_of(x.type.dtype))
    if low < 0 or high >= EXACT:
        state.assume("int32_uint32_copy")
    return True


@handler("mem_set")
def mem_set(state: State, instr: Instr) -> None:
    to, number = state.dtype(instr.dst[0]), cast("Any", instr.src[0])
    if to.is_integer and not range_of(to)[0] <= number <= range_of(to)[1]:
        raise Unsupported(f"memset of {number}, which {to} does not hold", instr.span)
    state.put(instr, state.builder.constant(number, to, state.shape(instr.dst[0])))


@handler("tensor_tensor")
def tensor_tensor(state: State, instr: Instr) -> None:
    op, shape = instr.attrs["op"], state.shape(instr.dst[0])
    if op in alu.BITVEC or instr.engine == "pool":
        x, y = (state.spread(state.view(operand), shape) for operand in instr.src)
        if op in alu.BITVEC:
            return put_bits(state, instr, alu.on_bits(state, op, x, y))
        if x.type.dtype.is_integer and y.type.dtype is x.type.dtype and x.type.dtype.bits == 32 and op in _EXACT:
            return put_integers(state, instr, alu.on_integers(state, op, x, y))
    wide = (state.f32(operand, shape) for operand in instr.src)
    return state.put_f32(instr, alu.apply(state, op, *wide))


_EXACT = ("add", "subtract", "mult")  # on GpSimd, for 32-bit integers


def put_bits(state: State, instr: Instr, value: Value) -> None:
    """The bits of ``value`` where dst's elements have as many; its integer otherwise, when nothing is lost."""
    to, b = state.dtype(instr.dst[0]), state.builder
    if value.type.dtype.bits == to.bits:
        return state.put(instr, b.bitcast(value, to))
    if to.is_float or value.type.dtype.is_float or to.bits < value.type.dtype.bits:
        raise Unsupported(f"bits of {value.type.dtype} written to {to}", b.span)
    state.assume("mixed_bits")
    return state.put(instr, b.cast(value, to))


def put_integers(state: State, instr: Instr, value: Value) -> None:
    """An exact integer; 32 bits into 32 bits keep their pattern, anything else goes through f32."""
    to, b = state.dtype(instr.dst[0]), state.builder
    same = to.is_integer and to.bits == value.type.dtype.bits
    state.put(instr, b.bitcast(value, to) if same else state.converted(value, to))


@handler("tensor_scalar")
def tensor_scalar(state: State, instr: Instr) -> None:
    """op1(op0(x, operand0), operand1), each rounded to f32."""
    if instr.attrs["op0"] in alu.BITVEC:
        return _bits_with_scalars(state, instr)
    shape = state.shape(instr.dst[0])
    steps = [(instr.attrs[f"op{i}"], instr.src[1 + i], instr.attrs[f"reverse{i}"]) for i in (0, 1)]
    return state.put_f32(instr, chain(state, state.f32(instr.src[0], shape), steps))


Step = tuple[str | None, Operand, bool]


def chain(state: State, x: Value, steps: list[Step]) -> Value:
    """One operation after the other on x; a product that is then added to is rounded on its own unless ``fma``."""
    named = [step for step in steps if step[0] not in (None, "bypass")]
    first, second = (step[0] for step in named) if len(named) == 2 else (None, None)
    if first == "mult" and second in ("add", "subtract"):
        state.assume("fma")
        if state.model.fma:
            return _fused(state, x, named)
    for op, operand, reverse in named:
        assert op is not None
        x = with_operand(state, op, x, operand, reverse)
    return x


def with_operand(state: State, op: str, x: Value, operand: Operand, reverse: bool = False) -> Value:
    """op(x, operand), or op(operand, x)."""
    if op in alu.UNARY:
        return alu.unary(state, op, x)
    if op == "mult" and isinstance(operand, int | float) and operand == -1:
        return alu.unary(state, "negative", x)
    y = state.f32(operand, x.type.shape)
    value = alu.apply(state, op, *((y, x) if reverse else (x, y)))
    if op in ("max", "min") and isinstance(operand, int | float):
        return state.narrowed(op, x, float(operand), value)
    return value


def _fused(state: State, x: Value, steps: list[Step]) -> Value:
    """x * y + z, x * y - z or z - x * y with one rounding."""
    b, (_, factor, _), (op, term, reverse) = state.builder, *steps
    y, z = state.f32(factor, x.type.shape), state.f32(term, x.type.shape)
    if op == "subtract":
        x, z = (b("neg", x), z) if reverse else (x, b("neg", z))
    return b("fma", x, y, z)


def _bits_with_scalars(state: State, instr: Instr) -> None:
    value = state.spread(state.view(instr.src[0]), state.shape(instr.dst[0]))
    for i in (0, 1):
        op, operand = instr.attrs[f"op{i}"], instr.src[1 + i]
        if op in (None, "bypass"):
            continue
        y = None if op == "bitwise_not" else state.spread(_pattern(state, operand, value.type.dtype), value.type.shape)
        x, y = (y, value) if instr.attrs[f"reverse{i}"] and y is not None else (value, y)
        value = alu.on_bits(state, op, x, y)
    put_bits(state, instr, value)


def _pattern(state: State, operand: Operand, like: DType) -> Value:
    """A scalar operand of a bit operation: a number is an integer of the data's width."""
    if isinstance(operand, TensorRef | Indirect):
        return state.view(operand)
    number = cast("Any", operand)
    if number != int(number):
        raise Unsupported(f"the number {number} in a bit operation", state.builder.span)
    dt = like if like.is_integer else I32
    wrapped = int(number) & ((1 << dt.bits) - 1)
    return state.builder.bitcast(state.builder.constant(wrapped, DTYPES[f"u{dt.bits}"]), dt)


@handler("nc_scalar_tensor_tensor")
def scalar_tensor_tensor(state: State, instr: Instr) -> None:
    """op1(op0(data, operand0), operand1), operand1 a tile."""
    shape = state.shape(instr.dst[0])
    steps = [(instr.attrs[f"op{i}"], instr.src[1 + i], instr.attrs[f"reverse{i}"]) for i in (0, 1)]
    state.put_f32(instr, chain(state, state.f32(instr.src[0], shape), steps))


@handler("reciprocal")
def reciprocal(state: State, instr: Instr) -> None:
    state.put_f32(instr, alu.unary(state, "reciprocal", state.f32(instr.src[0], state.shape(instr.dst[0]))))


@handler("copy_predicated")
def copy_predicated(state: State, instr: Instr) -> None:
    """src where the predicate is not zero (or is, reversed); dst keeps its elements elsewhere."""
    b, shape, to = state.builder, state.shape(instr.dst[0]), state.dtype(instr.dst[0])
    x = state.converted(state.spread(state.typed(instr.src[0], to), shape), to)
    where = predicate(state, instr.src[1], shape, instr.attrs["reverse_pred"])
    state.put(instr, b("select", where, x, b.reshape(state.read(instr.dst[0]), shape)))


def predicate(state: State, operand: Operand, shape: tuple[int, ...], reverse: bool) -> Value:
    """Where a tile is not zero, or is."""
    b, x = state.builder, state.view(operand)
    if x in state.truths:
        truth = state.spread(state.truths[x], shape)
        return b("not", truth) if reverse else truth
    x = state.spread(x, shape)
    return b.cmp("eq" if reverse else "ne", x, b.like(0, x))
