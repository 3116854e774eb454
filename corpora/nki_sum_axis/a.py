"""Sum over time of a batch of sequences."""

import torch


def sum_over_time(x: torch.Tensor) -> torch.Tensor:
    return x.sum(dim=1)
