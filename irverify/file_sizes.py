"""The sizes that a file's text gives its inputs: module-level ints and tuples of ints, and what is computed from them.

Takes a syntax tree; gives named sizes, and values at other sizes.  Must not run the file.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence

from irverify.shapes import BLOCK_SIZES, Sizes

Known = dict[str, int | tuple[int, ...]]


def sizes_in(tree: ast.Module, others: Sequence[ast.Module] = ()) -> Sizes:
    """Module-level ints behind what get_inputs or get_init_inputs read: what a KernelBench file calls its sizes.

    Also those of module-level tuples of ints, as 'shape[0]'.  What is computed from other sizes follows these
    (``values_in``) and is none of its own.  A block (n = 4 * BLOCK) that a kernel or its launch reads, here or in the
    file of the other side (``others``), is a constant of the algorithm.
    """
    direct, code = _read_by(tree, makers=True), set().union(*(_read_by(t, makers=False) for t in (tree, *others)))
    known, read = values_in(tree, {}), set(direct)
    for name, value in reversed(list(_assigned(tree))):
        read |= _names(value) if name in read else set()
    blocks = {name for name in (read - direct) & code if known.get(name) in BLOCK_SIZES}
    sizes: Sizes = {}
    for name, value in _assigned(tree):
        if name in read - blocks and name in known and not _names(value):
            whole = known[name]
            sizes |= {name: whole} if isinstance(whole, int) else {f"{name}[{i}]": n for i, n in enumerate(whole)}
    return sizes


def values_in(tree: ast.Module, sizes: Sizes) -> Known:
    """Module-level ints and tuples of ints, where these sizes have these values and the rest follows from them."""
    known: Known = {}
    for name, value in _assigned(tree):
        whole = _whole(value, known)
        if isinstance(whole, tuple) and not _names(value):
            whole = tuple(sizes.get(f"{name}[{i}]", size) for i, size in enumerate(whole))
        elif whole is not None and not _names(value):
            whole = sizes.get(name, whole)
        known.pop(name, None)
        known |= {} if whole is None else {name: whole}
    return known


def following(tree: ast.Module, sizes: Sizes) -> Known:
    """What ``sizes`` make of the file's own ints and tuples: those that are named there or computed from one named."""
    moved = {name.partition("[")[0] for name in sizes}
    for name, value in _assigned(tree):
        moved |= {name} if _names(value) & moved else set()
    return {name: value for name, value in values_in(tree, sizes).items() if name in moved}


def _assigned(tree: ast.Module) -> list[tuple[str, ast.expr]]:
    """Names and values of module-level assignments, in order; without names that are changed in place."""
    changed = {n.target.id for n in ast.walk(tree) if isinstance(n, ast.AugAssign) and isinstance(n.target, ast.Name)}
    pairs = [pair for node in tree.body for pair in _pairs(node)]
    return [(name, value) for name, value in pairs if name not in changed]


def _pairs(node: ast.stmt) -> Iterator[tuple[str, ast.expr]]:
    """(name, value) of an assignment; 'a, b = 3, 4' has two."""
    if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
        return
    value, targets = node.value, node.targets if isinstance(node, ast.Assign) else [node.target]
    for target in targets:
        if isinstance(target, ast.Name):
            yield target.id, value
        elif isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
            yield from ((to.id, item) for to, item in zip(target.elts, value.elts) if isinstance(to, ast.Name))


def _read_by(tree: ast.Module, makers: bool) -> set[str]:
    """Names that get_inputs and get_init_inputs read, or all other functions and classes."""
    nodes = [node for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    chosen = [node for node in nodes if (node.name in ("get_inputs", "get_init_inputs")) is makers]
    return set().union(*map(_names, chosen))


def _names(value: ast.AST) -> set[str]:
    return {node.id for node in ast.walk(value) if isinstance(node, ast.Name)}


_ARITHMETIC: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: lambda a, b: a // b if b else 0,
}


def _whole(node: ast.expr, known: Mapping[str, int | tuple[int, ...]]) -> int | tuple[int, ...] | None:
    """The int, or tuple of ints, that an expression of literals and ``known`` names is; None for any other."""
    if isinstance(node, ast.Constant):
        return node.value if type(node.value) is int else None
    if isinstance(node, ast.Name):
        return known.get(node.id)
    if isinstance(node, ast.Tuple):
        items = [_whole(item, known) for item in node.elts]
        return tuple(item for item in items if isinstance(item, int)) if all(type(i) is int for i in items) else None
    if isinstance(node, ast.BinOp) and type(node.op) in _ARITHMETIC:
        left, right = _whole(node.left, known), _whole(node.right, known)
        if isinstance(left, int) and isinstance(right, int):
            return _ARITHMETIC[type(node.op)](left, right)
    return None
