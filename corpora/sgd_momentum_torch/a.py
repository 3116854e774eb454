"""SGD with momentum and weight decay, in place."""

import torch


def sgd_step(p, g, buf, lr: float = 0.1, momentum: float = 0.9, weight_decay: float = 0.01) -> None:
    g = g.add(p, alpha=weight_decay)
    buf.mul_(momentum).add_(g)
    p.add_(buf, alpha=-lr)


def get_inputs():
    return [torch.randn(5, 67), torch.randn(5, 67), torch.randn(5, 67)]
