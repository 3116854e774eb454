"""SEMANTICS §3: what holds bit for bit is `bitwise`, and what only looks like it is not."""

from __future__ import annotations

import pytest

from tests.semantics.programs import EQUAL, Body, Level, level

X = "f32[5,7]"
IDENTITIES: dict[str, tuple[Body, Body, tuple[str, ...]]] = {
    "addition commutes": (lambda k, x, y: k.add(x, y), lambda k, x, y: k.add(y, x), (X, X)),
    "a product commutes": (lambda k, x, y: k.mul(x, y), lambda k, x, y: k.mul(y, x), (X, X)),
    "fma commutes its factors": (lambda k, x, y, z: k.b("fma", x, y, z), lambda k, x, y, z: k.b("fma", y, x, z),
                                 (X, X, X)),
    "a - b is a + (-b)": (lambda k, x, y: k.sub(x, y), lambda k, x, y: k.add(x, k.b("neg", y)), (X, X)),
    "signs move through products": (lambda k, x, y: k.mul(k.b("neg", x), y), lambda k, x, y: k.b("neg", k.mul(x, y)),
                                    (X, X)),
    "signs move through quotients": (lambda k, x, y: k.div(k.b("neg", x), y), lambda k, x, y: k.b("neg", k.div(x, y)),
                                     (X, X)),
    "x + x is 2x": (lambda k, x: k.add(x, x), lambda k, x: k.mul(x, 2.0), (X,)),
    "x / 8 is x * (1/8)": (lambda k, x: k.div(x, 8.0), lambda k, x: k.mul(x, 0.125), (X,)),
    "widening and back": (lambda k, x: k.cast(k.cast(x, "f32"), "f16"), lambda k, x: x, ("f16[5,7]",)),
    "widening in two steps": (lambda k, x: k.cast(k.cast(x, "f32"), "f64"), lambda k, x: k.cast(x, "f64"),
                              ("bf16[5,7]",)),
    "products commute in every dtype": (lambda k, x, y: k.mul(x, y), lambda k, x, y: k.mul(y, x),
                                        ("bf16[5,7]", "bf16[5,7]")),
}  # fmt: skip

NOT_BITWISE: dict[str, tuple[Body, Body, tuple[str, ...]]] = {
    "x + 0 is not x (-0)": (lambda k, x: k.add(x, 0.0), lambda k, x: x, (X,)),
    "0 - x is not -x": (lambda k, x: k.sub(k.lit(0.0, x), x), lambda k, x: k.b("neg", x), (X,)),
    "max(x, 0) and max(x, -0)": (lambda k, x: k.max(x, 0.0), lambda k, x: k.max(x, -0.0), (X,)),
    "the order of a maximum (+-0)": (lambda k, x, y: k.max(x, y), lambda k, x, y: k.max(y, x), (X, X)),
    "select against max": (lambda k, x, y: k.where(k.cmp("gt", x, y), x, y), lambda k, x, y: k.max(x, y), (X, X)),
    "f64 to f32 to bf16": (lambda k, x: k.cast(k.cast(x, "f32"), "bf16"), lambda k, x: k.cast(x, "bf16"),
                           ("f64[5,7]",)),
    "x / 3 and x * (1/3)": (lambda k, x: k.div(x, 3.0), lambda k, x: k.mul(x, 1 / 3), (X,)),
    "x / 7 and x * (1/7)": (lambda k, x: k.div(k.sum(x), 7.0), lambda k, x: k.mul(k.sum(x), 1 / 7), (X,)),
    "fma against mul and add": (lambda k, x, y, z: k.b("fma", x, y, z), lambda k, x, y, z: k.add(k.mul(x, y), z),
                                (X, X, X)),
    "an approximate division against an exact one": (
        lambda k, x, y: k.b("div", x, y, accuracy="declared", impl="cuda"), lambda k, x, y: k.div(x, y), (X, X)),
    "exp of two implementations": (lambda k, x: k.b("math", x, fn="exp", impl="cuda"),
                                   lambda k, x: k.b("math", x, fn="exp", impl="torch"), (X,)),
    "-(a b) rounded upward": (lambda k, x, y: k.b("mul", k.b("neg", x), y, rounding="rtp"),
                              lambda k, x, y: k.b("neg", k.b("mul", x, y, rounding="rtp")), (X, X)),
    "TF32 operands": (lambda k, x, y: k.b("dot", x, y, acc="f32", precision="tf32"),
                      lambda k, x, y: k.b("dot", x, y, acc="f32"), ("f32[3,8]", "f32[8,4]")),
    "associativity of a product": (lambda k, x, y, z: k.mul(x, k.mul(y, z)), lambda k, x, y, z: k.mul(k.mul(x, y), z),
                                   (X, X, X)),
    "scaling that underflows": (lambda k, x: k.mul(k.mul(x, 2.0**-140), 2.0**127),
                                lambda k, x: k.mul(x, 2.0**-13), (X,)),
    "scaling that underflows in f16": (lambda k, x: k.mul(k.mul(x, 2.0**-20), 2.0**14),
                                       lambda k, x: k.mul(x, 2.0**-6), ("f16[5,7]",)),
    "bf16 through f16": (lambda k, x: k.cast(k.cast(x, "f16"), "bf16"), lambda k, x: x, ("bf16[5,7]",)),
    "e4m3 through e5m2": (lambda k, x: k.cast(k.cast(x, "f8e5m2"), "f8e4m3fn"), lambda k, x: x, ("f8e4m3fn[5,7]",)),
    "an addition in f64": (lambda k, x, y: k.cast(k.add(k.cast(x, "f64"), k.cast(y, "f64")), "f32"),
                           lambda k, x, y: k.add(x, y), (X, X)),
    "lanes of which some fit f16": (
        lambda k, x, y: k.cast(k.b("concat", k.cast(x, "f32"), y, axis=1), "f16"),
        lambda k, x, y: k.cast(k.cast(k.cast(k.b("concat", k.cast(x, "f32"), y, axis=1), "bf16"), "f32"), "f16"),
        ("f16[5,7]", X)),
}  # fmt: skip


@pytest.mark.parametrize("name", IDENTITIES)
def test_a_law_is_bitwise(name: str) -> None:
    a, b, specs = IDENTITIES[name]
    assert level(a, b, *specs) is Level.BITWISE


@pytest.mark.parametrize("name", NOT_BITWISE)
def test_what_is_no_law_is_not_bitwise(name: str) -> None:
    a, b, specs = NOT_BITWISE[name]
    assert level(a, b, *specs) < Level.BITWISE


def test_a_body_against_itself_is_bitwise() -> None:
    def body(k, x):
        return k.c.softmax(x, 1)

    assert level(body, body, X) is Level.BITWISE


def test_open_orders_of_two_sources_are_not_bitwise() -> None:
    """tt.reduce of two kernels: their num_warps may differ, and with it the order."""
    assert level(lambda k, x: k.sum(x), lambda k, x: k.sum(x), X) is Level.REASSOCIATED


def test_programs_without_a_digest_are_sources_of_their_own() -> None:
    from tests.semantics.programs import program

    first, second = program(lambda k, x: k.sum(x), X), program(lambda k, x: k.sum(x), X)
    first.attrs, second.attrs = {}, {}
    assert level(first, second, X) is Level.REASSOCIATED
    assert level(first, first, X) is Level.BITWISE


@pytest.mark.parametrize("contract", [True, False])
def test_an_open_contraction_is_never_bitwise_with_a_fixed_fma(contract: bool) -> None:
    from tests.semantics.programs import program

    separate = program(lambda k, x, y, z: k.add(k.mul(x, y), z), X, X, X, contract=contract)
    fused = program(lambda k, x, y, z: k.b("fma", x, y, z), X, X, X)
    found = level(separate, fused, X, X, X)
    assert found < Level.BITWISE and (contract or found < Level.REASSOCIATED)


def test_a_term_fused_on_one_side_and_rounded_on_the_other_is_real() -> None:
    """Contraction may not be chosen to suit each side: one term would have to be both."""
    from tests.semantics.programs import program

    a = program(lambda k, x, y, z: k.add(k.b("fma", x, y, z), k.mul(x, y)), X, X, X)
    b = program(lambda k, x, y, z: k.add(k.add(k.mul(x, y), z), k.mul(x, y)), X, X, X)
    assert level(a, b, X, X, X) is Level.REAL


def test_exact_products_make_fma_a_matter_of_order_only() -> None:
    """f16 operands in f32: the product has no rounding to lose."""

    def fused(k, x, y, z):
        return k.b("fma", k.cast(x, "f32"), k.cast(y, "f32"), z)

    def separate(k, x, y, z):
        return k.add(k.mul(k.cast(x, "f32"), k.cast(y, "f32")), z)

    assert level(fused, separate, "f16[5,7]", "f16[5,7]", X) in EQUAL
