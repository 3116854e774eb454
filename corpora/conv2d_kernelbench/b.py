"""Direct convolution in Triton, the KernelBench answer."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def conv2d_kernel(
    x_ptr, w_ptr, bias_ptr, y_ptr, OC, H, W,
    IC: tl.constexpr, KH: tl.constexpr, KW: tl.constexpr, PAD: tl.constexpr, BLOCK: tl.constexpr,
):
    image = tl.program_id(0)
    oc = tl.program_id(1)
    pixel = tl.program_id(2) * BLOCK + tl.arange(0, BLOCK)
    row = pixel // W
    col = pixel % W
    acc = tl.zeros((BLOCK,), dtype=tl.float32)
    for ic in range(IC):
        for i in range(KH):
            for j in range(KW):
                r = row + i - PAD
                c = col + j - PAD
                inside = (r >= 0) & (r < H) & (c >= 0) & (c < W)
                x = tl.load(x_ptr + ((image * IC + ic) * H + r) * W + c, mask=inside, other=0.0)
                w = tl.load(w_ptr + ((oc * IC + ic) * KH + i) * KW + j)
                acc += x * w
    acc += tl.load(bias_ptr + oc)
    tl.store(y_ptr + (image * OC + oc) * H * W + pixel, acc, mask=pixel < H * W)


class ModelNew(nn.Module):
    def __init__(self, in_channels: int, out_channels: int, kernel_size: int):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, kernel_size, padding=1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        N, IC, H, W = x.shape
        OC, _, KH, KW = self.conv.weight.shape
        y = torch.empty((N, OC, H, W), device=x.device, dtype=x.dtype)
        grid = (N, OC, triton.cdiv(H * W, 64))
        conv2d_kernel[grid](
            x.contiguous(), self.conv.weight, self.conv.bias, y, OC, H, W,
            IC=IC, KH=KH, KW=KW, PAD=1, BLOCK=64,
        )
        return y
