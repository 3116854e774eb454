"""Finds which pointer parameters of a Triton module may be written to, and which are updated from what they held.

Takes a triton.ir.module; gives parameter indices.  Must not know about launches or tensors.  It errs on the side of
"written": pointers that meet in one op, or in a branch of cf, are taken for each other.  What a structured loop or
branch carries keeps its place: the i-th value yielded is the i-th result and the i-th argument of the next turn.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

_TERMINATORS = ("scf.yield", "scf.condition", "cf.br", "cf.cond_br", "tt.return")
_WRITES = ("tt.store", "tt.atomic", "tt.call", "tt.elementwise_inline_asm", "ttng.async_tma", "nvg", "ttg.")
_DESCRIPTOR_WRITES = ("store", "reduce", "scatter")
_ESCAPES = ("tt.ptr_to_int", "tt.int_to_ptr")


def _is_pointer(value: Any) -> bool:
    text = str(value.get_type())
    return "!tt.ptr" in text or "tensordesc" in text


@dataclass
class _Op:
    """One operation; values by their ids, None for what holds no pointer (so that places can be counted)."""

    name: str
    operands: list[int | None]
    results: list[int | None]
    block_arguments: list[int | None]
    region: int
    regions: list[int]


def _describe(op: Any) -> _Op:
    block = op.get_block()
    arguments = [block.get_argument(i) for i in range(block.get_num_arguments())] if block is not None else []
    operands = [op.get_operand(i) for i in range(op.get_num_operands())]
    results = [op.get_result(i) for i in range(op.get_num_results())]
    region = block.get_parent().id() if block is not None else 0
    regions = [op.get_region(i).id() for i in range(op.get_num_regions())]
    ids = lambda values: [value.id() if _is_pointer(value) else None for value in values]  # noqa: E731
    return _Op(op.get_name(), ids(operands), ids(results), ids(arguments), region, regions)


def _is_write(op: _Op) -> bool:
    if "descriptor" in op.name:
        return any(word in op.name for word in _DESCRIPTOR_WRITES)
    return op.name.startswith(_WRITES)


def _is_read(op: _Op) -> bool:
    return op.name == "tt.load" or ("descriptor" in op.name and any(word in op.name for word in ("load", "gather")))


Edge = tuple[int | None, int | None]


def _same_places(sources: list[int | None], *targets: list[int | None]) -> list[Edge]:
    return [(source, place[i]) for place in targets for i, source in enumerate(sources) if i < len(place)]


def _structured_edges(op: _Op, enclosing: _Op | None, arguments: dict[int, list[int | None]]) -> list[Edge] | None:
    """Where values go through scf, place by place; None for another operation."""
    if op.name == "scf.for":  # operands: lower, upper, step, what it carries; arguments: the counter, what it carries
        return _same_places(op.operands[3:], arguments[op.regions[0]][1:], op.results)
    if op.name == "scf.while":
        return _same_places(op.operands, arguments[op.regions[0]])
    if op.name == "scf.if":
        return []
    if op.name == "scf.condition" and enclosing is not None:
        return _same_places(op.operands[1:], arguments[enclosing.regions[1]], enclosing.results)
    if op.name == "scf.yield" and enclosing is not None:
        if enclosing.name == "scf.for":
            return _same_places(op.operands, arguments[enclosing.regions[0]][1:], enclosing.results)
        if enclosing.name == "scf.while":
            return _same_places(op.operands, arguments[enclosing.regions[0]])
        if enclosing.name == "scf.if":
            return _same_places(op.operands, enclosing.results)
    return None


def _merged_edges(op: _Op, enclosing: _Op | None, inside: dict[int, set[int]]) -> list[Edge]:
    """Every operand to every result, and into the operation's regions; a terminator's also to where it may lead."""
    targets = [*op.results, *(value for region in op.regions for value in inside[region])]
    if op.name in _TERMINATORS:
        targets += inside[op.region]
        if enclosing is not None and enclosing.name != "tt.func":
            targets += [*enclosing.results, *(v for region in enclosing.regions for v in inside[region])]
    return [(source, target) for source in op.operands for target in targets]


def _propagate(ops: list[_Op], roots: dict[int, set[int]]) -> None:
    """Spreads 'comes from parameter i' forwards until nothing changes."""
    arguments: dict[int, list[int | None]] = defaultdict(list)  # region -> arguments of its (last described) block
    inside: dict[int, set[int]] = defaultdict(set)  # region -> pointer block arguments in it
    for op in ops:
        arguments[op.region] = op.block_arguments
        inside[op.region].update(value for value in op.block_arguments if value is not None)
    parent = {region: op for op in ops for region in op.regions}
    edges: list[Edge] = []
    for op in ops:
        enclosing = parent.get(op.region)
        placed = _structured_edges(op, enclosing, arguments)
        edges += _merged_edges(op, enclosing, inside) if placed is None else placed
    changed = True
    while changed:
        changed = False
        for source, target in edges:
            if source is not None and target is not None and not roots[source] <= roots[target]:
                roots[target] |= roots[source]
                changed = True


@dataclass(frozen=True)
class Parameters:
    """Of a module's entry function: their number, and indices.  ``updated``: read, or added to, and written."""

    count: int
    written: tuple[int, ...]
    updated: tuple[int, ...]


def parameters_of(module: Any) -> Parameters:
    """What the entry function does with its parameters."""
    name = module.get_entry_func_name()
    function = module.get_function(name)
    parameters = [function.args(i) for i in range(function.get_num_args())]
    described: list[_Op] = []
    module.walk(lambda op: described.append(_describe(op)))
    roots: dict[int, set[int]] = defaultdict(set)
    for index, parameter in enumerate(parameters):
        if _is_pointer(parameter):
            roots[parameter.id()] = {index}
    everything = tuple(i for i, parameter in enumerate(parameters) if _is_pointer(parameter))
    if any(op.name in _ESCAPES for op in described):
        return Parameters(len(parameters), everything, ())
    _propagate(described, roots)

    def reached(touches: Callable[[_Op], bool]) -> set[int]:
        return set().union(*(roots[v] for op in described if touches(op) for v in op.operands if v is not None), set())

    written = reached(_is_write)
    updated = reached(lambda op: op.name.startswith("tt.atomic")) | (written & reached(_is_read))
    return Parameters(len(parameters), tuple(sorted(written)), tuple(sorted(updated)))
