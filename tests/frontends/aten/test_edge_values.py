"""Edge values and rarer arguments, against torch's own CPU kernels: infinities, NaN, -0, subnormals, ties, casts.

Where 0 ulp are said, the bits are torch's (one NaN like another); else its infinities and NaN, and the rest within the
ulp said.  The sign of a zero is compared only with ``zeros=True``: max(-0, +0) is open, torch's CPU and CUDA differ.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from lowering.capture.torch_host import torch_session
from lowering.errors import Unsupported
from tests.frontends.aten.cases import rand
from tests.frontends.aten.harness import evaluated, flat, lowered

inf, nan = math.inf, math.nan
f16, bf16, f32, f64 = torch.float16, torch.bfloat16, torch.float32, torch.float64
SPECIAL = [0.0, -0.0, nan, inf, -inf, 1.0, -1.0, 0.5, -0.5, 3.5, -2.5]


def edges(dtype: torch.dtype) -> torch.Tensor:
    """Specials, the largest, smallest and a subnormal number of the dtype, and some ordinary ones."""
    info = torch.finfo(dtype)
    sized = [info.max, -info.max, info.tiny, -info.tiny, info.smallest_normal / 4, -info.smallest_normal / 4]
    return torch.tensor([*SPECIAL, *sized], dtype=f64).to(dtype)


def pairs(dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor]:
    """Every edge value with every other."""
    x = edges(dtype)
    return x.repeat_interleave(len(x)), x.repeat(len(x))


def _ours(fn: Callable[..., Any], inputs: tuple[torch.Tensor, ...]) -> list[torch.Tensor]:
    with torch_session() as session:
        return list(evaluated(lowered(session, fn, inputs), inputs).values())


def _bits(t: torch.Tensor) -> torch.Tensor:
    """The bits, one NaN like another."""
    if not t.dtype.is_floating_point:
        return t
    whole = {8: torch.int64, 4: torch.int32, 2: torch.int16, 1: torch.uint8}[t.element_size()]
    wide = t.to(f64)
    return torch.where(wide.isnan(), torch.full_like(t, nan) if t.element_size() > 1 else t, t).view(whole)


def _ordered(t: torch.Tensor) -> np.ndarray:
    """Finite floats as integers of which neighbours differ by one."""
    bits = t.view({8: torch.int64, 4: torch.int32, 2: torch.int16}[t.element_size()]).to(torch.int64).numpy()
    lowest = -(1 << (8 * t.element_size() - 1))
    return np.where(bits < 0, lowest - bits, bits)


def assert_close(
    ours: torch.Tensor, theirs: torch.Tensor, ulps: int, *, zeros: bool = True, near: bool = False
) -> None:
    """``near``: within the ulp of 1, for sums that cancel."""
    assert ours.dtype == theirs.dtype and ours.shape == theirs.shape
    if not zeros:
        ours, theirs = (torch.where(t == 0, torch.zeros_like(t), t) for t in (ours, theirs))
    if not theirs.dtype.is_floating_point or not ulps:
        wrong = _bits(ours) != _bits(theirs)
        assert not wrong.any(), (ours[wrong][:5], theirs[wrong][:5], wrong.nonzero()[:5].tolist())
        return
    special = ~theirs.isfinite() | ~ours.isfinite()
    torch.testing.assert_close(ours[special], theirs[special], rtol=0, atol=0, equal_nan=True)
    apart = np.abs(_ordered(ours[~special]) - _ordered(theirs[~special]))
    if near:
        gap = (ours[~special].to(f64) - theirs[~special].to(f64)).abs().numpy()
        apart = np.minimum(apart, np.ceil(gap / torch.finfo(theirs.dtype).eps))
    assert apart.max(initial=0) <= ulps, (apart.max(), ours[~special], theirs[~special])


def check(fn: Callable[..., Any], *inputs: torch.Tensor, ulps: int = 0, **how: bool) -> None:
    theirs = flat(fn(*(t.clone() for t in inputs)))
    for a, b in zip(_ours(fn, inputs), theirs, strict=True):
        assert_close(a, b, ulps, **how)


# -- pairs of edge values ---------------------------------------------------------------------------------------------

BINARY: dict[str, tuple[Callable[..., Any], int]] = {
    "add": (torch.add, 0),
    "mul": (torch.mul, 0),
    "div": (torch.div, 0),
    "extrema": (lambda x, y: (torch.maximum(x, y), torch.minimum(x, y), torch.fmax(x, y), torch.fmin(x, y)), 0),
    "copysign": (torch.copysign, 0),
    "compare": (lambda x, y: (x < y, x == y, x >= y, x != y), 0),
    "isclose": (lambda x, y: (torch.isclose(x, y), torch.isclose(x, y, equal_nan=True)), 0),
    "logaddexp": (torch.logaddexp, 4),
    "logaddexp2": (torch.logaddexp2, 4),
    "logsumexp": (lambda x, y: torch.logsumexp(torch.stack([x, y]), 0), 8),
    "logcumsumexp": (lambda x, y: torch.logcumsumexp(torch.stack([x, y]), 0), 8),
    "hypot": (torch.hypot, 4),
    "atan2": (torch.atan2, 4),
    "logical": (lambda x, y: (torch.logical_and(x, y), torch.logical_not(x), x.bool()), 0),
}


@pytest.mark.parametrize("dtype", [f32, f64, bf16], ids=str)
@pytest.mark.parametrize("name", BINARY)
def test_pairs_of_edge_values(name: str, dtype: torch.dtype) -> None:
    fn, ulps = BINARY[name]
    check(fn, *pairs(dtype), ulps=ulps, zeros=name != "extrema", near=name.startswith("log"))


@pytest.mark.parametrize("dtype", [f32, f64], ids=str)
def test_fmod_of_edge_values(dtype: torch.dtype) -> None:
    """numpy's is exact; torch's CPU kernel gives NaN where the quotient overflows, its CUDA kernel does not."""
    x, y = pairs(dtype)
    with np.errstate(invalid="ignore"):
        expected = torch.from_numpy(np.fmod(x.numpy(), y.numpy()))
    assert_close(_ours(torch.fmod, (x, y))[0], expected, 0)


@pytest.mark.parametrize("dtype", [f32, f64], ids=str)
def test_remainder_of_edge_values(dtype: torch.dtype) -> None:
    """As torch's CUDA kernel has it (BinaryRemainderKernel.cu): exact, then the divisor once where signs differ."""
    x, y = pairs(dtype)
    with np.errstate(invalid="ignore"):
        mod = torch.from_numpy(np.fmod(x.numpy(), y.numpy()))
    expected = torch.where((mod != 0) & ((y < 0) != (mod < 0)), mod + y, mod)
    assert_close(_ours(torch.remainder, (x, y))[0], expected, 0)


UNARY: dict[str, tuple[Callable[..., Any], int]] = {
    "rounding": (lambda x: (x.floor(), x.ceil(), x.trunc(), x.round()), 0),
    "signs": (lambda x: (x.neg(), x.abs(), x.sign(), x.signbit(), x.sgn(), torch.copysign(x, -1.0)), 0),
    "tests": (lambda x: (x.isnan(), x.isinf(), x.isfinite(), x.isposinf(), x.isneginf()), 0),
    "relu": (lambda x: (F.relu(x), F.relu6(x), F.hardtanh(x), F.threshold(x, 0.1, 20.0)), 0),
    "leaky_relu": (F.leaky_relu, 0),
    "nan_to_num": (lambda x: (torch.nan_to_num(x), torch.nan_to_num(x, 1.0, 2.0, 3.0)), 0),
    "clamp": (lambda x: (x.clamp(-1, 2), x.clamp(min=0.5), x.clamp(max=-0.5)), 0),
    "shrink": (lambda x: (F.hardshrink(x), F.softshrink(x, 0.3)), 1),
    "reciprocal": (torch.reciprocal, 0),
    "extrema": (lambda x: (x.amax(), x.amin(), x.argmax(), x.argmin(), *x.max(0), *x.min(0)), 0),
    "cummax": (lambda x: (*x.cummax(0), *x.cummin(0)), 0),
    "sort": (lambda x: x.sort(stable=True), 0),
    "median": (lambda x: x.median(), 0),
    "searchsorted": (lambda x: _boundaries(x, False), 0),
    "searchsorted_right": (lambda x: _boundaries(x, True), 0),
    "sigmoid": (torch.sigmoid, 4),
    "silu": (F.silu, 4),
    "softplus": (F.softplus, 4),
    "elu": (lambda x: (F.elu(x, 0.7), F.celu(x, 0.7), F.selu(x)), 8),
    "hardswish": (lambda x: (F.hardswish(x), F.hardsigmoid(x)), 2),
    "logsigmoid": (F.logsigmoid, 4),
    "logit": (lambda x: (x.logit(), x.logit(-1.0), x.logit(0.1)), 8),
    "angle": (torch.angle, 0),
    "mish": (F.mish, 8),
    "softmax": (lambda x: x[5:11].softmax(0), 8),
    "log_softmax": (lambda x: x[5:11].log_softmax(0), 8),
    "softmax_inf": (lambda x: (x[4:11].softmax(0), x[3:11].softmax(0), x[4:11].log_softmax(0)), 8),
    "xlogy": (lambda x: torch.xlogy(x, x), 4),
    "exp": (lambda x: (x.exp(), x.expm1(), x.exp2()), 4),
    "log": (lambda x: (x.log(), x.log2(), x.log10(), x.log1p()), 4),
}


def _boundaries(x: torch.Tensor, right: bool) -> torch.Tensor:
    return torch.bucketize(x, torch.tensor([-inf, -1.0, 0.0, 0.5, 3.5, inf], device=x.device).to(x.dtype), right=right)


@pytest.mark.parametrize("dtype", [f32, f64, bf16], ids=str)
@pytest.mark.parametrize("name", UNARY)
def test_edge_values(name: str, dtype: torch.dtype) -> None:
    fn, ulps = UNARY[name]
    check(fn, edges(dtype), ulps=ulps, zeros=name not in ("relu", "shrink"))


def test_hypot_neither_overflows_nor_vanishes() -> None:
    """math.hypot rounds once."""
    for dtype, ulps in ((f32, 1), (f64, 4)):
        big = torch.tensor([1e20, 3e38 / 2, 1e-30, 1e-44, 3.0]).to(dtype) if dtype is f32 else torch.tensor(
            [1e200, 1.2e308, 1e-200, 5e-324, 3.0], dtype=f64
        )  # fmt: skip
        other = big.flip(0)
        expected = [math.hypot(a, b) for a, b in zip(big.tolist(), other.tolist(), strict=True)]
        assert_close(_ours(torch.hypot, (big, other))[0], torch.tensor(expected, dtype=f64).to(dtype), ulps)


def test_logcumsumexp_goes_on_after_minus_infinity() -> None:
    x = torch.tensor([-inf, -inf, 1.0, 2.0, inf, inf, -inf])
    check(lambda x: torch.logcumsumexp(x, 0), x, ulps=4)


DIVISORS: dict[str, Callable[[torch.Tensor], Any]] = {
    "a tensor": lambda y: y,
    "a number": lambda y: 0.3,
    "a wide scalar": lambda y: y.float()[1],
    "one element": lambda y: y[1:2],
}


@pytest.mark.parametrize("dtype", [f32, f16, bf16], ids=str)
@pytest.mark.parametrize("divisor", DIVISORS)
@pytest.mark.parametrize("mode", ["trunc", "floor"])
def test_quotients_in_whole_numbers(mode: str, divisor: str, dtype: torch.dtype) -> None:
    """Two narrow tensors' quotient is rounded to their dtype before it is cut: -53.99 becomes -54."""
    x, y = rand(4001, dtype=dtype) * 25, rand(4001, dtype=dtype, seed=3)
    check(lambda x, y: torch.div(x, DIVISORS[divisor](y), rounding_mode=mode), x, y)


ROWS, COLUMNS = (lambda y: [y[:, :, 0] > 0]), (lambda y: [None, y[0, :, 0] > 0])
MASKED: dict[str, tuple[Callable[[torch.Tensor], Any], tuple[int, ...]]] = {
    "a row for all": (ROWS, (7,)),
    "one row for all": (ROWS, (1, 7)),
    "one number for all": (ROWS, (1, 1)),
    "a number each": (ROWS, (-1, 1)),
    "a row each": (ROWS, (-1, 7)),
    "a row for all columns": (COLUMNS, (7,)),
    "a row for each column": (COLUMNS, (-1, 7)),
    "a number for each plane": (COLUMNS, (5, 1, 1)),
    "a row for each column and plane": (COLUMNS, (5, -1, 7)),
}


@pytest.mark.parametrize("accumulate", [False, True])
@pytest.mark.parametrize("name", MASKED)
def test_values_broadcast_over_a_mask(name: str, accumulate: bool) -> None:
    mask, shape = MASKED[name]
    x = rand(5, 6, 7)
    shape = tuple(int(mask(x)[-1].sum()) if n == -1 else n for n in shape)
    values = torch.arange(math.prod(shape), dtype=f32).reshape(shape)
    check(lambda x: torch.ops.aten.index_put(x, mask(x), values, accumulate), x)


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_labels_end_at_the_first_negative_one(reduction: str) -> None:
    """torch's own decomposition counts the labels behind it too."""
    x, target = rand(4, 5), torch.tensor([[1, 0, -1, 2, 3], [4, -1, 4, 4, 4], [-1, 0, 0, 0, 0], [3, 2, 1, 0, 4]])
    fn = lambda x, t: F.multilabel_margin_loss(x, t, reduction=reduction)  # noqa: E731
    check(fn, x, target, ulps=8)
    check(fn, x[0], target[0], ulps=8)


# -- roundings of fused kernels ---------------------------------------------------------------------------------------

_N = 992  # whole vectors: the CPU's scalar tail is compiled otherwise for some ops
FUSED: dict[str, Callable[..., Any]] = {
    "addcmul": torch.addcmul,
    "addcmul_value": lambda a, b, c: torch.addcmul(a, b, c, value=0.3),
    "addcdiv": torch.addcdiv,
    "addcdiv_value": lambda a, b, c: torch.addcdiv(a, b, c, value=0.3),
    "lerp": torch.lerp,
    "lerp_near": lambda a, b, c: torch.lerp(a, b, 0.3),
    "lerp_far": lambda a, b, c: torch.lerp(a, b, 0.7),
    "add_alpha": lambda a, b, c: torch.add(a, b, alpha=0.3),
    "sub_alpha": lambda a, b, c: torch.sub(a, b, alpha=0.3),
    "rsub_alpha": lambda a, b, c: torch.rsub(a, b, alpha=0.3),
    "add_scalar": lambda a, b, c: (a + 0.1, a - 0.1, 0.1 - a, a.add_(0.1)),
    "mul_scalar": lambda a, b, c: (a * 0.1, a / 0.3),
}


@pytest.mark.parametrize("dtype", [f32, f64, bf16, f16], ids=str)
@pytest.mark.parametrize("name", FUSED)
def test_fused_kernels_round_as_torch(name: str, dtype: torch.dtype) -> None:
    inputs = [rand(_N, dtype=dtype, seed=n) for n in range(3)]
    expected = flat(FUSED[name](*(t.clone() for t in inputs)))
    for ours, theirs in zip(_ours(FUSED[name], tuple(inputs)), expected, strict=False):
        assert_close(ours, theirs, 0)


def test_a_tensor_without_dimensions_as_operand() -> None:
    """As second factor or divisor it is not rounded to the other's dtype first; elsewhere it is."""
    x, y = rand(96, dtype=bf16), torch.tensor(0.1)
    check(lambda x, y: (x * y, y * x, x / y, y / x, x + y, y - x, torch.maximum(x, y), torch.fmod(x, y)), x, y)


def test_sums_of_truth_values() -> None:
    x, y = rand(3, 5, dtype=torch.bool), rand(3, 5, dtype=torch.bool, seed=1)
    check(lambda x, y: (torch.add(x, y, alpha=False), torch.add(x, y, alpha=True), x + y, x * y), x, y)


def test_floor_division_keeps_the_sign_of_zero() -> None:
    x = torch.tensor([5.0, -5.0, inf, -inf, nan, 0.0, -0.0, 1.0, 1e30, 3.0, 0.0])
    y = torch.tensor([inf, inf, 2.0, 2.0, 1.0, -3.0, 3.0, 0.0, 1e-3, -inf, 2.0])
    check(lambda x, y: (x // y, torch.div(x, y, rounding_mode="floor"), torch.div(x, y, rounding_mode="trunc")), x, y)


# -- conversions ------------------------------------------------------------------------------------------------------

NARROW = ["float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz"]
_EVERY = torch.arange(-(2**15), 2**15, dtype=torch.int32).to(torch.int16)
_BORDER = [448.0, 464.0, math.nextafter(464, 500), 480.0, 57344.0, 61440.0, 240.0, 248.0, 2.0**-10, 3.4e38, 1e-45, inf]


@pytest.mark.parametrize("source", [f16, bf16, f32, f64], ids=str)
@pytest.mark.parametrize("name", NARROW)
def test_conversions_to_eight_bits(name: str, source: torch.dtype) -> None:
    """Every f16 and bf16; for the wider ones every bf16 and both sides of each border."""
    x = _EVERY.view(source) if source in (f16, bf16) else torch.cat(
        [_EVERY.view(bf16).to(source), *(s * torch.tensor(_BORDER, dtype=f64).to(source) for s in (1, -1))]
    )  # fmt: skip
    check(lambda t: t.to(getattr(torch, name)).to(f32), x)


def test_a_dtype_of_exponents_alone_is_refused() -> None:
    with torch_session() as session, pytest.raises(Unsupported, match="float8_e8m0fnu"):
        lowered(session, lambda t: t.to(torch.float8_e8m0fnu), (rand(3, 5),))


# -- scatter, top-k, unique, pooling ----------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [torch.int64, torch.int8, torch.uint8, f32, bf16], ids=str)
@pytest.mark.parametrize("include", [True, False])
@pytest.mark.parametrize("reduce", ["sum", "prod", "amax", "amin"])
def test_scatter_reduce(reduce: str, include: bool, dtype: torch.dtype) -> None:
    source = torch.tensor([-3, -5, 7, 2]).to(dtype)
    at = torch.tensor([0, 0, 2, 4])
    ulps = 1 if dtype is bf16 and reduce == "prod" else 0  # torch's CPU rounds the products once
    check(
        lambda x, s: x.scatter_reduce(0, at, s, reduce, include_self=include), rand(5, dtype=dtype), source, ulps=ulps
    )


def test_scatter_reduce_of_infinities() -> None:
    at, source = torch.tensor([0, 0, 2]), torch.tensor([inf, -inf, nan])
    for reduce in ("amax", "amin"):
        check(lambda x, s, r=reduce: x.scatter_reduce(0, at, s, r, include_self=False), rand(5), source)


@pytest.mark.parametrize("dtype", [f32, bf16, torch.int32], ids=str)
def test_max_pool_picks_the_first_and_the_last_nan(dtype: torch.dtype) -> None:
    x = torch.tensor([[1.0, nan, 2, nan, 3, 3, -inf, -inf, 2, 2, 1, 5]] * 2) if dtype.is_floating_point else rand(2, 12)
    for size, padding in (((1, 4), 0), ((2, 3), (1, 1)), ((1, 2), (0, 1))):
        check(
            lambda t, s=size, p=padding: F.max_pool2d(t, s, padding=p, return_indices=True), x.to(dtype)[None, None]
        )  # fmt: skip


def test_max_pool_of_nothing_but_minus_infinity() -> None:
    x = torch.full((1, 1, 3, 4), -inf)
    check(lambda t: F.max_pool2d(t, 3, 2, 1, return_indices=True), x)


def test_unique_and_consecutive() -> None:
    x = torch.tensor([3, 1, 1, 2, 3, 3])
    check(lambda t: torch.unique(t, return_inverse=True, return_counts=True), x)
    check(lambda t: torch.unique_consecutive(t, return_inverse=True, return_counts=True), x)
    check(lambda t: torch.unique_consecutive(t, return_counts=True), x)


def test_adaptive_max_pool_with_even_and_uneven_windows() -> None:
    x = rand(2, 3, 6, 7)
    x[0, 0, 2, 3] = x[0, 1, 0, 0] = nan
    for size in ((3, 7), (4, 5), 1):
        check(lambda t, s=size: F.adaptive_max_pool2d(t, s, return_indices=True), x)
    check(lambda t: F.adaptive_max_pool1d(t, 4, return_indices=True), x[0])


def test_addr_of_integers_is_exact() -> None:
    whole = [torch.tensor([2**40 + 1, 3]), torch.tensor([3, 5, 7])]
    check(lambda c, x, y: c.clone().addr_(x, y), rand(2, 3, dtype=torch.int64), *whole)


@pytest.mark.parametrize("gelu", [False, True])
@pytest.mark.parametrize("dtype", [f32, bf16], ids=str)
def test_addmm_activation(gelu: bool, dtype: torch.dtype) -> None:
    inputs = [rand(*shape, dtype=dtype) for shape in ((4,), (3, 5), (5, 4))]
    fn = lambda b, x, w: torch.ops.aten._addmm_activation(b, x, w, beta=0.5, alpha=2, use_gelu=gelu)  # noqa: E731
    ours, theirs = _ours(fn, tuple(inputs))[0], fn(*inputs)
    tolerance = 1e-5 if dtype is f32 else 2e-2
    torch.testing.assert_close(ours, theirs, rtol=tolerance, atol=tolerance)
    assert gelu or (theirs == 0).any()


@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
def test_grid_sample(mode: str) -> None:
    image, grid = rand(1, 2, 5, 7), rand(1, 3, 4, 2) / 2
    fn = lambda x, g: F.grid_sample(x, g, mode=mode, align_corners=False)  # noqa: E731
    torch.testing.assert_close(_ours(fn, (image, grid))[0], fn(image, grid), rtol=1e-4, atol=1e-5)
