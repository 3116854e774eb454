"""What a capture gives back: returned tensors, gradients, and inputs that were written to.

Takes a finished run; gives the outputs of the trace.  Must not know how the function was run.
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal

import numpy as np
import torch

from lowering.capture.output_names import output_name
from lowering.capture.recorder import Recorder, references
from lowering.capture.torch_arrays import tensor_of, unobserved
from lowering.capture.torch_inputs import InputPlacer
from lowering.capture.torch_tensor import VirtualTensor
from lowering.capture.trace import AtenCall, HostFault, Launch, PointerArg
from lowering.errors import UNKNOWN_SPAN, Unsupported

#: Layouts of the gradients that enter a backward pass: sum() makes expanded ones, a matrix product transposed ones.
CotangentLayout = Literal["dense", "expanded", "transposed"]
DENSE: CotangentLayout = "dense"
EXPANDED: CotangentLayout = "expanded"
TRANSPOSED: CotangentLayout = "transposed"
_NUMBERS = (torch.Tensor, bool, int, float, complex, np.ndarray, np.generic)
#: Results that are no numbers: they are not compared, and a note says so.
_WORDS = (str, bytes, torch.dtype, torch.device, torch.memory_format, torch.layout, enum.Enum)


def flatten(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """(path, leaf) of the arrays, numbers and words inside a returned value, in order.

    None is a leaf: it keeps its place.  Raises Unsupported for an object that nothing is known of: what it holds would
    go unseen.
    """
    if value is None or isinstance(value, (*_NUMBERS, *_WORDS)):
        yield path, value
        return
    for key, item in _items(value):
        yield from flatten(item, (*path, key))


def _items(value: Any) -> Iterator[tuple[str | int, Any]]:
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        yield from zip(value._fields, value)  # pyright: ignore[reportAttributeAccessIssue]
    elif isinstance(value, tuple | list):
        yield from enumerate(value)
    elif isinstance(value, Mapping):
        yield from ((str(key), item) for key, item in value.items())
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        yield from ((field.name, getattr(value, field.name)) for field in dataclasses.fields(value))
    else:
        kind = f"{type(value).__module__}.{type(value).__qualname__}".removeprefix("builtins.")
        hint = "return tensors, numbers, or tuples, lists, dicts, named tuples or dataclasses of them"
        raise Unsupported(f"a result of type {kind}", hint=hint)


def enter_outputs(recorder: Recorder, result: Any) -> dict[str, torch.Tensor]:
    """Names the returned arrays (output_names); numbers become constants, words are noted."""
    outputs: dict[str, torch.Tensor] = {}
    leaves = list(flatten(result))
    for path, value in leaves:
        if isinstance(value, _WORDS):
            recorder.note(f"a result is not compared, being no number: {'.'.join(map(str, path))} {value!r}")
    places = [(path, value) for path, value in leaves if not isinstance(value, _WORDS)]
    for index, (path, value) in enumerate(places):
        if value is None:
            continue
        name = output_name(index, path)
        if isinstance(value, torch.Tensor):
            outputs[name] = value
            note_alias(recorder, name, _inner(value))
        else:
            recorder.note(f"{name} is a Python number: the value that the host read in this run")
            value = tensor_of(np.asarray(value))
        recorder.trace.outputs.append((name, recorder.ref(_inner(value))))
    return outputs


def on_the_host(outputs: dict[str, torch.Tensor]) -> Iterator[HostFault]:
    """Results of a call with arguments on cuda that are not there; a single number may be anywhere."""
    for name, tensor in outputs.items():
        if tensor.dim() and not tensor.is_cuda:
            yield HostFault(
                "result-device", f"the result {name} is on the CPU, the arguments are on cuda", UNKNOWN_SPAN
            )


def note_alias(recorder: Recorder, name: str, tensor: torch.Tensor) -> None:
    """Values do not tell a result from a view of an argument: who writes to one of them later changes the other."""
    if recorder.knows(tensor):
        storage = recorder.ref(tensor).storage
        owner = next((argument for argument, ref in recorder.trace.inputs if ref.storage == storage), None)
        if owner is not None:
            recorder.note(f"{name} shares the memory of the argument {owner}")


def enter_gradients(
    recorder: Recorder,
    placer: InputPlacer,
    outputs: dict[str, torch.Tensor],
    run: Callable[..., Any],
    layout: CotangentLayout = DENSE,
) -> None:
    """Runs the backward pass with a random cotangent per differentiable output, and enters 'grad:NAME' outputs."""
    chosen = {name: tensor for name, tensor in outputs.items() if tensor.requires_grad}
    if not chosen:
        recorder.note("no output is differentiable: there is no backward pass")
        return
    cotangents = [_cotangent(placer, name, tensor, layout) for name, tensor in chosen.items()]
    run(torch.autograd.backward, list(chosen.values()), cotangents)
    for name, leaf in placer.leaves.items():
        if leaf.grad is None:
            recorder.note(f"no gradient reaches {name}")
        else:
            recorder.trace.outputs.append((f"grad:{name}", recorder.ref(_inner(leaf.grad))))


def _cotangent(placer: InputPlacer, name: str, output: torch.Tensor, layout: CotangentLayout) -> VirtualTensor:
    """What enters the backward pass: dense, one number for all elements, or with the last two axes swapped."""
    if name in placer.cotangents:
        return placer.cotangents[name]
    shape = output.shape if layout != EXPANDED else ()
    with unobserved():
        generator = torch.Generator().manual_seed(len(placer.recorder.trace.inputs))
        values = torch.randn(shape, generator=generator).to(output.dtype)
        if layout == TRANSPOSED and values.dim() > 1:
            values = values.mT.contiguous().mT
    cotangent = placer.tensor(f"cotangent:{name}", values, requires_grad=False)
    if layout == EXPANDED:
        with unobserved():
            cotangent = VirtualTensor(cotangent.inner.expand(output.shape))
    cotangent.claim = output.device
    placer.cotangents[name] = cotangent
    return cotangent


def enter_written_inputs(recorder: Recorder, placer: InputPlacer) -> None:
    """Inputs that an op or a launch may have written become outputs 'written:NAME', unless they are returned anyway.

    So do the tensors that have taken the place of a module's parameters and buffers.
    """
    trace = recorder.trace
    rebound = {slot.name: slot.rebound for slot in placer.slots if slot.rebound is not None}
    trace.outputs += [(f"written:{name}", recorder.ref(_inner(new))) for name, new in rebound.items()]
    written = {storage for event in trace.events for storage in written_storages(event)}
    returned = {ref for _, ref in trace.outputs}
    for name, ref in list(trace.inputs):
        if ref.storage in written and name.startswith("cotangent:"):
            recorder.note(f"the backward pass writes into its incoming gradient ({name})")
        elif ref.storage in written and ref not in returned and name not in rebound:
            trace.outputs.append((f"written:{name}", ref))


def written_storages(event: Any) -> Iterator[int]:
    """The storages that an event may write to."""
    if isinstance(event, AtenCall):
        yield from (ref.storage for ref in references(event.outputs))
    elif isinstance(event, Launch):
        pointers = (event.args[index].value for index in event.written)
        yield from (pointer.storage for pointer in pointers if isinstance(pointer, PointerArg))
        yield from event.reached


def read_storages(event: Any) -> set[int]:
    """The storages that an event may read from."""
    if isinstance(event, AtenCall):
        return {ref.storage for ref in references((event.args, event.kwargs))}
    if isinstance(event, Launch):
        return {arg.value.storage for arg in event.args if isinstance(arg.value, PointerArg)} | set(event.reached)
    return set()


def _inner(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.inner if isinstance(tensor, VirtualTensor) else tensor.detach()
