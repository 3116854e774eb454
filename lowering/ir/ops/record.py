"""What an op record is.  Gives OpRecord, the registry RECORDS, and small type-rule helpers.

An op is one record in one file of this folder: its type rule, its attributes and what it means.  ``primitive`` ops are
those every interpretation must give a meaning to (a contract test fails by name for each one missing); the others are
structure, memory and control, which the evaluator does alike for all interpretations.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from lowering.errors import InternalError
from lowering.ir.program import Block
from lowering.ir.types import TensorType

Attrs = dict[str, Any]
TypeRule = Callable[[Sequence[TensorType], Attrs, Sequence[Block]], list[TensorType]]


@dataclass(frozen=True, slots=True)
class OpRecord:
    """``attrs`` maps each attribute to its default (REQUIRED when there is none); ``doc`` is the op's meaning."""

    name: str
    infer: TypeRule
    doc: str
    primitive: bool = False
    attrs: dict[str, Any] = field(default_factory=dict[str, Any])
    regions: int | None = 0  # None: any number


REQUIRED = object()
RECORDS: dict[str, OpRecord] = {}


def register(
    name: str,
    infer: TypeRule,
    doc: str,
    *,
    primitive: bool = False,
    attrs: dict[str, Any] | None = None,
    regions: int | None = 0,
) -> None:
    """Adds a record; a name is registered once."""
    if name in RECORDS:
        raise InternalError(f"op {name} is registered twice")
    RECORDS[name] = OpRecord(name, infer, doc, primitive, attrs or {}, regions)


class TypeRuleError(InternalError):
    """An op was built with operands that its type rule refuses: a mistake in a front end."""


def require(condition: bool, message: str) -> None:
    if not condition:
        raise TypeRuleError(message)


def same_types(types: Sequence[TensorType], what: str) -> TensorType:
    """All operand types are equal; returns that type."""
    require(len(set(types)) == 1, f"{what}: operand types differ: {', '.join(map(str, types))}")
    return types[0]


def arity(types: Sequence[TensorType], n: int, what: str) -> None:
    require(len(types) == n, f"{what} takes {n} operands, got {len(types)}")
