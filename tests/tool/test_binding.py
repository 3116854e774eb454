"""Arguments bound to one side's parameters, and what is said of those that are no arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from irverify.loading import bind
from irverify.values import ArrayValue

X = ArrayValue(np.ones((3, 5), np.float32))


def host(x: Any, n: int, causal: bool = False, eps: float = 1e-5, *, mode: str = "mean", bias: Any = None) -> None: ...


def test_python_values_are_listed_given_ones_first_then_defaults_that_are_used() -> None:
    bound = bind(host, [(None, X), (None, 3), ("eps", 0.5)], "a.py:host")
    assert bound.notes == ("Python arguments have the given values: n=3, eps=0.5, causal=False, mode='mean'",)


def test_lists_of_numbers_are_values_and_lists_of_arrays_are_not() -> None:
    def takes(x: Any, sizes: Any, xs: Any) -> None: ...

    bound = bind(takes, [(None, X), (None, (3, 5)), (None, [X, X])], "a.py:takes")
    assert bound.notes == ("Python arguments have the given values: sizes=(3, 5)",)


def test_arrays_alone_leave_no_note() -> None:
    assert bind(lambda x, y=None: x, [(None, X)], "a.py:f").notes == ()
