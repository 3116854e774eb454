"""Dots of f32 operands as sums of narrow products: their bound covers what such a dot really loses (docs/verdicts.md).

The split itself is emulated in numpy: parts rounded to nearest, the smallest products left out, the rest summed in f64.
"""

from __future__ import annotations

from itertools import product as pairs_of
from typing import Any

import numpy as np
import pytest

from equivalence.evaluator import Machine
from equivalence.interpretations.error import Error
from equivalence.interpretations.error_dots import SPLITS
from equivalence.numerics.rounding import cast_float
from tests.semantics.programs import program

PARTS = {"tf32x3": ("tf32", 2), "bf16x3": ("bf16", 2), "bf16x6": ("bf16", 3)}
SIZES = "f32[7,24]", "f32[24,5]"


def parts(x: np.ndarray, fmt: str, count: int) -> list[np.ndarray]:
    found, rest = [], x.astype(np.float32)
    for _ in range(count):
        part = cast_float(rest, "f32", fmt).astype(np.float32)
        found.append(part.astype(np.float64))
        rest = (rest - part).astype(np.float32)
    return found


def emulated(a: np.ndarray, b: np.ndarray, precision: str) -> np.ndarray:
    """Part i times part j is kept while i + j is at most the number of parts + 1 (counted from 1)."""
    fmt, count = PARTS[precision]
    rows, columns = parts(a, fmt, count), parts(b, fmt, count)
    kept = [(i, j) for i, j in pairs_of(range(count), repeat=2) if i + j < count]
    assert len(kept) == SPLITS[precision].products
    return sum((rows[i] @ columns[j] for i, j in kept), np.zeros((a.shape[0], b.shape[1])))


def bound(a: np.ndarray, b: np.ndarray, precision: str) -> np.ndarray:
    def body(k: Any, x: Any, y: Any) -> Any:
        return k.b("dot", x, y, acc="f32", precision=precision)

    done = Machine(program(body, *SIZES), [Error()]).run({"x0": a, "x1": b})
    planes = done.outputs["out0"].planes
    assert planes is not None
    return np.broadcast_to(planes["bound"], (1, 7, 5))[0]


def worst_for(fmt: str, shape: tuple[int, ...], seed: int) -> np.ndarray:
    """Positive values whose two first parts are both off by nearly half a step, and of one sign."""
    p = {"tf32": 11, "bf16": 8}[fmt]
    step = 2.0 ** (1 - p)
    value = 1.0 + step / 2 * (1 - 2.0**-p) - 2.0**-23 * np.random.default_rng(seed).integers(0, 3, shape)
    return value.astype(np.float32)


@pytest.mark.parametrize("precision", PARTS)
@pytest.mark.parametrize("kind", ["normal", "worst", "tiny"])
def test_what_is_lost_lies_within_the_bound(precision: str, kind: str) -> None:
    rng = np.random.default_rng(3)
    if kind == "worst":
        a, b = (worst_for(PARTS[precision][0], shape, i) for i, shape in enumerate([(7, 24), (24, 5)]))
    else:
        scale = 1.0 if kind == "normal" else 2.0**-122
        a, b = ((scale * rng.standard_normal(s)).astype(np.float32) for s in ((7, 24), (24, 5)))
        b = b / np.float32(scale)
    exact = a.astype(np.float64) @ b.astype(np.float64)
    lost = np.abs(emulated(a, b, precision) - exact)
    most = bound(a, b, precision)
    assert (lost <= most).all()
    assert lost.max() > 0 or precision == "bf16x6"


@pytest.mark.parametrize("precision", ["tf32x3", "bf16x3"])
def test_the_split_is_charged_by_itself(precision: str) -> None:
    """On the worst values the loss is a good part of what is charged for the split; without a split nothing is."""
    shapes = (7, 24), (24, 5)
    a, b = (worst_for(PARTS[precision][0], shape, i) for i, shape in enumerate(shapes))
    charged = SPLITS[precision].lost * (np.abs(a).astype(np.float64) @ np.abs(b).astype(np.float64))
    lost = np.abs(emulated(a, b, precision) - a.astype(np.float64) @ b.astype(np.float64))
    assert (lost <= charged).all() and lost.max() > charged.max() / 16
    assert (bound(a, b, precision) > bound(a, b, "ieee")).all()


def test_operands_that_a_narrow_format_does_not_hold_have_no_bound() -> None:
    a, b = np.full((7, 24), 3.4e38, np.float32), np.full((24, 5), 1e-30, np.float32)
    assert np.isinf(bound(a, b, "bf16x3")).all() and np.isfinite(bound(a, b, "ieee")).all()
