"""What must not be certified: near misses, other domains, what float data decide."""

from __future__ import annotations

import math

import pytest

from lowering.ir.program import Value
from lowering.ir.types import F64, TensorType
from tests.certificate.pairs import certificate, column, columns
from tests.certificate.test_certified import layer_norm, masked, online_softmax, welford
from tests.interpretations.real_runs import Kit
from tests.interpretations.test_real_attention import SHAPES, online, two_pass
from tests.interpretations.test_real_unequal import DIFFERENT, with_constant

X = (3, 20)


def root(k: Kit, x: Value) -> Value:
    return k.fn("sqrt", x)


def squared(k: Kit, x: Value) -> Value:
    return k.b("mul", x, x)


def eps_beside_the_root(k: Kit, x: Value) -> Value:
    centred, _ = k.c.centre(x, 1)
    deviation = k.c.plus(root(k, k.c.mean_square(centred, 1)), 1e-5)
    return k.b("div", centred, k.c.spread(deviation, x, 1))


def sum_without_last(k: Kit, x: Value) -> Value:
    return k.c.reduce("add", columns(k, x, 0, x.type.shape[1] - 1), 1)


def turned_mask(k: Kit, x: Value) -> Value:
    b, (n, m) = k.b, x.type.shape
    keep = b.cmp("le", b.index((n, m), 0), b.index((n, m), 1))
    return k.c.softmax(b("select", keep, x, b.constant(-math.inf, x.type.dtype, (n, m))), 1)


def shifted_by_fewer(k: Kit, x: Value) -> Value:
    """log sum exp that adds back a maximum over fewer elements than it has subtracted."""
    top = k.c.reduce("max", x, 1)
    total = k.c.reduce("add", k.fn("exp", k.b("sub", x, k.c.spread(top, x, 1))), 1)
    return k.b("add", k.fn("log", total), k.c.reduce("max", columns(k, x, 1, x.type.shape[1]), 1))


def select(pred: str, literal: float):
    return lambda k, x: k.b("select", k.b.cmp(pred, x, k.lit(0.0, x)), x, k.lit(literal, x))


def divided(by: str, otherwise: float):
    """A quotient by what is 0 where another value is chosen: a divisor of zero must not make both sides zero."""

    def body(k: Kit, x: Value) -> Value:
        above = k.c.above(x, 0.0)
        divisors = {
            "truth": lambda: k.b.cast(above, x.type.dtype),
            "root": lambda: k.b("add", k.b("abs", x), x),
            "maximum": lambda: k.b("max", x, k.lit(0.0, x)),
        }
        return k.b("select", above, k.b("div", k.fn("exp", x), divisors[by]()), k.lit(otherwise, x))

    return body


NO = {
    "beside a truth value": (divided("truth", 7.0), divided("truth", 9.0)),
    "beside a root": (divided("root", 7.0), divided("root", 9.0)),
    "beside a maximum": (divided("maximum", 7.0), divided("maximum", 9.0)),
    "root of a square": (lambda k, x: root(k, squared(k, x)), lambda k, x: x),
    "absolute value": (lambda k, x: k.b("abs", x), lambda k, x: x),
    "logarithm of a square": (lambda k, x: k.fn("log", squared(k, x)), lambda k, x: k.c.scale(k.fn("log", x), 2.0)),
    "logarithm of the absolute square": (lambda k, x: k.fn("log", squared(k, x)),
                                         lambda k, x: k.fn("log", k.b("abs", x))),
    "roots of a product": (lambda k, x: root(k, k.b("mul", x, k.c.plus(x, 1.0))),
                           lambda k, x: k.b("mul", root(k, x), root(k, k.c.plus(x, 1.0)))),
    "relu": (lambda k, x: k.b("max", x, k.lit(0.0, x)), lambda k, x: x),
    "relu of a sum": (lambda k, x: k.b("max", k.c.plus(x, 1.0), k.lit(0.0, x)),
                      lambda k, x: k.c.plus(k.b("max", x, k.lit(0.0, x)), 1.0)),
    "dropped term": (lambda k, x: k.c.reduce("add", x, 1), sum_without_last),
    "eps": (layer_norm, eps_beside_the_root),
    "turned mask": (masked(-math.inf), turned_mask),
    "fewer in the shift": (lambda k, x: k.c.logsumexp(x, 1), shifted_by_fewer),
    "a maximum of fewer": (lambda k, x: k.c.reduce("max", x, 1),
                           lambda k, x: k.c.reduce("max", columns(k, x, 1, x.type.shape[1]), 1)),
    "biased variance": (welford, lambda k, x: k.c.variance(x, 1, 1.0)[0]),
    "a clamp at a low number": (lambda k, x: k.b("max", x, k.lit(-1e4, x)), lambda k, x: x),
    "two sides of a comparison": (select("gt", 1.0), select("le", 1.0)),
    "another value": (select("gt", 1.0), select("gt", 2.0)),
    "rounding": (lambda k, x: k.b("round", x, mode="even"), lambda k, x: x),
    "sum of exponentials": (lambda k, x: k.fn("exp", k.c.reduce("add", x, 1)),
                            lambda k, x: k.c.reduce("add", k.fn("exp", x), 1)),
    "odd root": (lambda k, x: k.fn("rsqrt", k.b("abs", x)), lambda k, x: root(k, k.b("abs", x))),
}  # fmt: skip


@pytest.mark.parametrize("name", NO)
def test_other_functions(name: str) -> None:
    found = certificate(*NO[name], X)
    assert not found.certified and found.elements[0] < found.elements[1] and found.reason


@pytest.mark.parametrize("name", DIFFERENT)
def test_what_real_keeps_apart(name: str) -> None:
    assert not certificate(*DIFFERENT[name], (4, 16)).certified


def test_a_relative_change_of_1e_12() -> None:
    assert not certificate(with_constant(3.0), with_constant(3.0 * (1 + 1e-12)), X, dt=F64).certified
    assert certificate(with_constant(3.0), with_constant(3.0), X, dt=F64).certified


@pytest.mark.parametrize("constant", [0.1, 1.4426950408889634, 0.3183098861837907, 1.23456789])
def test_a_constant_off_by_one_ulp(constant: float) -> None:
    near = math.nextafter(constant, 2.0)
    assert not certificate(with_constant(constant), with_constant(near), X, dt=F64).certified


def test_a_forgotten_rescale() -> None:
    assert not certificate(two_pass, lambda k, *x: online(k, *x, forget=True), *SHAPES).certified


def test_one_wrong_element_of_many() -> None:
    """Column 7 alone is another value: no selection of elements may miss it."""

    def wrong(k: Kit, x: Value) -> Value:
        at = k.b.cmp(
            "eq", k.b.index(x.type.shape, 1), k.b.constant(7, k.b.index(x.type.shape, 1).type.dtype, x.type.shape)
        )
        return k.b("select", at, k.c.scale(x, 2.0), x)

    found = certificate(wrong, lambda k, x: x, (40, 40))
    assert not found.certified and "7]" in found.reason


def test_a_branch_that_data_take_is_named() -> None:
    def body(k: Kit, x: Value) -> Value:
        b, total = k.b, k.c.reduce("add", column(k, x, 0), 0)
        regions = [b.region([], lambda: [k.c.scale(x, 2.0)]), b.region([], lambda: [x])]
        return b.op("if", [b.cmp("gt", total, k.lit(0.0, total))], regions).result

    found = certificate(body, body, X)
    assert not found.certified and "float data" in found.reason


def test_an_operation_without_a_form_is_named_with_its_line() -> None:
    found = certificate(lambda k, x: k.b("bitcast", x, to="i32"), lambda k, x: k.b("bitcast", x, to="i32"), X)
    assert not found.certified and "bitcast" in found.reason


def test_time_is_kept() -> None:
    from equivalence.certificate import certify
    from tests.interpretations.real_runs import inputs, program

    types = [TensorType(F64, X)]
    a, b = program(types, layer_norm), program(types, online_softmax)
    found = certify(a, b, inputs(types), inputs(types), seconds=0.0)[0]
    assert not found.certified and "out of time" in found.reason


@pytest.mark.parametrize("by", ["truth", "root", "maximum"])
def test_what_divides_by_zero_where_it_is_not_taken_is_itself(by: str) -> None:
    assert certificate(divided(by, 7.0), divided(by, 7.0), X).certified


def halves(second: str):
    """x0 + x1 beside x2 and x3 under another operation: an element that only looks like a copy of the proved one."""

    def body(k: Kit, x: Value) -> Value:
        parts = [columns(k, x, i, i + 1) for i in range(4)]
        more = {"nan": "propagate"} if second in ("max", "min") else {}
        return k.b("concat", k.b("add", *parts[:2]), k.b(second, *parts[2:], **more), axis=1)

    return body


@pytest.mark.parametrize("second", ["mul", "max", "min"])
def test_a_copy_is_one_on_both_sides(second: str) -> None:
    assert not certificate(halves("add"), halves(second), (3, 4)).certified
    assert certificate(halves(second), halves(second), (3, 4)).certified


def test_a_reciprocal_is_never_zero() -> None:
    def chosen(k: Kit, x: Value) -> Value:
        one = k.lit(1.0, x)
        never = k.b.cmp("eq", k.b("div", one, x), k.lit(0.0, x))
        return k.b("select", never, k.b("add", x, one), k.b("mul", x, x))

    assert not certificate(chosen, lambda k, x: k.b("add", x, k.lit(1.0, x)), X).certified
    assert certificate(chosen, squared, X).certified
