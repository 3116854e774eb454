"""Kernels of the new API as traces: a body in a frame that has ``x`` (f32[128,64]), ``y`` (another) and ``out``."""

from __future__ import annotations

import textwrap
from pathlib import Path

import numpy as np

from irverify import loading
from lowering.capture.nki.host import capture_nki
from lowering.capture.nki.namespaces import installed
from lowering.capture.nki.trace import NkiTrace
from lowering.legality import Finding, check

FRAME = """
import nki
import nki.isa as nisa
import nki.language as nl

def sbuf(shape, dtype=nl.float32, **more):
    return nl.ndarray(shape, dtype, buffer=nl.sbuf, **more)

def psum(shape, dtype=nl.float32, **more):
    return nl.ndarray(shape, dtype, buffer=nl.psum, **more)

def loaded(x):
    tile = nl.ndarray(x.shape, x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    return tile

def filled(shape, dtype=nl.float32, value=1, **more):
    tile = nl.ndarray(shape, dtype, buffer=nl.sbuf, **more)
    nisa.memset(tile, value)
    return tile

@nki.jit
def kernel(x, y):
    out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
{body}
    nisa.dma_copy(dst=out, src=x)
    return out
"""


def traced(folder: Path, body: str, target: str = "trn2", version: str = "0.6") -> NkiTrace:
    """The trace of one body."""
    path = folder / f"kernel_{len(list(folder.iterdir()))}.py"
    path.write_text(FRAME.format(body=textwrap.indent(textwrap.dedent(body).strip(), "    ")))
    arrays = np.ones((128, 64), np.float32), np.ones((128, 64), np.float32)
    with installed():
        module = loading.load(path)
        return capture_nki(module.kernel, arrays, names=("x", "y"), target=target, version=version)


def found(folder: Path, body: str, target: str = "trn2", version: str = "0.6") -> list[Finding]:
    """What there is to say of one body."""
    return check(traced(folder, body, target, version))
