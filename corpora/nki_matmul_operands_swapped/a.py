"""Gram-like product of two square matrices, f32."""

import torch


def matmul(lhs_t: torch.Tensor, rhs: torch.Tensor) -> torch.Tensor:
    return lhs_t.T @ rhs
