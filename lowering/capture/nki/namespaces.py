"""The modules `nki...` and `neuronxcc.nki...`, in place only while ``installed()`` lasts; and those of Neuron's hosts.

A finder on sys.meta_path, ahead of the others: PyPI has empty placeholders of these names.  Nothing is put on disk.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

_HERE = "lowering.capture.nki."
#: module that a kernel imports -> the module of ours whose names it has
MODULES = {
    "nki": "root_new",
    "nki.language": "language_new",
    "nki.isa": "isa_new",
    "nki.isa.constants": "enums_new",
    "nki.language.constants": "language_new",
    "nki.typing": "typing_beta1",
    "nki.dtype": "dtype_new",
    "nki.collectives": "collectives_new",
    "nki.compiler": "compiler_new",
    "nki.compiler.kernel_builder": "kernel_builder_new",
    "nki.runtime": "runtime_new",
    "nki.tensor": "tensor_module_new",
    "neuronxcc": "package_beta1",
    "neuronxcc.starfish": "package_beta1",
    "neuronxcc.starfish.support": "package_beta1",
    "neuronxcc.starfish.support.dtype": "language_beta1",
    "neuronxcc.nki": "root_beta1",
    "neuronxcc.nki.language": "language_beta1",
    "neuronxcc.nki.isa": "isa_beta1",
    "neuronxcc.nki.isa.constants": "isa_beta1",
    "neuronxcc.nki.language.constants": "language_beta1",
    "neuronxcc.nki.nccl": "nccl_beta1",
    "neuronxcc.nki.typing": "typing_beta1",
    "neuronxcc.nki.compiler": "compiler_beta1",
    "neuronxcc.nki.compiler.backends": "package_beta1",
    "neuronxcc.nki.compiler.backends.neuron": "package_beta1",
    "neuronxcc.nki.compiler.backends.neuron.dimensions": "backend_beta1",
    "neuronxcc.nki.compiler.backends.neuron.tensor": "backend_beta1",
    "neuronxcc.nki.compiler.backends.neuron.indexing": "backend_beta1",
}
_ROOTS = ("nki", "neuronxcc")
#: the packages through which host code reaches a device: of these every module is there, unless they are installed
_HOSTS = frozenset(["torch_xla", "torch_neuronx", "jax_neuronx", "libneuronxla", "neuronx_distributed",
                    "neuronx_distributed_inference"])  # fmt: skip


class _Finder(MetaPathFinder, Loader):
    """Answers for every module under the two roots; what is not in MODULES is no module."""

    def find_spec(self, fullname: str, path: Sequence[str] | None = None, target: Any = None) -> ModuleSpec | None:
        if fullname.split(".")[0] in _HOSTS and PathFinder.find_spec(fullname.split(".")[0]) is None:
            return ModuleSpec(fullname, self, is_package=True)
        if fullname not in MODULES:
            return None
        return ModuleSpec(fullname, self, is_package=any(other.startswith(fullname + ".") for other in MODULES))

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        if spec.name not in MODULES:
            hosts = importlib.import_module(_HERE + "neuron_hosts")
            host = ModuleType(spec.name, hosts.__doc__)
            host.__getattr__ = hosts.found_in(spec.name)  # type: ignore[method-assign]
            return host
        ours = importlib.import_module(_HERE + MODULES[spec.name])
        module = ModuleType(spec.name, ours.__doc__)
        module.__dict__.update(_shown(ours))
        module.__getattr__ = getattr(ours, "__getattr__", _missing(spec.name))  # type: ignore[method-assign]
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Filled when it was made."""


def _shown(ours: ModuleType) -> dict[str, Any]:
    """What a kernel may find: where a module says ``__all__``, that and what it defines itself."""
    names, listed = vars(ours), getattr(ours, "__all__", None)
    if listed is None:
        return {key: value for key, value in names.items() if not key.startswith("__")}
    own = (key for key, value in names.items() if getattr(value, "__module__", None) == ours.__name__)
    return {key: names[key] for key in [*listed, *own] if not key.startswith("_")}


def _loader(module: ModuleType | None) -> Any:
    return getattr(getattr(module, "__spec__", None), "loader", None)


def _missing(module: str) -> Any:
    def get(name: str) -> Any:
        raise AttributeError(f"module {module!r} has no attribute {name!r}")

    return get


@contextmanager
def installed() -> Iterator[None]:
    """The namespaces are there inside, and afterwards nothing of them is left in sys.modules."""
    finder = _Finder()
    kept = {name: module for name, module in sys.modules.items() if name.split(".")[0] in _ROOTS}
    for name in kept:
        del sys.modules[name]
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        for name in [name for name, module in sys.modules.items() if _loader(module) is finder]:
            del sys.modules[name]
        sys.modules.update(kept)
