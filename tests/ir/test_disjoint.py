"""Two views share no element: against the sets of their addresses."""

from __future__ import annotations

import numpy as np

from lowering.capture.trace import TensorRef
from lowering.disjoint import disjoint


def addresses(ref: TensorRef) -> set[int]:
    places = np.array([ref.offset])
    for stride, extent in zip(ref.strides, ref.shape, strict=True):
        places = (places[:, None] + stride * np.arange(extent)).reshape(-1)
    return set(places.tolist())


def view(shape: tuple[int, ...], strides: tuple[int, ...], offset: int = 0, dtype: str = "float32") -> TensorRef:
    return TensorRef(0, dtype, shape, strides, offset)


def drawn(rng: np.random.Generator) -> TensorRef:
    rank = int(rng.integers(1, 4))
    shape = tuple(int(n) for n in rng.integers(1, 5, rank))
    strides = tuple(int(s) for s in rng.choice([-12, -1, 0, 1, 2, 3, 4, 6, 12, 24], rank))
    return view(shape, strides, int(rng.integers(30, 60)))


def test_it_never_says_disjoint_of_views_that_share_an_element() -> None:
    rng, said = np.random.default_rng(0), 0
    for _ in range(4000):
        a, b = drawn(rng), drawn(rng)
        if disjoint(a, b):
            said += 1
            assert not addresses(a) & addresses(b), (a, b)
    assert said > 1000


def test_slices_of_a_tile_are_told_apart() -> None:
    left, right = view((4, 3), (8, 1)), view((4, 3), (8, 1), 3)
    rows, columns = view((2, 8), (8, 1), 16), view((4, 1), (8, 1), 5)
    even, odd = view((4, 4), (8, 2)), view((4, 4), (8, 2), 1)
    middle, other = view((4, 2), (8, 1), 2), view((4, 2, 2), (8, 4, 1))
    assert disjoint(left, right) and disjoint(even, odd) and disjoint(middle, other)
    assert disjoint(view((2, 8), (8, 1)), rows) and disjoint(left, columns)
    assert not disjoint(left, rows) and not disjoint(rows, columns) and not disjoint(even, left)


def test_another_dtype_and_the_wrap_of_a_row_say_nothing() -> None:
    assert not disjoint(view((4, 3), (8, 1)), view((4, 3), (8, 1), 3, "int8"))
    assert not disjoint(view((4, 6), (8, 1), 4), view((4, 2), (8, 1)))  # its columns go on in the next row
