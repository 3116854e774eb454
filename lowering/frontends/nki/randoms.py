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
    state.put(instr, _random_bits(state, state.shape(instr.dst[0]), state.dtype(instr.dst[0])))


def _random_bits(state: State, shape: tuple[int, ...], to: DType) -> Value:
    b, dt = state.builder, DTYPES[f"u{to.bits}"]
    bits = _bits(state, shape, min(16, to.bits), dt)
    if to.bits > 16:
        bits = b("or", b("shl", bits, b.like(16, bits)), _bits(state, shape, 16, dt))
    return b.bitcast(bits, to)


def _bits(state: State, shape: tuple[int, ...], count: int, dt: DType) -> Value:
    b, x = state.builder, _uniform(state, shape)
    return b.cast(b("mul", x, b.like(2.0**count, x)), dt)


@handler("rand2")
def rand2(state: State, instr: Instr) -> None:
    """Uniform between two numbers."""
    b, shape = state.builder, state.shape(instr.dst[0])
    low, high = (state.f32(operand, shape) for operand in instr.src)
    state.put_f32(instr, b("add", low, b("mul", _uniform(state, shape), b("sub", high, low))))


@handler("set_rng_seed")
def seeded(state: State, instr: Instr) -> None:
    """Which numbers follow is not documented: draws are fresh all the same."""
    state.generators.pop((instr.engine, instr.core), None)


@handler("rand_set_state")
def rand_set_state(state: State, instr: Instr) -> None:
    """The state is the seeds, until a number is drawn."""
    state.generators[instr.engine, instr.core] = state.view(instr.src[0])


@handler("rand_get_state")
def rand_get_state(state: State, instr: Instr) -> None:
    """What the state was set to, or was found to be, if nothing was drawn since; else fresh bits."""
    key, (dst,) = (instr.engine, instr.core), instr.dst
    known = state.generators.get(key)
    if known is not None and (known.type.shape, known.type.dtype) == (state.shape(dst), state.dtype(dst)):
        state.assume("rand_state")
    else:
        known = _random_bits(state, state.shape(dst), state.dtype(dst))
    state.generators[key] = known
    state.put(instr, known)


def _uniform(state: State, shape: tuple[int, ...]) -> Value:
    """Numbers of the instruction's engine, whose state is another one then."""
    for key in [key for key in state.generators if key[0] == state.engine]:
        del state.generators[key]
    return state.builder("random", to="f32", shape=shape, dist="uniform")
