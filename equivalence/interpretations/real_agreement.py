"""Whether two outputs are equal under `real`: channel by channel, lane by lane.

Takes Lanes with the planes of one Real; gives an Agreement.  A mismatch refutes nothing by itself (SEMANTICS §5).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from equivalence.evaluator.lanes import Lanes
from equivalence.interpretations.real_cell import BOTH, LITERAL, NEGINF, ROOT_V, ROOT_W, Array, V, W

#: Relative distance of the f64 samples beyond which lanes are not called equal, whatever the residues say.
SAMPLES_MEET = 1e-4
#: Samples below this are noise where the residues on both sides say 0: x - x, the loss of equal inputs.
NOISE = 1e-6
_NEEDED = ("sample", "v", "w", "mark", "poison")


@dataclass(frozen=True, slots=True)
class Agreement:
    """Masks have the output's full shape (batch axis dropped).

    ``equal``: all lanes agree; one that chance leaves incomparable (a divisor that is 0 modulo p) needs another prime.
    ``mismatch``: a channel without a root of a
    non-residue differs, or the samples do.  ``stubborn``: only channels with such roots could be compared, and they
    differ, which says nothing (sqrt(x)^2 against x): other primes may clear these lanes.  ``incomparable``: no common
    valid channel.  ``clean_fraction``: lanes compared in a channel without such roots.  ``void``: lanes that
    are no number on either side (0/0 in a row whose mask keeps nothing): out of scope, and neither equal nor not.
    """

    equal: bool
    comparable_fraction: float
    clean_fraction: float
    mismatch: Array
    stubborn: Array
    incomparable: Array
    sample_gap: float
    void: Array
    residues_differ: bool = False

    @property
    def equal_residues(self) -> bool:
        """As ``equal``, but for samples, which are noise on inputs that are far from the given ones."""
        return not (self.residues_differ or self.stubborn.any() or self.incomparable.any())


def together(agreements: Sequence[Agreement]) -> Agreement:
    """One output at one shape over several primes and draws: a lane agrees if it did in some run."""
    mismatch = np.logical_or.reduce([a.mismatch for a in agreements])
    incomparable = np.logical_and.reduce([a.incomparable for a in agreements])
    open_lanes = np.logical_and.reduce([a.incomparable | a.stubborn for a in agreements])
    return Agreement(
        equal=not mismatch.any() and not open_lanes.any(),
        comparable_fraction=max(a.comparable_fraction for a in agreements),
        clean_fraction=max(a.clean_fraction for a in agreements),
        mismatch=mismatch,
        stubborn=open_lanes & ~incomparable,
        incomparable=incomparable,
        sample_gap=max(a.sample_gap for a in agreements),
        void=np.logical_and.reduce([a.void for a in agreements]),
        residues_differ=any(a.residues_differ for a in agreements),
    )


def _gap(a: Array, b: Array) -> Array:
    """Relative distance of two samples, against their own size and the array's typical one."""
    with np.errstate(all="ignore"):
        finite = np.isfinite(a) & np.isfinite(b)
        size = np.maximum(np.abs(a), np.abs(b))
        typical = float(np.mean(size, where=finite)) if finite.any() else 0.0
        gap = np.abs(a - b) / (size + typical + 1e-300)
    return np.where(finite, gap, np.where((a == b) | (np.isnan(a) & np.isnan(b)), 0.0, np.inf))


def _vanishing(a: dict[str, Array], b: dict[str, Array], valid: Array) -> Array:
    """Lanes whose residues are 0 wherever they can be compared, and whose samples are next to 0."""
    zero = np.logical_and.reduce([(a[name] == 0) & (b[name] == 0) | ~valid[k] for k, name in enumerate("vw")])
    with np.errstate(all="ignore"):
        return zero & valid.any(0) & (np.maximum(np.abs(a["sample"]), np.abs(b["sample"])) < NOISE)


def agree(real: object, out_a: Lanes, out_b: Lanes) -> Agreement:
    """Compares only channels valid on both sides; infinities compare as tags; undefined lanes never agree."""
    a, b = (_planes(real, x) for x in (out_a, out_b))
    undefined = _undefined(a) | _undefined(b)
    marks, dirty = a["mark"] & b["mark"], a["mark"] | b["mark"]
    valid, clean, differs = (np.zeros((2, *undefined.shape), bool) for _ in range(3))
    for k, (name, bit, root) in enumerate((("v", V, ROOT_V), ("w", W, ROOT_W))):
        valid[k] = (marks & bit) != 0
        clean[k] = valid[k] & ((dirty & root) == 0)
        differs[k] = valid[k] & (a[name] != b[name])
    tags = [_infinity(x) for x in (a, b)]
    same_tag = (tags[0] == tags[1]) & (tags[0] != 0)
    gap = np.where(_vanishing(a, b, valid), 0.0, _gap(a["sample"], b["sample"]))
    differing = (clean & differs).any(0)
    if getattr(real, "opaque_logarithms", False):  # v may stand for a sum of opaque logarithms: w alone is enough
        excused = (clean & ~differs).any(0)
        differing, differs = differing & ~excused, differs & ~excused
    mismatch = differing | (tags[0] != tags[1]) | (valid.any(0) & (gap > SAMPLES_MEET))
    mismatch = mismatch & ~undefined
    stubborn = valid.any(0) & ~clean.any(0) & differs.any(0) & ~mismatch & ~undefined
    void = no_number(a) & no_number(b)
    incomparable = ((~valid.any(0) & ~same_tag & ~mismatch) | undefined) & ~void
    agreeing = ~(mismatch | stubborn | incomparable)
    size = max(1, agreeing.size)
    return Agreement(
        equal=bool(agreeing.all()),
        comparable_fraction=float((~incomparable).sum() / size),
        clean_fraction=float(((clean.any(0) | same_tag) & ~undefined).sum() / size),
        mismatch=mismatch,
        stubborn=stubborn,
        incomparable=incomparable,
        sample_gap=float(gap[np.isfinite(gap)].max(initial=0.0)),
        void=void,
        residues_differ=bool(((differing | (tags[0] != tags[1])) & ~undefined).any()),
    )


def _planes(real: object, x: Lanes) -> dict[str, Array]:
    """Integers without planes are the literals that they are."""
    planes = real.literal(x.data, x) if x.planes is None else x.planes  # type: ignore[attr-defined]
    return {name: x.full(plane, 1)[0] for name, plane in planes.items() if name in _NEEDED}


def _undefined(planes: dict[str, Array]) -> Array:
    poison = planes.get("poison")
    undefined = np.isnan(planes["sample"])
    return undefined if poison is None else undefined | (poison != 0)


def no_number(planes: Mapping[str, Array]) -> Array:
    """Lanes that are NaN by the rules of arithmetic, not for being undefined."""
    poison = planes.get("poison")
    none = np.isnan(planes["sample"]) & ((planes["mark"] & BOTH) == 0)
    return none if poison is None else none & (poison == 0)


def _infinity(planes: dict[str, Array]) -> Array:
    """-1 for minus infinity, 1 for a literal plus infinity, 0 for numbers."""
    mark = planes["mark"]
    low = (mark & (NEGINF | BOTH)) == NEGINF
    high = ((mark & (LITERAL | BOTH | NEGINF)) == LITERAL) & np.isposinf(planes["sample"])
    return high.astype(np.int8) - low.astype(np.int8)
