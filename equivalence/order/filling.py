"""Legal orders of a tree that leaves some open: one drawn at random, and the deepest.

Takes an OrderTree; gives one in which every open and racing step is made of single additions; inside a dot, whose
products may be fused into them, a drawn order fuses some, all or none.  Must not know what a sum is compared with.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from equivalence.order.canonical import leaves_fusing_open
from equivalence.order.tree import UNORDERED, OrderTree, Step

_Put = Callable[[int, int], int]
_Arrange = Callable[[Sequence[int]], Sequence[int]]
_Combine = Callable[[Sequence[int], _Put], int]


def legal_orders(tree: OrderTree, rng: np.random.Generator) -> OrderTree:
    """A random tree among those that ``tree`` admits: chains, balanced trees and irregular ones alike.

    A product inside a dot is added unrounded with a probability of 0, a half or 1, drawn for the whole tree.
    """
    share = (0.0, 0.5, 1.0)[rng.integers(3)] if tree.products else 0.0

    def combine(children: Sequence[int], put: _Put) -> int:
        match rng.integers(3):
            case 0:
                return _chain(children, put)
            case 1:
                return _neighbours(children, put)
        return _at_random(children, put, rng)

    made = _filled(tree, lambda children: [int(c) for c in rng.permutation(children)], combine)
    return _unmarked(_fused(made, lambda: bool(rng.random() < share)) if share else made)


def worst(tree: OrderTree) -> OrderTree:
    """The deepest order: every open step adds its operands one after the other, the deepest one first."""
    depths = [0] * tree.size
    for step in tree.steps:
        cost = len(step.children) - 1 if step.how in UNORDERED else step.how not in ("cast", "scale", "neg")
        depths.append(max((depths[c] for c in step.children), default=0) + cost)
    return _unmarked(_filled(tree, lambda children: sorted(children, key=lambda c: -depths[c]), _chain))


def _filled(tree: OrderTree, arrange: _Arrange, combine: _Combine) -> OrderTree:
    """The tree with the children of every open step arranged, then combined by additions.

    Additions inside a dot keep the mark of who leaves the fusing of its products open.
    """
    steps: list[Step] = []
    ids = list(range(tree.size))

    def append(step: Step) -> int:
        steps.append(step)
        return tree.size + len(steps) - 1

    for step in tree.steps:
        if step.how in UNORDERED and step.children:

            def put(a: int, b: int, step: Step = step) -> int:
                by = step.by if leaves_fusing_open(step.by) else ""
                return append(replace(step, how="add", children=(a, b), by=by))

            ids.append(combine([ids[c] for c in arrange(step.children)], put))
        else:
            ids.append(append(replace(step, children=tuple(ids[c] for c in step.children))))
    return OrderTree(tree.terms, tuple(steps), tree.products, tree.what)


def _fused(tree: OrderTree, chosen: Callable[[], bool]) -> OrderTree:
    """Additions of a product inside a dot made fused ones where they are ``chosen``; of two products one is rounded."""
    steps = list[Step]()
    for step in tree.steps:
        product = next((c for c in step.children if c in tree.products), None)
        if step.how == "add" and step.by and product is not None and chosen():
            other = step.children[1 - step.children.index(product)]
            step = replace(step, how="fma", children=(product, other))
        steps.append(step)
    return replace(tree, steps=tuple(steps))


def _unmarked(tree: OrderTree) -> OrderTree:
    """Additions and fused ones without the mark of what they fill in."""
    return replace(tree, steps=tuple(replace(s, by="") if s.how in ("add", "fma") else s for s in tree.steps))


def _chain(children: Sequence[int], put: _Put) -> int:
    total = children[0]
    for child in children[1:]:
        total = put(total, child)
    return total


def _neighbours(children: Sequence[int], put: _Put) -> int:
    while len(children) > 1:
        pairs = [put(a, b) for a, b in zip(children[::2], children[1::2])]
        children = [*pairs, *children[len(children) - len(children) % 2 :]]
    return children[0]


def _at_random(children: Sequence[int], put: _Put, rng: np.random.Generator) -> int:
    left = list(children)
    while len(left) > 1:
        one = left.pop(int(rng.integers(len(left))))
        at = int(rng.integers(len(left)))
        left[at] = put(left[at], one)
    return left[0]
