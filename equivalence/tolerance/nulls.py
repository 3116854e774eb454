"""Outputs that compute nothing: what any tolerance must tell from the right one.

Takes the right output and what stands around it; gives named arrays of its shape and dtype.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

Array = np.ndarray


def nulls(output: Array, inputs: Mapping[str, Array], previous: Array | None) -> Iterator[tuple[str, Array]]:
    """Zeros, ones, the mean, copies of inputs, and ``previous``: the output for another input."""
    yield "zeros", np.zeros_like(output)
    yield "ones", np.ones_like(output)
    if output.dtype.kind != "b" and output.size:
        wide = output.astype(np.float64)
        mean = wide[np.isfinite(wide)].mean() if np.isfinite(wide).any() else 0.0
        yield "its mean throughout", np.full_like(output, mean)
    if previous is not None:
        yield "the output for another input", previous
    for name, array in inputs.items():
        if array.shape == output.shape and array.dtype.kind != "b" and output.size:
            with np.errstate(all="ignore"):
                yield f"a copy of {name}", array.astype(np.float64).astype(output.dtype)
