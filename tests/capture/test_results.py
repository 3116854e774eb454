"""What a function returns: names from keys, nothing dropped in silence."""

from __future__ import annotations

import dataclasses
from collections import namedtuple

import numpy as np
import pytest
import torch

from irverify.pairing import pair_programs
from lowering.capture.jax_host import capture_jax
from lowering.capture.torch_host import torch_session
from lowering.errors import Unsupported
from lowering.ir.program import Program
from lowering.pipeline import lower
from tests.frontends.aten.harness import evaluated, lowered

X = torch.arange(6.0).reshape(2, 3)
Pair = namedtuple("Pair", "low high")


class Box:
    def __init__(self, x: torch.Tensor) -> None:
        self.x = x


@dataclasses.dataclass
class Record:
    loss: torch.Tensor
    parts: list[torch.Tensor]


def program(function) -> Program:
    with torch_session() as session:
        return lowered(session, function, [X])


NAMES = {
    "tuple": (lambda x: (x, (x + 1, [x + 2])), ["out0", "out1", "out2"]),
    "dict": (lambda x: {"b": x, "a": {"c": x + 1, "d e": x + 2}}, ["out.b", "out.a.c", "out.a.d_e"]),
    "named tuple": (lambda x: Pair(x, x + 1), ["out.low", "out.high"]),
    "dataclass": (lambda x: Record(x, [x + 1, x + 2]), ["out.loss", "out.parts.0", "out.parts.1"]),
    "none": (lambda x: (x, None, x + 1), ["out0", "out2"]),
    "none first": (lambda x: (None, x), ["out1"]),
    "none by key": (lambda x: {"a": None, "b": x}, ["out.b"]),
    "a word": (lambda x: (x, "relu"), ["out0"]),
}


@pytest.mark.parametrize("kind", NAMES)
def test_names(kind: str) -> None:
    function, names = NAMES[kind]
    assert [name for name, _ in program(function).outputs] == names


def test_an_unknown_object_is_refused() -> None:
    with pytest.raises(Unsupported, match="a result of type"):
        program(lambda x: (x, Box(x * 3)))


def test_jax_gives_the_same_names() -> None:
    trace = capture_jax(lambda x: {"b": x, "a": (x + 1, {"c": x + 2})}, [np.ones((2, 3), np.float32)])
    assert [spec.name for spec in trace.outputs] == ["out.a.0", "out.a.1.c", "out.b"]


def test_jax_keeps_the_place_of_none() -> None:
    trace = capture_jax(lambda x: (None, x, (x + 1, None, x + 2)), [np.ones((2, 3), np.float32)])
    assert [spec.name for spec in trace.outputs] == ["out1", "out2", "out4"]


@pytest.mark.parametrize("jax_side", [False, True])
def test_keys_pair_results_in_whatever_order(jax_side: bool) -> None:
    a = program(lambda x: {"out": x * 2, "aux": x + 1})
    if jax_side:
        b = lower(capture_jax(lambda x: {"out": x * 2, "aux": x + 1}, [X.numpy()]))
    else:
        b = program(lambda x: {"aux": x + 1, "out": x * 2})
    assert pair_programs(a, b, ("a.py", "b.py")) == []
    assert [name for name, _ in b.outputs] == ["out.out", "out.aux"]
    values = [list(evaluated(side, [X]).values()) for side in (a, b)]
    assert all(torch.equal(x, y) for x, y in zip(*values, strict=True))


def test_other_keys_pair_by_position_and_say_so() -> None:
    a, b = program(lambda x: {"out": x, "aux": x + 1}), program(lambda x: (x, x + 1))
    [note] = pair_programs(a, b, ("a.py", "b.py"))
    assert "by position: out.out with out0, out.aux with out1" in note
