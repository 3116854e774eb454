"""Residual addition and RMSNorm; gives the normalised rows and the new residual."""

import torch


def add_rms_norm(x, residual, w, eps: float = 1e-6):
    h = x + residual
    return h * torch.rsqrt(h.square().mean(dim=-1, keepdim=True) + eps) * w, h


def get_inputs():
    return [torch.randn(5, 67), torch.randn(5, 67), torch.randn(67)]
