"""StableHLO text -> an MLIR module, with jaxlib's own bindings.  Takes text; gives the module and its functions.

Must not import jax: the bindings alone parse, and cost a tenth of a second.
"""

from __future__ import annotations

from typing import Any

from lowering.errors import UsageError


def parse_module(text: str) -> Any:
    """The module; the caller keeps it alive for as long as it reads values of it."""
    ir, context = _context()
    with context:
        try:
            return ir.Module.parse(text, context)
        except ir.MLIRError as error:
            raise UsageError(f"this is not a StableHLO module that jaxlib can parse: {error}") from error


def _context() -> tuple[Any, Any]:
    try:
        from jaxlib.mlir import ir
        from jaxlib.mlir._mlir_libs import _jax_mlir_ext
        from jaxlib.mlir.dialects import chlo, func, sdy, stablehlo  # noqa: F401  (func: registers its op classes)
    except ImportError as error:
        raise UsageError("reading StableHLO needs jaxlib: pip install 'jaxlib>=0.10,<0.11'") from error
    context, registry = ir.Context(), ir.DialectRegistry()
    _jax_mlir_ext.register_dialects(registry)
    context.append_dialect_registry(registry)
    context.load_all_available_dialects()
    stablehlo.register_dialect(context)
    chlo.register_dialect(context)
    sdy.register_dialect(context)
    return ir, context


def functions(module: Any) -> dict[str, Any]:
    """Every func.func of the module by symbol name."""
    return {op.attributes["sym_name"].value: op for op in module.body.operations if op.operation.name == "func.func"}
