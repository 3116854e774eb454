"""ATen operations that torch has no decomposition for, or a wrong one, taken apart here.

Takes and gives tensors through torch's own public functions, which are captured in turn.  Must not know about traces.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

_SUM, _MEAN, _MAX = 0, 1, 2
_NO_REDUCTION = 0  # of a loss, whose mean is _MEAN too


def embedding_bag(
    weight: Tensor,
    indices: Tensor,
    offsets: Tensor,
    scale_grad_by_freq: bool = False,
    mode: int = _SUM,
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int = -1,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """(bags, the bag of every index, indices a bag counts, where maxima are: not worked out, only gradients ask)."""
    starts = offsets[:-1] if include_last_offset else offsets
    positions = torch.arange(indices.numel(), device=indices.device, dtype=starts.dtype)
    bag = torch.searchsorted(starts, positions, right=True) - 1
    counted = indices != padding_idx
    sizes = torch.zeros_like(starts).index_add(0, bag, counted.to(starts.dtype))
    rows = torch.index_select(weight, 0, indices)
    if per_sample_weights is not None:
        rows = rows * per_sample_weights[:, None]
    shape = (starts.numel(), weight.shape[1])
    if mode == _MAX:
        lowest = weight.new_full((), float("-inf"))
        target = bag[:, None].expand_as(rows)
        largest = lowest.expand(shape).scatter_reduce(0, target, torch.where(counted[:, None], rows, lowest), "amax")
        return torch.where(sizes[:, None] == 0, weight.new_zeros(()), largest), bag, sizes, sizes
    total = weight.new_zeros(shape).index_add(0, bag, torch.where(counted[:, None], rows, weight.new_zeros(())))
    if mode == _MEAN:
        total = total / sizes.clamp(min=1)[:, None].to(weight.dtype)
    return total, bag, sizes, sizes


def multilabel_margin_loss(x: Tensor, target: Tensor, reduction: int) -> tuple[Tensor, Tensor]:
    """(loss, which classes are labels).  A row's labels end at its first -1; torch's own goes on behind it."""
    labels = torch.atleast_2d(target)
    rows, classes = torch.atleast_2d(x), labels.shape[1]
    counted = (labels < 0).to(torch.int64).cumsum(1) == 0
    at = labels.clamp(min=0)
    hits = torch.zeros_like(labels).scatter_add(1, at, counted.to(labels.dtype))
    margins = (1 - rows.gather(1, at)[:, :, None] + rows[:, None, :]).clamp(min=0)
    meant = counted[:, :, None] & (hits == 0)[:, None, :]
    loss = torch.where(meant, margins, torch.zeros_like(margins)).sum((1, 2)) / classes
    is_target = (hits > 0).to(x.dtype).reshape(target.shape)
    if reduction == _NO_REDUCTION:
        return loss.reshape(target.shape[:-1]), is_target
    return (loss.mean() if reduction == _MEAN else loss.sum()), is_target


def logit(x: Tensor, eps: float | None = None) -> Tensor:
    """log(x / (1 - x)); torch's decomposition clamps where its kernels do not (no eps, or one below 0)."""
    if eps is not None and eps >= 0:
        x = torch.clamp(x, eps, 1 - eps)
    return torch.log(x / (1 - x))


def angle(x: Tensor) -> Tensor:
    """pi below zero, else 0; NaN for NaN.  (Of real numbers.)"""
    x = x if x.is_floating_point() else x.to(torch.get_default_dtype())
    below = torch.where(x < 0, x.new_full((), math.pi), x.new_zeros(()))
    return torch.where(torch.isnan(x), x, below)


def table() -> dict[Any, Any]:
    """Decompositions by overload."""
    aten = torch.ops.aten
    bags = dict.fromkeys((aten._embedding_bag.default, aten._embedding_bag_forward_only.default), embedding_bag)
    own = {
        aten.multilabel_margin_loss_forward.default: multilabel_margin_loss,
        aten.logit.default: logit,
        aten.angle.default: angle,
    }
    return {**bags, **own}
