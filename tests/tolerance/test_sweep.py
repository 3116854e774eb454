"""The share of mutants that derived tolerances reject: of a few programs, and of the corpus under the sweep marker."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tolerance.programs import normal, stored
from tests.tolerance.sweep import Sweep

CHOSEN = (
    "softmax", "softmax_online_jnp", "softmax_exp2", "cross_entropy_torch", "cross_entropy_jnp", "layer_norm_torch",
    "layer_norm_pallas", "rms_norm_torch", "gelu_erf_torch", "gelu_tanh_jax", "matmul_f32_torch",
    "matmul_bf16_hop_pallas", "matmul_splitk_atomic", "attention_one_tile_jnp", "kl_div_torch", "swiglu_jnp",
    "rope_torch",
)  # fmt: skip


def test_a_few_programs() -> None:
    sweep = Sweep(3, 10)
    for name in ("rms_norm", "softmax", "matmul_bf16_hop"):
        program = stored(name)
        sweep.add(name, program, normal(program))
    assert not sweep.broken and sweep.reorderings == 72
    assert len(sweep.beyond) >= 12 and sweep.share("expected", sweep.beyond) == 1.0, sweep.text()
    assert sweep.share("expected", sweep.counted) < 1.0  # what rounding hides is counted there


@pytest.mark.sweep
def test_the_corpus(tmp_path: Path) -> None:
    from tests.corpus.harness import capture, cases
    from tests.mutation.run import originals

    for case, found in capture([c for c in cases() if c.name in CHOSEN], tmp_path):
        assert not isinstance(found, Exception), case.name
    sweep = Sweep(0, 5)
    for name, program, inputs in originals(tmp_path, captured=True):
        sweep.add(name, program, inputs)
    print(sweep.text())
    assert sweep.programs >= 25 and not sweep.broken
    assert sweep.share("expected", sweep.other) >= 0.95, sweep.text()
