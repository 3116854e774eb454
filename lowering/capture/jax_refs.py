"""Windows of a Ref (x_ref[pl.ds(i, n)]) that reach past its end, which jax's interpreter silently shifts inside.

Gives ``guarded_refs``.  Within it, and inside a kernel, lanes past the end read as undefined and writes to them are
dropped.  Indices known when tracing need no guard: jax has checked them.  Only Refs of floats are guarded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from types import SimpleNamespace
from typing import Any
from unittest import mock


class Starts(tuple[Any, ...]):
    """Start indices; ``reach`` says per dimension how far past the end the window may lie."""

    reach: tuple[int, ...] = ()


@contextmanager
def guarded_refs(discharge: Any, primitives: Any, kernels: Sequence[Any]) -> Iterator[None]:
    """``discharge`` is jax's module that turns Refs into arrays; ``kernels`` is empty outside a Pallas kernel."""
    slicing = SimpleNamespace(**vars(discharge.lax_slicing))
    slicing.dynamic_slice = _reading(discharge.lax_slicing.dynamic_slice, primitives)
    slicing.dynamic_update_slice = _writing(discharge.lax_slicing.dynamic_update_slice, primitives)
    with ExitStack() as patches:
        swap = patches.enter_context
        swap(mock.patch.object(discharge, "_maybe_convert_to_dynamic_slice", _measured(discharge, kernels)))
        swap(mock.patch.object(discharge, "lax_slicing", slicing))
        yield


def _measured(discharge: Any, kernels: Sequence[Any]) -> Callable[..., Any]:
    original = discharge._maybe_convert_to_dynamic_slice

    def convert(indexer: Any) -> Any:
        found = original(indexer)
        if found is None or not kernels:
            return found
        starts, sizes, squeezed = found
        marked = Starts(starts)
        given = [getattr(index, "start", index) for index in indexer.indices]
        marked.reach = tuple(0 if _is_known(start) else size for start, size in zip(given, sizes, strict=True))
        return marked, sizes, squeezed

    return convert


def _may_leave(x: Any, starts: Any) -> bool:
    """Integers are not guarded: they steer index maps and control, which must stay concrete."""
    import jax

    return any(getattr(starts, "reach", ())) and bool(jax.numpy.issubdtype(x.dtype, jax.numpy.floating))


def _is_known(start: Any) -> bool:
    from jax.core import Tracer

    return not isinstance(start, Tracer)


def _extended(x: Any, starts: Any, primitives: Any) -> Any:
    """x with undefined lanes after its end, as many as the window may reach past it."""
    import jax

    filler = primitives.uninitialized_value((), x.dtype)
    return jax.lax.pad(x, filler, [(0, past, 0) for past in starts.reach])


def _reading(original: Callable[..., Any], primitives: Any) -> Callable[..., Any]:
    def dynamic_slice(x: Any, starts: Any, sizes: Any) -> Any:
        if _may_leave(x, starts):
            x = _extended(x, starts, primitives)
        return original(x, tuple(starts), sizes)

    return dynamic_slice


def _writing(original: Callable[..., Any], primitives: Any) -> Callable[..., Any]:
    def dynamic_update_slice(x: Any, update: Any, starts: Any) -> Any:
        import jax

        if not _may_leave(x, starts):
            return original(x, update, tuple(starts))
        written = original(_extended(x, starts, primitives), update, tuple(starts))
        return jax.lax.slice(written, (0,) * x.ndim, x.shape)

    return dynamic_update_slice
