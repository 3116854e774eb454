"""nl.tile_size: the sizes of the hardware of the traced target (NKI.md §1.8)."""

from __future__ import annotations

from typing import Any

from lowering.capture.nki.assumptions import assume
from lowering.capture.nki.tracer import active, current, unmodelled

_SBUF_BYTES = {"gen2": 180224, "gen3": 212984, "gen4": 245752}  # that a partition has for tiles (nkipy's constants)
#: alignments are not documented: they move allocations, and change no value
_ALIGNMENTS = {"psum_min_align": 4, "sbuf_min_align": 32}


class _TileSize:
    """Extents in elements, sizes in bytes."""

    pmax, psum_fmax, psum_bank_fmax, psum_bank_fmax_bytes, psum_num_banks = 128, 512, 512, 2048, 8
    gemm_stationary_fmax, gemm_moving_fmax, bn_stats_fmax = 128, 512, 512

    @property
    def total_available_sbuf_size(self) -> int:
        return _SBUF_BYTES[current().trace.target if active() else "gen3"]

    sbuf_size_bytes = sbuf_fmax_bytes = total_available_sbuf_size

    @property
    def sbuf_fmax(self) -> int:
        """In elements of four bytes."""
        return self.total_available_sbuf_size // 4

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name in _ALIGNMENTS:
            assume("tile_size")
            return _ALIGNMENTS[name]
        raise unmodelled(f"nl.tile_size.{name}")


tile_size = _TileSize()
