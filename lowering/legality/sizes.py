"""How many partitions and elements an instruction may take (docs: the page of each instruction; tile sizes).

Takes a trace; gives findings.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from lowering.capture.nki.trace import ON_CHIP, Instr, NkiTrace
from lowering.capture.trace import TensorRef
from lowering.legality.finding import Finding
from lowering.legality.hardware import HARDWARE, LANES
from lowering.legality.places import lanes_of, named, of_one_tile, on_chip, refs, tiles_of

_MX_ROWS = 32  # partitions that a microscaled matmul contracts at once


def sizes(trace: NkiTrace) -> Iterator[Finding]:
    """Partitions of tiles and of views; sizes of single instructions."""
    for storage in trace.storages.values():
        start = storage.pinned[0] if storage.pinned else 0
        if storage.space in ON_CHIP and lanes_of(storage) <= LANES < start + lanes_of(storage):
            said = f"a tile of {lanes_of(storage)} partitions is put at partition {start}"
            yield Finding("nki-partitions", said, storage.span)
        if storage.space in ON_CHIP and lanes_of(storage) > LANES:
            said = f"a tile of shape {storage.shape} in {storage.space} has {lanes_of(storage)} partitions"
            yield Finding("nki-partitions", said, storage.span)
    for instr in trace.instrs:
        for view in refs(instr):
            ref = of_one_tile(trace.storages[view.storage], view)
            if on_chip(trace, ref) and ref.shape and ref.shape[0] > LANES:
                yield Finding("nki-partitions", f"{instr.op} takes {named(trace, ref)}", instr.span)
        yield from _of_instruction(trace, instr)


def _of_instruction(trace: NkiTrace, instr: Instr) -> Iterator[Finding]:
    tiles = tiles_of(instr.src)
    if instr.op in ("nc_mat_mul", "mat_mul_mx") and len(tiles) >= 2:
        yield from _matmul(trace, instr, tiles[0], tiles[1])
    elif instr.op == "transpose" and tiles:
        yield from _transpose(instr, tiles[0])
    elif instr.op in _FREE and tiles:
        least, most = _FREE[instr.op]
        if not least <= free(tiles[0]) <= most:
            said = f"{instr.op} takes {least} to {most} elements per partition, and not {free(tiles[0])}"
            yield Finding("nki-instruction-size", said, instr.span)
    elif instr.op == "dma_compute" and len(tiles) > 16:
        yield Finding("nki-instruction-size", f"dma_compute takes 16 sources at most, and not {len(tiles)}", instr.span)


#: elements per partition of the first source, least and most
_FREE = {"batch_norm_stats": (1, 512), "max8": (8, 16384), "find_index8": (8, 16384), "match_replace8": (8, 16384)}


def _matmul(trace: NkiTrace, instr: Instr, stationary: TensorRef, moving: TensorRef) -> Iterator[Finding]:
    double = 2 if instr.attrs.get("perf_mode", "none") != "none" else 1
    rows, columns = free(stationary) // double, free(moving) // double
    most = HARDWARE[trace.target].moving
    dst = instr.dst[0]
    limit = most.get(dst.dtype if isinstance(dst, TensorRef) else "", most["float32"])
    for what, size, allowed in (("rows (the stationary tile's free size)", rows, LANES),
                                ("columns (the moving tile's free size)", columns, limit)):  # fmt: skip
        if size > allowed:
            yield Finding("nki-matmul-size", f"{instr.op}: {size} {what}; at most {allowed}", instr.span)
    if instr.op == "mat_mul_mx" and (stationary.shape[0] % _MX_ROWS or rows % 2):
        said = (
            f"mat_mul_mx: {stationary.shape[0]} partitions and {rows} rows; multiples of {_MX_ROWS} and of 2 are taken"
        )
        yield Finding("nki-matmul-size", said, instr.span)


def _transpose(instr: Instr, data: TensorRef) -> Iterator[Finding]:
    most = 32 if instr.engine == "dve" else LANES
    if data.shape[0] > most or free(data) > most:
        said = f"a transpose on {_ENGINE[instr.engine]} takes {most} x {most}, and not {data.shape[0]} x {free(data)}"
        yield Finding("nki-instruction-size", said, instr.span)


_ENGINE = {"pe": "the Tensor engine", "dve": "the Vector engine"}


def free(ref: TensorRef) -> int:
    """Elements per partition."""
    return prod(ref.shape[1:])
