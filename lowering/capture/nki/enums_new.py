"""Enumerations of nki.isa in the new API (NKI.md §1.6), and the words that the trace has for their members."""

from __future__ import annotations

from enum import Enum
from typing import Any

from lowering.capture.nki.tracer import here
from lowering.errors import UsageError


class engine(Enum):
    unknown, tensor, scalar, gpsimd, dma, vector, sync = range(7)


class reduce_cmd(Enum):
    idle, reset, reduce, reset_reduce, load_reduce = range(5)


class dge_mode(Enum):
    unknown, swdge, hwdge, none = range(4)


class oob_mode(Enum):
    error, skip = range(2)


class matmul_perf_mode(Enum):
    none, double_row = "none", "double_row"


class nc_version(Enum):
    gen2, gen3, gen4 = 2, 3, 4

    def __lt__(self, other: nc_version) -> bool:
        return self.value < other.value

    def __le__(self, other: nc_version) -> bool:
        return self.value <= other.value

    def __gt__(self, other: nc_version) -> bool:
        return self.value > other.value

    def __ge__(self, other: nc_version) -> bool:
        return self.value >= other.value


class dma_engine(Enum):
    dma, gpsimd_dma = 1, 2


tensor_engine, scalar_engine, gpsimd_engine, vector_engine = engine.tensor, engine.scalar, engine.gpsimd, engine.vector
unknown_engine, sync_engine = engine.unknown, engine.sync
_ENGINES = {"unknown": "", "tensor": "pe", "scalar": "act", "gpsimd": "pool", "dma": "dma", "vector": "dve",
            "sync": "sp"}  # fmt: skip


def engine_name(chosen: Any) -> str:
    """KLR's name; '' where the compiler chooses."""
    if chosen is engine.unknown or chosen is None:
        return ""
    word = word_of("engine", chosen, engine)
    return _ENGINES[word]


def word_of(what: str, chosen: Any, kind: type[Enum]) -> str:
    """The name of a member; ``chosen`` may also be its name or its number."""
    if isinstance(chosen, kind):
        return chosen.name
    for member in kind:
        if chosen in (member.name, member.value) and not isinstance(chosen, bool):
            return member.name
    known = ", ".join(member.name for member in kind)
    raise UsageError(f"{here()}: {what}={chosen!r} is no nki.isa.{kind.__name__}; these are: {known}")
