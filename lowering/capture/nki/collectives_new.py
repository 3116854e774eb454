"""The module `nki.collectives`: groups of ranks are plain data; within a group of one rank a collective is a copy.

What several ranks exchange is not in one program: these are refused with the line and the number of ranks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lowering.capture.nki import instructions
from lowering.capture.nki.operands import tile
from lowering.capture.nki.placeholders import placeholder
from lowering.capture.nki.signatures import api, missing
from lowering.capture.nki.tracer import here, unmodelled
from lowering.errors import UsageError

_OTHERS = frozenset(["all_gather_v", "all_to_all_v", "collective_permute_implicit",
                     "collective_permute_implicit_current_processing_rank_id", "collective_permute_implicit_reduce",
                     "rank_id", "broadcast", "send", "recv", "num_ranks"])  # fmt: skip
_ALONE = "between ranks of one each, a collective is a copy and is read as one"


class ReplicaGroup:
    """Groups of ranks."""

    def __init__(self, groups: Any = None, **options: Any) -> None:
        self.groups, self.options = groups, options


@api("nki.collectives.all_gather")
def all_gather(
    srcs: Any, dsts: Any, replica_group: Any, collective_dim: int, priority: Any = None, name: Any = None
) -> None:
    _alone("all_gather", srcs, dsts, replica_group)


@api("nki.collectives.all_reduce")
def all_reduce(srcs: Any, dsts: Any, replica_group: Any, op: Any, priority: Any = None, name: Any = None) -> None:
    _alone("all_reduce", srcs, dsts, replica_group)


@api("nki.collectives.all_to_all")
def all_to_all(
    srcs: Any, dsts: Any, replica_group: Any, collective_dim: int, priority: Any = None, name: Any = None
) -> None:
    _alone("all_to_all", srcs, dsts, replica_group)


@api("nki.collectives.reduce_scatter")
def reduce_scatter(
    srcs: Any, dsts: Any, replica_group: Any, collective_dim: int, op: Any, priority: Any = None, name: Any = None
) -> None:
    _alone("reduce_scatter", srcs, dsts, replica_group)


@api("nki.collectives.collective_permute")
def collective_permute(srcs: Any, dsts: Any, source_target_pairs: Any, priority: Any = None, name: Any = None) -> None:
    pairs = [tuple(int(rank) for rank in pair) for pair in source_target_pairs]
    if any(source != target for source, target in pairs) or len(pairs) != 1:
        raise unmodelled(f"nki.collectives.collective_permute along {pairs}", _ALONE)
    _copies("collective_permute", srcs, dsts)


def _alone(what: str, srcs: Any, dsts: Any, group: Any) -> None:
    """A copy, where every group is one rank."""
    groups = getattr(group, "groups", None)
    sizes = {len(ranks) for ranks in groups} if isinstance(groups, list | tuple) and groups else set()
    if sizes != {1}:
        most = f" over groups of {max(sizes)} ranks" if sizes else ""
        raise unmodelled(f"nki.collectives.{what}{most}", _ALONE)
    _copies(what, srcs, dsts)


def _copies(what: str, srcs: Sequence[Any], dsts: Sequence[Any]) -> None:
    if not isinstance(srcs, list | tuple) or not isinstance(dsts, list | tuple) or len(srcs) != len(dsts):
        raise UsageError(f"{here()}: nki.collectives.{what} takes a list of sources and one of as many destinations")
    for src, dst in zip(srcs, dsts, strict=True):
        if tile(f"a source of {what}", src).dtype_name != tile(f"a destination of {what}", dst).dtype_name:
            raise UsageError(f"{here()}: nki.collectives.{what}: from {src.dtype_name} to {dst.dtype_name}")
        instructions.dma_copy(dst, src)


def __getattr__(name: str) -> Any:
    if name in _OTHERS:
        return placeholder(f"nki.collectives.{name}")
    return missing("nki.collectives", name, frozenset(), {})
