"""NkiTrace -> text, one line for each storage and each instruction.  ``text_parser.parse_trace`` reads it back.

    nki "matmul" {generation="new", target="gen3", version="0.6", checks_shapes=true}
    file 0 "kernel.py"
    storage %3 psum float32[9,7] {origin="empty"} @0:13:9:"matmul"
    %3:float32[9,7] = nc_mat_mul %4:float32[32,9], %5:float32[32,7] {accumulate=true} on pe @0:17:9 in affine_range#0=2
    output "out0" %2:float32[9,7]
A view that is not dense adds its strides and offset: %3:float32[8,4]/(64,2)+5.  Arrays (masks, data) are compressed;
a mask whose True elements are a box says its bounds.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from lowering.capture.nki.trace import Indirect, Instr, Loop, NkiStorage, NkiTrace
from lowering.capture.trace import TensorRef
from lowering.errors import UNKNOWN_SPAN, InternalError, Span

Files = dict[str, int]


def print_trace(trace: NkiTrace, with_inputs: bool = True) -> str:
    """The whole trace; without ``with_inputs`` the data of its inputs are left out."""
    storages = list(trace.storages.values())
    files: Files = {}
    for span in [*(storage.span for storage in storages), *(instr.span for instr in trace.instrs)]:
        if span != UNKNOWN_SPAN:
            files.setdefault(span.file, len(files))
    lines = [_header(trace)]
    lines += [f"file {number} {json.dumps(name)}" for name, number in files.items()]
    lines += [f"note {json.dumps(note)}" for note in trace.notes]
    lines += [f"assumed {json.dumps(name)}" for name in trace.assumed]
    lines += [_storage(storage, files, with_inputs) for storage in storages]
    lines += [f"input {json.dumps(name)} {literal(ref)}" for name, ref in trace.inputs]
    lines += [_instr(instr, files) for instr in trace.instrs]
    lines += [f"output {json.dumps(name)} {literal(ref)}" for name, ref in trace.outputs]
    return "\n".join([*lines, ""])


def _header(trace: NkiTrace) -> str:
    attrs = {
        "generation": trace.generation,
        "target": trace.target,
        "version": trace.version,
        "checks_shapes": trace.checks_shapes,
    }
    return f"nki {json.dumps(trace.kernel)} {_attrs(attrs)}"


def _storage(storage: NkiStorage, files: Files, with_inputs: bool) -> str:
    attrs: dict[str, Any] = {"origin": storage.origin}
    if storage.name:
        attrs["name"] = storage.name
    if storage.blocks:
        attrs["blocks"] = storage.blocks
    if storage.core:
        attrs["core"] = storage.core
    if storage.pinned is not None:
        attrs["pinned"] = storage.pinned
    if storage.pins:
        attrs["pins"] = storage.pins
    if storage.data is not None and (with_inputs or storage.origin != "input"):
        attrs["data"] = storage.data
    shape = ",".join(map(str, storage.shape))
    head = f"storage %{storage.id} {storage.space} {storage.dtype}[{shape}] {_attrs(attrs)}"
    return head + _span(storage.span, files)


def _instr(instr: Instr, files: Files) -> str:
    results = ", ".join(map(literal, instr.dst))
    parts = [f"{results} =" if results else "", instr.op, ", ".join(map(literal, instr.src)), _attrs(instr.attrs)]
    if instr.engine:
        parts.append(f"on {instr.engine}")
    if instr.mask is not None:
        parts.append(f"mask {literal(instr.mask)}")
    if instr.core:
        parts.append(f"core {instr.core}")
    tail = " in " + ", ".join(map(_loop, instr.loops)) if instr.loops else ""
    return " ".join(part for part in parts if part) + _span(instr.span, files) + tail


def _loop(loop: Loop) -> str:
    return f"{loop.kind}#{loop.id}={loop.turn}"


def _span(span: Span, files: Files) -> str:
    if span == UNKNOWN_SPAN:
        return ""
    return f" @{files[span.file]}:{span.line}:{span.column}" + (f":{json.dumps(span.name)}" if span.name else "")


def _attrs(attrs: dict[str, Any]) -> str:
    return "{" + ", ".join(f"{key}={literal(value)}" for key, value in attrs.items()) + "}"


def literal(value: Any) -> str:
    """One value: a view, a number, a word, None, a bool, an array, or a tuple, list or dict of such."""
    if isinstance(value, TensorRef):
        return _view(value)
    if isinstance(value, Indirect):
        parts = value.base, value.index, value.dim, value.kind, value.step
        return f"indirect({', '.join(map(literal, parts))})"
    if value is None or isinstance(value, bool | np.bool_):
        return "null" if value is None else str(bool(value)).lower()
    if isinstance(value, str):
        return json.dumps(value)
    if isinstance(value, np.generic):
        return literal(value.item())
    if isinstance(value, int | float):
        return repr(float(value)) if isinstance(value, float) else str(int(value))
    if isinstance(value, np.ndarray):
        return _array(value)
    if isinstance(value, tuple | list):
        return _sequence(value)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(str(key))}: {literal(item)}" for key, item in value.items()) + "}"
    raise InternalError(f"a trace holds a {type(value).__name__}, which has no text")


def _sequence(value: Sequence[Any]) -> str:
    left, right = "()" if isinstance(value, tuple) else "[]"
    return left + ",".join(map(literal, value)) + right


def _view(ref: TensorRef) -> str:
    text = f"%{ref.storage}:{ref.dtype}[{','.join(map(str, ref.shape))}]"
    if ref.strides != dense(ref.shape):
        text += f"/({','.join(map(str, ref.strides))})"
    return text + (f"+{ref.offset}" if ref.offset else "")


def dense(shape: Iterable[int]) -> tuple[int, ...]:
    """Row-major strides of ``shape``, in elements."""
    made: list[int] = []
    step = 1
    for extent in reversed(tuple(shape)):
        made.append(step)
        step *= extent
    return tuple(reversed(made))


def _array(array: np.ndarray) -> str:
    kind = f"{array.dtype.name}[{','.join(map(str, array.shape))}]"
    box = _box(array) if array.dtype == bool else None
    if box is not None:
        return f"box<{kind} {_sequence(box)}>"
    raw = np.packbits(array).tobytes() if array.dtype == bool else np.ascontiguousarray(array).tobytes()
    return f"array<{kind} {json.dumps(base64.b64encode(zlib.compress(raw, 1)).decode())}>"


def _box(mask: np.ndarray) -> tuple[tuple[int, int], ...] | None:
    """(start, stop) along every axis of the box that the True elements are; None where they are none."""
    bounds = []
    for axis in range(mask.ndim):
        along = np.flatnonzero(mask.any(axis=tuple(other for other in range(mask.ndim) if other != axis)))
        if along.size == 0:
            return None
        bounds.append((int(along[0]), int(along[-1]) + 1))
    volume = int(np.prod([stop - start for start, stop in bounds]))
    return tuple(bounds) if bounds and volume == int(mask.sum()) else None
