"""Kernels of the new API without a file: a tracer, tiles, and the instructions that a block records."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from equivalence.evaluator import Machine
from lowering.capture.nki.dtypes import dtype_name
from lowering.capture.nki.tensor_new import NkiTensor
from lowering.capture.nki.trace import HBM, NEW, PSUM, SBUF, Instr, NkiTrace
from lowering.capture.nki.tracer import Tracer, addresses
from lowering.errors import Unsupported, UsageError
from lowering.nki_program import lower_nki


@contextmanager
def kernel(target: str = "gen3", version: str = "0.6") -> Iterator[NkiTrace]:
    trace = NkiTrace("kernel", NEW, target, version)
    with Tracer(trace):
        yield trace


def sb(*shape: int, dtype: str = "float32") -> NkiTensor:
    return NkiTensor.new(SBUF, shape, dtype)


def ps(*shape: int, dtype: str = "float32") -> NkiTensor:
    return NkiTensor.new(PSUM, shape, dtype)


def hbm(*shape: int, dtype: str = "float32") -> NkiTensor:
    return NkiTensor.new(HBM, shape, dtype)


def last(trace: NkiTrace) -> Instr:
    return trace.instrs[-1]


@contextmanager
def refused(*words: str, kind: type[Exception] = UsageError) -> Iterator[None]:
    """The block is refused with every one of the words, and with the line of this block."""
    with pytest.raises(kind) as caught:
        yield
    message = str(caught.value)
    assert all(word in message for word in words), message
    lines = {f"{entry.path}:{entry.lineno + 1}" for entry in caught.traceback if "/tests/" in str(entry.path)}
    assert any(line in message for line in lines), message


@contextmanager
def unmodelled(*words: str) -> Iterator[None]:
    with refused("not modelled yet", *words, kind=Unsupported):
        yield


def placed(view: Any) -> np.ndarray:
    """The numbers that a view sees where its storage holds 0, 1, 2, ..."""
    return addresses(view.ref)


def values(body: Any, *arrays: np.ndarray, version: str = "0.6") -> np.ndarray:
    """What ``body`` gives, called with tiles in SBUF that hold the arrays: the tile that it returns, run on numbers."""
    with kernel(version=version) as trace:
        tiles = []
        for number, array in enumerate(arrays):
            data = NkiTensor.new(SBUF, array.shape, dtype_name(array.dtype), origin="input", data=array)
            trace.inputs.append((f"x{number}", data.ref))
            tiles.append(data)
        trace.outputs.append(("out0", body(*tiles).ref))
    outcome = Machine(lower_nki(trace), ()).run({f"x{i}": array for i, array in enumerate(arrays)})
    found = outcome.outputs["out0"]
    return np.broadcast_to(np.asarray(found.data), (1, *found.shape))[0]
