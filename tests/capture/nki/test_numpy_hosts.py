"""Numpy host code that calls NKI kernels: what it does with arrays around them, against numpy itself."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from equivalence.evaluator import Machine
from irverify import loading
from lowering.capture.nki.namespaces import installed
from lowering.capture.numpy_host import capture_numpy_host
from lowering.errors import Unsupported
from lowering.pipeline import lower

SOURCE = """
import numpy as np
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def copied(x):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    nisa.dma_copy(dst=out, src=tile)
    return out


def run(x, kernel=copied):
    return np.asarray(kernel(x))


def padded(x, y):
    rows = x.shape[0]
    x = np.pad(x, ((0, -rows % 8), (0, 0)))
    return run(np.ascontiguousarray(x.T))[:, :rows].T.copy() + y[0]


def assembled(x, y):
    whole = np.zeros((8, 2 * x.shape[1]), dtype=np.float32)
    whole[: x.shape[0], ::2] = x
    whole[-1] = np.concatenate([y[1], 3.0 * y[0]])
    return run(whole.reshape(2, 4, -1).transpose(1, 0, 2).reshape(8, -1))


def computed(x, y):
    scaled = (x - 1) / 2 + np.exp(y[:, None, :]).squeeze(1)[0] * np.float64(0.5)
    return run(np.maximum(scaled.astype(np.float16), -x[0]).astype(np.float32)) @ y.T


def doubled(x, y):
    x *= 2
    return run(x)


def partly(x, y):
    made = np.empty((8, 4), np.float32)
    made[: x.shape[0], :3] = x
    return run(made)


def chosen(x, y):
    return run(x[x[:, 0] > 0])


def sorted_(x, y):
    return run(np.sort(x))


def read(x, y):
    return run(np.array([float(x[0, 0]), 1.0]))
"""
X = np.random.default_rng(0).standard_normal((5, 3)).astype(np.float32)
Y = np.random.default_rng(1).standard_normal((2, 3)).astype(np.float32)


@pytest.fixture
def module(tmp_path: Path) -> Iterator[Any]:
    (tmp_path / "host.py").write_text(SOURCE)
    with installed():
        yield loading.load(tmp_path / "host.py")


def outputs(module: Any, entry: str) -> list[np.ndarray]:
    trace = capture_numpy_host(getattr(module, entry), {"x": X, "y": Y}, "trn2", "0.6")
    made = Machine(lower(trace), ()).run({"x": X, "y": Y}).outputs.values()
    return [np.asarray(lanes.full(lanes.data))[0] for lanes in made]


def by_numpy(module: Any, entry: str) -> np.ndarray:
    """The same host code on real arrays, with a kernel that gives its argument back."""
    plain = module.copied
    module.run.__defaults__ = (lambda x: x.copy(),)
    try:
        return np.asarray(getattr(module, entry)(X.copy(), Y.copy()))
    finally:
        module.run.__defaults__ = (plain,)


@pytest.mark.parametrize("entry", ["padded", "assembled", "computed"])
def test_what_numpy_does(module: Any, entry: str) -> None:
    want, (found, *rest) = by_numpy(module, entry), outputs(module, entry)
    assert not rest and (found.dtype, found.shape) == (want.dtype, want.shape)
    assert np.allclose(found, want, rtol=1e-6, atol=1e-6) and not np.allclose(found, 0)


def test_a_change_of_an_argument_is_an_output(module: Any) -> None:
    returned, written = outputs(module, "doubled")
    assert np.array_equal(returned, 2 * X) and np.array_equal(written, 2 * X)


def test_numpy_is_put_back(module: Any) -> None:
    before = np.asarray, np.zeros
    with pytest.raises(Unsupported):
        outputs(module, "chosen")
    assert (np.asarray, np.zeros) == before


@pytest.mark.parametrize(("entry", "said"), [("chosen", "this operator of arrays in numpy host code"),
                                             ("sorted_", "np.sort in numpy host code"),
                                             ("read", "a decision by a kernel")])  # fmt: skip
def test_what_is_not_read(module: Any, entry: str, said: str) -> None:
    with pytest.raises(Unsupported, match=said):
        outputs(module, entry)


def test_memory_of_np_empty_holds_nothing(module: Any) -> None:
    trace = capture_numpy_host(module.partly, {"x": X, "y": Y}, "trn2", "0.6")
    assert "empty" in {storage.origin for storage in trace.storages.values()}
