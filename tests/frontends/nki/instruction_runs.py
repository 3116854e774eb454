"""Runs single instructions without a kernel file: tiles that hold arrays, what a body records, and its values.

Expected values are numpy's, computed from the formulas of NKI.md §1.6: ``f32`` widens, ``rounded`` is the one rounding
on the way out (to nearest even; integers saturate, a NaN becomes 0).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

from equivalence.evaluator import Machine
from equivalence.interpretations.base import Interpretation
from equivalence.interpretations.depends import Depends
from lowering.capture.nki.dtypes import HELD, dtype_name
from lowering.capture.nki.tile import Tile
from lowering.capture.nki.trace import NEW, SBUF, NkiTrace
from lowering.capture.nki.tracer import Tracer
from lowering.frontends.nki import Model
from lowering.ir.program import Program
from lowering.nki_program import lower_nki

BF16 = ml_dtypes.bfloat16
Body = Callable[..., "Tile | tuple[Tile, ...]"]


@dataclass
class Ran:
    """Values of the outputs in their order, which of their elements are undefined, and the program."""

    values: list[np.ndarray]
    poison: list[np.ndarray]
    program: Program


def traced(body: Body, *arrays: np.ndarray, target: str = "gen3") -> NkiTrace:
    """``body`` gets one SBUF tile per array and gives the tiles to look at."""
    trace = NkiTrace("body", NEW, target)
    with Tracer(trace) as tracer:
        tiles = []
        for number, array in enumerate(arrays):
            storage = tracer.storage(SBUF, dtype_name(array.dtype), array.shape, origin="input", data=array)
            tiles.append(Tile.whole(storage))
            trace.inputs.append((f"x{number}", tiles[-1].ref))
        result = body(*tiles)
    for number, tile in enumerate(result if isinstance(result, tuple) else (result,)):
        trace.outputs.append((f"out{number}", tile.ref))
    return trace


def lowered(body: Body, *arrays: np.ndarray, target: str = "gen3", model: Model | None = None) -> Program:
    return lower_nki(traced(body, *arrays, target=target), model or Model())


def run(body: Body, *arrays: np.ndarray, target: str = "gen3", model: Model | None = None) -> Ran:
    program = lowered(body, *arrays, target=target, model=model)
    planes: list[Interpretation] = [Depends(marks=False)]
    outcome = Machine(program, planes).run({f"x{i}": array for i, array in enumerate(arrays)})
    found = outcome.outputs.values()
    shapes = [x.shape for x in found]
    values = [np.broadcast_to(x.data, (1, *s))[0] for x, s in zip(found, shapes, strict=True)]
    poison = [
        np.broadcast_to((x.planes or {}).get("poison", np.zeros(1, np.uint8)), (1, *s))[0] != 0
        for x, s in zip(found, shapes, strict=True)
    ]
    return Ran(values, poison, program)


def value(body: Body, *arrays: np.ndarray, target: str = "gen3", model: Model | None = None) -> np.ndarray:
    """The first output, none of whose elements is undefined."""
    ran = run(body, *arrays, target=target, model=model)
    assert not any(p.any() for p in ran.poison)
    return ran.values[0]


def tile(shape: tuple[int, ...], dtype: str = "float32", space: str = SBUF) -> Tile:
    """Memory with no particular contents."""
    return Tile.new(space, shape, dtype)


def part(x: Tile, *keys: slice) -> Tile:
    """x[keys]: a strided view."""
    strides = [s * (k.step or 1) for s, k in zip(x.strides, keys, strict=True)]
    ranges = [range(*k.indices(n)) for k, n in zip(keys, x.shape, strict=True)]
    offset = x.offset + sum(r.start * s for r, s in zip(ranges, x.strides, strict=True))
    return x.remade([len(r) for r in ranges], strides, offset)


def spread(x: Tile, times: int) -> Tile:
    """(P, 1) as (P, times), at stride 0."""
    return x.remade((x.shape[0], times), (x.strides[0], 0))


def given(*shape: int, dtype: str = "float32", seed: int = 0, scale: float = 1.0) -> np.ndarray:
    """Normal numbers of a dtype; of integers, small ones of both signs where there are signs."""
    rng = np.random.default_rng([seed, *shape])
    held = np.dtype(HELD[dtype])
    if held.kind in "iu":
        return rng.integers(-100 if held.kind == "i" else 0, 101, shape).astype(held)
    return (scale * rng.standard_normal(shape)).astype(held)


def f32(x: np.ndarray) -> np.ndarray:
    return x.astype(np.float32)


def rounded(x: Any, dtype: str) -> np.ndarray:
    """x, in f32, as an engine writes it."""
    held = np.dtype(HELD[dtype])
    with np.errstate(all="ignore"):
        if held.kind not in "iu":
            return np.asarray(x, np.float32).astype(held)
        info = np.iinfo(held)
        whole = np.nan_to_num(np.rint(np.asarray(x, np.float64)), nan=0.0, posinf=info.max, neginf=info.min)
        return np.array([min(max(int(v), info.min), info.max) for v in whole.ravel()], held).reshape(whole.shape)


def same(got: np.ndarray, wanted: np.ndarray) -> None:
    """Equal bits; NaNs are one value."""
    assert got.shape == wanted.shape and got.dtype == wanted.dtype, (got.shape, wanted.shape, got.dtype, wanted.dtype)
    code = f"u{got.dtype.itemsize}"
    bits = np.ascontiguousarray(got).view(code) == np.ascontiguousarray(wanted).view(code)
    nan = (got != got) & (wanted != wanted)
    assert (bits | nan).all(), (got[~(bits | nan)][:5], wanted[~(bits | nan)][:5])
