"""The module `nki.collectives`: groups of ranks are plain data; what exchanges between ranks is not modelled."""

from __future__ import annotations

from typing import Any

from lowering.capture.nki.placeholders import placeholder
from lowering.capture.nki.signatures import missing

_FUNCTIONS = frozenset(["all_gather", "all_gather_v", "all_reduce", "all_to_all", "all_to_all_v", "collective_permute",
                        "collective_permute_implicit", "collective_permute_implicit_current_processing_rank_id",
                        "collective_permute_implicit_reduce", "rank_id", "reduce_scatter", "broadcast", "send", "recv",
                        "num_ranks"])  # fmt: skip


class ReplicaGroup:
    """Groups of ranks."""

    def __init__(self, groups: Any = None, **options: Any) -> None:
        self.groups, self.options = groups, options


def __getattr__(name: str) -> Any:
    if name in _FUNCTIONS:
        return placeholder(f"nki.collectives.{name}")
    return missing("nki.collectives", name, frozenset(), {})
