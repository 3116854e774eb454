"""Writes new keys into their cache slots, in place."""

import torch


def write_cache(k: torch.Tensor, slots: torch.Tensor, cache: torch.Tensor) -> None:
    cache[slots] = k
