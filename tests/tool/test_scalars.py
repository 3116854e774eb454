"""Floats among the arguments take other values once: 0.5 hides p and 1 - p."""

from __future__ import annotations

import numpy as np
import pytest

from equivalence.verdicts import Level
from irverify import compare, scalars
from irverify.values import ArrayValue
from tests.tool.conftest import Write


def variant(*arguments: object, init: object = None) -> dict[str, object]:
    return {"label": "given", "arguments": [(None, value) for value in arguments], "sizes": {}, "init": init}


def test_ordinary_floats_change() -> None:
    made = scalars.other_numbers(variant(0.5, [3, True, (-2.0,)], 0.0, float("inf"), init=[1.0]))
    assert made is not None
    assert [value for _, value in made["arguments"]] == [0.375, [3, True, (-1.25,)], 0.0, float("inf")]
    assert made["init"] == [0.875]
    assert made["label"] == "other numbers: 0.375 for 0.5, -1.25 for -2, 0.875 for 1"


def test_small_floats_become_larger_ones_of_the_same_digits() -> None:
    made = scalars.other_numbers(variant(1e-5, -3e-4))
    assert made is not None
    epsilon, rate = (value for _, value in made["arguments"])
    assert (epsilon, rate) == (0.75 * 1e-5 * 2**10, 0.625 * -3e-4 * 2**5)
    assert all(2**-8 <= abs(other) < 2**-6 for other in (epsilon, rate))


EPSILON = "import torch\ndef f(x, eps):\n    return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + {})\n"


@pytest.mark.parametrize(("b", "level"), [("eps", Level.BITWISE), ("1e-5", Level.DIFFERENT)])
def test_an_epsilon_that_is_given_counts(write: Write, b: str, level: Level) -> None:
    sides = write("a.py", EPSILON.format("eps")), write("b.py", EPSILON.format(b))
    assert compare(*sides, inputs=["f32[4,40]", "1e-5"], shapes="given").verdict.level is level


def test_without_floats_there_is_no_other_variant() -> None:
    assert scalars.other_numbers(variant(3, "x", None, True, init=[64])) is None


AVERAGE = "import torch\ndef f(m, x, a):\n    return {}\n"


@pytest.mark.parametrize(("b", "level"), [
    ("m * a + (1 - a) * x", Level.BITWISE),
    ("(1 - a) * m + a * x", Level.DIFFERENT),
])  # fmt: skip
def test_a_half_does_not_hide_its_complement(write: Write, b: str, level: Level) -> None:
    sides = write("a.py", AVERAGE.format("a * m + (1 - a) * x")), write("b.py", AVERAGE.format(b))
    report = compare(*sides, inputs=["f32[40]", "f32[40]", "0.5"], shapes="given")
    assert report.verdict.level is level
    assert [shape.note for shape in report.shapes][1] == "other numbers: 0.375 for 0.5"
    assert not any("a=0.375" in line for line in report.assumptions)


def test_other_numbers_count_only_where_a_runs(write: Write) -> None:
    a = AVERAGE.format("m + x if a == 0.5 else 1 / 0")
    report = compare(write("a.py", a), write("b.py", AVERAGE.format("m + x")), inputs=["f32[8]", "f32[8]", 0.5],
                     shapes="given")  # fmt: skip
    assert report.verdict.level is Level.BITWISE
    assert any("A does not run there" in shape.note for shape in report.shapes)


SCALED = """
import torch
class {name}(torch.nn.Module):
    def __init__(self, alpha):
        super().__init__()
        self.alpha = alpha
    def forward(self, x):
        return {call}
def get_inputs():
    return [torch.randn(4, 6)]
def get_init_inputs():
    return [0.5]
"""


def test_numbers_that_a_model_is_built_with(write: Write) -> None:
    a = SCALED.format(name="Model", call="x * (1 - self.alpha)")
    b = SCALED.format(name="ModelNew", call="x * self.alpha")
    assert compare(write("a.py", a), write("b.py", b), shapes="given").verdict.level is Level.DIFFERENT


def test_weights_of_a_side_that_follows_are_not_waited_for(write: Write) -> None:
    a, b = (SCALED.format(name=name, call="x * self.alpha") for name in ("Model", "ModelNew"))
    report = compare(write("a.py", a.split("def get_inputs")[0]), write("b.py", b), timeout=40)
    assert report.verdict.level is Level.BITWISE and len(report.shapes) == 1
    assert report.timings["capture"] < 30


DEFAULTED = "import torch\ndef f(x, slope=0.5{}):\n    return torch.where(x > 0, x, x * {})\n"


@pytest.mark.parametrize(("more", "b", "level"), [
    ("", "slope", Level.BITWISE),
    ("", "0.5", Level.DIFFERENT),  # the default is never asked for
    (", *, other=1.0", "slope", Level.BITWISE),  # a default of one side alone stays
])  # fmt: skip
def test_a_default_that_both_have_is_given_another_value(write: Write, more: str, b: str, level: Level) -> None:
    sides = write("a.py", DEFAULTED.format("", "slope")), write("b.py", DEFAULTED.format(more, b))
    assert compare(*sides, inputs=["f32[40]"], shapes="given").verdict.level is level


def test_a_default_that_an_argument_replaces_is_not_given_twice() -> None:
    made = scalars.other_numbers(variant(0.5, 0.25), {"slope": (1, 0.25), "gain": (2, 3.0)})
    assert made is not None
    assert made["arguments"] == [(None, 0.375), (None, 0.15625), ("gain", 2.625)]


def test_numbers_that_were_equal_are_not(write: Write) -> None:
    text = "import torch\ndef f(x, y, alpha=0.1, beta=0.1):\n    return {}\n"
    a, b = write("a.py", text.format("x * alpha + y * beta")), write("b.py", text.format("x * beta + y * alpha"))
    assert compare(a, b, inputs=["f32[40]", "f32[40]"], shapes="given").verdict.level is Level.DIFFERENT


def test_zeros_are_others_in_a_set_of_their_own() -> None:
    made = scalars.other_numbers(variant(0.5, 0.0, init=[0.0]), {"slope": (2, 0.0)}, {"eps": (0, 0.0)}, zeros=True)
    assert made is not None
    assert [value for _, value in made["arguments"]] == [0.5, 0.1875, 0.15625]
    assert made["init"] == [0.21875] and made["named"] == {}
    assert scalars.other_numbers(variant(0.5), zeros=True) is None


BUILT = """
import torch
class {name}(torch.nn.Module):
    def __init__(self, gain, eps=1e-5, least=0.0, p=0.0):
        super().__init__()
        self.gain, self.eps, self.least, self.p = gain, eps, least, p
    def forward(self, x):
        return {call}
def get_inputs():
    return [torch.randn(4, 6)]
def get_init_inputs():
    return [2]
"""


@pytest.mark.parametrize(("a", "b", "level"), [
    ("x / (x.abs() + self.eps) * self.gain", "x / (x.abs() + 1e-5) * self.gain", Level.DIFFERENT),
    ("x.clamp(min=self.least) * self.gain", "x.clamp(min=0.0) * self.gain", Level.DIFFERENT),
    ("x.clamp(min=self.least) * self.gain", "x.clamp(min=self.least) * self.gain", Level.BITWISE),
    ("torch.dropout(x, self.p, True) * self.gain", "x * self.gain", Level.BITWISE),  # random numbers do not count
])  # fmt: skip
def test_defaults_of_constructors(write: Write, a: str, b: str, level: Level) -> None:
    sides = write("a.py", BUILT.format(name="Model", call=a)), write("b.py", BUILT.format(name="ModelNew", call=b))
    assert compare(*sides, shapes="given").verdict.level is level


def test_whole_numbers_that_are_no_sizes_are_one_larger() -> None:
    made = scalars.other_whole_numbers(variant(ArrayValue(np.zeros((4, 6))), 1, [6, 24, -1, True, (7,)], 0, 0.5))
    assert made is not None and [value for _, value in made["arguments"]][1:] == [2, [6, 24, -1, True, (8,)], 0, 0.5]
    assert made["label"] == "other numbers: 2 for 1, 8 for 7"
    zeros = scalars.other_whole_numbers(variant(3, 0), zeros=True)
    assert zeros is not None and zeros["arguments"] == [(None, 3), (None, 1)]
    assert scalars.other_whole_numbers(variant(0.5, -1, True, "x", init=[3])) is None
    last = scalars.other_whole_numbers(variant(ArrayValue(np.zeros((9, 6))), 8, 5))
    assert last is not None and [value for _, value in last["arguments"]][1:] == [7, 4]
    assert scalars.other_whole_numbers(variant(ArrayValue(np.zeros(2)), 1, 0), zeros=True) is not None
    assert scalars.other_whole_numbers(variant(ArrayValue(np.zeros((1, 6))), 0), zeros=True) is None


STEP = "import torch\ndef f(m, t):\n    return m / (1 - 0.9 ** {})\n"


@pytest.mark.parametrize(("b", "level"), [("t", Level.BITWISE), ("1", Level.DIFFERENT)])
def test_a_first_step_hides_its_count(write: Write, b: str, level: Level) -> None:
    sides = write("a.py", STEP.format("t")), write("b.py", STEP.format(b))
    report = compare(*sides, inputs=["f32[40]", "1"], shapes="auto")
    assert report.verdict.level is level
    assert "other numbers: 2 for 1" in [shape.note for shape in report.shapes]
