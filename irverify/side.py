"""One side's work, in the worker: import, make or await the inputs, capture at each set of shapes, hand out KIR.

Takes a Job and an Exchange; publishes '<side>.v<i>' (a variant), '<side>.l<i>' (a layout) and '<side>.done'.  The
leading side decides which shapes exist: the given one, then those it can be captured at.  The other side follows.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from functools import cached_property, partial
from math import prod
from pathlib import Path
from types import ModuleType
from typing import Any

from irverify import cotangents, layouts, leading, loading, oversize, scalars, shapes
from irverify._capture import Adapter, Captured, CaptureOptions, load_adapter
from irverify.exchange import Exchange
from irverify.failures import describe
from irverify.inputs import parse_arguments
from irverify.job import Job
from irverify.values import arrays_in
from lowering.capture.jax_trace import UNCOVERED
from lowering.errors import InternalError, UsageError

GIVEN = "given"
DRAWN = "random values are drawn"  # how a note of the capture begins
SMALL, MOST = 1 << 16, 1 << 17  # input elements: below, the given shape is the one tried as views; above, none is
NO_LAYOUTS = "no-layouts"  # published, with the reason, where views are not tried
MOST_SPLIT = 5  # sets of shapes in which equal sizes are made different
ASKS = "multiprocessors"  # published where a side's host asks how many there are
FEW_MULTIPROCESSORS = (3, 2)  # of the device at two small sets of shapes, where the host asks how many there are
MOST_SECONDS = 2.0  # of a capture that is repeated for every layout


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
                self._lead()
            else:
                self._follow()
            self._lay_out()
        self.exchange.publish(f"{self.job.side}.done", {"seconds": time.monotonic() - self.started})

    def _load(self) -> None:
        start = time.monotonic()
        loading.own_kernel_cache(Path(self.job.path))
        self.module = loading.load(Path(self.job.path))
        self.entry = loading.find(self.module, self.job.entry)
        self.exchange.publish(f"{self.job.side}.loaded", {"seconds": time.monotonic() - start})

    # -- leading -------------------------------------------------------------------------------------------------

    def _lead(self) -> None:
        recipe = self._begin()
        self.sizes[0] = recipe.plan.given
        count = 1
        most = self.job.max_shapes + (recipe.plan.extra if self.job.max_shapes > 1 else 0)
        for label, sizes in recipe.plan.tries:
            if count >= most or time.monotonic() - self.started > self.job.variant_seconds:
                break
            tried = self._try(count, label, partial(self._variant, label, recipe, sizes))
            self.sizes |= {count: sizes} if tried else {}
            count += tried
        count += self._try_starved(count, recipe)
        count += self._try_few_multiprocessors(count, recipe)
        count += self._try_split(count, recipe)
        count += self._try_numbers(count, recipe)
        self._choose_for_layouts()
        self.exchange.publish("end", {"count": count, "note": recipe.note})

    def _begin(self) -> leading.Recipe:
        """Set of shapes number 0: the given one, or where that is too large to be run a smaller one that A takes."""
        words = ""
        for recipe, words in oversize.smaller(self.job, _Source(self)):
            label = oversize.LABEL
            if self._try(0, label, partial(self._variant, label, recipe, recipe.plan.given)):
                self.exchange.publish(oversize.PUBLISHED, {"message": words})
                return recipe
        if words:
            why = self.exchange.read(f"skipped.{oversize.LABEL}")["message"]
            raise UsageError(f"{words}; but A does not run there ({why}): choose sizes with --input or --shapes")
        adapter, given = self.adapter, self._given_values()
        recipe = leading.recipe(self.job, self.module, given, adapter.call_under_seed, adapter.data_of)
        if not self.exchange.has("v0"):
            self._announce(0, GIVEN, recipe, recipe.plan.given)
        self._do(0, GIVEN, must_work=True)
        return recipe

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

    def _given_values(self) -> Any:
        """Arrays that the Python API was given; they are published by the parent before the workers start."""
        return self.exchange.read("api") if self.exchange.has("api") else None

    def _announce(self, index: int, label: str, recipe: leading.Recipe, sizes: dict[str, int]) -> None:
        self.exchange.publish(f"v{index}", self._variant(label, recipe, sizes))

    def _variant(self, label: str, recipe: leading.Recipe, sizes: dict[str, int]) -> dict[str, Any]:
        if recipe.sets_module_ints:
            leading.set_sizes(self.module, sizes)
        arguments = recipe.make(sizes)
        bindings = sizes if recipe.sets_module_ints else {}
        return {"label": label, "arguments": arguments, "sizes": bindings, "init": self._own_init()}

    def _late(self) -> bool:
        return time.monotonic() - self.started > self.job.variant_seconds

    def _followed(self, count: int) -> list[int]:
        """The sets of shapes below ``count`` that the other side takes as well; waits for what it says of them."""
        other = "b" if self.job.side == "a" else "a"
        self.exchange.wait(f"{other}.v{count - 1}", until=self._late)
        names = {index: f"{other}.v{index}" for index in range(count)}
        return [i for i, name in names.items() if self.exchange.has(name) and "failure" not in self.exchange.read(name)]

    def _try_starved(self, index: int, recipe: leading.Recipe) -> int:
        """Sizes by themselves where those that were tried together were refused (shapes.starved)."""
        if self.job.max_shapes < 2 or not recipe.plan.block or self._late():
            return 0
        taken = [self.sizes[i] for i in self._followed(index) if i and i in self.sizes]
        count = 0
        for label, sizes in shapes.starved(recipe.plan, taken):
            if not self._late():
                tried = self._try(index + count, label, partial(self._variant, label, recipe, sizes))
                self.sizes |= {index + count: sizes} if tried else {}
                count += tried
        return count

    def _try_few_multiprocessors(self, index: int, recipe: leading.Recipe) -> int:
        """Small sets of shapes on a device with so few multiprocessors that each has more than one tile to do."""
        other = "b" if self.job.side == "a" else "a"
        if self.job.max_shapes < 2 or not recipe.plan.block or self._late():
            return 0
        taken = [i for i in self._followed(index) if i and i in self.sizes and self.costs[i][0] <= MOST]
        if not any(self.exchange.has(f"{side}.{ASKS}") for side in (self.job.side, other)):
            return 0
        largest = sorted(taken, key=lambda i: (self.made[i], self.costs[i][0]), reverse=True)
        count = 0
        for number, i in zip(FEW_MULTIPROCESSORS, largest):
            label = f"{number} multiprocessors"
            variant = {**self._variant(label, recipe, self.sizes[i]), "multiprocessors": number}
            count += self._try(index + count, label, lambda: variant)  # noqa: B023 (called before the next turn)
        return count

    def _try_split(self, index: int, recipe: leading.Recipe) -> int:
        """One more shape, in which as many equal dimensions as A tolerates are different.

        Only where A refuses shapes that do not fit: a raw kernel runs at any, and what it then computes means nothing.
        """
        make = recipe.make_shaped
        if (
            make is None
            or not recipe.square
            or not self.checks_shapes
            or time.monotonic() - self.started > self.job.variant_seconds
        ):
            return 0
        last: list[tuple[dict[str, Any], Captured]] = []
        count = 0

        def works(new: Sequence[shapes.Shape], label: str = shapes.SPLIT) -> bool:
            variant = {"label": label, "arguments": make(new), "sizes": {}, "init": self._own_init()}
            try:
                captured = self._capture(variant, index + count)  # weights are left under the number that is published
            except InternalError:
                raise
            except Exception:
                return False
            last[:] = [(variant, captured)]
            return captured.checks_shapes

        for new in shapes.split(recipe.square, works):
            for label, tried in ((shapes.SPLIT, new), (shapes.EXCHANGED, shapes.exchanged(new))):
                if count < MOST_SPLIT and tried != list(recipe.square) and works(tried, label):
                    self._publish_split(index + count, label, *last[-1])
                    count += 1
        return count

    def _publish_split(self, index: int, label: str, variant: dict[str, Any], captured: Captured) -> None:
        self.exchange.publish(f"v{index}", variant)
        self._publish(f"v{index}", label, captured)

    def _try_numbers(self, index: int, recipe: leading.Recipe) -> int:
        """One more run with other floats among the arguments (scalars.py), and one with others for those that are 0."""
        late = time.monotonic() - self.started > self.job.variant_seconds
        waits = self.job.weights_from not in (None, self.job.side)  # A's weights, before A knows of the variant
        if self.job.max_shapes < 2 or late or waits:
            return 0
        given = self._variant(scalars.LABEL, recipe, self.sizes[self._cheap()])
        count, built = 0, self.job.built if given["init"] is not None or not self.job.init_from else {}
        for zeros in (False, True):
            variant = scalars.other_numbers(given, self.job.defaults, built, zeros)
            if variant is not None:
                count += self._try(index + count, variant["label"], partial(dict, variant), draws=not zeros)
        return count

    def _try(self, index: int, label: str, make: Callable[[], dict[str, Any]], draws: bool = True) -> int:
        """1 when the shape counts.  It is announced only then, so the other side never sees a shape that does not."""
        started = time.monotonic()
        try:
            variant = make()
            captured = self._capture(variant, index)
            if not draws and any(note.startswith(DRAWN) for note in captured.notes):
                return 0
        except InternalError:
            raise
        except Exception as error:  # the shape is outside what A is written for, or irverify does not model it there
            reason = describe(error, Path(self.job.path))
            lines = reason["message"].strip().splitlines() or [""]
            words = f"{type(error).__name__}: {lines[-1].strip()}"
            self.exchange.publish(f"skipped.{label}", {"label": label, "message": words})
            return 0
        self.exchange.publish(f"v{index}", variant)
        self._publish(f"v{index}", label, captured)
        self._note_cost(index, captured, started)
        return 1

    # -- following -----------------------------------------------------------------------------------------------

    def _follow(self) -> None:
        if self.job.init_from == self.job.side:
            self.exchange.publish("init", self._own_init())
        self.exchange.publish(f"{self.job.side}.waits", True)
        index = 0
        while self.exchange.wait(f"v{index}", "end") == f"v{index}":
            self._do(index, self.exchange.read(f"v{index}")["label"], must_work=index == 0)
            index += 1

    # -- both ----------------------------------------------------------------------------------------------------

    def _do(self, index: int, label: str, must_work: bool) -> None:
        try:
            started = time.monotonic()
            captured = self._capture(self.exchange.read(f"v{index}"), index)
            self._publish(f"v{index}", label, captured)
            self._note_cost(index, captured, started)
        except Exception as error:
            if must_work or isinstance(error, InternalError):
                raise
            self._publish_failure(f"v{index}", label, error)

    def _publish_failure(self, name: str, label: str, error: Exception) -> None:
        record = {"label": label, "failure": describe(error, Path(self.job.path))}
        self.exchange.publish(f"{self.job.side}.{name}", record)

    # -- the same arguments as views -----------------------------------------------------------------------------

    def _note_cost(self, index: int, captured: Captured, started: float) -> None:
        self.made[index] = sum(prod(shape) for _, _, shape in captured.outputs)
        self.checks_shapes &= captured.checks_shapes
        self.costs[index] = (sum(x.size for x in captured.inputs.values()), time.monotonic() - started)

    def _cheap(self) -> int:
        """The set of shapes at which a run more is little: the given one if small, else the smallest."""
        return 0 if self.costs[0][0] <= SMALL else min(self.sizes, key=lambda index: self.costs[index][0])

    def _choose_for_layouts(self) -> None:
        """The set of shapes whose arguments both sides also get as views."""
        chosen = self._cheap()
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
        if self.costs[base][1] > MOST_SECONDS:
            why = f"capturing {Path(self.job.path).name} takes more than {MOST_SECONDS:g} s"
            self.exchange.publish(f"{self.job.side}.{NO_LAYOUTS}", {"why": why})
            return
        variant = self.exchange.read(f"v{base}")
        for number, (label, arguments) in enumerate(layouts.derived(variant["arguments"])):
            try:
                self._publish(f"l{number}", label, self._capture({**variant, "arguments": arguments}, base))
            except InternalError:
                raise
            except Exception as error:
                self._publish_failure(f"l{number}", label, error)

    def _lay_out_gradients(self, base: int) -> None:
        """The same for the gradients that enter a backward pass, under --backward; these are two captures at most."""
        if not self.job.backward:
            return
        if self.costs[base][1] > MOST_SECONDS * 5:
            why = f"capturing {Path(self.job.path).name} takes more than {MOST_SECONDS * 5:g} s"
            self.exchange.publish(f"{self.job.side}.{cotangents.LEFT_OUT}", {"why": why})
            return
        variant = self.exchange.read(f"v{base}")
        for label in cotangents.layouts(self.exchange.read(f"{self.job.side}.v{base}")["inputs"]):
            try:
                self._publish(f"g.{label}", label, self._capture(variant, base, label))
            except InternalError:
                raise
            except Exception as error:
                self._publish_failure(f"g.{label}", label, error)

    def _own_init(self) -> Any:
        """get_init_inputs() of this file, as data, when it is the file that has it."""
        if self.job.init_from != self.job.side:
            return None
        return self.adapter.data_of(self.adapter.call_under_seed(self.module.get_init_inputs), "get_init_inputs()")

    def _capture(self, variant: dict[str, Any], index: int, gradients: str = "") -> Captured:
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
            self.module = loading.load_again(module, Path(self.job.path))
            self.entry = loading.find(self.module, self.job.entry)
            yield
        finally:
            self.module, self.entry = module, entry
            self.adapter.show_multiprocessors(None)

    def _captured(self, variant: dict[str, Any], index: int, gradients: str) -> Captured:
        leading.set_sizes(self.module, variant["sizes"])
        function, notes = self._function(variant["init"], index, variant.get("named", {}))
        bound = loading.bind(function, variant["arguments"], f"{Path(self.job.path).name}:{self.job.entry}")
        captured = (
            self.adapter.capture_gradients(function, bound, gradients)
            if gradients
            else self.adapter.capture(function, bound)
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

    def _publish(self, name: str, label: str, captured: Captured) -> None:
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


class _Source:
    """The arrays of a side's file, or those of the Python API, for oversize.

    Shapes are asked of a copy of the file: what it caches where no data exist is of no use in a call.
    """

    def __init__(self, side: SideRun) -> None:
        self.side = side

    @cached_property
    def _copy(self) -> ModuleType | None:
        """None where the file cannot be loaded twice (it registers something by name)."""
        try:
            return loading.load_again(self.side.module, Path(self.side.job.path))
        except Exception:  # the user's code; without shapes it is run for good
            return None

    def shapes(self, sizes: shapes.Sizes) -> list[shapes.Shape]:
        side = self.side
        if side.exchange.has("api"):
            return [array.data.shape for array in arrays_in([value for _, value in self.values()])]
        module = self._copy
        if module is None:
            return []
        leading.set_sizes(module, sizes)
        made = side.adapter.shapes_of(module.get_inputs)
        if side.adapter.is_model(side.entry) and side.job.init_from in (None, side.job.side):
            init, entry = getattr(module, "get_init_inputs", list), loading.find(module, side.job.entry)
            made += side.adapter.shapes_of(lambda: entry(*init()))
        return made

    def values(self) -> leading.Arguments:
        side = self.side
        if side.exchange.has("api"):
            return side.exchange.read("api")
        return leading.made(side.module, side.adapter.call_under_seed, side.adapter.data_of)

    def recipe(self, job: Job) -> leading.Recipe:
        return leading.from_module(job, self.side.module, self.side.adapter.call_under_seed, self.side.adapter.data_of)


def run_side(job: Job) -> None:
    """The whole of a worker's work."""
    options = CaptureOptions(
        target=job.target, backward=job.backward, config=job.config, seed=job.seed, formulas=job.formulas
    )
    SideRun(job, Exchange(Path(job.exchange)), load_adapter(job.adapter, options)).run()
