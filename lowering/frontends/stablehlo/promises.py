"""What a program promises XLA about indices: unique, sorted.  XLA relies on it; a broken promise is undefined.

Takes a gather or scatter; leaves a note per promise that the module itself does not show to hold.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lowering.frontends.stablehlo.node import Node
from lowering.ir.program import Value

Array = np.ndarray[Any, Any]


def note_promises(node: Node, starts: Value, vector_dim: int) -> None:
    """One index vector keeps every promise, and constant ones are looked at."""
    shape = starts.type.shape
    rows = int(np.prod([n for d, n in enumerate(shape) if d != vector_dim]))
    if rows < 2:
        return
    known = _rows(_literal(node, starts), vector_dim)
    for name, holds in (("unique_indices", _unique), ("indices_are_sorted", _sorted)):
        if not node.flag(name) or (known is not None and holds(known)):
            continue
        state = "not checked" if known is None else "which does not hold"
        node.translator.note(f"XLA is promised {name} at {node.span}: {state}")


def _rows(values: Array | None, vector_dim: int) -> Array | None:
    """The index vectors, one a row."""
    if values is None or vector_dim == values.ndim:
        return None if values is None else values.reshape(-1, 1)
    return np.moveaxis(values, vector_dim, -1).reshape(-1, values.shape[vector_dim])


def _literal(node: Node, value: Value) -> Array | None:
    """The values, where they are written in the module."""
    made, shape = node.b.definition(value), value.type.shape
    if made is None:
        return None
    if made.name == "constant":
        return np.broadcast_to(np.asarray(made.attrs["value"]), shape)
    if made.name == "iota":
        return np.indices(shape)[made.attrs["axis"]]
    if made.name not in ("reshape", "broadcast"):
        return None
    inner = _literal(node, made.operands[0])
    if inner is None or made.name == "reshape":
        return None if inner is None else inner.reshape(shape)
    placed = [inner.shape[made.attrs["dims"].index(d)] if d in made.attrs["dims"] else 1 for d in range(len(shape))]
    return np.broadcast_to(inner.reshape(placed), shape)


def _unique(rows: Array) -> bool:
    return len(np.unique(rows, axis=0)) == len(rows)


def _sorted(rows: Array) -> bool:
    listed = rows.tolist()
    return listed == sorted(listed)
