"""Denominators of softmax, revealed: known orders in numpy, libraries, users' functions; what is hidden is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from equivalence.numerics import casts
from equivalence.numerics.formats import storage_dtype
from equivalence.order.exponentials import Reader, readable
from equivalence.order.positive import reveal_softmax, unit, verify_masked, verify_random
from equivalence.order.tree import evaluate
from irverify.options import CompareOptions
from irverify.order_probe import reveal as reported
from irverify.probing import probe
from irverify.runners import is_softmax
from lowering.errors import Unsupported, UsageError
from tests.order.boxes import blocked, chain, halves, lanes, random_shape
from tests.order.trees import Grower, sequential

Row = Callable[[np.ndarray], np.ndarray]
SHAPES: dict[str, Callable[[int], Any]] = {
    "chain": lambda n: chain(range(n)), "halves": lambda n: halves(list(range(n))),
    "lanes": lambda n: lanes(n, min(n, 4)), "blocked": lambda n: blocked(n, 4), "random": lambda n: random_shape(n, n),
}  # fmt: skip


def softmax(shape: Any, adds: str = "f32", result: str = "f32") -> Row:
    """Softmax whose exponentials are added as a shape of nested pairs says."""

    def run(x: np.ndarray) -> np.ndarray:
        wide = x.astype(np.float64)
        e = np.asarray(casts.cast(np.exp(wide - wide.max()), "f64", adds))

        def total(part: Any) -> Any:
            if not isinstance(part, tuple):
                return e[part]
            one, other = map(total, part)
            return np.asarray(casts.cast(np.asarray(np.float64(one) + np.float64(other)), "f64", adds))

        quotient = casts.cast(e.astype(np.float64) / np.float64(total(shape)), "f64", adds)
        return np.asarray(casts.cast(np.asarray(quotient).astype(np.float64), "f64", result)).astype(np.float64)

    return run


def expected(shape: Any, n: int, dtype: str) -> Any:
    grower = Grower(n, dtype=dtype)
    grower.pairs(shape, list(range(n)))
    return grower.tree()


def agrees(tree: Any, other: Any, dtype: str) -> bool:
    """The same bits on values of all sizes, which hardly any other order gives."""
    values = list(np.random.default_rng(0).lognormal(0, 3, (tree.size, 500)).astype(storage_dtype(dtype)))
    return bool((evaluate(tree, values) == evaluate(other, values)).all())


@pytest.mark.parametrize("n", [2, 3, 7, 33])
@pytest.mark.parametrize("shape", SHAPES)
def test_known_orders(shape: str, n: int) -> None:
    made = SHAPES[shape](n)
    tree = reveal_softmax(softmax(made), n)
    assert agrees(tree, expected(made, n, "f32"), "f32") and {s.dtype for s in tree.steps} == {"f32"}
    assert n < 7 or shape == "chain" or not agrees(tree, sequential(n), "f32")


@pytest.mark.parametrize(("dtype", "adds", "result"), [
    ("f64", "f64", "f64"), ("bf16", "f32", "f32"), ("f16", "f32", "f32"), ("f16", "f16", "f16"),
    ("bf16", "bf16", "bf16"),
])  # fmt: skip
def test_units_are_chosen_by_format(dtype: str, adds: str, result: str) -> None:
    made = random_shape(12, 3)
    tree = reveal_softmax(softmax(made, adds, result), 12, dtype, result)
    assert agrees(tree, expected(made, 12, adds), adds) and {s.dtype for s in tree.steps} == {adds}
    assert unit(dtype, adds) is not None


@pytest.mark.parametrize("result", ["f16", "bf16", "f32"])
def test_sums_in_more_digits_than_are_shown_are_refused(result: str) -> None:
    adds = "f64" if result == "f32" else "f32"
    with pytest.raises(Unsupported, match="more digits than its results"):
        reveal_softmax(softmax(chain(range(9)), adds, result), 9, result, result)


def test_an_order_that_the_data_decide_is_refused() -> None:
    def by_size(x: np.ndarray) -> np.ndarray:
        return softmax(chain(np.argsort(-x, kind="stable").tolist()))(x)

    with pytest.raises(Unsupported, match=r"meet at once|no one tree"):
        reveal_softmax(by_size, 9)


def test_what_is_no_softmax_is_refused() -> None:
    with pytest.raises(Unsupported, match="no softmax"):
        reveal_softmax(lambda x: np.exp(x.astype(np.float64)) * 3, 5)
    assert is_softmax(softmax(chain(range(5))), 5, "f32") and not is_softmax(lambda x: x * 2, 5, "f32")
    assert not is_softmax(lambda x: np.full(5, 0.2), 5, "f32")


def test_another_tree_is_seen_to_be_wrong() -> None:
    run = softmax(halves(list(range(32))))
    right, wrong = reveal_softmax(run, 32), sequential(32)
    for method in (verify_masked, lambda t, r, *rest: verify_random(t, r, own_exp, *rest)):
        assert method(right, run, 200, 1, "f32", "f32").first is None
        found = method(wrong, run, 200, 1, "f32", "f32")
        assert found.agree < 200 and found.first is not None


def own_exp(x: np.ndarray) -> np.ndarray:
    wide = x.astype(np.float64)
    return np.exp(wide - wide.max()).astype(np.float32)


@pytest.mark.parametrize(("n", "dtype"), [(6, "f32"), (7, "f32"), (9, "f64"), (33, "f32"), (130, "f32")])
def test_exponentials_of_its_own_are_read(n: int, dtype: str) -> None:
    """Of a softmax whose exp is a unit off in places: with what is read its tree gives every bit, another does not."""
    shape, kind = halves(list(range(n))), storage_dtype(dtype)
    run = coarse(shape, dtype)
    rows = np.random.default_rng(n).standard_normal((20, n)).astype(kind)
    read = Reader(run, n, dtype)
    for row in rows:
        assert np.array_equal(read(row), off((row - row.max()).astype(kind)).astype(np.float64))
    tree = reveal_softmax(run, n, dtype)
    check = 60, 1, dtype, dtype
    assert verify_random(tree, run, read, *check).first is None
    assert verify_random(tree, run, lambda x: np.exp(x - x.max()), *check).agree < 60
    assert n < 33 or verify_random(sequential(n), run, read, *check).agree < 60


def off(x: np.ndarray) -> np.ndarray:
    """exp, one unit in the last place too large where the bits of the argument say so; 1 stays."""
    e = np.exp(x)
    odd = (x.view(f"u{x.itemsize}") % 3 == 1) & (x < 0)
    return np.where(odd, np.nextafter(e, x.dtype.type(2)), e)


def coarse(shape: Any, dtype: str) -> Row:
    def run(x: np.ndarray) -> np.ndarray:
        e = off((x - x.max()).astype(x.dtype))

        def total(part: Any) -> Any:
            return e[part] if not isinstance(part, tuple) else np.add(*map(total, part))

        return (e / total(shape)).astype(np.float64)

    return run


def test_where_exponentials_cannot_be_read() -> None:
    assert readable(6, "f32", "f32", "f32") and not readable(5, "f32", "f32", "f32")
    assert not readable(64, "bf16", "f32", "f32") and not readable(64, "bf16", "bf16", "bf16")
    never = Reader(lambda x: np.full(x.size, 0.3), 8, "f32")
    assert np.isnan(never(np.zeros(8, np.float32))).all()


# -- libraries and files ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("subject", ["torch.softmax", "jax.nn.softmax"])
def test_libraries_bit_for_bit(subject: str) -> None:
    found = probe(subject, 50, trials=300)
    assert found.verified == found.trials == 300 and found.first is None
    assert found.whole == 300 or found.read == 300  # XLA's softmax has its own exp; torch's may have another


def test_a_users_softmax_and_what_its_text_promises(tmp_path: Path) -> None:
    path = tmp_path / "rows.py"
    path.write_text(
        "import torch\n\ndef row(x):\n    e = torch.exp(x - x.max())\n    total = e[0]\n"
        "    for i in range(1, x.shape[0]):\n        total = total + e[i]\n    return e / total\n\n"
        "def library(x):\n    return torch.softmax(x, 0)\n"
    )
    said = [line.strip() for line in reported(CompareOptions(a=f"{path}:row", b=""), 9, "f32", "cpu").lines()]
    assert said[1] == "sequential(9) in f32" and "measured: as promised" in said
    said = [line.strip() for line in reported(CompareOptions(a=f"{path}:library", b=""), 9, "f32", "cpu").lines()]
    assert any(line.startswith("ATen leaves it open; torch ") and line.endswith(" here") for line in said)
    with pytest.raises(UsageError, match="or a softmax"):
        path.write_text("import torch\n\ndef twice(x):\n    return x * 2\n")
        probe(f"{path}:twice", 9)
