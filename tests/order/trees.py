"""Orders for the tests: a Grower of steps, the usual orders, and random ones."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from equivalence.order.tree import How, OrderTree, Step


class Grower:
    """Appends steps over ``size`` terms; every method returns an id."""

    def __init__(self, size: int, products: bool = False, dtype: str = "f32") -> None:
        self.size, self.dtype = size, dtype
        self.products = frozenset(range(size)) if products else frozenset()
        self.steps: list[Step] = []

    def step(self, how: How, children: Iterable[int], dtype: str = "", **more: Any) -> int:
        self.steps.append(Step(how, tuple(children), dtype or self.dtype, **more))
        return self.size + len(self.steps) - 1

    def chain(self, ids: Iterable[int], how: How = "add", **more: Any) -> int:
        total, *rest = ids
        for one in rest:
            total = self.step(how, (one, total) if how == "fma" else (total, one), **more)
        return total

    def neighbours(self, ids: Sequence[int]) -> int:
        while len(ids) > 1:
            pairs = [self.step("add", pair) for pair in zip(ids[::2], ids[1::2], strict=False)]
            ids = [*pairs, *ids[len(ids) - len(ids) % 2 :]]
        return ids[0]

    def by_bits(self, ids: dict[int, int], bits: Iterable[int]) -> int:
        for bit in bits:
            merged: dict[int, int] = {}
            for i in sorted(ids):
                key = i & ~(1 << bit)
                merged[key] = self.step("add", (merged[key], ids[i])) if key in merged else ids[i]
            ids = merged
        return ids[0]

    def pairs(self, node: Any, ids: Sequence[int], dtype: str = "") -> int:
        """Additions as nested pairs of places in ``ids``."""
        if isinstance(node, int):
            return ids[node]
        return self.step("add", [self.pairs(half, ids, dtype) for half in node], dtype)

    def tree(self, what: str = "") -> OrderTree:
        return OrderTree(tuple(f"x[{i}]" for i in range(self.size)), tuple(self.steps), self.products, what)


def sequential(size: int, order: Iterable[int] | None = None, how: How = "add", dtype: str = "f32") -> OrderTree:
    grower = Grower(size, how == "fma", dtype)
    grower.chain(range(size) if order is None else order, how)
    return grower.tree()


def flat(size: int, how: How = "open", by: str = "StableHLO", dtype: str = "f32", products: bool = False) -> OrderTree:
    grower = Grower(size, products, dtype)
    grower.step(how, range(size), by=by)
    return grower.tree()


def pairwise(size: int) -> OrderTree:
    grower = Grower(size)
    grower.neighbours(range(size))
    return grower.tree()


def by_bits(size: int, bits: Iterable[int]) -> OrderTree:
    grower = Grower(size)
    grower.by_bits({i: i for i in range(size)}, bits)
    return grower.tree()


def blocks(size: int, width: int, by: str = "TTIR", hop: Step | None = None, before: bool = False) -> OrderTree:
    """Open blocks one after the other; ``hop`` is a step of the running sum after, or before, each addition."""
    grower, total = Grower(size), -1
    for start in range(0, size, width):
        block = grower.step("open", range(start, min(start + width, size)), by=by)
        if total >= 0:
            total = grower.step(hop.how, (total,), hop.dtype, factor=start) if hop and before else total
            block = grower.step("add", (total, block))
        total = grower.step(hop.how, (block,), hop.dtype) if hop and not before else block
    return grower.tree()


def chained(size: int, width: int, how: How, by: str = "") -> OrderTree:
    """``width`` products and the running sum in one step each time."""
    grower, total = Grower(size, True), -1
    for start in range(0, size, width):
        total = grower.step(how, [*([total] * (total >= 0)), *range(start, min(start + width, size))], by=by)
    return grower.tree()


def split(slabs: int, width: int, combine: How) -> OrderTree:
    """Contiguous slabs in program instances of their own, combined by atomics or by a chain."""
    grower = Grower(slabs * width)
    sums = [grower.chain(range(i * width, (i + 1) * width), where=f"program {i}") for i in range(slabs)]
    if combine == "racing":
        grower.step("racing", sums, by="atomics")
    else:
        grower.chain(sums)
    return grower.tree()


def lanes(size: int, width: int) -> OrderTree:
    grower = Grower(size)
    grower.neighbours([grower.chain(range(lane, size, width)) for lane in range(width)])
    return grower.tree()


def numpy_sum(size: int) -> OrderTree:
    """The order of numpy's pairwise sum: halves that are multiples of 8 down to 128, there eight lanes."""
    grower = Grower(size)

    def add(start: int, count: int) -> int:
        if count < 8:
            return grower.chain(range(start, start + count))
        if count <= 128:
            full = count - count % 8
            total = grower.neighbours([grower.chain(range(start + lane, start + full, 8)) for lane in range(8)])
            return grower.chain([total, *range(start + full, start + count)])
        half = count // 2 - count // 2 % 8
        return grower.step("add", (add(start, half), add(start + half, count - half)))

    add(0, size)
    return grower.tree()


def triton_row_sum(size: int, registers: Sequence[int], shuffles: Sequence[int]) -> OrderTree:
    """Each thread adds what differs in the bits ``registers`` one by one, then threads and warps by ``shuffles``."""
    grower = Grower(size)
    mask = sum(1 << bit for bit in registers)
    threads: dict[int, list[int]] = {}
    for i in range(size):
        threads.setdefault(i & ~mask, []).append(i)
    grower.by_bits({key: grower.chain(ids) for key, ids in threads.items()}, shuffles)
    return grower.tree()


def random_tree(size: int, rng: np.random.Generator, plain: bool = True) -> OrderTree:
    """Any tree of additions; not ``plain``: with open and fused steps, roundings and other formats between."""
    grower = Grower(size)
    left = list(range(size))
    while len(left) > 1:
        count = 2 if plain or rng.random() < 0.5 else int(rng.integers(2, min(4, len(left)) + 1))
        taken = [left.pop(int(rng.integers(len(left)))) for _ in range(count)]
        how: Any = "add" if count == 2 else rng.choice(["open", "fused"])
        made = grower.step(how, taken, "f32" if plain or rng.random() < 0.9 else "bf16")
        if not plain and rng.random() < 0.2:
            made = grower.step(rng.choice(["cast", "neg", "scale"]), (made,), "bf16")
        left.append(made)
    return grower.tree()


def all_binary(numbers: tuple[int, ...]) -> Iterator[Any]:
    """Every tree of additions over some terms, as nested pairs, the first term on the left."""
    if len(numbers) == 1:
        yield numbers[0]
        return
    first, rest = numbers[0], numbers[1:]
    for count in range(len(rest)):
        for with_first in itertools.combinations(rest, count):
            right = tuple(i for i in rest if i not in with_first)
            for a in all_binary((first, *with_first)):
                for b in all_binary(right):
                    yield a, b


def from_pairs(size: int, pairs: Any) -> OrderTree:
    grower = Grower(size)
    grower.pairs(pairs, range(size))
    return grower.tree()
