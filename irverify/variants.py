"""The leading side's part: which sets of shapes there are, each captured before the other side hears of it.

Takes a SideRun; publishes 'v<i>' (arguments, sizes) and 'end'.  The given set first, or a smaller one where that is too
large; then those that shapes.py proposes and the side can be captured at, and some that follow from what was seen.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from irverify import leading, loading, oversize, scalars, shapes
from irverify._capture import Captured
from irverify.failures import describe
from irverify.job import Job
from irverify.values import arrays_in
from lowering.errors import InternalError, UsageError

if TYPE_CHECKING:
    from irverify.side import SideRun

GIVEN = "given"
ASKS = "multiprocessors"  # published where a side's host asks how many there are
SMALL = 1 << 16  # input elements up to which every derived input is run
MOST = 1 << 17  # input elements of a set that is tried on other devices too
DRAWN = "random values are drawn"  # how a note of the capture begins
MOST_SPLIT = 5  # sets of shapes in which equal sizes are made different
#: Multiprocessors of the device, where the host asks how many there are, at the largest set of shapes or the next one.
FEW_MULTIPROCESSORS = (3, 0), (2, 1), (1, 0)


class Leading:
    """Makes the sets of shapes, one after the other, as long as there is time."""

    def __init__(self, side: SideRun) -> None:
        self.side = side

    def run(self) -> None:
        recipe = self._begin()
        self.side.sizes[0] = recipe.plan.given
        count = 1
        most = self.side.job.max_shapes + (recipe.plan.extra if self.side.job.max_shapes > 1 else 0)
        for label, sizes in recipe.plan.tries:
            if count >= most or self._late():
                break
            tried = self._try(count, label, partial(self._variant, label, recipe, sizes))
            self.side.sizes |= {count: sizes} if tried else {}
            count += tried
        count += self._try_reduced(count, recipe)
        count += self._try_starved(count, recipe)
        count += self._try_few_multiprocessors(count, recipe)
        count += self._try_split(count, recipe)
        count += self._try_numbers(count, recipe)
        self.side.choose_for_layouts()
        self.side.exchange.publish("end", {"count": count, "note": recipe.note})

    def _begin(self) -> leading.Recipe:
        """Set of shapes number 0: the given one, or where that is too large to be run a smaller one that A takes."""
        words = ""
        for recipe, words in oversize.smaller(self.side.job, Source(self.side)):
            label = oversize.LABEL
            if self._try(0, label, partial(self._variant, label, recipe, recipe.plan.given)):
                self.side.exchange.publish(oversize.PUBLISHED, {"message": words})
                return recipe
        if words:
            why = self.side.exchange.read(f"skipped.{oversize.LABEL}")["message"]
            raise UsageError(f"{words}; but A does not run there ({why}): choose sizes with --input or --shapes")
        adapter, given = self.side.adapter, self._given_values()
        recipe = leading.recipe(self.side.job, self.side.module, given, adapter.call_under_seed, adapter.data_of)
        if not self.side.exchange.has("v0"):
            self._announce(0, GIVEN, recipe, recipe.plan.given)
        self.side.do(0, GIVEN, must_work=True)
        return recipe

    def _given_values(self) -> Any:
        """Arrays that the Python API was given; they are published by the parent before the workers start."""
        return self.side.exchange.read("api") if self.side.exchange.has("api") else None

    def _announce(self, index: int, label: str, recipe: leading.Recipe, sizes: dict[str, int]) -> None:
        self.side.exchange.publish(f"v{index}", self._variant(label, recipe, sizes))

    def _variant(self, label: str, recipe: leading.Recipe, sizes: dict[str, int]) -> dict[str, Any]:
        if recipe.sets_module_ints:
            leading.set_sizes(self.side.module, sizes)
        arguments = recipe.make(sizes)
        bindings = sizes if recipe.sets_module_ints else {}
        return {"label": label, "arguments": arguments, "sizes": bindings, "init": self.side.own_init()}

    def _late(self) -> bool:
        return time.monotonic() - self.side.started > self.side.job.variant_seconds

    def _followed(self, count: int) -> list[int]:
        """The sets of shapes below ``count`` that the other side takes as well; waits for what it says of them."""
        other = "b" if self.side.job.side == "a" else "a"
        self.side.exchange.wait(f"{other}.v{count - 1}", until=self._late)
        there = [index for index in range(count) if self.side.exchange.has(f"{other}.v{index}")]
        return [index for index in there if "failure" not in self.side.exchange.read(f"{other}.v{index}")]

    def _try_reduced(self, index: int, recipe: leading.Recipe) -> int:
        """One set of few elements where all that both sides take are large: those are not run on all derived inputs."""
        if self.side.job.max_shapes < 2 or not recipe.plan.block or self._late():
            return 0
        if min((self.side.costs[i][0] for i in self._followed(index)), default=0) <= SMALL:
            return 0
        for label, sizes in shapes.reduced(recipe.plan):
            if self._late():
                break
            if self._try(index, label, partial(self._variant, label, recipe, sizes)):
                self.side.sizes[index] = sizes
                return 1
        return 0

    def _try_starved(self, index: int, recipe: leading.Recipe) -> int:
        """Sizes by themselves where those that were tried together were refused (shapes.starved)."""
        if self.side.job.max_shapes < 2 or not recipe.plan.block or self._late():
            return 0
        taken = [self.side.sizes[i] for i in self._followed(index) if i and i in self.side.sizes]
        count = 0
        for label, sizes in shapes.starved(recipe.plan, taken):
            if not self._late():
                tried = self._try(index + count, label, partial(self._variant, label, recipe, sizes))
                self.side.sizes |= {index + count: sizes} if tried else {}
                count += tried
        return count

    def _try_few_multiprocessors(self, index: int, recipe: leading.Recipe) -> int:
        """The largest sets of shapes of at most MOST elements, where so few multiprocessors have several tiles each."""
        other = "b" if self.side.job.side == "a" else "a"
        if self.side.job.max_shapes < 2 or not recipe.plan.block or self._late():
            return 0
        taken = [i for i in self._followed(index) if i in self.side.sizes and self.side.costs[i][0] <= MOST]
        if not any(self.side.exchange.has(f"{side}.{ASKS}") for side in (self.side.job.side, other)):
            return 0
        largest = sorted(taken, key=lambda i: (self.side.made[i], self.side.costs[i][0]), reverse=True)
        count = 0
        for number, place in FEW_MULTIPROCESSORS:
            if place >= len(largest):
                continue
            label, sizes = f"{number} multiprocessor{'s' * (number > 1)}", self.side.sizes[largest[place]]
            variant = {**self._variant(label, recipe, sizes), "multiprocessors": number}
            count += self._try(index + count, label, lambda: variant)  # noqa: B023 (called before the next turn)
        return count

    def _try_split(self, index: int, recipe: leading.Recipe) -> int:
        """One more shape, in which as many equal dimensions as A tolerates are different.

        Only where A refuses shapes that do not fit: a raw kernel runs at any, and what it then computes means nothing.
        """
        make = recipe.make_shaped
        if make is None or not recipe.square or not self.side.checks_shapes or self._late():
            return 0
        last: list[tuple[dict[str, Any], Captured]] = []
        count = 0

        def works(new: Sequence[shapes.Shape], label: str = shapes.SPLIT) -> bool:
            variant = {"label": label, "arguments": make(new), "sizes": {}, "init": self.side.own_init()}
            try:
                captured = self.side.capture(variant, index + count)  # weights are left under the number published
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
        self.side.exchange.publish(f"v{index}", variant)
        self.side.publish(f"v{index}", label, captured)

    def _try_numbers(self, index: int, recipe: leading.Recipe) -> int:
        """One more run with other floats among the arguments (scalars.py), and one with others for those that are 0.

        The same of whole numbers.
        """
        late = time.monotonic() - self.side.started > self.side.job.variant_seconds
        waits = self.side.job.weights_from not in (
            None,
            self.side.job.side,
        )  # A's weights, before A knows of the variant
        if self.side.job.max_shapes < 2 or late or waits:
            return 0
        given = self._variant(scalars.LABEL, recipe, self.side.sizes[self.side.cheap()])
        count, built = 0, self.side.job.built if given["init"] is not None or not self.side.job.init_from else {}
        for zeros in (False, True):
            variant = scalars.other_numbers(given, self.side.job.defaults, built, zeros)
            whole = scalars.other_whole_numbers(given, zeros)
            for other in (variant, whole):
                if other is not None:
                    count += self._try(index + count, other["label"], partial(dict, other), draws=not zeros)
        return count

    def _try(self, index: int, label: str, make: Callable[[], dict[str, Any]], draws: bool = True) -> int:
        """1 when the shape counts.  It is announced only then, so the other side never sees a shape that does not."""
        started = time.monotonic()
        try:
            variant = make()
            captured = self.side.capture(variant, index)
            if not draws and any(note.startswith(DRAWN) for note in captured.notes):
                return 0
        except InternalError:
            raise
        except Exception as error:  # the shape is outside what A is written for, or irverify does not model it there
            reason = describe(error, Path(self.side.job.path))
            lines = reason["message"].strip().splitlines() or [""]
            words = f"{type(error).__name__}: {lines[-1].strip()}"
            self.side.exchange.publish(f"skipped.{label}", {"label": label, "message": words})
            return 0
        self.side.exchange.publish(f"v{index}", variant)
        self.side.publish(f"v{index}", label, captured)
        self.side.note_cost(index, captured, started)
        return 1


class Source:
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
