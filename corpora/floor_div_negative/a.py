"""Bucket of each relative position: floor division."""

import torch


def bucket(position: torch.Tensor) -> torch.Tensor:
    return position // 8
