"""Options of ops that a front end might overlook: irverify's evaluation against what torch and jax compute."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from lowering.capture.torch_host import torch_session
from tests.frontends.aten.cases import rand
from tests.frontends.aten.harness import evaluated, flat, lowered

X, Y = rand(5, 6, 7), rand(5, 6, 7, seed=3)
PLACES = torch.tensor([[0, 4], [-2, 3]])
LINES = torch.tensor([[[0, 5, 0, 2, 2, 1, 4]] * 4] * 3)
BOUNDS = torch.tensor([[-3.0, -1, 0, 0, 2], [-5, -5, 0, 1, 9]])
IMAGE = rand(2, 3, 9, 11)


def _masked_rows(x: torch.Tensor) -> torch.Tensor:
    y = x.clone()
    y[y > 0] = y[y > 0] * 2
    y[:, y[0, :, 0] > -0.5] = 3
    y[y[:, :, 0] > 0] += 1
    return y


ATEN: dict[str, tuple[Callable[..., Any], tuple[torch.Tensor, ...]]] = {
    "sums": (lambda x: (x.sum((0, -1)), x.sum(-1, keepdim=True), x.sum(dtype=torch.float64), x.sum(())), (X,)),
    "corrections": (lambda x: (x.var(1, correction=3), *torch.std_mean(x, (0, 2), correction=0)), (X,)),
    "norms": (lambda x: (x.norm(float("-inf"), 1), x.norm(0, 2), torch.linalg.vector_norm(x, 0.5, dim=(0, 1))), (X,)),
    "advanced indices": (lambda x, i: (x[i, :, i], x[:, i, i], x[0, :, i], x[i, None, i]), (X, PLACES)),
    "masks": (_masked_rows, (X,)),
    "scatter without self": (
        lambda x, g: [x.scatter_reduce(1, g, x * 2, r, include_self=False) for r in ("sum", "prod", "amax", "amin")],
        (X, LINES),
    ),
    "scaled scatter": (lambda x, g: (x.scatter(1, g, 0.5, reduce="multiply"), x.scatter_add(1, g, x)), (X, LINES)),
    "index_add alpha": (lambda x: x.index_add(1, torch.tensor([0, 0, 5]), x[:, :3], alpha=-2), (X,)),
    "searchsorted": (
        lambda b, v: (torch.searchsorted(b, v, side="right"), torch.bucketize(v, b[0].contiguous(), right=True)),
        (BOUNDS, torch.tensor([[0.0, -3, 9], [0, -5, 10]])),
    ),
    "order statistics": (lambda x: (*x.kthvalue(3, 0, True), x.median(), *x.median(-1, True)), (X,)),
    "shifts": (
        lambda a, n: (a << n, a >> n),
        (torch.arange(-30, 30, 4), torch.tensor([0, 1, 5, 63, 64, 70, -1, 2, 3, 4, 62, 8, 9, 10, 11])),
    ),
    "divisions": (lambda a, b: (a // b, a % b, torch.fmod(a, b), torch.div(a, b, rounding_mode="trunc")),
                  (torch.arange(-20, 20, 3), torch.tensor([3, -3, 7, -7, 2, 5, -1, 4, 3, -3, 9, 2, -2, 6]))),
    "pools": (
        lambda x: (F.avg_pool2d(x, 3, 2, 1, True, False), F.avg_pool2d(x, 2, 3, 0, True, True, 5),
                   *F.max_pool2d(x, (2, 3), (1, 2), (1, 0), (2, 1), True, True)),
        (IMAGE,),
    ),
    "adaptive pools": (lambda x: (F.adaptive_avg_pool2d(x, (4, 3)), *F.adaptive_max_pool2d(x, (4, 3), True)), (IMAGE,)),
    "transposed convolution": (
        lambda x, w: F.conv_transpose2d(x, w, None, (3, 2), (1, 0), (2, 1)), (rand(2, 4, 5, 6), rand(4, 3, 3, 2)),
    ),
    "margins": (
        lambda x, y: (F.margin_ranking_loss(x, y, x.sign(), 0.3), F.huber_loss(x, y, reduction="sum", delta=0.7)),
        (X, Y),
    ),
    "labels": (
        lambda x: F.cross_entropy(x, torch.tensor([1, 0, 4, 4]), ignore_index=4, label_smoothing=0.1, reduction="sum"),
        (rand(4, 5),),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ATEN)
def test_aten_options(name: str) -> None:
    fn, inputs = ATEN[name]
    with torch_session() as session:
        program = lowered(session, fn, inputs)
    for ours, theirs in zip(evaluated(program, inputs).values(), flat(fn(*inputs)), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=3e-5, atol=3e-5, equal_nan=True)


def _jax_cases() -> dict[str, tuple[Callable[..., Any], tuple[np.ndarray, ...]]]:
    import jax.numpy as jnp
    from jax import lax

    x = np.random.default_rng(0).standard_normal((5, 6, 7)).astype(np.float32)
    starts = np.array([[-3, 9], [0, 2]], np.int32)
    words, by = np.array([-128, -1, 5, 127], np.int8), np.array([0, 3, 8, 15], np.int8)
    return {
        "clamped starts": (
            lambda x, s: [lax.dynamic_slice(x, (a[0], a[1], a[0]), (2, 3, 7)) for a in (s[0], s[1], s[:, 1])],
            (x, starts),
        ),
        "negative padding": (lambda x: lax.pad(x, 7.0, ((1, 2, 0), (-1, 2, 1), (0, -2, 2))), (x,)),
        "windows": (
            lambda x: lax.reduce_window(x, 0.0, lax.add, (2, 3, 1), (1, 2, 2), ((1, 0), (0, 2), (0, 0)),
                                        base_dilation=(2, 1, 1), window_dilation=(1, 2, 1)),
            (x,),
        ),
        "shifts": (lambda a, n: (lax.shift_left(a, n), lax.shift_right_arithmetic(a, n), lax.shift_right_logical(a, n)),
                   (words, by)),
        "filled": (lambda x, s: (jnp.take(x, s, 1, mode="fill"), x.at[s[0]].multiply(2.0, mode="drop")), (x, starts)),
        "several contracted": (
            lambda x: lax.dot_general(x, x.transpose(2, 0, 1), (((2, 1), (0, 2)), ((), ()))), (x,),
        ),
    }  # fmt: skip


@pytest.mark.parametrize(
    "name", ["clamped starts", "negative padding", "windows", "shifts", "filled", "several contracted"]
)
def test_jax_options(name: str) -> None:
    import jax

    from tests.frontends.stablehlo.support import assert_same, evaluate, lower

    fn, arrays = _jax_cases()[name]
    found = evaluate(lower(fn, *arrays), *arrays)
    for ours, theirs in zip(found, jax.tree_util.tree_leaves(fn(*map(jax.numpy.asarray, arrays))), strict=True):
        assert_same(ours, np.asarray(theirs))
