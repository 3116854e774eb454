"""What two models share: parameters are copied from A to B, a buffer only where its constructor draws it at random.

Takes both models' arrays; says which of them are one input, which are copied, and which each side keeps.  Kept arrays
become constants of their side's program: a mask or a table that B computes wrongly has to show.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from irverify.values import ArrayValue
from lowering.errors import UsageError
from lowering.ir.builder import Builder
from lowering.ir.program import Block, Program

WEIGHT = "weight:"  # how the capture calls the parameters and buffers of a module
KEPT = f"{WEIGHT}own:"  # and those of B that are not A's
_COUNTED = "num_batches_tracked"  # a statistic that no forward pass reads
_STATISTICS = ("running_mean", "running_var", _COUNTED)
Shape = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Weights:
    """A model's arrays by name; ``buffers``: those that are not trained; ``drawn``: buffers made at random."""

    arrays: dict[str, ArrayValue]
    buffers: tuple[str, ...] = ()
    drawn: tuple[str, ...] = ()

    def to_data(self) -> dict[str, Any]:
        return {"arrays": self.arrays, "buffers": list(self.buffers), "drawn": list(self.drawn)}

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Weights:
        return cls(data["arrays"], tuple(data["buffers"]), tuple(data["drawn"]))

    @property
    def computed(self) -> list[str]:
        """Buffers that are no statistics of a normalisation: those start from fixed values and are learned."""
        return [name for name in self.buffers if not name.endswith(_STATISTICS)]


@dataclass(slots=True)
class Shared:
    """``names``: of B -> of A, one input of both programs; ``copied``: those of B that take A's values.

    ``own`` of B and ``others`` of A stay what the constructors made them; ``equal``: B's buffers that came out as A's.
    """

    names: dict[str, str]
    copied: list[str]
    own: list[str] = field(default_factory=list[str])
    others: list[str] = field(default_factory=list[str])
    equal: list[str] = field(default_factory=list[str])

    def notes(self, buffers: Collection[str]) -> list[str]:
        """What the report says of it."""
        renamed = ", ".join(f"{self.names[name]} to {name}" for name in self.copied if name != self.names[name])
        found = [f"the weights of A were copied to B{', by position: ' if renamed else ''}{renamed}"]
        found = found if self.copied else []
        drawn = [name for name in self.copied if name in buffers]
        if drawn:
            found.append(f"buffers drawn at random have A's values: {', '.join(drawn)}")
        if self.equal:
            found.append(f"buffers were not copied, both constructors give the same: {', '.join(self.equal)}")
        unequal = [name for name in self.own if name in self.others]
        if unequal:
            found.append(f"buffers were not copied, the constructors give others: {', '.join(unequal)}")
        for side, names in (("A", self.others), ("B", self.own)):
            alone = [name for name in names if name not in unequal]
            if alone:
                found.append(f"buffers of {side} alone have the values of its constructor: {', '.join(alone)}")
        return found


def share(own: Weights, given: Weights) -> Shared:
    """B's arrays and A's.  Raises UsageError where the parameters are not the same ones."""
    names = _parameters(own, given)
    found = Shared(names, list(names))
    _same_names(own, given, found)
    _same_values(own, given, found)
    _drawn(own, given, found)
    found.own = [name for name in own.arrays if name not in found.names]
    found.others = [name for name in given.arrays if name not in found.names.values()]
    lost = [name for name in found.others if name.endswith(_STATISTICS) and not name.endswith(_COUNTED)]
    if any(name not in own.arrays for name in lost):
        raise UsageError(f"{_UNLIKE} only in A: {lost}; only in B: {found.own or 'none'}. {_HINT}")
    return found


def _parameters(own: Weights, given: Weights) -> dict[str, str]:
    """What of B stands for A's parameters; buffers may, where nothing else fits and all of both are in one order."""
    learned = {name: shape for name, shape in _shapes(given).items() if name not in given.buffers}
    candidates = {
        name: shape
        for name, shape in _shapes(own).items()
        if name in learned or (name not in own.buffers and name not in given.buffers)
    }
    try:
        return pair_weights(candidates, learned)
    except UsageError as error:
        try:
            pairs = pair_weights(_shapes(own), _shapes(given))
        except UsageError:
            raise error from None
    return {name: other for name, other in pairs.items() if other in learned}


def _shapes(weights: Weights) -> dict[str, Shape]:
    return {name: value.data.shape for name, value in weights.arrays.items()}


def _same_names(own: Weights, given: Weights, found: Shared) -> None:
    for name in own.arrays:
        if name not in given.buffers or name in found.names:
            continue
        if _alike(own.arrays[name], given.arrays[name]):
            _take(found, name, name, equal=True)
        elif name in given.drawn and own.arrays[name].data.shape == given.arrays[name].data.shape:
            _take(found, name, name, equal=False)


def _same_values(own: Weights, given: Weights, found: Shared) -> None:
    """Buffers of other names, in any order, that came out the same."""
    for name in own.arrays:
        if name in found.names or name in given.arrays:
            continue
        for other in given.buffers:
            free = other not in found.names.values() and other not in own.arrays
            if free and _alike(own.arrays[name], given.arrays[other]):
                _take(found, name, other, equal=True)
                break


def _drawn(own: Weights, given: Weights, found: Shared) -> None:
    """Random ones of other names, in order."""
    free = [name for name in given.drawn if name not in found.names.values() and name not in own.arrays]
    for name in own.arrays:
        if name in found.names or name in given.arrays:
            continue
        shape = own.arrays[name].data.shape
        other = next((other for other in free if given.arrays[other].data.shape == shape), None)
        if other is not None:
            free.remove(other)
            _take(found, name, other, equal=False)


def _take(found: Shared, name: str, other: str, equal: bool) -> None:
    found.names[name] = other
    (found.equal if equal else found.copied).append(name)


def _alike(x: ArrayValue, y: ArrayValue) -> bool:
    """Equal in type and in every bit."""
    a, b = x.data, y.data
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


def drawn(first: Weights, again: Weights) -> tuple[str, ...]:
    """Buffers that another seed makes others."""
    kept = again.arrays
    return tuple(name for name in first.computed if name in kept and not _alike(first.arrays[name], kept[name]))


_UNLIKE = "the two models do not have the same weights, so they cannot be made equal:"
_HINT = (
    "Give both the same parameter names (other names are paired in order, where the shapes agree), "
    "or compare functions that take the weights as arguments"
)


def pair_weights(own: dict[str, Shape], given: dict[str, Shape]) -> dict[str, str]:
    """Own name -> given name: by name, the rest in order where their shapes agree.  Raises UsageError."""
    pairs = {name: name for name in own if name in given}
    rest_own, rest_given = [n for n in own if n not in given], [n for n in given if n not in own]
    alike = len(rest_own) == len(rest_given) and all(own[x] == given[y] for x, y in zip(rest_own, rest_given))
    resized = [name for name in pairs if own[name] != given[name]]
    if alike and not resized:
        return pairs | dict(zip(rest_own, rest_given))
    raise UsageError(
        f"{_UNLIKE} only in A: {sorted(rest_given) or 'none'}; only in B: {sorted(rest_own) or 'none'}; "
        f"other shape: {resized or 'none'}. {_HINT}"
    )


def keep(program: Program, values: Mapping[str, np.ndarray]) -> None:
    """Inputs of these names as constants of the program; changes it in place."""
    for name, array in values.items():
        position = program.input_names.index(name)
        value = program.body.args.pop(position)
        program.input_names.pop(position)
        builder = Builder()
        builder.block = Block()
        builder.constant(array if array.ndim else array.item(), value.type.dtype, value.type.shape)
        made = builder.block.ops[0]
        made.results = [value]
        program.body.ops.insert(0, made)


def keep_own(a: Program, b: Program, record_a: Mapping[str, Any], record_b: Mapping[str, Any]) -> None:
    """Both programs with the buffers that their sides do not share, as B's record has them, as constants."""
    others = {f"{WEIGHT}{name}" for name in record_b.get("others", ())}
    for program, record, kept in (
        (a, record_a, [name for name in a.input_names if name in others]),
        (b, record_b, [name for name in b.input_names if name.startswith(KEPT)]),
    ):
        keep(program, {name: record["inputs"][name].data for name in kept})
