"""What Beta-1's ``dst[...] = value`` keeps of the value: its rounding, its views, the order of its elements."""

from __future__ import annotations

from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from lowering.errors import Unsupported
from lowering.legality import check
from tests.capture.nki.beta1 import captured, evaluated, result

KERNEL = """
@nki.jit
def kernel(x):
    out = nl.ndarray((32, 16), dtype=x.dtype, buffer=nl.shared_hbm)
    t = nl.load(x)
    y = nl.ndarray((32, 16), dtype=x.dtype, buffer=nl.sbuf)
    {}
    nl.store(out, y)
    return out
"""
X = (1 + np.random.default_rng(0).random((32, 16))).astype(np.float32)


def test_a_cast_to_a_narrower_dtype_is_not_lost(tmp_path: Path) -> None:
    found = result(tmp_path, KERNEL.format("y[...] = nl.copy(t, dtype=nl.bfloat16)"), x=X)
    assert np.array_equal(found, X.astype(ml_dtypes.bfloat16).astype(np.float32))
    assert not np.array_equal(found, X)


def test_an_integer_that_goes_through_f32_is_rounded(tmp_path: Path) -> None:
    large = (2**24 + 1 + np.arange(512, dtype=np.int32)).reshape(32, 16)
    found = result(tmp_path, KERNEL.format("y[...] = nl.copy(t, dtype=nl.float32)"), x=large)
    assert np.array_equal(found, large.astype(np.float32).astype(np.int32))
    assert not np.array_equal(found, large)


def test_a_view_that_was_taken_before_keeps_its_elements(tmp_path: Path) -> None:
    body = """v = nl.add(t, 1.0)
    w = v[0:32, 0:16]
    y[...] = v
    y[...] = nl.multiply(y, w)"""
    assert np.array_equal(result(tmp_path, KERNEL.format(body), x=X), (X + 1) * (X + 1))


def test_elements_in_reverse_order(tmp_path: Path) -> None:
    body = """i_p, i_f = nl.arange(32)[:, None], nl.arange(8)[None, :]
    y[...] = 0.0
    y[i_p, 15 - i_f] = nl.add(t[i_p, 11 - 2 * i_f // 2], 0.5)"""
    want, lanes = np.zeros_like(X), np.arange(8)
    want[:, 15 - lanes] = X[:, 11 - lanes] + np.float32(0.5)
    assert np.array_equal(result(tmp_path, KERNEL.format(body), x=X), want)


def test_a_choice_by_a_loop_variable_is_its_value_and_told(tmp_path: Path) -> None:
    """Only an expression that uses the mask which it tests asks whether there is one."""
    body = """for i in nl.affine_range(2):
        j = i * 8
        y[:, j:j + 8] = nl.multiply(t[:, j:j + 8], 1.0 if i == 0 else 2.0)"""
    trace = captured(tmp_path, KERNEL.format(body), x=X)
    assert np.array_equal(evaluated(trace, x=X)[0], np.concatenate([X[:, :8], 2 * X[:, 8:]], axis=1))
    assert any("a condition on a loop variable" in note for note in trace.notes)


def test_what_is_assumed_of_places_and_shapes_is_told(tmp_path: Path) -> None:
    placed = """import neuronxcc.nki.compiler as ncc
    y = nl.ndarray((32, 16), dtype=x.dtype, buffer=ncc.sbuf.mod_alloc(base_addr=0))
    y[...] = t"""
    trace = captured(tmp_path, KERNEL.format(placed), x=X)
    assert not trace.assumed and (0, 0) in [storage.pinned for storage in trace.storages.values()]
    plain = captured(tmp_path, KERNEL.format("y[...] = t"), x=X)
    assert not plain.assumed and not plain.notes
    turned = captured(tmp_path, KERNEL.format("y[...] = t; out = out.reshape((16, 32))"), x=X)
    assert any("nl.store of (32, 16) to (16, 32)" in note for note in turned.notes)


def test_a_softmax_in_another_dtype_is_not_modelled(tmp_path: Path) -> None:
    with pytest.raises(Unsupported, match="compute_dtype bfloat16"):
        captured(tmp_path, KERNEL.format("y[...] = nl.softmax(t, axis=1, compute_dtype=nl.bfloat16)"), x=X)
    captured(tmp_path, KERNEL.format("y[...] = nl.softmax(t, axis=1, compute_dtype=nl.float32)"), x=X)


def test_a_value_that_moves_within_its_tensor(tmp_path: Path) -> None:
    """It is made before it is assigned: the instruction does not overwrite what it reads."""
    moved = "y[...] = nl.copy(t)\n    y[:, 1:16] = nl.add(y[:, 0:15], 1.0)"
    trace = captured(tmp_path, KERNEL.format(moved), x=X)
    assert np.array_equal(evaluated(trace, x=X)[0][:, 1:], X[:, :-1] + np.float32(1))
    assert check(trace) == []
    turned = "y[...] = nl.copy(t)\n    y[0:16, :] = nisa.dma_transpose(y[0:16, :])"
    trace = captured(tmp_path, KERNEL.format(turned), x=X)
    assert np.array_equal(evaluated(trace, x=X)[0][:16], X[:16].T)
    assert check(trace) == []
    in_place = captured(tmp_path, KERNEL.format("y[...] = nl.copy(t)\n    y[...] = nl.add(y, 1.0)"), x=X)
    assert [i.op for i in in_place.instrs] == ["nc_dma_copy", "nc_copy", "tensor_scalar", "nc_dma_copy"]
