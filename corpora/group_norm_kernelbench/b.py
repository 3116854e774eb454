"""Group norm in Triton, the KernelBench answer: one program a group."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def group_norm_kernel(
    x_ptr, w_ptr, b_ptr, y_ptr, groups, group_channels, pixels, eps, BLOCK: tl.constexpr,
):
    pid = tl.program_id(0)
    count = group_channels * pixels
    offs = tl.arange(0, BLOCK)
    mask = offs < count
    channel = (pid % groups) * group_channels + offs // pixels
    x = tl.load(x_ptr + pid * count + offs, mask=mask, other=0.0)
    mean = tl.sum(x, axis=0) / count
    centred = tl.where(mask, x - mean, 0.0)
    var = tl.sum(centred * centred, axis=0) / count
    w = tl.load(w_ptr + channel, mask=mask, other=0.0)
    b = tl.load(b_ptr + channel, mask=mask, other=0.0)
    y = centred / tl.sqrt(var + eps) * w + b
    tl.store(y_ptr + pid * count + offs, y, mask=mask)


class ModelNew(nn.Module):
    def __init__(self, groups: int, channels: int):
        super().__init__()
        self.norm = nn.GroupNorm(groups, channels)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        y = torch.empty_like(x)
        N, C, H, W = x.shape
        groups = self.norm.num_groups
        count = C // groups * H * W
        group_norm_kernel[(N * groups,)](
            x, self.norm.weight, self.norm.bias, y,
            groups, C // groups, H * W, self.norm.eps, BLOCK=triton.next_power_of_2(count),
        )
        return y
