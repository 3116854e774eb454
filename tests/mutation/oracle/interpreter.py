"""Runs a KIR program on plain numpy arrays, one program instance after the other.

Takes a Program, inputs and an Arithmetic; gives the outputs.  Every float result is passed to the arithmetic to be
rounded or not; integers wrap as numpy's do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import mpmath
import numpy as np

from lowering.ir.program import Block, Op, Program, Value
from tests.mutation.oracle.arithmetic import BITS, Arithmetic, CannotTell
from tests.mutation.oracle.store import Store

Array = np.ndarray
Env = dict[Value, Array]
Meaning = Callable[["Interpreter", Op, list[Array]], Array | Sequence[Array]]
MEANINGS: dict[str, Meaning] = {}
MOST_STEPS = 400_000
SENTINEL = 1e6  # beyond it a number is a mask rather than something that others cancel against


def means(*names: str) -> Callable[[Meaning], Meaning]:
    def register(fn: Meaning) -> Meaning:
        for name in names:
            MEANINGS[name] = fn
        return fn

    return register


@dataclass(slots=True)
class Interpreter:
    """One run.  ``backwards`` takes program instances from last to first: an independent launch does not notice."""

    program: Program
    arithmetic: Arithmetic
    fill: float = 5.0
    backwards: bool = False
    store: Store = field(init=False)
    grid: tuple[int, int, int] = (1, 1, 1)
    instance: tuple[int, int, int] = (0, 0, 0)
    steps: int = 0
    work: int = 0
    literal: set[int] = field(default_factory=set)  # ids of values that are splats of a literal
    products: set[int] = field(default_factory=set)  # ids of products that may still be fused into an addition
    contract: bool = False  # whether the source leaves that open here
    largest: float = 0.0  # largest finite magnitude of any float seen
    unbounded: int = 0  # lanes that were not finite

    def __post_init__(self) -> None:
        self.store = Store(self.arithmetic, self.fill)

    def run(self, inputs: Mapping[str, Array]) -> list[Array]:
        """The outputs, each rounded to its dtype where the arithmetic rounds."""
        env: Env = {}
        self.contract = bool(self.program.attrs.get("contract"))
        for name, value in zip(self.program.input_names, self.program.body.args, strict=True):
            data = np.asarray(inputs[name]).reshape(value.type.shape)
            env[value] = (
                self.arithmetic.hold(data) if value.type.dtype.is_float else data.astype(value.type.dtype.numpy)
            )
        with np.errstate(all="ignore"), mpmath.workprec(BITS):
            self.block(self.program.body, env)
        return [self.closed(env[v], v) for _, v in self.program.outputs]

    def closed(self, x: Array, value: Value) -> Array:
        """A float operand as everything but an addition reads it."""
        if self.arithmetic.lazy and value.type.dtype.is_float:
            return self.arithmetic.settle(x, value.type.dtype.name)
        return x

    def block(self, block: Block, env: Env) -> list[Array]:
        for op in block.ops:
            if op.name in ("yield", "condition"):
                return [env[v] for v in op.operands]
            self.op(op, env)
        return []

    def operand(self, op: Op, value: Value, env: Env) -> Array:
        """A product that anything but an addition reads has been rounded."""
        if id(value) in self.products and op.name not in ("add", "sub", "fma"):
            return self.closed(env[value], value)
        return env[value]

    def op(self, op: Op, env: Env) -> None:
        self.steps += 1
        if self.steps > MOST_STEPS:
            raise CannotTell("too many steps")
        if op.name in CONTROL:
            results = CONTROL[op.name](self, op, env)
        elif op.name in MEANINGS:
            given = MEANINGS[op.name](self, op, [self.operand(op, v, env) for v in op.operands])
            results = list(given) if isinstance(given, (list, tuple)) else [given]
        else:
            raise CannotTell(f"no meaning for {op.name}")
        for value, result in zip(op.results, results, strict=True):
            if tuple(result.shape) != value.type.shape:
                raise CannotTell(f"{op.name} gave shape {result.shape} for {value.type}")
            self.work += max(1, result.size)
            env[value] = result
            if value.type.dtype.is_float and result.size and not self.arithmetic.deep:
                self.measure(np.abs(result))

    def measure(self, magnitude: Array) -> None:
        finite = np.isfinite(magnitude)
        self.unbounded += int(finite.size - np.count_nonzero(finite))
        usual = finite & (magnitude < SENTINEL)
        self.largest = max(self.largest, float(np.max(np.where(usual, magnitude, 0))))


def _for(m: Interpreter, op: Op, env: Env) -> list[Array]:
    lower, upper, step = (int(env[v]) for v in op.operands[:3])
    carries = [env[v] for v in op.operands[3:]]
    if step <= 0:
        raise CannotTell("a loop that does not advance")
    region, kind = op.regions[0], op.operands[0].type.dtype.numpy
    for i in range(lower, upper, step):
        env.update(zip(region.args, [np.array(i, kind), *carries], strict=True))
        carries = m.block(region, env)
    return carries


def _while(m: Interpreter, op: Op, env: Env) -> list[Array]:
    carries = [env[v] for v in op.operands]
    while True:
        env.update(zip(op.regions[0].args, carries, strict=True))
        going, *passed = m.block(op.regions[0], env)
        if not bool(going):
            return passed
        env.update(zip(op.regions[1].args, passed, strict=True))
        carries = m.block(op.regions[1], env)


def _if(m: Interpreter, op: Op, env: Env) -> list[Array]:
    return m.block(op.regions[0 if bool(env[op.operands[0]]) else 1], env)


def _launch(m: Interpreter, op: Op, env: Env) -> list[Array]:
    kernel = m.program.kernels[op.attrs["kernel"]]
    arguments = [env[v] for v in op.operands]
    outer, m.contract = m.contract, bool(kernel.attrs.get("contract"))
    m.grid = tuple(int(n) for n in op.attrs["grid"])  # type: ignore[assignment]
    gx, gy, gz = m.grid
    numbers = [(x, y, z) for z in range(gz) for y in range(gy) for x in range(gx)]
    for number in reversed(numbers) if m.backwards else numbers:
        m.instance = number
        m.block(kernel.body, dict(zip(kernel.params, arguments, strict=True)))
    m.contract = outer
    return []


CONTROL: dict[str, Callable[[Interpreter, Op, Env], list[Array]]] = {
    "for": _for,
    "while": _while,
    "if": _if,
    "launch": _launch,
    "observe": lambda m, op, env: [],
    "barrier": lambda m, op, env: [],
}
