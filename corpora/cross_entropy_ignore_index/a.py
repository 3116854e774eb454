"""Mean cross entropy; labels of -100 do not count."""

import torch
import torch.nn.functional as F


def cross_entropy(x: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    return F.cross_entropy(x, labels, ignore_index=-100)


def get_inputs():
    return [torch.randn(6, 67), torch.tensor([3, -100, 66, 0, -100, 41])]
