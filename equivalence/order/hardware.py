"""The order in which a matrix unit adds the products of one dot, as a tree.

Takes a Row or an Adder and the number of products; gives an OrderTree.  A ``fused`` step of the tree stands for one
aligned and cut sum, whose arithmetic is numerics/fused_add.py's: the tree says the order, not the last bits.
"""

from __future__ import annotations

from equivalence.numerics.fused_add import Adder
from equivalence.order.tree import OrderTree, Step


def order_of(adder: Adder, k: int, dtype: str = "f32", accumulator: bool = True) -> OrderTree:
    """The tree over k products, terms 0..k-1, and the accumulator, the last term where there is one."""
    steps: list[Step] = []
    terms = (*(f"product {i}" for i in range(k)), *(("accumulator",) if accumulator else ()))
    last = k if accumulator else None
    for low in range(0, k, adder.products):
        block = tuple(range(low, min(low + adder.products, k)))
        last = _block(adder, block, last, steps, len(terms), dtype)
    return OrderTree(terms, tuple(steps), frozenset(range(k)), f"dot of {k} products")


def _block(adder: Adder, block: tuple[int, ...], last: int | None, steps: list[Step], size: int, dtype: str) -> int:
    """The steps of one block; the id of their result."""

    def add(step: Step) -> int:
        steps.append(step)
        return size + len(steps) - 1

    start = last if adder.joins else None
    if adder.kind == "fused":
        total = add(Step("fused", block if start is None else (*block, start), dtype))
    else:
        total = start
        for product in block:
            total = product if total is None else add(Step("fma", (product, total), dtype))
        assert total is not None
    return total if adder.joins or last is None else add(Step("add", (last, total), dtype))


__all__ = ["order_of"]
