"""StableHLO module -> KIR program: walks the ops and hands each to its handler (ops/).

Takes module text; gives a Program.  Functions are inlined, so the program is one block; knows no op's meaning.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lowering.errors import UNKNOWN_SPAN, Span, Unsupported, UsageError
from lowering.frontends.stablehlo import ops  # noqa: F401  (fills HANDLERS)
from lowering.frontends.stablehlo.folding import FoldingBuilder
from lowering.frontends.stablehlo.node import HANDLERS, Node
from lowering.frontends.stablehlo.parsing import functions, parse_module
from lowering.frontends.stablehlo.spans import span_of
from lowering.frontends.stablehlo.tidy import tidy
from lowering.frontends.stablehlo.types import tensor_type
from lowering.ir.program import Block, Program, Value
from lowering.ir.types import DType, TensorType, dtype, from_numpy

_RETURNS = ("func.return", "stablehlo.return")


def lower_module(
    text: str,
    *,
    input_names: Sequence[str],
    output_names: Sequence[str],
    key: str,
    input_dtypes: Sequence[str] | None = None,
    notes: Sequence[str] = (),
) -> Program:
    """The program of ``@main``.  ``input_dtypes`` (numpy names) are what the caller passes when jax narrows it."""
    module = parse_module(text)
    translator = Translator(functions(module))
    main = translator.functions.get("main")
    if main is None:
        raise UsageError("the StableHLO module has no function @main")
    program = translator.program(main, list(input_names), list(output_names), input_dtypes)
    program.attrs = {"level": "stablehlo", "contract": True, "key": key}
    program.notes = [*notes, *translator.notes]
    return tidy(program)


class Translator:
    """``values`` maps MLIR values to KIR values; ``_callee`` is the function being inlined and where it is called."""

    def __init__(self, module_functions: dict[str, Any]) -> None:
        self.functions = module_functions
        self.builder = FoldingBuilder()
        self.values: dict[Any, Value] = {}
        self.notes: list[str] = []
        self._callee: tuple[str, Span] = ("", UNKNOWN_SPAN)

    def note(self, text: str) -> None:
        """Records an assumption once."""
        if text not in self.notes:
            self.notes.append(text)

    def program(
        self, main: Any, input_names: list[str], output_names: list[str], input_dtypes: Sequence[str] | None
    ) -> Program:
        body = self.builder.block
        entry = main.regions[0].blocks[0]
        inner = [tensor_type(a.type) for a in entry.arguments]
        outer = [t.dtype for t in inner] if input_dtypes is None else [_named(name) for name in input_dtypes]
        if len(input_names) != len(inner) or len(outer) != len(inner):
            raise UsageError(f"@main takes {len(inner)} arrays, {len(input_names)} are named")
        body.args = [self.builder.value(t.with_dtype(d)) for t, d in zip(inner, outer, strict=True)]
        given = [self._narrowed(v, t) for v, t in zip(body.args, inner, strict=True)]
        results = self.inline(entry, given)
        return Program(body, input_names, list(zip(output_names, results, strict=True)))

    def _narrowed(self, value: Value, to: TensorType) -> Value:
        if value.type.dtype is not to.dtype:
            self.note(f"jax converts a {value.type.dtype} input to {to.dtype} on entry (jax_enable_x64 is off)")
        return self.builder.cast(value, to.dtype)

    def inline(self, block: Any, arguments: Sequence[Value]) -> list[Value]:
        """Lowers the ops of an MLIR block into the current KIR block; what its terminator returns."""
        for argument, value in zip(block.arguments, arguments, strict=True):
            self.values[argument] = value
        for op in block.operations:
            if op.operation.name in _RETURNS:
                return [self.values[v] for v in op.operation.operands]
            self._op(op)
        raise Unsupported("a block without a return")

    def call(self, name: str, arguments: Sequence[Value], span: Span) -> list[Value]:
        """Inlines function ``name``, called at ``span``."""
        saved, self._callee = self._callee, (name, span)
        try:
            return self.inline(self.functions[name].regions[0].blocks[0], arguments)
        finally:
            self._callee = saved

    def region(self, block: Any) -> Block:
        """A KIR region with the arguments of the MLIR block, ended by yield."""
        types = [tensor_type(a.type) for a in block.arguments]
        return self.builder.region(types, lambda *arguments: self.inline(block, arguments))

    def _op(self, op: Any) -> None:
        operation = op.operation
        span = span_of(operation.location, *self._callee)
        handler = HANDLERS.get(operation.name)
        if handler is None:
            raise Unsupported(operation.name, span, "this op has no model in irverify yet")
        node = Node(op, [self.values[v] for v in operation.operands], span, self)
        with self.builder.at(span):
            made = handler(node)
        results = [made] if isinstance(made, Value) else list(made)
        for result, value in zip(operation.results, results, strict=True):
            self.values[result] = _checked(node, value, tensor_type(result.type, span))


def _checked(node: Node, value: Value, expected: TensorType) -> Value:
    if value.type != expected:
        raise node.unsupported(f"lowered to {value.type} where StableHLO says {expected}", "please report this")
    return value


def _named(name: str) -> DType:
    try:
        return from_numpy(np.dtype(name))
    except TypeError:
        return dtype(name)
