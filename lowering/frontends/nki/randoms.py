"""Random numbers: their streams are not documented, so each draw is a fresh one."""

from __future__ import annotations

from lowering.capture.nki.trace import Instr
from lowering.frontends.nki.state import State, handler
from lowering.ir.program import Value
from lowering.ir.types import DTYPES, DType


@handler("dropout")
def dropout(state: State, instr: Instr) -> None:
    """Elements set to 0 with a probability; nothing is scaled."""
    b, shape, to = state.builder, state.shape(instr.dst[0]), state.dtype(instr.dst[0])
    x = state.converted(state.spread(state.view(instr.src[0]), shape), to)
    dropped = b.cmp("lt", _uniform(state, shape), state.f32(instr.src[1], shape))
    state.put(instr, b("select", dropped, b.like(0, x), x))


@handler("rng")
def rng(state: State, instr: Instr) -> None:
    """Random bits."""
    to, shape = state.dtype(instr.dst[0]), state.shape(instr.dst[0])
    b, dt = state.builder, DTYPES[f"u{to.bits}"]
    bits = _bits(state, shape, min(16, to.bits), dt)
    if to.bits > 16:
        bits = b("or", b("shl", bits, b.like(16, bits)), _bits(state, shape, 16, dt))
    state.put(instr, b.bitcast(bits, to))


def _bits(state: State, shape: tuple[int, ...], count: int, dt: DType) -> Value:
    b, x = state.builder, _uniform(state, shape)
    return b.cast(b("mul", x, b.like(2.0**count, x)), dt)


@handler("rand2")
def rand2(state: State, instr: Instr) -> None:
    """Uniform between two numbers."""
    b, shape = state.builder, state.shape(instr.dst[0])
    low, high = (state.f32(operand, shape) for operand in instr.src)
    state.put_f32(instr, b("add", low, b("mul", _uniform(state, shape), b("sub", high, low))))


@handler("set_rng_seed", "rand_set_state")
def seeded(state: State, instr: Instr) -> None:
    """Which numbers follow is not documented: draws are fresh all the same."""


def _uniform(state: State, shape: tuple[int, ...]) -> Value:
    return state.builder("random", to="f32", shape=shape, dist="uniform")
