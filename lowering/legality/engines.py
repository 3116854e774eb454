"""Which engine may do what on which memory, and from which generation of the hardware on.

Takes a trace; gives findings.  Sources: the pages of nki.isa, "engine trade-offs" of nki.api.shared, and the
architecture guides.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from lowering.capture.nki.trace import BETA1, HBM, PSUM, SBUF, SHARED_HBM, Indirect, Instr, NkiTrace
from lowering.capture.trace import TensorRef
from lowering.legality.finding import Finding
from lowering.legality.hardware import HARDWARE
from lowering.legality.places import accesses, named, space

NAMES = {"pe": "the Tensor engine", "dve": "the Vector engine", "act": "the Scalar engine", "pool": "GpSimd",
         "dma": "DMA", "sp": "the Sync engine"}  # fmt: skip
#: operations that more than one engine has
_RUNS_ON = {
    "nc_copy": ("dve", "act", "pool"),
    "tensor_tensor": ("dve", "pool"),
    "tensor_scalar": ("dve", "act", "pool"),
    "mem_set": ("dve", "pool"),
    "transpose": ("pe", "dve"),
    "rng": ("dve", "pool"),
}
#: the generation that an operation came with
_SINCE = {"nc_range_select": 3, "core_barrier": 3, "send_recv": 3, "nonzero_with_count": 3, "rand_set_state": 3,
          "rand_get_state": 3, "topk": 3,
          "activate2": 4, "exponential": 4, "quantize_mx": 4, "mat_mul_mx": 4, "rand2": 4}  # fmt: skip
_ACT_PAIRS = (("mult", "add"), ("mult", None), ("add", None))
_OPS = ("op", "op0", "op1", "reduce_op")


def engines(trace: NkiTrace) -> Iterator[Finding]:
    """Memories, engines and generations of every instruction."""
    for instr in trace.instrs:
        yield from _memories(trace, instr)
        yield from _operands(trace, instr)
        yield from _engine(trace, instr)
        yield from _generation(trace, instr)


def _memories(trace: NkiTrace, instr: Instr) -> Iterator[Finding]:
    for access in accesses(instr):
        if instr.op == "core_barrier":  # names data, and moves none
            continue
        where, verb = space(trace, access.ref), "writes" if access.writes else "reads"
        said = f"{instr.op} on {NAMES.get(instr.engine, 'its engine')} {verb} {named(trace, access.ref)}"
        if instr.engine == "pool" and where == PSUM:
            yield Finding("nki-gpsimd-psum", said, instr.span)
        elif instr.engine == "pe":
            wanted = PSUM if access.writes else SBUF
            if where != wanted:
                yield Finding("nki-matmul-memory", f"{said}; it has to be in {wanted}", instr.span)
        elif where in _unreachable(trace, instr.engine):
            yield Finding("nki-memory", said, instr.span)


def _unreachable(trace: NkiTrace, engine: str) -> tuple[str, ...]:
    """Memories that an engine does not reach.  Beta-1 put a copy between PSUM and DMA; 0.3 and later refuse PSUM."""
    if engine == "dma":
        return () if trace.generation == BETA1 or trace.version < "0.3" else (PSUM,)
    return (HBM, SHARED_HBM) if engine in ("dve", "act", "pool") else ()


def _operands(trace: NkiTrace, instr: Instr) -> Iterator[Finding]:
    pair = {"tensor_tensor": (0, 1), "nc_scalar_tensor_tensor": (0, 2)}.get(instr.op)
    if pair is None:
        return
    views = [instr.src[number] for number in pair]
    if all(isinstance(view, TensorRef) and space(trace, view) == PSUM for view in views):
        first, second = (named(trace, view) for view in views if isinstance(view, TensorRef))
        yield Finding("nki-two-psum", f"{instr.op} reads {first} and {second}", instr.span)


def _engine(trace: NkiTrace, instr: Instr) -> Iterator[Finding]:
    allowed = _RUNS_ON.get(instr.op)
    if allowed is not None and instr.engine not in allowed:
        names = " or ".join(NAMES[name] for name in allowed)
        said = f"{instr.op} runs on {names}, and not on {NAMES.get(instr.engine, 'no engine')}"
        yield Finding("nki-engine", said, instr.span)
        return
    ops = [instr.attrs.get(name) for name in _OPS]
    if "pow" in ops and instr.engine in ("dve", "act"):
        yield Finding("nki-engine", f"power runs on GpSimd, and not on {NAMES[instr.engine]}", instr.span)
    if instr.op == "tensor_scalar" and instr.engine == "act":
        given = instr.attrs.get("op0"), instr.attrs.get("op1")
        if given not in _ACT_PAIRS:
            said = f"the Scalar engine has tensor_scalar with multiply and add, multiply or add, and not {given}"
            yield Finding("nki-engine", said, instr.span)


def _generation(trace: NkiTrace, instr: Instr) -> Iterator[Finding]:
    hardware = HARDWARE[trace.target]
    since, what = max(_needs(trace, instr), default=(0, ""))
    if since > hardware.generation:
        first = {3: "Trainium2", 4: "Trainium3"}[since]
        yield Finding("nki-target", f"{what} is there from {first} on; the target is {hardware.name}", instr.span)
    if hardware.generation == 2 and instr.op == "nc_activate":
        yield from _gen2_bias(instr)


def _needs(trace: NkiTrace, instr: Instr) -> Iterator[tuple[int, str]]:
    """(generation, what needs it)."""
    if instr.op in _SINCE:
        yield _SINCE[instr.op], instr.op
    if instr.op == "rng" and instr.engine == "pool":
        yield 3, "rng on GpSimd"
    if instr.op in ("nc_copy", "tensor_scalar") and instr.engine == "act":
        yield 3, f"{instr.op} on the Scalar engine"
    if instr.attrs.get("perf_mode", "none") != "none":
        yield 3, f"perf_mode {instr.attrs['perf_mode']}"
    for name in _OPS:
        if instr.attrs.get(name) in ("abs_max", "abs_min"):
            yield 4, f"the operation {instr.attrs[name]}"
    views: tuple[Any, ...] = (*instr.dst, *instr.src)
    if any(isinstance(view, Indirect) and view.kind == "free" for view in views):
        yield 4, "an indirect access along the free axis"


def _gen2_bias(instr: Instr) -> Iterator[Finding]:
    bias, op = instr.src[1], instr.attrs.get("op")
    if isinstance(bias, int | float) and bias != 0:
        yield Finding("nki-target", f"a number as bias ({bias}) is there from Trainium2 on", instr.span)
    elif isinstance(bias, TensorRef) and op == "reciprocal":
        yield Finding("nki-target", "activation of reciprocal takes a bias from Trainium2 on", instr.span)
    elif isinstance(bias, TensorRef) and op == "copy":
        said = "activation of copy may leave out its bias on Trainium (aws-neuron-sdk issue 1296)"
        yield Finding("nki-target", said, instr.span, "warning")
