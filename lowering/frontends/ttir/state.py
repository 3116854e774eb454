"""What a lowering carries: the Builder, which KIR values stand for which MLIR values, and the notes made on the way.

Gives Lowering; handlers are its only users.  Knows no single op.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from jaxlib.mlir import ir

from lowering.errors import UNKNOWN_SPAN, Span, Unsupported
from lowering.frontends.ttir import promises
from lowering.frontends.ttir.locations import span_of
from lowering.frontends.ttir.registry import HANDLERS
from lowering.frontends.ttir.types import flat_types, tensor_type
from lowering.ir.builder import Builder
from lowering.ir.program import Block, Value
from lowering.ir.types import DType, TensorType

#: Ops whose only result is an effect that no numeric meaning depends on.
IGNORED = frozenset({"tt.print"})
#: Attributes of ops that carry a promise of the source to the compiler.
PROMISES = {"tt.divisibility": "multiple_of", "tt.contiguity": "max_contiguous", "tt.constancy": "max_constancy"}
_NUMBERS = re.compile(r"\d+")


class Lowering:
    """One kernel being lowered.

    ``lifted`` is the shape that scalars take inside ``tt.map_elementwise``, else None; ``caller`` is where the call
    being inlined stands.
    """

    def __init__(self, functions: dict[str, ir.Operation]) -> None:
        self.build = Builder()
        self.functions = functions
        self.notes: list[str] = []
        self.lifted: tuple[int, ...] | None = None
        self.caller = UNKNOWN_SPAN
        self._values: dict[ir.Value, tuple[Value, ...]] = {}

    # -- values ---------------------------------------------------------------------------------------------------

    def bind(self, source: ir.Value, *values: Value) -> None:
        """``values`` stand for ``source`` from here on."""
        self._values[source] = values

    def bind_all(self, sources: Iterable[ir.Value], values: Sequence[Value]) -> None:
        """``values`` stand for ``sources``, in order; a descriptor takes several of them."""
        at = 0
        for source in sources:
            width = len(self.flat_types(source))
            self.bind(source, *values[at : at + width])
            at += width

    def flat(self, sources: Iterable[ir.Value]) -> list[Value]:
        """All KIR values that stand for ``sources``."""
        return [self._lift(value) for source in sources for value in self._values[source]]

    def value(self, source: ir.Value) -> Value:
        """The one KIR value that stands for ``source``."""
        (value,) = self.flat([source])
        return value

    def operands(self, op: ir.Operation) -> list[Value]:
        """The operands of an op that takes no descriptors."""
        return [self.value(operand) for operand in op.operands]

    def operands_after(self, op: ir.Operation, n: int) -> list[Value]:
        """The operands from the n-th on (those before it are descriptors)."""
        return self.flat(list(op.operands)[n:])

    def _lift(self, value: Value) -> Value:
        if self.lifted is None or value.type.shape == self.lifted:
            return value
        return self.build.broadcast(value, self.lifted)

    # -- types ----------------------------------------------------------------------------------------------------

    def type(self, source: ir.Value) -> TensorType:
        """The KIR type of ``source`` (a scalar has the lifted shape inside map_elementwise)."""
        plain = tensor_type(source.type, self.span)
        return plain if self.lifted is None or plain.shape else plain.with_shape(self.lifted)

    def flat_types(self, source: ir.Value) -> list[TensorType]:
        return flat_types(source.type, self.span)

    def result_dtype(self, op: ir.Operation) -> DType:
        return self.type(op.results[0]).dtype

    # -- ops ------------------------------------------------------------------------------------------------------

    @property
    def span(self) -> Span:
        """Where the op at hand comes from."""
        return self.build.span

    def span_of(self, op: ir.Operation) -> Span:
        return span_of(op.location, self.caller)

    def lower(self, op: ir.Operation) -> None:
        """Lowers one op and binds its results."""
        with self.build.at(self.span_of(op)):
            self._note_promises(op)
            if op.name in IGNORED:
                return
            handler = HANDLERS.get(op.name)
            if handler is None:
                raise self.unsupported(f"op {op.name}")
            result = handler(self, op)
            values = [] if result is None else [result] if isinstance(result, Value) else list(result)
            self.bind_all(op.results, values)
            promises.check_multiple(self, op)

    def region(
        self,
        block: ir.Block,
        arg_types: Sequence[TensorType],
        end: str = "yield",
        bound: Sequence[ir.Value] | None = None,
    ) -> Block:
        """A KIR block for a one-block MLIR region: its terminator's operands are what it ends with."""

        def body(*args: Value) -> list[Value]:
            self.bind_all(list(block.arguments) if bound is None else bound, args)
            return self.straight(block)

        return self.build.region(arg_types, body, end)

    def straight(self, block: ir.Block) -> list[Value]:
        """Lowers ``block`` in place and gives the operands of its terminator."""
        *ops, end = [op.operation for op in block.operations]
        for op in ops:
            self.lower(op)
        return self.flat(end.operands)

    def _note_promises(self, op: ir.Operation) -> None:
        """Triton compiles for what tl.multiple_of and its like say; of tensors nobody checks it (promises.py)."""
        given = {word: str(op.attributes[name]) for name, word in PROMISES.items() if name in op.attributes}
        if promises.is_whole(op):
            given.pop("multiple_of", None)
        made = [f"{word}({', '.join(_NUMBERS.findall(text.split(':')[0]))})" for word, text in given.items()]
        if made:
            self.note(f"the compiler is promised {', '.join(made)}: not checked")

    # -- messages -------------------------------------------------------------------------------------------------

    def unsupported(self, construct: str, hint: str = "") -> Unsupported:
        """The error to raise: ``construct`` at the op at hand."""
        return Unsupported(f"TTIR {construct}", self.span, hint)

    def note(self, text: str) -> None:
        """Something the source leaves open that KIR cannot carry in an op; said once."""
        sentence = f"{text} ({self.span})"
        if sentence not in self.notes:
            self.notes.append(sentence)
