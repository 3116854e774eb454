"""Sizes too large to be run, made smaller before any data exists: what is compared instead of the given set.

Takes a Job and a way to learn the shapes that a call asks for; gives the recipes of smaller arguments.
A benchmark's inputs often have a billion elements; a verdict at smaller ones is worth more than none, where it says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from math import prod
from typing import Protocol

from irverify import leading, shapes
from irverify.inputs import ArraySpec, dimension_names, parse_arguments
from irverify.job import Job
from irverify.shapes import Shape, Sizes
from irverify.values import arrays_in
from lowering.errors import UsageError

MOST_ELEMENTS = 1 << 24  # of all inputs and weights together: a matrix of 4096 x 4096
INSTEAD = 1 << 22  # of what is run in place of more
MOST_MADE = 1 << 28  # of arrays that are made as given before smaller ones can be drawn like them
SMALLEST = 8  # sizes stay at or above
NOT_RUN = "given: not run"  # how the note of that set of shapes begins
LABEL = "in place of the given"
PUBLISHED = "oversize"  # where the leading side says so

Elements = Callable[[Sizes], int]
Smaller = tuple[leading.Recipe, str]


class Source(Protocol):
    """Where the arrays of a call come from, where no spec says it."""

    def shapes(self, sizes: Sizes) -> Sequence[Shape]:
        """Of all arrays that the file makes at these sizes, weights too; they are not made for it."""
        ...

    def values(self) -> leading.Arguments:
        """The arguments themselves."""
        ...

    def recipe(self, job: Job) -> leading.Recipe:
        """Arguments made by the file at the job's sizes."""
        ...


def smaller(job: Job, source: Source) -> Iterator[Smaller]:
    """Recipes at smaller sizes and what to say of the given ones; nothing where these can be run.

    Lists of the user's own and arrays beside integers stay what they are.  Raises UsageError where arrays without names
    for their sizes are too large to be made at all.
    """
    if job.specs is not None:
        yield from _of_specs(job)
    elif job.sizes and job.shapes == ["auto"]:
        for fit, words in _instead(job.sizes, lambda sizes: sum(map(prod, source.shapes(sizes)))):
            yield source.recipe(replace(job, sizes=fit)), words
    elif job.shapes == ["auto"]:
        yield from _of_values(job, source)


def _of_values(job: Job, source: Source) -> Iterator[Smaller]:
    asked = sum(map(prod, source.shapes({})))
    if asked > MOST_MADE:
        raise UsageError(
            f"the file makes {asked:,} elements (inputs and weights), which is too many to run; give their sizes names "
            "at module level (rows = 4096), so that smaller ones can be chosen, describe smaller inputs with --input, "
            "or have them run whatever it takes with --shapes given"
        )
    if asked <= MOST_ELEMENTS:
        return
    values = source.values()
    arrays = arrays_in([value for _, value in values])
    if any(array.data.dtype.kind in "iu" for array in arrays):
        return
    given = shapes.class_names([array.data.shape for array in arrays])
    for fit, words in _instead(
        given, lambda sizes: sum(prod(shapes.resize(x.data.shape, given, sizes)) for x in arrays)
    ):
        yield leading.from_values(job, leading.redrawn(values, given, fit, job.seed)), words


def _of_specs(job: Job) -> Iterator[Smaller]:
    arguments = parse_arguments(job.specs or ())
    specs = [a.spec for a in arguments if isinstance(a.spec, ArraySpec)]
    names = dimension_names(arguments)
    if names and len(job.shapes) == 1 and job.shapes[0] not in ("auto", "given"):
        given = shapes.parse_binding(job.shapes[0], names)
        if set(given) == set(names):
            for fit, words in _instead(given, lambda sizes: sum(prod(spec.shape(sizes)) for spec in specs)):
                binding = shapes.describe(fit).replace(" ", "")
                yield leading.from_specs(replace(job, shapes=[binding]), arguments), words
    elif not names and job.shapes == ["auto"]:
        classes = shapes.class_names([spec.shape({}) for spec in specs])
        for fit, words in _instead(
            classes, lambda sizes: sum(prod(shapes.resize(spec.shape({}), classes, sizes)) for spec in specs)
        ):
            yield leading.from_specs(job, leading.resized_specs(arguments, classes, fit)), words


def too_large(job: Job) -> bool:
    """Whether the job's specs ask for more than is run."""
    return next(_of_specs(job), None) is not None


def _instead(given: Sizes, elements: Elements) -> Iterator[tuple[Sizes, str]]:
    for fit in fitting(given, elements):
        changed = [(name, size) for name, size in fit.items() if size != given[name]]
        words = ", ".join(
            f"{size} for {name.lstrip('#')}" if name[0] == "#" else f"{name}={size}" for name, size in changed
        )
        yield fit, f"{NOT_RUN}: {elements(given):,} elements are too many; smaller instead: {words}"


def fitting(given: Sizes, elements: Elements) -> Iterator[Sizes]:
    """Sizes with at most INSTEAD elements where there are more than MOST_ELEMENTS, by halves.

    The first size goes first (it counts rows or batches as a rule, so that reductions keep their length), then the
    largest; as another try always the largest.  Halves keep what a size is a multiple of as long as they can.
    """
    found: list[Sizes] = []
    for first_first in (True, False) if elements(given) > MOST_ELEMENTS else ():
        made = _halved(given, elements, first_first)
        if made is not None and made not in found:
            found.append(made)
            yield made


def _halved(sizes: Sizes, elements: Elements, first_first: bool) -> Sizes | None:
    left = elements(sizes)
    while left > INSTEAD:
        names = sorted(sizes, key=lambda name: -sizes[name])
        if first_first:
            names = list(dict.fromkeys([next(iter(sizes)), *names]))
        tries = ({**sizes, name: sizes[name] // 2} for name in names if sizes[name] >= 2 * SMALLEST)
        smaller = next((tried for tried in tries if elements(tried) < left), None)
        if smaller is None:
            return None
        sizes, left = smaller, elements(smaller)
    return sizes
