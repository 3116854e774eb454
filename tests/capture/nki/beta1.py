"""Kernels of Beta-1 written for these tests: captured, lowered, and evaluated."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from equivalence.evaluator import Machine
from irverify import loading
from lowering.capture.nki.host import capture_nki
from lowering.capture.nki.namespaces import installed
from lowering.capture.nki.trace import NkiTrace
from lowering.nki_program import lower_nki

HEADER = """
import numpy as np
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl
from neuronxcc.nki.language import par_dim
"""


def captured(folder: Path, source: str, entry: str = "kernel", **inputs: object) -> NkiTrace:
    """The trace of ``entry``, whose arguments are ``inputs`` in their order.  The source starts at line 7."""
    (folder / "kernel.py").write_text(HEADER + source)
    with installed():
        module = loading.load(folder / "kernel.py")
        return capture_nki(getattr(module, entry), list(inputs.values()), names=tuple(inputs))


def evaluated(trace: NkiTrace, **inputs: np.ndarray) -> list[np.ndarray]:
    """The outputs of the lowered trace."""
    outcome = Machine(lower_nki(trace), ()).run(dict(inputs))
    return [np.asarray(value.data)[0] for value in outcome.outputs.values()]


def result(folder: Path, source: str, **inputs: np.ndarray) -> np.ndarray:
    """The first output of ``kernel`` on ``inputs``."""
    return evaluated(captured(folder, source, **inputs), **inputs)[0]


def whole_numbers(*shape: int, seed: int = 0, low: int = -4, high: int = 5) -> np.ndarray:
    """Small integers in f32: sums of them are exact in every order."""
    return np.random.default_rng(seed).integers(low, high, shape).astype(np.float32)
