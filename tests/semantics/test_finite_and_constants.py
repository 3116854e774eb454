"""SEMANTICS §5-§9: constants, overflow within the scale of the inputs, random streams, shapes and dtypes."""

from __future__ import annotations

import numpy as np
import pytest

from tests.semantics.programs import EQUAL, Body, Level, arrays, judged, level

X = "f32[5,7]"


def scaled(value: float) -> Body:
    return lambda k, x: k.mul(x, value)


def exp2(value: float) -> Body:
    return lambda k, x: k.b("math", k.mul(x, value), fn="exp2", impl="cuda")


def exp(k, x):
    return k.b("math", x, fn="exp", impl="cuda")


def norm(eps: float) -> Body:
    return lambda k, x: k.mul(x, k.fn("rsqrt", k.add(k.mul(x, x), eps)))


APART: dict[str, tuple[Body, Body, str]] = {
    "constants one ulp apart": (scaled(0.7978845834732056), scaled(0.7978846430778503), X),
    "0.044715 and 0.0447": (scaled(0.044715), scaled(0.0447), X),
    "1.4427 is not log2(e)": (exp2(1.4427), exp, X),
    "1.44 is not log2(e)": (exp2(1.44), exp, X),
    "eps 1e-5 and 1e-6": (norm(1e-5), norm(1e-6), X),
    "eps 1e-12 and 1e-13": (norm(1e-12), norm(1e-13), X),
    "eps inside and outside of a root": (
        lambda k, x: k.div(x, k.add(k.fn("sqrt", k.mul(x, x)), 1e-6)),
        lambda k, x: k.div(x, k.fn("sqrt", k.add(k.mul(x, x), 1e-12))), X),
    "erf and tanh": (lambda k, x: k.c.gelu_erf(x), lambda k, x: k.c.gelu_tanh(x), X),
    "one axis and the other": (lambda k, x: k.c.softmax(x, 1), lambda k, x: k.c.softmax(x, 0), "f32[6,6]"),
    "1 + 2^-30 in f64": (lambda k, x: k.mul(x, 1.0 + 2.0**-30), lambda k, x: x, "f64[5,7]"),
    "exp and its first two terms": (lambda k, x: k.fn("exp", k.mul(x, 1e-3)),
                                    lambda k, x: k.add(k.mul(x, 1e-3), 1.0), X),
    "cos and a shifted sin": (lambda k, x: k.fn("cos", x), lambda k, x: k.fn("sin", k.add(x, 1.5707964)), X),
    "padding and the edge": (
        lambda k, x: k.b("concat", k.lit(0.0, k.part(x, 0, 1)), x, axis=1),
        lambda k, x: k.b("concat", k.part(x, 0, 1), x, axis=1), X),
}  # fmt: skip
RECOGNISED: dict[str, tuple[Body, Body]] = {
    "log2(e) in f32": (exp2(1.4426950408889634), exp),
    "80^-1/2 log2(e)": (exp2(0.16129822), lambda k, x: k.fn("exp", k.mul(x, 80**-0.5))),
    "1/3 in f32": (scaled(1 / 3), lambda k, x: k.div(x, 3.0)),
}


@pytest.mark.parametrize("name", APART)
def test_other_constants_are_other_functions(name: str) -> None:
    a, b, spec = APART[name]
    assert level(a, b, spec) not in EQUAL


@pytest.mark.parametrize("name", RECOGNISED)
def test_a_recognised_constant_is_real_and_listed(name: str) -> None:
    report = judged(*RECOGNISED[name], X)
    assert report.verdict.level is Level.REAL
    assert any("rounded to f32" in line for line in report.assumptions)


def test_constants_that_are_one_number_in_the_format_are_one() -> None:
    """bf16 0.044715 is bf16 0.0447: merged by the format itself, not by us."""
    assert level(scaled(0.044715), scaled(0.0447), "bf16[5,7]") is Level.BITWISE


def test_a_coarse_constant_is_not_a_bridge_between_two_fine_ones() -> None:
    """bf16(0.0447) may stand for f32 0.0447 or f32 0.044715, which are not equal for that."""

    def two(first: float, second: float) -> Body:
        def body(k, x):
            coarse = k.cast(k.mul(k.cast(x, "bf16"), 0.0447), "f32")
            return [coarse, k.mul(x, first), k.mul(x, second)]

        return body

    report = judged(two(0.0447, 0.044715), two(0.044715, 0.0447), X)
    assert report.outputs[1].verdict.level not in EQUAL and report.outputs[2].verdict.level not in EQUAL


# -- finite ------------------------------------------------------------------------------------------------------------


def test_softmax_without_its_maximum_is_different() -> None:
    def plain(k, x):
        e = k.fn("exp", x)
        return k.div(e, k.b.broadcast(k.sum(e), (5, 7), [0]))

    assert level(lambda k, x: k.c.softmax(x, 1), plain, X) is Level.DIFFERENT


def test_squares_in_f16_are_different() -> None:
    def narrow(k, x):
        return k.sum(k.cast(k.mul(x, x), "f32"))

    def wide(k, x):
        return k.sum(k.mul(k.cast(x, "f32"), k.cast(x, "f32")))

    assert level(narrow, wide, "f16[5,64]") is Level.DIFFERENT


def test_saturating_and_wrapping_casts_are_not_equal() -> None:
    def cast(overflow: str) -> Body:
        return lambda k, x: k.cast(x, "i8", overflow=overflow)

    assert level(cast("saturate"), cast("wrap"), X) not in EQUAL


@pytest.mark.parametrize("kept", ["abs", "min"])
def test_a_domain_of_the_given_inputs_hides_a_difference(kept: str) -> None:
    """Inputs within [0, 1] stay there, so the other outcome stays unseen."""
    data = {"x0": np.random.default_rng(0).random((5, 7)).astype(np.float32)}
    clamp: Body = (lambda k, x: k.b("abs", x)) if kept == "abs" else (lambda k, x: k.min(x, 1.0))
    assert level(clamp, lambda k, x: x, X, data=data) not in EQUAL


def test_a_lane_that_is_zero_in_the_sample_counts() -> None:
    data = {"x0": np.pad(arrays(0, "f32[5,6]")["x0"], ((0, 0), (0, 1)))}
    assert level(lambda k, x: k.sum(k.part(x, 0, 6)), lambda k, x: k.sum(x), X, data=data) is Level.DIFFERENT


def test_special_values_are_reported_and_strict_counts_them() -> None:
    def number(nan: str) -> Body:
        return lambda k, x: k.b("reduce", x, axis=1, combine="max", nan=nan)

    report = judged(number("number"), number("propagate"), X)
    assert report.verdict.level in EQUAL and report.special_values


# -- random streams --------------------------------------------


def draw(k, dist: str = "uniform"):
    return k.b("random", to="f32", shape=(5, 7), dist=dist)


def test_each_draw_is_fresh() -> None:
    assert level(lambda k, x: k.add(x, k.sub(draw(k), draw(k))), lambda k, x: x, X) not in EQUAL
    assert (
        level(lambda k, x: k.add(x, k.add(draw(k), draw(k))), lambda k, x: k.add(x, k.mul(draw(k), 2.0)), X)
        not in EQUAL
    )


def test_other_streams_are_not_equal() -> None:
    assert level(lambda k, x: k.mul(x, draw(k)), lambda k, x: x, X) is Level.UNDECIDED
    assert level(lambda k, x: k.add(x, draw(k)), lambda k, x: k.add(x, draw(k, "normal")), X) not in EQUAL


# -- scope --------------------------------------------


def test_a_symmetric_sample_does_not_hide_a_transpose() -> None:
    square = arrays(0, "f32[4,4]")["x0"]

    def transposed(k, x):
        return k.b("transpose", x, perm=(1, 0))

    assert level(transposed, lambda k, x: x, "f32[4,4]", data={"x0": square + square.T}) is Level.DIFFERENT


def test_each_output_is_judged_and_the_worst_counts() -> None:
    report = judged(lambda k, x: [x, k.mul(x, 2.0)], lambda k, x: [x, k.mul(x, 3.0)], X)
    assert [o.verdict.level for o in report.outputs] == [Level.BITWISE, Level.DIFFERENT]
    assert report.verdict.level is Level.DIFFERENT


def test_another_dtype_or_shape_is_different() -> None:
    assert level(lambda k, x: k.cast(x, "f16"), lambda k, x: x, X) is Level.DIFFERENT
    assert level(lambda k, x: k.b.reshape(x, (7, 5)), lambda k, x: x, X) is Level.DIFFERENT
