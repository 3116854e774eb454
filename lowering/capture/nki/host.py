"""Runs a kernel on tensors of the given shapes and gives its trace.

Takes a callable (a Kernel, or a host function that calls some), numpy arrays and numbers; gives an NkiTrace.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from lowering.capture.nki.dtypes import dtype_name
from lowering.capture.nki.kernel import Kernel, tensor_class
from lowering.capture.nki.signatures import VERSIONS
from lowering.capture.nki.tile import Tile
from lowering.capture.nki.trace import HBM, NEW, TARGETS, Indirect, NkiTrace
from lowering.capture.nki.tracer import Tracer
from lowering.errors import UNKNOWN_SPAN, UsageError


def capture_nki(
    function: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any] | None = None,
    names: Sequence[str] = (),
    target: str = "trn2",
    version: str = "0.6",
) -> NkiTrace:
    """One run of ``function``.  Arrays become HBM tensors called ``names``; everything else is a constant."""
    if target not in TARGETS:
        raise UsageError(f"--target {target!r} is no NKI target; these are: {', '.join(TARGETS)}")
    generation = function.generation if isinstance(function, Kernel) else NEW
    if isinstance(function, Kernel) and generation == NEW and version not in VERSIONS:
        raise UsageError(f"the kernel imports nki, whose releases are {', '.join(VERSIONS)}, and not {version}")
    trace = NkiTrace(getattr(function, "__name__", "kernel"), generation, TARGETS[target], version)
    with Tracer(trace) as tracer:
        given = list(zip(names, [*args, *(kwargs or {}).values()], strict=True))
        made = {name: _argument(tracer, tensor_class(generation), name, value) for name, value in given}
        positional = [made[name] for name in names[: len(args)]]
        result = run_captured(function, positional, {key: made[key] for key in kwargs or {}})
    results = result if isinstance(result, list | tuple) else [] if result is None else [result]
    for number, tile in enumerate(results):
        if not isinstance(tile, Tile):
            raise UsageError(f"{trace.kernel} returns a {type(tile).__name__}; a kernel returns HBM tensors")
        trace.outputs.append((f"out{number}", tile.ref))
    trace.outputs += _written(trace, {ref.storage for _, ref in trace.outputs})
    if not trace.outputs:
        raise UsageError(f"{trace.kernel} returns nothing and writes none of its arguments")
    return trace


def run_captured(function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    return function(*args, **kwargs)


def _argument(tracer: Tracer, kind: type[Tile], name: str, value: Any) -> Any:
    if not isinstance(value, np.ndarray):
        return value
    storage = tracer.storage(HBM, dtype_name(value.dtype), value.shape, origin="input", data=value, name=name)
    storage.span = UNKNOWN_SPAN
    tensor = kind.whole(storage)
    tracer.trace.inputs.append((name, tensor.ref))
    return tensor


def _written(trace: NkiTrace, returned: set[int]) -> list[tuple[str, Any]]:
    """Arguments that were written to and are not returned."""
    views = (view for instr in trace.instrs for view in instr.dst)
    touched = {view.base.storage if isinstance(view, Indirect) else view.storage for view in views}
    return [(f"written:{n}", ref) for n, ref in trace.inputs if ref.storage in touched and ref.storage not in returned]
