"""Runs a kernel on tensors of the given shapes and gives its trace.

Takes a callable (a Kernel, or a host function that calls some), numpy arrays and numbers; gives an NkiTrace.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from lowering.capture.nki.dtypes import dtype_name
from lowering.capture.nki.kernel import Kernel, tensor_class, used_generation
from lowering.capture.nki.once_beta1 import look_for_leaks
from lowering.capture.nki.signatures import VERSIONS
from lowering.capture.nki.tile import Tile
from lowering.capture.nki.trace import BETA1, HBM, NEW, TARGETS, Indirect, NkiTrace
from lowering.capture.nki.tracer import Tracer
from lowering.capture.nki.turned_beta1 import has_turns, same_turns
from lowering.capture.trace import TensorRef
from lowering.errors import UNKNOWN_SPAN, Unsupported, UsageError


def capture_nki(
    function: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any] | None = None,
    names: Sequence[str] = (),
    target: str = "trn2",
    version: str = "0.6",
) -> NkiTrace:
    """One run of ``function``.  Arrays become HBM tensors called ``names``; everything else is a constant."""
    return capture_call(function, args, kwargs, names, target, version)[0]


def capture_call(
    function: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any] | None = None,
    names: Sequence[str] = (),
    target: str = "trn2",
    version: str = "0.6",
) -> tuple[NkiTrace, Any]:
    """The same, and what the call returned: tiles, whose views are the first outputs, in a list or tuple or alone."""
    if target not in TARGETS:
        raise UsageError(f"--target {target!r} is no NKI target; these are: {', '.join(TARGETS)}")
    generation = function.generation if isinstance(function, Kernel) else used_generation(function) or NEW
    if isinstance(function, Kernel) and generation == NEW and version not in VERSIONS:
        raise UsageError(f"the kernel imports nki, whose releases are {', '.join(VERSIONS)}, and not {version}")
    trace = NkiTrace(getattr(function, "__name__", "kernel"), generation, TARGETS[target], version)
    given = list(zip(names, [*args, *(kwargs or {}).values()], strict=True))
    tracer, result = _traced(function, Tracer(trace), given, len(args))
    if generation == BETA1:
        look_for_leaks(trace, tracer.made_in, frozenset(storage.id for storage, _ in tracer.held.values()))
        if has_turns(trace) and not tracer.held:
            _look_backwards(function, tracer, given, len(args))
    _give_back(trace, result)
    return trace, result


Given = list[tuple[str, Any]]


def _traced(function: Callable[..., Any], tracer: Tracer, given: Given, positional: int) -> tuple[Tracer, Any]:
    """Runs ``function``; the first arguments are given by their position, the others by name."""
    with tracer:
        kind = tensor_class(tracer.trace.generation)
        made = [(name, _argument(tracer, kind, name, value)) for name, value in given]
        result = run_captured(function, [value for _, value in made[:positional]], dict(made[positional:]))
    return tracer, result


def _look_backwards(function: Callable[..., Any], tracer: Tracer, given: Given, positional: int) -> None:
    """Beta-1: a second run, whose loops go backwards, has to do the same in every turn."""
    first = tracer.trace
    turned = Tracer(NkiTrace(first.kernel, first.generation, first.target, first.version))
    turned.backwards = True
    try:
        _traced(function, turned, given, positional)
    except Exception:  # the order of the turns was not expected to change: that tells nothing
        return
    same_turns(first, tracer.made_in, turned.trace, turned.made_in)


def _give_back(trace: NkiTrace, result: Any) -> None:
    """What the call returns, and arguments that it wrote, as outputs of the trace."""
    results = result if isinstance(result, list | tuple) else [] if result is None else [result]
    for number, tile in enumerate(results):
        if not isinstance(tile, Tile):
            raise UsageError(f"{trace.kernel} returns a {type(tile).__name__}; a kernel returns HBM tensors")
        if tile.on_chip:
            place = f"a tile in {tile.storage.space} (made at {tile.storage.span})"
            raise UsageError(f"{trace.kernel} returns {place}; a kernel returns HBM tensors: copy it to one")
        if isinstance(tile.view_of, Indirect):
            raise Unsupported(f"{trace.kernel} returns elements that other data choose", tile.storage.span)
        trace.outputs.append((f"out{number}", tile.ref))
    trace.outputs += _written(trace, {ref for _, ref in trace.outputs})
    if not trace.outputs:
        raise UsageError(f"{trace.kernel} returns nothing and writes none of its arguments")


def run_captured(function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    return function(*args, **kwargs)


def _argument(tracer: Tracer, kind: type[Tile], name: str, value: Any) -> Any:
    """An array as an HBM tensor, those in lists, tuples and dicts too; anything else as it is."""
    if type(value) in (list, tuple):
        return type(value)(_argument(tracer, kind, f"{name}.{i}", item) for i, item in enumerate(value))
    if type(value) is dict:
        return {key: _argument(tracer, kind, f"{name}.{key}", item) for key, item in value.items()}
    if not isinstance(value, np.ndarray):
        return value
    storage = tracer.storage(HBM, dtype_name(value.dtype), value.shape, origin="input", data=value, name=name)
    storage.span = UNKNOWN_SPAN
    tensor = kind.whole(storage)
    tracer.trace.inputs.append((name, tensor.ref))
    return tensor


def _written(trace: NkiTrace, returned: set[TensorRef]) -> list[tuple[str, TensorRef]]:
    """Arguments that were written to and are not returned whole."""
    views = (view for instr in trace.instrs for view in instr.dst)
    touched = {view.base.storage if isinstance(view, Indirect) else view.storage for view in views}
    return [(f"written:{n}", ref) for n, ref in trace.inputs if ref.storage in touched and ref not in returned]
