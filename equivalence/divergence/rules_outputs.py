"""Rules about the outputs as a whole: their dtypes and shapes, and inputs that only one side overwrites.

Takes two Traces; gives an Explanation or None.
"""

from __future__ import annotations

import numpy as np

from equivalence.divergence.buffers import alloc_span
from equivalence.divergence.finding import Explanation, place, said
from equivalence.divergence.source import argument
from equivalence.divergence.trace import BUFFER_BITS, Trace
from lowering.errors import Span
from lowering.ir.program import Op, Value


def types(a: Trace, b: Trace) -> Explanation | None:
    """An output of another dtype or shape, which no input is needed to see."""
    for (name, mine), (other, theirs) in zip(a.outputs.items(), b.outputs.items(), strict=False):
        if mine.dtype is not theirs.dtype or mine.shape != theirs.shape:
            dtype = mine.dtype is not theirs.dtype
            what = f"output {name} is {mine.dtype}{list(mine.shape)} in A and {theirs.dtype}{list(theirs.shape)} in B"
            return said("dtype" if dtype else "other", made(a, name), made(b, other), what)
    return None


def made(trace: Trace, name: str) -> Span | None:
    """Where an output's memory was made, or its value."""
    value = dict(trace.program.outputs)[name]
    op = trace.definers.get(value)
    if op is not None and op.name == "read":
        buffer = trace.definers.get(op.operands[0])
        number = next((n for n, alloc in trace.allocs.items() if alloc is buffer), None)
        return alloc_span(trace, number) if number is not None else op.span
    while op is not None and not op.span.line and op.operands:
        op = trace.definers.get(op.operands[0])
    return place(op.span if op is not None else None)


def overwritten(a: Trace, b: Trace) -> Explanation | None:
    """An input that only B overwrites."""
    mine, theirs = _overwrites(a), _overwrites(b)
    for name, span in theirs.items():
        if name not in mine:
            what = f"B writes over its input {name}, which A leaves as it was"
            return said("other", made(a, next(iter(a.outputs))), span, what)
    return None


def _overwrites(trace: Trace) -> dict[str, Span]:
    """Inputs that a kernel stores into (with the launch that does) or that come back changed."""
    inputs = dict(zip(trace.program.body.args, trace.program.input_names, strict=True))
    held = {
        o.operands[0]: inputs[o.operands[1]]
        for o in trace.program.body.ops
        if o.name == "write" and o.operands[1] in inputs
    }
    changed = [name.removeprefix("written:") for name in trace.outputs if name.startswith("written:")]
    found = {name: made(trace, f"written:{name}") or UNWRITTEN for name in changed if not _unchanged(trace, name)}
    for store in trace.stores:
        if store.inside.any() and store.choice.launch is not None:
            alloc = trace.allocs.get(int(store.address[store.inside][0]) >> BUFFER_BITS)
            if alloc is not None and alloc.result in held:
                found[held[alloc.result]] = _pointer(trace, store.choice.launch, alloc.result)
    return found


def _unchanged(trace: Trace, name: str) -> bool:
    """Whether the input that is an output too holds the elements it was given."""
    lanes = trace.outputs[f"written:{name}"]
    given = next((a for a in trace.log if a.name == "input" and a.label == name), None)
    if given is None or lanes.planes is None:
        return False
    return np.array_equal(lanes.full(lanes.planes["exact"])[0], np.broadcast_to(given.planes["exact"], given.shape)[0])


UNWRITTEN = Span()


def _pointer(trace: Trace, launch: Op, buffer: Value) -> Span:
    """The launch's own argument for a buffer."""
    for position, value in reversed(list(enumerate(launch.operands))):
        op = trace.definers.get(value)
        if op is not None and op.name == "addptr" and op.operands[0] is buffer:
            span = argument(launch.span, position, len(launch.operands))
            return span if span.line >= launch.span.line else launch.span
    return launch.span
