"""Which ATen ops are recorded under their own name, and how the others are taken apart.

Takes an OpOverload; gives its decomposition, or None when it keeps its name.  Must not know about traces or tensors.

What is recorded is Core ATen plus ``KEPT``; everything else goes through torch's own decomposition if it has one.
In-place and ``out=`` variants are recorded as their functional op: the event's output refs say where the result goes.
"""

from __future__ import annotations

import contextlib
import functools
import types
from collections.abc import Callable
from functools import cache
from typing import Any

import torch
from torch._ops import OpOverload

from lowering.capture import own_decompositions


def _names(text: str) -> frozenset[str]:
    return frozenset(f"aten.{name}" for name in text.split())


# Outside Core ATen, or decomposed by torch, but with a meaning worth more whole than in pieces.
KEPT = _names(
    """
    _softmax _log_softmax _safe_softmax logsumexp
    native_layer_norm native_group_norm native_dropout
    convolution convolution_backward mm bmm addmm baddbmm dot mv addmv
    gelu sigmoid silu relu tanh erf softplus elu leaky_relu hardtanh sign sgn
    sum mean var var_mean std std_mean amax amin max min argmax argmin prod any all cumsum cumprod logcumsumexp
    sort topk embedding embedding_dense_backward index index_put index_select index_add index_copy gather scatter
    scatter_add scatter_reduce masked_fill where clamp clamp_min clamp_max addcmul addcdiv lerp
    rsub fill floor_divide remainder logaddexp nan_to_num
    cat stack flip roll tril triu constant_pad_nd repeat zeros zeros_like ones ones_like full full_like arange
    scalar_tensor new_zeros new_ones new_full eye linspace clone _to_copy copy
    avg_pool2d max_pool2d_with_indices adaptive_max_pool2d _adaptive_avg_pool2d
    randn randn_like rand rand_like randint randint_like randperm bernoulli normal_functional uniform exponential
    """
)
# In Core ATen, but lowering would rather see the pieces.
TAKEN_APART = _names(
    """
    native_layer_norm_backward native_group_norm_backward
    native_batch_norm _native_batch_norm_legit _native_batch_norm_legit_functional _batch_norm_with_update
    _batch_norm_with_update_functional _batch_norm_no_update _native_batch_norm_legit_no_training
    native_batch_norm_backward batch_norm_backward grid_sampler_2d
    """
)
# Torch has a decomposition for these, but not in its Core ATen table.
_MORE = _names(
    """
    _scaled_dot_product_flash_attention_for_cpu upsample_nearest1d upsample_nearest2d upsample_nearest3d
    upsample_bilinear2d upsample_bicubic2d upsample_trilinear3d
    linalg_vector_norm addmv dist ldexp copysign remainder
    """
)
# Of these a table's formula may consist; the rest of it is constants.
TABLE_OPS = _names(
    """
    arange linspace full full_like ones ones_like zeros zeros_like scalar_tensor _to_copy clone repeat cat stack flip
    add sub rsub mul div neg abs reciprocal pow exp exp2 log log2 sqrt rsqrt sin cos maximum minimum clamp
    """
)
# Arguments that say where a tensor lies or how a draw is made, not which values it has.
UNRECORDED_KWARGS = frozenset({"device", "layout", "pin_memory", "non_blocking", "generator", "memory_format"})
INTEGER_DRAWS = _names("randint randint_like random random_ randperm")
RENAMED = {"aten.zero_": ("aten.fill", "Scalar", (0,)), "aten.copy_": ("aten.copy", "default", ())}
# Allocation only: their results are storages of origin 'empty' (or views), not events.
ALLOCATORS = _names("empty empty_like empty_strided empty_permuted new_empty new_empty_strided resize_ set_")
# The size of the result, or the result itself as a Python value, depends on data: the arguments are read first.
READS = _names(
    """
    _local_scalar_dense equal nonzero nonzero_static masked_select _unique _unique2 unique_dim unique_consecutive
    unique_dim_consecutive bincount repeat_interleave histc is_nonzero allclose
    """
)


def packet_name(func: OpOverload) -> str:
    """'aten.add' for aten.add.Tensor."""
    return f"{func.namespace}.{func._schema.name.split('::')[1]}"


@cache
def _table() -> dict[Any, Callable[..., Any]]:
    from torch._decomp import core_aten_decompositions, get_decompositions

    names = [name.removeprefix("aten.") for name in _MORE | TAKEN_APART]
    packets = [getattr(torch.ops.aten, name) for name in names if hasattr(torch.ops.aten, name)]
    found: dict[Any, Callable[..., Any]] = {}
    for packet in packets:
        with contextlib.suppress(RuntimeError):  # this version of torch has none
            found |= get_decompositions([packet])
    return {**found, **dict(core_aten_decompositions()), **own_decompositions.table()}


@cache
def decomposition(func: OpOverload) -> Callable[..., Any] | None:
    """Torch's own decomposition of ``func``, unless it is recorded under its own name."""
    name = packet_name(func)
    if name in _INSTEAD:
        return _INSTEAD[name]
    if name.startswith("aten._foreach_"):
        return _one_by_one(name.removeprefix("aten._foreach_"))
    if func._can_decompose() and isinstance(_table().get(func), functools.partial | types.NoneType):
        # Composite: called above autograd, it would have been taken apart before it came here.  The table's own entry
        # for such an op is a partial that the function mode would catch.
        return func.decompose
    if name in TAKEN_APART:
        return _table().get(func)
    if name in KEPT or name in READS or name in ALLOCATORS or name in RENAMED or torch.Tag.core in func.tags:
        return None
    if is_view(func):
        return None
    if func._schema.is_mutable:
        functional = functional_variant(func)
        if functional is not None and decomposition(functional) is None:
            return None  # recorded as the functional op, written in place
    return _table().get(func)


def _equal(a: torch.Tensor, b: torch.Tensor) -> bool:
    """The host sees one truth value, not the tensors."""
    return a.shape == b.shape and bool((a == b).all().item())


# The first two are views with a bit in the tensor that a TensorRef does not have; the next two are old spellings.
_INSTEAD: dict[str, Callable[..., Any]] = {
    "aten._conj": lambda tensor: torch.ops.aten._conj_physical(tensor),
    "aten._neg_view": lambda tensor: torch.ops.aten.neg(tensor),
    "aten.__lshift__": lambda tensor, other: torch.bitwise_left_shift(tensor, other),
    "aten.__rshift__": lambda tensor, other: torch.bitwise_right_shift(tensor, other),
    "aten.equal": _equal,
}


def _one_by_one(name: str) -> Callable[..., Any]:
    """An op on lists of tensors as one op per tensor."""
    packet = getattr(torch.ops.aten, name, None)

    def each(first: list[torch.Tensor], *rest: Any, **options: Any) -> Any:
        if packet is None:
            return NotImplemented
        pick = lambda value, i: value[i] if isinstance(value, list | tuple) else value  # noqa: E731
        results = [packet(x, *(pick(value, i) for value in rest), **options) for i, x in enumerate(first)]
        return None if name.endswith("_") else results

    return each


@cache
def is_view(func: OpOverload) -> bool:
    """True when every tensor result aliases an argument without writing to it (checked on storages as well)."""
    returns = func._schema.returns
    aliases = [r.alias_info is not None and not r.alias_info.is_write for r in returns]
    return bool(returns) and all(aliases)


@cache
def turns_in_place(func: OpOverload) -> bool:
    """t_, squeeze_, transpose_: the tensor becomes a view of what it was; its storage is not written to."""
    functional = functional_variant(func) if torch.Tag.inplace_view in func.tags else None
    return functional is not None and is_view(functional)


@cache
def written_arguments(func: OpOverload) -> tuple[str, ...]:
    """Names of the arguments that the op writes to: ('self',) for add_, ('out',) for add.out."""
    return tuple(a.name for a in func._schema.arguments if a.alias_info is not None and a.alias_info.is_write)


@cache
def functional_variant(func: OpOverload) -> OpOverload | None:
    """aten.add.Tensor for aten.add_.Tensor and for aten.add.out; None if there is no such op or it means more."""
    written = written_arguments(func)
    name = func._schema.name.split("::")[1]
    packet = getattr(getattr(torch.ops, func.namespace), name.removesuffix("_") if len(written) else name, None)
    if packet is None or not written:
        return None
    wanted = [a.name for a in func._schema.arguments if not (a.is_out and a.name in written)]
    for overload in packet.overloads():
        candidate = getattr(packet, overload)
        if not candidate._schema.is_mutable and _same_inputs(candidate, func, wanted):
            return candidate
    return None


def _same_inputs(candidate: OpOverload, func: OpOverload, wanted: list[str]) -> bool:
    ours = {a.name: str(a.type) for a in func._schema.arguments}
    theirs = [(a.name, str(a.type)) for a in candidate._schema.arguments if a.name not in ("dtype", "generator")]
    kept = [(name, ours[name]) for name in wanted if name not in ("dtype", "generator")]
    return theirs == kept
