"""Libraries and users' functions, probed as they are: the trees give their results bit for bit."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from equivalence.order.probe import reveal, reveal_dot, verify
from equivalence.order.tree import OrderTree
from irverify.probing import probe
from irverify.runners import LIBRARIES, Element, Library, Runner, library_of, library_runner
from lowering.errors import Unsupported, UsageError

TRIALS = 1000
SUMS = ["numpy.sum", "torch.sum", "jax.numpy.sum"]
DOTS = ["numpy.dot", "torch.dot", "torch.matmul", "jax.numpy.dot", "numpy.matmul[4x4@1,2]"]


def runner_of(subject: str, n: int, dtype: str = "f32") -> Runner:
    library = library_of(subject)
    assert library is not None
    return library_runner(library, n, dtype, "cpu")


def revealed(runner: Runner, n: int, dtype: str) -> OrderTree:
    method: Callable[..., OrderTree] = reveal_dot if runner.factors == 2 else reveal
    return method(runner.run, n, dtype, None, runner.result)


def agreeing(subject: str, n: int, dtype: str = "f32") -> int:
    """On how many of TRIALS random inputs the revealed tree gives the subject's bits."""
    runner = runner_of(subject, n, dtype)
    return verify(revealed(runner, n, dtype), runner.run, TRIALS, 1, dtype).agree


@pytest.mark.parametrize("n", [7, 64, 1000])
@pytest.mark.parametrize("subject", SUMS + DOTS)
def test_libraries_bit_for_bit(subject: str, n: int) -> None:
    assert agreeing(subject, n) == TRIALS


def test_an_element_of_a_product_of_matrices() -> None:
    assert agreeing("torch.matmul[3x5@2,4]", 33) == TRIALS


@pytest.mark.parametrize("dtype", ["f64", "f16", "bf16"])
@pytest.mark.parametrize("subject", [*SUMS, "torch.matmul", "numpy.dot"])
def test_other_dtypes_bit_for_bit(subject: str, dtype: str) -> None:
    assert agreeing(subject, 150, dtype) == TRIALS


@pytest.mark.sweep
@pytest.mark.parametrize("subject", SUMS + DOTS[:4])
def test_4096_terms_bit_for_bit(subject: str) -> None:
    assert agreeing(subject, 4096) == TRIALS


def test_a_blas_may_sum_in_several_formats() -> None:
    """Whatever is found, trees of mixed formats give numpy's bits; what a BLAS does with a remainder is its own."""
    for n in (33, 50, 95):
        assert agreeing("numpy.dot", n) == TRIALS


def test_the_tree_of_another_size_or_library_is_seen_to_be_wrong() -> None:
    other = revealed(runner_of("torch.sum", 200), 200, "f32")
    assert verify(other, runner_of("numpy.sum", 200).run, 100).agree < 100


# -- names -----------------------------------------------------------------------------------------------------------


def test_names_of_subjects() -> None:
    assert library_of("np.sum") == library_of("numpy.sum") == Library("numpy", "sum", Element())
    assert library_of("jnp.dot") == Library("jax", "dot", Element())
    assert library_of("torch.matmul[64x32@3,5]") == Library("torch", "matmul", Element(64, 32, 3, 5))
    assert library_of("a.py:total") is None and library_of("torch.nansum") is None
    assert all(library_of(name) for name in LIBRARIES)


@pytest.mark.parametrize("subject, words", [
    ("torch.sum[2x3]", "only a matmul has a shape"),
    ("torch.matmul[2x3@2,0]", "outside a result of 2 by 3"),
    ("torch.nansum", "write FILE.py:FUNCTION or one of"),
    ("missing.py:f", "no such file"),
])  # fmt: skip
def test_names_that_mean_nothing(subject: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        probe(subject, 8)


@pytest.mark.parametrize("n, dtype, target, words", [
    (0, "f32", "cpu", "1 or more"), (8, "i32", "cpu", "write one of f64"), (8, "f32", "tpu", "write one of cpu, cuda"),
    (8, "f32", "cuda", "numpy runs on the CPU"),
])  # fmt: skip
def test_what_cannot_be_asked(n: int, dtype: str, target: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        probe("numpy.sum", n, dtype, target)


# -- in a child process ----------------------------------------------------------------------------------------------

FILE = """
import torch

def total(x):
    return x.sum()

def dotted(a, b):
    return (a * b).sum()

def vector(x):
    return x * 2

def sorted_total(x):
    total = 0.0
    for value in x.sort().values:
        total = total + value
    return total

def raising(x):
    raise ValueError("no such luck")

def three(a, b, c):
    return a.sum()
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "sums.py"
    path.write_text(FILE)
    return path


def test_a_library_in_a_child() -> None:
    found = probe("numpy.sum", 50, trials=100)
    assert found.tree == reveal(runner_of("numpy.sum", 50).run, 50, name="numpy.sum")
    assert found.verified == found.trials == 100 and found.first is None
    assert found.version.startswith("numpy ") and 49 < found.runs < 500 and found.seconds < 10


def test_a_users_function(file: Path) -> None:
    found = probe(f"{file}:total", 40, trials=100)
    assert found.verified == 100 and found.tree.steps == revealed(runner_of("torch.sum", 40), 40, "f32").steps
    assert "torch" in found.version


def test_a_users_dot_product(file: Path) -> None:
    found = probe(f"{file}:dotted", 40, trials=100)
    assert found.verified == 100 and len(found.tree.products) == 40


def test_a_jax_function(tmp_path: Path) -> None:
    path = tmp_path / "rows.py"
    path.write_text("import jax.numpy as jnp\n\ndef total(x):\n    return x.reshape(4, -1).sum(0).sum()\n")
    found = probe(str(path), 40, trials=100)
    assert found.verified == 100 and found.version.startswith("jax ")


@pytest.mark.parametrize("entry, kind, words", [
    ("vector", UsageError, "gives 20 values for one sum"),
    ("raising", UsageError, "no such luck"),
    ("three", UsageError, "a function of one array, or of two"),
    ("sorted_total", Unsupported, "no one tree|meet at once"),
])  # fmt: skip
def test_functions_that_are_no_sums(file: Path, entry: str, kind: type[Exception], words: str) -> None:
    with pytest.raises(kind, match=words):
        probe(f"{file}:{entry}", 20)
