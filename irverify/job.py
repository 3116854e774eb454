"""What a worker is asked to do, as plain data that survives JSON.

Takes nothing; gives Job.  ``leader``: the side that makes the inputs and decides which shapes count.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One side's work."""

    side: str  # 'a' or 'b'
    path: str
    entry: str
    adapter: str
    exchange: str  # directory
    specs: list[str] | None = None  # --input texts; None: from get_inputs, or published as 'given' by the API
    leader: str = "a"
    init_from: str | None = None  # the side whose file has get_init_inputs
    weights_from: str | None = None  # the side whose Model's weights both use
    shapes: list[str] = field(default_factory=lambda: ["auto"])
    sizes: dict[str, int] = field(default_factory=dict)  # module-level ints of the get_inputs file
    blocks: list[int] = field(default_factory=list)
    seed: int = 0
    target: str = "sm_80"
    nki_target: str = "trn2"
    nki_version: str = "0.6"
    form: str = "kir"  # as in CaptureOptions
    backward: bool = False
    config: str = "first"
    variant_seconds: float = 40.0  # no new shapes are started after this long
    max_shapes: int = 7
    layouts: bool = False  # whether the arguments are also tried as views
    inference: bool = False  # whether models are captured in evaluation mode too
    formulas: bool = True  # as in CaptureOptions
    defaults: dict[str, tuple[int, float]] = field(default_factory=dict)  # float defaults that both sides have
    built: dict[str, tuple[int, float]] = field(default_factory=dict)  # the same of the models' constructors

    @property
    def is_leader(self) -> bool:
        return self.side == self.leader

    def to_json(self) -> dict[str, Any]:
        return asdict(self)
