"""What an interpretation is: a meaning for every scalar primitive, over its own planes.

Gives Interpretation and Site.  An interpretation must not know the evaluator, control, memory or other
interpretations; structure is moved for it.  Primitives are methods ``op_<name>``; the contract test fails by name for
each record with ``primitive=True`` that has no method.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

from equivalence.evaluator.lanes import Lanes, Planes
from lowering.errors import UNKNOWN_SPAN, Span


@dataclass(frozen=True, slots=True)
class Site:
    """Where and how a primitive is applied: its attributes, and the key under which its open choices are fixed.

    ``key`` names (source digest, position of the op); two executions with equal keys make equal choices.
    """

    name: str
    attrs: dict[str, Any] = field(default_factory=dict)
    key: str = ""
    number: int = 0
    active: np.ndarray | None = None  # [batch] bool: instances that run; None when all do
    span: Span = UNKNOWN_SPAN


@dataclass(slots=True)
class Sums:
    """Float sums, each an element of arrays [n]: of how many terms, and what is known of them together.

    ``size``: their magnitudes added up; ``step``: a power of two of which all are multiples, infinite of zeros;
    ``passed``: each plane of theirs added up.
    """

    count: np.ndarray
    size: np.ndarray
    step: np.ndarray
    passed: dict[str, np.ndarray]


@lru_cache(maxsize=65536)
def tag(text: str) -> int:
    """A stable number for a name, the mixer's tag: 63 bits, so that no two names of a run ever share one."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little") >> 1


def is_instruction(impl: str) -> bool:
    """Whether ``impl`` is one function of its operands wherever it is used: a device's instruction or table."""
    return impl in ("cuda", "libdevice") or impl.startswith("nki:")


class Interpretation:
    """Base of all interpretations."""

    name: str = ""
    planes: dict[str, np.dtype]
    sums_in_any_order: bool = False  # whether it has planes of its own for sums that colliding lanes make
    counts_lanes: bool = False  # whether an input's planes are more than a function of position and value

    def literal(self, data: np.ndarray, lanes: Lanes) -> Planes:
        """Planes of literal lanes with the concrete values ``data`` (``lanes`` gives the dtype)."""
        raise NotImplementedError(f"{self.name}: literal")

    def atom(self, name: str, index: np.ndarray, lanes: Lanes) -> Planes:
        """Planes of the elements ``index`` (flat positions) of the input called ``name``."""
        raise NotImplementedError(f"{self.name}: atom")

    def undefined(self, first: int, lanes: Lanes) -> Planes:
        """Planes of fresh undefined lanes numbered from ``first``; ``lanes.data`` has the full extents."""
        raise NotImplementedError(f"{self.name}: undefined")

    def in_any_order(self, out: Lanes, sums: Sums) -> Planes:
        """Planes [n] of n float sums that are made in some order; ``out`` has the sums of one order."""
        raise NotImplementedError(f"{self.name}: in_any_order")

    def steered(self, value: Lanes) -> bool:
        """Told that control, a mask or an address follows ``value``, which holds float data.

        Says whether rounding may turn what follows.
        """
        return False

    def values_used(self, value: Lanes) -> None:
        """Told that control, a mask or an address follows ``value``, which integer inputs have made."""

    def unread(self, source: Lanes) -> None:
        """Told that float data choose which elements of ``source`` are read: other data may choose others."""

    def apply(self, site: Site, out: Lanes, args: Sequence[Lanes]) -> Planes:
        """Planes of a primitive's result; ``out`` has its dtype, shape and ieee data already."""
        return getattr(self, f"op_{site.name}")(site, out, *args)

    def several(self, site: Site, outs: Sequence[Lanes], args: Sequence[Lanes], extra: Any = None) -> list[Planes]:
        """As apply for primitives with several results (argmax pairs, sort)."""
        return getattr(self, f"multi_{site.name}")(site, outs, args, extra)
