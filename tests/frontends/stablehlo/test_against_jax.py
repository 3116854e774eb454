"""jnp functions lowered to KIR and evaluated, against jax's own execution on the CPU."""

from __future__ import annotations

from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from lowering.ir.parser import parse_program
from lowering.ir.printer import print_program
from lowering.ir.program import Program
from tests.frontends.stablehlo.support import assert_same, evaluate, integers, lower, normal

A, B, V = normal(3, 5, 7), normal(7, 4), normal(11)

CASES: dict[str, tuple[Any, ...]] = {
    "sort": (lambda x: jnp.sort(x, axis=1), A),
    "argsort": (lambda x: jnp.argsort(x), A),
    "argsort_desc": (lambda x: jnp.argsort(x, descending=True), A),
    "sort_desc": (lambda x: jnp.sort(x, descending=True), A),
    "lexsort": (lambda x, y: jnp.lexsort((x, y)), V, V),
    "median": (jnp.median, V),
    "quantile": (lambda x: jnp.quantile(x, 0.3), V),
    "percentile": (lambda x: jnp.percentile(x, 30), V),
    "argmax": (lambda x: jnp.argmax(x, axis=1), A),
    "argmin_flat": (jnp.argmin, A),
    "iargmax": (lambda x: jnp.argmax(x, 0), integers(4, 5)),
    "nanmax": (jnp.nanmax, A),
    "nanargmax": (lambda x: jnp.nanargmax(x, 1), A),
    "cumsum": (lambda x: jnp.cumsum(x, axis=1), A),
    "cumprod": (jnp.cumprod, V),
    "cummax": (lambda x: lax.cummax(x, axis=0, reverse=True), A),
    "assoc": (lambda x: lax.associative_scan(jnp.add, x), V),
    "top_k": (lambda x: lax.top_k(x, 3), A),
    "take": (lambda x, j: jnp.take(x, j, axis=1), A, integers(2, 3)),
    "take_clip": (lambda x, j: jnp.take(x, j, axis=1, mode="clip"), A, integers(2, 3)),
    "index": (lambda x, j: x[j], A, integers(2, 3)),
    "index2": (lambda x, j: x[:, j, j], A, integers(2, 3)),
    "take_along": (lambda x, j: jnp.take_along_axis(x, j, axis=1), A, integers(3, 2, 7)),
    "at_set": (lambda x, j: x.at[j].set(1.0), V, integers(4, high=11)),
    "at_add": (lambda x, j: x.at[:, j].add(2.0), A, integers(4)),
    "at_max": (lambda x, j: x.at[j, j].max(0.0), A, integers(2)),
    "at_mul": (lambda x, j: x.at[j].multiply(2.0), A, integers(2)),
    "at_slice": (lambda x: x.at[1:3, 2].set(0.0), A),
    "segment_sum": (lambda x, j: jax.ops.segment_sum(x, j, 4), V, integers(11)),
    "bincount": (lambda j: jnp.bincount(j, length=5), integers(9)),
    "onehot": (lambda j: jax.nn.one_hot(j, 5), integers(4)),
    "einsum": (lambda a, b: jnp.einsum("abc,cd->dab", a, b), A, B),
    "einsum2": (lambda a: jnp.einsum("abc,abd->acd", a, a), A),
    "dot_bf16": (lambda a, b: a @ b, A.astype(jnp.bfloat16), B.astype(jnp.bfloat16)),
    "dot_pref": (
        lambda a, b: lax.dot(a, b, preferred_element_type=jnp.float32),
        B.T.astype(jnp.bfloat16),
        B.astype(jnp.bfloat16),
    ),
    "dot_hi": (lambda a, b: jnp.dot(a, b, precision="highest"), A, B),
    "idot": (
        lambda a: lax.dot_general(a, a, (((1,), (1,)), ((), ())), preferred_element_type=jnp.int32),
        integers(3, 4).astype(np.int8),
    ),
    "dot_bf16x3": (lambda a, b: lax.dot(a, b, precision=lax.DotAlgorithmPreset.BF16_BF16_F32_X3), B.T, B),
    "conv": (
        lambda x, k: lax.conv_general_dilated(
            x, k, (2, 1), "SAME", rhs_dilation=(1, 2), dimension_numbers=("NHWC", "HWIO", "NHWC")
        ),
        normal(2, 6, 7, 3),
        normal(3, 2, 3, 5),
    ),
    "conv_t": (lambda x, k: lax.conv_transpose(x, k, (2, 2), "SAME"), normal(2, 4, 5, 3), normal(3, 3, 3, 2)),
    "conv1d": (lambda x, k: jnp.convolve(x, k), V, normal(3)),
    "dwconv": (
        lambda x, k: lax.conv_general_dilated(x, k, (1,), [(1, 1)], feature_group_count=4),
        normal(2, 4, 9),
        normal(8, 1, 3),
    ),
    "maxpool": (lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 3), (1, 2, 1), "SAME"), A),
    "avgpool": (lambda x: lax.reduce_window(x, 0.0, lax.add, (1, 2, 2), (1, 1, 2), "VALID"), A),
    "gelu": (lambda x: jax.nn.gelu(x), A),
    "gelu_erf": (lambda x: jax.nn.gelu(x, approximate=False), A),
    "silu": (jax.nn.silu, A),
    "softplus": (jax.nn.softplus, A),
    "lse": (jax.nn.logsumexp, A),
    "logsm": (jax.nn.log_softmax, A),
    "sig16": (jax.nn.sigmoid, A.astype(np.float16)),
    "var": (lambda x: jnp.var(x, axis=(0, 2)), A),
    "std": (lambda x: jnp.std(x, ddof=1), A),
    "norm": (jnp.linalg.norm, A),
    "meanb": (lambda x: x.mean(1), A.astype(jnp.bfloat16)),
    "any": (lambda x: jnp.any(x > 0, axis=0), A),
    "all": (lambda x: jnp.all(x > 0), A),
    "prod": (jnp.prod, V),
    "ptp": (jnp.ptp, V),
    "cnz": (jnp.count_nonzero, A),
    "where": (lambda x: jnp.where(x > 0, x, 0), A),
    "clip": (lambda x: jnp.clip(x, -0.5, 0.5), A),
    "sign": (jnp.sign, A),
    "isign": (jnp.sign, integers(5) - 1),
    "floor": (jnp.floor, A),
    "round": (jnp.round, A),
    "rint": (jnp.rint, A),
    "trunc": (jnp.trunc, A),
    "mod": (jnp.mod, A, A[::-1] + 0.1),
    "fmod": (jnp.fmod, A, A[::-1] + 0.1),
    "imod": (jnp.mod, integers(5) - 1, integers(5) + 1),
    "floordiv": (jnp.floor_divide, integers(5) - 1, integers(5) + 1),
    "ffloordiv": (jnp.floor_divide, A, A[::-1] + 0.1),
    "divmod": (jnp.divmod, integers(5), integers(5) + 1),
    "pow": (lambda x: jnp.abs(x) ** 2.5, A),
    "ipow": (lambda x: x**3, A),
    "intpow": (lambda x, y: x**y, integers(5), integers(5)),
    "float_power": (jnp.power, abs(A), A),
    "atan2": (jnp.arctan2, A, A + 1),
    "hyp": (jnp.hypot, A, A),
    "cbrt": (jnp.cbrt, A),
    "log1p": (lambda x: jnp.log1p(abs(x)), A),
    "expm1": (jnp.expm1, A),
    "exp2": (jnp.exp2, A),
    "log2": (lambda x: jnp.log2(abs(x)), A),
    "logaddexp": (jnp.logaddexp, A, A + 1),
    "sinc": (jnp.sinc, A),
    "sincos": (lambda x: jnp.sin(x) + jnp.cos(x) * jnp.tan(x), A),
    "sinh": (lambda x: jnp.sinh(x) + jnp.cosh(x), A),
    "arcs": (lambda x: jnp.arcsin(x / 5) + jnp.arccos(x / 5) + jnp.arctan(x), A),
    "arcsh": (lambda x: jnp.arcsinh(x) + jnp.arccosh(abs(x) + 1) + jnp.arctanh(x / 9), A),
    "erf": (lambda x: lax.erf(x) + lax.erfc(x), A),
    "erfinv": (lambda x: lax.erf_inv(x / 9), A),
    "lgamma": (lambda x: lax.lgamma(abs(x)), A),
    "digamma": (lambda x: lax.digamma(abs(x)), A),
    "i0e": (lambda x: lax.bessel_i0e(x), A),
    "igamma": (lambda x: lax.igamma(abs(x), abs(x)), V),
    "nextafter": (jnp.nextafter, A, A + 1),
    "isnan": (lambda x: jnp.isnan(x) | jnp.isinf(x), A),
    "nan_to_num": (jnp.nan_to_num, A),
    "heaviside": (jnp.heaviside, A, A),
    "ldexp": (lambda x: jnp.ldexp(x, 3), A),
    "frexp": (jnp.frexp, A),
    "copysign": (jnp.copysign, A, A[::-1]),
    "signbit": (jnp.signbit, A),
    "cast": (lambda x: x.astype(jnp.int32), A),
    "cast8": (lambda x: (x * 100).astype(jnp.int8), A),
    "castf8": (lambda x: x.astype(jnp.float8_e4m3fn).astype(jnp.float32), A),
    "castbool": (lambda x: x.astype(bool), A),
    "bitcast": (lambda x: lax.bitcast_convert_type(x, jnp.uint8), A),
    "bitcast_up": (lambda x: lax.bitcast_convert_type(x, jnp.float32), np.arange(24, dtype=np.uint8).reshape(2, 3, 4)),
    "shifts": (lambda x: x << 2 | x >> 1 ^ ~x & lax.shift_right_logical(x, 1), integers(5) - 1),
    "popcnt": (lambda x: lax.population_count(x) + lax.clz(x), integers(5)),
    "pad": (lambda x: jnp.pad(x, ((1, 2), (0, 1), (0, 0))), A),
    "pad_reflect": (lambda x: jnp.pad(x, ((1, 2), (0, 1), (0, 0)), mode="reflect"), A),
    "lax_pad": (lambda x: lax.pad(x, 1.0, [(-1, 2, 1), (0, -1, 0), (1, 1, 2)]), A),
    "roll": (lambda x: jnp.roll(x, 2, axis=1), A),
    "dynroll": (lambda x, s: jnp.roll(x, s, axis=1), A, np.array(2, np.int32)),
    "flip": (jnp.flip, A),
    "rot90": (jnp.rot90, A),
    "tril": (jnp.tril, A),
    "triu": (lambda x: jnp.triu(x, 1), A),
    "concat": (lambda x: jnp.concatenate([x, x + 1], 1), A),
    "stack": (lambda x: jnp.stack([x, x], 1), A),
    "split": (lambda x: jnp.split(x, [2], axis=1), A),
    "tile": (lambda x: jnp.tile(x, (2, 1, 2)), A),
    "repeat": (lambda x: jnp.repeat(x, 2, axis=1), A),
    "repeat_dyn": (lambda x, j: jnp.repeat(x, j, axis=0, total_repeat_length=6), A, integers(3)),
    "meshgrid": (lambda x: jnp.meshgrid(x, x), V),
    "outer": (jnp.outer, V, V),
    "kron": (jnp.kron, B, B),
    "cross": (jnp.cross, normal(4, 3), normal(4, 3)),
    "trace": (jnp.trace, normal(5, 5)),
    "diag": (jnp.diag, normal(5, 5)),
    "diagm": (jnp.diag, V),
    "searchsorted": (lambda a, v: jnp.searchsorted(a, v), np.sort(V), normal(4)),
    "digitize": (lambda a, v: jnp.digitize(v, a), np.sort(V), normal(4)),
    "interp": (lambda a, v: jnp.interp(v, a, a), np.sort(V), normal(4)),
    "unique": (lambda x: jnp.unique(x, size=4), integers(9)),
    "nonzero": (lambda x: jnp.nonzero(x, size=4), integers(9)),
    "histogram": (lambda x: jnp.histogram(x, bins=4)[0], V),
    "fori": (lambda x: lax.fori_loop(0, 5, lambda k, c: c * x + k, x), V),
    "fori_dyn": (lambda x, n: lax.fori_loop(0, n, lambda k, c: c + x, x), V, np.array(3, np.int32)),
    "while": (lambda x: lax.while_loop(lambda c: jnp.sum(c) < 50.0, lambda c: c + 1, x), V),
    "scan": (lambda x: lax.scan(lambda c, y: (c * 0.5 + y, c), 0.0, x), V),
    "scanr": (lambda x: lax.scan(lambda c, y: (c * 0.5 + y, c), 0.0, x, reverse=True), V),
    "cond": (lambda x: lax.cond(x.sum() > 0, lambda y: y + 1, lambda y: y * 2, x), V),
    "switch": (
        lambda x, j: lax.switch(j, [lambda y: y + 1, lambda y: y * 2, lambda y: -y], x),
        V,
        np.array(1, np.int32),
    ),
    "map": (lambda x: lax.map(lambda r: jnp.sin(r).sum(), x), A),
    "normal": (lambda: jax.random.normal(jax.random.PRNGKey(0), (3, 5)),),
    "uniform": (lambda: jax.random.uniform(jax.random.key(1), (3, 5)),),
    "randint": (lambda: jax.random.randint(jax.random.PRNGKey(0), (5,), 0, 10),),
    "perm": (lambda x: jax.random.permutation(jax.random.PRNGKey(0), x), V),
    "dropout": (lambda x: jnp.where(jax.random.bernoulli(jax.random.PRNGKey(0), 0.5, x.shape), x, 0), A),
    "categorical": (lambda x: jax.random.categorical(jax.random.PRNGKey(0), x), A),
    "sdpa": (
        lambda q, k, v: jax.nn.dot_product_attention(q, k, v, is_causal=True),
        normal(2, 6, 3, 4),
        normal(2, 6, 3, 4),
        normal(2, 6, 3, 4),
    ),
    "vmapidx": (lambda x, j: jax.vmap(lambda a, b: a[b])(x, j), A, integers(3, 2)),
    "vmapds": (lambda x, j: jax.vmap(lambda a, b: lax.dynamic_slice(a, (b, 0), (2, 3)))(x, j), A, integers(3)),
    "vmapdus": (
        lambda x, j: jax.vmap(lambda a, b: lax.dynamic_update_slice(a, jnp.ones((2, 3)), (b, 0)))(x, j),
        A,
        integers(3, high=5),
    ),
    "redprec": (lambda x: lax.reduce_precision(x, 5, 10), A),
    "polyval": (jnp.polyval, normal(4), V),
    "select_n": (lambda j, x: lax.select_n(j, x, x + 1, x + 2), integers(5), normal(5)),
    "argpartition": (lambda x: jnp.argpartition(x, 3), V),
    "ragged": (lambda x, w, g: lax.ragged_dot(x, w, g), normal(6, 4), normal(3, 4, 5), np.array([1, 3, 2], np.int32)),
    "lrn": (lambda x: x / jnp.sqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-06), A),
    "layernorm": (lambda x: (x - x.mean(-1, keepdims=True)) * lax.rsqrt(x.var(-1, keepdims=True) + 1e-05), A),
    "rope": (lambda x: jnp.concatenate([-x[..., 3:6], x[..., :3]], -1), A),
    "argmax_red": (lambda x: lax.argmax(x, 2, jnp.int32), A),
    "at_pow": (lambda x, j: x.at[j].power(2.0), V, integers(2)),
    "at_sub": (lambda x, j: x.at[j].subtract(2.0), V, integers(2)),
    "glu": (jax.nn.glu, normal(3, 4)),
    "std_": (lambda x: jax.nn.standardize(x), A),
    "mish": (jax.nn.mish, A),
    "relu6": (jax.nn.relu6, A),
    "celu": (jax.nn.celu, A),
    "elu": (jax.nn.elu, A),
    "swiglu": (lambda x, y: jax.nn.silu(x) * y, A, A),
}


@cache
def program_of(name: str) -> Program:
    fn, *args = CASES[name]
    return lower(fn, *args)


@pytest.mark.parametrize("name", CASES)
def test_a_function_computes_what_jax_computes(name: str) -> None:
    fn, *args = CASES[name]
    wanted = jax.tree_util.tree_leaves(jax.jit(fn)(*args))
    for got, want in zip(evaluate(program_of(name), *args), wanted, strict=True):
        assert_same(got, np.asarray(want))


@pytest.mark.parametrize("name", CASES)
def test_its_text_round_trips(name: str) -> None:
    printed = print_program(program_of(name))
    assert print_program(parse_program(printed)) == printed
