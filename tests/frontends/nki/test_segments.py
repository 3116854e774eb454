"""nonzero_with_count and sequence_bounds against loops over their elements."""

from __future__ import annotations

import numpy as np
import pytest

from lowering.capture.nki import instructions
from lowering.capture.nki.tile import Tile
from tests.frontends.nki.instruction_runs import run, tile

RNG = np.random.default_rng(11)


@pytest.mark.parametrize("dtype", ["int32", "float32"])
def test_places_of_nonzero_elements(dtype: str) -> None:
    """Partitions 0, 16 and 32 are looked at; the others keep what they hold."""
    x = (RNG.integers(0, 3, (40, 9)) * RNG.integers(-2, 3, (40, 9))).astype(dtype)
    x[0], x[16] = 0, 1
    wanted = np.full((40, 10), 77, np.int32)
    for p in (0, 16, 32):
        places = [i + 5 for i in range(9) if x[p, i] != 0]
        wanted[p] = [*places, *[-3] * (9 - len(places)), len(places)]

    def body(data: Tile) -> Tile:
        out = tile((40, 10), "int32")
        instructions.memset(out, 77)
        instructions.nonzero_with_count(out, data, 5, -3)
        return out

    ran = run(body, x)
    assert np.array_equal(ran.values[0], wanted) and not ran.poison[0].any()


def test_other_partitions_are_not_written() -> None:
    def body(data: Tile) -> Tile:
        out = tile((17, 5), "int32")
        instructions.nonzero_with_count(out, data)
        return out

    poison = run(body, np.ones((17, 4), np.int32)).poison[0]
    assert [p for p in range(17) if not poison[p].any()] == [0, 16] and poison[1:16].all()


def test_bounds_of_segments() -> None:
    ids = np.array([[1, 1, 2, 2, 2, 0, 3, 0]], np.int32)
    count = ids.size
    wanted = np.empty((1, 2, count), np.float32)
    for i, one in enumerate(ids[0]):
        places = [j for j in range(count) if ids[0, j] == one]
        wanted[0, :, i] = (places[0], places[-1] + 1) if one else (count, -1)

    def body(data: Tile) -> Tile:
        out = tile((1, 2, count))
        instructions.sequence_bounds(out, data)
        return out

    assert np.array_equal(run(body, ids).values[0], wanted)
