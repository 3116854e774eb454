"""Whether two outputs are equal under `real`: channel by channel, lane by lane.

Takes Lanes with the planes of one Real; gives an Agreement.  A mismatch refutes nothing by itself (SEMANTICS §5).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from equivalence.evaluator.lanes import Lanes
from equivalence.interpretations.real_cell import BOTH, NEGINF, ROOT_V, ROOT_W, Array, V, W

#: Relative distance of the f64 samples beyond which lanes are not called equal, whatever the residues say.
SAMPLES_MEET = 1e-4


@dataclass(frozen=True, slots=True)
class Agreement:
    """``mismatch``, ``stubborn`` and ``incomparable`` are masks at the output's full shape (batch axis dropped).

    ``equal``: no lane mismatches and every lane was comparable.  ``stubborn``: lanes that no channel without a root of
    a non-residue could compare in this run; they neither count nor disagree, and other primes may clear them.
    ``incomparable``: lanes with no common valid channel.  ``sample_gap``: largest relative distance of the samples.
    """

    equal: bool
    comparable_fraction: float
    mismatch: Array
    stubborn: Array
    incomparable: Array
    sample_gap: float


def _gap(a: Array, b: Array) -> Array:
    """Relative distance of two samples, against the larger of their size and the array's."""
    with np.errstate(all="ignore"):
        finite = np.isfinite(a) & np.isfinite(b)
        size = np.maximum(np.abs(a), np.abs(b))
        typical = float(np.median(size[finite])) if finite.any() else 0.0
        return np.where(finite, np.abs(a - b) / (size + typical + 1e-300), 0.0)


def agree(real: object, out_a: Lanes, out_b: Lanes) -> Agreement:
    """Compares only channels valid on both sides; minus infinity compares as a tag; poison is never equal."""
    assert out_a.planes is not None and out_b.planes is not None
    a, b = ({n: x.full(p, 1)[0] for n, p in (x.planes or {}).items() if n in _NEEDED} for x in (out_a, out_b))
    marks, dirty = a["mark"] & b["mark"], a["mark"] | b["mark"]
    v_valid, w_valid = (marks & V) != 0, (marks & W) != 0
    v_counts, w_counts = v_valid & ((dirty & ROOT_V) == 0), w_valid & ((dirty & ROOT_W) == 0)
    wrong = (v_counts & (a["v"] != b["v"])) | (w_counts & (a["w"] != b["w"]))
    counted = v_counts | w_counts
    low = [(x["mark"] & (NEGINF | BOTH)) == NEGINF for x in (a, b)]
    counted, wrong = counted | (low[0] & low[1]), wrong | (low[0] != low[1])
    defined = ~(_poison(a) | _poison(b)) & ~(np.isnan(a["sample"]) | np.isnan(b["sample"]))
    gap = _gap(a["sample"], b["sample"])
    wrong = (wrong | ((v_valid | w_valid) & (gap > SAMPLES_MEET))) & defined
    stubborn = (v_valid | w_valid) & ~counted & defined & ~wrong
    incomparable = ~(counted | v_valid | w_valid) & ~wrong | ~defined
    counted = counted & defined
    return Agreement(
        equal=not wrong.any() and bool(counted.all()),
        comparable_fraction=float(counted.mean()) if counted.size else 1.0,
        mismatch=wrong,
        stubborn=stubborn,
        incomparable=incomparable,
        sample_gap=float(gap.max(initial=0.0)),
    )


_NEEDED = ("sample", "v", "w", "mark", "poison")


def _poison(planes: dict[str, Array]) -> Array:
    poison = planes.get("poison")
    return np.zeros(planes["mark"].shape, bool) if poison is None else poison != 0
