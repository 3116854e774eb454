"""Attributes of modules that are slow to import: set when, and only if, somebody imports the module.

Gives installed().  Must not import the modules.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any


class _Late(MetaPathFinder):
    """Finds the named modules where they are and changes them once they have run."""

    def __init__(self, attributes: Mapping[str, Mapping[str, Any]]) -> None:
        self.attributes = attributes

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None) -> Any:
        if fullname not in self.attributes:
            return None
        others = [finder for finder in sys.meta_path if finder is not self and hasattr(finder, "find_spec")]
        spec = next((s for f in others if (s := f.find_spec(fullname, path, target)) is not None), None)
        if spec is not None and spec.loader is not None:
            spec.loader = _Changing(spec.loader, self.attributes[fullname])
        return spec


class _Changing(Loader):
    """Another loader; the module gets its attributes after it has run."""

    def __init__(self, loader: Loader, attributes: Mapping[str, Any]) -> None:
        self.loader, self.attributes = loader, attributes

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self.loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self.loader.exec_module(module)
        for name, value in self.attributes.items():
            setattr(module, name, value)


def _forget(name: str) -> None:
    """A module that was imported meanwhile: whoever comes next gets an unchanged one."""
    parent, _, child = name.rpartition(".")
    if sys.modules.pop(name, None) is not None and hasattr(sys.modules.get(parent), child):
        delattr(sys.modules[parent], child)


@contextmanager
def installed(attributes: Mapping[str, Mapping[str, Any]]) -> Iterator[None]:
    """``attributes`` by module; modules that are imported already are changed at once.  Undone at exit."""
    old: list[tuple[ModuleType, dict[str, Any]]] = []
    for name, changes in attributes.items():
        module = sys.modules.get(name)
        if module is not None:
            old.append((module, {key: getattr(module, key) for key in changes}))
            for key, value in changes.items():
                setattr(module, key, value)
    finder = _Late(attributes)
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        for name in attributes.keys() - {module.__name__ for module, _ in old}:
            _forget(name)
        for module, values in old:
            for key, value in values.items():
                setattr(module, key, value)


__all__ = ["installed"]
