"""Product of a transposed left side and a right side, f32 inside."""

import torch


def matmul(lhs_t: torch.Tensor, rhs: torch.Tensor) -> torch.Tensor:
    return (lhs_t.float().T @ rhs.float()).to(lhs_t.dtype)
