"""Matrix products: mm, bmm, addmm, dot, matmul, linear, outer.  Accumulators are f32 (f64 for f64)."""

from __future__ import annotations

from typing import Any

from lowering.frontends.aten.context import Context
from lowering.frontends.aten.dtypes import opmath
from lowering.frontends.aten.registry import aten
from lowering.ir.program import Value
from lowering.ir.types import F16, F32


def dot(ctx: Context, a: Value, b: Value, tf32: bool | None = None) -> Value:
    """[..., M, K] x [..., K, N] in the accumulator's dtype; leading dimensions broadcast."""
    tf32 = ctx.library.matmul_tf32 if tf32 is None else tf32
    precision = "tf32" if tf32 and ctx.cuda and a.type.dtype is F32 else "ieee"
    acc = F16 if a.type.dtype is F16 and ctx.library.fp16_accumulation else opmath(a.type.dtype)
    lead = _common(a.type.shape[:-2], b.type.shape[:-2])
    a, b = (ctx.builder.broadcast(x, (*lead, *x.type.shape[-2:])) for x in (a, b))
    return ctx.builder("dot", a, b, acc=acc.name, precision=precision, order="unordered", impl="torch")


def _common(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...]:
    rank = max(len(a), len(b))
    a, b = ((1,) * (rank - len(s)) + s for s in (a, b))
    return tuple(y if x == 1 else x for x, y in zip(a, b, strict=True))


def swap(ctx: Context, x: Value) -> Value:
    """The last two dimensions exchanged."""
    rank = x.type.rank
    return ctx.builder("transpose", x, perm=(*range(rank - 2), rank - 1, rank - 2))


@aten("mm", "bmm")
def mm(ctx: Context, self: Any, mat2: Any, out_dtype: Any = None) -> Value:
    return dot(ctx, ctx.value(self), ctx.value(mat2))


def _combined(ctx: Context, product: Value, self: Any, beta: Any, alpha: Any) -> Value:
    """beta * self + alpha * product in the accumulator's dtype; rounded once by the caller."""
    b, dt = ctx.builder, product.type.dtype
    if alpha != 1:
        product = b("mul", product, b.like(alpha, product))
    if beta == 0:
        return product
    bias = ctx.value(self, dt, product.type.shape)
    if beta != 1:
        bias = b("mul", bias, b.like(beta, bias))
    return b("add", product, bias)


@aten("addmm", "baddbmm")
def addmm(ctx: Context, self: Any, mat1: Any, mat2: Any, beta: Any = 1, alpha: Any = 1) -> Value:
    return _combined(ctx, dot(ctx, ctx.value(mat1), ctx.value(mat2)), self, beta, alpha)


@aten("_addmm_activation")
def addmm_activation(ctx: Context, self: Any, mat1: Any, mat2: Any, beta: Any = 1, alpha: Any = 1,
                     use_gelu: bool = False) -> Value:  # fmt: skip
    """relu, or gelu: by erf on the CPU, after the sum was rounded; by tanh on CUDA, in the product's epilogue."""
    b, x = ctx.builder, addmm(ctx, self, mat1, mat2, beta, alpha)
    x = x if ctx.cuda else b.cast(b.cast(x, ctx.out.dtype), x.type.dtype)
    if not use_gelu:
        return b("max", x, b.like(0.0, x))
    return ctx.composites.gelu_tanh(x) if ctx.cuda else ctx.composites.gelu_erf(x)


@aten("addbmm")
def addbmm(ctx: Context, self: Any, batch1: Any, batch2: Any, beta: Any = 1, alpha: Any = 1) -> Value:
    product = dot(ctx, ctx.value(batch1), ctx.value(batch2))
    return _combined(ctx, ctx.composites.reduce("add", product, 0), self, beta, alpha)


def matmul_values(ctx: Context, a: Value, b: Value) -> Value:
    """torch.matmul: vectors become one-row or one-column matrices and lose that dimension again."""
    build, row, column = ctx.builder, a.type.rank == 1, b.type.rank == 1
    a = build.reshape(a, (1, *a.type.shape)) if row else a
    b = build.reshape(b, (*b.type.shape, 1)) if column else b
    product = dot(ctx, a, b)
    shape = product.type.shape[:-2]
    rows = () if row else (product.type.shape[-2],)
    return build.reshape(product, (*shape, *rows, *(() if column else (product.type.shape[-1],))))


@aten("dot", "mv")
def matmul(ctx: Context, self: Any, other: Any) -> Value:
    return matmul_values(ctx, ctx.value(self), ctx.value(other))


@aten("addmv")
def addmv(ctx: Context, self: Any, mat: Any, vec: Any, beta: Any = 1, alpha: Any = 1) -> Value:
    return _combined(ctx, matmul_values(ctx, ctx.value(mat), ctx.value(vec)), self, beta, alpha)


@aten("linear")
def linear(ctx: Context, input: Any, weight: Any, bias: Any = None) -> Value:
    product = matmul_values(ctx, ctx.value(input), swap(ctx, ctx.value(weight)))
    return product if bias is None else _combined(ctx, product, bias, 1, 1)


def _outer(ctx: Context, self: Any, vec2: Any) -> Value:
    x, y = ctx.operands_apart(self, vec2)
    shape = (x.type.size, y.type.size)
    return ctx.builder("mul", ctx.builder.broadcast(x, shape, (0,)), ctx.builder.broadcast(y, shape, (1,)))


@aten("addr")
def addr(ctx: Context, self: Any, vec1: Any, vec2: Any, beta: Any = 1, alpha: Any = 1) -> Value:
    return _combined(ctx, _outer(ctx, vec1, vec2), self, beta, alpha)
