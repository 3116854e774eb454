"""Edge values and rarer forms, against jax's own execution: ties, NaN, clamped and dropped indices, odd dtypes."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
from jax import lax

from tests.frontends.stablehlo.support import assert_same, evaluate, integers, lower, normal

bf = ml_dtypes.bfloat16
SPECIAL = np.array([0.0, -0.0, np.nan, -np.inf, 3, -1, np.inf], np.float32)
#: Indices before, after and inside an axis of four.
ASTRAY = np.array([-9, 9, 2], np.int32)

CASES: dict[str, tuple[Any, ...]] = {
    "conv_neg": (
        lambda x, k: lax.conv_general_dilated(x, k, (1, 1), [(-1, 2), (3, -1)], lhs_dilation=(2, 1)),
        normal(2, 3, 6, 5),
        normal(4, 3, 2, 3),
    ),
    "conv_bg": (
        lambda x, k: lax.conv_general_dilated(x, k, (1,), "VALID", batch_group_count=2),
        normal(4, 3, 6),
        normal(6, 3, 2),
    ),
    "conv_g": (
        lambda x, k: lax.conv_general_dilated(x, k, (1,), "VALID", feature_group_count=2),
        normal(2, 6, 7),
        normal(4, 3, 2),
    ),
    "conv_bf": (
        lambda x, k: lax.conv_general_dilated(x, k, (1,), "VALID"),
        normal(2, 6, 7).astype(bf),
        normal(4, 6, 2).astype(bf),
    ),
    "biggerpool": (lambda x: lax.reduce_window(x, 0.0, lax.add, (1, 9, 9), (1, 2, 2), "SAME"), normal(2, 12, 13)),
    "pooldil": (
        lambda x: lax.reduce_window(
            x, -jnp.inf, lax.max, (1, 2), (1, 1), ((0, 0), (1, 1)), base_dilation=(1, 2), window_dilation=(1, 2)
        ),
        normal(3, 7),
    ),
    "constbf": (lambda x: x + jnp.array([1.5, -np.inf, 2.0], jnp.bfloat16), normal(3).astype(bf)),
    "constf8": (lambda x: x + jnp.array([1.5, 3, 2.0], jnp.float8_e4m3fn).astype(jnp.float32), normal(3)),
    "constarr": (lambda x: x + np.arange(15, dtype=np.float32).reshape(3, 5), normal(3, 5)),
    "empty": (lambda x: (x.sum(0), x[:0].sum(), jnp.concatenate([x[:0], x])), normal(3, 5)),
    "emptyred": (lambda x: x.sum(1), normal(3, 0)),
    "u8": (
        lambda x: (x + jnp.uint8(250), x // jnp.uint8(3), x.astype(jnp.float32), jnp.sort(x), jnp.max(x)),
        np.arange(15, dtype=np.uint8),
    ),
    "i16": (lambda x: (x * x, jnp.sum(x), -x, abs(x)), np.arange(-8, 7, dtype=np.int16)),
    "u32shift": (lambda x: (x >> 3, x << 2, x.astype(jnp.int32) >> 1), np.arange(15, dtype=np.uint32) * 286331153),
    "shifts of unsigned": (
        lambda a, n: (lax.shift_right_arithmetic(a, n), lax.shift_right_logical(a, n)),
        np.array([255, 128, 127, 4, 200, 255], np.uint8),
        np.array([0, 3, 3, 1, 9, 200], np.uint8),
    ),
    "a window's padding is left out": (
        lambda x: (
            lax.reduce_window(x, 1.5, lax.mul, (2, 3), (1, 2), ((1, 0), (0, 2))),
            lax.reduce_window(x, 0.5, lax.max, (2, 3), (1, 1), "SAME"),
            lax.reduce_window(x, 2.0, lax.add, (1, 3), (1, 1), ((0, 0), (2, 0))),
            lax.reduce_window(x, 2.0, lax.add, (1, 3), (1, 1), ((0, 0), (1, 1)), base_dilation=(1, 2)),
        ),
        normal(4, 7) - 1,
    ),
    "a counter that wraps": (
        lambda x: lax.while_loop(
            lambda c: c[0] < np.uint8(250), lambda c: (c[0] + np.uint8(100), c[1] + 1), (np.uint8(1), x)
        ),
        normal(3),
    ),
    "sortmulti": (lambda a, b, c: lax.sort((a, b, c), num_keys=2, dimension=0), integers(9), normal(9), normal(9)),
    "sortneg": (lambda a: jnp.sort(a), SPECIAL),
    "topknan": (lambda a: lax.top_k(a, 4), SPECIAL),
    "argmaxnan": (
        lambda a: (jnp.argmax(a), jnp.argmin(a), jnp.max(a)),
        np.array([0.0, 2, np.nan, -np.inf, 3, -1, np.nan], np.float32),
    ),
    "argtie": (lambda a: (jnp.argmax(a), jnp.argmin(a)), np.array([1, 3, 0, 3, 0], np.float32)),
    "argallinf": (lambda a: (jnp.argmax(a),), np.full(4, -np.inf, np.float32)),
    "sign0": (lambda a: jnp.sign(a), np.array([-0.0, 0, np.nan, -3, 2], np.float32)),
    "round": (
        lambda a: (jnp.round(a), lax.round(a), jnp.floor(a), jnp.ceil(a)),
        np.array([0.5, 1.5, -0.5, -1.5, 2.5], np.float32),
    ),
    "rem": (
        lambda a, b: (lax.rem(a, b), jnp.mod(a, b)),
        np.array([5.0, -5, 5, -5], np.float32),
        np.array([3.0, 3, -3, -3], np.float32),
    ),
    "irem": (
        lambda a, b: (lax.rem(a, b), jnp.mod(a, b), lax.div(a, b), a // b),
        np.array([5, -5, 5, -5], np.int32),
        np.array([3, 3, -3, -3], np.int32),
    ),
    "nextafter": (
        jnp.nextafter,
        np.array([0.0, -0.0, 1, -1, np.inf, 1, 0], np.float32),
        np.array([1.0, -1, 1, 0, 0, np.inf, 0], np.float32),
    ),
    "castedge": (
        lambda a: (
            a.astype(jnp.uint8),
            a.astype(jnp.int32),
            a.astype(jnp.bfloat16),
            a.astype(jnp.float16),
            a.astype(jnp.float8_e5m2),
            a.astype(bool),
        ),
        np.array([-1, 300, 10000000000.0, np.nan, 0.5, -0.0, 65520.0], np.float32),
    ),
    "dsclamp": (lambda x, a: lax.dynamic_slice(x, (a, a), (2, 3)), normal(4, 5), np.array(4, np.int32)),
    "dusclamp": (
        lambda x, a: lax.dynamic_update_slice(x, jnp.ones((2, 3)), (a, a)),
        normal(4, 5),
        np.array(4, np.int32),
    ),
    "gclamp": (lambda x, j: x.at[j].get(mode="clip"), normal(4, 5), ASTRAY),
    "gfill": (lambda x, j: x.at[j].get(mode="fill"), normal(4, 5), ASTRAY),
    "sdrop": (lambda x, j: x.at[j].add(1.0, mode="drop"), normal(4, 5), ASTRAY),
    "swin": (
        lambda x, j: lax.scatter_add(
            x,
            j,
            jnp.ones((3, 2, 5)),
            lax.ScatterDimensionNumbers(
                update_window_dims=(1, 2), inserted_window_dims=(), scatter_dims_to_operand_dims=(0,)
            ),
        ),
        normal(6, 5),
        np.array([[0], [5], [3]], np.int32),
    ),
    "gwin": (
        lambda x, j: lax.gather(
            x,
            j,
            lax.GatherDimensionNumbers(offset_dims=(0, 2), collapsed_slice_dims=(), start_index_map=(1, 0)),
            (2, 3),
        ),
        normal(6, 5),
        np.array([[0, 1], [5, 4], [3, 2]], np.int32),
    ),
    "tri": (lambda x: jnp.where(jnp.tril(jnp.ones((4, 4), bool)), x, -jnp.inf), normal(4, 4)),
    "cummin": (lambda x: (lax.cummin(x, axis=1), lax.cumprod(x, axis=0, reverse=True)), normal(3, 7)),
    "bigcumsum": (lambda x: jnp.cumsum(x), normal(1000)),
    "pow": (lambda x: (x**2, x ** (-1), x**0.5, jnp.power(2.0, x)), abs(normal(7)) + 0.1),
    "f64in": (lambda x: x * 2, np.arange(5, dtype=np.float64)),
    "i64in": (lambda x: x * 2, np.arange(5)),
    "nested": (
        lambda x: lax.fori_loop(0, 3, lambda i, c: lax.fori_loop(i, 4, lambda j, d: d * 0.9 + j, c), x),
        normal(3),
    ),
    "revfor": (lambda x: lax.fori_loop(2, 7, lambda i, c: c + x[i], 0.0), normal(9)),
    "whilecnt": (
        lambda x, n: lax.while_loop(lambda c: (c[0] < n) & (c[1].sum() < 90), lambda c: (c[0] + 1, c[1] + x), (0, x)),
        normal(9),
        np.array(6, np.int32),
    ),
    "custom_vjp": (lambda x: jax.nn.relu(x) + jax.nn.silu(x), normal(5)),
    "remat": (lambda x: jax.checkpoint(lambda y: jnp.sin(y) * y)(x), normal(5)),
    "composite": (lambda x: jax.lax.composite(lambda y: y * 2 + 1, name="my.op")(x), normal(5)),
    "scan_xs": (
        lambda x, w: lax.scan(lambda c, y: (jnp.tanh(c @ w + y), c.sum()), jnp.zeros(4), x),
        normal(6, 4),
        normal(4, 4),
    ),
    "map": (lambda x: lax.map(lambda y: y * 2, x, batch_size=2), normal(5, 3)),
    "reduce_and": (lambda x: lax.reduce(x, np.int32(-1), lax.bitwise_and, (0,)), integers(5, high=100)),
    "reduceprec": (lambda x: lax.reduce_precision(x, 8, 7), normal(5)),
    "cond_multi": (lambda x: lax.cond(x[0] > 0, lambda y: (y, y.sum()), lambda y: (y * 2, y.max()), x), normal(5)),
    "bitu16": (lambda x: lax.bitcast_convert_type(x, jnp.uint16), normal(5).astype(bf)),
    "sparse_ce": (
        lambda x, y: -jnp.take_along_axis(jax.nn.log_softmax(x), y[:, None], 1)[:, 0].mean(),
        normal(5, 7),
        integers(5),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_form_computes_what_jax_computes(name: str) -> None:
    fn, *args = CASES[name]
    wanted = jax.tree_util.tree_leaves(jax.jit(fn)(*args))
    for got, want in zip(evaluate(lower(fn, *args), *args), wanted, strict=True):
        assert_same(got, np.asarray(want))


@pytest.mark.parametrize("bits", [(5, 10), (5, 2), (8, 7)], ids=str)
def test_reduce_precision_to_the_bit(bits: tuple[int, int]) -> None:
    """A shorter exponent has no subnormals: what is below the smallest normal after rounding is a signed zero."""
    fractions = np.array(
        [0, 1, 2**9, 2**11 - 1, 2**11, 2**11 + 1, 2**20, 2**22, 2**23 - 2**11 - 1, 2**23 - 2**11, 2**23 - 1]
    )
    steps = np.concatenate([fractions, 2**23 - 2 ** np.arange(12, 22), 2**23 - 2 ** np.arange(12, 22) - 1])
    exponents = np.array([0, 1, 100, 111, 112, 113, 114, 127, 141, 142, 143, 254, 255])
    x = (exponents[:, None] * 2**23 + steps).astype(np.uint32).view(np.float32).reshape(-1)
    x = np.concatenate([x, -x])[~np.isnan(np.tile(x, 2))]
    fn = lambda x: lax.reduce_precision(x, *bits)  # noqa: E731
    (got,), want = evaluate(lower(fn, x), x), np.asarray(jax.jit(fn)(x))
    assert np.array_equal(got, want) and np.array_equal(np.signbit(got), np.signbit(want))
