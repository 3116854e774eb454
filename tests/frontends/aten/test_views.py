"""Views of just-written memory: whatever as_view gives is what numpy's strides would read, and it refuses the rest."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

from equivalence.evaluator import Machine
from lowering.capture.trace import TensorRef
from lowering.ir.builder import Builder
from lowering.ir.program import Program
from lowering.ir.types import F32, TensorType
from lowering.views import as_view

_MEMORY = np.arange(200, dtype=np.float32)


def ref(shape: tuple[int, ...], strides: tuple[int, ...], offset: int = 0) -> TensorRef:
    return TensorRef(0, "float32", shape, strides, offset)


def strided(r: TensorRef) -> np.ndarray:
    return as_strided(_MEMORY[r.offset :], r.shape, [4 * s for s in r.strides])


WRITTEN = [
    ref((3, 5, 7), (35, 7, 1)),
    ref((3, 5), (1, 3), 4),
    ref((3, 5), (20, 2), 6),
    ref((5,), (1,)),
    ref((1, 4, 1), (9, 2, 5)),
]
WANTED = [
    ref((5, 3, 7), (7, 35, 1)),
    ref((15, 7), (7, 1)),
    ref((3, 7), (35, 1), 14),
    ref((3, 2, 3), (35, 14, 2), 8),
    ref((3, 4, 5), (1, 0, 3), 4),
    ref((5, 3), (3, 1), 4),
    ref((15,), (1,), 4),
    ref((2, 5), (20, 2), 26),
    ref((3, 5), (20, 2), 8),
    ref((2, 3), (2, 1)),
    ref((2, 2), (2, 1)),
    ref((2, 2), (4, 2)),
    ref((4,), (2,)),
    ref((), (), 6),
    ref((3, 5, 1), (35, 7, 7), 3),
    ref((5, 7, 7), (7, 1, 1)),
]


def _touched(r: TensorRef) -> set[int]:
    return set(np.unique(strided(r)).astype(int).tolist())


@pytest.mark.parametrize("written", WRITTEN, ids=str)
@pytest.mark.parametrize("wanted", WANTED, ids=str)
def test_view_is_what_memory_would_give(written: TensorRef, wanted: TensorRef) -> None:
    builder = Builder()
    x = builder.value(TensorType(F32, written.shape))
    builder.block.args.append(x)
    value = as_view(builder, x, written, wanted)
    if value is None:
        return
    assert _touched(wanted) <= _touched(written)
    outcome = Machine(Program(builder.block, ["x"], [("y", value)]), []).run({"x": np.array(strided(written))})
    lanes = outcome.outputs["y"]
    np.testing.assert_array_equal(lanes.full(lanes.data)[0], strided(wanted))


@pytest.mark.parametrize(
    ("written", "wanted", "seen"),
    [(0, 0, True), (0, 1, True), (0, 2, True), (0, 3, True), (1, 4, True), (1, 5, True), (2, 7, True), (0, 13, True),
     (1, 6, False), (2, 8, False), (3, 9, False), (0, 15, False)],
)  # fmt: skip
def test_which_views_are_seen(written: int, wanted: int, seen: bool) -> None:
    builder = Builder()
    x = builder.value(TensorType(F32, WRITTEN[written].shape))
    assert (as_view(builder, x, WRITTEN[written], WANTED[wanted]) is not None) == seen
