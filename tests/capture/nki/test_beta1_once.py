"""Beta-1 traces a loop's body once: what only Python hands from turn to turn is refused, and what it may do is not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from lowering.errors import UsageError
from tests.capture.nki.beta1 import result, whole_numbers

SUM = """
@nki.jit
def kernel(x):
    out = nl.ndarray((8, 1), dtype=nl.float32, buffer=nl.shared_hbm)
    m = nl.zeros((8, 1), dtype=nl.float32, buffer=nl.sbuf)
    n, first, tiles, steps, held = 0, True, [], iter(range(0, 8, 2)), [0]
    for j in range(3):
        pass
    for i in nl.{loop}(4):
        for j in range(2):
            pass
        t = nl.load(x[0:8, nl.ds({start}, 2)])
        s = nl.sum(t, axis=1, keepdims=True)
        {body}
    {after}
    nl.store(out, m)
    return out
"""
IN_PLACE = "m[...] = nl.add(m, s)"
WRONG = {
    "a counter": ("n", f"{IN_PLACE}; n += 2", "pass", "n is 0 in one turn"),
    "a flag": ("i * 2", f"{IN_PLACE}; n = 0 if first else 1; first = False", "pass", "first is True"),
    "a name bound anew": ("i * 2", "m = nl.add(m, s)", "pass", "in a later turn a tile"),
    "a list of numbers": ("held[0]", f"{IN_PLACE}; held[0] += 2", "pass", "what Python did in other turns"),
    "an iterator": ("next(steps)", IN_PLACE, "pass", "what Python did in other turns"),
    "a list": ("i * 2", "tiles.append(s)", "m = tiles[0] + tiles[1] + tiles[2] + tiles[3]", "after the loop a tile"),
    "a tile of the last turn": ("i * 2", "pass", "m[...] = nl.copy(s)", "after the loop a tile"),
}


@pytest.mark.parametrize("loop", ["affine_range", "sequential_range"])
@pytest.mark.parametrize("case", WRONG)
def test_what_a_body_that_is_traced_once_cannot_do(tmp_path: Path, case: str, loop: str) -> None:
    start, body, after, message = WRONG[case]
    with pytest.raises(UsageError, match=message):
        result(tmp_path, SUM.format(loop=loop, start=start, body=body, after=after), x=whole_numbers(8, 8))


RIGHT = {
    "in place": ("i * 2", IN_PLACE, "pass", "sequential_range"),
    "names of the turn": ("i * 2", f"n = i + 1; first = None; {IN_PLACE}", "pass", "sequential_range"),
    "an unrolled counter": ("n", f"{IN_PLACE}; n += 2", "pass", "static_range"),
    "an unrolled name": ("i * 2", "m = nl.add(m, s)", "pass", "static_range"),
    "an unrolled list": ("i * 2", "tiles.append(s)", "m = tiles[0] + tiles[1] + tiles[2] + tiles[3]", "static_range"),
}


@pytest.mark.parametrize("case", RIGHT)
def test_what_it_can(tmp_path: Path, case: str) -> None:
    start, body, after, loop = RIGHT[case]
    x = whole_numbers(8, 8)
    made = result(tmp_path, SUM.format(loop=loop, start=start, body=body, after=after), x=x)
    assert np.array_equal(made, x.sum(axis=1, keepdims=True))


SUMS = """
@nki.jit
def kernel(x):
    out = nl.ndarray((8, 8), dtype=nl.float32, buffer=nl.shared_hbm)
    total = nl.zeros((8, 8), dtype=nl.float32, buffer=nl.psum)
    again = nl.zeros((8, 8), dtype=nl.float32)
    for i in nl.sequential_range(2):
        part = nl.load(x[nl.ds(i * 4, 4), :])
        product = nl.matmul(part, part, transpose_x=True)
        total += product
        again += product
    nl.store(out, total - again)
    return out
"""


def test_a_first_product_that_is_put_and_later_ones_that_are_added(tmp_path: Path) -> None:
    assert not result(tmp_path, SUMS, x=whole_numbers(8, 8)).any()
