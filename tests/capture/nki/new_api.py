"""Kernels of the new API without a file: a tracer, tiles, and the instructions that a block records."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from lowering.capture.nki.tensor_new import NkiTensor
from lowering.capture.nki.trace import HBM, NEW, PSUM, SBUF, Instr, NkiTrace
from lowering.capture.nki.tracer import Tracer
from lowering.errors import Unsupported, UsageError


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
    from lowering.capture.nki.tracer import addresses

    return addresses(view.ref)
