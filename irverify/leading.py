"""How the leading side makes the arguments of every set of shapes: from specs, arrays, or the file's get_inputs.

Takes a Job and the loaded module; gives Recipe: a plan of sizes, and the arguments for each.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from irverify import file_sizes, shapes
from irverify.inputs import Argument, ArraySpec, dimension_names, generate, parse_arguments
from irverify.job import Job
from irverify.values import ArrayValue, arrays_in, map_arrays
from lowering.errors import UsageError

Arguments = list[tuple[str | None, Any]]


@dataclass(frozen=True, slots=True)
class Recipe:
    """``make(sizes)`` gives the arguments at these sizes; ``sets_module_ints`` when sizes name the file's own ints."""

    plan: shapes.Plan
    make: Callable[[shapes.Sizes], Arguments]
    sets_module_ints: bool = False
    note: str = ""
    square: tuple[shapes.Shape, ...] = ()  # small shapes of every array, when equal dimensions may be split
    make_shaped: Callable[[Sequence[shapes.Shape]], Arguments] | None = None


def from_specs(job: Job, arguments: Sequence[Argument]) -> Recipe:
    """Named dimensions are varied by name; unnamed ones by classes of equal sizes."""
    names = dimension_names(arguments)
    dims = [a.spec.dims for a in arguments if isinstance(a.spec, ArraySpec)]
    if names:
        bound = dict.fromkeys(names, 0)
        plan = shapes.plan(bound, job.shapes, names, job.blocks, shapes.batches_in(dims))
        unbound = [name for name, size in plan.given.items() if size == 0 and name not in _first_binding(job, names)]
        if unbound:
            raise UsageError(f"the dimension {unbound[0]!r} has no size; add --shapes {unbound[0]}=64")
        return Recipe(plan, lambda sizes: _generated(arguments, sizes, job.seed))
    classes = shapes.class_names([a.spec.shape({}) for a in arguments if isinstance(a.spec, ArraySpec)])
    plan = shapes.plan(classes, job.shapes, (), job.blocks, shapes.batch_classes(dims))
    return Recipe(
        plan,
        lambda sizes: _generated(resized_specs(arguments, classes, sizes), {}, job.seed),
        square=_small_shapes(arguments, classes, plan),
        make_shaped=lambda new: _generated(_reshaped_specs(arguments, new), {}, job.seed),
    )


def _small_shapes(arguments: Sequence[Argument], classes: shapes.Sizes, plan: shapes.Plan) -> tuple[shapes.Shape, ...]:
    """One block in every dimension; nothing when the user chose the shapes, or when an index range follows a size."""
    specs = [a.spec for a in arguments if isinstance(a.spec, ArraySpec)]
    small = _one_block(plan)
    if small is None or any(f"#{spec.high}" in classes for spec in specs):
        return ()
    return tuple(shapes.resize(spec.shape({}), classes, small) for spec in specs)


def _one_block(plan: shapes.Plan) -> shapes.Sizes | None:
    """The sizes of one block; where it is not among the tries, the given ones are."""
    return dict(plan.tries).get("one block", plan.given) if plan.tries else None


def _reshaped_specs(arguments: Sequence[Argument], new: Sequence[shapes.Shape]) -> list[Argument]:
    left = iter(new)
    return [
        replace(a, spec=replace(a.spec, dims=next(left))) if isinstance(a.spec, ArraySpec) else a for a in arguments
    ]


def _first_binding(job: Job, names: Sequence[str]) -> shapes.Sizes:
    texts = [text for text in job.shapes if text not in ("auto", "given")]
    return shapes.parse_binding(texts[0], names) if texts else {}


def _generated(arguments: Sequence[Argument], sizes: shapes.Sizes, seed: int) -> Arguments:
    return [(a.name, generate(a.spec, sizes, (seed, position))) for position, a in enumerate(arguments)]


def resized_specs(arguments: Sequence[Argument], classes: shapes.Sizes, sizes: shapes.Sizes) -> list[Argument]:
    return [
        replace(a, spec=_resized_spec(a.spec, classes, sizes)) if isinstance(a.spec, ArraySpec) else a
        for a in arguments
    ]


def _resized_spec(spec: ArraySpec, classes: shapes.Sizes, sizes: shapes.Sizes) -> ArraySpec:
    """An index range that ends at a dimension ([0,50) beside f32[50,64]) follows that dimension."""
    high = spec.high
    if type(high) is int and f"#{high}" in classes:
        high = sizes[f"#{high}"]
    return replace(spec, dims=shapes.resize(spec.shape({}), classes, sizes), high=high)


def from_values(job: Job, arguments: Arguments) -> Recipe:
    """Given arrays; floats are drawn anew at other shapes, integers are never invented, so they fix the shapes."""
    values = [value for _, value in arguments]
    arrays = arrays_in(values)
    if any(array.data.dtype.kind in "iu" for array in arrays):
        fixed = shapes.plan({}, ["given"], (), ())
        return Recipe(fixed, lambda _: arguments, note="integer inputs are as given, so no other shapes were tried")
    classes = shapes.class_names([array.data.shape for array in arrays])
    batches = shapes.batch_classes([array.data.shape for array in arrays])
    plan = shapes.plan(classes, job.shapes, (), job.blocks, batches)
    small = _one_block(plan)
    return Recipe(
        plan,
        lambda sizes: arguments if sizes == plan.given else redrawn(arguments, classes, sizes, job.seed),
        square=() if small is None else tuple(shapes.resize(x.data.shape, classes, small) for x in arrays),
        make_shaped=lambda new: _reshaped(arguments, new, job.seed),
    )


def redrawn(arguments: Arguments, classes: shapes.Sizes, sizes: shapes.Sizes, seed: int) -> Arguments:
    rng = np.random.default_rng(seed)

    def change(value: Any) -> Any:
        return _redraw(value, shapes.resize(value.data.shape, classes, sizes), rng) if _is_array(value) else value

    return [(name, map_arrays(value, change)) for name, value in arguments]


def _reshaped(arguments: Arguments, new: Sequence[shapes.Shape], seed: int) -> Arguments:
    """Every array drawn anew in a shape of its own, in their order."""
    rng, left = np.random.default_rng(seed), iter(new)

    def change(value: Any) -> Any:
        return _redraw(value, next(left), rng) if _is_array(value) else value

    return [(name, map_arrays(value, change)) for name, value in arguments]


def _is_array(value: Any) -> bool:
    return isinstance(value, ArrayValue)


def _redraw(array: ArrayValue, shape: tuple[int, ...], rng: np.random.Generator) -> ArrayValue:
    """Like the given data: bools stay bools, one-signed data stays one-signed, the rest keeps mean and spread."""
    old = array.data
    if old.dtype == bool:
        return ArrayValue(rng.integers(0, 2, shape).astype(bool))
    wide = old.astype(np.float64)
    if not wide.size or not np.isfinite(wide).all() or wide.min() == wide.max():
        return ArrayValue(np.resize(old, shape))
    if wide.min() >= 0 or wide.max() <= 0:
        return ArrayValue(rng.uniform(wide.min(), wide.max(), shape).astype(old.dtype))
    return ArrayValue((wide.mean() + wide.std() * rng.standard_normal(shape)).astype(old.dtype))


def from_module(job: Job, module: ModuleType, call: Callable[..., Any], data_of: Callable[[Any, str], Any]) -> Recipe:
    """get_inputs(), called again after its module-level sizes were changed; without such sizes, its arrays resized."""

    def make(sizes: shapes.Sizes) -> Arguments:
        set_sizes(module, sizes)
        return made(module, call, data_of)

    if job.sizes:
        plan = shapes.plan(job.sizes, job.shapes, tuple(job.sizes), job.blocks)
        return Recipe(plan, make, sets_module_ints=True)
    return from_values(job, make({}))


def made(module: ModuleType, call: Callable[..., Any], data_of: Callable[[Any, str], Any]) -> Arguments:
    """What get_inputs gives, as data."""
    return _as_arguments(data_of(call(module.get_inputs), "get_inputs()"))


def set_sizes(module: ModuleType, sizes: shapes.Sizes) -> None:
    """Sets module-level ints of these names, items of tuples ('shape[0]') and what the file computes from them.

    A name that the module does not have as an int is left alone.
    """
    for name, size in sizes.items():
        if type(getattr(module, name, None)) is int:
            setattr(module, name, size)
    for name, value in file_sizes.following(_tree(getattr(module, "__file__", None)), sizes).items():
        if type(getattr(module, name, None)) is type(value):
            setattr(module, name, value)


@cache
def _tree(file: str | None) -> ast.Module:
    return ast.parse(Path(file).read_text()) if file else ast.Module([], [])


def _as_arguments(value: Any) -> Arguments:
    if isinstance(value, dict):
        return list(value.items())
    if isinstance(value, list | tuple):
        return [(None, item) for item in value]
    return [(None, value)]


def recipe(job: Job, module: ModuleType, given: Arguments | None, call: Any, data_of: Any) -> Recipe:
    """The right one of the three."""
    if job.specs is not None:
        return from_specs(job, parse_arguments(job.specs))
    if given is not None:
        return from_values(job, given)
    return from_module(job, module, call, data_of)
