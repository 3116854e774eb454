"""A product with an identity moves elements under `reassociated`; with anything else it is a product."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from equivalence.evaluator import Machine
from equivalence.interpretations.exact import Exact
from equivalence.interpretations.reassociated import Reassociated
from lowering.ir.program import Value
from lowering.ir.types import BF16, BOOL, F32, DType, TensorType
from tests.interpretations.real_runs import Kit, program

Body = Callable[[Kit, Value], Value]
X = np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32)


def words(body: Body, dt: DType = F32) -> tuple[np.ndarray, np.ndarray, set[str]]:
    """Words under `exact` and `reassociated`, and what the latter assumed."""
    meanings = Exact(1), Reassociated(1)
    made = program([TensorType(dt, X.shape)], body)
    (name,) = made.input_names
    out = next(iter(Machine(made, meanings).run({name: X.astype(dt.numpy)}).outputs.values()))
    found = [np.broadcast_to((out.planes or {})[m.name], (1, *out.shape)) for m in meanings]
    return found[0], found[1], meanings[1].assumed


def by(matrix: np.ndarray, left: bool = False, dt: DType = F32, **attrs: str) -> Body:
    def body(kit: Kit, x: Value) -> Value:
        literal = kit.b.constant(matrix.astype(np.float32), dt)
        pair = (literal, x) if left else (x, literal)
        return kit.b("dot", *pair, acc="f32", **attrs)

    return body


def plain(dt: DType = F32) -> Body:
    return lambda kit, x: kit.b.cast(x, F32) if dt is not F32 else kit.b("reshape", x, shape=(3, 4))


@pytest.mark.parametrize("dt", [F32, BF16])
def test_an_identity_on_either_side(dt: DType) -> None:
    wanted = words(plain(dt), dt)
    for body in (by(np.eye(4), dt=dt), by(np.eye(3), left=True, dt=dt)):
        exact, reassociated, assumed = words(body, dt)
        assert (reassociated == wanted[1]).all() and (exact != wanted[0]).all()
        assert any("sign of zero" in a for a in assumed)


def test_a_permutation_and_a_repeated_column() -> None:
    order = [2, 0, 0, 3, 1]
    picked = words(by(np.eye(4)[:, order]))[1]
    assert (picked == words(plain())[1][..., order]).all()


@pytest.mark.parametrize("matrix", [
    2 * np.eye(4), np.eye(4) + np.eye(4, k=1), np.eye(4) * [1, 1, 1, 0], -np.eye(4), np.eye(4) + 1e-3 * np.eye(4, k=2),
])  # fmt: skip
def test_other_matrices_are_products(matrix: np.ndarray) -> None:
    assert (words(by(matrix))[1] != words(plain())[1]).any()


def test_data_that_happen_to_be_an_identity_are_no_literal() -> None:
    made = program([TensorType(F32, X.shape), TensorType(F32, (4, 4))], lambda kit, x, y: kit.b("dot", x, y, acc="f32"))
    inputs = dict(zip(made.input_names, (X, np.eye(4, dtype=np.float32)), strict=True))
    (out,) = Machine(made, [Reassociated(1)]).run(inputs).outputs.values()
    assert ((out.planes or {})["reassociated"] != words(plain())[1]).all()


def test_rounded_operands_and_literal_infinities_do_not_just_move() -> None:
    assert (words(by(np.eye(4), precision="tf32"))[1] != words(plain())[1]).all()

    def masked(kit: Kit, x: Value) -> Value:
        where = kit.b.constant(np.tri(3, 4, dtype=bool), BOOL)
        return kit.b("select", where, x, kit.b.like(float("-inf"), x))

    def product(kit: Kit, x: Value) -> Value:
        return by(np.eye(4))(kit, masked(kit, x))

    assert (words(product)[1] != words(masked)[1]).any()  # -inf times 0 is NaN


def test_a_sum_stays_a_sum_and_goes_on() -> None:
    """The terms of an element that was moved are still those of a sum in f32."""

    def added(kit: Kit, x: Value) -> Value:
        return kit.b("add", by(np.eye(4))(kit, kit.b("add", x, kit.b("neg", x))), x)

    def together(kit: Kit, x: Value) -> Value:
        return kit.b("add", kit.b("add", x, x), kit.b("neg", x))

    assert (words(added)[1] == words(together)[1]).all()
