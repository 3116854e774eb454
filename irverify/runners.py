"""What can be probed: sums and dot products of libraries and of users' files, as callables on numpy arrays.

Takes a subject's name, a size, a dtype and a target; gives a Runner, in the worker.  Frameworks are imported by the
adapters ``_probe_*.py`` only, and only when a subject is theirs.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from equivalence.numerics.formats import storage_dtype
from lowering.errors import UsageError

DTYPES = {"f64": "float64", "f32": "float32", "f16": "float16", "bf16": "bfloat16"}
SHORT = {name: short for short, name in DTYPES.items()}
ADAPTERS = {"torch": "irverify._probe_torch", "jax": "irverify._probe_jax"}
TARGETS = ("cpu", "cuda")
_MATRIX = re.compile(r"(?P<name>[\w.]+)(\[(?P<rows>\d+)x(?P<columns>\d+)(@(?P<row>\d+),(?P<column>\d+))?\])?")


@dataclass(frozen=True, slots=True)
class Element:
    """One element of a product of matrices, [rows, n] with [n, columns]."""

    rows: int = 1
    columns: int = 1
    row: int = 0
    column: int = 0


@dataclass(frozen=True, slots=True)
class Runner:
    """``run`` takes one array, or two for a dot product; ``result``: the format of what it gives.

    A softmax gives an array (f64) in place of a number, and ``exp`` is its framework's exp(x - max), by name.
    """

    run: Callable[..., Any]
    factors: int
    result: str
    version: str
    exp: tuple[str, Callable[[np.ndarray], np.ndarray]] | None = None


@dataclass(frozen=True, slots=True)
class Library:
    """A library's function: 'numpy', 'torch' or 'jax', and what it does."""

    framework: str
    operation: str  # 'sum', 'dot' or 'matmul'
    element: Element


LIBRARIES = {
    "numpy.sum": ("numpy", "sum"),
    "numpy.dot": ("numpy", "dot"),
    "numpy.matmul": ("numpy", "matmul"),
    "torch.sum": ("torch", "sum"),
    "torch.dot": ("torch", "dot"),
    "torch.matmul": ("torch", "matmul"),
    "torch.softmax": ("torch", "softmax"),
    "jax.numpy.sum": ("jax", "sum"),
    "jax.numpy.dot": ("jax", "dot"),
    "jax.numpy.matmul": ("jax", "matmul"),
    "jax.nn.softmax": ("jax", "softmax"),
}


def library_of(subject: str) -> Library | None:
    """'torch.matmul[64x32@3,5]' as a Library: without a shape [1, n] with [n, 1]; None for a file."""
    match = _MATRIX.fullmatch(subject.replace("jnp.", "jax.numpy.").replace("np.", "numpy."))
    if match is None or match["name"] not in LIBRARIES:
        return None
    framework, operation = LIBRARIES[match["name"]]
    element = Element(*(int(match[part] or default) for part, default in _PARTS))
    if match["rows"] and operation != "matmul":
        raise UsageError(f"{subject}: only a matmul has a shape; write {match['name']}")
    if not (element.row < element.rows and element.column < element.columns):
        raise UsageError(f"{subject}: the element lies outside a result of {element.rows} by {element.columns}")
    return Library(framework, operation, element)


_PARTS = (("rows", 1), ("columns", 1), ("row", 0), ("column", 0))


def library_runner(library: Library, n: int, dtype: str, target: str) -> Runner:
    """The library's own function, on CPU or, where its framework sees one, on a GPU."""
    if library.framework == "numpy":
        if target != "cpu":
            raise UsageError(f"numpy runs on the CPU; the target is {target!r}")
        return _numpy_runner(library, n, dtype)
    return importlib.import_module(ADAPTERS[library.framework]).library_runner(library, n, dtype, target)


def function_runner(
    function: Callable[..., Any], framework: str, factors: int, n: int, dtype: str, target: str
) -> Runner:
    """A user's function of one array, or of two, called with its framework's arrays."""
    adapter = importlib.import_module(ADAPTERS[framework])
    return adapter.function_runner(function, factors, n, dtype, target)


def place(matrices: tuple[np.ndarray, np.ndarray], element: Element, a: np.ndarray, b: np.ndarray) -> None:
    """Puts the factors of one element's products into the matrices."""
    matrices[0][element.row, :] = a
    matrices[1][:, element.column] = b


def matrices(element: Element, n: int, dtype: str) -> tuple[np.ndarray, np.ndarray]:
    """Operands for ``place``: what is not in the element's row and column is 0."""
    storage = storage_dtype(dtype)
    return np.zeros((element.rows, n), storage), np.zeros((n, element.columns), storage)


def check_scalar(count: int, where: str) -> None:
    """A sum is one number."""
    if count != 1:
        raise UsageError(f"{where} gives {count} values for one sum; it should return one number, or a softmax")


def is_softmax(run: Callable[[np.ndarray], np.ndarray], n: int, dtype: str) -> bool:
    """Whether a function of n > 1 values gives 1/n of equal ones each, and 1 where all others are -infinity."""
    equal, alone = np.zeros(n, storage_dtype(dtype)), np.full(n, -np.inf, storage_dtype(dtype))
    alone[n - 1] = 0
    wanted = np.arange(n) == n - 1
    return n > 1 and bool(np.allclose(run(equal), 1 / n, rtol=0.05)) and bool(np.array_equal(run(alone), wanted))


def _numpy_runner(library: Library, n: int, dtype: str) -> Runner:
    version = f"numpy {np.__version__}"
    if library.operation == "sum":
        return Runner(lambda values: float(np.sum(values)), 1, dtype, version)
    version += _blas()
    if library.operation == "dot":
        return Runner(lambda a, b: float(np.dot(a, b)), 2, dtype, version)
    element, pair = library.element, matrices(library.element, n, dtype)

    def run(a: np.ndarray, b: np.ndarray) -> float:
        place(pair, element, a, b)
        return float(np.matmul(*pair)[element.row, element.column])

    return Runner(run, 2, dtype, version)


def _blas() -> str:
    """', OpenBLAS 0.3 (SkylakeX), 2 threads' of the BLAS that numpy has loaded."""
    from threadpoolctl import threadpool_info

    np.dot(np.ones(2, np.float32), np.ones(2, np.float32))
    for found in threadpool_info():
        if found["user_api"] == "blas" and "numpy" in found["filepath"]:  # scipy brings another one
            words = f"{found['internal_api']} {found.get('version')} ({found.get('architecture')})"
            return f", {words}, {found['num_threads']} threads"
    return ""
