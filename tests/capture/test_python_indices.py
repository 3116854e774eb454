"""Indices written as Python sequences, on the virtual device: C++ would turn them into tensors without data."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
import pytest
import torch

from lowering.capture.torch_host import torch_session
from tests.frontends.aten.harness import evaluated, flat, lowered


def _put(index, value) -> Callable[[torch.Tensor], torch.Tensor]:
    def put(x: torch.Tensor) -> torch.Tensor:
        x[index] = value
        return x

    return put


INDICES = {
    "list": [0, 2], "negative": [-1, -3], "empty": [], "mask": [True, False, True, False], "range": range(1, 3),
    "numpy": np.array([0, 2]), "numpy integers": [np.int64(1), np.int64(2)], "nested": [[0, 1], [1, 2]],
    "tensors": [torch.tensor(0), torch.tensor(2)], "a slice in a list": [0, slice(1, 3)], "bool": True,
    "column": (slice(None), [0, 2]), "both": ([0, 2], [1, 3]), "tuple in a tuple": ((0, 2), slice(None)),
    "number and list": (0, [1, 2]), "mask and number": ([True, False, True, True], 1),
    "nested in a tuple": (slice(1, None), [[1, 2], [0, 3]]), "None": (None, [1, 3]), "ellipsis": (..., [1, 3]),
}  # fmt: skip


def agree(function: Callable[[torch.Tensor], torch.Tensor]) -> bool:
    """Whether the program computes what torch computes."""
    x = torch.arange(20.0).reshape(4, 5) + 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch announces that nested lists will become tensors
        [expected] = flat(function(x.clone()))
        with torch_session() as session:
            program = lowered(session, function, [x])
    found = next(iter(evaluated(program, [x]).values()))
    return found.shape == expected.shape and bool((found == expected).all())


@pytest.mark.parametrize("name", INDICES)
def test_reading(name: str) -> None:
    assert agree(lambda x: x[INDICES[name]])


@pytest.mark.parametrize("name", [name for name in INDICES if name != "nested"])
def test_writing(name: str) -> None:
    assert agree(_put(INDICES[name], 7.5))


def test_values_too() -> None:
    assert agree(_put((slice(None), [0, 2]), torch.tensor([8.0, 9.0])))
    assert agree(lambda x: _put([0, 1], x[[1, 0]])(x))


def test_other_indices_are_another_function() -> None:
    """The comparison above can fail."""
    with torch_session() as session:
        x = torch.arange(20.0).reshape(4, 5)
        program = lowered(session, lambda x: x[[0, 2]], [x])
    found = next(iter(evaluated(program, [x]).values()))
    assert not (found == x[[0, 1]]).all()
