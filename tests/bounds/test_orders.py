"""Bounds along an order that the source fixes, over all orders that it leaves open, and where products underflow."""

from __future__ import annotations

import numpy as np
import pytest

from equivalence.bounds.check import check
from equivalence.bounds.observe import SLACK, Subject
from equivalence.evaluator import Machine
from equivalence.interpretations.error import Error
from equivalence.interpretations.error_meaning import MeantError
from equivalence.interpretations.summation import Summation
from equivalence.interpretations.tie_error import TieError
from equivalence.interpretations.ties import Ties
from lowering.ir.parser import parse_program
from lowering.ir.program import Program
from tests.bounds.programs import dot, product, scan
from tests.tolerance.programs import COUNTED, normal, softmax, total

SHUFFLED = [Summation(f"random {n}", "random", seed=n) for n in range(8)]


def used(program: Program, inputs: dict[str, np.ndarray], orders: list[Summation]) -> float:
    """The largest share of the bound that any of the orders uses."""
    subject = Subject.of(program)
    references = subject.references(inputs)
    assert references is not None
    ratios = [references[0].ratio(subject.values(inputs, order)[0]).max() for order in orders]
    return max(ratios)


def cancelling() -> dict[str, np.ndarray]:
    """Added as they stand, partial sums stay small; in another order they do not."""
    x = np.empty(64, np.float32)
    x[0::2] = np.random.default_rng(0).uniform(1e6, 2e6, 32)
    x[1::2] = -x[0::2] + np.float32(0.125)
    return {"x": x, "place": np.zeros(64, np.int32)}


def test_colliding_additions_are_bounded_in_every_order() -> None:
    assert 0 < used(COUNTED, cancelling(), SHUFFLED) <= SLACK


def test_the_bound_of_one_order_is_exceeded_in_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a running bound along the evaluator's own order says of colliding additions."""
    monkeypatch.setattr(MeantError, "sums_in_any_order", False)
    assert used(COUNTED, cancelling(), SHUFFLED) > 1


def test_a_sum_in_index_order_has_the_bound_of_that_order() -> None:
    """1, then 63 terms of 2^-20: 63 roundings of about 1; in an open order one of them may stand last."""
    x = np.full((1, 64), 2.0**-20, np.float32)
    x[0, 63] = 1.0
    fixed, left_open = (Subject.of(total(64, rows=1, order=order)).references({"x": x}) for order in ("sequential", ""))
    assert fixed is not None and left_open is not None
    assert fixed[0].bound[0] < 2.0**-23 < 63 * 2.0**-24 <= left_open[0].bound[0]


@pytest.mark.parametrize("reverse", [False, True])
def test_prefixes_in_a_fixed_order_round_once_each(reverse: bool) -> None:
    x = np.where(np.arange(24) == 12, 4096.0, 2.0**-12).astype(np.float32)[None].repeat(3, 0)
    fixed, left_open = (Subject.of(scan(o, reverse=reverse)).references({"x": x}) for o in ("sequential", "unordered"))
    assert fixed is not None and left_open is not None
    assert (fixed[0].bound <= left_open[0].bound * (1 + 1e-6)).all() and not fixed[0].bound[
        :, -1 if reverse else 0
    ].any()
    assert fixed[0].bound.max() < 0.6 * left_open[0].bound.max()
    for program in (scan("sequential", reverse=reverse), scan("unordered", reverse=reverse)):
        assert not check(program, {"x": x}, 20_000, seconds=2).broken


@pytest.mark.parametrize(("dtype", "precision"), [("f32", "ieee"), ("bf16", "ieee"), ("f32", "tf32"), ("f32", "bf16")])
def test_products_that_underflow_are_in_a_dots_bound(dtype: str, precision: str) -> None:
    program = dot(dtype, precision=precision)
    tiny = {name: (x.astype(np.float32) * 2.0**-73).astype(x.dtype) for name, x in normal(program).items()}
    assert 0 < used(program, tiny, SHUFFLED) <= SLACK


def test_products_that_cannot_underflow_cost_nothing_there() -> None:
    program = dot("f16")
    zeros = {name: np.zeros_like(x) for name, x in normal(program).items()}
    references = Subject.of(program).references(zeros)
    assert references is not None and not references[0].bound.any()


def test_a_product_that_may_leave_the_range_in_some_order_has_no_bound() -> None:
    x = np.tile(np.array([1e-30, 1e30] * 4, np.float32), (3, 1))
    references = Subject.of(product()).references({"x": x})
    assert references is not None and not references[0].judged.any()
    assert not check(product(), {"x": np.ones((3, 8), np.float32)}, 5_000, seconds=1).broken


def test_a_plane_that_knows_no_order_is_left_alone() -> None:
    assert Error.sums_in_any_order and not Subject.of(COUNTED).enclosure.sums_in_any_order


def test_a_running_product_that_underflows_has_no_bound_from_there_on() -> None:
    x = np.tile(np.array([0.5, 1e-30, 1e-30, 1e30, 2.0], np.float32), (3, 1))
    references = Subject.of(scan("sequential", 5, combine="mul")).references({"x": x})
    assert references is not None and references[0].judged.all(0).tolist() == [True, True, False, False, False]


@pytest.mark.parametrize(("scale", "exact"), [(1.0, True), (0.1, False)])
def test_whole_numbers_that_collide_are_added_exactly(scale: float, exact: bool) -> None:
    """Where ties matter: every order gives the same."""
    x = (np.arange(64) * scale).astype(np.float32)
    inputs, ties = {"x": x, "place": np.arange(64, dtype=np.int32) % 4}, Ties(0)
    found = Machine(COUNTED, [ties, TieError(Error(usual=False), ties)]).run(inputs).outputs["out0"]
    assert found.planes is not None and (not found.planes["bound"].any()) == exact


SILU = parse_program(
    'program(%0: f32[6] "x") {} {\n  %1 = neg %0 : f32[6]\n  %2 = math %1 {fn="exp", impl="torch"} : f32[6]\n'
    '  %3 = constant {to="f32", shape=[6], value=1.0} : f32[6]\n  %4 = add %2, %3 : f32[6]\n'
    '  %5 = div %0, %4 : f32[6]\n  %6 = math %4 {fn="rsqrt", impl="torch"} : f32[6]\n'
    '  return "out0" %5, "out1" %6\n}\n'
)


def test_the_inverse_of_what_has_overflown_has_no_bound() -> None:
    """x / (1 + exp(-x)) at -90 is -7e-38, and 0 in f32, where exp(90) is infinite; at -88 it is known."""
    inputs = {"x": np.array([-90, -95, -120, -88, -1, 3], np.float32)}
    references = Subject.of(SILU).references(inputs)
    assert references is not None
    for one in references:
        assert one.judged.tolist() == [False, False, False, True, True, True]
        assert (one.ratio(one.value) <= SLACK).all()


def test_a_mask_of_minus_infinity_keeps_its_bound() -> None:
    program = softmax(8)
    x = np.array([[0.1, -np.inf, 1, 2, -np.inf, 0, 1, 1], [1.0, 2, 3, 4, 5, 6, 7, 8]], np.float32)
    references = Subject.of(program).references({"x": x})
    assert references is not None and references[0].judged.all()
