"""Takes a compiled loop over flat arrays, gives its result over broadcast operands, run in slices by a few threads.

The loops of this room are compiled without the GIL, so plain threads are enough: no parallel compilation, no threading
layer to load, and safe under fork and under callers that have threads of their own. Must not know any field.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

S = TypeVar("S")
T = TypeVar("T")

PARALLEL_FROM = 1 << 15
"""Elements below which one thread is faster than waking several."""

THREADS = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)

_pool: ThreadPoolExecutor | None = None
_busy = 0  # of the threads, by callers that run side by side


def _forget_pool() -> None:
    """Threads do not survive a fork: the child makes its own pool."""
    global _pool
    _pool = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_pool)


def _the_pool() -> ThreadPoolExecutor:
    global _pool
    if _pool is None:
        _pool = ThreadPoolExecutor(THREADS, thread_name_prefix="fields")
    return _pool


def idle() -> int:
    """Threads that a loop may use: one where callers run side by side already."""
    return 1 if _busy else THREADS


def side_by_side(first: Callable[[], S], second: Callable[[], T]) -> tuple[S, T]:
    """Both results; the second is made by a thread of its own, under the caller's context.

    Loops inside stay in their thread while both run.  An exception of the first is raised before one of the second.
    """
    global _busy

    def last(work: Callable[[], Any]) -> Any:
        global _busy
        try:
            return work()
        finally:
            _busy = 0  # whoever ends first leaves its thread to the other's loops

    _busy = 1
    with ThreadPoolExecutor(1, thread_name_prefix="side") as own:
        other = own.submit(copy_context().run, last, second)
        one = last(first)
        return one, other.result()


def run_slices(length: int, work: Callable[[slice], Any], pieces: int | None = None) -> None:
    """Call `work` on slices that partition range(length), one per idle thread; exceptions propagate."""
    pieces = idle() if pieces is None else pieces
    edges = np.linspace(0, length, min(pieces, length) + 1).astype(int).tolist()
    parts = [slice(lo, hi) for lo, hi in pairwise(edges)]
    if len(parts) <= 1:
        for part in parts:
            work(part)
        return
    others = [_the_pool().submit(work, part) for part in parts[1:]]
    try:
        work(parts[0])
    finally:
        done = [other.exception() for other in others]
    for failure in done:
        if failure is not None:
            raise failure


def over(length: int, kernel: Callable[..., Any], *args: Any) -> None:
    """`kernel(*args, lo, hi)` over range(length): at once when short, else in threads."""
    if length < PARALLEL_FROM or idle() == 1:
        kernel(*args, 0, length)
    else:
        run_slices(length, lambda s: kernel(*args, s.start, s.stop))


BLAS_FROM = 1 << 22
"""Multiplications below which one thread is faster."""


def matmul(a: NDArray[Any], b: NDArray[Any], out: NDArray[Any]) -> NDArray[Any]:
    """out = a @ b; the first long axis of the result is cut for the threads.

    The judge keeps BLAS itself to one thread: its threads spin, and small matrices do not use them.
    """
    a, b = (x.reshape(*(1,) * (out.ndim - x.ndim), *x.shape) for x in (a, b))
    if out.size * a.shape[-1] < BLAS_FROM or idle() == 1 or max(out.shape[:-1]) < THREADS:
        return np.matmul(a, b, out=out)
    at = next(axis for axis, n in enumerate(out.shape[:-1]) if n >= THREADS)
    lead = (slice(None),) * at

    def part(s: slice) -> None:
        right = b if at == out.ndim - 2 or b.shape[at] == 1 else b[(*lead, s)]
        left = a if at < out.ndim - 2 and a.shape[at] == 1 else a[(*lead, s)]
        np.matmul(left, right, out=out[(*lead, s)])

    run_slices(out.shape[at], part)
    return out


def product(a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
    """a @ b as a new array; batch axes broadcast."""
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    return matmul(a, b, np.empty((*batch, a.shape[-2], b.shape[-1]), np.result_type(a, b)))


def flat(a: NDArray[Any], shape: tuple[int, ...]) -> tuple[NDArray[Any], int]:
    """(contiguous 1-D operand, stride): one element with stride 0 where `a` is a scalar or a broadcast one."""
    if a.size == 1:
        return a.reshape(1), 0
    if a.size and not any(s and n > 1 for s, n in zip(a.strides, a.shape)):
        return a[(0,) * a.ndim].reshape(1), 0
    full = a if a.shape == shape else np.broadcast_to(a, shape)
    return np.ascontiguousarray(full).reshape(-1), 1


def elementwise(
    kernel: Callable[..., Any], params: Sequence[Any], args: Sequence[NDArray[Any]], *dtypes: Any
) -> tuple[NDArray[Any], ...]:
    """Outputs of `kernel(*params, a, stride_a, b, stride_b, ..., out..., lo, hi)` over broadcast `args`."""
    shape = np.broadcast_shapes(*(a.shape for a in args))
    operands = [x for a in args for x in flat(a, shape)]
    outs = tuple(np.empty(shape, d) for d in dtypes)
    over(outs[0].size, kernel, *params, *operands, *(o.reshape(-1) for o in outs))
    return outs


def unary(kernel: Callable[..., Any], params: Sequence[Any], a: NDArray[Any], *dtypes: Any) -> tuple[NDArray[Any], ...]:
    """Outputs of `kernel(*params, a, out..., lo, hi)` in the shape of `a`; fresh arrays."""
    outs = tuple(np.empty(a.shape, d) for d in dtypes)
    over(a.size, kernel, *params, np.ascontiguousarray(a).reshape(-1), *(o.reshape(-1) for o in outs))
    return outs


def folded(kernel: Callable[..., Any], params: Sequence[Any], a: NDArray[Any], axis: int, dtype: Any) -> NDArray[Any]:
    """One axis folded by `kernel(*params, a[o, n, i], out[o, i], o_lo, o_hi, i_lo, i_hi)`, out starting at zero."""
    shape = a.shape[:axis] + a.shape[axis + 1 :]
    outer, inner = math.prod(a.shape[:axis]), math.prod(a.shape[axis + 1 :])
    cube = np.ascontiguousarray(a).reshape(outer, a.shape[axis], inner)
    out = np.zeros((outer, inner), dtype)
    if a.size < PARALLEL_FROM or idle() == 1 or max(outer, inner) < THREADS:
        kernel(*params, cube, out, 0, outer, 0, inner)
    elif outer >= THREADS:
        run_slices(outer, lambda s: kernel(*params, cube, out, s.start, s.stop, 0, inner))
    else:
        run_slices(inner, lambda s: kernel(*params, cube, out, 0, outer, s.start, s.stop))
    return out.reshape(shape)


def blocks(length: int, size: int) -> Iterator[slice]:
    """Consecutive slices of at most `size` that partition range(length)."""
    for lo in range(0, length, max(size, 1)):
        yield slice(lo, min(lo + max(size, 1), length))
