"""Instructions that apply a function of a table: the Scalar engine's activations, the Vector engine's exponential."""

from __future__ import annotations

from lowering.capture.nki.trace import Indirect, Instr
from lowering.capture.trace import TensorRef
from lowering.frontends.nki import activations
from lowering.frontends.nki.elementwise import Step, chain
from lowering.frontends.nki.registers import accumulate
from lowering.frontends.nki.state import State, handler


@handler("nc_activate")
def nc_activate(state: State, instr: Instr) -> None:
    """fn(x * scale + bias), product and sum each rounded to f32."""
    _, bias, scale = instr.src
    steps: list[Step] = [("mult", scale, False), ("add", bias, False)]
    used = [step for step, neutral in zip(steps, (1.0, 0.0), strict=True) if not _is(step[1], neutral)]
    _apply(state, instr, used)


def _is(operand: object, number: float) -> bool:
    return operand is None or (not isinstance(operand, TensorRef | Indirect) and operand == number)


@handler("activate2")
def activate2(state: State, instr: Instr) -> None:
    """fn(op1(op0(x, imm0), imm1)); ``relu_param`` is prelu's slope."""
    steps: list[Step] = [(instr.attrs[f"op{i}"], instr.src[1 + i], instr.attrs[f"reverse{i}"]) for i in (0, 1)]
    _apply(state, instr, steps)


def _apply(state: State, instr: Instr, steps: list[Step]) -> None:
    shape, fn = state.shape(instr.dst[0]), instr.attrs["op"]
    x = chain(state, state.f32(instr.src[0], shape), steps)
    slope = state.f32(instr.src[3], shape) if fn == "prelu" and len(instr.src) > 3 else None
    value = activations.apply(state, fn, x, slope)
    accumulate(state, instr, "act", value)
    state.put_f32(instr, value)


@handler("exponential")
def exponential(state: State, instr: Instr) -> None:
    """exp(x - max_value), which the accumulator adds up from left to right."""
    shape, (x, top, init) = state.shape(instr.dst[0]), instr.src
    shifted = state.builder("sub", state.f32(x, shape), state.f32(top, shape))
    value = activations.apply(state, "exp", shifted)
    accumulate(state, instr, "dve", value, init)
    state.put_f32(instr, value)
