"""Which dtypes an instruction takes, and where integers lose digits.

Takes a trace; gives findings.  Sources: the pages of nki.isa; release notes of 0.3 for memset.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from lowering.capture.nki.dtypes import FLOATS, size_of
from lowering.capture.nki.ops import BITVEC
from lowering.capture.nki.trace import BETA1, ON_CHIP, Instr, NkiTrace
from lowering.capture.trace import TensorRef
from lowering.legality.finding import Finding
from lowering.legality.hardware import HARDWARE
from lowering.legality.places import tiles_of

_PE = ("float8_e4m3", "float8_e5m2", "float8_e4m3fn", "bfloat16", "float16", "tfloat32", "float32")
_WIDE = ("float32", "tfloat32")
_NATIVE = ("add", "subtract", "mult")
_ARITHMETIC = ("tensor_tensor", "tensor_scalar", "nc_scalar_tensor_tensor", "tensor_scalar_reduce", "tensor_reduce",
               "nc_activate", "tensor_tensor_scan", "tensor_scalar_cumulative")  # fmt: skip
Check = Callable[[NkiTrace, Instr, list[TensorRef]], Iterator[Finding]]


def dtypes(trace: NkiTrace) -> Iterator[Finding]:
    """Of tiles, and of every instruction's operands."""
    generation = HARDWARE[trace.target].generation
    for storage in trace.storages.values():
        if storage.space in ON_CHIP and size_of(storage.dtype) > 4:
            yield Finding("nki-dtype", f"a tile of {storage.dtype}: there are no 64-bit numbers on chip", storage.span)
        if storage.space in ON_CHIP and storage.dtype == "float8_e4m3fn" and generation < 4:
            yield Finding("nki-dtype", "float8_e4m3fn is there from Trainium3 on; float8_e4m3 before", storage.span)
    for instr in trace.instrs:
        tiles = tiles_of(instr.src)
        check = _CHECKS.get(instr.op)
        if check is not None:
            yield from check(trace, instr, tiles)
        yield from _bits(instr, tiles)
        yield from _integers(instr, tiles)


def _matmul(trace: NkiTrace, instr: Instr, tiles: list[TensorRef]) -> Iterator[Finding]:
    names = [tile.dtype for tile in tiles[:2]]
    for name in names:
        if name not in _PE:
            yield Finding("nki-matmul-dtype", f"an operand of nc_matmul is {name}", instr.span)
    wide = [name in _WIDE for name in names]
    if any(wide) and not all(wide):
        yield Finding("nki-matmul-dtype", f"nc_matmul of {names[0]} with {names[1]}", instr.span)
    if sorted(names) == ["float8_e4m3", "float8_e4m3fn"]:
        yield Finding("nki-matmul-dtype", f"nc_matmul of {names[0]} with {names[1]}", instr.span)
    dst = instr.dst[0]
    written = ("float32", "bfloat16") if HARDWARE[trace.target].generation >= 4 else ("float32",)
    if isinstance(dst, TensorRef) and dst.dtype not in written and not instr.attrs.get("is_transpose"):
        yield Finding(
            "nki-matmul-dtype", f"nc_matmul writes {dst.dtype}; {' or '.join(written)} are written", instr.span
        )


def _equal(trace: NkiTrace, instr: Instr, tiles: list[TensorRef]) -> Iterator[Finding]:
    """Data that are moved keep their dtype."""
    dst = instr.dst[0]
    if trace.generation != BETA1 and tiles and isinstance(dst, TensorRef) and tiles[0].dtype != dst.dtype:
        yield Finding(
            "nki-dtype", f"{instr.op} moves {tiles[0].dtype} into {dst.dtype}: they have to be equal", instr.span
        )


def _predicated(trace: NkiTrace, instr: Instr, tiles: list[TensorRef]) -> Iterator[Finding]:
    yield from _one_of(instr, "the predicate", tiles[-1], ("uint8", "uint16", "uint32"))
    if len(tiles) > 1:
        yield from _equal(trace, instr, tiles)


def _select(_: NkiTrace, instr: Instr, tiles: list[TensorRef]) -> Iterator[Finding]:
    yield from _one_of(instr, "the predicate", tiles[0], ("uint8", "int8", "uint16", "int16"))
    if len(tiles) > 1 and tiles[1].dtype in ("int32", "uint32"):
        yield Finding("nki-dtype", f"on_true of {instr.op} is {tiles[1].dtype}: no 32-bit integer is taken", instr.span)


def _indices(*allowed: str, of: int) -> Check:
    """Source number ``of`` holds indices; -1: the destination does."""

    def check(_: NkiTrace, instr: Instr, tiles: list[TensorRef]) -> Iterator[Finding]:
        found = instr.dst[0] if of < 0 else tiles[of] if len(tiles) > of else None
        if isinstance(found, TensorRef):
            yield from _one_of(instr, "the index", found, allowed)

    return check


def _cumulative(_: NkiTrace, instr: Instr, tiles: list[TensorRef]) -> Iterator[Finding]:
    if tiles[0].dtype in ("int32", "uint32"):
        yield Finding("nki-dtype", f"{instr.op} takes no {tiles[0].dtype}", instr.span)


def _memset(trace: NkiTrace, instr: Instr, _: list[TensorRef]) -> Iterator[Finding]:
    dst, value = instr.dst[0], instr.src[0]
    if trace.generation == BETA1 or not isinstance(dst, TensorRef) or dst.dtype in FLOATS:
        return
    if isinstance(value, float) and not value.is_integer():
        yield Finding("nki-dtype", f"memset puts {value} into a tile of {dst.dtype}", instr.span)


def _each(src: dict[int, tuple[str, ...]], dst: dict[int, tuple[str, ...]]) -> Check:
    """The dtypes that sources and destinations may have, by their number."""

    def check(_: NkiTrace, instr: Instr, _tiles: list[TensorRef]) -> Iterator[Finding]:
        for what, views, wanted in (("source", instr.src, src), ("destination", instr.dst, dst)):
            for number, allowed in wanted.items():
                view = views[number]
                if isinstance(view, TensorRef):
                    yield from _one_of(instr, f"{what} {number + 1}", view, allowed)

    return check


_SCALE = ("uint8", "float8_e8m0fnu")
_CHECKS: dict[str, Check] = {
    "nc_mat_mul": _matmul,
    "transpose": _equal,
    "dma_transpose": _equal,
    "copy_predicated": _predicated,
    "select_reduce": _select,
    "nc_local_gather": _indices("uint16", of=1),
    "nc_n_gather": _indices("uint32", of=1),
    "find_index8": _indices("uint16", "uint32", of=-1),
    "tensor_scalar_cumulative": _cumulative,
    "mem_set": _memset,
    "quantize_mx": _each({0: ("float16", "bfloat16")}, {1: _SCALE}),
    "mat_mul_mx": _each({2: _SCALE, 3: _SCALE}, {0: ("float32", "bfloat16")}),
    "topk": _each({0: ("bfloat16",)}, {0: ("bfloat16",), 1: ("uint32",)}),
    "rand_get_state": _each({}, {0: ("uint32",)}),
    "rand_set_state": _each({0: ("uint32",)}, {}),
}


def _one_of(instr: Instr, what: str, tile: TensorRef, allowed: tuple[str, ...]) -> Iterator[Finding]:
    if tile.dtype not in allowed:
        said = f"{what} of {instr.op} is {tile.dtype}; it has to be {' or '.join(allowed)}"
        yield Finding("nki-dtype", said, instr.span)


def _ops(instr: Instr) -> list[str]:
    return [op for op in (instr.attrs.get(name) for name in ("op", "op0", "op1")) if isinstance(op, str)]


def _bits(instr: Instr, tiles: list[TensorRef]) -> Iterator[Finding]:
    if not set(_ops(instr)) & BITVEC:
        return
    for tile in tiles:
        if tile.dtype in FLOATS:
            yield Finding("nki-dtype", f"{instr.op}: {_ops(instr)[0]} of {tile.dtype}: integers have bits", instr.span)


def _integers(instr: Instr, tiles: list[TensorRef]) -> Iterator[Finding]:
    """32-bit integers through f32: a warning, since small ones lose nothing."""
    if instr.op not in _ARITHMETIC or set(_ops(instr)) & BITVEC:
        return
    found = [tile.dtype for tile in tiles if tile.dtype in ("int32", "uint32")]
    native = instr.engine == "pool" and instr.op == "tensor_tensor" and set(_ops(instr)) <= set(_NATIVE)
    if found and not native:
        said = f"{instr.op} computes {found[0]} in f32: what is beyond 2^24 is rounded"
        yield Finding("nki-integers", said, instr.span, "warning")
