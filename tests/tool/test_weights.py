"""Weights of two models: by name, the rest in order, never by force."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from equivalence.verdicts import Level
from irverify import compare
from irverify._capture import CaptureOptions
from irverify._capture_jax import JaxAdapter
from irverify.values import ArrayValue
from irverify.weights import Weights, drawn, pair_weights, share
from lowering.errors import UsageError
from tests.tool.conftest import Write


def test_by_name_then_in_order() -> None:
    own = {"weight": (3,), "bias": (3,), "scale": (1,)}
    assert pair_weights(own, {"ln.weight": (3,), "scale": (1,), "ln.bias": (3,)}) == {
        "scale": "scale", "weight": "ln.weight", "bias": "ln.bias"
    }  # fmt: skip


@pytest.mark.parametrize(
    "given", [{"a": (3,)}, {"a": (3,), "b": (4,)}, {"weight": (4,), "bias": (3,)}, {"a": (3,), "b": (3,), "c": (1,)}]
)
def test_what_does_not_fit_is_refused(given: dict[str, tuple[int, ...]]) -> None:
    with pytest.raises(UsageError, match="do not have the same weights"):
        pair_weights({"weight": (3,), "bias": (3,)}, given)


MODEL = """
import torch
from torch import nn

class {name}(nn.Module):
    def __init__(self):
        super().__init__()
        {make}

    def forward(self, x):
        return {call}

def get_inputs():
    return [torch.randn(4, 6)]

def get_init_inputs():
    return []
"""
INNER = MODEL.format(name="Model", make="self.fc = nn.Linear(6, 5)", call="self.fc(x)")
OWN = MODEL.format(
    name="ModelNew",
    make="self.w = nn.Parameter(torch.zeros(5, 6)); self.b = nn.Parameter(torch.zeros(5))",
    call="x @ self.w.T + self.b{more}",
)


@pytest.mark.parametrize(("more", "equal"), [("", True), (" * 2", False)])
def test_models_with_other_names(write: Write, more: str, equal: bool) -> None:
    report = compare(write("a.py", INNER), write("b.py", OWN.replace("{more}", more)), shapes="given")
    assert (report.verdict.level in (Level.BITWISE, Level.REASSOCIATED, Level.REAL)) is equal
    assert any("by position: fc.weight to w, fc.bias to b" in line for line in report.assumptions)


def weights(buffers: str = "", drawn: str = "", /, **arrays: Any) -> Weights:
    values = {name: ArrayValue(np.asarray(value)) for name, value in arrays.items()}
    return Weights(values, tuple(buffers.split()), tuple(drawn.split()))


def test_a_buffer_is_copied_where_its_constructor_draws_it() -> None:
    given = weights("mask noise", "noise", w=[1.0], mask=[1, 0], noise=[0.3])
    found = share(weights("mask noise", w=[2.0], mask=[1, 1], noise=[0.7]), given)
    assert found.names == {"w": "w", "noise": "noise"} and found.copied == ["w", "noise"]
    assert found.own == found.others == ["mask"]
    assert share(weights("mask noise", w=[2.0], mask=[1, 0], noise=[0.7]), given).equal == ["mask"]


def test_buffers_of_other_names_pair_by_value() -> None:
    given = weights("c s", c=[1.0, 2.0], s=[3.0, 4.0])
    assert share(weights("sin cos", sin=[3.0, 4.0], cos=[1.0, 2.0]), given).names == {"sin": "s", "cos": "c"}
    found = share(weights("sin", sin=[3.0, 5.0]), given)
    assert (found.names, found.own, found.others) == ({}, ["sin"], ["c", "s"])
    assert not share(weights("sin", sin=np.array([3.0, 4.0], np.float16)), given).names


def test_random_buffers_of_other_names_pair_in_order() -> None:
    given = weights("n m", "n m", n=[0.1], m=[0.2])
    assert share(weights("p q", p=[0.3], q=[0.4]), given).names == {"p": "n", "q": "m"}


def test_a_parameter_may_stand_where_the_other_has_a_buffer() -> None:
    assert share(weights(k=[1.0]), weights("k", k=[1.0])).equal == ["k"]
    assert share(weights("k", k=[5.0]), weights(k=[1.0])).copied == ["k"]
    assert share(weights("kernel", kernel=[5.0]), weights(k=[1.0])).copied == ["kernel"]


def test_learned_statistics_are_not_left_out() -> None:
    given = weights("running_mean num_batches_tracked", running_mean=[0.0], num_batches_tracked=0)
    with pytest.raises(UsageError, match="running_mean"):
        share(weights(), given)
    assert share(weights("m", m=[0.0]), given).names == {"m": "running_mean"}


def test_what_another_seed_makes_others() -> None:
    first = weights("n t running_var", n=[0.1], t=[1.0], running_var=[1.0])
    assert drawn(first, weights(n=[0.2], t=[1.0])) == ("n",)


BUFFERED = MODEL.format(
    name="{name}",
    make="self.fc = nn.Linear(6, 6); self.register_buffer('{buffer}', {value}, persistent={saved})",
    call="self.fc(x) @ self.{buffer}",
)


def buffered(name: str, value: str, buffer: str = "mask", saved: bool = True) -> str:
    return BUFFERED.replace("{name}", name).replace("{value}", value).replace("{buffer}", buffer).replace(
        "{saved}", str(saved)
    )  # fmt: skip


@pytest.mark.parametrize("saved", [True, False])
@pytest.mark.parametrize(("value", "buffer", "level"), [
    ("torch.ones(6, 6).tril()", "mask", Level.BITWISE),
    ("torch.ones(6, 6).tril()", "other", Level.BITWISE),
    ("torch.ones(6, 6).tril(-1)", "mask", Level.DIFFERENT),
    ("torch.ones(6, 6).tril(-1)", "other", Level.DIFFERENT),
])  # fmt: skip
def test_a_buffer_that_b_computes_otherwise_shows(
    write: Write, value: str, buffer: str, saved: bool, level: Level
) -> None:
    a, b = buffered("Model", "torch.ones(6, 6).tril()", saved=saved), buffered("ModelNew", value, buffer, saved)
    report = compare(write("a.py", a), write("b.py", b), shapes="given")
    assert report.verdict.level is level
    kept = [line for line in report.assumptions if "buffers" in line]
    assert kept and all("copied" in line or "alone" in line for line in kept)


def test_a_parameter_that_is_not_trained_is_a_buffer(write: Write) -> None:
    make = "self.k = nn.Parameter(torch.{}, requires_grad=False)"
    for values, level in ((("eye(6)", "ones(6, 6)"), Level.DIFFERENT), (("rand(6, 6)", "randn(6, 6)"), Level.BITWISE)):
        sides = [MODEL.format(name="Model", make=make.format(value), call="x @ self.k") for value in values]
        report = compare(write("a.py", sides[0]), write("b.py", sides[1]), shapes="given")
        assert report.verdict.level is level


def test_a_random_buffer_is_copied(write: Write) -> None:
    a, b = buffered("Model", "torch.randn(6, 6)"), buffered("ModelNew", "torch.rand(6, 6) + 1")
    report = compare(write("a.py", a), write("b.py", b), shapes="given")
    assert report.verdict.level is Level.BITWISE
    assert any("drawn at random have A's values: mask" in line for line in report.assumptions)


@pytest.mark.parametrize(("forward", "level"), [
    ("x @ self.w2.T + self.fc.bias * 2", Level.TESTED), ("x @ self.w2.T + self.fc.bias", Level.DIFFERENT)
])  # fmt: skip
def test_a_tensor_computed_from_weights_stays_theirs(write: Write, forward: str, level: Level) -> None:
    """The weights alone a hundred times as large would tell the two apart, for no fault of B's."""
    a = MODEL.format(name="Model", make="self.fc = nn.Linear(6, 5)", call="self.fc(x) * 2.0")
    made = "self.fc = nn.Linear(6, 5); self.w2 = self.fc.weight.detach() * 2.0"
    b = MODEL.format(name="ModelNew", make=made, call=forward)
    report = compare(write("a.py", a), write("b.py", b), shapes="given")
    assert report.verdict.level is level
    assert any("given sizes only: B holds" in line and line.endswith(": w2") for line in report.assumptions)


def test_arrays_of_a_jax_class_that_were_others_are_named() -> None:
    adapter = JaxAdapter(CaptureOptions())
    a, b = (SimpleNamespace(w=np.ones(2), mask=np.full(2, value)) for value in (0.0, 1.0))
    notes = adapter.set_weights(b, adapter.weights_of(a, lambda: a))
    assert notes == ["the weights of A were copied to B, whose own values were others: mask"]
    assert not b.mask.any()
