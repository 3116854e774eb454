"""What a run costs each engine, counted on its trace: no schedule, no timing model, nothing but the documented rates.

Takes a trace; gives Cost.  The PE array streams one column of the moving tile at a time through 128 x 128 cells, f32 at
a quarter of the rate (architecture guides); DVE, ACT and GpSimd take an element of each partition at a time.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from typing import Any

from lowering.capture.nki.dtypes import size_of
from lowering.capture.nki.trace import HBM, PSUM, SBUF, SHARED_HBM, Instr, NkiTrace
from lowering.capture.trace import TensorRef
from lowering.legality.hardware import DMA_EFFICIENT, HARDWARE, LANES, PSUM_BYTES
from lowering.legality.live import Peak, high_water
from lowering.legality.places import base_of, of_one_tile, on_chip, run_bytes, space, tiles_of


@dataclass(slots=True)
class TensorCost:
    """``flops``: two for each product that is added; ``cells``: what the array could have done in the same columns;
    ``seconds``: of these columns at the documented rate of their dtypes; ``moved``: elements of PE transposes."""

    matmuls: int = 0
    flops: int = 0
    cells: int = 0
    seconds: float = 0.0
    transposes: int = 0
    moved: int = 0

    @property
    def utilisation(self) -> float:
        return self.flops / self.cells if self.cells else 0.0


@dataclass(slots=True)
class DmaCost:
    """Bytes by direction; ``runs``: how often a contiguous run of so many bytes occurs, the shorter of both sides."""

    transfers: int = 0
    read: int = 0
    written: int = 0
    on_chip: int = 0
    runs: dict[int, int] = field(default_factory=dict)

    @property
    def short(self) -> float:
        """The part of all bytes that goes in runs too short to keep an engine busy."""
        every = sum(size * count for size, count in self.runs.items())
        few = sum(size * count for size, count in self.runs.items() if size < DMA_EFFICIENT)
        return few / every if every else 0.0


@dataclass(slots=True)
class VectorCost:
    """Of one of the engines that work on an element of each partition at a time; ``steps``: elements per partition."""

    instructions: int = 0
    elements: int = 0
    steps: int = 0

    @property
    def lanes(self) -> float:
        """The part of the 128 partitions that is used, on average."""
        return self.elements / (LANES * self.steps) if self.steps else 0.0


@dataclass(slots=True)
class Cost:
    """``peaks``: the most bytes of a partition that are in use at once, for 'sbuf' and 'psum'."""

    tensor: TensorCost
    dma: DmaCost
    engines: dict[str, VectorCost]
    peaks: dict[str, Peak]
    capacity: dict[str, int]

    @property
    def intensity(self) -> float:
        """Floating point operations of the PE and elements of the others for each byte between HBM and the chip."""
        work = self.tensor.flops + sum(engine.elements for engine in self.engines.values())
        return work / max(self.dma.read + self.dma.written, 1)

    def data(self) -> dict[str, Any]:
        """As plain data for JSON."""
        tensor, dma = self.tensor, self.dma
        return {
            "pe": {"matmuls": tensor.matmuls, "flops": tensor.flops, "utilisation": tensor.utilisation,
                   "least_seconds": tensor.seconds, "transposes": tensor.transposes,
                   "transposed_elements": tensor.moved},
            "dma": {"transfers": dma.transfers, "bytes_from_hbm": dma.read, "bytes_to_hbm": dma.written,
                    "bytes_on_chip": dma.on_chip, "bytes_in_short_runs": dma.short,
                    "runs": [{"bytes": size, "count": count} for size, count in sorted(dma.runs.items())]},
            "engines": {name: {"instructions": one.instructions, "elements": one.elements,
                               "elements_per_partition": one.steps, "partitions_used": one.lanes}
                        for name, one in self.engines.items()},
            "arithmetic_intensity": self.intensity,
            "high_water": {where: {"bytes_per_partition": peak.nbytes, "of": self.capacity[where],
                                   "tiles": peak.tiles} for where, peak in self.peaks.items()},
        }  # fmt: skip


def cost(trace: NkiTrace) -> Cost:
    """Counts every instruction."""
    made = Cost(
        TensorCost(),
        DmaCost(),
        {name: VectorCost() for name in ("dve", "act", "pool")},
        {where: high_water(trace, where) for where in (SBUF, PSUM)},
        {SBUF: HARDWARE[trace.target].usable, PSUM: PSUM_BYTES},
    )
    for instr in trace.instrs:
        if instr.engine == "pe":
            _on_pe(trace, instr, made.tensor)
        elif instr.engine == "dma":
            _by_dma(trace, instr, made.dma)
        elif instr.engine in made.engines:
            _on_lanes(trace, instr, made.engines[instr.engine])
    return made


def _on_pe(trace: NkiTrace, instr: Instr, cost: TensorCost) -> None:
    tiles = tiles_of(instr.src)
    if instr.op == "transpose" or instr.attrs.get("is_transpose"):
        cost.transposes += 1
        cost.moved += prod(tiles[0].shape)
        return
    stationary, moving = tiles[0], tiles[1]
    double = 2 if instr.attrs.get("perf_mode", "none") != "none" else 1
    packed = 4 if instr.op == "mat_mul_mx" else 1
    lanes, rows, columns = stationary.shape[0], prod(stationary.shape[1:]), prod(moving.shape[1:]) // double
    width = 8 if packed > 1 else 8 * max(size_of(stationary.dtype), size_of(moving.dtype))
    cells = 2 * LANES * LANES * columns * packed
    cost.matmuls += 1
    cost.flops += 2 * lanes * rows * columns * packed
    cost.cells += cells * double
    cost.seconds += cells * double / (HARDWARE[trace.target].tflops[width] * 1e12)


def _by_dma(trace: NkiTrace, instr: Instr, cost: DmaCost) -> None:
    views = tiles_of((*instr.src, *instr.dst))
    if not views or not instr.dst or not instr.src:
        return
    cost.transfers += 1
    kept = 1.0 if instr.mask is None else float(instr.mask.mean())
    for view in tiles_of(instr.src):
        if space(trace, view) in (HBM, SHARED_HBM):
            cost.read += int(_nbytes(view) * kept)
    written = base_of(instr.dst[0])
    if written is not None:
        to_hbm = space(trace, written) in (HBM, SHARED_HBM)
        nbytes = int(_nbytes(written) * kept)
        cost.written += nbytes if to_hbm else 0
        from_hbm = any(space(trace, view) in (HBM, SHARED_HBM) for view in tiles_of(instr.src))
        cost.on_chip += nbytes if not to_hbm and not from_hbm else 0
        run = _run(trace, instr, views)
        cost.runs[run] = cost.runs.get(run, 0) + max(1, nbytes // run)


def _run(trace: NkiTrace, instr: Instr, views: list[TensorRef]) -> int:
    """The shortest contiguous run among the sides; a transpose goes element by element."""
    if instr.op == "dma_transpose":
        return min(size_of(view.dtype) for view in views)
    return min(run_bytes(view, 1 if on_chip(trace, view) else 0) for view in views)


def _on_lanes(trace: NkiTrace, instr: Instr, cost: VectorCost) -> None:
    """The largest operand sets the number of steps."""
    views = tiles_of((*instr.src, *instr.dst))
    cost.instructions += 1
    if views:
        largest = max(views, key=lambda view: prod(view.shape))
        cost.elements += prod(largest.shape)
        tile = of_one_tile(trace.storages[largest.storage], largest)
        cost.steps += prod(largest.shape) // max(tile.shape[0] if tile.shape else 1, 1)


def _nbytes(ref: TensorRef) -> int:
    return prod(ref.shape) * size_of(ref.dtype)
