"""Kernels that the user registered for torch operators: torch.library.impl, custom_op, triton_op.

Takes registrations made while a session is open; gives them to the dispatcher, which calls them on virtual tensors.
Must not know about traces.  Torch's own dispatch would never reach a kernel under the CUDA key: virtual tensors are
'meta' tensors there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch.library import Library

_OURS = ("CUDA", "CompositeExplicitAutograd", "CompositeImplicitAutograd")


def _name(library: Library, op: Any) -> str:
    """'ns.op.overload', as str(OpOverload) spells it."""
    if not isinstance(op, str):
        return str(op)
    name = op.split("::")[-1]
    return f"{library.ns}.{name if '.' in name else name + '.default'}"


def _wanted(library: Library, key: str) -> bool:
    """CUDA kernels always; composite ones only of the user's own namespaces (aten's are torch's own)."""
    return key in _OURS and (key == "CUDA" or library.ns != "aten")


def install(table: dict[str, Callable[..., Any]]) -> Callable[[], None]:
    """Notes registrations in ``table`` until the returned undo function is called."""
    old_impl, old_destroy = Library.impl, Library._destroy
    owned: dict[int, list[str]] = {}

    def impl(self: Library, op_name: Any, fn: Any, dispatch_key: str = "", **options: Any) -> Any:
        key = dispatch_key or getattr(self, "dispatch_key", "")
        if _wanted(self, key) and callable(fn):
            name = _name(self, op_name)
            table[name] = fn
            owned.setdefault(id(self), []).append(name)
        return old_impl(self, op_name, fn, dispatch_key, **options)

    def destroy(self: Library) -> None:
        for name in owned.pop(id(self), []):
            table.pop(name, None)
        old_destroy(self)

    Library.impl, Library._destroy = impl, destroy  # type: ignore[method-assign]

    def undo() -> None:
        Library.impl, Library._destroy = old_impl, old_destroy  # type: ignore[method-assign]

    return undo
