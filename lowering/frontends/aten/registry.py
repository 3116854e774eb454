"""One handler per ATen op: the table HANDLERS and ``lower_call``, which applies it to an AtenCall.

Takes AtenCalls (plain data); gives KIR ops through a Builder.  Must not import torch or another front end.

A handler's parameters are those of the op's schema, so that defaults which the dispatcher leaves out are filled in by
Python.  It returns one value per output (None where the op returns none); each is rounded once, here, to its dtype.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from lowering.capture.trace import AtenCall, TensorRef
from lowering.errors import Unsupported
from lowering.frontends.aten.context import Context, Library
from lowering.ir.builder import Builder
from lowering.ir.program import Value

Result = Value | Sequence[Value | None]
Handler = Callable[..., Result]
H = TypeVar("H", bound=Callable[..., Any])
HANDLERS: dict[str, Handler] = {}

#: Arguments that say where and how a result is stored, which the output TensorRefs tell already.
_STORAGE_KWARGS = frozenset({"dtype", "layout", "device", "pin_memory", "memory_format", "non_blocking", "generator"})


def aten(*names: str) -> Callable[[H], H]:
    """Registers a handler under the base names of ops ('add' for aten.add.Tensor, aten.add_.Scalar, ...)."""

    def register(handler: H) -> H:
        for name in names:
            assert name not in HANDLERS, f"aten.{name} has two handlers"
            HANDLERS[name] = handler
        return handler

    return register


#: Primitives of torch's own decompositions that mean what the ATen op of that name means.
_SHARED = """
    abs add sub mul neg signbit sqrt rsqrt exp exp2 expm1 log log2 log10 log1p sin cos tan tanh erf erfc lgamma
    digamma atan2 floor ceil trunc round sign maximum minimum fmax fmin eq ne lt le gt ge where isfinite reciprocal
    bitwise_and bitwise_or bitwise_xor bitwise_not
    hypot asin acos atan asinh acosh atanh sinh cosh fmod remainder pow
"""
PRIMS = {
    "prims.convert_element_type": "_to_copy",
    "prims.scalar_tensor": "scalar_tensor",
    **{f"prims.{name}": name for name in _SHARED.split()},
}


def base_name(op: str) -> str:
    """'add' for 'aten.add_.Tensor': an in-place op computes the same and is written to its outputs."""
    namespace, name = op.split(".")[:2]
    if namespace != "aten":
        return PRIMS.get(f"{namespace}.{name}", op)
    return name if name in HANDLERS else name.removesuffix("_")


def lower_call(
    builder: Builder,
    call: AtenCall,
    read: Callable[[TensorRef], Value],
    write: Callable[[TensorRef, Value], None],
    library: Library | None = None,
) -> None:
    """Emits the ops of ``call``; ``library`` says whose numerics are meant (the CPU's by default)."""
    handler = HANDLERS.get(base_name(call.op))
    if handler is None:
        hint = "add a handler in lowering/frontends/aten, or let capture decompose the op"
        raise Unsupported(call.op, call.span, hint)
    with builder.at(call.span):
        ctx = Context(builder, call, read, write, library or Library())
        results = _run(ctx, handler)
        for ref, value in zip(ctx.outputs, results, strict=True):
            write(ref, _stored(ctx, value, ref))


def _run(ctx: Context, handler: Handler) -> list[Value]:
    signature = inspect.signature(handler)
    known = signature.parameters
    kwargs = {k: v for k, v in ctx.call.kwargs.items() if k in known or not _says_where(k)}
    try:
        bound = signature.bind(ctx, *ctx.call.args, **kwargs)
    except TypeError as error:
        raise ctx.unsupported(f"this overload is not covered: {error}") from None
    result = handler(*bound.args, **bound.kwargs)
    results = [result] if isinstance(result, Value) else [v for v in result if v is not None]
    if len(results) < len(ctx.outputs):
        raise ctx.unsupported(f"{len(ctx.outputs)} outputs were recorded, {len(results)} are modelled")
    return results[: len(ctx.outputs)]


def _says_where(keyword: str) -> bool:
    return keyword in _STORAGE_KWARGS or re.fullmatch(r"out\d*", keyword) is not None


def _stored(ctx: Context, value: Value, ref: TensorRef) -> Value:
    """The result in its output's dtype and shape; an in-place op may broadcast into its output."""
    value = ctx.cast(value, ctx.dtype(ref.dtype))
    return ctx.builder.broadcast(value, ref.shape)
