"""RMSNorm of Llama: the normalised row is rounded to bf16 before the weight is applied."""

import torch


def rms_norm(x: torch.Tensor, w: torch.Tensor, eps: float = 1e-6) -> torch.Tensor:
    h = x.float()
    h = h * torch.rsqrt((h * h).sum(dim=-1, keepdim=True) / x.shape[-1] + eps)
    return w * h.to(x.dtype)
