"""Which shapes to compare at, beside the given one: ragged, one block, several blocks, every dimension by itself.

Takes named sizes (dimensions of --input, module-level ints of a get_inputs file, or classes of equal dimensions) and
the block sizes written in the file; gives sets of sizes, most telling first.  A set only counts where side A runs.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, combinations
from math import prod
from typing import Any

from lowering.errors import UsageError

Sizes = dict[str, int]
Shape = tuple[int, ...]
SMALLEST_VARIED = 5  # 1 is a broadcast; 2 to 4 are usually channels, taps or heads: part of the algorithm
MOST_STARVED = 6
_USUAL_BLOCK = 32
_LITTLE = 1 << 19
_BLOCKS = (16, 32, 64, 128, 256)
REDUCED = "a small one"
_REDUCED = 1 << 14  # about as many elements has an array of all dimensions there
_EXTRA = ("whole long blocks", "two of ", "past ")
_PAST = 1 << 13  # elements that a set past a length of the file may come to
_LONG = (512, 1024, 2048, 4096, 8192)  # blocks of kernels that work along one axis
BLOCK_SIZES = _BLOCKS + _LONG


@dataclass(frozen=True, slots=True)
class Plan:
    """The given sizes, then what else to try, each under a name; ``extra`` of them are what only few kernels need."""

    given: Sizes
    tries: tuple[tuple[str, Sizes], ...]
    extra: int = 0
    block: int = 0  # the one that the tries were made from; 0 where the user chose them
    half: int = 0  # of the smallest block


def plan(
    sizes: Mapping[str, int],
    shapes: Sequence[str],
    names: Sequence[str],
    blocks: Sequence[int],
    batches: frozenset[str] = frozenset(),
) -> Plan:
    """``shapes`` as the user wrote them: 'auto', 'given', or bindings of ``names``; the first binding is the given one.

    ``batches``: sizes that only count repetitions (see batches_in): a few of them tell as much as many.  One binding
    only says what the names mean, so other sizes are tried too; several are the user's own list.
    """
    bindings = [parse_binding(text, names) for text in shapes if text not in ("auto", "given")]
    given = {**sizes, **(bindings[0] if bindings else {})}
    listed = tuple((describe(binding), {**given, **binding}) for binding in bindings[1:])
    chosen_by_user = "given" in shapes or bool(listed)
    automatic = () if chosen_by_user and "auto" not in shapes else _automatic(given, blocks, batches)
    extra = sum(label.startswith(_EXTRA) for label, _ in automatic)
    block, half = (_block(blocks, max(given.values())), min(_halves(blocks))) if automatic else (0, 0)
    return Plan(given, listed + automatic, extra, block, half)


def parse_binding(text: str, names: Sequence[str]) -> Sizes:
    """'N=64,D=130' as sizes."""
    sizes: Sizes = {}
    for part in text.split(","):
        name, equals, size = (piece.strip() for piece in part.partition("="))
        if not equals or not size.isdecimal():
            raise UsageError(f"--shapes is {text!r}; write 'auto', 'given' or sizes by name: --shapes N=64,D=130")
        if name not in names:
            known = f"the names here are {', '.join(names)}" if names else "no dimension has a name here"
            raise UsageError(f"--shapes {text!r}: {name!r} is not a dimension; {known} (write --input 'f32[N,D]')")
        sizes[name] = int(size)
    return sizes


def batches_in(dims: Sequence[Sequence[Any]]) -> frozenset[Any]:
    """Dimensions (names or sizes) that are always before the last two of an array: what lies there is repeated."""
    leading = {dim for shape in dims for dim in shape[:-2]}
    return frozenset(leading - {dim for shape in dims for dim in shape[-2:]})


def describe(sizes: Mapping[str, int]) -> str:
    return ", ".join(f"{name}={size}" for name, size in sizes.items())


def _automatic(
    sizes: Mapping[str, int], blocks: Sequence[int], batches: frozenset[str]
) -> tuple[tuple[str, Sizes], ...]:
    """Distinct sizes for distinct names, so that a swapped stride cannot hide in a square."""
    few = {name for name, size in sizes.items() if name in batches and SMALLEST_VARIED <= size < _BLOCKS[0]}
    varied = [name for name, size in sizes.items() if size >= SMALLEST_VARIED and name not in few]
    if not varied:
        return ()
    block, halves = _block(blocks, max(sizes[name] for name in varied)), _halves(blocks)
    largest, few_sizes = max(varied, key=lambda name: sizes[name]), len(varied) < 3
    candidates = [
        ("ragged", {name: block + 5 + 2 * i for i, name in enumerate(varied)}),
        ("one block", dict.fromkeys(varied, block)),
        *_extras(sizes, blocks, largest),
        ("several blocks", {name: block * (2 + i % 2) for i, name in enumerate(varied)}),
        ("beside a block", {name: _beside(block, i, few=few_sizes) for i, name in enumerate(varied)}),
        ("half a block more", {name: block * (1 + i % 2) + halves[i % len(halves)] for i, name in enumerate(varied)}),
        ("on the other side of a block", {name: _beside(block, i, 1, few_sizes) for i, name in enumerate(varied)}),
        ("below one block", {name: max(1, block // 2 - 3 + 2 * i) for i, name in enumerate(varied)}),
        (f"ragged {largest.lstrip('#')}", {largest: 2 * block + 3}),
        *((f"only {name.lstrip('#')}", {name: block // 2 + 1}) for name in varied if name != largest),
    ]
    candidates = [(label, {**dict.fromkeys(few, 2 + i % 2), **change}) for i, (label, change) in enumerate(candidates)]
    tries: dict[str, Sizes] = {}
    for label, change in candidates:
        tried = _affordable(dict(sizes), {**sizes, **change})
        if tried not in (dict(sizes), *tries.values()):
            tries[label] = tried
    past = _past(dict(sizes), blocks, varied, list(tries.values()))
    return (*past.items(), *tries.items())


def _past(sizes: Sizes, blocks: Sequence[int], varied: Sequence[str], tries: Sequence[Sizes]) -> dict[str, Sizes]:
    """Sizes beyond the longest length written in a file that nothing else passes: a window, a capacity, a second chunk.

    As many sizes at once as stay cheap, largest first.
    """
    tried, passed = dict(sizes), list[int]()
    for name in sorted(varied, key=lambda name: sizes[name], reverse=True):
        reached = max(one[name] for one in (sizes, *tries))
        for block in sorted({block for block in blocks if block >= reached}, reverse=True):
            longer = {**tried, name: block + 3 + 2 * len(passed)}
            if prod(longer.values()) <= _PAST:
                tried = longer
                passed.append(block)
                break
    return {f"past {max(passed)}": tried} if passed else {}


def starved(plan: Plan, accepted: Sequence[Sizes]) -> list[tuple[str, Sizes]]:
    """One size at a time off the block, for sizes that no set which both sides took has had there.

    Where a size has to be a power of two, both sides only take sets in which every size is one; so the others were
    never ragged.  ``accepted``: the sizes of those sets, beside the given one.
    """
    if not plan.block:
        return []
    varied = {name for _, sizes in plan.tries for name in sizes if sizes[name] != plan.given[name]}
    hungry = [n for n in plan.given if n in varied and all(sizes[n] % plan.half == 0 for sizes in accepted)]
    whole = [sizes for sizes in accepted if all(sizes[name] % plan.half == 0 for name in hungry)]
    base = min(whole, key=lambda sizes: prod(sizes.values()), default=plan.given)
    sizes_of = [("{} beside a block", plan.block + 1), ("{} half a block more", plan.block + plan.half)]
    made = [(words.format(name.lstrip("#")), {**base, name: size}) for words, size in sizes_of for name in hungry]
    return [(label, sizes) for label, sizes in made if _affordable(plan.given, sizes) == sizes][:MOST_STARVED]


def reduced(plan: Plan) -> list[tuple[str, Sizes]]:
    """Sets of few elements, for where all others are large: long last sizes and few rows first, then all sizes alike.

    In each pair the first is off the blocks and the second whole powers of two, which more kernels take.
    """
    varied = [name for name, size in plan.given.items() if size >= SMALLEST_VARIED]
    if not plan.block or not varied:
        return []
    last, rows = varied[-1], varied[:-1]
    even = int(_REDUCED ** (1 / len(varied)))
    off = max(SMALLEST_VARIED, even - len(varied)) | 1
    tries = [
        {**{name: SMALLEST_VARIED + 2 * i for i, name in enumerate(rows)}, last: plan.block + 5},
        {**dict.fromkeys(rows, 8), last: plan.block},
        {name: off + 2 * i for i, name in enumerate(varied)},
        dict.fromkeys(varied, 1 << (even.bit_length() - 1)),
    ]
    return [(REDUCED, {**plan.given, **sizes}) for sizes in tries]


def _extras(sizes: Mapping[str, int], blocks: Sequence[int], largest: str) -> list[tuple[str, Sizes]]:
    """What few kernels call for: whole blocks of a long one, where no lane is masked off; a batch of 1 made 2."""
    long = [block for block in blocks if block in _LONG]
    whole = [("whole long blocks", {largest: 2 * max(long)})] if long else []
    return [*whole, *((f"two of {name.lstrip('#')}", {name: 2}) for name, size in sizes.items() if size == 1)]


def _affordable(given: Sizes, tried: Sizes) -> Sizes:
    """Sizes that cost no more than the given ones, or little: beyond that none is larger than it was given."""
    if prod(tried.values()) <= max(prod(given.values()), _LITTLE):
        return tried
    return {name: min(size, given[name]) for name, size in tried.items()}


def _block(blocks: Sequence[int], largest: int) -> int:
    usable = [block for block in blocks if block in _BLOCKS and block <= max(largest, _BLOCKS[0])]
    return max(usable, default=_USUAL_BLOCK)


def _beside(block: int, place: int, turn: int = 0, few: bool = False) -> int:
    """One more or one less than whole blocks; one block stays the smallest set, where sums of equal terms are exact."""
    more = (place + turn) % 2 == 0
    return block * (1 + place // 2) + 1 if more else block * (1 + few + place // 2) - 1


def _halves(blocks: Sequence[int]) -> list[int]:
    """Half of each block: where a length is a multiple of that, a test of the wrong block says that it is whole."""
    return [block // 2 for block in blocks if block in _BLOCKS] or [_USUAL_BLOCK // 2]


def blocks_in(tree: ast.Module) -> list[int]:
    """Powers of two written in a file that look like block sizes."""
    literals = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and type(node.value) is int}
    return sorted(value for value in literals if value in BLOCK_SIZES)


def class_names(shapes: Sequence[Sequence[int]]) -> Sizes:
    """One name per class of equal dimensions of the given arrays, for inputs that name none.

    1 is a class where it can only be a batch: the first of three or more dimensions, and never anything else.
    """
    sizes = dict.fromkeys(size for shape in shapes for size in shape)
    ones = [len(shape) >= 3 and axis == 0 for shape in shapes for axis, size in enumerate(shape) if size == 1]
    return {f"#{size}": size for size in sizes if size > 1 or (size == 1 and all(ones))}


def batch_classes(shapes: Sequence[Sequence[int | str]]) -> frozenset[str]:
    """The classes of dimensions that only count repetitions."""
    return frozenset(f"#{size}" for size in batches_in(shapes))


def resize(shape: Sequence[int], classes: Mapping[str, int], sizes: Mapping[str, int]) -> tuple[int, ...]:
    """``shape`` with every dimension of a class at that class's new size."""
    new = {classes[name]: sizes[name] for name in classes}
    return tuple(new.get(size, size) for size in shape)


SPLIT, EXCHANGED = "equal sizes made different", "the same sizes exchanged"
#: Other sizes than one block, by factors of it: powers of two first, which more kernels take, in no order of size.
_FACTORS = (2.0, 4.0, 0.5, 8.0, 3.0, 5.0)
_MAX_SPLIT_TRIES = 24


def split(shapes: Sequence[Shape], works: Callable[[list[Shape]], bool], step: int = _USUAL_BLOCK) -> list[list[Shape]]:
    """Equal dimensions made different wherever ``works`` still says yes: a square matrix hides swapped strides.

    Each group of equal sizes is tried one position at a time, then by pairs (the shared dimension of a product).  Gives
    all changes together, then, where there are several, each by itself: the other side may take only some of them.
    """
    current, tries = list(shapes), 0
    alone: list[list[Shape]] = []
    known = {size for shape in shapes for size in shape}
    fresh = (size for size in (int(step * factor) for factor in _FACTORS) if size not in known)
    for size, places in _repeated(shapes).items():
        for chosen in [*combinations(places, 1), *combinations(places, 2)]:
            free = all(current[array][axis] == size for array, axis in chosen)
            left = sum(current[array][axis] == size for array, axis in places)
            if not free or left <= len(chosen) or tries >= _MAX_SPLIT_TRIES:
                continue
            tries += 1
            new_size = next(fresh, None)
            if new_size is None:
                return [current, *alone]
            changed = _with_sizes(current, chosen, new_size)
            if works(changed):
                current = changed
                alone.append(_with_sizes(shapes, chosen, new_size))
            else:
                fresh = chain([new_size], fresh)
    return [current, *alone] if len(alone) > 1 else [current]


def exchanged(shapes: Sequence[Shape]) -> list[Shape]:
    """The largest size where the smallest was, and so on: which of two sizes is the larger one may matter."""
    varied = sorted({size for shape in shapes for size in shape if size >= SMALLEST_VARIED})
    other = dict(zip(varied, reversed(varied), strict=True))
    return [tuple(other.get(size, size) for size in shape) for shape in shapes]


def _repeated(shapes: Sequence[Shape]) -> dict[int, list[tuple[int, int]]]:
    places: dict[int, list[tuple[int, int]]] = {}
    for array, shape in enumerate(shapes):
        for axis, size in enumerate(shape):
            places.setdefault(size, []).append((array, axis))
    return {size: found for size, found in places.items() if size >= SMALLEST_VARIED and len(found) > 1}


def _with_sizes(shapes: Sequence[Shape], places: Sequence[tuple[int, int]], size: int) -> list[Shape]:
    changed = [list(shape) for shape in shapes]
    for array, axis in places:
        changed[array][axis] = size
    return [tuple(shape) for shape in changed]
