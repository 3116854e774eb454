"""One of jax's own Pallas operators against its reference: captured in interpret mode, lowered and judged.

Takes a case's name; gives a Row with one Part.  Runs in a worker process (tests.sweeps.pool).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from irverify.collect import Variant
from lowering.errors import Unsupported
from lowering.ir.program import Program
from tests.sweeps.liger import at, judged, part_of
from tests.sweeps.row import Part, Row

CLOSE = 1e-4  # relative, of float64 against float64 of the reference: what "the reference agrees" means


def names() -> list[str]:
    from tests.sweeps.pallas_cases import CASES

    return list(CASES)


class Pallas:
    """jax needs no session."""

    def row(self, name: str) -> Row:
        from tests.sweeps.pallas_cases import CASES

        case, started = CASES[name], time.monotonic()
        try:
            part = self.part(case)
        except Unsupported as error:
            part = Part("unsupported", f"{error.construct} at {at(error.span)}", [])
        return Row(name, [part], time.monotonic() - started)

    def part(self, case: Any) -> Part:
        a, b = (lowered(fn, case.arguments) for fn in (case.operator, case.reference))
        b.input_names = a.input_names
        variant = Variant("given", a, b, dict(zip(a.input_names, case.arguments, strict=True)))
        return part_of(judged(variant), [], disagreements(case))


def lowered(function: Callable[..., Any], arguments: tuple[np.ndarray, ...]) -> Program:
    from lowering.capture.jax_host import capture_jax
    from lowering.pipeline import lower

    names = [f"x{i}" for i in range(len(arguments))]
    return lower(capture_jax(lambda *given: function(*given), list(arguments), names=names))


def disagreements(case: Any) -> list[str]:
    """What jax's own execution of the two says."""
    import jax

    from lowering.capture.jax_pallas import instrumented_pallas

    with instrumented_pallas([]):
        got = jax.tree_util.tree_leaves(jax.jit(lambda *x: case.operator(*x))(*case.arguments))
    wanted = jax.tree_util.tree_leaves(jax.jit(lambda *x: case.reference(*x))(*case.arguments))
    return [
        f"output {i}: jax's own runs are {np.max(np.abs(np.asarray(g) - np.asarray(w))):.3g} apart"
        for i, (g, w) in enumerate(zip(got, wanted, strict=True))
        if not np.allclose(g, w, rtol=CLOSE, atol=CLOSE)
    ]
