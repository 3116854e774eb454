"""What each pair should compute, in float64, and the inputs that tell a `different` pair apart.

TRUTH maps a pair to a formula over float64 inputs that a.py must meet; WITNESS maps a pair to a function that turns
the declared random inputs into ones where b.py goes wrong (absent: the random inputs do).
"""

import torch
import torch.nn.functional as F


def rms_norm(x, w, eps=1e-6):
    return x / (x.square().mean(-1, keepdim=True) + eps).sqrt() * w


def layer_norm(x, w, b, eps=1e-5):
    return F.layer_norm(x, x.shape[-1:], w, b, eps)


def attention(q, k, v, keep=None):
    s = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5
    if keep is not None:
        s = s.masked_fill(~keep, -torch.inf)
    return torch.softmax(s, -1) @ v


TRUTH = {
    "softmax": lambda x: torch.softmax(x, -1),
    "add_torch": lambda x, y: x + y,
    "rms_norm_torch": rms_norm,
    "matmul_jnp": torch.matmul,
    "layer_norm_padded_variance": layer_norm,
    "layer_norm_torch": layer_norm,
    "gelu_tanh_for_erf": F.gelu,
    "gelu_erf_torch": F.gelu,
    "gelu_tanh_jax": lambda x: F.gelu(x, approximate="tanh"),
    "matmul_splitk_atomic": torch.matmul,
    "flash_attention_torch": attention,
}

WITNESS = {}
