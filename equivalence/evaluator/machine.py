"""Runs a KIR program once under all interpretations: the evaluator.

Takes a Program, inputs (numpy) and interpretations; gives the outputs as Lanes, with findings and the path condition.
Ops are looked up in HANDLERS (structure, memory, control ...: one file each beside this one); scalar primitives go to
``primitive``.  Must not know what any interpretation means.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

from equivalence.evaluator import overflow, slabs, weights
from equivalence.evaluator.allocator import keep_pages
from equivalence.evaluator.coverage import Coverage
from equivalence.evaluator.frame import Event, Frame, Limits, Outcome, OutOfTime, Recorder
from equivalence.evaluator.freedoms import Freedoms
from equivalence.evaluator.lanes import (
    ALL,
    FLOAT_DATA,
    INDEX,
    INTEGER_DATA,
    NONE,
    SOME,
    Atoms,
    Lanes,
    Planes,
    mapped,
    union,
)
from equivalence.evaluator.memory import Memory
from equivalence.fields.mixing import key as mixing_key
from equivalence.interpretations import ieee
from equivalence.interpretations.base import Interpretation, Site, is_instruction, tag
from equivalence.interpretations.depends import UNDEFINED
from equivalence.interpretations.exact import lossless
from equivalence.interpretations.hashed import Hashed
from equivalence.verdicts import Severity
from lowering.errors import UNKNOWN_SPAN, InternalError, Span
from lowering.ir.ops import RECORDS
from lowering.ir.program import Block, Function, Op, Program, Value
from lowering.ir.types import I32, DType, dtype

Handler = Callable[["Machine", "Frame", Op, list[Lanes]], Sequence[Lanes] | None]
HANDLERS: dict[str, Handler] = {}


def handles(*names: str) -> Callable[[Handler], Handler]:
    """Registers the evaluator's meaning of ops that are not scalar primitives."""

    def register(handler: Handler) -> Handler:
        for name in names:
            HANDLERS[name] = handler
        return handler

    return register


#: Constants of counter-based generators, by the operation that meets them: Philox multiplies by them, threefry makes
#: the third word of its key with one (Salmon et al., SC 2011).
_GENERATORS = {"mulhi": frozenset({0xD2511F53, 0xCD9E8D57}), "xor": frozenset({0x1BD11BDA})}
_COLLECTIVE = frozenset({"reduce", "scan", "dot", "sort"})  # each lane of an instance waits for the others' values
_MOST_DRAWS = 1 << 16
LAZY_FROM = 1 << 20  # input elements beyond which planes are made where they are looked at
#: Integer operations whose words are sums in the ring: their value may have wrapped, so a widening must see it.
_RING = frozenset({"add", "sub", "mul", "neg", "bitcast", "dot", "reduce", "scan"})


def _choice(chosen: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a where chosen, else b; one uniform value stays uniform."""
    if a.size == b.size == 1 and a.reshape(-1)[0] == b.reshape(-1)[0]:
        return a
    return np.where(chosen, a, b)


@dataclass(slots=True)
class Machine:
    """One run.  ``freedoms`` is shared by the two programs of a comparison."""

    program: Program
    interpretations: Sequence[Interpretation]
    freedoms: Freedoms = field(default_factory=Freedoms)
    limits: Limits = field(default_factory=Limits)
    recorder: Recorder | None = None
    memory: Memory = field(init=False)
    events: dict[tuple[str, Span], Event] = field(default_factory=dict)
    path: dict[str, int] = field(default_factory=dict)
    path_sites: list[Span] = field(default_factory=list)
    unsure_paths: list[Span] = field(default_factory=list)
    draws: set[int] = field(default_factory=set)
    coverage: Coverage = field(default_factory=Coverage)
    reads: list[bytes] = field(default_factory=list)
    undefined_path: bool = False  # an undefined value has steered
    followed: int = 0  # freedoms of whatever control and addresses followed, and races: they join every output
    draw_number: int = 0
    undefined_count: int = 0
    steps: int = 0
    numbers: dict[int, int] = field(default_factory=dict)  # position of each op in its function
    used: set[int] = field(default_factory=set)  # ids of values that some op reads
    own_key: str = ""
    locks: bool = False  # the running kernel has a compare-and-swap: its instances wait for each other

    def __post_init__(self) -> None:
        keep_pages()
        self.memory = Memory(self.undefined)
        self.undefined_count = self.limits.side << 48
        # Open choices are made alike only in one and the same source: without a digest that is this very program.
        self.own_key = str(self.program.attrs.get("key") or f"program {id(self.program)}")
        blocks = [self.program.body, *(k.body for k in self.program.kernels.values())]
        for block in blocks:
            for number, op in enumerate(block.walk()):
                self.numbers[id(op)] = number
                self.used.update(id(v) for v in op.operands)

    # -- running -------------------------------------------------------------------------------------------------

    def run(self, inputs: Mapping[str, np.ndarray]) -> Outcome:
        """Evaluates the program on arrays in the inputs' storage dtypes, by name."""
        attrs = self.program.attrs
        frame = Frame({}, self.own_key, bool(attrs.get("contract", False)))
        arrays = {v: (n, inputs[n]) for n, v in zip(self.program.input_names, self.program.body.args, strict=True)}
        cut = slabs.plan(self.program, self.limits.lanes) if self.recorder is None else None
        if cut is not None:
            results = slabs.run(self, frame, cut, arrays)
        else:
            for value, (name, data) in arrays.items():
                frame.values[value] = self.input(name, data, value.type.dtype, value.type.shape)
            self.block(frame, self.program.body)
            results = [frame.values[value] for _, value in self.program.outputs]
        outputs = {name: x for (name, _), x in zip(self.program.outputs, results, strict=True)}
        outputs = {name: x.replace(freedoms=x.freedoms | self.followed) for name, x in outputs.items()}
        if self.undefined_path:
            outputs = {name: _all_undefined(x) for name, x in outputs.items()}
        if self.recorder is None:
            self.memory.buffers.clear()  # a machine and its memory know each other: nothing else would free them soon
        return Outcome(
            outputs,
            list(self.events.values()),
            dict(self.path),
            list(self.path_sites),
            self.draws,
            tuple(self.reads),
            self.coverage,
            list(self.unsure_paths),
        )

    def block(self, frame: Frame, block: Block) -> list[Lanes]:
        """Runs a block; the operands of its terminator."""
        last_use = self._last_uses(block)
        for position, op in enumerate(block.ops):
            if op.name in ("yield", "condition"):
                return [frame.values[v] for v in op.operands]
            self.op(frame, op)
            for value in last_use.get(position, ()):
                frame.values.pop(value, None)
        return []

    _uses: dict[int, dict[int, list[Value]]] = field(default_factory=dict)
    resized: dict[int, tuple[Block, dict[Value, Value]]] = field(default_factory=dict)  # slabs.py's, by rows
    kept: set[int] = field(default_factory=set)  # ids of values that outlive their last use: outputs

    def _last_uses(self, block: Block) -> dict[int, list[Value]]:
        """Values of this block to drop after each position: what is defined here and used no more."""
        known = self._uses.get(id(block))
        if known is not None:
            return known
        kept = {id(v) for _, v in self.program.outputs} | self.kept
        last: dict[Value, int] = dict.fromkeys(block.args, -1) if block is self.program.body else {}
        for position, op in enumerate(block.ops):
            for value in op.results:
                last[value] = position
            nested = [v for region in op.regions for inner in region.walk() for v in inner.operands]
            for value in [*op.operands, *nested]:
                if value in last:
                    last[value] = position
        result: dict[int, list[Value]] = {}
        for value, position in last.items():
            if id(value) not in kept:
                result.setdefault(position, []).append(value)
        self._uses[id(block)] = result
        return result

    def op(self, frame: Frame, op: Op) -> None:
        self.steps += 1
        if not self.steps & 63 and (time.monotonic() > self.limits.deadline or self.limits.stopped.is_set()):
            raise OutOfTime(op.span)
        if self.steps > self.limits.steps:
            raise InternalError(f"gave up after {self.limits.steps} evaluated operations at {op.span}")
        operands = [frame.values[v] for v in op.operands]
        handler = HANDLERS.get(op.name)
        if handler is not None:
            results = handler(self, frame, op, operands) or ()
        elif RECORDS[op.name].primitive:
            results = [self.primitive(frame, op, operands)]
        else:
            raise InternalError(f"the evaluator has no meaning for {op.name}")
        for value, lanes in zip(op.results, results, strict=True):
            frame.values[value] = lanes
        if op.name in _COLLECTIVE and frame.instance is not None:
            self.memory.fences.gathered()
        self.coverage.executed(op, operands, results)
        if self.recorder is not None and op.results:
            self.recorder.record(op, results, operands, frame.active)

    # -- making values -------------------------------------------------------------------------------------------

    def planes(self, make: Callable[[Interpretation], Planes]) -> Planes:
        """All interpretations' planes together."""
        merged: Planes = {}
        for interpretation in self.interpretations:
            merged.update(make(interpretation))
        return merged

    def input(
        self, name: str, data: np.ndarray, dt: DType, shape: tuple[int, ...], index: np.ndarray | None = None
    ) -> Lanes:
        """``index``: the elements' positions in the whole input, where ``data`` is a part of it."""
        full = np.ascontiguousarray(data).astype(dt.numpy, copy=False).reshape(1, *shape)
        taint = FLOAT_DATA if dt.is_float else INTEGER_DATA
        lanes = Lanes(dt, shape, full, None, taint=taint, literal=NONE, fits=None if dt.is_float else dt)
        if index is not None:
            index = index.reshape(full.shape)
            return lanes.replace(planes=self.planes(lambda i: i.atom(name, index, lanes)))

        def atoms(at: np.ndarray) -> Planes:
            here = lanes.replace(data=full.reshape(-1)[at])
            return self.planes(lambda i: i.atom(name, at, here))

        if full.size > LAZY_FROM and not any(i.counts_lanes for i in self.interpretations):
            names = [plane for i in self.interpretations for plane in i.planes]
            return lanes.replace(planes=Atoms(atoms, names, full.shape))
        index = np.arange(full.size, dtype=np.int64).reshape(full.shape)
        return lanes.replace(planes=self.planes(lambda i: i.atom(name, index, lanes)))

    def literal(self, data: np.ndarray, dt: DType, shape: tuple[int, ...]) -> Lanes:
        """Concrete lanes; floats get planes at once, integers when they meet data."""
        lanes = Lanes(dt, shape, np.asarray(data).astype(dt.numpy, copy=False))
        return self.lift(lanes) if dt.is_float else lanes

    def lift(self, lanes: Lanes) -> Lanes:
        """Lanes with planes: index integers become literals."""
        if lanes.planes is not None:
            return lanes
        fits = lanes.fits if lanes.dtype.is_float else lanes.dtype
        return lanes.replace(planes=self.planes(lambda i: i.literal(lanes.data, lanes)), literal=ALL, fits=fits)

    def undefined(self, dt: DType, shape: tuple[int, ...], batch: int = 1) -> Lanes:
        """Fresh undefined lanes; their concrete value is the limits' fill, which nothing may rely on."""
        fill = self.limits.undefined_fill if dt.is_float else int(np.nan_to_num(self.limits.undefined_fill)) & 0x7F
        data = np.full((batch, *shape), fill).astype(dt.numpy)
        fits = None if dt.is_float else dt
        lanes = Lanes(dt, shape, data, None, taint=FLOAT_DATA, literal=NONE, fits=fits)
        first = self.undefined_count
        self.undefined_count += max(1, lanes.data.size)
        return lanes.replace(planes=self.planes(lambda i: i.undefined(first, lanes)))

    def event(self, code: str, what: str, span: Span, severity: Severity = "warning") -> None:
        self.events.setdefault((code, span), Event(code, what, span, severity))

    # -- primitives ----------------------------------------------------------------------------------------------

    def site(self, frame: Frame, op: Op) -> Site:
        impl = op.attrs.get("impl") or ""
        number = self.numbers.get(id(op), 0)
        return Site(op.name, op.attrs, f"{frame.key}#{number}{impl}", number, frame.active, op.span)

    def primitive(self, frame: Frame, op: Op, operands: Sequence[Lanes]) -> Lanes:
        """An elementwise primitive: concrete data first, then every interpretation's planes."""
        result = op.results[0].type
        if op.name == "select" and _is_choice(operands[0], result.dtype):
            return self.merge(operands[0], operands[1], operands[2])
        data = ieee.evaluate(op.name, op.attrs, result.dtype, *operands)
        out = Lanes(result.dtype, result.shape, data, None, taint=max(a.taint for a in operands))
        if op.name in _GENERATORS:
            self.drawn(op.name, operands, data)
        if result.dtype is I32 and out.taint == INDEX and op.name in overflow.WATCHED:
            overflow.watch(self, op, operands)
        if out.taint == INDEX and not result.dtype.is_float and all(a.planes is None for a in operands):
            return out
        return self.interpreted(frame, op, out, operands)

    def drawn(self, name: str, operands: Sequence[Lanes], data: np.ndarray) -> None:
        """Words that identify the stream, where an operand is a generator's own constant."""
        for operand in operands:
            if operand.data.size == 1 and int(operand.data.reshape(-1)[0]) & 0xFFFFFFFF in _GENERATORS[name]:
                self.draws.update(np.unique(data)[:_MOST_DRAWS].tolist())

    def interpreted(self, frame: Frame, op: Op, out: Lanes, operands: Sequence[Lanes]) -> Lanes:
        """``out`` with planes, freedoms and the static facts that follow from the operands."""
        lifted = [self.lift(a) for a in operands]
        literals = [a.literal for a in lifted]
        # A literal operand may absorb the other one (0 * x, -inf + x): then some lanes are literals.
        literal = ALL if min(literals) == ALL else NONE if max(literals) == NONE else SOME
        out = out.replace(
            literal=literal, fits=self._fits(op, out, lifted), product=self._is_product(frame, op, lifted)
        )
        site = self.site(frame, op)
        freedoms = union(lifted) | self._freedom(frame, op, site, out, lifted)
        out = out.replace(freedoms=freedoms, weight=weights.weight(site, out, lifted) or 0)
        return out.replace(planes=self.planes(lambda i: i.apply(site, out, lifted)))

    @staticmethod
    def _fits(op: Op, out: Lanes, operands: Sequence[Lanes]) -> DType | None:
        if not out.dtype.is_float:
            return None if op.name in _RING else out.dtype
        if op.name == "cast" and lossless(operands[0], out, Site("cast", op.attrs)):
            return operands[0].fits or operands[0].dtype
        return None

    @staticmethod
    def _is_product(frame: Frame, op: Op, operands: Sequence[Lanes]) -> bool:
        if not frame.contract or not op.results[0].type.dtype.is_float:
            return False
        return op.name == "mul" or (op.name == "neg" and operands[0].product)

    def _freedom(self, frame: Frame, op: Op, site: Site, out: Lanes, operands: Sequence[Lanes]) -> int:
        if not out.dtype.is_float:
            return 0
        if op.name in ("add", "sub") and frame.contract and any(a.product for a in operands):
            return self.freedoms.bit("contraction", site.key, "a product may be fused into the addition", op.span)
        if op.attrs.get("accuracy") == "declared":
            name = op.attrs.get("fn", op.name)
            impl = op.attrs["impl"]
            key = f"{impl} {name}:{out.dtype}" if is_instruction(impl) else site.key
            return self.freedoms.bit("intrinsic", key, f"accuracy of {name} ({impl})", op.span)
        return 0

    # -- choosing lanes ------------------------------------------------------------------------------------------

    def merge(self, condition: Lanes, a: Lanes, b: Lanes) -> Lanes:
        """Lanes of ``a`` where the concrete condition holds, of ``b`` elsewhere: no operation, only a choice."""
        chosen = condition.data
        if chosen.all() or not chosen.any():
            taken = a if chosen.all() else b
            return taken.replace(freedoms=taken.freedoms | condition.freedoms) if condition.freedoms else taken
        if (a.planes is None) != (b.planes is None):
            a, b = self.lift(a), self.lift(b)
        planes = None
        if a.planes is not None and b.planes is not None:
            planes = mapped(lambda one, other: _choice(chosen, one, other), a.planes, b.planes)
        return Lanes(
            a.dtype,
            a.shape,
            np.where(chosen, a.data, b.data),
            planes,
            taint=max(a.taint, b.taint, condition.taint),
            freedoms=a.freedoms | b.freedoms | condition.freedoms,
            literal=a.literal if a.literal == b.literal else SOME,
            product=a.product or b.product,
            fits=a.fits if a.fits is b.fits else None,
            weight=max(a.weight, b.weight),
        )

    def choose(self, active: np.ndarray | None, new: Lanes, old: Lanes) -> Lanes:
        """``new`` for the active instances, ``old`` for the rest."""
        if active is None or active.all():
            return new
        condition = Lanes(dtype("i1"), new.shape, active.reshape(-1, *([1] * len(new.shape))))
        return self.merge(condition, new, old)

    # -- the path condition --------------------------------------------------------------------------------------

    def observe(
        self,
        value: Lanes,
        span: Span,
        text: str = "",
        context: Sequence[Lanes] = (),
        key: str = "",
        lanes: np.ndarray | None = None,
    ) -> None:
        """Control or an address follows float data: (fingerprint, outcome) joins the path condition.

        ``text`` and ``context`` are what another outcome would have used: the other branch, the elements not read;
        ``key`` fixes the open choices in that branch, which only `exact` asks for; ``lanes``: those that count.
        """
        self.followed |= value.freedoms
        self._undefined_steers(value, lanes)
        if value.taint == INTEGER_DATA and value.planes is not None:
            for interpretation in self.interpretations:
                interpretation.values_used(value)
        if value.taint != FLOAT_DATA or value.planes is None:
            return
        unsure = [interpretation.steered(value) for interpretation in self.interpretations]
        if any(unsure) and span not in self.unsure_paths:
            self.unsure_paths.append(span)
        self.beside(text, context, key)
        if span not in self.path_sites:
            self.path_sites.append(span)
        for interpretation in self._fingerprints():
            name = interpretation.name
            if name in value.planes:
                self._follow(interpretation, value.full(value.planes[name]).tobytes(), value.data.tobytes())

    def _undefined_steers(self, value: Lanes, lanes: np.ndarray | None) -> None:
        """What an undefined value decides is undefined in every output; other fills show whether it moves any."""
        poison = (value.planes or {}).get("poison")
        if poison is None or not poison.any():
            return
        bits = poison & UNDEFINED
        self.undefined_path |= bool((bits if lanes is None else np.where(lanes, bits, 0)).any())

    def beside(self, text: str, context: Sequence[Lanes], key: str = "") -> None:
        """What an outcome of data did not use joins the path condition too: equal paths must mean equal programs."""
        for interpretation in self._fingerprints():
            name = interpretation.name
            parts = [part for lanes in context for part in _identity(lanes, name)]
            self._follow(interpretation, text.encode(), key.encode() if name == "exact" else b"", *parts)

    def chosen_from(self, index: Lanes, source: Lanes) -> None:
        """Elements of ``source`` are read at places that may follow float data."""
        if index.taint == FLOAT_DATA and index.planes is not None:
            for interpretation in self.interpretations:
                interpretation.unread(source)

    def _fingerprints(self) -> Iterator[Hashed]:
        return (i for i in self.interpretations if isinstance(i, Hashed))

    def _follow(self, interpretation: Hashed, *parts: bytes) -> None:
        """The path so far and ``parts`` become one number, keyed like the words themselves (64 bits of BLAKE2)."""
        digest = hashlib.blake2b(digest_size=8, key=_path_key(interpretation.mixer.seed))
        digest.update(self.path.get(interpretation.name, 0).to_bytes(8, "little"))
        for part in parts:
            digest.update(len(part).to_bytes(8, "little") + part)
        self.path[interpretation.name] = int.from_bytes(digest.digest(), "little")

    def race(self, what: str, span: Span) -> None:
        """Two instances touch one element and at least one writes: any output may depend on who comes first."""
        self.event("race", what, span)
        kind = "racing" if self.locks else "race"
        self.followed |= self.freedoms.bit(kind, f"{what} {span}", what, span)


@lru_cache
def _path_key(seed: int) -> bytes:
    return mixing_key(seed, tag("path condition"), "path").to_bytes(8, "little")


def _all_undefined(x: Lanes) -> Lanes:
    planes = x.planes or {}
    return x.replace(planes={**planes, "poison": planes["poison"] | UNDEFINED}) if "poison" in planes else x


def _is_choice(condition: Lanes, result: DType) -> bool:
    """Whether a select is decided by the run: integer inputs choose floats, but are not their own fingerprint."""
    return condition.taint == INDEX or (condition.taint == INTEGER_DATA and result.is_float)


def _identity(lanes: Lanes, name: str) -> tuple[bytes, bytes]:
    """What tells lanes from others: their shape, and their words or the integers themselves."""
    planes = lanes.planes or {}
    return repr(lanes.shape).encode(), lanes.full(planes.get(name, lanes.data)).tobytes()


def kernel_frame(
    kernel: Function, operands: Sequence[Lanes], grid: tuple[int, int, int], instance: np.ndarray
) -> Frame:
    """The frame of a chunk of program instances."""
    return Frame(
        dict(zip(kernel.params, operands, strict=True)),
        str(kernel.attrs.get("key") or f"kernel {id(kernel)}"),
        bool(kernel.attrs.get("contract", False)),
        grid,
        instance,
    )


def any_value(lanes: Lanes) -> Any:
    """The one concrete value of a scalar."""
    return lanes.data.reshape(-1)[0]


__all__ = ["HANDLERS", "UNKNOWN_SPAN", "Machine", "handles"]
