"""A second call, where the first has left something changed: what it gives for the same arguments says what that means.

Takes a recorder whose trace has one finished call; goes on recording in it.  Gives a SecondCall.  A cache that is
filled once, or filled anew, gives the same results and is the same afterwards; a running average is not.  Where calls
are counted, a few more follow, and the first that does other work stands for the second.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from lowering.capture.recorder import Recorder
from lowering.capture.torch_attributes import PREFIX
from lowering.capture.torch_carried import overwritten_results, rests_on_earlier
from lowering.capture.torch_containers import Contents
from lowering.capture.torch_inputs import InputPlacer
from lowering.capture.torch_outputs import enter_outputs, written_storages
from lowering.capture.torch_refilled import alike
from lowering.capture.torch_state import Slots, State, inner_of, state_of
from lowering.capture.trace import AtenCall, HostTrace
from lowering.errors import IrverifyError

STATE = "state:"  # how the outputs that are state are called
#: Where plain values go on changing, so many calls more; of functions that do no more than that in one.
MORE_CALLS, MORE_SECONDS, FEW_EVENTS = 14, 0.5, 200


@dataclass(frozen=True, slots=True)
class SecondCall:
    """What was seen after a call that left ``names`` changed.

    ``first`` and ``again`` are one run of both calls, with the results and the state after either as its outputs.
    ``counted``: plain values that went on changing; ``differs``: what shows without a comparison that the two calls
    differ; ``unseen``: why there was no second call, then without traces.  ``overwritten``: results of the first call
    in memory that the second one has written to and returned as well; ``reused``: that it has only written to.
    ``carried``: results of the second call that hold what the first one has computed from its arguments.
    """

    names: tuple[str, ...]
    first: HostTrace | None = None
    again: HostTrace | None = None
    counted: tuple[str, ...] = ()
    differs: str = ""
    unseen: str = ""
    overwritten: tuple[str, ...] = ()
    reused: tuple[str, ...] = ()
    carried: tuple[str, ...] = ()

    @property
    def shows_nothing(self) -> bool:
        """Of what is told without a comparison."""
        return not (self.differs or self.unseen or self.carried or self.overwritten)


class Watch:
    """The state before the first call; ``after`` asks what has become of it."""

    def __init__(
        self,
        fn: Any,
        modules: Sequence[torch.nn.Module],
        recorder: Recorder,
        placer: InputPlacer,
        contents: Contents,
    ) -> None:
        self.fn, self.modules, self.recorder, self.placer, self.contents = fn, modules, recorder, placer, contents
        self.before = self._state()

    def _state(self) -> State:
        inputs: Slots = frozenset((id(slot.table), slot.key) for slot in self.placer.slots if slot.keeps_type)
        return state_of(self.fn, self.modules, inputs)

    def _changes(self, old: State, new: State, since: int) -> list[str]:
        events = self.recorder.trace.events[since:]
        written = {self.recorder.key_of(storage) for event in events for storage in written_storages(event)}
        return old.changed(new, written)

    def after(self, results: dict[str, torch.Tensor], call: Callable[[], Any]) -> SecondCall | None:
        """None where nothing has changed.  Otherwise calls again, which goes into the recorder's trace."""
        state = self._state()
        names = tuple(self._changes(self.before, state, 0))
        if not names:
            return None
        why = self.why_not()
        if why:
            return SecondCall(names, unseen=why)
        try:
            return self._again(names, results, state, call)
        except IrverifyError as error:
            return SecondCall(names, unseen=str(error))
        except Exception as error:
            return SecondCall(names, differs=f"it raises {type(error).__name__}: {error}")

    def why_not(self, writes: bool = False) -> str:
        """Why a second call would not be one with the same arguments; ``writes``: their tensors may be written to."""
        trace = self.recorder.trace
        written = {storage for event in trace.events for storage in written_storages(event)}
        rebound = any(slot.rebound is not None for slot in self.placer.slots)
        inputs = [ref for name, ref in trace.inputs if not writes or name.startswith("weight:")]
        if rebound or self.contents.changed() or any(ref.storage in written for ref in inputs):
            return "the first call changes its arguments or weights"
        drawn = trace.host_draws or any(isinstance(event, AtenCall) and event.draw for event in trace.events)
        return "the first call draws random numbers" if drawn else ""

    def _again(
        self, names: tuple[str, ...], results: dict[str, torch.Tensor], state: State, call: Callable[[], Any]
    ) -> SecondCall:
        trace = self.recorder.trace
        since = len(trace.events)
        aside = ("grad:", f"written:{PREFIX}")  # attributes are among what is left
        plain = [output for output in trace.outputs if output[0] not in results and not output[0].startswith(aside)]
        kept = {name: tensor.detach().clone() for name, tensor in {**results, **_chosen(state, names)}.items()}
        first = [*plain, *((name, self.recorder.ref(inner_of(tensor))) for name, tensor in kept.items())]
        trace.outputs, begun = [], len(trace.events)
        returned = enter_outputs(self.recorder, call())
        shared = overwritten_results(self.recorder, results, returned, since)
        later = self._state()
        going_on = self._changes(state, later, since)
        both = copied(trace)
        if any(name in state.plain or name in later.plain for name in going_on):
            other = self._of_other_work(call, begun)
            if other is not None:
                returned, later, both = other, self._state(), copied(trace)
                going_on = self._changes(state, later, since)
        names = tuple(dict.fromkeys([*names, *going_on]))
        again = [*both.outputs, *((n, self.recorder.ref(inner_of(t))) for n, t in _chosen(later, names).items())]
        counted = tuple(name for name in going_on if name in state.plain or name in later.plain)
        by_name = dict(again)
        if {(name, ref.dtype, ref.shape) for name, ref in first} != {(n, r.dtype, r.shape) for n, r in again}:
            return SecondCall(names, counted=counted, differs="its results or what it leaves are of another type")
        second = [(name, by_name[name]) for name, _ in first]
        found = SecondCall(names, replace(both, outputs=first), replace(both, outputs=second), counted)
        carried = tuple(name for name, ref in again if name in returned and rests_on_earlier(trace, ref.storage, since))
        return replace(found, overwritten=shared[0], reused=shared[1], carried=carried)

    def _of_other_work(self, call: Callable[[], Any], begun: int) -> dict[str, torch.Tensor] | None:
        """Results of the first of a few more calls that does not do what the second did: something counts calls.

        The trace's outputs are that call's then.
        """
        trace, until = self.recorder.trace, time.monotonic() + MORE_SECONDS
        second, outputs = trace.events[begun:], trace.outputs
        for _ in range(MORE_CALLS if len(second) <= FEW_EVENTS else 0):
            trace.outputs, later = [], len(trace.events)
            returned = enter_outputs(self.recorder, call())
            if not alike(second, trace.events[later:]):
                return returned
            if time.monotonic() > until:
                break
        trace.outputs = outputs
        return None


def _chosen(state: State, names: Sequence[str]) -> dict[str, torch.Tensor]:
    return {f"{STATE}{name}": state.tensors[name] for name in names if name in state.tensors}


def copied(trace: HostTrace) -> HostTrace:
    """The trace as it is now, while its recorder goes on."""
    names = ("inputs", "outputs", "events", "notes", "host_draws", "tuned", "unsynchronised", "faults")
    lists = {name: list(getattr(trace, name)) for name in names}
    storages = {id: replace(storage) for id, storage in trace.storages.items()}
    return replace(trace, **lists, storages=storages, addresses=dict(trace.addresses))
