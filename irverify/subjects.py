"""What a file offers, read without running it: entry candidates, signatures, framework, get_inputs.

Takes a path ('a.py' or 'a.py:entry'); gives a Subject per side with its entry decided.  Executes nothing: the user's
file runs only in the worker.
"""

from __future__ import annotations

import ast
import difflib
from dataclasses import dataclass, field
from pathlib import Path

from irverify.defaults import body_of
from irverify.frameworks import detect
from lowering.errors import Span, Unsupported, UsageError

PRIVATE_NAMES = frozenset({"get_inputs", "get_init_inputs", "main"})
_NOT_ENTRIES = ("_", "test_", "bench_", "benchmark")
_DEVICE_DECORATORS = ("triton.jit", "triton.autotune", "triton.heuristics", "jit", "autotune", "heuristics")
_FOREIGN = {
    ".cu": "CUDA C++ source",
    ".cuh": "CUDA C++ source",
    ".ptx": "PTX",
    ".hip": "HIP source",
    ".cpp": "C++ source",
    ".ipynb": "a notebook (use irverify.compare in it)",
}


@dataclass(frozen=True, slots=True)
class Candidate:
    """A function or class that could be the entry, with its parameters as written."""

    name: str
    line: int
    signature: str
    parameters: tuple[str, ...]
    is_class: bool = False


@dataclass(slots=True)
class SourceFile:
    """One file, parsed: what it defines and what it uses."""

    path: Path
    tree: ast.Module
    candidates: list[Candidate] = field(default_factory=list)
    models: list[Candidate] = field(default_factory=list)
    defines: frozenset[str] = frozenset()
    used: frozenset[str] = frozenset()  # names that some other definition of the file refers to

    def candidate(self, name: str) -> Candidate | None:
        return next((found for found in [*self.candidates, *self.models] if found.name == name), None)


@dataclass(frozen=True, slots=True)
class Side:
    """One side, ready to run: the file, the entry's dotted name, its framework, and what else the file defines."""

    path: Path
    entry: str
    framework: str
    defines: frozenset[str]
    signature: str


def split_entry(text: str) -> tuple[str, str | None]:
    """'a.py:softmax' as ('a.py', 'softmax'); a Windows drive letter is not an entry."""
    path, colon, entry = text.rpartition(":")
    is_entry = colon and entry and all(part.isidentifier() for part in entry.split(".")) and len(path) > 1
    return (path, entry) if is_entry else (text, None)


def _near(path: Path) -> str:
    """A question about the file beside it that was probably meant."""
    beside = [p.name for p in path.parent.glob("*.py")] if path.parent.is_dir() else []
    near = difflib.get_close_matches(path.name, beside, 1)
    return f" (did you mean {path.parent / near[0]}?)" if near else ""


def read_source(path_text: str) -> SourceFile:
    """Parses a file; a usage error says why it cannot be read, an Unsupported what kind of file it is."""
    path = Path(path_text)
    if not path.exists():
        raise UsageError(
            f"{path_text}: there is no such file{_near(path)}; give the path of a Python file, or path:entry"
        )
    if path.is_dir():
        raise UsageError(f"{path_text} is a directory; give the path of a Python file in it, or path:entry")
    if path.suffix in _FOREIGN:
        raise Unsupported(_FOREIGN[path.suffix], Span(path_text), "only Python files are read so far")
    try:
        tree = ast.parse(path.read_bytes(), filename=path_text)
    except SyntaxError as error:
        line = (error.text or "").strip()
        raise UsageError(f"{path_text}:{error.lineno}: syntax error: {error.msg}\n    {line}") from None
    except (OSError, ValueError) as error:
        raise UsageError(f"{path_text} cannot be read: {error}") from None
    return _survey(path, tree)


def _survey(path: Path, tree: ast.Module) -> SourceFile:
    source = SourceFile(path, tree, defines=frozenset(_defined_names(tree)))
    for node in tree.body:
        match node:
            case ast.FunctionDef() if _is_public(node.name) and not _is_device_code(node):
                source.candidates.append(_function(node))
            case ast.ClassDef() if node.name in ("Model", "ModelNew"):
                source.models.append(_model(node))
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call() as call) if _makes_function(call):
                if _is_public(name):
                    source.candidates.append(Candidate(name, node.lineno, f"{name}(...)", ()))
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Lambda(args=args)) if _is_public(name):
                signature = f"{name}({ast.unparse(args)})"
                source.candidates.append(Candidate(name, node.lineno, signature, _parameters(args)))
    source.used = frozenset(_references(tree))
    return source


def _defined_names(tree: ast.Module) -> list[str]:
    names: list[str] = []
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
            names.append(node.name)
        elif isinstance(node, ast.Assign):
            names += [target.id for target in node.targets if isinstance(target, ast.Name)]
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names += [(alias.asname or alias.name) for alias in node.names]
    return names


def _is_public(name: str) -> bool:
    return not name.startswith(_NOT_ENTRIES) and name not in PRIVATE_NAMES


def _is_device_code(node: ast.FunctionDef) -> bool:
    """True for a Triton kernel: ``jax.jit`` is host code, a bare ``jit`` or ``triton.jit`` is not."""
    for decorator in node.decorator_list:
        target = decorator.func if isinstance(decorator, ast.Call) else decorator
        if ast.unparse(target) in _DEVICE_DECORATORS and not _takes_arrays_only(node):
            return True
    return False


def _takes_arrays_only(node: ast.FunctionDef) -> bool:
    """A bare ``@jit`` is ambiguous (``from jax import jit``): a kernel returns nothing, a jax function returns."""
    bare = any(isinstance(decorator, ast.Name) for decorator in node.decorator_list)
    returns = any(isinstance(inner, ast.Return) and inner.value is not None for inner in ast.walk(node))
    takes_constexpr = "constexpr" in ast.unparse(node.args)
    return bare and returns and not takes_constexpr


def _makes_function(call: ast.Call) -> bool:
    return ast.unparse(call.func) in ("jax.jit", "jit", "functools.partial", "partial", "jax.vmap", "torch.compile")


def _function(node: ast.FunctionDef) -> Candidate:
    return Candidate(node.name, node.lineno, f"{node.name}({ast.unparse(node.args)})", _parameters(node.args))


def _model(node: ast.ClassDef) -> Candidate:
    forward = next((n for n in node.body if isinstance(n, ast.FunctionDef) and n.name == "forward"), None)
    if forward is None:
        return Candidate(node.name, node.lineno, f"{node.name}.forward(...)", (), is_class=True)
    arguments = ast.unparse(forward.args).removeprefix("self").removeprefix(",").strip()
    signature = f"{node.name}.forward({arguments})"
    return Candidate(node.name, node.lineno, signature, _parameters(forward.args)[1:], is_class=True)


def _parameters(args: ast.arguments) -> tuple[str, ...]:
    return tuple(arg.arg for arg in [*args.posonlyargs, *args.args, *args.kwonlyargs])


def _references(tree: ast.Module) -> list[str]:
    """Names that a definition refers to outside itself: helpers and kernels of an entry, not entries."""
    names: list[str] = []
    for node in tree.body:
        own = getattr(node, "name", None)
        if not isinstance(node, ast.Assign) and (own is None or not _is_public(own.lstrip("_"))):
            continue  # a test or a __main__ block calls the entry; that does not make it a helper
        names += [n.id for n in ast.walk(node) if isinstance(n, ast.Name) and n.id != own and _is_load(n)]
    return names


def _is_load(name: ast.Name) -> bool:
    return isinstance(name.ctx, ast.Load)


def choose_entries(a: SourceFile, b: SourceFile, entry_a: str | None, entry_b: str | None) -> tuple[str, str]:
    """The entry of each side: named, Model/ModelNew, the one public function, the same name on both sides."""
    options_a, options_b = _options(a, entry_a, "Model"), _options(b, entry_b, "ModelNew")
    shared = [name for name in options_a if name in options_b]
    if len(shared) == 1 and (len(options_a) == 1) != (len(options_b) == 1):
        _refuse_one_text(a, b, shared[0], [*options_a, *options_b])
    if len(shared) == 1 and (len(options_a) > 1 or len(options_b) > 1):
        options_a, options_b = (
            shared if len(options_a) > 1 else options_a,
            shared if len(options_b) > 1 else options_b,
        )
    return _the_one(a, options_a, "a"), _the_one(b, options_b, "b")


def _refuse_one_text(a: SourceFile, b: SourceFile, name: str, public: list[str]) -> None:
    """A port's file that keeps the reference under its name: comparing the two copies says nothing of the port."""
    texts = [body_of(source.tree, name) for source in (a, b)]
    others = [other for other in dict.fromkeys(public) if other != name]
    if others and texts[0] is not None and texts[0] == texts[1]:
        raise UsageError(
            f"{name} is the same text in {a.path} and {b.path}, which also have {', '.join(others)}; "
            f"name what to compare: --entry-a NAME --entry-b NAME"
        )


def choose_entry(source: SourceFile, entry: str | None) -> str:
    """The entry of a file on its own (``irverify lower``)."""
    return _the_one(source, _options(source, entry, "Model"), None)


def _options(source: SourceFile, entry: str | None, preferred_model: str) -> list[str]:
    if entry is not None:
        return [entry]
    models = [model.name for model in source.models]
    if models:
        return [preferred_model] if preferred_model in models else models[:1]
    public = [candidate.name for candidate in source.candidates]
    roots = [name for name in public if name not in source.used]
    return roots or public


def _the_one(source: SourceFile, names: list[str], side: str | None) -> str:
    if len(names) == 1:
        return names[0]
    option = f"--entry-{side} NAME" if side else "--entry NAME"
    if not names:
        raise UsageError(
            f"{source.path}: no public function and no Model or ModelNew is defined here; "
            f"name the function to compare: {source.path}:NAME or {option}"
        )
    lines = [source.candidate(name) for name in names]
    listing = "\n".join(f"    {c.signature}  (line {c.line})" for c in lines if c)
    raise UsageError(
        f"{source.path}: {len(names)} functions could be meant; name one: {source.path}:{names[0]} or {option}\n"
        + listing
    )


def side_of(source: SourceFile, entry: str) -> Side:
    """The side that a worker can run.  An imported or nested entry is allowed when it was named explicitly."""
    known = source.candidate(entry)
    top = entry.split(".")[0]
    if known is None and top not in source.defines and not _has_star_import(source.tree):
        names = ", ".join(c.name for c in [*source.candidates, *source.models]) or "none"
        raise UsageError(f"{source.path}: {entry!r} is not defined here; public functions: {names}")
    framework = detect(source.path, source.tree, entry)
    signature = known.signature if known else f"{entry}(...)"
    return Side(source.path, entry, framework, source.defines, signature)


def _has_star_import(tree: ast.Module) -> bool:
    return any(isinstance(n, ast.ImportFrom) and n.names[0].name == "*" for n in ast.walk(tree))


def missing_inputs(a: Side, b: Side) -> UsageError:
    """The error when nothing says what to call the functions with: it shows what to write for this signature."""
    names = [part.split(":")[0].split("=")[0].strip() for part in a.signature.partition("(")[2][:-1].split(",")]
    names = [name for name in names if name and name not in ("*", "/", "...")]
    example = " ".join(f"--input '{name}=f32[37,130]'" for name in names) or "--input 'f32[37,130]'"
    sides = {f"    {side.path.name}: {side.signature}": side for side in (a, b)}
    lacking = f"neither {a.path.name} nor {b.path.name} defines" if a is not b else f"{a.path.name} does not define"
    return UsageError(
        f"nothing says which inputs to use: {lacking} get_inputs().\n"
        + "\n".join(sides)
        + f"\nWrite one --input per argument, for example:\n    {example}"
    )
