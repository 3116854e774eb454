"""`real`: a lane is (sample, v mod p, w mod q, mark), p = 2q+1; equal residues are evidence of equal real functions.

Gives Real, agree, prepare, constants_of.  exp maps w to v, log back; decisions follow the sample and are recorded
(SEMANTICS §5).  Must not know the evaluator.
"""

from __future__ import annotations

import hashlib
from copy import copy

import numpy as np

from equivalence.evaluator.lanes import Lanes, Planes
from equivalence.fields.constants import Identification, identify
from equivalence.fields.primes import SafePrime
from equivalence.interpretations.base import Interpretation, Site
from equivalence.interpretations.real_accumulate import Accumulate
from equivalence.interpretations.real_agreement import Agreement, agree, together
from equivalence.interpretations.real_bits import ZERO, Bits
from equivalence.interpretations.real_cell import (
    BOTH,
    DATA,
    FLOATS,
    NOTHING,
    PURE,
    Cell,
    V,
    W,
    cell,
    nothing,
    ones,
    pointwise,
)
from equivalence.interpretations.real_channels import Channels
from equivalence.interpretations.real_integers import own_values
from equivalence.interpretations.real_literals import Literals, constants_of
from equivalence.interpretations.real_relevance import dismiss
from equivalence.interpretations.real_signs import KnownSigns
from equivalence.interpretations.real_sites import SiteRecord, Sites
from lowering.errors import Span
from lowering.ir.program import Program


class Real(Accumulate, Interpretation):
    """One prime.  Whoever runs two programs under it sets ``sites.side``; ``free`` and ``alike`` as in Decisions.

    ``spread``: inputs whose equal elements get samples a little apart, as their residues are (SEMANTICS §5: no ties).
    ``masks``: integer inputs that are truth values, though of another type.
    """

    name = "real"

    def __init__(self, seed: int, prime: SafePrime, identification: Identification | None = None) -> None:
        self.planes = {"sample": np.dtype(np.float64), "v": np.dtype(np.uint32), "w": np.dtype(np.uint32),
                       "mark": np.dtype(np.uint32)}  # fmt: skip
        self.channels = Channels(seed, prime)
        self.literals = Literals(self.channels, seed, identification)
        self.sites = Sites()
        self.known_signs = KnownSigns()
        self.spread: set[str] = set()
        self.masks: set[str] = set()
        self.free: set[str] = set()
        self.alike: set[str] = set()
        self.met: set[str] = set()  # decisions by the samples of values that stand for such a choice (real_followed)
        self.consulted: set[str] = set()  # sites in ``free`` that some operation has asked for
        self.half = 0
        self.recording, self.decisions = False, 0
        self.operands: list[bytes] = []  # digests of what decisions decide by, in the order of a run without a trial
        self.truths: dict[int, tuple[np.ndarray, str]] = {}
        self.tables: dict[str, set[bytes]] = {"A": set(), "B": set()}  # digests of what float data choose from, by side
        self.assumptions: list[str] = list(identification.assumptions) if identification else []
        self.margins: dict[str, float] = {}  # assumption about sentinels -> the R it holds for
        self.used_integer_values = False
        self.unexcused: set[str] = set()
        self.bits = Bits(self.channels)
        self.ranges: dict[str, tuple[int, int]] = {}  # declared, of integer inputs
        self.given, self.numbers, self.alone = ZERO, ZERO, False
        self.strayed = False  # an index or a condition that the run has followed is not the one that the samples give
        self.opaque_logarithms = False

    def twin(self) -> Real:
        """The same fields and random functions for a run beside one under this: what is learned is not shared."""
        other = copy(self)
        other.literals, other.known_signs = self.literals.twin(), KnownSigns()
        other.sites, other.truths = Sites(), {}
        other.recording, other.decisions, other.operands = False, 0, []
        other.sites.off, other.met, other.tables = self.sites.off, set(), {"A": set(), "B": set()}
        other.strayed, other.bits = False, self.bits.twin()
        other.assumptions, other.margins = [*self.assumptions], {**self.margins}
        return other

    def absorb(self, twin: Real) -> None:
        """What a run under ``twin`` rests on."""
        for text in twin.assumptions:
            self.assume(text, twin.margins.get(text))
        self.used_integer_values |= twin.used_integer_values
        self.strayed |= twin.strayed
        self.given, self.numbers = self.given | twin.given, self.numbers | twin.numbers
        self.alone |= twin.alone
        self.bits.absorb(twin.bits)
        self.met |= twin.met
        for side, known in twin.tables.items():
            self.tables[side] |= known

    def unseen(self) -> list[tuple[str, str, Span]]:
        """(site key, outcome, where) of every outcome that never happened."""
        return self.sites.unseen()

    def choices(self) -> set[str]:
        """Sites that take one of their operands: what ``alike`` can replace."""
        return {record.key for record in self.sites.values() if record.kind in ("max", "min", "abs", "extremum")}

    def assume(self, text: str, margin: float | None = None) -> None:
        """Lists an assumption once; of several margins the smallest holds."""
        if text not in self.assumptions:
            self.assumptions.append(text)
        if margin is not None:
            self.margins[text] = min(margin, self.margins.get(text, margin))

    # -- leaves --------------------------------------------------------------------------------------------------

    def literal(self, data: np.ndarray, lanes: Lanes) -> Planes:
        if lanes.dtype.is_float:
            return self.literals.floats(data, lanes.dtype.name).planes()
        return self.literals.integers(data).planes()

    def atom(self, name: str, index: np.ndarray, lanes: Lanes) -> Planes:
        """Float inputs are random in both channels; integer inputs are the integers that they are."""
        if lanes.dtype.is_integer:
            known = self.concrete(lanes.data, False)
            if lanes.dtype.kind == "bool" or name in self.masks:
                return known.planes()
            symbols = self.bits.atom(name, index, lanes, self.ranges.get(name))
            return (known.marked(known.mark | DATA) if symbols is None else symbols).planes()
        v, w = self.channels.elements(f"input {name}", index)
        sample = pointwise(lambda data: data.astype(np.float64), lanes.data)
        if name in self.spread:
            sample = spread_apart(sample, index, sorted(self.spread).index(name))
        return Cell(sample, v, w, np.full(ones(index.ndim), BOTH | PURE | FLOATS)).planes()

    def undefined(self, first: int, lanes: Lanes) -> Planes:
        """No channel, no sample: nothing that depends on such a lane is ever equal."""
        rank = lanes.data.ndim
        return Cell(np.full(ones(rank), np.nan), nothing(rank), nothing(rank), np.full(ones(rank), NOTHING)).planes()

    def steered(self, value: Lanes) -> bool:
        """Ties of the run are none of the samples (``spread``): what is then read is not what the samples chose."""
        if value.dtype.is_integer and value.planes is not None and not self.strayed:
            self.strayed = bool((cell(value).alive & (own_values(value) != value.data)).any())
        return False

    def values_used(self, value: Lanes) -> None:
        """An address or control goes by the values that integer inputs have here."""
        self.use(value)

    def unread(self, source: Lanes) -> None:
        """Elements that no tested value reads are compared as a whole: in their order, whatever their shape."""
        if source.planes is None:
            parts = [np.ascontiguousarray(source.full(source.data))]
        else:
            x = cell(source)
            parts = [np.where((x.mark & bit) != 0, plane, np.uint32(0)) for plane, bit in ((x.v, V), (x.w, W))]
            parts = [np.ascontiguousarray(source.full(part, max(p.shape[0] for p in parts))) for part in parts]
        self.tables[self.sites.side or "A"].add(hashlib.blake2b(b"".join(p.tobytes() for p in parts)).digest())

    # -- arithmetic and functions --------------------------------------------------------------------------------

    def op_add(self, site: Site, out: Lanes, *args: Lanes) -> Planes:
        if out.dtype.is_integer:
            return self.integer(site, out, args).planes()
        return getattr(self, site.name)(*(cell(a) for a in args)).planes()

    op_sub = op_mul = op_div = op_neg = op_add

    def op_fma(self, site: Site, out: Lanes, a: Lanes, b: Lanes, c: Lanes) -> Planes:
        return self.add(self.mul(cell(a), cell(b)), cell(c)).planes()

    def op_rem(self, site: Site, out: Lanes, a: Lanes, b: Lanes) -> Planes:
        if out.dtype.is_integer:
            return self.integer(site, out, (a, b)).planes()
        x, y = cell(a), cell(b)
        fn = np.fmod if site.attrs["rounding"] == "trunc" else np.mod
        return self.hashed(f"rem {site.attrs['rounding']}", x, y).sampled(pointwise(fn, x.sample, y.sample)).planes()

    def op_math(self, site: Site, out: Lanes, *args: Lanes) -> Planes:
        return self.function(site.attrs["fn"], out.dtype.name, *(cell(a) for a in args)).planes()

    def op_opaque(self, site: Site, out: Lanes, *args: Lanes) -> Planes:
        return self.hashed(f"opaque {site.attrs['fn']}", *(cell(a) for a in args)).planes()

    def op_addptr(self, site: Site, out: Lanes, *args: Lanes) -> Planes:
        return self.concrete(out.data, self.all_literal(*args)).planes()


def spread_apart(sample: np.ndarray, index: np.ndarray, number: int) -> np.ndarray:
    """Up to 2^-16 away from zero (2^-30 at zero), by a hash of place and input; 1 moves down, as it may end a domain.

    Far enough for variances of equal elements to stay above the noise of f64.
    """
    first = np.uint64(number << 40)  # as if the inputs lay behind each other, far apart
    hashed = ((index.astype(np.uint64) + first) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(11)
    part = (hashed.astype(np.float64) + 1.0) * 2.0**-53
    outward = np.where(np.abs(sample) == 1.0, -1.0, 1.0)
    return np.where(sample == 0, part * 2.0**-30, sample * (1.0 + outward * part * 2.0**-16))


def prepare(program_a: Program, program_b: Program, seed: int, prime: SafePrime) -> tuple[Real, list[str]]:
    """A Real in which the constants of both programs meet, and the assumptions under which they do."""
    identification = identify(constants_of(program_a), constants_of(program_b))
    return Real(seed, prime, identification), list(identification.assumptions)


__all__ = ["Agreement", "Real", "SiteRecord", "agree", "constants_of", "dismiss", "prepare", "together"]
