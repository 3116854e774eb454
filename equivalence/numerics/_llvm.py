"""Machine operations that numpy lacks: fused multiply-add, bit casts, and a threaded loop over flat arrays.

Takes and gives numba scalars and numpy arrays; must not know any number format.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import pairwise
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

Array = npt.NDArray[Any]
_GRAIN: Final = 1 << 18  # elements; below this a second thread costs more than it saves


def _fma_typing(typingctx: Any, a: Any, b: Any, c: Any) -> Any:
    """a*b + c rounded once (IEEE 754-2019 §5.4.1); an instruction, or libm's fma without one."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.fma(*args)

    return (a(a, a, a), codegen) if a == b == c and isinstance(a, types.Float) else None


def _bitcast(source: Any, target: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.bitcast(args[0], ir.IntType(64) if target is types.int64 else ir.DoubleType())

    return target(source), codegen


def _bits_typing(typingctx: Any, x: Any) -> Any:
    """The 64 bits of an f64 as an int64."""
    return _bitcast(x, types.int64) if x == types.float64 else None


def _float_typing(typingctx: Any, x: Any) -> Any:
    """The f64 with the 64 bits of an int64."""
    return _bitcast(x, types.float64) if x == types.int64 else None


# Typed as Any: a type checker sees the typing context as a parameter, callers must not.
fma: Any = intrinsic(_fma_typing)
bits_of: Any = intrinsic(_bits_typing)
float_of: Any = intrinsic(_float_typing)


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max_workers=_threads())


@cache
def _threads() -> int:
    return min(8, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)


def _flat(arrays: tuple[Array, ...]) -> tuple[tuple[int, ...], list[Array]]:
    """The broadcast shape, and the arrays broadcast, contiguous and one-dimensional."""
    shape = arrays[0].shape
    if any(a.shape != shape for a in arrays):
        shape = np.broadcast_shapes(*(a.shape for a in arrays))
        arrays = tuple(np.broadcast_to(a, shape) for a in arrays)
    return shape, [np.ascontiguousarray(a).reshape(-1) for a in arrays]


def flat_map(kernel: Callable[..., None], out_dtype: Any, arrays: tuple[Array, ...], *scalars: Any) -> Array:
    """``kernel(out, *arrays, *scalars)`` over broadcast, flattened arrays, in chunks on several threads.

    ``kernel`` must release the interpreter lock (``nogil=True``). Gives an array of the broadcast shape.
    """
    shape, flat = _flat(arrays)
    out = np.empty(flat[0].size, out_dtype)
    parts = min(_threads(), max(1, out.size // _GRAIN))
    if parts == 1:
        kernel(out, *flat, *scalars)
    else:
        kernel(out[:0], *(f[:0] for f in flat), *scalars)  # compile once, outside the pool
        cuts = [out.size * i // parts for i in range(parts + 1)]
        jobs = [(out[i:j], *(f[i:j] for f in flat), *scalars) for i, j in pairwise(cuts)]
        list(_pool().map(lambda job: kernel(*job), jobs))
    return out.reshape(shape)
