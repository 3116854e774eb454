"""The operators of liger-kernel, each with small inputs and a reference written in plain PyTorch.

Takes nothing; gives CASES.  ``load()`` imports the operator and must be called inside a capture session; operator and
reference take the same keyword arguments.  References are the mathematical definition, not a copy of any library.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F

Inputs = dict[str, Any]
ROWS, HIDDEN, VOCAB = 6, 40, 37
IGNORED = -100


@dataclass(frozen=True)
class LigerCase:
    """``reads_results``: the host reads what a kernel computed, so that capturing it needs an evaluator."""

    name: str
    load: Callable[[], Callable[..., Any]]
    load_reference: Callable[[], Callable[..., Any]]
    inputs: Callable[[], Inputs]
    backward: bool = True
    reads_results: bool = False
    note: str = ""


CASES: list[LigerCase] = []


def liger(module: str, name: str, *tail: Any, method: str | None = "apply") -> Callable[[], Callable[..., Any]]:
    """A loader of ``name.apply`` that appends the non-tensor arguments ``tail`` (in the order of the signature)."""

    def load() -> Callable[..., Any]:
        function = getattr(importlib.import_module(f"liger_kernel.ops.{module}"), name)
        function = getattr(function, method) if method else function
        return lambda **inputs: function(*inputs.values(), *tail)

    return load


def functional(name: str, **options: Any) -> Callable[[], Callable[..., Any]]:
    """A loader of a function of liger_kernel.transformers.functional with options bound."""

    def load() -> Callable[..., Any]:
        function = getattr(importlib.import_module("liger_kernel.transformers.functional"), name)
        return lambda **inputs: function(**inputs, **options)

    return load


def case(name: str, load: Callable[[], Any], inputs: Callable[[], Inputs], **fields: Any) -> Callable[[Any], Any]:
    """Registers the decorated function as the reference of a case."""

    def register(reference: Callable[..., Any]) -> Callable[..., Any]:
        CASES.append(LigerCase(name, load, lambda: reference, inputs, **fields))
        return reference

    return register


def normal(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float32, scale: float = 1.0) -> torch.Tensor:
    return (torch.randn(*shape, generator=torch.Generator().manual_seed(seed)) * scale).to(dtype)


def wanted(tensor: torch.Tensor) -> torch.Tensor:
    """Marks an input whose gradient is compared; where none is marked, all floating inputs are."""
    return tensor.requires_grad_()


def labels(count: int, classes: int, ignored: int = 0) -> torch.Tensor:
    """Class numbers, the first ``ignored`` of them replaced by the ignored index."""
    values = torch.randint(0, classes, (count,), generator=torch.Generator().manual_seed(7))
    values[:ignored] = IGNORED
    return values


def log_probabilities(rows: int, columns: int, seed: int) -> torch.Tensor:
    return torch.log_softmax(normal(rows, columns, seed=seed), -1)


def probabilities(rows: int, columns: int, seed: int) -> torch.Tensor:
    return torch.softmax(normal(rows, columns, seed=seed), -1)


# -- normalisations ----------------------------------------------------------------------------------------------


def rms(x: torch.Tensor, eps: float) -> torch.Tensor:
    return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + eps)


@case(
    "rms_norm", functional("liger_rms_norm", eps=1e-6), lambda: {"X": normal(ROWS, HIDDEN), "W": normal(HIDDEN, seed=1)}
)
def rms_norm(X, W):
    return rms(X, 1e-6) * W


@case(
    "rms_norm bf16 gemma notinplace",
    functional("liger_rms_norm", eps=1e-6, offset=1.0, casting_mode="gemma", in_place=False),
    lambda: {"X": normal(ROWS, HIDDEN, dtype=torch.bfloat16), "W": normal(HIDDEN, seed=1, dtype=torch.bfloat16)},
)
def rms_norm_gemma(X, W):
    return (rms(X.float(), 1e-6) * (1.0 + W.float())).to(X.dtype)


CASES.append(
    LigerCase(
        "rms_norm row_mode",
        liger("rms_norm", "LigerRMSNormFunction", 1e-6, 0.0, "llama", True, True),
        lambda: rms_norm,
        lambda: {"X": normal(ROWS, 33), "W": normal(33, seed=1)},
    )
)
CASES.append(
    LigerCase(
        "rms_norm noncontig",
        functional("liger_rms_norm", eps=1e-6),
        lambda: rms_norm,
        lambda: {"X": normal(HIDDEN, ROWS).t(), "W": normal(HIDDEN, seed=1)},
    )
)


@case(
    "layer_norm",
    functional("liger_layer_norm", eps=1e-5),
    lambda: {"X": normal(ROWS, HIDDEN), "W": normal(HIDDEN, seed=1), "B": normal(HIDDEN, seed=2)},
)
def layer_norm(X, W, B):
    return F.layer_norm(X, (X.shape[-1],), W, B, 1e-5)


@case(
    "group_norm",
    functional("liger_group_norm", num_channels=6, num_groups=3, eps=1e-5),
    lambda: {
        "X": normal(2, 6, 20),
        "affine_scaling_weight": normal(6, seed=1),
        "affine_shifting_bias": normal(6, seed=2),
    },
)
def group_norm(X, affine_scaling_weight, affine_shifting_bias):
    return F.group_norm(X, 3, affine_scaling_weight, affine_shifting_bias, 1e-5)


@case(
    "fused_add_rms_norm",
    functional("liger_fused_add_rms_norm", eps=1e-6),
    lambda: {"X": normal(ROWS, HIDDEN), "R": normal(ROWS, HIDDEN, seed=1), "W": normal(HIDDEN, seed=2)},
)
def fused_add_rms_norm(X, R, W):
    residual = X + R
    return rms(residual, 1e-6) * W, residual


@case(
    "modulated_rms_norm",
    functional("liger_modulated_rms_norm"),
    lambda: {
        "X": normal(2, 3, HIDDEN),
        "W": normal(HIDDEN, seed=1),
        "scale": normal(2, HIDDEN, seed=2),
        "shift": normal(2, HIDDEN, seed=3),
    },
)
def modulated_rms_norm(X, W, scale, shift):
    return rms(X, 1e-6) * W * (1.0 + scale[:, None]) + shift[:, None]


@case(
    "poly_norm",
    functional("liger_poly_norm"),
    lambda: {"X": normal(ROWS, HIDDEN), "W": normal(3, seed=1), "B": torch.tensor(0.3)},
)
def poly_norm(X, W, B):
    return W[0] * rms(X**3, 1e-6) + W[1] * rms(X**2, 1e-6) + W[2] * rms(X, 1e-6) + B


@case(
    "dyt",
    functional("liger_dyt"),
    lambda: {
        "x": normal(ROWS, HIDDEN),
        "alpha": normal(1, seed=1),
        "gamma": normal(HIDDEN, seed=2),
        "beta": normal(HIDDEN, seed=3),
    },
)
def dyt(x, alpha, gamma, beta):
    return torch.tanh(alpha * x) * gamma + beta


# -- activations -------------------------------------------------------------------------------------------------


def pair() -> Inputs:
    return {"a": normal(ROWS, HIDDEN), "b": normal(ROWS, HIDDEN, seed=1)}


@case("swiglu", functional("liger_swiglu"), pair)
def swiglu(a, b):
    return F.silu(a) * b


def _load_fused_gate_up() -> Callable[..., Any]:
    function = importlib.import_module("liger_kernel.ops.swiglu").LigerSiLUMulFunction

    def fused(gate_up: torch.Tensor) -> torch.Tensor:
        gate, up = gate_up.chunk(2, -1)
        return function.apply(gate, up)

    return fused


@case("swiglu fused gate_up", _load_fused_gate_up, lambda: {"gate_up": normal(ROWS, 2 * HIDDEN)})
def swiglu_gate_up(gate_up):
    gate, up = gate_up.chunk(2, -1)
    return F.silu(gate) * up


@case("geglu", functional("liger_geglu"), pair)
def geglu(a, b):
    return F.gelu(a, approximate="tanh") * b


@case("relu_squared", functional("liger_relu_squared"), lambda: {"x": normal(ROWS, HIDDEN)})
def relu_squared(x):
    return torch.relu(x) ** 2


@case("softmax", functional("liger_softmax"), lambda: {"x": normal(ROWS, HIDDEN)})
def softmax(x):
    return torch.softmax(x, -1)


CASES.append(LigerCase("softmax big", functional("liger_softmax"), lambda: softmax, lambda: {"x": normal(2, 5000)}))


def sparsemax_last(x: torch.Tensor) -> torch.Tensor:
    """Euclidean projection of each row onto the probability simplex."""
    ordered = torch.sort(x, -1, descending=True).values
    count = torch.arange(1, x.shape[-1] + 1, device=x.device, dtype=x.dtype)
    total = torch.cumsum(ordered, -1)
    support = (1 + count * ordered > total).to(x.dtype)
    size = support.sum(-1, keepdim=True)
    threshold = ((ordered * support).sum(-1, keepdim=True) - 1) / size
    return torch.relu(x - threshold)  # the gradient at the edge of the support is 0


@case("sparsemax", functional("liger_sparsemax"), lambda: {"input": normal(ROWS, HIDDEN)})
def sparsemax(input):
    return sparsemax_last(input)


# -- cross entropies ---------------------------------------------------------------------------------------------


@case(
    "cross_entropy",
    functional("liger_cross_entropy"),
    lambda: {"input": normal(ROWS, VOCAB), "target": labels(ROWS, VOCAB, 1)},
)
def cross_entropy(input, target):
    return F.cross_entropy(input, target)


def _options(logits: torch.Tensor, target: torch.Tensor, weight: torch.Tensor | None = None) -> torch.Tensor:
    """Softcap 30, label smoothing 0.1 and the square of the log-sum-exp at 1e-3."""
    logits = 30.0 * torch.tanh(logits / 30.0)
    loss = F.cross_entropy(logits, target, weight, label_smoothing=0.1)
    kept = (target != IGNORED).to(logits.dtype)
    return loss + 1e-3 * (torch.logsumexp(logits, -1) ** 2 * kept).sum() / kept.sum()


@case(
    "cross_entropy all options",
    functional("liger_cross_entropy", label_smoothing=0.1, lse_square_scale=1e-3, softcap=30.0),
    lambda: {
        "input": wanted(normal(ROWS, VOCAB)),
        "target": labels(ROWS, VOCAB, 1),
        "weight": normal(VOCAB, seed=3).abs() + 0.1,
    },
)
def cross_entropy_options(input, target, weight):
    return _options(input, target, weight)


def linear_inputs() -> Inputs:
    return {
        "input": normal(ROWS, HIDDEN, scale=0.3),
        "weight": normal(VOCAB, HIDDEN, seed=1, scale=0.3),
        "target": labels(ROWS, VOCAB, 1),
    }


@case("fused_linear_cross_entropy", functional("liger_fused_linear_cross_entropy"), linear_inputs)
def fused_linear_cross_entropy(input, weight, target):
    return F.cross_entropy(input @ weight.t(), target)


@case(
    "fused_linear_CE bias/ls/softcap",
    functional("liger_fused_linear_cross_entropy", label_smoothing=0.1, lse_square_scale=1e-3, softcap=30.0),
    lambda: {**linear_inputs(), "bias": normal(VOCAB, seed=5)},
)
def fused_linear_cross_entropy_options(input, weight, target, bias):
    return _options(input @ weight.t() + bias, target)


@case(
    "fused_linear_scaled_CE",
    liger("fused_linear_scaled_cross_entropy", "LigerFusedLinearScaledCrossEntropyFunction", 0.9, IGNORED, 1, True),
    linear_inputs,
    note="on sm_80 the library itself takes a fallback of plain PyTorch ops",
)
def fused_linear_scaled_cross_entropy(input, weight, target):
    logits = (input @ weight.t()) / 0.9
    log_p = torch.log_softmax(logits, -1)
    kept = (target != IGNORED).to(logits.dtype)
    loss = F.nll_loss(log_p, target, reduction="none")
    return loss * kept, -(log_p.exp() * log_p).sum(-1) * kept


@case(
    "vocab_parallel_CE",
    liger("vocab_parallel_cross_entropy", "LigerVocabParallelCEFunction", None, IGNORED, 0.1, "pytorch", "global"),
    lambda: {"vocab_parallel_logits": normal(3, 2, VOCAB), "target": labels(6, VOCAB, 1).view(3, 2)},
)
def vocab_parallel_cross_entropy(vocab_parallel_logits, target):
    flat = vocab_parallel_logits.reshape(-1, VOCAB)
    return F.cross_entropy(flat, target.reshape(-1), reduction="none", label_smoothing=0.1).view(target.shape)


@case(
    "fused_ce_tvd",
    liger("fused_ce_tvd", "LigerFusedCETVDFunction", IGNORED),
    lambda: {
        "student_logits": wanted(normal(ROWS, VOCAB)),
        "teacher_logits": normal(ROWS, VOCAB, seed=1),
        "target": labels(ROWS, VOCAB, 1),
    },
)
def fused_ce_tvd(student_logits, teacher_logits, target):
    kept = (target != IGNORED).to(student_logits.dtype)
    distance = torch.softmax(student_logits, -1) - torch.softmax(teacher_logits.detach(), -1)
    return F.cross_entropy(student_logits, target, reduction="none"), 0.5 * distance.abs().sum(-1) * kept


# -- divergences -------------------------------------------------------------------------------------------------


def jensen_shannon(log_q: torch.Tensor, log_p: torch.Tensor) -> torch.Tensor:
    """Per element, at beta = 1/2."""
    log_m = torch.logaddexp(log_p, log_q) - math.log(2.0)
    return 0.5 * log_p.exp() * (log_p - log_m) + 0.5 * log_q.exp() * (log_q - log_m)


def two_distributions() -> Inputs:
    return {"input": wanted(log_probabilities(ROWS, VOCAB, 0)), "target": log_probabilities(ROWS, VOCAB, 1)}


@case("jsd", functional("liger_jsd"), two_distributions)
def jsd(input, target):
    return jensen_shannon(input, target).sum() / input.shape[0]


@case("jsd labels", functional("liger_jsd"), lambda: {**two_distributions(), "shift_labels": labels(ROWS, VOCAB, 2)})
def jsd_labels(input, target, shift_labels):
    kept = (shift_labels != IGNORED).to(input.dtype)
    return (jensen_shannon(input, target).sum(-1) * kept).sum() / kept.sum()


@case(
    "fused_linear_jsd",
    functional("liger_fused_linear_jsd"),
    lambda: {
        "student_input": wanted(normal(ROWS, HIDDEN, scale=0.3)),
        "student_weight": wanted(normal(VOCAB, HIDDEN, seed=1, scale=0.3)),
        "teacher_input": normal(ROWS, 2 * HIDDEN, seed=2, scale=0.3),
        "teacher_weight": normal(VOCAB, 2 * HIDDEN, seed=3, scale=0.3),
    },
)
def fused_linear_jsd(student_input, student_weight, teacher_input, teacher_weight):
    log_q = torch.log_softmax(student_input @ student_weight.t(), -1)
    log_p = torch.log_softmax(teacher_input @ teacher_weight.t(), -1)
    return jensen_shannon(log_q, log_p.detach()).sum() / student_input.shape[0]


def sparse_probabilities(rows: int, columns: int, seed: int) -> torch.Tensor:
    """Every third class is impossible."""
    kept = torch.arange(columns) % 3 != 0
    return probabilities(rows, columns, seed) * kept


def relative_entropy(log_q: torch.Tensor, p: torch.Tensor) -> torch.Tensor:
    """p ln(p/q) per element; the library takes p as at least 1e-10 in the logarithm."""
    return p * (torch.log(torch.clamp(p, min=1e-10)) - log_q)


@case(
    "kl_div",
    functional("liger_kl_div", reduction="batchmean"),
    lambda: {"input": wanted(log_probabilities(ROWS, VOCAB, 0)), "target": sparse_probabilities(ROWS, VOCAB, 1)},
)
def kl_div(input, target):
    return relative_entropy(input, target).sum() / input.shape[0]


@case(
    "fused_linear_kl_div",
    functional("liger_fused_linear_kl_div", reduction="batchmean"),
    lambda: {
        "student_input": wanted(normal(ROWS, HIDDEN, scale=0.3)),
        "student_weight": wanted(normal(VOCAB, HIDDEN, seed=1, scale=0.3)),
        "target": sparse_probabilities(ROWS, VOCAB, 2),
        "shift_labels": labels(ROWS, VOCAB, 2),
    },
)
def fused_linear_kl_div(student_input, student_weight, target, shift_labels):
    kept = (shift_labels != IGNORED).to(target.dtype)
    log_q = torch.log_softmax(student_input @ student_weight.t(), -1)
    return (relative_entropy(log_q, target).sum(-1) * kept).sum() / kept.sum()


@case(
    "tvd",
    functional("liger_tvd", reduction="batchmean"),
    lambda: {"input": wanted(probabilities(ROWS, VOCAB, 0)), "target": probabilities(ROWS, VOCAB, 1)},
)
def tvd(input, target):
    return 0.5 * (input - target).abs().sum() / input.shape[0]


# -- policy losses -----------------------------------------------------------------------------------------------


def policy_inputs() -> Inputs:
    return {
        "logits": wanted(normal(3, 6, VOCAB)),
        "old_logp": log_probabilities(15, VOCAB, 1)[:, 0].reshape(3, 5).contiguous(),
        "ref_logp": log_probabilities(15, VOCAB, 2)[:, 1].reshape(3, 5).contiguous(),
        "completion_ids": labels(15, VOCAB).view(3, 5),
        "advantages": torch.tensor([0.7, -1.3, 0.4]),
        "completion_mask": torch.tensor([[1, 1, 1, 1, 0], [1, 1, 1, 0, 0], [0, 0, 0, 0, 0]]),
    }


def load_grpo(**options: Any) -> Callable[[], Callable[..., Any]]:
    def load() -> Callable[..., Any]:
        function = importlib.import_module("liger_kernel.ops.grpo_loss").GrpoLossFunction
        fixed = (0.9, 0.04, 0.2, 0.4, False, options["loss_type"], None, True, options["level"])
        return lambda **inputs: function.apply(*inputs.values(), *fixed)[0]

    return load


def _kept(change: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Tokens outside the completion are left out, not multiplied by 0: their exponentials may overflow."""
    return torch.where(mask != 0, change, 0.0)


def _token_logp(logits: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
    return torch.log_softmax(logits[:, :-1] / 0.9, -1).gather(-1, ids[..., None]).squeeze(-1)


def _divergence(ref_logp: torch.Tensor, logp: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    gap = _kept(ref_logp - logp, mask)
    return torch.exp(gap) - gap - 1


def _mean_per_sequence(loss: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    return ((loss * mask).sum(-1) / mask.sum(-1).clamp(min=1.0)).mean()


@case("grpo_loss", load_grpo(loss_type="grpo", level="token"), policy_inputs)
def grpo_loss(logits, old_logp, ref_logp, completion_ids, advantages, completion_mask):
    logp, mask, gain = _token_logp(logits, completion_ids), completion_mask.float(), advantages[:, None]
    ratio = torch.exp(_kept(logp - old_logp, mask))
    loss = -torch.minimum(ratio * gain, ratio.clamp(0.8, 1.4) * gain)
    return _mean_per_sequence(loss + 0.04 * _divergence(ref_logp, logp, mask), mask)


@case("grpo_loss seq", load_grpo(loss_type="grpo", level="sequence"), policy_inputs)
def grpo_loss_sequence(logits, old_logp, ref_logp, completion_ids, advantages, completion_mask):
    logp, mask, gain = _token_logp(logits, completion_ids), completion_mask.float(), advantages[:, None]
    ratio = torch.exp(_kept(logp - old_logp, mask).sum(-1) / mask.sum(-1).clamp(min=1.0))[:, None]
    loss = -torch.minimum(ratio * gain, ratio.clamp(0.8, 1.4) * gain)
    return _mean_per_sequence(loss + 0.04 * _divergence(ref_logp, logp, mask), mask)


@case("grpo_loss sapo", load_grpo(loss_type="sapo", level="token"), policy_inputs)
def grpo_loss_sapo(logits, old_logp, ref_logp, completion_ids, advantages, completion_mask):
    logp, mask, gain = _token_logp(logits, completion_ids), completion_mask.float(), advantages[:, None]
    temperature = torch.where(gain > 0, 1.0, 1.05)
    gate = torch.sigmoid(temperature * (torch.exp(_kept(logp - old_logp, mask)) - 1.0)) * 4.0 / temperature
    return _mean_per_sequence(-gate * gain + 0.04 * _divergence(ref_logp, logp, mask), mask)


# -- position embeddings -----------------------------------------------------------------------------------------


def rotate_half(x: torch.Tensor) -> torch.Tensor:
    left, right = x.chunk(2, -1)
    return torch.cat((-right, left), -1)


def angles(*shape: int) -> Inputs:
    """cos and sin of half the rotated dimensions: the library reads only the left half of its tables."""
    half = normal(*shape, seed=9)
    return {"cos": half.cos(), "sin": half.sin()}


def twice(half: torch.Tensor) -> torch.Tensor:
    return torch.cat((half, half), -1)


def with_full_tables(load: Callable[[], Callable[..., Any]]) -> Callable[[], Callable[..., Any]]:
    """The operator called as models do: with tables whose right half repeats the left one."""

    def loaded() -> Callable[..., Any]:
        operator = load()
        return lambda q, k, cos, sin: operator(q=q, k=k, cos=twice(cos), sin=twice(sin))

    return loaded


def queries_keys() -> Inputs:
    return {"q": wanted(normal(2, 4, 5, 16)), "k": wanted(normal(2, 2, 5, 16, seed=1))}


@case("rope", with_full_tables(functional("liger_rope")), lambda: {**queries_keys(), **angles(1, 5, 8)})
def rope(q, k, cos, sin):
    cos, sin = twice(cos)[:, None], twice(sin)[:, None]
    return q * cos + rotate_half(q) * sin, k * cos + rotate_half(k) * sin


@case(
    "llama4_rope",
    liger("llama4_rope", "LigerLlama4RopeFunction"),
    lambda: {
        "q": wanted(normal(2, 5, 4, 16)),
        "k": wanted(normal(2, 5, 2, 16, seed=1)),
        "freqs": torch.stack(tuple(angles(5, 8).values()), -1),
    },
)
def llama4_rope(q, k, freqs):
    real, imaginary = freqs[None, :, None, :, 0], freqs[None, :, None, :, 1]

    def turn(x):
        a, b = x[..., 0::2], x[..., 1::2]
        return torch.stack((a * real - b * imaginary, a * imaginary + b * real), -1).flatten(-2)

    return turn(q), turn(k)


@case(
    "qwen2vl_mrope",
    with_full_tables(liger("qwen2vl_mrope", "LigerQwen2VLMRopeFunction", [2, 3, 3])),
    lambda: {**queries_keys(), **angles(3, 2, 5, 8)},
)
def qwen2vl_mrope(q, k, cos, sin):
    def merge(t):
        parts = t.split([2, 3, 3] * 2, -1)
        return torch.cat([part[index % 3] for index, part in enumerate(parts)], -1)[:, None]

    cos, sin = merge(twice(cos)), merge(twice(sin))
    return q * cos + rotate_half(q) * sin, k * cos + rotate_half(k) * sin


# -- attention ---------------------------------------------------------------------------------------------------


def scores_inputs() -> Inputs:
    return {"scores": normal(2, 3, 9, 9), "weight": normal(4, 3, 3, 3, seed=1), "bias": normal(4, seed=2)}


def _causal(length: int, device: torch.device) -> torch.Tensor:
    return torch.ones(length, length, dtype=torch.bool, device=device).tril()


def _convolved(chances: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    out = F.conv2d(chances, weight, bias, padding=1)
    return torch.where(_causal(out.shape[-1], out.device), out, 0.0)


@case("multi_token_attention", functional("liger_multi_token_attention", padding=1), scores_inputs)
def multi_token_attention(scores, weight, bias):
    masked = torch.where(_causal(scores.shape[-1], scores.device), scores, -1e9)
    return _convolved(torch.softmax(masked, -1), weight, bias)


@case("multi_token_attention sparse", functional("liger_multi_token_attention", padding=1, sparse=True), scores_inputs)
def multi_token_attention_sparse(scores, weight, bias):
    masked = torch.where(_causal(scores.shape[-1], scores.device), scores, -1e9)
    return _convolved(sparsemax_last(masked), weight, bias)


@case(
    "fused_neighborhood_attn",
    functional("liger_fused_neighborhood_attention", kernel_size=5, dilation=1),
    lambda: {name: normal(1, 2, 12, 16, seed=i) for i, name in enumerate(("query", "key", "value"))},
)
def fused_neighborhood_attention(query, key, value):
    place = torch.arange(query.shape[-2], device=query.device)
    near = (place[:, None] - place[None, :]).abs() <= 2
    scores = query @ key.transpose(-1, -2) / math.sqrt(query.shape[-1])
    return torch.softmax(torch.where(near, scores, float("-inf")), -1) @ value


@case(
    "embedding",
    liger("experimental.embedding", "LigerEmbeddingFunction"),
    lambda: {"embeddings": normal(11, HIDDEN), "indices": labels(ROWS, 11)},
)
def embedding(embeddings, indices):
    return F.embedding(indices, embeddings)


@case(
    "attn_res",
    functional("liger_attn_res"),
    lambda: {"V": normal(3, 2, 4, HIDDEN), "w_query": normal(HIDDEN, seed=1), "w_norm": normal(HIDDEN, seed=2)},
)
def attn_res(V, w_query, w_norm):
    scores = ((rms(V, 1e-6) * w_norm) * w_query).sum(-1)
    return (torch.softmax(scores, 0)[..., None] * V).sum(0)


# -- hyper-connections -------------------------------------------------------------------------------------------


def coefficient_inputs() -> Inputs:
    return {
        "x": normal(3, 4, 24),
        "phi": normal(96, 24, seed=1, scale=0.1),
        "b": normal(24, seed=2),
        "alpha_pre": torch.tensor(0.5),
        "alpha_post": torch.tensor(0.7),
        "alpha_res": torch.tensor(0.9),
    }


@case("mhc_coeffs", functional("liger_mhc_coeffs", allow_fp32=True, tmax=3), coefficient_inputs)
def mhc_coeffs(x, phi, b, alpha_pre, alpha_post, alpha_res):
    flat = x.reshape(x.shape[0], -1)
    mix = (flat @ phi) * torch.rsqrt((flat * flat).mean(-1, keepdim=True) + 1e-6)
    pre = torch.sigmoid(mix[:, :4] * alpha_pre + b[:4])
    post = 2.0 * torch.sigmoid(mix[:, 4:8] * alpha_post + b[4:8])
    square = torch.softmax((mix[:, 8:] * alpha_res + b[8:]).view(-1, 4, 4), -1) + 1e-6
    square = square / (square.sum(-2, keepdim=True) + 1e-6)
    for _ in range(2):
        square = square / (square.sum(-1, keepdim=True) + 1e-6)
        square = square / (square.sum(-2, keepdim=True) + 1e-6)
    return pre, post, square


@case("mhc_pre", functional("liger_mhc_pre"), lambda: {"x": normal(3, 4, 24), "h_pre": normal(3, 4, seed=1)})
def mhc_pre(x, h_pre):
    return (x * h_pre[..., None]).sum(-2)


@case(
    "mhc_post_res",
    functional("liger_mhc_post_res"),
    lambda: {
        "x": normal(3, 4, 24),
        "f_out": normal(3, 24, seed=1),
        "h_post": normal(3, 4, seed=2),
        "h_res": normal(3, 4, 4, seed=3),
    },
)
def mhc_post_res(x, f_out, h_post, h_res):
    return h_res @ x + h_post[..., None] * f_out[:, None]


# -- feed-forward layers -----------------------------------------------------------------------------------------


def mlp_inputs(dtype: torch.dtype = torch.float32) -> Inputs:
    return {
        "input": normal(2, ROWS // 2, 32, dtype=dtype),
        "gate_weight": normal(64, 32, seed=1, dtype=dtype, scale=0.2),
        "up_weight": normal(64, 32, seed=2, dtype=dtype, scale=0.2),
        "down_weight": normal(32, 64, seed=3, dtype=dtype, scale=0.2),
    }


@case("mlp (TMA descriptors)", liger("mlp", "LigerMLPFunction"), lambda: mlp_inputs(torch.bfloat16))
def mlp(input, gate_weight, up_weight, down_weight):
    return F.linear(F.silu(F.linear(input, gate_weight)) * F.linear(input, up_weight), down_weight)


def _load_tiled_mlp() -> Callable[..., Any]:
    from types import SimpleNamespace

    tiled = importlib.import_module("liger_kernel.ops.tiled_mlp").apply_tiled_mlp
    product = importlib.import_module("liger_kernel.ops.swiglu").LigerSiLUMulFunction

    def layer(module: Any, x: torch.Tensor) -> torch.Tensor:
        return F.linear(product.apply(F.linear(x, module.gate), F.linear(x, module.up)), module.down)

    def run(input, gate_weight, up_weight, down_weight):
        module = SimpleNamespace(gate=gate_weight, up=up_weight, down=down_weight)
        return tiled(layer, module, input, 2, [gate_weight, up_weight, down_weight])

    return run


CASES.append(LigerCase("tiled_mlp", _load_tiled_mlp, lambda: mlp, mlp_inputs))


@case(
    "fused_moe",
    liger("fused_moe", "LigerFusedMoEFunction"),
    lambda: {
        "x": normal(ROWS, 32),
        "gate_up_proj": normal(4, 32, 32, seed=1, scale=0.2),
        "down_proj": normal(4, 32, 16, seed=2, scale=0.2),
        "top_k_index": torch.tensor([[0, 1], [2, 3], [1, 2], [3, 0], [0, 2], [1, 3]], dtype=torch.int32),
        "top_k_weights": probabilities(ROWS, 2, 3),
    },
    reads_results=True,
)
def fused_moe(x, gate_up_proj, down_proj, top_k_index, top_k_weights):
    gate, up = torch.einsum("th,eih->tei", x, gate_up_proj).chunk(2, -1)
    experts = torch.einsum("tei,ehi->teh", F.silu(gate) * up, down_proj)
    chosen = experts.gather(1, top_k_index.long()[..., None].expand(-1, -1, x.shape[1]))
    return (chosen * top_k_weights[..., None]).sum(1)


@case(
    "mm_int8int2",
    liger("experimental.mm_int8int2", "matmul", method=None),
    lambda: {
        "a": torch.randint(-4, 4, (ROWS, 256), generator=torch.Generator().manual_seed(1)).to(torch.int8),
        "b": torch.randint(0, 160, (64, HIDDEN), generator=torch.Generator().manual_seed(2)).to(torch.uint8),
    },
    backward=False,
)
def mm_int8int2(a, b):
    unpacked = torch.cat([(b >> (2 * i)) & 3 for i in range(4)]).to(torch.int32) - 1
    return (a.to(torch.int32)[:, :, None] * unpacked[None]).sum(1).to(torch.int32)


# -- modules -----------------------------------------------------------------------------------------------------


def _module(name: str, *arguments: Any, **options: Any) -> Callable[[], Callable[..., Any]]:
    def load() -> Callable[..., Any]:
        return getattr(importlib.import_module("liger_kernel.transformers"), name)(*arguments, **options).cuda()

    return load


CASES += [
    LigerCase(
        "nn LigerRMSNorm.cuda()",
        _module("LigerRMSNorm", HIDDEN),
        lambda: torch.nn.RMSNorm(HIDDEN, eps=1e-6),
        lambda: {"hidden_states": normal(ROWS, HIDDEN)},
    ),
    LigerCase(
        "nn LigerLayerNorm",
        _module("LigerLayerNorm", HIDDEN, eps=1e-5),
        lambda: torch.nn.LayerNorm(HIDDEN, eps=1e-5),
        lambda: {"hidden_states": normal(ROWS, HIDDEN)},
    ),
    LigerCase(
        "nn LigerCrossEntropyLoss",
        _module("LigerCrossEntropyLoss"),
        lambda: torch.nn.CrossEntropyLoss(),
        lambda: {"_input": normal(ROWS, VOCAB), "target": labels(ROWS, VOCAB, 1)},
    ),
    LigerCase(
        "nn LigerFusedLinearCE",
        _module("LigerFusedLinearCrossEntropyLoss"),
        lambda: lambda lin_weight, _input, target: F.cross_entropy(_input @ lin_weight.t(), target),
        lambda: {
            "lin_weight": normal(VOCAB, HIDDEN, seed=1, scale=0.3),
            "_input": normal(ROWS, HIDDEN, scale=0.3),
            "target": labels(ROWS, VOCAB, 1),
        },
    ),
]
