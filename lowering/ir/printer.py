"""Program -> text.  ``parse(print_program(p))`` prints the same text again (tested on every program of the corpus).

    program(%0 "x": f32[3,5]) {contract=false} {
      %2 = math %0 {fn="exp", accuracy="declared", impl="cuda"} : f32[3,5] @"a.py":12:4:"e"
      return "out0" %2
    }
Attributes that equal the record's default are left out.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from lowering.errors import Span
from lowering.ir.ops import RECORDS
from lowering.ir.program import Block, Function, Op, Program, Value
from lowering.ir.types import from_numpy


def print_program(program: Program) -> str:
    """The whole program, kernels first."""
    lines = [f"note {json.dumps(note)}" for note in program.notes]
    for kernel in program.kernels.values():
        lines += _function(kernel)
    inputs = ", ".join(
        f"{_typed(v)} {json.dumps(name)}" for v, name in zip(program.body.args, program.input_names, strict=True)
    )
    lines.append(f"program({inputs}) {_attrs(program.attrs)} {{")
    lines += _ops(program.body, 1)
    lines.append("  return " + ", ".join(f"{json.dumps(name)} %{v.name}" for name, v in program.outputs))
    return "\n".join([*lines, "}", ""])


def _function(kernel: Function) -> list[str]:
    params = ", ".join(map(_typed, kernel.params))
    return [f"kernel @{json.dumps(kernel.name)}({params}) {_attrs(kernel.attrs)} {{", *_ops(kernel.body, 1), "}"]


def _ops(block: Block, depth: int) -> list[str]:
    return [line for op in block.ops for line in _op(op, depth)]


def _op(op: Op, depth: int) -> list[str]:
    pad = "  " * depth
    defaults = RECORDS[op.name].attrs
    shown = {k: v for k, v in op.attrs.items() if not _is_default(v, defaults.get(k))}
    parts = [", ".join(f"%{v.name}" for v in op.results) + " ="] if op.results else []
    parts += [op.name, ", ".join(f"%{v.name}" for v in op.operands), _attrs(shown) if shown else ""]
    if op.results:
        parts.append(": " + ", ".join(str(v.type) for v in op.results))
    parts.append(_span(op.span))
    head = pad + " ".join(p for p in parts if p)
    if not op.regions:
        return [head]
    lines = [head + " ("]
    for region in op.regions:
        lines += [f"{pad}^({', '.join(map(_typed, region.args))}):", *_ops(region, depth + 1)]
    return [*lines, pad + ")"]


def _is_default(value: Any, default: Any) -> bool:
    if isinstance(value, np.ndarray):
        return False
    return type(value) is type(default) and value == default


def _typed(value: Value) -> str:
    return f"%{value.name}: {value.type}"


def _span(span: Span) -> str:
    if not span.line:
        return ""
    name = f":{json.dumps(span.name)}" if span.name else ""
    return f"@{json.dumps(span.file)}:{span.line}:{span.column}{name}"


def _attrs(attrs: dict[str, Any]) -> str:
    return "{" + ", ".join(f"{key}={_literal(value)}" for key, value in attrs.items()) + "}"


def _literal(value: Any) -> str:
    if isinstance(value, np.ndarray):
        value = cast("np.ndarray[Any, np.dtype[Any]]", value)
        data = base64.b64encode(np.ascontiguousarray(value).tobytes()).decode()
        return f'dense<{from_numpy(value.dtype)}[{",".join(map(str, value.shape))}] "{data}">'
    if isinstance(value, (tuple, list)):
        return "[" + ", ".join(map(_literal, cast("Sequence[Any]", value))) + "]"
    if isinstance(value, str):
        return json.dumps(value)
    if value is None or isinstance(value, (bool, np.bool_)):
        return {True: "true", False: "false", None: "null"}[None if value is None else bool(cast("bool", value))]
    number = cast("float", value)
    return repr(float(number)) if isinstance(number, (float, np.floating)) else str(int(number))
