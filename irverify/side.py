"""One side's work, in the worker: import, make or await the inputs, capture at each set of shapes, hand out KIR.

Takes a Job and an Exchange; publishes '<side>.v<i>' (a variant), '<side>.l<i>' (a layout) and '<side>.done'.  The
leading side decides which sets of shapes exist (variants.py).  The other side follows.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import asdict, dataclass, field
from functools import partial
from math import prod
from pathlib import Path
from types import ModuleType
from typing import Any

from irverify import cotangents, inference, layouts, leading, loading, oversize, shapes
from irverify._capture import Adapter, Captured, CaptureOptions, load_adapter
from irverify.exchange import Exchange
from irverify.failures import describe
from irverify.inputs import parse_arguments
from irverify.job import Job
from irverify.variants import ASKS, GIVEN, Leading
from lowering.capture.jax_trace import UNCOVERED
from lowering.errors import InternalError, UsageError

SMALL, MOST = 1 << 16, 1 << 17  # input elements: below, the given shape is the one tried as views; above, none is
NO_LAYOUTS = "no-layouts"  # published, with the reason, where views are not tried
LAYOUT_SHARE = 1 / 8  # of the time for sets of shapes that a capture may take which is repeated for every layout


@dataclass(slots=True)
class SideRun:
    """The state of one worker."""

    job: Job
    exchange: Exchange
    adapter: Adapter
    started: float = field(default_factory=time.monotonic)
    module: ModuleType = field(init=False)
    entry: Any = field(init=False)
    short: set[str] = field(default_factory=set)  # grids that stop short of an operand at the given shape
    checks_shapes: bool = True  # whether the frameworks refuse shapes that do not fit, in what was captured so far
    costs: dict[int, tuple[int, float]] = field(default_factory=dict)  # by variant: input elements, seconds of capture

    made: dict[int, int] = field(default_factory=dict)  # by variant: output elements
    sizes: dict[int, shapes.Sizes] = field(default_factory=dict)  # by variant of the leading side

    def run(self) -> None:
        begun = threading.Thread(target=self._announce_early, daemon=True)
        begun.start()
        with self.adapter.session():
            self._load()
            begun.join()
            if self.job.is_leader:
                Leading(self).run()
            else:
                self._follow()
            self._lay_out()
            self._infer()
        self.exchange.publish(f"{self.job.side}.done", {"seconds": time.monotonic() - self.started})

    def _load(self) -> None:
        start = time.monotonic()
        loading.own_kernel_cache(Path(self.job.path))
        self.module = loading.load(Path(self.job.path))
        self.entry = loading.find(self.module, self.job.entry)
        self.exchange.publish(f"{self.job.side}.loaded", {"seconds": time.monotonic() - start})

    def _announce_early(self) -> None:
        """Inputs that follow from specs alone are drawn while the file is still being imported."""
        if not self.job.is_leader or self.job.specs is None or self.job.init_from:
            return
        with suppress(UsageError):  # a wrong spec: leading runs into it again, where it is shown
            if oversize.too_large(self.job):
                return
            recipe = leading.from_specs(self.job, parse_arguments(self.job.specs))
            variant = {"label": GIVEN, "arguments": recipe.make(recipe.plan.given), "sizes": {}, "init": None}
            self.exchange.publish("v0", variant)

    # -- following -----------------------------------------------------------------------------------------------

    def _follow(self) -> None:
        if self.job.init_from == self.job.side:
            self.exchange.publish("init", self.own_init())
        self.exchange.publish(f"{self.job.side}.waits", True)
        index = 0
        while self.exchange.wait(f"v{index}", "end") == f"v{index}":
            self.do(index, self.exchange.read(f"v{index}")["label"], must_work=index == 0)
            index += 1

    # -- both ----------------------------------------------------------------------------------------------------

    def do(self, index: int, label: str, must_work: bool) -> None:
        try:
            started = time.monotonic()
            captured = self.capture(self.exchange.read(f"v{index}"), index)
            self.publish(f"v{index}", label, captured)
            self.note_cost(index, captured, started)
        except Exception as error:
            if must_work or isinstance(error, InternalError):
                raise
            self._publish_failure(f"v{index}", label, error)

    def _publish_failure(self, name: str, label: str, error: Exception) -> None:
        record = {"label": label, "failure": describe(error, Path(self.job.path))}
        self.exchange.publish(f"{self.job.side}.{name}", record)

    # -- the same arguments as views -----------------------------------------------------------------------------

    def note_cost(self, index: int, captured: Captured, started: float) -> None:
        self.made[index] = sum(prod(shape) for _, _, shape in captured.outputs)
        self.checks_shapes &= captured.checks_shapes
        self.costs[index] = (sum(x.size for x in captured.inputs.values()), time.monotonic() - started)

    def cheap(self) -> int:
        """The set of shapes at which a run more is little: the given one if small, else the smallest."""
        return 0 if self.costs[0][0] <= SMALL else min(self.sizes, key=lambda index: self.costs[index][0])

    def choose_for_layouts(self) -> None:
        """The set of shapes whose arguments both sides also get as views."""
        chosen = self.cheap()
        if self.job.layouts and self.costs[chosen][0] > MOST:
            self.exchange.publish(NO_LAYOUTS, {"why": "the inputs are too large"})
        elif self.job.layouts:
            self.exchange.publish("layouts", {"base": chosen})

    def _lay_out(self) -> None:
        """Captures again for every layout: strides are arguments of a kernel.  What fails is outside its scope."""
        base = self.exchange.read("layouts")["base"] if self.exchange.has("layouts") else None
        if base not in self.costs or not self.adapter.has_strides:
            return
        self._lay_out_gradients(base)
        most = LAYOUT_SHARE * self.job.variant_seconds
        if self.costs[base][1] > most:
            why = f"capturing {Path(self.job.path).name} takes more than {most:g} s"
            self.exchange.publish(f"{self.job.side}.{NO_LAYOUTS}", {"why": why})
            return
        variant = self.exchange.read(f"v{base}")
        for number, (label, arguments) in enumerate(layouts.derived(variant["arguments"])):
            try:
                self.publish(f"l{number}", label, self.capture({**variant, "arguments": arguments}, base))
            except InternalError:
                raise
            except Exception as error:
                self._publish_failure(f"l{number}", label, error)

    def _lay_out_gradients(self, base: int) -> None:
        """The same for the gradients that enter a backward pass, under --backward; these are two captures at most."""
        if not self.job.backward:
            return
        most = LAYOUT_SHARE * self.job.variant_seconds
        if self.costs[base][1] > most * 2:
            why = f"capturing {Path(self.job.path).name} takes more than {most * 2:g} s"
            self.exchange.publish(f"{self.job.side}.{cotangents.LEFT_OUT}", {"why": why})
            return
        variant = self.exchange.read(f"v{base}")
        for label in cotangents.layouts(self.exchange.read(f"{self.job.side}.v{base}")["inputs"]):
            try:
                self.publish(f"g.{label}", label, self.capture(variant, base, label))
            except InternalError:
                raise
            except Exception as error:
                self._publish_failure(f"g.{label}", label, error)

    def _infer(self) -> None:
        """Once more in evaluation mode and without gradients, where a file asks for modes; the label says where."""
        base = self.exchange.read("layouts")["base"] if self.exchange.has("layouts") else 0
        if not self.job.inference or base not in self.costs or not self.adapter.has_strides:
            return
        variant = {**self.exchange.read(f"v{base}"), "inference": True}
        try:
            self.publish(inference.NAME, f"v{base}", self.capture(variant, base))
        except InternalError:
            raise
        except Exception as error:
            self._publish_failure(inference.NAME, f"v{base}", error)

    def own_init(self) -> Any:
        """get_init_inputs() of this file, as data, when it is the file that has it."""
        if self.job.init_from != self.job.side:
            return None
        return self.adapter.data_of(self.adapter.call_under_seed(self.module.get_init_inputs), "get_init_inputs()")

    def capture(self, variant: dict[str, Any], index: int, gradients: str = "") -> Captured:
        with self._device(variant.get("multiprocessors")):
            return self._captured(variant, index, gradients)

    @contextmanager
    def _device(self, multiprocessors: int | None) -> Iterator[None]:
        """The device, or one with so few multiprocessors; a file may ask at its import, so it is loaded again."""
        if multiprocessors is None:
            yield
            return
        module, entry = self.module, self.entry
        self.adapter.show_multiprocessors(multiprocessors)
        try:
            self.module = self._loaded_again()
            self.entry = loading.find(self.module, self.job.entry)
            yield
        finally:
            self.module, self.entry = module, entry
            self.adapter.show_multiprocessors(None)

    def _loaded_again(self) -> ModuleType:
        try:
            return loading.load_again(self.module, Path(self.job.path))
        except Exception as error:  # the user's code: it registers something by name, for instance
            said = f"the file cannot be loaded twice ({type(error).__name__}), as other devices would need"
            raise UsageError(said) from error

    def _captured(self, variant: dict[str, Any], index: int, gradients: str) -> Captured:
        leading.set_sizes(self.module, variant["sizes"])
        function, notes = self._function(variant["init"], index, variant.get("named", {}))
        bound = loading.bind(function, variant["arguments"], f"{Path(self.job.path).name}:{self.job.entry}")
        with inference.inference(function) if variant.get("inference") else nullcontext(function) as called:
            captured = (
                self.adapter.capture_gradients(called, bound, gradients)
                if gradients
                else self.adapter.capture(called, bound)
            )
        self._check_coverage(captured.notes, index)
        said = [note for note in bound.notes if not (variant.get("numbers") and note.startswith(loading.AS_GIVEN))]
        captured.notes = [*said, *notes, *captured.notes]
        return captured

    def _check_coverage(self, notes: list[str], index: int) -> None:
        """A grid that stops short of an array only at other shapes than the given one is not written for those."""
        short = {note for note in notes if note.startswith(UNCOVERED)}
        if index == 0:
            self.short = short
        elif short - self.short:
            raise UsageError(f"{min(short - self.short)}: the shape is no multiple of the block")

    def _function(self, init: Any, index: int, named: dict[str, float]) -> tuple[Any, list[str]]:
        """The entry itself, or the model built from it with the weights that both sides share."""
        if not self.adapter.is_model(self.entry):
            return self.adapter.callable_of(self.entry), []
        values = self._init_values(init)
        entry = partial(self.entry, **named)
        model = self.adapter.call_under_seed(entry, *values)
        if self.job.weights_from == self.job.side:
            again = partial(self.adapter.call_under_seed, entry, *values, seed=self.job.seed + 1)
            self.exchange.publish(f"weights.v{index}", self.adapter.weights_of(model, again))
        elif self.job.weights_from:
            self.exchange.wait(f"weights.v{index}")
            return model, self.adapter.set_weights(model, self.exchange.read(f"weights.v{index}"))
        return model, []

    def _init_values(self, init: Any) -> list[Any]:
        if init is None and self.job.init_from:
            self.exchange.wait("init")
            init = self.exchange.read("init")
        return list(init or [])

    def publish(self, name: str, label: str, captured: Captured) -> None:
        if self.adapter.asks_for_multiprocessors:
            self.exchange.publish(f"{self.job.side}.{ASKS}", True)
        name = f"{self.job.side}.{name}"
        self.exchange.publish_text(f"{name}.kir", captured.kir)
        for kind, text in captured.sources.items():
            self.exchange.publish_text(f"{name}.{kind}", text)
        for number, kir in captured.configurations.items():
            self.exchange.publish_text(f"{name}.c{number}.kir", kir)
        if captured.second is not None:
            self.exchange.publish(f"{name}.second", asdict(captured.second))
        if captured.refilled is not None:
            self.exchange.publish(f"{self.job.side}.refilled", {"at": name, **asdict(captured.refilled)})
        if captured.interleaved is not None:
            self.exchange.publish(f"{self.job.side}.interleaved", {"at": name, **asdict(captured.interleaved)})
        if captured.tuned is not None:
            self.exchange.publish(f"{self.job.side}.tuned", {"at": name, **asdict(captured.tuned)})
        outputs = [[output, dtype, list(shape)] for output, dtype, shape in captured.outputs]
        self.exchange.publish(
            name,
            {
                "label": label,
                "inputs": captured.inputs,
                "outputs": outputs,
                "views": {view: [list(strides), offset] for view, (strides, offset) in captured.views.items()},
                "others": captured.others,
                "derived": captured.derived,
                "kernels": captured.kernels,
                "notes": captured.notes,
                "sources": sorted(captured.sources),
                "configurations": sorted(captured.configurations),
                "broken_configurations": [[n, why] for n, why in captured.broken_configurations.items()],
            },
        )


def run_side(job: Job) -> None:
    """The whole of a worker's work."""
    options = CaptureOptions(
        target=job.target,
        backward=job.backward,
        config=job.config,
        seed=job.seed,
        formulas=job.formulas,
        nki_target=job.nki_target,
        nki_version=job.nki_version,
        form=job.form,
    )
    SideRun(job, Exchange(Path(job.exchange)), load_adapter(job.adapter, options)).run()
