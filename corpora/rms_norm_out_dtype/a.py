"""RMSNorm on f16 rows with an f32 weight: the product is promoted to f32."""

import torch


def rms_norm(x: torch.Tensor, w: torch.Tensor, eps: float = 1e-6) -> torch.Tensor:
    h = x.float()
    h = h * torch.rsqrt((h * h).sum(dim=-1, keepdim=True) / x.shape[-1] + eps)
    return h.to(x.dtype) * w
