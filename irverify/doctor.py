"""``irverify doctor``: which frameworks and versions are usable here, and why not.

Takes nothing; gives findings about this machine.  Each package is imported in a process of its own, so that a broken
one cannot break the report.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

CORE = ("numpy", "ml_dtypes", "numba", "scipy", "mpmath", "z3", "jaxlib")
FRONT_ENDS = {"PyTorch": ("torch",), "Triton": ("torch", "triton"), "JAX and Pallas": ("jax",)}
NEURON = ("nki", "neuronx-cc", "nki-library")  # distributions of the Neuron SDK (PyPI has empty ones of these names)
REMEDY = {"torch": "pip install 'irverify[torch]'", "triton": "pip install 'irverify[triton]'"}
_IMPORT_SECONDS = 60
_PROBE = """
import importlib, json, sys, time
start = time.perf_counter()
module = importlib.import_module(sys.argv[1])
version = getattr(module, "__version__", None) or module.get_version_string()
print(json.dumps({"version": version, "seconds": time.perf_counter() - start}))
"""
_SAMPLE = {"torch": "import torch\n\n\ndef scale(x):\n    return x * 2.0 + x.sum(-1, keepdim=True)\n",
           "jax": "import jax\n\n\ndef scale(x):\n    return x * 2.0 + x.sum(-1, keepdims=True)\n"}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Package:
    """One package: its version, or why it cannot be used."""

    name: str
    version: str | None
    seconds: float = 0.0
    problem: str = ""

    def __str__(self) -> str:
        if self.version is None:
            return f"no   {self.name}: {self.problem}"
        return f"yes  {self.name} {self.version} (import {self.seconds:.2f} s)"


@dataclass(frozen=True, slots=True)
class Examination:
    """Everything that was found."""

    packages: dict[str, Package]
    caches: tuple[str, ...]

    def usable(self, names: tuple[str, ...]) -> bool:
        return all(self.packages[name].version is not None for name in names)


def examine() -> Examination:
    """Imports every package once."""
    names = dict.fromkeys([*CORE, *(name for needed in FRONT_ENDS.values() for name in needed)])
    return Examination({name: probe(name) for name in names}, tuple(cache_state()))


def probe(name: str) -> Package:
    """Imports one package in a fresh process."""
    try:
        run = subprocess.run(
            [sys.executable, "-c", _PROBE, name], capture_output=True, text=True, timeout=_IMPORT_SECONDS
        )
    except subprocess.TimeoutExpired:
        return Package(name, None, problem=f"importing it did not end within {_IMPORT_SECONDS} s")
    if run.returncode == 0:
        found = json.loads(run.stdout.splitlines()[-1])
        return Package(name, found["version"], found["seconds"])
    last = (run.stderr.strip().splitlines() or [f"its import ended with status {run.returncode}"])[-1]
    return Package(name, None, problem=f"{last}; {REMEDY.get(name, f'pip install {name}')}")


def cache_state() -> list[str]:
    """Where compiled code is kept, and whether it is filled."""
    root = Path(__file__).resolve().parents[1]
    filled = sum(1 for _ in (root / "equivalence").rglob("*.nbi"))
    writable = os.access(root / "equivalence", os.W_OK) or "NUMBA_CACHE_DIR" in os.environ
    place = os.environ.get("NUMBA_CACHE_DIR", str(root / "equivalence"))
    state = (
        f"{filled} compiled functions" if filled else "empty: the first comparison compiles (irverify doctor --warm)"
    )
    note = "" if writable else "; not writable, set NUMBA_CACHE_DIR to a directory that is"
    return [f"numba cache in {place}: {state}{note}"]


def nki_state() -> str:
    """NKI needs nothing; what of the Neuron SDK is there is said, and not used."""
    found = []
    for name in NEURON:
        with suppress(PackageNotFoundError):
            found.append(f"{name} {version(name)}")
    real = (
        f"{', '.join(found)} installed here is not used"
        if found
        else "no Neuron SDK is installed here, and none is used"
    )
    return f"NKI: usable, nothing has to be installed ({real})"


def print_findings(found: Examination, write: Callable[[str], object]) -> int:
    """The report; 0 when every package that irverify itself needs is there."""
    write(
        f"Python {platform.python_version()} on {platform.system()} {platform.machine()}, {os.cpu_count()} processors"
    )
    write("\nPackages")
    for package in found.packages.values():
        write(f"  {package}")
    write("\nWhat can be compared")
    write(f"  {nki_state()}")
    for kind, needed in FRONT_ENDS.items():
        lacking = [name for name in needed if found.packages[name].version is None]
        write(f"  {kind}: {'usable' if not lacking else 'not usable, for lack of ' + ', '.join(lacking)}")
    write("\nCaches")
    for line in found.caches:
        write(f"  {line}")
    return 0 if found.usable(CORE) else 1


def warm_caches(write: Callable[[str], object]) -> None:
    """Compares a tiny function with itself in each usable framework, which compiles and caches the inner loops."""
    from irverify.options import CompareOptions
    from irverify.orchestrate import compare

    with tempfile.TemporaryDirectory(prefix="irverify-warm-") as directory:
        for framework, source in _SAMPLE.items():
            if probe(framework).version is None:
                continue
            path = Path(directory) / f"{framework}_sample.py"
            path.write_text(source)
            report = compare(CompareOptions(a=str(path), b=str(path), inputs=("f32[5,7]",), shapes=("given",)))
            write(f"warmed with {framework}: {report.verdict.level} in {report.timings['total']:.1f} s")
