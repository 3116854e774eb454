"""Text -> Program: the inverse of printer.py.  Types are inferred by the records and checked against the text.

Raises UsageError with line and column for text that is not KIR.
"""

from __future__ import annotations

import base64
from typing import Any

import numpy as np

from lowering.errors import UNKNOWN_SPAN, Span
from lowering.ir.ops import RECORDS, REQUIRED, TypeRuleError
from lowering.ir.program import Block, Function, Op, Program, Value
from lowering.ir.types import DTYPES, TensorType
from lowering.tokens import Tokens


def parse_program(text: str) -> Program:
    """The program that ``text`` says; UsageError when it is not well formed."""
    return _Parser(text).program()


class _Parser:
    def __init__(self, text: str) -> None:
        self.t = Tokens(text, "KIR")
        self.scope: dict[str, Value] = {}

    def program(self) -> Program:
        notes: list[str] = []
        kernels: dict[str, Function] = {}
        while self.t.take("note"):
            notes.append(self.t.string())
        while self.t.take("kernel"):
            kernel = self.kernel()
            kernels[kernel.name] = kernel
        self.t.expect("program")
        self.scope = {}
        args, names = self.inputs()
        attrs = self.attrs()
        body, outputs = Block(args), list[tuple[str, Value]]()
        self.t.expect("{")
        while not self.t.take("return"):
            body.ops.append(self.op())
        while self.t.kind == "string":
            outputs.append((self.t.string(), self.use()))
            self.t.take(",")
        self.t.expect("}")
        return Program(body, names, outputs, kernels, attrs, notes)

    def kernel(self) -> Function:
        self.t.expect("@")
        name = self.t.string()
        self.scope = {}
        params = self.typed_list()
        attrs = self.attrs()
        body = Block()
        self.t.expect("{")
        while not self.t.take("}"):
            body.ops.append(self.op())
        return Function(name, params, body, attrs)

    def inputs(self) -> tuple[list[Value], list[str]]:
        values: list[Value] = []
        names: list[str] = []
        self.t.expect("(")
        while not self.t.take(")"):
            values.append(self.typed())
            names.append(self.t.string())
            self.t.take(",")
        return values, names

    def typed_list(self) -> list[Value]:
        values: list[Value] = []
        self.t.expect("(")
        while not self.t.take(")"):
            values.append(self.typed())
            self.t.take(",")
        return values

    def typed(self) -> Value:
        name = self.t.expect_kind("value")[1:]
        self.t.expect(":")
        return self.define(name, self.type())

    def type(self) -> TensorType:
        name = self.t.expect_kind("word")
        if name not in DTYPES:
            self.t.fail(f"no dtype {name!r}")
        shape: list[int] = []
        if self.t.take("["):
            while not self.t.take("]"):
                shape.append(int(self.t.expect_kind("number")))
                self.t.take(",")
        return TensorType(DTYPES[name], tuple(shape))

    def define(self, name: str, type_: TensorType) -> Value:
        if name in self.scope:
            self.t.fail(f"%{name} is defined twice")
        self.scope[name] = Value(name, type_)
        return self.scope[name]

    def use(self) -> Value:
        name = self.t.expect_kind("value")[1:]
        if name not in self.scope:
            self.t.fail(f"%{name} is not defined")
        return self.scope[name]

    def op(self) -> Op:
        results: list[str] = []
        while self.t.kind == "value":
            results.append(self.t.advance()[1:])
            self.t.take(",")
        if results:
            self.t.expect("=")
        name = self.t.expect_kind("word")
        if name not in RECORDS:
            self.t.fail(f"no op {name!r}")
        operands: list[Value] = []
        while self.t.kind == "value":
            operands.append(self.use())
            if not self.t.take(","):
                break
        attrs = self.attrs() if self.t.token == "{" and self.t.kind == "mark" else {}
        types = self.result_types() if results else []
        span = self.span() if self.t.token == "@" and self.t.kind == "mark" else UNKNOWN_SPAN
        regions = self.regions() if self.t.token == "(" and self.t.kind == "mark" else []
        return self.checked(name, operands, results, types, attrs, regions, span)

    def result_types(self) -> list[TensorType]:
        self.t.expect(":")
        types = [self.type()]
        while self.t.take(","):
            types.append(self.type())
        return types

    def checked(
        self,
        name: str,
        operands: list[Value],
        results: list[str],
        types: list[TensorType],
        attrs: dict[str, Any],
        regions: list[Block],
        span: Span,
    ) -> Op:
        record = RECORDS[name]
        full = {key: attrs.pop(key, default) for key, default in record.attrs.items()}
        missing = [key for key, given in full.items() if given is REQUIRED]
        if attrs or missing:
            self.t.fail(f"{name}: unknown attributes {sorted(attrs)}, missing {missing}")
        try:
            inferred = record.infer([v.type for v in operands], full, regions)
        except TypeRuleError as error:
            self.t.fail(str(error))
            raise
        if inferred != types:
            self.t.fail(f"{name}: has type {', '.join(map(str, inferred))}, the text says {', '.join(map(str, types))}")
        return Op(
            name, operands, [self.define(n, ty) for n, ty in zip(results, types, strict=True)], full, regions, span
        )

    def regions(self) -> list[Block]:
        regions: list[Block] = []
        self.t.expect("(")
        while not self.t.take(")"):
            self.t.expect("^")
            outer = dict(self.scope)
            block = Block(self.typed_list())
            self.t.expect(":")
            while self.t.token not in ("^", ")") or self.t.kind == "string":
                block.ops.append(self.op())
            self.scope = outer
            regions.append(block)
        return regions

    def span(self) -> Span:
        self.t.expect("@")
        file = self.t.string()
        self.t.expect(":")
        line = int(self.t.expect_kind("number"))
        self.t.expect(":")
        column = int(self.t.expect_kind("number"))
        name = self.t.string() if self.t.take(":") else ""
        return Span(file, line, column, name)

    def attrs(self) -> dict[str, Any]:
        attrs: dict[str, Any] = {}
        self.t.expect("{")
        while not self.t.take("}"):
            key = self.t.expect_kind("word")
            self.t.expect("=")
            attrs[key] = self.literal()
            self.t.take(",")
        return attrs

    def literal(self) -> Any:
        if self.t.kind == "string":
            return self.t.string()
        if self.t.take("["):
            items: list[Any] = []
            while not self.t.take("]"):
                items.append(self.literal())
                self.t.take(",")
            return tuple(items)
        if self.t.kind == "number":
            return self.t.number()
        word = self.t.expect_kind("word")
        if word == "dense":
            return self.dense()
        if word in ("inf", "nan"):
            return float(word)
        if word not in ("true", "false", "null"):
            self.t.fail(f"no literal {word!r}")
        return {"true": True, "false": False, "null": None}[word]

    def dense(self) -> np.ndarray:
        self.t.expect("<")
        type_ = self.type()
        data = base64.b64decode(self.t.string())
        self.t.expect(">")
        return np.frombuffer(data, type_.dtype.numpy).reshape(type_.shape).copy()
