"""The order in which a matrix unit adds one dot, as a tree."""

from __future__ import annotations

import numpy as np
import pytest

from equivalence.numerics.matrix_units import UNITS, dot
from equivalence.order.hardware import order_of
from equivalence.order.tree import OrderTree, evaluate


def tree(name: str, k: int, accumulator: bool = True, dtype: str = "bf16") -> OrderTree:
    row = UNITS[name].row(dtype, "f32")
    assert row is not None
    return order_of(row.adder, k, accumulator=accumulator)


@pytest.mark.parametrize(
    ("name", "products", "dtype"), [("Volta", 4, "f16"), ("Ampere", 8, "bf16"), ("Hopper", 16, "bf16")]
)
def test_steps_of_products_and_the_accumulator(name: str, products: int, dtype: str) -> None:
    found = tree(name, 40, dtype=dtype)
    assert found.size == 41 and found.terms[40] == "accumulator" and found.products == frozenset(range(40))
    assert [step.how for step in found.steps] == ["fused"] * -(-40 // products)
    assert found.steps[0].children == (*range(products), 40)
    assert found.steps[1].children == (*range(products, 2 * products), 41)
    assert found.spans()[-1].tolist() == list(range(41)) and not found.open_steps()


def test_without_an_accumulator_the_first_step_has_products_only() -> None:
    assert tree("Ampere", 16, accumulator=False).steps[0].children == tuple(range(8))


def test_a_systolic_column_is_a_chain_and_then_an_addition() -> None:
    found = tree("TPU", 130)
    assert [step.how for step in found.steps] == ["fma"] * 127 + ["add"] + ["fma"] + ["add"]
    assert found.steps[127].children == (130, 131 + 126)  # the accumulator and the column


@pytest.mark.parametrize("name", ["TPU", "Trainium", "Hopper"])
def test_the_tree_of_a_chain_gives_the_unit_s_bits(name: str) -> None:
    """Of a fused step the tree has the order only; chains are evaluated as they are added."""
    rng = np.random.default_rng(1)
    dtype = "f32" if name == "Hopper" else "bf16"
    row = UNITS[name].row(dtype, "f32")
    assert row is not None
    a, b = (rng.integers(-255, 256, (4, 300)).astype(np.float32) * np.float32(2.0**-6) for _ in "ab")
    c = rng.standard_normal(4).astype(np.float32)
    expected = dot(a[:, None, :], b[:, :, None], c[:, None, None], row.adder, dtype, "f32")[:, 0, 0]
    found = evaluate(order_of(row.adder, 300), [*((a[:, k], b[:, k]) for k in range(300)), c])
    assert (found == expected).all()


def test_one_product_alone_is_its_own_tree() -> None:
    assert order_of(UNITS["TPU"].rows[0].adder, 1, accumulator=False).steps == ()
