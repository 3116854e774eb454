"""AdamW step."""

import torch


def adamw_step(p, g, m, v, step=3, lr=1e-2, beta1=0.9, beta2=0.999, eps=1e-8, decay=0.1):
    m = beta1 * m + (1 - beta1) * g
    v = beta2 * v + (1 - beta2) * g * g
    denom = torch.sqrt(v) / (1 - beta2**step) ** 0.5 + eps
    return p * (1 - lr * decay) - lr / (1 - beta1**step) * m / denom, m, v


def get_inputs():
    return [torch.randn(5, 67), torch.randn(5, 67), torch.randn(5, 67), torch.rand(5, 67)]
