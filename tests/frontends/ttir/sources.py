"""Triton kernels for the golden tests, one small source per construct.  SOURCES maps its name to how to compile it.

Extents are distinct wherever Triton allows it (it wants powers of two), so that a swapped axis shows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import triton
import triton.language as tl
from triton.language.extra import libdevice


@dataclass(frozen=True)
class Source:
    fn: Any
    signature: dict[str, str]
    constants: dict[str, Any] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)


SOURCES: dict[str, Source] = {}


def source(signature: str, *, arch: int = 80, optimise: bool = True, **constants: Any) -> Callable[[Any], Any]:
    """``signature``: 'x:*fp32 n:i32' for the runtime parameters."""

    def add(fn: Any) -> Any:
        parameters = dict(part.split(":", 1) for part in signature.split())
        how = {"arch": arch, "optimise": optimise}
        SOURCES[fn.__name__] = Source(fn, parameters, constants, how)
        return fn

    return add


@source("x:*fp32 y:*bf16 out:*fp32 n:i32", BLOCK=16)
@triton.jit
def vector_add(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    a = tl.load(x + at, mask=mask, other=1.5)
    b = tl.load(y + at, mask=mask)
    tl.store(out + at, a + b, mask=mask)


@source("x:*fp32 out:*fp32 stride:i32 columns:i32", BLOCK=16)
@triton.jit
def softmax(x, out, stride, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    values = tl.load(x + row * stride + at, mask=at < columns, other=-float("inf"))
    numerator = tl.exp(values - tl.max(values, axis=0))
    tl.store(out + row * stride + at, numerator / tl.sum(numerator, axis=0), mask=at < columns)


@source("a:*fp16 b:*fp16 c:*fp32 K:i32 stride:i64", M=16, N=32, BLOCK=64)
@triton.jit
def matmul(a, b, c, K, stride, M: tl.constexpr, N: tl.constexpr, BLOCK: tl.constexpr):
    rows, columns, ks = tl.arange(0, M), tl.arange(0, N), tl.arange(0, BLOCK)
    acc = tl.zeros((M, N), dtype=tl.float32)
    for k in range(0, K, BLOCK):
        left = tl.load(a + rows[:, None] * stride + (k + ks)[None, :])
        right = tl.load(b + (k + ks)[:, None] * N + columns[None, :])
        acc = tl.dot(left, right, acc)
    tl.store(c + rows[:, None] * N + columns[None, :], acc)


@source("a:*fp32 b:*fp32 c:*fp32 i:*i8 d:*i32 e:*fp8e5 f:*fp16")
@triton.jit
def dot_variants(a, b, c, i, d, e, f):
    m, n, k = tl.arange(0, 16), tl.arange(0, 32), tl.arange(0, 64)
    left, right = m[:, None] * 64 + k[None, :], k[:, None] * 32 + n[None, :]
    out = m[:, None] * 32 + n[None, :]
    x, y = tl.load(a + left), tl.load(b + right)
    tl.store(c + out, tl.dot(x, y, input_precision="ieee") + 1.0)
    tl.store(c + out + 512, tl.dot(x, y, input_precision="tf32x3"))
    tl.store(c + out + 1024, tl.dot(x, y, input_precision="bf16x3"))
    tl.store(d + out, tl.dot(tl.load(i + left), tl.load(i + right)))
    tl.store(f + out, tl.dot(tl.load(e + left), tl.load(e + right), out_dtype=tl.float16))


@source("x:*fp32 out:*fp32")
@triton.jit
def batched_dot(x, out):
    b, m, n, k = tl.arange(0, 2), tl.arange(0, 16), tl.arange(0, 32), tl.arange(0, 64)
    left = tl.load(x + b[:, None, None] * 1024 + m[None, :, None] * 64 + k[None, None, :])
    right = tl.load(x + b[:, None, None] * 2048 + k[None, :, None] * 32 + n[None, None, :])
    tl.store(out + b[:, None, None] * 512 + m[None, :, None] * 32 + n[None, None, :], tl.dot(left, right))


@source("a:*u8 sa:*u8 b:*fp8e4nv sb:*u8 c:*fp32")
@triton.jit
def dot_scaled(a, sa, b, sb, c):
    m, n, k = tl.arange(0, 16), tl.arange(0, 32), tl.arange(0, 64)
    left = tl.load(a + m[:, None] * 32 + tl.arange(0, 32)[None, :])
    right = tl.load(b + k[:, None] * 32 + n[None, :])
    left_scale = tl.load(sa + m[:, None] * 2 + tl.arange(0, 2)[None, :])
    right_scale = tl.load(sb + n[:, None] * 2 + tl.arange(0, 2)[None, :])
    acc = tl.dot_scaled(left, left_scale, "e2m1", right, right_scale, "e4m3")
    tl.store(c + m[:, None] * 32 + n[None, :], acc)


@source("x:*fp32 y:*i32 z:*u32 out:*fp32 iout:*i32 uout:*u32")
@triton.jit
def reductions(x, y, z, out, iout, uout):
    m, n = tl.arange(0, 4), tl.arange(0, 8)
    at = m[:, None] * 8 + n[None, :]
    a, i, u = tl.load(x + at), tl.load(y + at), tl.load(z + at)
    tl.store(out + m, tl.sum(a, axis=1))
    tl.store(out + n + 4, tl.max(a, axis=0))
    tl.store(out + n + 12, tl.min(a, axis=0))
    tl.store(iout + n, tl.xor_sum(i, axis=0))
    tl.store(iout + m + 8, tl.max(i, axis=1))
    tl.store(uout + m, tl.min(u, axis=1))
    tl.store(uout + n + 4, tl.sum(u, axis=0))
    tl.store(iout + 20, tl.sum(i))
    tl.store(iout + m + 24, tl.reduce_or(i, axis=1))


@source("x:*fp32 z:*u32 out:*fp32 iout:*i32 uout:*u32")
@triton.jit
def winners(x, z, out, iout, uout):
    m, n = tl.arange(0, 4), tl.arange(0, 8)
    at = m[:, None] * 8 + n[None, :]
    a, u = tl.load(x + at), tl.load(z + at)
    tl.store(iout + m, tl.argmax(a, axis=1))
    tl.store(iout + n + 4, tl.argmin(a, axis=0, tie_break_left=False))
    best, where = tl.max(a, axis=1, return_indices=True)
    tl.store(out + m, best)
    tl.store(iout + m + 12, where)
    tl.store(iout + m + 16, tl.argmin(u, axis=1))


@triton.jit
def _greater(a, b):
    return tl.maximum(a, b, propagate_nan=tl.PropagateNan.ALL)


@triton.jit
def _welford(mean, m2, weight, other_mean, other_m2, other_weight):
    total = weight + other_weight
    delta = other_mean - mean
    return mean + delta * other_weight / total, m2 + other_m2 + delta * delta, total


@source("x:*fp32 out:*fp32")
@triton.jit
def region_reduce(x, out):
    m, n = tl.arange(0, 4), tl.arange(0, 8)
    a = tl.load(x + m[:, None] * 8 + n[None, :])
    mean, m2, weight = tl.reduce((a, a * 0.0, a * 0.0 + 1.0), 1, _welford)
    tl.store(out + m, mean)
    tl.store(out + m + 4, m2)
    tl.store(out + m + 8, weight)
    tl.store(out + n + 12, tl.reduce(a, 0, _greater))


@triton.jit
def _linear(decay, value, other_decay, other_value):
    return decay * other_decay, other_decay * value + other_value


@source("x:*fp32 out:*fp32")
@triton.jit
def scans(x, out):
    m, n = tl.arange(0, 4), tl.arange(0, 8)
    at = m[:, None] * 8 + n[None, :]
    a = tl.load(x + at)
    tl.store(out + at, tl.cumsum(a, axis=1))
    tl.store(out + at + 32, tl.cumprod(a, axis=0, reverse=True))
    _decay, value = tl.associative_scan((a, a + 1.0), 1, _linear)
    tl.store(out + at + 64, value)


@source("x:*fp32 out:*fp32")
@triton.jit
def shapes(x, out):
    m, n = tl.arange(0, 4), tl.arange(0, 8)
    at = m[:, None] * 8 + n[None, :]
    a = tl.load(x + at)
    b = tl.trans(a)
    both = tl.join(a, a + 1.0)
    low, high = tl.split(both)
    tl.store(out + n[:, None] * 4 + m[None, :], b)
    tl.store(out + at, low * high)
    tl.store(out + tl.arange(0, 32), tl.reshape(a, (32,)))
    tl.store(out + tl.arange(0, 64), tl.cat(tl.reshape(a, (32,)), tl.reshape(b, (32,)), can_reorder=True))
    cube = tl.permute(tl.reshape(a, (4, 2, 4)), (1, 2, 0))
    tl.store(out + tl.arange(0, 2)[:, None, None] * 16 + m[None, :, None] * 4 + m[None, None, :], cube)


@source("x:*fp32 i:*i32 out:*fp32 iout:*i32")
@triton.jit
def gather_histogram(x, i, out, iout):
    m, n = tl.arange(0, 4), tl.arange(0, 8)
    a = tl.load(x + m[:, None] * 8 + n[None, :])
    index = tl.load(i + tl.arange(0, 2)[:, None] * 8 + n[None, :])
    tl.store(out + tl.arange(0, 2)[:, None] * 8 + n[None, :], tl.gather(a, index, 0))
    counted = tl.load(i + tl.arange(0, 16))
    tl.store(iout + n, tl.histogram(counted, 8))
    tl.store(iout + n + 8, tl.histogram(counted, 8, mask=counted != 3))


@source("x:*fp32 out:*fp32")
@triton.jit
def sort(x, out):
    at = tl.arange(0, 4)
    tl.store(out + at, tl.sort(tl.load(x + at), descending=True))


@source("x:*fp32 i:*i32 u:*u32 h:*fp16 old:*fp32")
@triton.jit
def atomics(x, i, u, h, old):
    at = tl.arange(0, 8)
    before = tl.atomic_add(x + at, 1.5, mask=at < 5)
    tl.store(old + at, before)
    tl.atomic_add(h + at, tl.full((8,), 2.0, tl.float16))
    tl.atomic_add(i, 1)
    tl.atomic_max(i + at, at)
    tl.atomic_min(u + at, at.to(tl.uint32))
    tl.atomic_and(i + at, at)
    tl.atomic_or(i + at, at)
    tl.atomic_xor(i + at, at)
    tl.atomic_xchg(x + at, 0.5)
    tl.atomic_cas(i + 3, 0, 7)
    tl.debug_barrier()


@source("x:*fp32 n:i32 out:*fp32")
@triton.jit
def control(x, n, out):
    total = 0.0
    for i in range(1, n, 2):
        total += tl.load(x + i)
    while total > 2.5:
        total *= 0.5
    if n > 7:
        total = total + 3.0
    else:
        total = total * 5.0
    if n == 11:
        tl.store(out + 1, 1.0)
    tl.store(out, total)


@source("x:*fp32 n:i32 out:*fp32")
@triton.jit
def early_returns(x, n, out):
    value = tl.load(x)
    if n < 3:
        return
    if value > 0.5:
        tl.store(out + 1, value)
        if n > 9:
            return
    tl.store(out, value + 1.0)


@triton.jit(noinline=True)
def _absolute_or_seven(value, n):
    if n == 7:
        return 7.0
    return tl.abs(value)


@source("x:*fp32 n:i32 out:*fp32")
@triton.jit
def calls(x, n, out):
    for i in range(n):
        value = tl.load(x + i)
        tl.store(out + i, _absolute_or_seven(value, i))


@source("x:*fp32 out:*fp32 i:*i32", optimise=False)
@triton.jit
def unoptimised(x, out, i):
    at = tl.arange(0, 8)
    a = tl.load(x + at)
    tl.store(out, tl.sum(a, axis=0))
    tl.store(i, tl.argmax(a, axis=0))
    tl.store(i + 1, tl.argmin(a, axis=0, tie_break_left=False))


@source("x:*fp32 y:*fp32 out:*fp32 b:*i1 d:*fp64")
@triton.jit
def floats(x, y, out, b, d):
    at = tl.arange(0, 8)
    a, c = tl.load(x + at), tl.load(y + at)
    tl.store(out + at, -a - c)
    tl.store(out + at + 8, a / c)
    tl.store(out + at + 16, a % c)
    tl.store(out + at + 24, tl.maximum(a, c))
    tl.store(out + at + 32, tl.minimum(a, c, propagate_nan=tl.PropagateNan.ALL))
    tl.store(out + at + 40, tl.clamp(a, -1.0, 2.0))
    tl.store(out + at + 48, tl.fma(a, c, a))
    tl.store(out + at + 56, tl.div_rn(a, c))
    tl.store(out + at + 64, tl.sqrt_rn(a))
    tl.store(out + at + 72, tl.where(a < c, a, 3.0))
    tl.store(b + at, a != c)
    tl.store(b + at + 8, (a == c) | (a <= c) & (a >= 1.0))
    tl.store(d + at, tl.load(d + at) / tl.sqrt(tl.load(d + at)))


@source("x:*i32 y:*i32 u:*u32 out:*i32 uout:*u32 b:*i1 l:*i64 p:*i64")
@triton.jit
def integers(x, y, u, out, uout, b, l, p):
    at = tl.arange(0, 8)
    a, c, v = tl.load(x + at), tl.load(y + at), tl.load(u + at)
    tl.store(out + at, (a + c) * 3 - a // c)
    tl.store(out + at + 8, a % c)
    tl.store(out + at + 16, (a & c) | (a ^ ~c))
    tl.store(out + at + 24, (a << 3) + (a >> 2))
    tl.store(out + at + 32, tl.abs(tl.minimum(a, c)))
    tl.store(uout + at, v // 5 + v % 7)
    tl.store(uout + at + 8, v >> 3)
    tl.store(uout + at + 16, tl.maximum(v, 9))
    tl.store(uout + at + 24, tl.umulhi(v, v))
    tl.store(b + at, (v < 6) & (a < 6))
    tl.store(l + at, a.to(tl.int64) + v.to(tl.int64))
    tl.store(p + at, (x + at).to(tl.int64, bitcast=False))
    tl.store(out + at + 40, (a > 3).to(tl.int32))


@source("x:*fp32 i:*i32 u:*u32 h:*fp16 b:*bf16 e:*fp8e4nv g:*fp8e5 out:*fp32 flags:*i1")
@triton.jit
def casts(x, i, u, h, b, e, g, out, flags):
    at = tl.arange(0, 8)
    a = tl.load(x + at)
    tl.store(h + at, a.to(tl.float16))
    tl.store(b + at, a.to(tl.bfloat16))
    tl.store(h + at + 8, a.to(tl.float16, fp_downcast_rounding="rtz"))
    tl.store(e + at, a.to(tl.float8e4nv))
    tl.store(g + at, a.to(tl.float8e5))
    tl.store(i + at, a.to(tl.int32))
    tl.store(u + at, a.to(tl.uint32))
    tl.store(out + at, tl.load(i + at).to(tl.float32))
    tl.store(out + at + 8, tl.load(u + at).to(tl.float32))
    tl.store(out + at + 16, tl.load(e + at).to(tl.float32))
    tl.store(out + at + 24, tl.load(flags + at).to(tl.float32))
    tl.store(i + at + 8, a.to(tl.int32, bitcast=True))
    tl.store(flags + at + 8, a.to(tl.int1))


@source("x:*fp32 out:*fp32 d:*fp64")
@triton.jit
def elementary(x, out, d):
    at = tl.arange(0, 8)
    a = tl.load(x + at)
    tl.store(out + at, tl.exp(a) + tl.exp2(a) + tl.log(a) + tl.log2(a) + tl.sin(a) + tl.cos(a))
    tl.store(out + at + 8, tl.sqrt(a) + tl.rsqrt(a) + tl.erf(a) + tl.floor(a) + tl.ceil(a) + tl.abs(a))
    tl.store(d + at, tl.exp(tl.load(d + at)))
    tl.store(out + at + 16, tl.sigmoid(a))


@source("x:*fp32 y:*fp32 out:*fp32 b:*i32")
@triton.jit
def libdevice_calls(x, y, out, b):
    at = tl.arange(0, 8)
    a, c = tl.load(x + at), tl.load(y + at)
    tl.store(out + at, libdevice.tanh(a) + libdevice.pow(a, c) + libdevice.rsqrt(a) + libdevice.fmod(a, c))
    tl.store(out + at + 8, libdevice.div_rn(a, c) + libdevice.fma(a, c, a) + libdevice.rint(a))
    tl.store(out + at + 16, libdevice.mul_rn(a, c))
    tl.store(out + at + 24, libdevice.add_rz(a, c))
    tl.store(out + at + 32, libdevice.copysign(a, c))
    tl.store(out + at + 40, libdevice.j0(a))
    tl.store(b + at, libdevice.isnan(a).to(tl.int32) + libdevice.isinf(a).to(tl.int32))
    tl.store(b + at + 8, libdevice.finitef(a).to(tl.int32))


@source("x:*i32 out:*i32")
@triton.jit
def inline_asm(x, out):
    at = tl.arange(0, 8)
    a = tl.load(x + at)
    shifted = tl.inline_asm_elementwise("shf.l.wrap.b32 $0, $1, $1, 7;", "=r,r", [a], tl.int32, True, 1)
    tl.store(out + at, shifted)


@triton.jit
def _three_way(a, b):
    if a < b:
        result = -1.0
    elif a == b:
        result = a * 0.0
    else:
        result = 1.0
    return result


@source("x:*fp32 y:*fp32 out:*fp32")
@triton.jit
def map_elementwise(x, y, out):
    at = tl.arange(0, 8)
    tl.store(out + at, tl.map_elementwise(_three_way, tl.load(x + at), tl.load(y + at)))


@source("x:*fp32 out:*fp32 rows:i32 columns:i32", arch=90)
@triton.jit
def descriptors(x, out, rows, columns):
    source = tl.make_tensor_descriptor(x, shape=[rows, columns], strides=[columns, 1], block_shape=[8, 32])
    target = tl.make_tensor_descriptor(out, shape=[rows, columns], strides=[columns, 1], block_shape=[8, 32])
    acc = source.load([0, 32])
    for i in range(8, rows, 8):
        acc += source.load([i, 32])
    target.store([0, 32], acc)
    target.atomic_add([8, 32], acc)


@source("d:tensordesc<fp16[8,32]> out:*fp16", arch=90)
@triton.jit
def descriptor_parameter(d, out):
    at = tl.arange(0, 8)[:, None] * 32 + tl.arange(0, 32)[None, :]
    tl.store(out + at, d.load([tl.program_id(1) * 8, tl.num_programs(2)]))


@source("x:*fp32 out:*fp32 n:i32")
@triton.jit
def asserts(x, out, n):
    value = tl.load(x)
    tl.device_assert(value > 0.5, "positive")
    tl.device_print("value", value)
    tl.assume(n > 3)
    tl.store(out, value)


@source("seed:i32 out:*fp32")
@triton.jit
def random(seed, out):
    at = tl.arange(0, 8)
    tl.store(out + at, tl.rand(seed, at, n_rounds=2))
