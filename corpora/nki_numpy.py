"""Enough of NKI in numpy to run the corpus's kernels: eager, every operand in f32, one rounding on the way out.

Written from the documentation of nki.isa and nki.language alone, and independent of irverify.  Takes torch tensors,
gives torch tensors.  Memory that nothing was written to holds NaN (4 for integers); PSUM remembers what was written.
``installed()`` puts the modules in place.  No engines, no limits of sizes: the corpus is known to be legal.
"""

from __future__ import annotations

import functools
import math
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType, SimpleNamespace
from typing import Any

import ml_dtypes
import numpy as np
import torch

BF16 = np.dtype(ml_dtypes.bfloat16)
F32 = np.float32


class Tensor:
    """A view: numpy's array, and for PSUM which of its elements were written."""

    def __init__(self, data: np.ndarray, written: np.ndarray | None = None, rows: Any = None) -> None:
        self.data, self.rows = data, rows
        self.written = np.zeros(data.shape, bool) if written is None else written

    shape = property(lambda self: self.data.shape)
    dtype = property(lambda self: self.data.dtype)

    def view(self, change: Callable[[np.ndarray], np.ndarray]) -> Tensor:
        return Tensor(change(self.data), change(self.written))

    def __getitem__(self, key: Any) -> Tensor:
        return self.view(lambda a: a[key])

    def reshape(self, shape: tuple[int, ...]) -> Tensor:
        made = self.view(lambda a: a.reshape(shape))
        assert np.shares_memory(made.data, self.data)
        return made

    def broadcast(self, dim: int, size: int) -> Tensor:
        shape = (*self.shape[:dim], size, *self.shape[dim + 1 :])
        return self.view(lambda a: np.broadcast_to(a, shape))

    def ap(self, pattern: list[list[int]], vector_offset: Tensor | None = None, indirect_dim: int = 0) -> Tensor:
        """Strides and counts over the whole tensor; with ``vector_offset``, partition p reads that row."""
        assert self.data.flags.c_contiguous and indirect_dim == 0
        if vector_offset is not None:
            return Tensor(self.data, rows=vector_offset.data[:, 0])
        shape, size = [n for _, n in pattern], self.data.itemsize
        return (
            self.view(lambda a: np.lib.stride_tricks.as_strided(a, shape, [s * a.itemsize for s, _ in pattern]))
            if size
            else self
        )

    @property
    def wide(self) -> np.ndarray:
        return self.read().astype(F32)

    def read(self) -> np.ndarray:
        return self.data if self.rows is None else self.data[self.rows]

    def put(self, value: Any) -> None:
        """One rounding to nearest even; integers saturate."""
        value = np.asarray(value).reshape(self.shape)
        if self.dtype.kind in "iu" and value.dtype.kind not in "iu":
            low, high = np.iinfo(self.dtype).min, np.iinfo(self.dtype).max
            value = np.clip(np.rint(np.nan_to_num(value.astype(np.float64))), low, high)
        self.data[...] = value.astype(self.dtype)
        self.written[...] = True


def blank(shape: tuple[int, ...], dtype: Any, buffer: str = "sbuf", **_: Any) -> Tensor:
    made = np.empty(shape, dtype)
    made[...] = 4 if made.dtype.kind in "iu" else np.nan
    return Tensor(made)


def filled(number: float) -> Callable[..., Tensor]:
    def make(shape: tuple[int, ...], dtype: Any, buffer: str = "sbuf", **_: Any) -> Tensor:
        made = blank(shape, dtype)
        made.put(np.full(shape, number))
        return made

    return make


ALU: dict[str, Callable[..., Any]] = {
    "add": np.add, "subtract": np.subtract, "multiply": np.multiply, "divide": np.divide, "maximum": np.maximum,
    "minimum": np.minimum, "equal": lambda x, y: (x == y).astype(F32), "rsqrt": lambda x, _: 1 / np.sqrt(x),
}  # fmt: skip
_ERF = np.vectorize(math.erf, otypes=[np.float64])
ACT: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "exp": np.exp, "log": np.log, "sqrt": np.sqrt, "square": np.square, "tanh": np.tanh, "copy": lambda x: x,
    "rsqrt": lambda x: 1 / np.sqrt(x), "relu": lambda x: np.maximum(x, 0), "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "gelu": lambda x: 0.5 * x * (1 + _ERF(x / math.sqrt(2))), "silu": lambda x: x / (1 + np.exp(-x)),
}  # fmt: skip


def operand(value: Any, like: np.ndarray) -> Any:
    """A number in f32, or one element a partition spread over the free axes, or a tile of the same elements."""
    if not isinstance(value, Tensor):
        return F32(value)
    x = value.wide
    return x.reshape(like.shape) if x.size == like.size else x.reshape(-1, *[1] * (like.ndim - 1))


def activation(dst, op, data, bias=None, scale=1.0, reduce_op=None, reduce_res=None, **_):
    x = data.wide
    y = x * operand(scale, x) + (F32(0) if bias is None else operand(bias, x))
    y = ACT[op](y.astype(np.float64)).astype(F32)
    dst.put(y)
    if reduce_res is not None:
        reduce_res.put(y.reshape(len(y), -1).sum(1))


def tensor_tensor(dst, data1, data2, op, **_):
    whole = data1.dtype.kind in "iu" and data1.dtype == data2.dtype
    x = data1.read() if whole else data1.wide
    dst.put(ALU[op](x, data2.read().reshape(x.shape) if whole else operand(data2, x)))


def tensor_scalar(dst, data, op0, operand0, reverse0=False, op1=None, operand1=None, reverse1=False, **_):
    x = data.wide
    for op, given, reverse in ((op0, operand0, reverse0), (op1, operand1, reverse1)):
        if op is not None:
            y = operand(given, x)
            x = ALU[op](y, x) if reverse else ALU[op](x, y)
    dst.put(x)


def scalar_tensor_tensor(dst, data, op0, operand0, op1, operand1, **_):
    x = data.wide
    dst.put(ALU[op1](ALU[op0](x, operand(operand0, x)), operand(operand1, x)))


def tensor_reduce(dst, op, data, axis, negate=False, **_):
    x = data.wide
    for one in sorted(axis if isinstance(axis, tuple | list) else [axis], reverse=True):
        x = ALU[op].reduce(x, axis=one)
    dst.put(-x if negate else x)


def tensor_tensor_scan(dst, data0, data1, initial, op0, op1, **_):
    x, y = data0.wide, data1.wide
    state, columns = operand(initial, x[:, :1]) + np.zeros_like(x[:, :1]), []
    for i in range(x.shape[1]):
        state = ALU[op1](ALU[op0](x[:, i : i + 1], state), y[:, i : i + 1])
        columns.append(state)
    dst.put(np.concatenate(columns, 1))


def nc_matmul(dst, stationary, moving, accumulate=None, **_):
    x, y = (t.wide.reshape(t.shape[0], -1) for t in (stationary, moving))
    product = (x.T @ y).reshape(dst.shape)
    adds = dst.written.copy() if accumulate is None else np.full(dst.shape, bool(accumulate))
    dst.put(np.where(adds, dst.wide + product, product))


def iota(dst, pattern, offset=0, channel_multiplier=0, **_):
    free = functools.reduce(np.add.outer, [step * np.arange(n) for step, n in pattern])
    lanes = np.arange(dst.shape[0]).reshape(-1, *[1] * np.ndim(free))
    dst.put(offset + channel_multiplier * lanes + free)


def bn_stats(dst, data, **_):
    """Count, mean and variance times count of the even elements, then of the odd ones."""
    halves = [data.wide[:, i::2].astype(np.float64) for i in (0, 1)]
    dst.put(np.stack([f(h) for h in halves for f in (lambda h: np.full(len(h), h.shape[1]), lambda h: h.mean(1),
                                                     lambda h: h.var(1) * h.shape[1])], 1))  # fmt: skip


def bn_aggr(dst, data, **_):
    n, mean, spread = np.moveaxis(data.wide.astype(np.float64).reshape(data.shape[0], -1, 3), 2, 0)
    total = (n * mean).sum(1) / n.sum(1)
    dst.put(np.stack([total, (spread + n * (mean - total[:, None]) ** 2).sum(1) / n.sum(1)], 1))


def copy(dst, src, **_):
    dst.put(src.read().reshape(dst.shape) if src.dtype == dst.dtype else src.wide)


def turned(dst, src, **_):
    dst.put(src.read().reshape(src.shape[0], -1).T)


def jit_of(kind: type[Tensor]) -> Callable[..., Any]:
    """nki.jit: torch tensors in, torch tensors out, ``kind`` inside."""

    def jit(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def run(*args: Any, **options: Any) -> Any:
            with np.errstate(all="ignore"):
                result = function(*[kind(array(x)) if isinstance(x, torch.Tensor) else x for x in args], **options)
            results = tuple(torch_of(t.data) for t in (result if isinstance(result, tuple) else (result,)))
            return results if isinstance(result, tuple) else results[0]

        return run

    return jit


def array(x: torch.Tensor) -> np.ndarray:
    return x.contiguous().view(torch.int16).numpy().view(BF16) if x.dtype == torch.bfloat16 else x.contiguous().numpy()


def torch_of(x: np.ndarray) -> torch.Tensor:
    x = np.ascontiguousarray(x)
    return torch.from_numpy(x.view(np.int16)).view(torch.bfloat16) if x.dtype == BF16 else torch.from_numpy(x)


def ranged(*bounds: int) -> range:
    return range(*bounds)


ISA = {
    "activation": activation, "tensor_tensor": tensor_tensor, "tensor_scalar": tensor_scalar, "nc_matmul": nc_matmul,
    "scalar_tensor_tensor": scalar_tensor_tensor, "tensor_reduce": tensor_reduce, "iota": iota, "bn_stats": bn_stats,
    "tensor_tensor_scan": tensor_tensor_scan, "bn_aggr": bn_aggr, "tensor_copy": copy, "dma_copy": copy,
    "nc_transpose": turned, "dma_transpose": turned,
    "memset": lambda dst, value, **_: dst.put(np.full(dst.shape, value)),
    "reciprocal": lambda dst, data, **_: dst.put(1 / data.wide), "engine": SimpleNamespace(tensor=1, vector=5),
    "activation_reduce": activation,
}  # fmt: skip
LANGUAGE = {name: name for name in ["sbuf", "psum", "shared_hbm", "hbm"]} | {
    "float32": np.dtype(F32), "float16": np.dtype(np.float16), "bfloat16": BF16, "int8": np.dtype(np.int8),
    "int32": np.dtype(np.int32), "ndarray": blank, "zeros": filled(0), "ones": filled(1), "affine_range": ranged,
    "sequential_range": ranged, "static_range": ranged, "ds": lambda start, size: slice(start, start + size),
    "tile_size": SimpleNamespace(pmax=128, gemm_moving_fmax=512),
}  # fmt: skip


def modules() -> dict[str, ModuleType]:
    """nki and neuronxcc.nki with isa and language."""
    import nki_numpy_wrappers as wrappers

    filled_with = {
        "nki": {"jit": jit_of(Tensor)}, "nki.isa": ISA, "nki.language": LANGUAGE | wrappers.NEW, "neuronxcc": {},
        "neuronxcc.nki": {"jit": jit_of(wrappers.Tile)}, "neuronxcc.nki.isa": wrappers.ISA_BETA1,
        "neuronxcc.nki.language": LANGUAGE | wrappers.BETA1,
    }  # fmt: skip
    made = {name: ModuleType(name) for name in filled_with}
    for name, contents in filled_with.items():
        made[name].__dict__.update(contents, __path__=[])
        above, _, own = name.rpartition(".")
        if above:
            setattr(made[above], own, made[name])
    return made


@contextmanager
def installed() -> Iterator[None]:
    """The modules of both generations can be imported."""
    made = modules()
    sys.modules.update(made)
    try:
        yield
    finally:
        for name in made:
            del sys.modules[name]
