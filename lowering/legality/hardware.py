"""Sizes of the three generations of NeuronCore (architecture guides of Trainium, Trainium2, Trainium3)."""

from __future__ import annotations

from dataclasses import dataclass

LANES = 128
PSUM_BANK, PSUM_BANKS = 2048, 8  # bytes of a partition; banks
PSUM_BYTES = PSUM_BANK * PSUM_BANKS
DMA_EFFICIENT = 512  # bytes of a contiguous run below which a DMA engine is not kept busy


@dataclass(frozen=True, slots=True)
class Hardware:
    """``sbuf``: bytes of a partition; ``usable``: what a kernel may have of them (2.32's constants).

    ``tflops``: of the PE by the width of its operands, in bits.
    """

    name: str
    generation: int
    sbuf: int
    usable: int
    moving: dict[str, int]
    tflops: dict[int, float]


HARDWARE = {
    "gen2": Hardware("Trainium and Inferentia2", 2, 192 << 10, 180224, {"float32": 512}, {32: 23, 16: 92, 8: 92}),
    "gen3": Hardware("Trainium2", 3, 224 << 10, 212984, {"float32": 512}, {32: 20, 16: 79, 8: 158}),
    "gen4": Hardware("Trainium3", 4, 256 << 10, 245752, {"float32": 4096, "bfloat16": 8192}, {32: 20, 16: 79, 8: 315}),
}  # fmt: skip
