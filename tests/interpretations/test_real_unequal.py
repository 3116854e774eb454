"""What must not be equal under `real`, or not be trusted: the counterexamples of SEMANTICS §5 and near misses."""

from __future__ import annotations

import math

import numpy as np
import pytest

from equivalence.fields.primes import choose
from equivalence.interpretations.real import agree, dismiss, prepare
from lowering.ir.program import Value
from lowering.ir.types import TensorType
from tests.interpretations.real_runs import F32, F64, Comparison, Kit, compare, inputs, output, program

X = (4, 16)


def norm(eps: float):
    return lambda k, x: k.c.normalize(x, 1, eps)[0]


def with_constant(value: float):
    return lambda k, x: k.c.scale(x, value)


DIFFERENT = {
    "eps": (norm(1e-5), norm(1e-6)),
    "tiny eps": (norm(1e-12), norm(1e-13)),
    "gelu": (lambda k, x: k.c.gelu_erf(x), lambda k, x: k.c.gelu_tanh(x)),
    "dropped term": (lambda k, x: k.c.softmax(x, 1),
                     lambda k, x: k.b("div", k.fn("exp", x), k.c.plus(k.fn("exp", x), 1.0))),
    "swapped sub": (lambda k, x: k.c.plus(x, -2.0), lambda k, x: k.b("sub", k.lit(2.0, x), x)),
    "swapped div": (lambda k, x: k.c.reciprocal(x), lambda k, x: k.b("div", x, k.lit(1.0, x))),
    "one ulp": (with_constant(0.7978845834732056), with_constant(0.7978846430778503)),
    "bf16 0.044715 is not f32 0.0447": (with_constant(0.044715), with_constant(0.0447)),
    "sqrt is not its negative": (lambda k, x: k.fn("sqrt", k.b("mul", x, x)),
                                 lambda k, x: k.b("neg", k.fn("sqrt", k.b("mul", x, x)))),
    "log of the wrong sign": (lambda k, x: k.fn("log", k.b("sub", k.lit(9.0, x), x)),
                              lambda k, x: k.fn("log", k.c.plus(x, -9.0))),
    "rounding modes": (lambda k, x: k.b("round", x, mode="floor"), lambda k, x: k.b("round", x, mode="trunc")),
    "sin and cos": (lambda k, x: k.fn("sin", x), lambda k, x: k.fn("cos", x)),
}  # fmt: skip


@pytest.mark.parametrize("name", DIFFERENT)
def test_near_misses_stay_apart(name: str) -> None:
    result = compare(*DIFFERENT[name], X)
    assert not result.equal


def test_a_relative_change_of_1e_12_is_seen() -> None:
    """The samples are equal to 1e-11: allclose sees nothing, the residues do."""
    result = compare(with_constant(3.0), with_constant(3.0 * (1 + 1e-12)), X, dt=F64)
    assert result.mismatch and max(a.sample_gap for a in result.agreements) < 1e-11


def test_the_root_of_a_square_against_the_absolute_value_mismatches_without_refuting() -> None:
    """sqrt(x^2) has a sign of its own in the field: no agreement, and no difference of the samples."""
    result = compare(lambda k, x: k.fn("sqrt", k.b("mul", x, x)), lambda k, x: k.b("abs", x), X)
    assert not result.equal and max(a.sample_gap for a in result.agreements) < 1e-12


@pytest.mark.parametrize("opaque", [False, True])
def test_roots_of_non_residues_do_not_agree_by_default(opaque: bool) -> None:
    """A sum of sixteen norms is in no channel without such roots under nearly every prime: then nothing is known."""

    def norms(eps: float):
        return lambda k, x: k.c.reduce("add", k.fn("sqrt", k.c.plus(k.c.reduce("add", k.b("mul", x, x), 1), eps)), 0)

    types = [TensorType(F32, (16, 8))]
    first, second = program(types, norms(1.0)), program(types, norms(1.0001))
    for number, prime in enumerate(choose(7, 6)):
        real, _ = prepare(first, second, number, prime)
        real.opaque_logarithms = opaque
        a, b = (output(real, p, inputs(types), side) for p, side in ((first, "A"), (second, "B")))
        assert not agree(real, a, b).equal and agree(real, a, a).equal


# -- sites -------------------------------------------------------------------------------------------------------


def positive(shape: tuple[int, ...]) -> dict[str, np.ndarray]:
    return {"x0": np.abs(np.random.default_rng(0).standard_normal(shape)).astype(np.float32) + 0.1}


def relu(k: Kit, x: Value) -> Value:
    return k.b("max", x, k.lit(0.0, x))


def unseen_of(result: Comparison, side: str) -> list[str]:
    return [what for key, what, _ in result.unseen if key.startswith(side)]


def test_relu_against_the_identity_on_positive_inputs_leaves_an_outcome_unseen() -> None:
    result = compare(relu, lambda k, x: x, X, data=positive(X))
    assert result.equal and unseen_of(result, "A") == ["the right operand is larger"]
    assert not compare(relu, lambda k, x: x, X).equal


def test_relu6_against_relu_leaves_the_clamp_unseen() -> None:
    result = compare(lambda k, x: k.c.relu6(x), relu, X)
    assert result.equal and unseen_of(result, "A") == ["the right operand is smaller"]
    assert unseen_of(result, "B") == []


@pytest.mark.parametrize(
    "body",
    [
        lambda k, x: k.b("min", x, k.lit(30.0, x)),
        lambda k, x: k.c.softplus(x),
        lambda k, x: k.b("max", k.c.reduce("add", k.b("mul", x, x), 1), k.b.constant(1e-12, x.type.dtype, (4,))),
    ],
)
def test_clamps_thresholds_and_floors_are_sites(body) -> None:
    assert unseen_of(compare(body, body, X), "A")


def test_comparing_literals_is_no_site_nor_is_asking_for_nan_or_infinity() -> None:
    def guarded(k: Kit, x: Value) -> Value:
        finite = k.b.cmp("lt", k.b("abs", x), k.lit(math.inf, x))
        bounded = k.b("select", finite, x, k.lit(0.0, x))
        return k.b("select", k.b.is_nan(bounded), k.lit(7.0, x), bounded)

    result = compare(guarded, lambda k, x: x, X)
    assert result.equal and not result.unseen


def test_a_maximum_that_forgets_the_last_lane_is_an_unseen_outcome_and_a_shift_does_not_depend_on_it() -> None:
    """With ``free`` the maximum is arbitrary: softmax stays what it is, a maximum that is the output does not."""
    data = inputs([program_type((2, 64))])
    data["x0"][:, 10] = 9.0

    def top(k: Kit, x: Value) -> Value:
        return k.c.reduce("max", x, 1)

    result = compare(top, top, (2, 64), data=data)
    assert unseen_of(result, "A") == ["the first lane wins", "the last lane wins", "each lane wins"]
    for body, dismissed in ((top, False), (lambda k, x: k.c.softmax(x, 1), True)):
        p = program([program_type((2, 64))], body)
        real, _ = prepare(p, p, 1, choose(1)[0])
        output(real, p, data, "A")
        assert real.unseen()
        dismiss(real, lambda p=p, real=real: [output(real, p, data, "A")])
        assert (not real.unseen()) == dismissed


def test_a_maximum_over_rows_padded_with_zero_wants_to_see_the_zero_win() -> None:
    def padded(k: Kit, x: Value) -> Value:
        zero = k.b.constant(0.0, x.type.dtype)
        wide = k.b.op("pad", [x, zero], low=(0, 0), high=(0, 3), interior=(0, 0)).results[0]
        return k.c.reduce("max", wide, 1)

    shape = (256, 4)
    result = compare(padded, lambda k, x: k.c.reduce("max", x, 1), shape, data=positive(shape))
    assert result.equal and unseen_of(result, "A") == ["a literal lane wins"]
    assert not compare(padded, lambda k, x: k.c.reduce("max", x, 1), shape).equal


def test_a_difference_that_vanishes_at_non_residues_is_seen_at_the_others() -> None:
    """sqrt(x)^2 is -x where x is no square mod p: agreement with the bit set alone would prove nothing."""

    def hidden(k: Kit, x: Value) -> Value:
        root = k.fn("sqrt", x)
        return k.b("add", x, k.c.scale(k.b("add", k.b("mul", root, root), x), 1e-12))

    data = {"x0": np.abs(inputs([program_type(X)])["x0"]).astype(np.float64)}
    assert not compare(hidden, lambda k, x: x, X, dt=F64, data=data).equal
    squared = compare(lambda k, x: k.b("mul", k.fn("sqrt", x), k.fn("sqrt", x)), lambda k, x: x, X, dt=F64, data=data)
    assert squared.equal and all(a.stubborn.any() for a in squared.agreements)


def program_type(shape: tuple[int, ...]):
    from lowering.ir.types import F32, TensorType

    return TensorType(F32, shape)


# -- undefined lanes, data integers --------------------------------------------------------------------------------


def test_undefined_lanes_are_never_equal_and_a_select_kills_them() -> None:
    def plain(k: Kit, x: Value) -> Value:
        return k.b("add", x, k.b("undefined", to="f32", shape=x.type.shape))

    def killed(k: Kit, x: Value) -> Value:
        return k.b("select", k.b.true(x.type.shape), x, k.b("undefined", to="f32", shape=x.type.shape))

    assert not compare(plain, plain, X).equal
    assert compare(killed, lambda k, x: x, X).equal


def test_argmax_is_concrete_and_differs_from_argmin() -> None:
    def place(combine: str):
        def body(k: Kit, x: Value) -> Value:
            index = k.b.index(x.type.shape, 1)
            return k.b.op("reduce", [x, index], axis=1, combine=combine).results[1]

        return body

    assert compare(place("argmax"), place("argmax"), X).equal
    assert compare(place("argmax"), place("argmin"), X).mismatch
