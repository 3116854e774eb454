"""A tree while it is found out: nodes that refer to terms by number and to each other, of any depth.

Takes nodes; gives the steps of an OrderTree, children with the lowest term first.  Must not know how they were found.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from .tree import How, Step

_ORDERED: tuple[How, ...] = ("fma", "compensated")  # whose children have places of their own


@dataclass(slots=True, eq=False)
class Node:
    """One step, an addition unless ``how`` says otherwise."""

    children: list[Node | int]
    how: How | None = None
    dtype: str = ""
    by: str = ""
    first: int = field(default=-1)  # the lowest term below, once ``in_order`` has seen the node


def first_of(child: Node | int) -> int:
    return child.first if isinstance(child, Node) else child


def in_order(root: Node | int) -> list[Node]:
    """All nodes, children before parents; sorts the children of those whose place in the step tells nothing."""
    nodes, todo = [], [root] if isinstance(root, Node) else []
    while todo:
        node = todo.pop()
        nodes.append(node)
        todo += [child for child in node.children if isinstance(child, Node)]
    nodes.reverse()
    for node in nodes:
        node.first = min(first_of(child) for child in node.children)
        if node.how not in _ORDERED:
            node.children.sort(key=first_of)
    return nodes


def steps_of(root: Node | int, size: int) -> tuple[Step, ...]:
    """The steps of the tree over ``size`` terms."""
    numbers: dict[int, int] = {}  # id of a node -> number of its result
    steps: list[Step] = []
    for node in in_order(root):
        children = tuple(numbers[id(child)] if isinstance(child, Node) else child for child in node.children)
        steps.append(Step(node.how or "add", children, node.dtype, node.by))
        numbers[id(node)] = size + len(steps) - 1
    return tuple(steps)
