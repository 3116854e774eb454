"""One operator or layer per case, recorded forward and backward, replayed, and compared with eager PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.capture.replay import Replay

torch.manual_seed(0)
x = torch.randn(4, 6)
i3, i4, i5 = torch.randn(2, 3, 10), torch.randn(2, 3, 8, 8), torch.randn(1, 2, 4, 6, 6)
FORWARD_ONLY = {"bag sum", "bag mean", "bag max", "argmax", "isnan", "int", "bucket"}

BAGS = [x, torch.tensor([0, 3, 1, 1, 2, 0, 3]), torch.tensor([0, 2, 2, 7])]  # the second bag is empty


def bag(mode: str, **options: Any) -> Callable[..., Any]:
    return lambda weight, indices, offsets: F.embedding_bag(indices, weight, offsets, mode=mode, **options)


CASES: dict[str, tuple[Callable[..., Any], list[torch.Tensor]]] = {
    "norm": (lambda x: x.norm(), [x]),
    "normd": (lambda x: torch.linalg.norm(x, dim=1), [x]),
    "normalize": (lambda x: F.normalize(x), [x]),
    "fro": (lambda x: torch.norm(x, p="fro"), [x]),
    "l1norm": (lambda x: x / torch.sum(torch.abs(x), dim=1, keepdim=True), [x]),
    "conv1d": (nn.Conv1d(3, 4, 3), [i3]),
    "conv3d": (nn.Conv3d(2, 3, 3), [i5]),
    "convT3": (nn.ConvTranspose3d(2, 3, 3, stride=2, padding=1, output_padding=1), [i5]),
    "depthwise": (nn.Conv2d(3, 3, 3, groups=3), [i4]),
    "maxpool1d": (nn.MaxPool1d(2), [i3]),
    "maxpool3d": (nn.MaxPool3d(2), [i5]),
    "avgpool1d": (nn.AvgPool1d(2), [i3]),
    "avgpool3d": (nn.AvgPool3d(2), [i5]),
    "avgpool2d": (nn.AvgPool2d(2), [i4]),
    "bn3d": (nn.BatchNorm3d(2), [i5]),
    "selu": (F.selu, [x]),
    "elu": (F.elu, [x]),
    "hardtanh": (F.hardtanh, [x]),
    "hardsigmoid": (F.hardsigmoid, [x]),
    "softsign": (F.softsign, [x]),
    "softplus": (F.softplus, [x]),
    "swish": (lambda x: x * torch.sigmoid(x), [x]),
    "leaky": (F.leaky_relu, [x]),
    "logsoftmax": (lambda x: F.log_softmax(x, 1), [x]),
    "tanh": (torch.tanh, [x]),
    "relu6": (F.relu6, [x]),
    "logsigmoid": (F.logsigmoid, [x]),
    "mse": (F.mse_loss, [x, x + 1]),
    "huber": (F.smooth_l1_loss, [x, x * 2]),
    "cosine": (F.cosine_similarity, [x, x + 1]),
    "triplet": (nn.TripletMarginLoss(), [x, x + 1, x - 1]),
    "hinge": (lambda p, t: torch.mean(torch.clamp(1 - p * t, min=0)), [x, x + 1]),
    "kl": (lambda a, b: F.kl_div(torch.log_softmax(a, -1), torch.softmax(b, -1), reduction="batchmean"), [x, x * 2]),
    "cumsum": (lambda x: torch.cumsum(x, 1), [x]),
    "revcum": (lambda x: torch.cumsum(x.flip(1), 1).flip(1), [x]),
    "cumprod": (lambda x: torch.cumprod(x, 1), [x]),
    "argmax": (lambda x: torch.argmax(x, 1), [x]),
    "max": (lambda x: torch.max(x, 1)[0], [x]),
    "prod": (lambda x: torch.prod(x, 1), [x]),
    "min": (lambda x: torch.min(x, 1)[0], [x]),
    "einsum": (lambda a, b: torch.einsum("bhi,bhj->bij", a, b), [i3.view(2, 3, 10), i3.view(2, 3, 10)]),
    "matmul4": (lambda a, b: a @ b, [i4, i4]),
    "diag": (lambda a, b: torch.diag(a) @ b, [torch.randn(6), torch.randn(6, 3)]),
    "tril": (lambda a: torch.tril(a @ a), [torch.randn(5, 5)]),
    "bmm": (torch.bmm, [i3, i3.transpose(1, 2)]),
    "baddbmm": (lambda a, b, c: torch.baddbmm(a, b, c), [torch.randn(2, 3, 3), i3, i3.transpose(1, 2)]),
    "gru": (nn.GRU(10, 5), [i3]),
    "rnn": (nn.RNN(10, 5), [i3]),
    "tf": (nn.TransformerEncoderLayer(6, 2, 8, dropout=0.0, batch_first=True), [torch.randn(2, 4, 6)]),
    "embbag": (nn.EmbeddingBag(5, 3), [torch.tensor([[1, 2], [3, 4]])]),
    "emb": (nn.Embedding(5, 3), [torch.tensor([1, 2])]),
    "interp": (lambda x: F.interpolate(x, scale_factor=2), [i4]),
    "pixshuf": (nn.PixelShuffle(2), [torch.randn(1, 4, 3, 3)]),
    "unfold": (nn.Unfold(2), [i4]),
    "pad": (lambda x: F.pad(x, (1, 2)), [x]),
    "roll": (lambda x: torch.roll(x, 1, 0), [x]),
    "gather": (lambda x, i: torch.gather(x, 1, i), [x, torch.zeros(4, 2, dtype=torch.int64)]),
    "scatter": (lambda x, i: torch.zeros_like(x).scatter_add_(1, i, x), [x, torch.zeros(4, 6, dtype=torch.int64)]),
    "topk": (lambda x: torch.topk(x, 2)[0], [x]),
    "sort": (lambda x: torch.sort(x, 1)[0], [x]),
    "index": (lambda x, i: x[i], [x, torch.tensor([1, 0])]),
    "indexput": (lambda x, i: x.clone().index_put_((i,), torch.zeros(6, device=x.device)), [x, torch.tensor([1, 0])]),
    "groupnorm": (nn.GroupNorm(3, 3), [i4]),
    "rmsnorm": (nn.RMSNorm(6), [x]),
    "lrn": (nn.LocalResponseNorm(2), [i4]),
    "glu": (F.glu, [x]),
    "gelu_t": (lambda x: F.gelu(x, approximate="tanh"), [x]),
    "std": (lambda x: x.std(1) + x.var(0).sum(), [x]),
    "median": (lambda x: x.median(1)[0], [x]),
    "logcumsumexp": (lambda x: torch.logcumsumexp(x, 1), [x]),
    "logsumexp": (lambda x: torch.logsumexp(x, 1), [x]),
    "outer": (lambda a, b: torch.outer(a, b), [x[0], x[1]]),
    "addcmul": (lambda a, b: torch.addcmul(a, a, b, value=0.5), [x, x]),
    "lerp": (lambda a, b: torch.lerp(a, b, 0.3), [x, x + 1]),
    "where": (lambda a: torch.where(a > 0, a, torch.zeros_like(a)), [x]),
    "clamp": (lambda a: a.clamp(-1, 1), [x]),
    "pow": (lambda a: a.abs() ** 1.5 + 2**a, [x]),
    "atan2": (torch.atan2, [x, x + 1]),
    "fmod": (lambda a: torch.fmod(a, 0.7) + torch.remainder(a, 0.7), [x]),
    "floor_div": (lambda a: (a.detach() // 0.7) + a, [x]),
    "round": (lambda a: a.round() + a.floor() + a.ceil() + a.trunc(), [x]),
    "erf": (lambda a: torch.erf(a) + torch.erfc(a), [x]),
    "repeat": (lambda a: a.repeat(2, 3).repeat_interleave(2, 0), [x]),
    "stackcat": (lambda a: torch.stack([a, a]).flatten(0, 1).chunk(2)[0], [x]),
    "meshgrid": (lambda a: torch.meshgrid(a[0], a[1], indexing="ij")[0], [x]),
    "bce": (lambda a: F.binary_cross_entropy_with_logits(a, torch.sigmoid(a).detach()), [x]),
    "nll": (lambda a: F.nll_loss(F.log_softmax(a, 1), torch.tensor([0, 1, 2, 3], device=a.device)), [x]),
    "ce2": (lambda a: F.cross_entropy(a, torch.softmax(a, 1).detach()), [x]),
    "cdist": (lambda a: torch.cdist(a, a + 1), [x]),
    "isnan": (lambda a: torch.isnan(a) | torch.isinf(a), [x]),
    "bf16": (lambda a: (a.bfloat16() @ a.bfloat16().t()).float(), [x]),
    "int": (lambda a: (a * 10).int() >> 1, [x]),
    "tri": (lambda a: torch.triu(torch.ones(4, 6, device=a.device), 1) * a, [x]),
    "onehot": (lambda a: F.one_hot(a, 5), [torch.tensor([1, 2])]),
    "bucket": (lambda a: torch.bucketize(a, torch.tensor([-1.0, 0, 1.0], device=a.device)), [x]),
    "fft": (lambda a: torch.fft.rfft(a).abs(), [x]),
    "inplacechain": (lambda a: F.relu(a.clone(), inplace=True).add(1).mul_(2).add_(1), [x]),
    "dropout0": (lambda a: F.dropout(a, 0.0), [x]),
    "nanmean": (lambda a: a.nansum(), [x]),
    "avgadapt": (nn.AdaptiveAvgPool2d(1), [i4]),
    "adaptmax": (nn.AdaptiveMaxPool2d(2), [i4]),
    "gridsample": (lambda a, g: F.grid_sample(a, g, align_corners=False), [i4, torch.rand(2, 4, 4, 2) * 2 - 1]),
    "bicubic": (lambda a: F.interpolate(a, scale_factor=2, mode="bicubic"), [i4]),
    "trilinear": (lambda a: F.interpolate(a, scale_factor=2, mode="trilinear"), [i5]),
    "bag sum": (bag("sum", per_sample_weights=torch.arange(7.0)), BAGS),
    "bag mean": (bag("mean", include_last_offset=True), BAGS),
    "bag max": (bag("max", padding_idx=3), BAGS),
    "weightnorm": (torch.nn.utils.parametrizations.weight_norm(nn.Linear(6, 3)), [x]),
}


@pytest.mark.parametrize("name", CASES)
def test_operator(session, name):
    function, inputs = CASES[name]
    backward = name not in FORWARD_ONLY and all(tensor.is_floating_point() for tensor in inputs[:1])
    trace = session.capture(function, inputs, backward=backward)
    replayed = Replay(trace).outputs["out0"]
    expected = function(*inputs)
    expected = expected[0] if isinstance(expected, tuple) else expected
    torch.testing.assert_close(replayed, expected.detach(), rtol=1e-3, atol=1e-4)
