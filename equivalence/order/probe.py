"""Reveals the order of a summation that can only be called, after FPRev (USENIX ATC 2025).

Takes a callable that sums n values, or adds n products; gives the OrderTree that its answers to masked inputs imply,
and how often that tree gives the callable's result bit for bit.  Must not know any framework or source language.

From one term, the pivot, the sizes of the smallest subtrees with every other term give the path from the pivot to the
root: terms of equal size hang off the same node.  Each such group is revealed in the same way.  A group whose terms
meet each other only where they meet the pivot is several children of one node: an adder of more than two.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from equivalence.numerics.formats import format_of

from .adders import rounded_sum, settle
from .box import Box, Formats, Run, samples
from .corrected import WAYS, Chain, chains_in, merge, restore
from .grown import Node, steps_of
from .masks import Masks
from .tree import OrderTree, evaluate

CHECKS = 64  # random inputs on which a revealed tree must give the box's results
MOST_CHILDREN = 64  # of an adder; a box in which more terms meet at once sorts them, or looks at them otherwise
CALLS = 80  # per term and binary digit of their number: several times what random pivots take
MOSTLY = 0.8
_AT_ONCE = 1 << 22  # values evaluated at once


@dataclass(frozen=True, slots=True)
class Agreement:
    """How many of the random inputs gave the tree's bits; the first that did not, with both results."""

    agree: int
    trials: int
    first: tuple[np.ndarray, ...] | None = None
    of_box: float = 0.0
    of_tree: float = 0.0

    @property
    def holds(self) -> bool:
        return self.agree == self.trials


def reveal(
    run: Run,
    n: int,
    dtype: str = "f32",
    accumulator: str | None = None,
    result: str | None = None,
    *,
    name: str = "the probed sum",
    seed: int = 0,
) -> OrderTree:
    """The tree of ``run(values)``, a sum of ``n`` values of ``dtype`` (an array in its storage dtype).

    ``accumulator``: the format of the additions, found if not given; ``result``: the format that comes out, by default
    ``dtype``.  Raises Unsupported where the answers fit no tree, or the tree does not give the box's results.
    """
    return _reveal(Box(run, n, dtype, 1, name, _limit(n)), accumulator, result, seed)


def reveal_dot(
    run: Run,
    n: int,
    dtype: str = "f32",
    accumulator: str | None = None,
    result: str | None = None,
    *,
    name: str = "the probed dot product",
    seed: int = 0,
) -> OrderTree:
    """The tree of ``run(a, b)``, a sum of ``n`` products; an addition that takes its product unrounded is ``fma``."""
    return _reveal(Box(run, n, dtype, 2, name, _limit(n)), accumulator, result, seed)


def verify(tree: OrderTree, run: Run, trials: int, seed: int = 0, dtype: str = "f32") -> Agreement:
    """Whether the tree gives the bits of ``run`` on ``trials`` random inputs of ``dtype``."""
    return _agreement(tree, Box(run, tree.size, dtype, 2 if tree.products else 1, "", trials), trials, seed)


def _limit(n: int) -> int:
    return 1000 + CALLS * n * n.bit_length()


def _reveal(box: Box, accumulator: str | None, result: str | None, seed: int) -> OrderTree:
    formats = Formats(box.dtype, result or box.dtype, len(box.arrays))
    masks = Masks(box, formats)
    formats = masks.formats
    box.limit *= -(-box.size // masks.scale.most)
    root, is_dot = _grow(masks, np.random.default_rng(seed)), formats.factors == 2
    notes = settle(box, formats, root, accumulator, np.random.default_rng(seed))
    if isinstance(root, int) and (is_dot or formats.result != formats.dtype):
        root = Node([root], "cast", formats.result)
    words = _words(box, is_dot, notes)
    chains = chains_in(box, formats, root)
    if chains:
        return _corrected(box, chains, root, words, seed)
    tree = _tree(root, box, words)
    if _holds(tree, box, seed):
        return tree
    if _gives_exact_sums(box, formats, seed):
        raise box.exactness()
    raise box.contradiction("the tree of its masked inputs does not give its results on random ones")


def _tree(root: Node | int, box: Box, words: str) -> OrderTree:
    products = frozenset(range(box.size)) if len(box.arrays) == 2 else frozenset()
    return OrderTree(tuple(f"[{i}]" for i in range(box.size)), steps_of(root, box.size), products, words)


def _words(box: Box, is_dot: bool, notes: str) -> str:
    return f"{box.name}: sum of {box.size} {'products' if is_dot else 'terms'}, by probing{notes}"


def _grow(masks: Masks, rng: np.random.Generator) -> Node | int:
    """The tree of all terms.  Pivots are random: a fixed choice takes n^2 calls on some chain."""
    size = masks.box.size
    top = Node([])
    todo: list[tuple[np.ndarray, int | None, Node]] = [(np.arange(size), None, top)]
    while todo:
        group, anchor, parent = todo.pop()
        rest = group
        while len(rest):
            pivot = int(rng.choice(rest))
            others = rest[rest != pivot]
            sizes = masks.sizes(pivot, others, group, anchor)
            _check_sizes(masks, pivot, sizes, len(group), anchor)
            node: Node | int = pivot
            for level in np.unique(sizes[sizes <= len(group)]):
                node = Node([node])
                todo.append((others[sizes == level], pivot, node))
            parent.children.append(node)
            rest = others[sizes > len(group)]
            if len(parent.children) > MOST_CHILDREN:
                raise masks.box.refusal(
                    f"an accumulation in which more than {MOST_CHILDREN} terms meet at once",
                    "its order may depend on the data, as where terms are sorted",
                )
    return top.children[0]


def _check_sizes(masks: Masks, pivot: int, sizes: np.ndarray, group: int, anchor: int | None) -> None:
    """Sizes along a path are one, and all terms hung off it up to there; outside the group they are all of it."""
    levels, counts = np.unique(sizes[sizes <= group], return_counts=True)
    if len(sizes) > 1 and (sizes == 2).all():
        raise masks.box.exactness()
    largest = group if anchor is None else group + 1
    if not np.array_equal(levels, 1 + np.cumsum(counts)) or (sizes > largest).any():
        raise masks.box.contradiction(f"the subtrees that hold term {pivot} have sizes that do not nest")


def _holds(tree: OrderTree, box: Box, seed: int) -> bool:
    """Whether the tree gives the box's results, as far as it says how every addition is rounded.

    How an adder of several terms cuts off and rounds is its own: there the tree claims the order, not the bits, and
    must be as near as roundings of the terms' size allow.
    """
    box.limit = box.runs + 2 * CHECKS
    found = _agreement(tree, box, CHECKS, seed)
    if found.first is None:
        return True
    fused = [format_of(step.dtype).p for step in tree.steps if step.how == "fused"]
    if not fused:
        return False
    box.load(list(found.first))
    terms = sum(abs(float(np.prod(term))) for term in zip(*(array.astype(np.float64) for array in found.first)))
    error = (tree.depth() + 1) * 2.0 ** (2 - min(fused)) * terms
    return box.repeats() and abs(found.of_box - found.of_tree) <= error


def _corrected(box: Box, chains: list[Chain], root: Node | int, words: str, seed: int) -> OrderTree:
    """The tree with chains of Kahan's sum, the way that gives the box's results."""
    for way in WAYS:
        changed = merge(chains, way)
        tree = _tree(root, box, words)
        if _holds(tree, box, seed):
            return tree
        restore(changed)
    raise box.exactness()


def _agreement(tree: OrderTree, box: Box, trials: int, seed: int) -> Agreement:
    agree, first = 0, Agreement(0, trials)
    rng = np.random.default_rng(seed)
    chunk = max(_AT_ONCE // box.size, 1)
    for start in range(0, trials, chunk):
        drawn = samples(box.size, min(chunk, trials - start), box.dtype, len(box.arrays), rng)
        want = evaluate(tree, [tuple(rows) if tree.products else rows[0] for rows in zip(*drawn)])
        for k, expected in enumerate(want.astype(np.float64).tolist()):
            box.load([values[:, k] for values in drawn])
            got = box.call()
            if np.float64(got).tobytes() == np.float64(expected).tobytes():
                agree += 1
            elif first.first is None:
                first = Agreement(0, trials, tuple(array.copy() for array in box.arrays), got, expected)
    return Agreement(agree, trials, first.first, first.of_box, first.of_tree)


def _gives_exact_sums(box: Box, formats: Formats, seed: int) -> bool:
    """Whether the box nearly always gives the exact sum rounded once, as no order of rounded additions does."""
    drawn = samples(box.size, CHECKS, box.dtype, len(box.arrays), np.random.default_rng(seed))
    box.limit, hits = box.runs + CHECKS, 0
    for k in range(CHECKS):
        box.load([values[:, k] for values in drawn])
        hits += box.call() == rounded_sum(box, formats.result)
    return hits > MOSTLY * CHECKS
