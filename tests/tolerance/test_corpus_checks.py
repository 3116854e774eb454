"""`--check 1e-2,1e-2` on the corpus's softmaxes, cross entropies and layer norms: zeros and B pass where they do.

Whether they do is worked out here by numpy's allclose, on the same draws and the plain values of both programs.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from equivalence.evaluator import Machine
from equivalence.judge.planes import value
from equivalence.tolerance import Request, assess
from equivalence.tolerance.references import draws
from irverify.collect import Variant
from lowering.ir.program import Program
from tests.corpus.harness import capture, cases

RTOL = ATOL = 1e-2
FAMILIES = ("softmax", "cross_entropy", "layer_norm")
USUAL = ("softmax", "softmax_no_max", "cross_entropy_torch", "layer_norm_padded_variance", "layer_norm_torch")
Arrays = dict[str, np.ndarray]


def results(program: Program, inputs: Arrays) -> list[np.ndarray]:
    with np.errstate(all="ignore"):
        outcome = Machine(program, ()).run(inputs)
    return [value(lanes).astype(np.float64) for lanes in outcome.outputs.values()]


def close(found: list[np.ndarray], wanted: list[np.ndarray]) -> bool:
    return all(np.allclose(x, y, RTOL, ATOL) for x, y in zip(found, wanted, strict=True))


def examine(variant: Variant) -> None:
    a, b, inputs = variant.program_a, variant.program_b, variant.inputs
    report = assess(Request(a, inputs, b, (RTOL, ATOL), draws=2, mutants=0))
    drawn = [arrays for label, arrays in draws(inputs, 2, 0) if label in report.draws]
    wanted = [results(a, arrays) for arrays in drawn]
    zeros = all(close([np.zeros_like(x) for x in of], of) for of in wanted)
    found = next(trial for trial in report.trials if trial.name == "zeros")
    assert found.passes["proposed"] == zeros
    assert report.side is not None
    assert report.side.passes["proposed"] == all(close(results(b, x), of) for x, of in zip(drawn, wanted, strict=True))
    if zeros and found.status == "passes":
        assert report.exit_code == 1 and found in report.loose


def test_usual_pairs(tmp_path: Path) -> None:
    _examine([case for case in cases() if case.name in USUAL], tmp_path)


@pytest.mark.sweep
def test_every_pair(tmp_path: Path) -> None:
    _examine([case for case in cases() if any(family in case.name for family in FAMILIES)], tmp_path)


def _examine(chosen: list, folder: Path) -> None:
    assert len(chosen) >= len(USUAL)
    for case, found in capture(chosen, folder):
        assert not isinstance(found, Exception), (case.name, found)
        examine(min(found.variants, key=lambda variant: sum(x.size for x in variant.inputs.values())))
