"""The canonical form of an accumulation order: addition commutes, is not associative, and an open step has no order.

Takes OrderTrees; gives a Table of shared nodes (equal ids, equal orders), a Form and a digest.  Must not know names
(naming.py).  What is no order is left out: who leaves a step open, where a step runs, its line, the factor of a scale
(data), and starts at a literal zero (the sign of a zero sum aside).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from equivalence.order.tree import OrderTree, Step

#: (how, dtype, children, detail); a "term" or "product" (a term that enters a fused adder exact) has its number instead
Node = tuple[str, str, tuple[int, ...], str]
LEAVES = ("term", "product")
UNARY = ("cast", "scale", "neg")
_IN_ORDER = ("fma", "compensated", *LEAVES)


def leaves_fusing_open(by: str) -> bool:
    """Whether an open step by ``by`` also leaves open how its products are rounded: a dot does."""
    return "dot" in by


def _detail(step: Step) -> str:
    if step.how == "compensated":
        return step.by
    return "fusing" if step.how == "open" and leaves_fusing_open(step.by) else ""


@dataclass(slots=True)
class Table:
    """Nodes by number, children first; two orders interned in one table are the same if and only if their numbers are.

    ``notes`` keeps the first step that made a node, for what the node leaves out.
    """

    nodes: list[Node] = field(default_factory=list)
    notes: dict[int, Step] = field(default_factory=dict)
    _numbers: dict[Node, int] = field(default_factory=dict)

    def put(self, how: str, dtype: str, children: Iterable[int], detail: str = "") -> int:
        """The number of a node, new or known."""
        node = self._normal(how, dtype, tuple(children), detail)
        if isinstance(node, int):
            return node
        number = self._numbers.setdefault(node, len(self.nodes))
        if number == len(self.nodes):
            self.nodes.append(node)
        return number

    def find(self, how: str, dtype: str, children: Iterable[int], detail: str = "") -> int | None:
        """The number of a node, None if there is none."""
        node = self._normal(how, dtype, tuple(children), detail)
        return node if isinstance(node, int) else self._numbers.get(node)

    def _normal(self, how: str, dtype: str, children: tuple[int, ...], detail: str) -> Node | int:
        if how in ("open", "racing"):
            if len(children) == 1:
                return children[0]
            if len(children) == 2 and not detail:
                how = "add"  # two have one order only, even when they race
        if how == "neg":
            dtype = ""  # exact in any format
        return how, dtype, children if how in _IN_ORDER else tuple(sorted(children)), detail

    def intern(self, tree: OrderTree) -> int:
        """The number of a tree's root; -1 where nothing is added."""
        return self.intern_all(tree)[-1] if tree.terms or tree.steps else -1

    def intern_all(self, tree: OrderTree) -> list[int]:
        """The number of every id of a tree."""
        ids = [self.put("term", "", (i,)) for i in range(tree.size)]
        for step in tree.steps:
            children = [ids[c] for c in step.children]
            if step.how == "fused":
                children = [self.put("product", "", (c,)) if c in tree.products else ids[c] for c in step.children]
            ids.append(self.put(step.how, step.dtype, children, _detail(step)))
            self.notes.setdefault(ids[-1], step)
        return ids

    def below(self, root: int, stop: frozenset[int] = frozenset()) -> list[int]:
        """The numbers of a node and all below it, children first; those in ``stop`` are not entered."""
        seen, waiting = {root}, [root]
        while waiting:
            how, _, children, _ = self.nodes[number := waiting.pop()]
            if how in LEAVES or number in stop:
                continue
            fresh = [c for c in children if c not in seen]
            seen.update(fresh)
            waiting.extend(fresh)
        return sorted(seen)

    def digests(self, root: int, names: dict[int, bytes] | None = None) -> dict[int, bytes]:
        """A digest for every node below ``root``; ``names`` gives those of nodes that are not entered."""
        found = dict(names or {})
        for number in self.below(root, frozenset(found)):
            if number not in found:
                found[number] = self._digest(self.nodes[number], found)
        return found

    def _digest(self, node: Node, found: dict[int, bytes]) -> bytes:
        how, dtype, children, detail = node
        if how in LEAVES:
            return hashlib.blake2b(f"{how} {children[0]}".encode(), digest_size=16).digest()
        parts = [found[c] for c in children]
        if how not in _IN_ORDER:
            parts.sort()
        head = f"{how} {dtype} {detail} {len(parts)};".encode()
        return hashlib.blake2b(head + b"".join(parts), digest_size=16).digest()


@dataclass(frozen=True, slots=True)
class Form:
    """The canonical form: nodes children first, each child by its place among the nodes, the last node the root.

    Two trees are the same order if and only if their forms are equal.
    """

    nodes: tuple[Node, ...]
    digest: str


def canonical(tree: OrderTree) -> Form:
    """The canonical form of a tree, starts at a literal zero left out."""
    table = Table()
    root = table.intern(stripped(tree))
    if root < 0:
        return Form((), hashlib.blake2b(b"no terms", digest_size=16).hexdigest())
    digests = table.digests(root)
    place: dict[int, int] = {}
    nodes: list[Node] = []
    waiting = [(root, False)]
    while waiting:
        number, ready = waiting.pop()
        how, dtype, children, detail = table.nodes[number]
        if number in place:
            continue
        if how in LEAVES:
            place[number] = len(nodes)
            nodes.append((how, dtype, children, detail))
            continue
        arranged = children if how in _IN_ORDER else sorted(children, key=digests.__getitem__)
        if ready:
            place[number] = len(nodes)
            nodes.append((how, dtype, tuple(place[c] for c in arranged), detail))
        else:
            waiting.append((number, True))
            waiting.extend((c, False) for c in reversed(arranged))
    return Form(tuple(nodes), digests[root].hex())


def digest(tree: OrderTree) -> str:
    """32 hex digits that two trees share if and only if they are the same order."""
    return canonical(tree).digest


def stripped(tree: OrderTree) -> OrderTree:
    """The tree without terms that are a literal zero, as accumulators start with, and without empty sums."""
    zero = [_is_zero(label) for label in tree.terms]
    if not any(zero) and all(step.children for step in tree.steps):
        return tree
    kept = [i for i in range(tree.size) if not zero[i]]
    ids: list[int | None] = [None] * tree.size
    for new, old in enumerate(kept):
        ids[old] = new
    steps: list[Step] = []
    for step in tree.steps:
        ids.append(_without(step, ids, steps, len(kept)))
    products = frozenset(new for old in tree.products if (new := ids[old]) is not None)
    return OrderTree(tuple(tree.terms[i] for i in kept), _ending(steps, ids[-1], len(kept)), products, tree.what)


def _without(step: Step, ids: Sequence[int | None], steps: list[Step], size: int) -> int | None:
    """The new id of a step; appends it unless it only passes its one child on."""
    children = tuple(c for old in step.children if (c := ids[old]) is not None)
    if not children:
        return None
    if len(children) == 1 and len(step.children) > 1 and step.how != "fused":
        return children[0]
    steps.append(replace(step, children=children))
    return size + len(steps) - 1


def _ending(steps: list[Step], root: int | None, size: int) -> tuple[Step, ...]:
    """The steps up to the root, which is the last one."""
    if root is None or root < size:
        return ()
    return tuple(steps[: root - size + 1])


def _is_zero(label: str) -> bool:
    try:
        return float(label) == 0
    except ValueError:
        return False
