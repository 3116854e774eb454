"""The op cases that are compared with torch: a name, a function of tensors, its inputs, and whether bits must match.

``EXACT`` cases consist of correctly rounded steps in a fixed order; ``CLOSE`` ones hold intrinsics or sums.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F

f32, f64, bf16, f16, i64, i32 = torch.float32, torch.float64, torch.bfloat16, torch.float16, torch.int64, torch.int32


@dataclass(frozen=True)
class Case:
    name: str
    fn: Callable[..., Any]
    inputs: tuple[torch.Tensor, ...]
    exact: bool
    backward: bool = False


CASES: list[Case] = []


def rand(*shape: int, dtype: torch.dtype = f32, seed: int = 0) -> torch.Tensor:
    """Normal floats, or small integers of both signs; asymmetric shapes only."""
    generator = torch.Generator().manual_seed(seed + sum(shape))
    if dtype is torch.bool:
        return torch.randn(*shape, generator=generator) > 0
    if not dtype.is_floating_point:
        return torch.randint(-7, 8, shape, generator=generator).to(dtype)
    return (torch.randn(*shape, generator=generator) * 2).to(dtype)


def case(name: str, fn: Callable[..., Any], *inputs: torch.Tensor, exact: bool = True, backward: bool = False) -> None:
    CASES.append(Case(name, fn, inputs, exact, backward))


def over(
    dtypes: list[torch.dtype], name: str, fn: Callable[..., Any], *shapes: tuple[int, ...], exact: bool = True
) -> None:
    """The case for each dtype."""
    for dt in dtypes:
        inputs = [rand(*shape, dtype=dt, seed=n) for n, shape in enumerate(shapes)]
        case(f"{name}-{str(dt)[6:]}", fn, *inputs, exact=exact)


def _positive(dtype: torch.dtype) -> torch.Tensor:
    return rand(3, 5, dtype=dtype) if dtype is torch.bool else rand(3, 5, dtype=dtype).abs() * 3


FLOATS, ALL = [f32, bf16, f16, f64], [f32, bf16, i64]

# -- pointwise --------------------------------------------------------------------------------------------------------
over(ALL, "add", lambda x, y: x + y, (3, 5, 7), (5, 1))
over(ALL, "add_scalar", lambda x: x + 3, (3, 5))
over([f32, bf16], "add_alpha", lambda x, y: torch.add(x, y, alpha=0.3), (3, 5), (3, 5), exact=False)
over(ALL, "sub", lambda x, y: x - y, (3, 5), (3, 5))
over(ALL, "rsub", lambda x: 2 - x, (3, 5))
over(ALL, "mul", lambda x, y: x * y, (3, 5), (5,))
over(FLOATS, "mul_scalar", lambda x: x * 0.1, (3, 5))
over(FLOATS, "div", lambda x, y: x / y, (3, 5), (3, 5))
over(FLOATS, "div_scalar", lambda x: x / 3, (3, 5))
over([f32, bf16, i64], "div_floor", lambda x, y: torch.div(x, y.abs() + 1, rounding_mode="floor"), (3, 5), (3, 5))
over([f32, i64], "div_trunc", lambda x, y: torch.div(x, y.abs() + 1, rounding_mode="trunc"), (3, 5), (3, 5))
over([f32, i64], "floor_divide", lambda x: x // 2, (3, 5))
over([f32, bf16, i64], "remainder", lambda x: x % -3, (3, 5))
over([f32, i64], "fmod", lambda x: torch.fmod(x, 3), (3, 5))
over(ALL, "neg_abs", lambda x: -x.abs(), (3, 5))
over(ALL, "square", lambda x: x**2, (3, 5))
# Two roundings; the CPU's f16 loop alone has one, the CUDA kernel has two for both narrow types.
over([f32, bf16, f64], "cube", lambda x: x**3, (3, 5))
over([i64], "pow_int", lambda x: x**5, (3, 5))
over([f32, bf16], "pow", lambda x: x.abs() ** 1.7, (3, 5), exact=False)
over([f32, bf16], "pow_scalar_base", lambda x: 2.0**x, (3, 5), exact=False)
# torch's CPU calls MKL, which is off by an ulp for one f32 in five.
over(FLOATS, "sqrt", lambda x: x.abs().sqrt(), (3, 5), exact=False)
over(FLOATS, "reciprocal", lambda x: x.reciprocal(), (3, 5))
over([f32, bf16], "rsqrt", lambda x: (x.abs() + 1).rsqrt(), (3, 5), exact=False)
over(ALL, "maximum", lambda x, y: torch.maximum(x, y), (3, 5), (3, 5))
over([f32], "fmin", lambda x, y: torch.fmin(x, y), (3, 5), (3, 5))
over(ALL, "clamp", lambda x: x.clamp(-1, 2), (3, 5))
over([f32, bf16], "clamp_tensor", lambda x, y: torch.clamp(x, min=y), (3, 5), (5,))
over([f32, bf16], "lerp", lambda x, y: torch.lerp(x, y, 0.3), (3, 5), (3, 5), exact=False)
over([f32, bf16], "addcmul", lambda x, y: torch.addcmul(x, x, y, value=0.5), (3, 5), (3, 5), exact=False)
over([f32], "addcdiv", lambda x, y: torch.addcdiv(x, x, y.abs() + 1), (3, 5), (3, 5), exact=False)
over([f32], "atan2", torch.atan2, (3, 5), (3, 5), exact=False)
over([f32], "hypot", torch.hypot, (3, 5), (3, 5), exact=False)
over([f32, f64], "copysign", torch.copysign, (3, 5), (3, 5))
over([f32], "xlogy", lambda x, y: torch.xlogy(x, y.abs()), (3, 5), (3, 5), exact=False)
over([f32], "logaddexp", torch.logaddexp, (3, 5), (3, 5), exact=False)
for _fn in [
    "exp",
    "exp2",
    "expm1",
    "sin",
    "cos",
    "tan",
    "asinh",
    "sinh",
    "cosh",
    "tanh",
    "atan",
    "erf",
    "erfc",
    "sigmoid",
]:
    over([f32, bf16], _fn, lambda x, _fn=_fn: getattr(torch, _fn)(x), (3, 5), exact=False)
for _fn in ["log", "log2", "log10", "log1p", "digamma", "lgamma"]:
    over([f32], _fn, lambda x, _fn=_fn: getattr(torch, _fn)(x.abs() + 0.5), (3, 5), exact=False)
for _fn in ["asin", "acos", "atanh", "erfinv"]:
    over([f32], _fn, lambda x, _fn=_fn: getattr(torch, _fn)(x / 9), (3, 5), exact=False)
case("exp_int", lambda x: torch.exp(x), rand(3, 5, dtype=i64), exact=False)
for _fn in ["floor", "ceil", "trunc", "round", "frac"]:
    over([f32, bf16], _fn, lambda x, _fn=_fn: getattr(torch, _fn)(x), (3, 5))
over([f32], "round_decimals", lambda x: torch.round(x, decimals=2), (3, 5), exact=False)
over(ALL, "sign", torch.sign, (3, 5))
over(ALL, "relu", F.relu, (3, 5))
over([f32, bf16], "hardtanh", F.hardtanh, (3, 5))
over([f32, bf16], "relu6", F.relu6, (3, 5))
over([f32, bf16], "leaky_relu", F.leaky_relu, (3, 5))
for _name in ["gelu", "silu", "mish", "softplus", "elu", "celu", "selu", "hardswish", "hardsigmoid", "logsigmoid"]:
    over([f32, bf16], _name, getattr(F, _name), (3, 5), exact=False)
over([f32, bf16], "gelu_tanh", lambda x: F.gelu(x, approximate="tanh"), (3, 5), exact=False)
over([f32], "softplus_threshold", lambda x: F.softplus(x * 9, beta=2, threshold=5), (3, 5), exact=False)
over([f32], "logit", lambda x: torch.logit(x, eps=0.1), (3, 5), exact=False)
over([f32], "prelu", lambda x, w: F.prelu(x, w), (3, 5), (5,))
over([f32, bf16, f16], "nan_to_num", lambda x: torch.nan_to_num(x / x.floor()), (3, 5))
over([f32], "isnan", lambda x: torch.isnan(x.log()), (3, 5))
over([f32], "isinf", lambda x: torch.isinf(x / 0), (3, 5))

# -- comparison, logic, bits ------------------------------------------------------------------------------------------
over([f32, bf16, i64], "compare", lambda x, y: (x < y, x >= y, x == y, x != 0.1), (3, 5), (3, 5))
over([f32, i64], "logical", lambda x, y: torch.logical_and(x > 0, y) ^ torch.logical_not(x), (3, 5), (3, 5))
over([i64, i32], "bitwise", lambda x, y: (x & y, x | 3, ~x ^ y), (3, 5), (3, 5))
over([i64, i32], "shifts", lambda x: (x << 2, x >> 1), (3, 5))
over([f32, bf16, i64], "where", lambda x, y: torch.where(x > y, x, y), (3, 5), (3, 1))
over([f32, bf16], "where_scalar", lambda x: torch.where(x > 0, x, 0.1), (3, 5))
over([f32, bf16], "masked_fill", lambda x: x.masked_fill(x > 0, -1e9), (3, 5))
over([f32], "isclose", lambda x, y: torch.isclose(x, x + 1e-7 * y), (3, 5), (3, 5))

# -- promotion and conversion -----------------------------------------------------------------------------------------
case("promote_bf16_f32", lambda x, y: x * y, rand(3, 5, dtype=bf16), rand(3, 5))
case("promote_bf16_f16", lambda x, y: x * y, rand(3, 5, dtype=bf16), rand(3, 5, dtype=f16))
case("promote_int_bf16", lambda x, y: x + y, rand(3, 5, dtype=i64) * 1001, rand(3, 5, dtype=bf16))
case("promote_int_scalar", lambda x: x * 0.5, rand(3, 5, dtype=i64))
case("promote_bool", lambda x, y: (x + y, x * 2), rand(3, 5, dtype=torch.bool), rand(3, 5, dtype=torch.bool, seed=1))
case("promote_i32_i64", lambda x, y: x + y, rand(3, 5, dtype=i32), rand(3, 5, dtype=i64))
for _source in (f32, f64, bf16, i64, torch.bool):
    for _to in (f32, bf16, f16, i32, torch.bool, torch.uint8):
        case(f"to-{str(_source)[6:]}-{str(_to)[6:]}", lambda x, _to=_to: x.to(_to), _positive(_source))


# -- memory: in place, views, out= ------------------------------------------------------------------------------------
def _in_place(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    z = x.clone()
    z.t()[1:3].mul_(y)
    z[0] += 1
    z.view(-1)[4] = 9.5
    return z


def _overwritten(x: torch.Tensor) -> torch.Tensor:
    y = torch.empty_like(x)
    y[:, ::2] = x[:, ::2]
    y[:, 1::2].copy_(x[:, 1::2] * 2)
    return torch.add(y, 1, out=torch.empty_like(x))


case("in_place", _in_place, rand(3, 5), rand(2, 3))
case("out_and_slices", _overwritten, rand(3, 5))
case("argument_written", lambda x: x.mul_(2).sum() * 0 + x[0, 0], rand(3, 5))


def turned_in_place(x: torch.Tensor) -> torch.Tensor:
    """The tensor itself becomes a view: its storage is written to through the new shape, not by turning it."""
    y = x * 2
    y.t_()
    y[0] = 7
    y.unsqueeze_(0).transpose_(1, 2).squeeze_(0)
    return y - x


case("turned_in_place", turned_in_place, rand(3, 5))
case("vector_matrix", lambda x, y: x[0] @ y, rand(3, 4), rand(4, 5), exact=False)
case("transposed_input", lambda x: x.t().contiguous() + 1, rand(5, 3).t())
case("expanded", lambda x: x[:, None].expand(3, 4, 5) + 1, rand(3, 5))
case("bitcast", lambda x: x.view(i32) + 1, rand(3, 5))
case("constant", lambda x: x + torch.arange(5, device=x.device) + torch.tensor([1.5, 2, 3, 4, 5]), rand(3, 5))
case(
    "cpu_buffer", lambda x: torch.full_like(x, 0.1) + torch.eye(3, 5) + torch.linspace(0, 1, 5), rand(3, 5), exact=False
)

# -- copies -----------------------------------------------------------------------------------------------------------
over([f32, bf16, i64], "cat", lambda x, y: torch.cat([x, y], 1), (3, 5, 7), (3, 2, 7))
over([f32], "stack", lambda x, y: torch.stack([x, y], -1), (3, 5), (3, 5))
over([f32], "split", lambda x: [2 * p for p in x.split(2, 1)], (3, 5))
over([f32], "repeat", lambda x: x.repeat(2, 1, 3), (3, 5))
over([f32], "flip_roll", lambda x: x.flip(0, 2).roll((2, -1), (0, 1)), (3, 5, 7))
over([f32], "roll_flat", lambda x: x.roll(4), (3, 5))
over([f32, bf16], "tril_triu", lambda x: (x.tril(1), x.triu(-1)), (2, 5, 7))
over([f32], "pad", lambda x: F.pad(x, (1, 2, -1, 3), value=7.0), (3, 5))
over([f32], "reflection_pad", lambda x: F.pad(x, (2, 1, 1, 3), mode="reflect"), (1, 2, 5, 7))
over([f32], "replication_pad", lambda x: F.pad(x, (2, 1, 1, 3), mode="replicate"), (1, 2, 5, 7))
over([f32], "permute", lambda x: x.permute(2, 0, 1).contiguous() * 2, (3, 5, 7))
over([f32], "upsample", lambda x: F.interpolate(x, scale_factor=2, mode="nearest"), (1, 2, 3, 5))
over([f32], "diagonal", lambda x: torch.diagonal(x) * 2, (3, 5))
over([f32], "unfold", lambda x: x.unfold(1, 3, 2) + 1, (3, 7))
over([f32], "repeat_interleave", lambda x: x.repeat_interleave(3, 1), (3, 5))
over([f32], "meshgrid", lambda x, y: [a * b for a, b in [torch.meshgrid(x, y, indexing="ij")]], (3,), (5,))

# -- indexing ---------------------------------------------------------------------------------------------------------
_at = torch.tensor([2, 0, 1, 2])
_grid = torch.tensor([[0, 2, 1], [4, 3, 0]])
case("gather", lambda x, i: x.gather(1, i), rand(3, 5), _grid)
case("index_select", lambda x, i: x.index_select(0, i), rand(3, 5), _at)
case("index", lambda x, i: x[i], rand(3, 5), _at)
case("index_negative", lambda x, i: x[:, i - 3], rand(3, 5), _at)
case("index_two", lambda x, i: x[i, :, i + 1], rand(3, 5, 7), _at)
case("index_pair", lambda x, i: x[:, i, i + 1], rand(2, 5, 7), _at)
case("index_mask", lambda x: x[x > 0], rand(3, 5))
case("index_mask_rows", lambda x: x[x[:, 0] > -9], rand(3, 5))
case("masked_select", lambda x: torch.masked_select(x, x > 0), rand(3, 5))
case("nonzero", lambda x: torch.nonzero(x > 0), rand(3, 5))
case("embedding", lambda i, w: F.embedding(i, w), _grid, rand(5, 7))
case("index_put", lambda x, i: x.clone().index_put_((i,), x[:4] * 0 + 7), rand(4, 5), torch.tensor([3, 0, 1, 2]))
case("index_put_accumulate", lambda x, i: x.index_put((i,), x[:1], accumulate=True), rand(3, 5), _at, exact=False)
case("setitem_mask", lambda x: x.clone().masked_fill_(x > 1, 0), rand(3, 5))
case("scatter", lambda x, i: torch.zeros(3, 5).to(x.device).scatter(1, i, x), rand(3, 5), _grid)
case("scatter_value", lambda x, i: x.scatter(1, i, 2.5), rand(3, 5), _grid)
case("scatter_add", lambda x, i: x.scatter_add(1, i, x * 2), rand(3, 5), _grid, exact=False)
case("scatter_amax", lambda x, i: x.scatter_reduce(1, i, x * 2, "amax", include_self=False), rand(3, 5), _grid)
case("index_add", lambda x, i: x.index_add(0, i, torch.cat([x, x[:1]])), rand(3, 5), _at, exact=False)
case("index_copy", lambda x, i: x.index_copy(0, i, x[:3] * 2), rand(3, 5), torch.tensor([2, 0, 1]))
case("index_fill", lambda x, i: x.index_fill(1, i, 4.0), rand(3, 5), torch.tensor([2, 0]))
case("take_along_dim", lambda x, i: torch.take_along_dim(x, i, 1), rand(2, 5), _grid)
case("slice_scatter", lambda x: torch.slice_scatter(x, x[:, :2] * 2, 1, 1, 3), rand(3, 5))
case("slice_scatter_step", lambda x: torch.slice_scatter(x, x[:, :3] * 2, 1, 0, 5, 2), rand(3, 5))
case("select_scatter", lambda x: torch.select_scatter(x, x[0] * 2, 0, -1), rand(3, 5))
case("masked_scatter", lambda x: x.masked_scatter(x > 0, x.flatten() * 2), rand(3, 5))
case("one_hot", lambda i: F.one_hot(i, 4), _at)
case("bucketize", lambda x: torch.bucketize(x, torch.tensor([-1.0, 0.0, 1.5])), rand(3, 5))
case("bincount", lambda i: torch.bincount(i), _at)
case("unique", lambda i: torch.unique(i, return_inverse=True, return_counts=True), torch.tensor([4, 1, 4, 2, 2]))

# -- reductions -------------------------------------------------------------------------------------------------------
over([f32, bf16], "sum", lambda x: x.sum(), (3, 5, 7), exact=False)
over([f32, bf16, i64], "sum_dims", lambda x: x.sum((0, 2)), (3, 5, 7), exact=False)
over([f32, bf16], "mean", lambda x: x.mean(-1, keepdim=True), (3, 5, 7), exact=False)
over([bf16], "sum_dtype", lambda x: x.sum(1, dtype=f32), (3, 5), exact=False)
over([f32], "prod", lambda x: x.prod(1), (3, 5), exact=False)
over([f32, bf16], "var", lambda x: (x.var(1), x.std(0, unbiased=False), x.var()), (3, 5), exact=False)
over([f32], "var_mean", lambda x: torch.var_mean(x, (0, 2), correction=0), (3, 5, 7), exact=False)
over([f32, bf16, i64], "amax", lambda x: (x.amax(1), x.amin((0, 2), keepdim=True), x.max()), (3, 5, 7))
over([f32, bf16, i64], "max_dim", lambda x: tuple(x.max(1)) + tuple(x.min(0)), (3, 5))
over([f32, i64], "argmax", lambda x: (x.argmax(), x.argmin(1, keepdim=True)), (3, 5))
over([f32], "any_all", lambda x: ((x > 0).any(), (x > -1).all(1), x.any(0)), (3, 5))
over([f32], "count_nonzero", lambda x: (x > 0).count_nonzero(1), (3, 5))
over(
    [f32, bf16], "norm", lambda x: (x.norm(), x.norm(1, 1), x.norm(float("inf"), 0), x.norm(3, 1)), (3, 5), exact=False
)
for _fn in ("softmax", "log_softmax"):
    over([f32, bf16], _fn, lambda x, _fn=_fn: getattr(torch, _fn)(x, 1), (3, 5, 7), exact=False)
over([f32, bf16], "logsumexp", lambda x: x.logsumexp(1), (3, 5), exact=False)
over([bf16], "softmax_f32", lambda x: torch.softmax(x, -1, dtype=f32), (3, 5), exact=False)
over([f32, bf16], "cumsum", lambda x: x.cumsum(1), (3, 5))
over([i64], "cumsum_int", lambda x: x.cumsum(0), (3, 5))
over([f32], "cumprod", lambda x: x.cumprod(1), (3, 5))
over([f32], "cummax", lambda x: (*x.cummax(1), *x.cummin(0)), (3, 5))
over([f32], "logcumsumexp", lambda x: x.logcumsumexp(1), (3, 5), exact=False)
over([f32, bf16], "sort", lambda x: tuple(x.sort(stable=True, dim=1)) + tuple(x.sort(0, True)), (3, 5))
over([f32], "topk", lambda x: tuple(x.topk(2, 1)) + tuple(x.topk(3, -1, largest=False)), (3, 7))
over([f32], "kthvalue", lambda x: tuple(x.kthvalue(2, 1)) + (x.argsort(0),), (3, 5))
over([f32], "median", lambda x: (x.median(), *x.median(1)), (3, 5))

# -- products ---------------------------------------------------------------------------------------------------------
over([f32, bf16, f64], "mm", lambda x, y: x @ y, (3, 5), (5, 7), exact=False)
over([f32, bf16], "bmm", lambda x, y: x @ y, (2, 3, 5), (2, 5, 7), exact=False)
over([f32, bf16], "matmul_broadcast", lambda x, y: x @ y, (2, 1, 3, 5), (4, 5, 7), exact=False)
over([f32, bf16], "linear", lambda x, w, b: F.linear(x, w, b), (2, 3, 5), (7, 5), (7,), exact=False)
over([f32], "addmm", lambda c, a, b: torch.addmm(c, a, b, beta=0.5, alpha=2), (3, 7), (3, 5), (5, 7), exact=False)
over([f32], "baddbmm", lambda c, a, b: torch.baddbmm(c, a, b), (2, 3, 7), (2, 3, 5), (2, 5, 7), exact=False)
over([f32], "mv_dot", lambda a, v: ((a @ v), v.dot(v), torch.outer(v, a[:, 0])), (3, 5), (5,), exact=False)
over([f32], "einsum", lambda x, y: torch.einsum("bij,bkj->ikb", x, y), (2, 3, 5), (2, 7, 5), exact=False)
over([f32], "attention", lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True),
     (1, 2, 5, 4), (1, 2, 5, 4), (1, 2, 5, 4), exact=False)  # fmt: skip

# -- convolution and pooling ------------------------------------------------------------------------------------------
over(
    [f32, bf16],
    "conv2d",
    lambda x, w, b: F.conv2d(x, w, b, stride=(2, 1), padding=(1, 2)),
    (2, 3, 7, 9),
    (4, 3, 3, 2),
    (4,),
    exact=False,
)
over([f32], "conv1d_dilated", lambda x, w: F.conv1d(x, w, dilation=2, groups=2), (2, 4, 11), (6, 2, 3), exact=False)
over([f32], "conv3d", lambda x, w: F.conv3d(x, w, padding=1), (1, 2, 3, 4, 5), (3, 2, 2, 3, 2), exact=False)
over([f32], "conv_unbatched", lambda x, w: F.conv2d(x, w), (3, 7, 9), (4, 3, 3, 2), exact=False)
over([f32], "conv_transpose", lambda x, w, b: F.conv_transpose2d(x, w, b, 2, 1, output_padding=1, groups=2),
     (2, 4, 5, 3), (4, 3, 3, 2), (6,), exact=False)  # fmt: skip
over([f32, bf16], "max_pool", lambda x: F.max_pool2d(x, 3, 2, 1, return_indices=True), (2, 3, 7, 9))
over([f32], "max_pool_ceil", lambda x: F.max_pool2d(x, 2, 2, ceil_mode=True), (2, 3, 7, 9))
over([f32], "avg_pool", lambda x: F.avg_pool2d(x, 3, 2, 1, count_include_pad=False), (2, 3, 7, 9), exact=False)
over([f32], "avg_pool_ceil", lambda x: F.avg_pool2d(x, 2, 2, 1, ceil_mode=True), (2, 3, 7, 8), exact=False)
over([f32], "avg_pool1d", lambda x: F.avg_pool1d(x, 3), (2, 3, 9), exact=False)
over(
    [f32],
    "adaptive_avg",
    lambda x: (F.adaptive_avg_pool2d(x, 2), F.adaptive_avg_pool2d(x, (3, 2))),
    (2, 3, 6, 8),
    exact=False,
)
over([f32], "adaptive_uneven", lambda x: F.adaptive_avg_pool2d(x, (3, 2)), (2, 3, 7, 9), exact=False)

# -- normalisation and losses -----------------------------------------------------------------------------------------
over([f32, bf16], "layer_norm", lambda x, w, b: F.layer_norm(x, (5, 7), w, b), (3, 5, 7), (5, 7), (5, 7), exact=False)
over([f32], "group_norm", lambda x, w, b: F.group_norm(x, 2, w, b), (2, 6, 5), (6,), (6,), exact=False)
over(
    [f32],
    "batch_norm_eval",
    lambda x, m, v, w: F.batch_norm(x, m, v.abs(), w),
    (2, 3, 5),
    (3,),
    (3,),
    (3,),
    exact=False,
)
over(
    [f32],
    "batch_norm_train",
    lambda x, m, v, w: (F.batch_norm(x, m, v, w, training=True), m, v),
    (2, 3, 5),
    (3,),
    (3,),
    (3,),
    exact=False,
)
over([f32], "instance_norm", lambda x: F.instance_norm(x), (2, 3, 5), exact=False)
over([f32, bf16], "rms_norm", lambda x, w: F.rms_norm(x, (5,), w, 1e-5), (3, 5), (5,), exact=False)
case("cross_entropy", lambda x, t: F.cross_entropy(x, t, label_smoothing=0.1), rand(4, 5), _at, exact=False)
case("nll_ignore", lambda x, t: F.nll_loss(x, t, ignore_index=2), rand(4, 5), _at, exact=False)
over([f32], "mse", F.mse_loss, (3, 5), (3, 5), exact=False)
over([f32], "smooth_l1", F.smooth_l1_loss, (3, 5), (3, 5), exact=False)
over(
    [f32],
    "kl_div",
    lambda x, y: F.kl_div(x.log_softmax(1), y.softmax(1), reduction="batchmean"),
    (3, 5),
    (3, 5),
    exact=False,
)
over([f32], "bce_logits", lambda x, y: F.binary_cross_entropy_with_logits(x, y.sigmoid()), (3, 5), (3, 5), exact=False)
over([f32], "cosine", F.cosine_similarity, (3, 5), (3, 5), exact=False)

# -- backward ---------------------------------------------------------------------------------------------------------
_GRADS: dict[str, tuple[Callable[..., Any], tuple[tuple[int, ...], ...]]] = {
    "pointwise": (lambda x, y: F.gelu(x) * torch.tanh(y) + F.silu(x) / (1 + y * y), ((3, 5), (3, 5))),
    "activations": (lambda x: F.softplus(x) + F.elu(x) + F.hardswish(x) + F.leaky_relu(x) + F.logsigmoid(x), ((3, 5),)),
    "softmax": (lambda x: x.softmax(1) * x.log_softmax(0), ((3, 5),)),
    "mm": (lambda x, w: x @ w, ((3, 5), (5, 7))),
    "layer_norm": (lambda x, w, b: F.layer_norm(x, (5,), w, b), ((3, 5), (5,), (5,))),
    "group_norm": (lambda x, w, b: F.group_norm(x, 2, w, b), ((2, 6, 5), (6,), (6,))),
    "batch_norm": (lambda x, w, b: F.batch_norm(x, None, None, w, b, True), ((2, 3, 5), (3,), (3,))),
    "conv2d": (lambda x, w, b: F.conv2d(x, w, b, stride=2, padding=1, groups=2), ((2, 4, 6, 7), (6, 2, 3, 2), (6,))),
    "conv_transpose": (lambda x, w: F.conv_transpose2d(x, w, stride=2, padding=1), ((2, 4, 5, 3), (4, 3, 3, 2))),
    "max_pool": (lambda x: F.max_pool2d(x, 3, 2, 1), ((2, 3, 7, 9),)),
    "avg_pool": (lambda x: F.avg_pool2d(x, 3, 2, 1), ((2, 3, 7, 9),)),
    "index": (lambda x: x[_at[:3].to(x.device)].cumsum(0).amax(1), ((3, 5),)),
    "embedding": (lambda w: F.embedding(_grid.to(w.device), w), ((5, 7),)),
    "norm": (lambda x: x.norm(dim=1) + x.var(1) + x.logsumexp(1), ((3, 5),)),
    "attention": (lambda q, k, v: F.scaled_dot_product_attention(q, k, v), ((1, 2, 5, 4), (1, 2, 3, 4), (1, 2, 3, 4))),
}
for _name, (_fn, _shapes) in _GRADS.items():
    _inputs = [rand(*shape, seed=n) for n, shape in enumerate(_shapes)]
    case(f"grad_{_name}", _fn, *_inputs, exact=False, backward=True)
