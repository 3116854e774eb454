"""Which of torch's precision switches decide an ATen op: read when the op runs, because files change them at any time.

Takes an op's name and its arguments' dtypes; gives words for AtenCall.flags and a sentence for each.  Must not know
about traces.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch

_C: Any = torch._C
#: Ops that cuBLAS's matrix products compute (a dot and a matrix times a vector are no such products).
_PRODUCTS = frozenset(
    f"aten.{op}" for op in ("mm", "bmm", "addmm", "baddbmm", "addbmm", "linear", "matmul", "_addmm_activation")
)
_CONVOLUTIONS = "aten.convolution", "aten._convolution", "aten.cudnn_convolution"
_REDUCED = {"float16": "fp16", "bfloat16": "bf16"}

WORDS = {
    "matmul_tf32": "f32 matrix products round their operands to TF32 (torch.backends.cuda.matmul)",
    "convolution_tf32": "f32 convolutions round their operands to TF32 (torch.backends.cudnn)",
    "fp16_accumulation": "f16 matrix products accumulate in f16 (allow_fp16_accumulation = True)",
}


def flags_in_force(op: str, dtypes: Iterable[str]) -> tuple[str, ...]:
    """The switches that are not at irverify's default and that matter to this op; () for every other op."""
    if op.startswith(_CONVOLUTIONS):
        return ("convolution_tf32",) if "float32" in dtypes and _tf32("conv", "cudnn") else ()
    return tuple(_of_products(set(dtypes))) if op in _PRODUCTS else ()


def sentence(flag: str) -> str:
    """What a flag means, for a note."""
    if flag in WORDS:
        return WORDS[flag]
    name, value = flag.split("=")
    return (
        f"torch.backends.cuda.matmul.{name} is {value}; where it is True, cuBLAS may round partial sums to the "
        "operands' dtype, which is not modelled: they are taken as f32"
    )


def _of_products(dtypes: set[str]) -> Iterator[str]:
    if "float32" in dtypes and _tf32("matmul", "cublas"):
        yield "matmul_tf32"
    if "float16" in dtypes and _get("_get_cublas_allow_fp16_accumulation", False):
        yield "fp16_accumulation"
    for dtype, name in _REDUCED.items():
        allowed = _get(f"_get_cublas_allow_{name}_reduced_precision_reduction", True)
        allowed = allowed if isinstance(allowed, tuple) else (allowed,)  # newer versions: and whether to split K
        if dtype in dtypes and not all(allowed):
            yield f"allow_{name}_reduced_precision_reduction={allowed if allowed[1:] == (False,) else allowed[0]}"


def _tf32(op: str, library: str) -> bool:
    """By the newer switch, which follows the older ones too; before torch 2.9 there is only the older one."""
    getter: Callable[..., Any] | None = getattr(_C, "_get_fp32_precision_getter", None)
    return getter("cuda", op) == "tf32" if getter is not None else bool(_get(f"_get_{library}_allow_tf32", False))


def _get(name: str, missing: Any) -> Any:
    getter = getattr(_C, name, None)
    return missing if getter is None else getter()


@contextlib.contextmanager
def ieee_convolutions() -> Iterator[None]:
    """torch's default for convolutions is TF32; here it is IEEE (which is noted) until the file asks for TF32."""
    old = _tf32("conv", "cudnn")
    if old:
        _C._set_cudnn_allow_tf32(False)
    try:
        yield
    finally:
        if old:
            _C._set_cudnn_allow_tf32(True)
