"""Batch norm in training: the normalised batch and the new running variance."""

import torch


def batch_norm(x, running_var, momentum: float = 0.1, eps: float = 1e-5):
    mean = x.mean(dim=0)
    y = (x - mean) * torch.rsqrt(x.var(dim=0, unbiased=False) + eps)
    return y, (1 - momentum) * running_var + momentum * x.var(dim=0, unbiased=True)


def get_inputs():
    return [torch.randn(21, 37), torch.rand(37) + 0.5]
