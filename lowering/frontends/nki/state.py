"""What handlers share: the builder, memory, accumulator registers; the registry of handlers by operation.

A handler takes (State, Instr) and builds KIR for one instruction.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np

from lowering.capture.nki.trace import Indirect, Instr, NkiTrace, Operand, View
from lowering.capture.trace import TensorRef
from lowering.errors import Unsupported
from lowering.frontends.nki import indirect
from lowering.frontends.nki.boxes import box_of, cut
from lowering.frontends.nki.model import Model, sentence
from lowering.frontends.nki.numerics import ANY, Range, converted, from_f32, kir_dtype, range_of, to_f32
from lowering.ir.builder import Builder
from lowering.ir.composites import Composites
from lowering.ir.program import Value
from lowering.ir.types import BOOL, F32, I64, DType
from lowering.memory import Memory

EXACT = 2**24  # below it f32 has every integer
IMPL = "nki"  # whose open orders are meant
Handler = Callable[["State", Instr], None]
HANDLERS: dict[str, Handler] = {}


def handler(*ops: str) -> Callable[[Handler], Handler]:
    """Registers a handler for operations of the trace."""

    def register(function: Handler) -> Handler:
        HANDLERS.update(dict.fromkeys(ops, function))
        return function

    return register


@dataclass
class State:
    """``registers``: accumulators by engine ('act' or 'dve'), core and first partition, (partitions,) in f32.

    ``engine``: of the instruction that is being lowered.  ``ranges``: where values are known to lie;
    ``truths``: the truth values behind those that are 1.0 or 0.0; ``integers``: those behind values in f32.
    """

    trace: NkiTrace
    builder: Builder
    memory: Memory
    model: Model = field(default_factory=Model)
    registers: dict[tuple[str, int, int], Value] = field(default_factory=dict)
    engine: str = ""
    generators: dict[tuple[str, int], Value] = field(default_factory=dict)  # known states, by engine and core
    ranges: dict[Value, Range] = field(default_factory=dict)
    integers: dict[Value, Value | int] = field(default_factory=dict)
    truths: dict[Value, Value] = field(default_factory=dict)
    _assumed: dict[str, None] = field(default_factory=dict)

    # -- the model -----------------------------------------------------------------------------------------------

    def assume(self, parameter: str) -> None:
        """The run rests on a parameter of the model: the report lists it."""
        self._assumed[parameter] = None

    @property
    def notes(self) -> list[str]:
        return [sentence(name) for name in {**self.trace.assumed, **self._assumed}]

    def impl(self, fn: str = "") -> str:
        """Who computes an approximate function: the engine, and the table where it is one of its own."""
        return f"{IMPL}:{self.engine}:{fn}" if fn else f"{IMPL}:{self.engine}"

    def composites(self, fn: str = "") -> Composites:
        return Composites(self.builder, self.impl(fn), exact_sqrt=False)

    # -- operands ------------------------------------------------------------------------------------------------

    def read(self, view: View) -> Value:
        """The elements of a view, in its dtype and shape."""
        return indirect.read(self, view) if isinstance(view, Indirect) else self.memory.read(view)

    def view(self, operand: Operand) -> Value:
        """An operand that has to be a view."""
        if not isinstance(operand, TensorRef | Indirect):
            raise Unsupported(f"the number {operand} where a tile is needed", self.builder.span)
        return self.read(operand)

    def f32(self, operand: Operand, shape: tuple[int, ...] | None = None) -> Value:
        """An operand in f32, of ``shape``: numbers and one element per partition are spread over it."""
        x = self.typed(operand, F32)
        if isinstance(operand, int | float) and abs(operand) < EXACT and operand == int(operand):
            self.integers[x], self.ranges[x] = int(operand), (operand, operand)
        truth = self.truths.get(x)
        x = self.converted(x, F32) if truth is None else self.one_or_zero(truth)
        return x if shape is None else self.spread(x, shape)

    def converted(self, x: Value, to: DType) -> Value:
        """A copy: bit for bit between equal dtypes, through f32 otherwise; what is known of integers goes along."""
        made = converted(self.builder, x, to)
        if to is F32 and x.type.dtype.is_integer:
            self.integers[made] = x
            self.ranges[made] = self.ranges.get(x, range_of(x.type.dtype))
        return made

    def typed(self, operand: Operand, dt: DType) -> Value:
        """An operand as it is; a number as a scalar of ``dt``."""
        if isinstance(operand, TensorRef | Indirect):
            return self.read(operand)
        if operand is None:
            raise Unsupported("an operand that is missing", self.builder.span)
        return self.builder.constant(operand, dt)

    def rows(self, operand: Operand) -> Value:
        """A tile in f32 as (partitions, elements of each)."""
        return self.flat(to_f32(self.builder, self.view(operand)))

    def flat(self, x: Value) -> Value:
        """(partitions, elements of each)."""
        return self.builder.reshape(x, (x.type.shape[0], prod(x.type.shape[1:])))

    def spread(self, x: Value, shape: tuple[int, ...]) -> Value:
        """Of ``shape``, whose elements x has in another order of free axes, or one of for each partition."""
        made = self._spread(x, shape)
        if x in self.integers and made is not x:
            whole = self.integers[x]
            self.integers[made] = whole if isinstance(whole, int) else self._spread(whole, shape)
            self.ranges[made] = self.ranges[x]
        return made

    def _spread(self, x: Value, shape: tuple[int, ...]) -> Value:
        size = prod(x.type.shape)
        if size == prod(shape):
            return self.builder.reshape(x, shape)
        lanes = x.type.shape[0] if x.type.shape else 1
        if size == 1:
            return self.builder.broadcast(self.builder.reshape(x, ()), shape, ())
        if size == lanes == shape[0]:
            return self.builder.broadcast(self.builder.reshape(x, (lanes,)), shape, (0,))
        raise Unsupported(f"an operand of shape {x.type.shape} for a tile of shape {shape}", self.builder.span)

    # -- results -------------------------------------------------------------------------------------------------

    def put_f32(self, instr: Instr, value: Value, number: int = 0) -> None:
        """``value`` in f32, rounded once to the destination's dtype."""
        to = self.dtype(instr.dst[number])
        if to.name == "f8e4m3fn":
            self.assume("float8_overflow")
        truth = self.truths.get(value) if to.is_integer else None
        if truth is None:
            return self.put(instr, from_f32(self.builder, value, to, self.ranges.get(value, ANY)), number)
        return self.put(instr, self.one_or_zero(truth, to), number)

    def one_or_zero(self, truth: Value, to: DType = F32) -> Value:
        """A truth value as a number."""
        value = self.builder.cast(truth, to)
        self.truths[value] = truth
        return value

    def truth(self, x: Value) -> Value:
        """x != 0."""
        known = self.truths.get(x)
        return self.builder.cmp("ne", x, self.builder.like(0, x)) if known is None else known

    def compared(self, pred: str, x: Value, y: Value) -> Value:
        """x pred y, both in f32; of the integers behind them where that is the same.

        It is where one side stays below 2^24: rounding to f32 keeps the order of that one and any integer.
        """
        b, wholes = self.builder, [self.integers.get(v) for v in (x, y)]
        small = any(max(map(abs, self.ranges.get(v, ANY))) < EXACT for v in (x, y))
        if not small or any(w is None for w in wholes) or all(isinstance(w, int) for w in wholes):
            return b.cmp(pred, x, y)
        first, second = (b.constant(w, I64, x.type.shape) if isinstance(w, int) else b.cast(w, I64) for w in wholes)  # type: ignore[arg-type]
        return b.cmp(pred, first, second)

    def narrowed(self, op: str, x: Value, limit: float, result: Value) -> Value:
        """``result`` = max or min of x and a number: it lies on one side of it."""
        low, high = self.ranges.get(x, ANY)
        self.ranges[result] = (
            (max(low, limit), max(high, limit)) if op == "max" else (min(low, limit), min(high, limit))
        )
        return result

    def put(self, instr: Instr, value: Value, number: int = 0, mask: np.ndarray | None = None) -> None:
        """Writes a value of the destination's dtype, where the instruction's mask (and ``mask``) let it."""
        view = instr.dst[number]
        mask = instr.mask if number == 0 and mask is None else mask
        value = self.builder.reshape(value, self.shape(view))
        if isinstance(view, Indirect):
            if mask is not None:
                raise Unsupported("a mask with an indirect destination", self.builder.span)
            indirect.write(self, view, value)
        elif mask is None:
            self.memory.write(view, value)
        else:
            self._masked(view, value, np.broadcast_to(mask, view.shape))

    def _masked(self, view: TensorRef, value: Value, mask: np.ndarray) -> None:
        """Elements where ``mask`` is False keep what they hold."""
        if not mask.any():
            return
        box = box_of(mask)
        if box is not None:
            self.memory.write(cut(view, box), cut_value(self.builder, value, box))
        else:
            kept = self.memory.read(view)
            self.memory.write(view, self.builder("select", self.constant_mask(mask, view.shape), value, kept))

    def constant_mask(self, mask: np.ndarray, shape: tuple[int, ...]) -> Value:
        return self.builder.constant(np.broadcast_to(mask, shape).copy(), BOOL)

    def dtype(self, view: View) -> DType:
        return kir_dtype(view.base.dtype if isinstance(view, Indirect) else view.dtype)

    def shape(self, view: Any) -> tuple[int, ...]:
        return view.base.shape if isinstance(view, Indirect) else view.shape


def cut_value(b: Builder, x: Value, box: tuple[slice, ...]) -> Value:
    """x[box]."""
    if all(s == slice(0, n, 1) for s, n in zip(box, x.type.shape, strict=True)):
        return x
    start, limit, step = (tuple(getattr(s, name) for s in box) for name in ("start", "stop", "step"))
    return b("slice", x, start=start, limit=limit, step=step)
