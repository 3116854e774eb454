"""TTIR text -> MLIR module, with jaxlib's bindings.  Knows the spelling of Triton's printer, no meaning of any op.

The Triton dialect of jaxlib is older than the Triton that prints.  ``normalise`` cures the known differences in
spelling; each pattern has a test that fails when Triton's print changes.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache

from jaxlib.mlir import ir
from jaxlib.triton import dialect as triton_dialect

from lowering.errors import Unsupported
from lowering.frontends.ttir.locations import span_of

#: (what Triton prints, its pattern, what jaxlib's dialect reads).  Only spellings: none of them drops a meaning that
#: KIR has.  The last two are those of Triton 3.4, the others those of Triton 3.9.
SPELLINGS: tuple[tuple[str, re.Pattern[str], str], ...] = (
    ("cache policy", re.compile(r"(, )?cachePolicy = #tt\.cache_policy<[^<>]*>(?(1)|(?:, )?)"), ""),
    ("constant pointer", re.compile(r'(!tt\.ptr<[^<>,]+), "constant">'), r"\1>"),
    ("barrier", re.compile(r"^(\s*)ttg\.barrier [\w|]+( loc\(.*\))?$", re.M), r'\1"ttg.barrier"() : () -> ()\2'),
    (
        "assume",
        re.compile(r"^(\s*)llvm\.intr\.assume (%[\w.#]+) : i1( loc\(.*\))?$", re.M),
        r'\1"llvm.intr.assume"(\2) : (i1) -> ()\3',
    ),
    ("gpu barrier", re.compile(r"^(\s*)gpu\.barrier( loc\(.*\))?$", re.M), r'\1"gpu.barrier"() : () -> ()\2'),
    ("descriptor of a tensor", re.compile(r"(!tt\.tensordesc<|: <\w+>, <)tensor<([^<>]*)>>"), r"\1\2>"),
)


def normalise(ttir: str) -> str:
    """``ttir`` in the spelling that jaxlib's bindings read."""
    for _what, pattern, replacement in SPELLINGS:
        ttir = pattern.sub(replacement, ttir)
    return ttir


@cache
def context() -> ir.Context:
    """The one MLIR context of this room."""
    ctx = ir.Context()
    ctx.allow_unregistered_dialects = True
    triton_dialect.register_dialect(ctx)
    return ctx


def parse(ttir: str) -> ir.Module:
    """The module of ``ttir``; Unsupported when the bindings cannot read it."""
    try:
        with context():
            return ir.Module.parse(normalise(ttir))
    except ir.MLIRError as error:
        first = error.error_diagnostics[0]
        # A diagnostic's location comes without a class of its own.
        place = span_of(ir.Location.from_attr(first.location.attr, context()))
        hint = f"the MLIR reader says: {first.message}"
        raise Unsupported("TTIR that jaxlib's dialect cannot read", replace(place, file="TTIR"), hint) from None
