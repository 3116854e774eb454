"""The algebra below certificates: positive monomials, names, equality, what may be divided by."""

from __future__ import annotations

import time

import pytest
from flint import fmpq

from equivalence.certificate.modular import P, of_rational, small_rational
from equivalence.certificate.operations import Operations
from equivalence.certificate.symbols import Budget, TooLarge, Uncertain, Value


@pytest.fixture
def f() -> Operations:
    return Operations(Budget(time.monotonic() + 30))


def leaves(f: Operations, n: int) -> list[Value]:
    return [f.of(f.symbol("input", ("x", i))) for i in range(n)]


def test_roots_of_whole_numbers_multiply_to_whole_numbers(f: Operations) -> None:
    two, three, six = (f.rational_power(fmpq(n), fmpq(1, 2)) for n in (2, 3, 6))
    assert f.mul(two, two).num == f.rational(2).num and f.mul(two, three).num == six.num
    assert f.rational_power(fmpq(8, 9), fmpq(1, 2)).num == f.scale(two, fmpq(2, 3)).num


def test_an_exponential_of_a_logarithm_is_a_power(f: Operations) -> None:
    x, y = leaves(f, 2)
    assert f.equal(f.exp(f.add(f.scale(f.log(x), fmpq(3)), y)), f.mul(f.power(x, 3), f.exp(y)))
    assert f.exp(f.logarithm_of(12)).num == f.rational(12).num


def test_a_long_sum_is_a_name_and_equal_to_its_parts(f: Operations) -> None:
    xs = leaves(f, 40)
    whole, halves = f.total(xs), f.add(f.total(xs[:20]), f.total(xs[20:]))
    assert len(whole.num) == 1 and f.equal(whole, halves)
    assert not f.equal(whole, f.add(halves, f.rational(fmpq(1, 10**12))))


def test_multiples_of_one_sum_have_one_name(f: Operations) -> None:
    xs = leaves(f, 30)
    squares, mean = f.total([f.mul(x, x) for x in xs]), f.scale(f.total(xs), fmpq(1, 30))
    one = f.sub(f.scale(squares, fmpq(1, 30)), f.mul(mean, mean))
    two = f.total([f.power(f.sub(x, mean), 2) for x in xs])
    assert f.sqrt(two).num.keys() != f.sqrt(one).num.keys()
    assert f.equal(f.sqrt(two), f.mul(f.sqrt(one), f.rational_power(fmpq(30), fmpq(1, 2))))


def test_the_root_of_a_square_is_its_own_symbol(f: Operations) -> None:
    (x,) = leaves(f, 1)
    root = f.sqrt(f.mul(x, x))
    assert not f.equal(root, x) and f.equal(f.mul(root, root), f.mul(x, x)) and f.equal(root, f.abs(f.neg(x)))


def test_truth_values_are_their_own_squares(f: Operations) -> None:
    x, y = leaves(f, 2)
    c = f.positive_truth(f.sub(x, y))
    assert f.mul(c, c).num == c.num and not f.mul(c, f.sub(f.one, c)).num


def test_what_vanishes_is_not_divided_by(f: Operations) -> None:
    xs = leaves(f, 40)
    nothing = f.sub(f.total(xs), f.add(f.total(xs[:20]), f.total(xs[20:])))
    assert nothing.num
    with pytest.raises(Uncertain, match="division by"):
        f.inverse(nothing)


def test_residues_tell_small_factors() -> None:
    assert small_rational(of_rational(fmpq(-6250, 3))) == fmpq(-6250, 3)
    assert small_rational(pow(3, 1 << 90, P)) is None


def test_a_form_beyond_the_budget_is_given_up(f: Operations) -> None:
    f.budget.terms = 10
    xs = leaves(f, 8)
    with pytest.raises(TooLarge, match="terms"):
        f.product(f.total(xs).num, f.total(xs).num)
