"""One TTIR module -> KIR Function: parameters, body, attributes; and calls, which are inlined."""

from __future__ import annotations

from typing import Any

from jaxlib.mlir import ir

from lowering.errors import Unsupported
from lowering.frontends.ttir import arith, casts, descriptors, dot, extern, math, memory, regions, scf, tt
from lowering.frontends.ttir.cf import Structuriser
from lowering.frontends.ttir.exchanges import exchange_pairs
from lowering.frontends.ttir.float_atomics import join_float_atomics
from lowering.frontends.ttir.locations import span_of
from lowering.frontends.ttir.parse import parse
from lowering.frontends.ttir.registry import Result, attribute, lowers
from lowering.frontends.ttir.reorders import drop_reorders
from lowering.frontends.ttir.state import Lowering
from lowering.ir.program import Function

#: The modules whose handlers fill the table.
DIALECTS = (arith, casts, descriptors, dot, extern, math, memory, regions, scf, tt)


def lower(ttir: str, *, name: str, options: dict[str, Any], key: str) -> Function:
    """See ``lower_kernel``."""
    module = parse(ttir)
    functions = {attribute(op.operation, "sym_name"): op.operation for op in module.body.operations}
    kernel = _public(functions, name)
    low = Lowering(functions)
    with low.build.at(span_of(kernel.location)):
        return _function(low, kernel, name, _attrs(options, key))


def _attrs(options: dict[str, Any], key: str) -> dict[str, Any]:
    return {"level": "ttir", "contract": bool(options.get("enable_fp_fusion", True)), "key": key}


def _function(low: Lowering, kernel: ir.Operation, name: str, attrs: dict[str, Any]) -> Function:
    entry = kernel.regions[0].blocks[0]
    params = []
    for source in entry.arguments:
        param = low.build.value(descriptors.parameter_type(source, span_of(source.location)))
        params.append(param)
    descriptors.bind_parameters(low, list(entry.arguments), params)
    low.build.op("yield", Structuriser(low, kernel.regions[0]).run())
    exchange_pairs(low.build, low.build.block)
    join_float_atomics(low.build, low.build.block)
    drop_reorders(low.build.block)
    if low.notes:
        attrs["notes"] = tuple(low.notes)
    return Function(name, params, low.build.block, attrs)


def _public(functions: dict[str, ir.Operation], name: str) -> ir.Operation:
    """The kernel: the function called ``name``, or the only public one."""
    public = [op for op in functions.values() if attribute(op, "sym_visibility", "public") == "public"]
    if name in functions:
        return functions[name]
    if len(public) != 1:
        raise Unsupported(f"a TTIR module with {len(public)} public functions", hint=f"none is called {name}")
    return public[0]


@lowers("tt.call")
def call(low: Lowering, op: ir.Operation) -> Result:
    """The callee in place: Triton has no recursion."""
    callee = low.functions[attribute(op, "callee")]
    region = callee.regions[0]
    low.bind_all(region.blocks[0].arguments, low.flat(op.operands))
    saved, low.caller = low.caller, low.span
    try:
        return Structuriser(low, region).run()
    finally:
        low.caller = saved
