"""What rounding makes negative under a root, what overflows on the way, and who decides in a narrow format."""

from __future__ import annotations

import numpy as np
import pytest

from equivalence.evaluator import Machine
from equivalence.interpretations.error import Error
from equivalence.interpretations.hazards import BELOW, BEYOND, NONNEG, PLANE, Hazards
from equivalence.verdicts import Level, Report
from lowering.ir.program import Value
from tests.semantics.programs import EQUAL, Body, Kit, judged, program

SPEC = "f32[30,40]"


def mean(k: Kit, x: Value) -> Value:
    return k.div(k.sum(x), float(x.type.shape[-1]))


def two_pass(k: Kit, x: Value) -> Value:
    d = k.sub(x, k.c.spread(mean(k, x), x, 1))
    return mean(k, k.mul(d, d))


def one_pass(k: Kit, x: Value) -> Value:
    m = mean(k, x)
    return k.sub(mean(k, k.mul(x, x)), k.mul(m, m))


def rooted(variance: Body, eps: float = 0.0, clamped: bool = False) -> Body:
    def body(k: Kit, x: Value) -> Value:
        v = variance(k, x)
        v = k.max(v, 0.0) if clamped else v
        return k.fn("sqrt", k.add(v, eps) if eps else v)

    return body


def said(report: Report, code: str) -> list[str]:
    return [f"{f.severity}: {f.message}" for f in report.findings if f.code == code]


def test_a_variance_that_rounding_makes_negative_is_a_nan_on_that_side() -> None:
    report = judged(rooted(two_pass), rooted(one_pass), SPEC)
    assert report.verdict.level is Level.DIFFERENT
    assert report.witness is not None and np.isnan(report.witness.value_b) and np.isfinite(report.witness.value_a)


@pytest.mark.parametrize("how", [{"clamped": True}, {"eps": 1e-2}])
def test_a_clamp_or_an_eps_keeps_it_from_that(how: dict[str, float]) -> None:
    report = judged(rooted(two_pass, **how), rooted(one_pass, **how), SPEC)
    assert report.verdict.level is not Level.DIFFERENT and not said(report, "rounds-below-zero")


def test_both_sides_may_and_neither_is_a_witness() -> None:
    """The same formula in another order: which row becomes a NaN is the order's choice."""

    def turned(k: Kit, x: Value) -> Value:
        m = mean(k, x)
        return k.add(k.mul(m, k.mul(m, -1.0)), mean(k, k.mul(x, x)))

    report = judged(rooted(one_pass), rooted(turned), SPEC)
    assert report.verdict.level in EQUAL
    assert [s.split(":")[0] for s in said(report, "rounds-below-zero")] == ["note", "note"]


def bits(body: Body, x: np.ndarray) -> np.ndarray:
    spec = f"f32[{','.join(map(str, x.shape))}]"
    done = Machine(program(body, spec), [Error(), Hazards()]).run({"x0": x})
    out = next(iter(done.outputs.values()))
    return out.full(out.planes[PLANE])[0]  # type: ignore[index]


@pytest.mark.parametrize(
    ("body", "never"),
    [
        (lambda k, x: k.mul(x, x), True),
        (lambda k, x: k.add(k.fn("exp", x), k.mul(x, x)), True),
        (lambda k, x: k.max(x, 0.0), True),
        (lambda k, x: k.sum(k.b("abs", x)), True),
        (lambda k, x: k.mul(x, k.add(x, 1.0)), False),
        (lambda k, x: k.sub(k.mul(x, x), 1.0), False),
        (lambda k, x: k.max(x, -1.0), False),
    ],
)
def test_what_is_never_negative(body: Body, never: bool) -> None:
    found = bits(body, np.linspace(-2, 2, 12, dtype=np.float32).reshape(3, 4)) & NONNEG
    assert bool(found.all()) is never


def test_a_root_of_a_square_is_no_hazard_and_a_root_of_a_difference_is_where_it_cancels() -> None:
    x = np.array([[0.1, 2.0]], np.float32)
    assert not (bits(lambda k, x: k.fn("sqrt", k.mul(x, x)), x) & BELOW).any()

    def third(k, x):
        return k.sub(k.mul(k.div(x, 3.0), 3.0), 0.1)

    assert ((bits(lambda k, x: k.fn("sqrt", third(k, x)), x) & BELOW) != 0).tolist() == [[True, False]]


def test_an_overflow_is_carried_and_a_select_drops_it() -> None:
    x = np.array([[1.0, 100.0]], np.float32)
    assert ((bits(lambda k, x: k.div(x, k.fn("exp", x)), x) & BEYOND) != 0).tolist() == [[False, True]]

    def kept(k, x):
        return k.where(k.cmp("gt", x, 50.0), x, k.fn("exp", x))

    assert not (bits(kept, x) & BEYOND).any()


def first_largest(k: Kit, x: Value) -> Value:
    places = k.b.index(x.type.shape, 1)
    return k.b.op("reduce", [x, places], axis=1, combine="argmax").results[1]


def test_an_overflow_before_an_argmax() -> None:
    """exp(x) is infinite twice in a row of large numbers: the first is taken, which need not be the largest."""
    direct, by_exp = first_largest, lambda k, x: first_largest(k, k.fn("exp", x))
    assert judged(direct, by_exp, SPEC).verdict.level is Level.DIFFERENT

    def scaled(k, x):
        return first_largest(k, k.mul(x, 4.0))

    assert judged(direct, scaled, SPEC).verdict.level in EQUAL


def test_an_overflow_that_becomes_a_plausible_number() -> None:
    """x / sqrt(sum x^2) whose squares overflow in f16 gives 0 for rows of thousands."""

    def normed(narrow: bool) -> Body:
        def body(k: Kit, x: Value) -> Value:
            y = x if narrow else k.cast(x, "f32")
            size = k.fn("sqrt", k.sum(k.mul(y, y)))
            return k.cast(k.div(y, k.c.spread(size, y, 1)), "f32")

        return body

    assert judged(normed(False), normed(True), "f16[30,40]").verdict.level is Level.DIFFERENT
    assert judged(normed(False), normed(False), "f16[30,40]").verdict.level in EQUAL


def chosen(to: str | None, branch: bool) -> Body:
    """2 x where the sum of all is positive, else 3 x."""

    def body(k: Kit, x: Value) -> Value:
        y = x if to is None else k.cast(k.cast(x, to), "f32")
        positive = k.cmp("gt", k.sum(y), 0.0)
        if not branch:
            return k.where(k.b.broadcast(positive, x.type.shape, ()), k.mul(x, 2.0), k.mul(x, 3.0))
        regions = [k.b.region([], lambda factor=factor: [k.mul(x, factor)]) for factor in (2.0, 3.0)]
        return k.b.op("if", [positive], regions=regions).results[0]

    return body


@pytest.mark.parametrize("branch", [True, False])
@pytest.mark.parametrize("to", ["bf16", None])
def test_a_choice_by_the_sign_of_a_narrow_sum(to: str | None, branch: bool) -> None:
    found = said(judged(chosen(None, branch), chosen(to, branch), "f32[30]"), "precision-lost")
    assert bool(found) is (to is not None)


def powers(k: Kit, x: Value) -> Value:
    """The sum of each row to the powers 1, 2, 4 ... 32, in a row: the last ones overflow where inputs are large."""
    rows = [k.sum(x)]
    for _ in range(5):
        rows.append(k.mul(rows[-1], rows[-1]))
    return k.b("concat", *(k.b.reshape(row, (30, 1)) for row in rows), axis=1)


def masked_powers(k: Kit, x: Value) -> Value:
    """The same by a product with ones and zeros: 0 * inf is a NaN in the first ones too."""
    found, places = powers(k, x), [k.b.index((6, 6), axis) for axis in (0, 1)]
    kept = k.where(k.b.cmp("eq", *places), k.b.constant(1.0, found.type.dtype, (6, 6)), 0.0)
    return k.b("dot", found, kept, acc="f32")


def test_where_both_overflow_the_inputs_are_out_of_scope() -> None:
    assert judged(powers, masked_powers, SPEC).verdict.level is not Level.DIFFERENT


def test_an_overflow_of_b_alone_is_its_fault() -> None:
    def plain(k: Kit, x: Value) -> Value:
        e = k.fn("exp", x)
        return k.div(e, k.c.spread(k.sum(e), x, 1))

    def shifted(k: Kit, x: Value) -> Value:
        return plain(k, k.sub(x, k.c.spread(k.b("reduce", x, axis=1, combine="max"), x, 1)))

    assert judged(shifted, plain, SPEC).verdict.level is Level.DIFFERENT


def test_an_infinity_that_heals_is_no_excuse() -> None:
    """A sigmoid passes through one on either side: a softmax without its maximum is still wrong beside it."""

    def gated(shift: bool) -> Body:
        def body(k: Kit, x: Value) -> Value:
            other = k.b("reduce", x, axis=1, combine="max") if shift else k.div(k.sum(x), 40.0)
            e = k.fn("exp", k.sub(x, k.c.spread(other, x, 1)))
            gate = k.div(k.lit(1.0, x), k.add(k.fn("exp", k.mul(x, -1.0)), 1.0))
            return k.mul(k.div(e, k.c.spread(k.sum(e), x, 1)), gate)

        return body

    assert judged(gated(True), gated(False), SPEC).verdict.level is Level.DIFFERENT
    assert judged(gated(True), gated(True), SPEC).verdict.level in EQUAL


def test_a_large_result_is_no_excuse_either() -> None:
    """x^4 sigmoid(x): at a hundred times the given size it is large and right, and inf / inf in the other spelling."""

    def gated(naive: bool) -> Body:
        def body(k: Kit, x: Value) -> Value:
            fourth = k.mul(k.mul(x, x), k.mul(x, x))
            if naive:
                e = k.fn("exp", x)
                return k.mul(fourth, k.div(e, k.add(e, 1.0)))
            return k.mul(fourth, k.div(k.lit(1.0, x), k.add(k.fn("exp", k.mul(x, -1.0)), 1.0)))

        return body

    assert judged(gated(False), gated(True), SPEC).verdict.level is Level.DIFFERENT
