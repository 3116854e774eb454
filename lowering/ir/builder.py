"""Builds KIR: every op goes through ``Builder.op``, which fills attributes and applies the record's type rule.

Gives Builder.  Front ends use it; it knows nothing of any source language.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from itertools import count
from typing import Any, cast

import numpy as np

from lowering.errors import UNKNOWN_SPAN, Span
from lowering.ir.ops import RECORDS, REQUIRED, TypeRuleError
from lowering.ir.program import Block, Op, Value
from lowering.ir.types import BOOL, I64, DType, TensorType, dtype


class Builder:
    """Appends ops to the current block.  ``span`` is given to every op built while it is set."""

    def __init__(self) -> None:
        self._numbers = count()
        self.block = Block()
        self.span: Span = UNKNOWN_SPAN

    def value(self, type_: TensorType) -> Value:
        """A fresh value (an argument of a block under construction)."""
        return Value(str(next(self._numbers)), type_)

    def op(self, name: str, /, operands: Sequence[Value] = (), regions: Sequence[Block] = (), **attrs: Any) -> Op:
        """Appends ``name`` and returns it; raises TypeRuleError when its record refuses the operands."""
        record = RECORDS[name]
        full = {key: attrs.pop(key, default) for key, default in record.attrs.items()}
        missing = [key for key, given in full.items() if given is REQUIRED]
        if attrs or missing:
            raise TypeRuleError(f"{name}: unknown attributes {sorted(attrs)}, missing {missing}")
        if record.regions is not None and record.regions != len(regions):
            raise TypeRuleError(f"{name} has {record.regions} regions, got {len(regions)}")
        types = record.infer([v.type for v in operands], full, regions)
        op = Op(name, list(operands), [self.value(t) for t in types], full, list(regions), self.span)
        self.block.ops.append(op)
        return op

    def __call__(self, name: str, /, *operands: Value, **attrs: Any) -> Value:
        """Appends an op with one result and returns that result."""
        return self.op(name, operands, **attrs).results[0]

    @contextmanager
    def at(self, span: Span) -> Generator[None]:
        """Ops built inside come from ``span``."""
        saved, self.span = self.span, span
        try:
            yield
        finally:
            self.span = saved

    @contextmanager
    def into(self, block: Block) -> Generator[Block]:
        """Ops built inside go to ``block``."""
        saved, self.block = self.block, block
        try:
            yield block
        finally:
            self.block = saved

    def region(
        self, arg_types: Sequence[TensorType], body: Callable[..., Sequence[Value]], end: str = "yield"
    ) -> Block:
        """A block with arguments of ``arg_types`` whose ops ``body(*args)`` builds; ends with what it returns."""
        block = Block([self.value(t) for t in arg_types])
        with self.into(block):
            self.op(end, list(body(*block.args)))
        return block

    # -- conveniences: no new meaning, only spelling -------------------------------------------------------------

    def constant(self, value: Any, dt: DType, shape: tuple[int, ...] = ()) -> Value:
        """A literal: a number splat to ``shape``, or an array whose shape is taken."""
        if isinstance(value, np.ndarray) and value.ndim:
            array = cast("np.ndarray[Any, np.dtype[Any]]", value)
            return self("constant", to=dt.name, shape=array.shape, value=array.astype(dt.numpy))
        return self("constant", to=dt.name, shape=tuple(shape), value=_plain(value, dt))

    def like(self, value: Any, model: Value) -> Value:
        """The literal ``value`` in ``model``'s dtype and shape."""
        return self.constant(value, model.type.dtype, model.type.shape)

    def cast(self, x: Value, to: DType | str, **attrs: Any) -> Value:
        """x converted; nothing is emitted when it already has that dtype."""
        to = dtype(to) if isinstance(to, str) else to
        return x if x.type.dtype is to else self("cast", x, to=to.name, **attrs)

    def bitcast(self, x: Value, to: DType) -> Value:
        return x if x.type.dtype is to else self("bitcast", x, to=to.name)

    def reshape(self, x: Value, shape: Sequence[int]) -> Value:
        return x if x.type.shape == tuple(shape) else self("reshape", x, shape=tuple(shape))

    def broadcast(self, x: Value, shape: Sequence[int], dims: Sequence[int] | None = None) -> Value:
        """numpy-style (aligned right) unless ``dims`` says where each dimension goes."""
        shape = tuple(shape)
        if x.type.shape == shape:
            return x
        dims = tuple(range(len(shape) - x.type.rank, len(shape))) if dims is None else tuple(dims)
        return self("broadcast", x, shape=shape, dims=dims)

    def index(self, shape: Sequence[int], axis: int, dt: DType = I64) -> Value:
        """The index along ``axis`` of every lane of ``shape``."""
        return self("iota", to=dt.name, shape=tuple(shape), axis=axis)

    def cmp(self, pred: str, a: Value, b: Value, *, unordered: bool = False) -> Value:
        return self("cmp", a, b, pred=pred, unordered=unordered)

    def is_nan(self, x: Value) -> Value:
        return self.cmp("ne", x, x)

    def true(self, shape: tuple[int, ...] = ()) -> Value:
        return self.constant(True, BOOL, shape)


def _plain(value: Any, dt: DType) -> bool | int | float:
    if dt is BOOL:
        return bool(value)
    return float(value) if dt.is_float else int(value)
