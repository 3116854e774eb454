"""From options to two jobs, without running anything: files read, entries found, inputs located.

Takes CompareOptions; gives Prepared.  Every usage error that needs no execution is raised here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from irverify import file_sizes, inference, shapes
from irverify._capture import ADAPTERS
from irverify.defaults import shared_by_constructors, shared_defaults
from irverify.inputs import generate, parse_arguments
from irverify.job import Job
from irverify.options import CompareOptions
from irverify.subjects import (
    Side,
    SourceFile,
    choose_entries,
    choose_entry,
    missing_inputs,
    read_source,
    side_of,
    split_entry,
)
from lowering.errors import UsageError

SHAPE_BUDGET = 0.4  # part of the timeout after which no further shapes are tried


@dataclass(frozen=True, slots=True)
class Prepared:
    """Both sides and their jobs; ``given``: array arguments of the Python API, to be published before the start."""

    sides: tuple[Side, Side]
    jobs: tuple[Job, Job]
    given: list[tuple[str | None, Any]] | None


def prepare(options: CompareOptions, exchange: Path) -> Prepared:
    """Reads both files and decides who runs what on which inputs."""
    if options.target_b is not None:
        from equivalence.judge.migration import units

        units((options.device, options.target_b))  # refused before anything is run
    (path_a, named_a), (path_b, named_b) = split_entry(options.a), split_entry(options.b)
    source_a, source_b = read_source(path_a), read_source(path_b)
    entry_a = _agreeing(named_a, options.entry_a, "--entry-a")
    entry_b = _agreeing(named_b, options.entry_b, "--entry-b")
    entries = choose_entries(source_a, source_b, entry_a, entry_b)
    sides = side_of(source_a, entries[0]), side_of(source_b, entries[1])
    specs, given = _inputs(options)
    shared = _shared(options, sides, (source_a, source_b), specs is None and given is None)
    jobs = [
        Job(side=name, path=str(side.path), entry=side.entry, adapter=ADAPTERS[side.framework],
            exchange=str(exchange), specs=specs, **shared)
        for name, side in zip("ab", sides)
    ]  # fmt: skip
    return Prepared(sides, (jobs[0], jobs[1]), given)


def prepare_one(
    path_text: str, entry: str | None, options: CompareOptions, exchange: Path, form: str = "kir"
) -> tuple[Side, Job]:
    """The job of `irverify lower`: one side, the given shape only; ``form``: what is wanted of it."""
    path, named = split_entry(path_text)
    source = read_source(path)
    side = side_of(source, choose_entry(source, _agreeing(named, entry, "--entry")))
    specs, given = _inputs(options)
    shared = _shared(options, (side, side), (source, source), specs is None and given is None)
    shared |= {"weights_from": None, "max_shapes": 1, "layouts": False, "form": form}
    job = Job(side="a", path=str(side.path), entry=side.entry, adapter=ADAPTERS[side.framework],
              exchange=str(exchange), specs=specs, **shared)  # fmt: skip
    return side, job


def _agreeing(in_path: str | None, in_option: str | None, option: str) -> str | None:
    if in_path and in_option and in_path != in_option:
        raise UsageError(f"{option} is {in_option!r} but the path names {in_path!r}; give one of them")
    return in_path or in_option


def _inputs(options: CompareOptions) -> tuple[list[str] | None, list[tuple[str | None, Any]] | None]:
    """Texts go into the job; arrays of the Python API are published as data."""
    if not options.inputs:
        return None, None
    parse_arguments(options.inputs)  # checked here, before anything is started
    if all(isinstance(value, str) for value in options.inputs):
        return [str(value) for value in options.inputs], None
    return None, given_values(options.inputs, options.seed)


def given_values(inputs: Sequence[Any], seed: int) -> list[tuple[str | None, Any]]:
    """Arrays as they are, specs among them drawn."""
    arguments = parse_arguments(inputs)
    return [(argument.name, generate(argument.spec, {}, (seed, i))) for i, argument in enumerate(arguments)]


def _shared(
    options: CompareOptions, sides: tuple[Side, Side], sources: tuple[SourceFile, SourceFile], from_file: bool
) -> dict[str, Any]:
    has_inputs = [name for name, side in zip("ab", sides) if "get_inputs" in side.defines]
    has_init = [name for name, side in zip("ab", sides) if "get_init_inputs" in side.defines]
    if from_file and not has_inputs:
        raise missing_inputs(*sides)
    leader = has_inputs[0] if from_file else "a"
    lead = sources["ab".index(leader)]
    models = [
        bool(sources[i].models) and side.entry in [m.name for m in sources[i].models] for i, side in enumerate(sides)
    ]
    entered = (sources[0].tree, sides[0].entry), (sources[1].tree, sides[1].entry)
    only_given = leader == "b" and all(models)  # A's weights would have to be made before B says which shapes count
    return {
        "leader": leader,
        "init_from": (leader if leader in has_init else has_init[0]) if has_init else None,
        "weights_from": "a" if all(models) else None,
        "shapes": ["given"] if only_given else list(options.shapes),
        "sizes": file_sizes.sizes_in(lead.tree, [source.tree for source in sources]) if from_file else {},
        "blocks": sorted({block for source in sources for block in shapes.blocks_in(source.tree)}),
        "seed": options.seed,
        "target": options.device,
        "nki_target": options.nki_target,
        "nki_version": options.nki_version,
        "backward": options.backward,
        "config": options.config,
        "variant_seconds": SHAPE_BUDGET * options.timeout,
        "layouts": options.layouts != "ignore" and any(side.framework != "jax" for side in sides),
        "inference": not options.backward and inference.asked([source.tree for source in sources]),
        # Two torch hosts compute their tables alike, be it in the call or before it; jax has no tables, only formulas.
        "formulas": any(side.framework == "jax" for side in sides),
        "defaults": shared_defaults(*entered),
        "built": shared_by_constructors(*entered),
    }
