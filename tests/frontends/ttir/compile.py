"""Triton source -> TTIR text for the tests: Triton's own compiler, stopped after make_ttir.  Needs no GPU."""

from __future__ import annotations

from inspect import signature as signature_of
from typing import Any

import triton
from triton._C.libtriton import ir
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource, make_backend

OPTIONS = {"enable_fp_fusion": True, "supported_fp8_dtypes": ("fp8e5", "fp8e4nv")}


def ttir_of(
    fn: triton.JITFunction[Any],
    signature: dict[str, str],
    constants: dict[str, Any] | None = None,
    *,
    arch: int = 80,
    optimise: bool = True,
    options: dict[str, Any] | None = None,
) -> str:
    """``signature`` names the runtime parameters only; ``constants`` are the constexprs."""
    constants = constants or {}
    target = GPUTarget("cuda", arch, 32)
    backend = make_backend(target)
    parsed = backend.parse_options(OPTIONS | (options or {}))
    context = ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    source = ASTSource(fn, signature | dict.fromkeys(constants, "constexpr"), constants)
    hooks = backend.get_codegen_implementation(parsed)
    first = (target,) if "target" in signature_of(source.make_ir).parameters else ()  # Triton 3.4 had no target there
    module = source.make_ir(*first, parsed, hooks, backend.get_module_map(), context)
    if optimise:
        stages: dict[str, Any] = {}
        backend.add_stages(stages, parsed, source.language)
        module = stages["ttir"](module, {})
    return str(module)
