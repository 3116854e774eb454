"""Which framework a file belongs to, from its imports alone (followed into the modules beside it).

Takes a parsed file and its entry; gives 'torch', 'jax', 'nki' or 'nki-torch' (torch host code that calls NKI kernels),
or Unsupported for frameworks that are not there yet.
"""

from __future__ import annotations

import ast
import importlib.util
from collections.abc import Iterator
from pathlib import Path

from lowering.errors import Span, Unsupported

_ROOTS = {
    "torch": "torch", "triton": "torch", "jax": "jax", "jaxlib": "jax", "flax": "jax",
    "torch_xla": "torch", "torch_neuronx": "torch", "nki": "nki", "neuronxcc": "nki",
    "tilelang": "TileLang kernels", "cutlass": "CuTe kernels",
    "cupy": "CuPy kernels", "mlx": "MLX kernels", "tensorflow": "TensorFlow", "numba": "Numba kernels",
}  # fmt: skip
_SUPPORTED = ("nki", "torch", "jax")  # where a file uses both, the first
_PLAIN = "torch"  # of a file that imports none
_MAX_FILES = 40  # followed imports per subject: enough for a package's own helpers, never the whole site-packages


def detect(path: Path, tree: ast.Module, entry: str) -> str:
    """The framework of ``entry``: of what it uses, else of the file, else of the modules that the file imports."""
    aliases = dict(_imports(tree))
    used = {_ROOTS[aliases[n]] for n in _names_reached(tree, entry) if aliases.get(n) in _ROOTS}
    in_file = {_ROOTS[root] for root in aliases.values() if root in _ROOTS}
    found = used or in_file or _followed(path, tree)
    foreign = sorted(found.difference(_SUPPORTED))
    if foreign and not found.intersection(_SUPPORTED):
        raise Unsupported(
            foreign[0], _import_span(path, tree), "only torch, Triton, JAX, Pallas and NKI are read so far"
        )
    if {"nki", "torch"} <= found and _is_torch_host(tree, aliases, entry, used):
        return "nki-torch"
    return next((framework for framework in _SUPPORTED if framework in found), _PLAIN)


def _is_torch_host(tree: ast.Module, aliases: dict[str, str], entry: str, used: set[str]) -> bool:
    """Whether the entry is torch code that calls kernels, and is none itself."""
    if "torch" not in used:
        return False
    own = next((n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == entry), None)
    decorators = own.decorator_list if own is not None else []
    names = {node.id for one in decorators for node in ast.walk(one) if isinstance(node, ast.Name)}
    return not any(_ROOTS.get(aliases.get(name, "")) == "nki" for name in names)


def _imports(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """(name bound in the file, root package) of every absolute import."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.asname or alias.name.split(".")[0], alias.name.split(".")[0]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                yield alias.asname or alias.name, node.module.split(".")[0]


def _names_reached(tree: ast.Module, entry: str) -> set[str]:
    """Names used by the entry and by the definitions of this file that it reaches."""
    bodies = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    names, todo, seen = set(), [entry.split(".")[0]], set()
    while todo:
        node = bodies.get(current := todo.pop())
        if node is None or current in seen:
            continue
        seen.add(current)
        reached = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
        names |= reached
        todo += reached
    return names


def _followed(path: Path, tree: ast.Module) -> set[str]:
    """The first frameworks found in imported modules, breadth first."""
    todo, seen = list(_module_files(path, tree)), {path.resolve()}
    while todo and len(seen) < _MAX_FILES:
        current = todo.pop(0)
        if current.resolve() in seen:
            continue
        seen.add(current.resolve())
        inner = _parsed(current)
        found = {_ROOTS[root] for _, root in _imports(inner) if root in _ROOTS}
        if found:
            return found
        todo += _module_files(current, inner)
    return set()


def _parsed(path: Path) -> ast.Module:
    try:
        return ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return ast.Module([], [])


def _module_files(path: Path, tree: ast.Module) -> Iterator[Path]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield from _located(path, alias.name, 0)
        elif isinstance(node, ast.ImportFrom):
            yield from _located(path, node.module or "", node.level)
            for alias in node.names if node.level else ():
                yield from _located(path, f"{node.module or ''}.{alias.name}".strip("."), node.level)


def _located(path: Path, module: str, level: int) -> Iterator[Path]:
    """The file of a module: relative, beside the importing file, or in an installed package (nothing is imported)."""
    parts = module.split(".") if module else []
    bases = [path.resolve().parents[level - 1]] if level else [path.resolve().parent, *_package_roots(parts)]
    for base in bases:
        target = base.joinpath(*parts)
        for candidate in (target.with_suffix(".py"), target / "__init__.py"):
            if parts and candidate.is_file():
                yield candidate
                return


def _package_roots(parts: list[str]) -> list[Path]:
    try:
        spec = importlib.util.find_spec(parts[0])  # top level only: finding a submodule would import its parent
    except (ImportError, ValueError, IndexError):
        return []
    return [Path(found).parent for found in (spec.submodule_search_locations or [])] if spec else []


def _import_span(path: Path, tree: ast.Module) -> Span:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom) and any(root in _ROOTS for _, root in _imports(node)):
            return Span(str(path), node.lineno, node.col_offset + 1)
    return Span(str(path))
