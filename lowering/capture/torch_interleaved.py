"""Two forward passes before a backward pass, as where a layer is used twice: the gradients must be those of their own.

Takes a recorder whose trace has a finished forward and backward pass; goes on recording in it.  Gives Interleaved.
What is kept for the backward pass elsewhere than on ctx (a global, an attribute of the class) is that of the later one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from lowering.capture.recorder import Recorder
from lowering.capture.torch_carried import needed_before
from lowering.capture.torch_inputs import InputPlacer
from lowering.capture.torch_outputs import enter_gradients, enter_outputs, written_storages
from lowering.capture.torch_refilled import alike, copies, refill
from lowering.capture.trace import HostTrace
from lowering.errors import IrverifyError

GRADIENT, COTANGENT = "grad:", "cotangent:"


@dataclass(frozen=True, slots=True)
class Interleaved:
    """``alone`` and ``between`` are one run, with the gradients of a pass alone and of one that another came between.

    None where the second backward pass rests on nothing that is new, or where ``unseen`` says why it was not made.
    """

    alone: HostTrace | None = None
    between: HostTrace | None = None
    unseen: str = ""


def look(
    recorder: Recorder,
    placer: InputPlacer,
    values: dict[str, Any],
    call: Callable[[dict[str, Any]], Any],
    run: Callable[..., Any],
    first: HostTrace,
    backward: tuple[int, int],
) -> Interleaved | None:
    """``first``: the trace as it was after one pass of each kind; ``backward``: its events of the backward pass.

    None where there is nothing to see.
    """
    trace = recorder.trace
    alone = [output for output in first.outputs if output[0].startswith(GRADIENT)]
    given = {ref.storage for name, ref in trace.inputs if name.startswith(COTANGENT)}
    if not alone:
        return None
    if any(given & {*written_storages(event)} for event in trace.events):
        return Interleaved(unseen="the backward pass writes to its incoming gradient")
    outputs, trace.outputs = trace.outputs, []
    try:
        return _look(recorder, placer, values, call, run, (backward, alone))
    except IrverifyError as error:
        return Interleaved(unseen=str(error))
    except Exception as error:  # the user's code, for such values
        return Interleaved(unseen=f"it raises {type(error).__name__}: {error}")
    finally:
        trace.outputs = outputs


def _look(
    recorder: Recorder, placer: InputPlacer, values: dict[str, Any], call: Any, run: Any, seen: tuple[Any, Any]
) -> Interleaved | None:
    (begun, ended), alone = seen
    trace, kept = recorder.trace, {name: leaf.grad for name, leaf in placer.leaves.items()}
    for leaf in placer.leaves.values():
        leaf.grad = None
    returned = enter_outputs(recorder, call(values))
    events, storages = len(trace.events), len(trace.storages)
    others = copies(values)
    refill(others)
    call(others)
    since = len(trace.events)
    later = {storage for event in trace.events[events:since] for storage in written_storages(event)}
    later |= {id for id in trace.storages if id >= storages}
    trace.outputs = []
    enter_gradients(recorder, placer, returned, run)
    between = [output for output in trace.outputs if output[0].startswith(GRADIENT)]
    for name, leaf in placer.leaves.items():
        leaf.grad = kept[name]
    needed = needed_before(trace, {ref.storage for _, ref in between}, since)
    if not needed & later and alike(trace.events[begun:ended], trace.events[since:]):
        return None
    if [(name, ref.dtype, ref.shape) for name, ref in alone] != [(n, r.dtype, r.shape) for n, r in between]:
        return Interleaved(unseen="its gradients are of another type")
    events_now = list(trace.events)
    return Interleaved(
        replace(trace, events=events_now, outputs=alone), replace(trace, events=events_now, outputs=between)
    )
