"""A builder that folds index arithmetic while it builds: integer scalars of literals, repeated integer ops, and a
window written back where it was read.

Pallas's interpreter emits dozens of scalar index ops per block; folded, what remains is what the kernel does.  Float
ops are never touched, so roundings, spans and order stay the source's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from lowering.ir.builder import Builder
from lowering.ir.program import Block, Op, Value
from lowering.ir.types import BOOL, DType, dtype

Number = bool | int | float
_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
}
_BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "min": min,
    "max": max,
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
}
_NEVER_SHARED = frozenset({"undefined", "random", "opaque"})


class FoldingBuilder(Builder):
    """``definition`` finds the op that made a value; ``literal`` its number when it is a known scalar or splat."""

    def __init__(self) -> None:
        super().__init__()
        self._definitions: dict[str, Op] = {}
        self._seen: list[dict[Any, Op]] = [{}]

    def definition(self, value: Value) -> Op | None:
        return self._definitions.get(value.name)

    def literal(self, value: Value) -> Number | None:
        """The number every lane of ``value`` is, when that is known."""
        op = self.definition(value)
        while op is not None and op.name in ("broadcast", "reshape"):
            op = self.definition(op.operands[0])
        if op is None or op.name != "constant" or isinstance(op.attrs["value"], np.ndarray):
            return None
        return op.attrs["value"]

    @contextmanager
    def into(self, block: Block) -> Iterator[Block]:
        # an op inside a region must not be reused outside it
        self._seen.append({})
        try:
            with super().into(block) as inner:
                yield inner
        finally:
            self._seen.pop()

    def op(self, name: str, operands: Sequence[Value] = (), regions: Sequence[Block] = (), **attrs: Any) -> Op:
        folded = self._folded(name, operands, attrs) if not regions else None
        if folded is not None:
            return folded
        op = super().op(name, operands, regions, **attrs)
        for result in op.results:
            self._definitions[result.name] = op
        return self._shared(op)

    def _shared(self, op: Op) -> Op:
        key = _key(op)
        if key is None:
            return op
        for table in self._seen:
            if key in table:
                self.block.ops.pop()
                return table[key]
        self._seen[-1][key] = op
        return op

    def _folded(self, name: str, operands: Sequence[Value], attrs: dict[str, Any]) -> Op | None:
        if name == "dynamic_update_slice":
            return self._written_back(operands)
        if name == "dynamic_slice":
            return self._static_window(operands, tuple(attrs["shape"]))
        if name == "slice":
            return self._inside_padding(operands[0], attrs)
        if name == "select":
            return self._decided(operands)
        values = [self.literal(v) for v in operands]
        if not operands or any(v.type.rank or v.type.dtype.is_float for v in operands) or None in values:
            return None
        return self._computed(name, operands, values, attrs)

    def _computed(self, name: str, operands: Sequence[Value], values: list[Any], attrs: dict[str, Any]) -> Op | None:
        dt = operands[0].type.dtype
        if name == "cmp":
            return self._literal_op(_COMPARE[attrs["pred"]](*values), BOOL)
        if name in _BINARY and (dt is not BOOL or name in ("and", "or", "xor")):
            return self._literal_op(_BINARY[name](*values), dt)
        if name == "cast":
            return self._converted(values[0], dtype(attrs["to"]))
        if name == "not" and dt is BOOL:
            return self._literal_op(not values[0], BOOL)
        return None

    def _converted(self, value: Any, to: DType) -> Op | None:
        """An integer literal under another dtype, where that holds it exactly."""
        if to.is_float:
            exact = float(np.asarray(value).astype(to.numpy)) == value
            return self.definition(self.constant(float(value), to)) if exact else None
        return None if to is BOOL else self._literal_op(int(value), to)

    def _literal_op(self, value: Any, dt: DType) -> Op | None:
        if dt is not BOOL:
            limits = np.iinfo(dt.numpy)
            if not limits.min <= value <= limits.max:
                return None  # it wraps: left to the evaluator
        made = self.constant(value, dt)
        return self.definition(made)

    def _decided(self, operands: Sequence[Value]) -> Op | None:
        """select with a literal condition is one of its operands."""
        condition = self.literal(operands[0])
        return None if condition is None else _alias(operands[1 if condition else 2])

    def _static_window(self, operands: Sequence[Value], shape: tuple[int, ...]) -> Op | None:
        """A window at literal starts is a slice; a window as large as x is x."""
        x, *starts = operands
        if x.type.shape == shape:
            return _alias(x)
        known = [self.literal(v) for v in starts]
        if None in known:
            return None
        clamped = [min(max(int(v or 0), 0), n - w) for v, n, w in zip(known, x.type.shape, shape, strict=True)]
        limit = tuple(a + w for a, w in zip(clamped, shape, strict=True))
        return self.op("slice", [x], start=tuple(clamped), limit=limit, step=(1,) * len(shape))

    def _inside_padding(self, padded: Value, attrs: dict[str, Any]) -> Op | None:
        """A slice that takes nothing but the array out of its padding is a slice of the array."""
        pad = self.definition(padded)
        if pad is None or pad.name != "pad" or any(pad.attrs["interior"]) or min(pad.attrs["low"], default=0) < 0:
            return None
        x, low = pad.operands[0], pad.attrs["low"]
        start = tuple(s - p for s, p in zip(attrs["start"], low, strict=True))
        limit = tuple(e - p for e, p in zip(attrs["limit"], low, strict=True))
        if any(s < 0 for s in start) or any(e > n for e, n in zip(limit, x.type.shape, strict=True)):
            return None
        return self.op("slice", [x], start=start, limit=limit, step=attrs["step"])

    def _written_back(self, operands: Sequence[Value]) -> Op | None:
        """x with all of it replaced is the update; x with a window of x written where it was read is x."""
        base, update, *starts = operands
        if base.type.shape == update.type.shape:
            return _alias(update)  # the starts are clamped to 0
        read = self.definition(update)
        if read is None or read.name != "dynamic_slice":
            return None
        same = read.operands[0] is base and all(a is b for a, b in zip(read.operands[1:], starts, strict=True))
        return _alias(base) if same else None


def _alias(value: Value) -> Op:
    """Stands for an op whose result is ``value`` itself; it is never appended."""
    return Op("alias", [], [value])


def _key(op: Op) -> Any | None:
    """What makes two integer ops the same op; None for the ops that are never shared."""
    if op.regions or len(op.results) != 1 or op.name in _NEVER_SHARED:
        return None
    if op.name != "constant" and any(v.type.dtype.is_float for v in [op.result, *op.operands]):
        return None
    if any(isinstance(v, np.ndarray) for v in op.attrs.values()):
        return None
    return op.name, tuple(v.name for v in op.operands), repr(op.attrs)
