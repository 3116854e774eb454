"""Torch host code that calls NKI kernels: what it does around them, and what it passes and gets back."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from equivalence.evaluator import Machine
from irverify import loading
from lowering.capture.nki.namespaces import installed
from lowering.capture.torch_host import torch_session
from lowering.capture.torch_nki import kernels_run
from lowering.errors import Unsupported, UsageError
from lowering.pipeline import lower

SOURCE = """
import torch
import torch_xla.core.xla_model as xm
from torch_neuronx import nki_jit
from neuronxcc import nki
import neuronxcc.nki.language as nl


@nki.jit
def squared(x, factor, dtype=None):
    out = nl.ndarray(x.shape, dtype=dtype or x.dtype, buffer=nl.shared_hbm)
    for i in nl.affine_range(x.shape[0] // 128):
        t = nl.load(x[i * 128:(i + 1) * 128, :])
        nl.store(out[i * 128:(i + 1) * 128, :], nl.square(t) * factor)
    return out


@nki.jit
def both(pair):
    out = [nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm) for x in pair]
    nl.store(out[0], nl.add(nl.load(pair[0]), nl.load(pair[1])))
    nl.store(out[1], nl.subtract(nl.load(pair[0]), nl.load(pair[1])))
    return tuple(out)


@nki_jit
def added(x, y):
    i = nl.program_id(0)
    nl.store(y[i:i + 1], nl.add(nl.load(x[i:i + 1]), nl.load(y[i:i + 1])))


def padded(x, bias):
    x = x.to(xm.xla_device()) + bias
    rows = x.shape[0]
    y = squared(torch.nn.functional.pad(x, (0, 0, 0, -rows % 128)), 0.5)
    xm.mark_step()
    return y[:rows].t().contiguous()


def narrowed(x):
    return squared(x, 2, dtype=torch.bfloat16).float()


def several(x, y):
    plus, minus = both([x, y])
    return plus * minus


def in_place(x):
    y = torch.ones_like(x)
    added[x.shape[0]](x, y)
    added[x.shape[0]](x, y)
    return y


def decided(x):
    return x if squared(x, 1.0).sum() > 0 else -x


def launched(x):
    xm.rendezvous("there")
    return x


FIRST = squared(torch.ones(128, 2), 1.0) if {} else None
"""
X = np.random.default_rng(0).standard_normal((150, 5)).astype(np.float32)
WHOLE = np.arange(128 * 6, dtype=np.float32).reshape(128, 6)


class Host:
    def __init__(self, folder: Path, session: Any) -> None:
        self.folder, self.session = folder, session

    def module(self, early: bool = False) -> Any:
        (self.folder / "host.py").write_text(SOURCE.replace("{}", str(early)))
        return loading.load(self.folder / "host.py")

    def run(self, entry: str, *args: np.ndarray) -> np.ndarray:
        tensors = [torch.from_numpy(x.copy()) for x in args]
        trace = self.session.capture(getattr(self.module(), entry), tensors)
        values = {name: x for (name, _), x in zip(trace.inputs, args, strict=True)}
        (first, *_) = Machine(lower(trace), ()).run(values).outputs.values()
        return np.asarray(first.full(first.data))[0]


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Host]:
    with torch_session("sm_80") as session, installed(), kernels_run(session, "trn2", "0.6"):
        yield Host(tmp_path, session)


def test_padding_and_slicing(host: Host) -> None:
    bias = np.arange(5, dtype=np.float32)
    found = host.run("padded", X, bias)
    assert np.array_equal(found, ((X + bias) ** 2 * np.float32(0.5)).T)
    assert not np.array_equal(found, (X**2 * np.float32(0.5)).T)


def test_dtypes_lists_and_tuples(host: Host) -> None:
    rounded = torch.from_numpy(WHOLE * WHOLE * 2).bfloat16().float().numpy()
    assert np.array_equal(host.run("narrowed", WHOLE), rounded)
    assert np.array_equal(host.run("several", WHOLE, WHOLE + 1), (2 * WHOLE + 1) * np.float32(-1))


def test_a_kernel_that_writes_its_argument(host: Host) -> None:
    assert np.array_equal(host.run("in_place", WHOLE[:3]), 2 * WHOLE[:3] + 1)


def test_what_the_host_decides_by_a_result_needs_its_values(host: Host) -> None:
    with pytest.raises(Unsupported, match="of a result computed by a kernel"):
        host.run("decided", WHOLE)


def test_names_that_are_not_modelled_and_calls_in_the_wrong_place(host: Host) -> None:
    with pytest.raises(
        Unsupported, match=r"torch_xla\.core\.xla_model\.rendezvous, which is not modelled yet at .*host"
    ):
        host.run("launched", X)
    with pytest.raises(UsageError, match="squared is called outside of the function compared"):
        host.module(early=True)
