"""Runs every pair on CPU (Triton through its interpreter) and checks that its label is right.

Independent of irverify: a.py is compared with a float64 formula from truth.py and with b.py. A `different` pair must
disagree on the witness named in truth.py; `bitwise` pairs must agree to the bit; every other pair within a loose tolerance.
Usage: python corpora/smoke.py [--table] [name ...]
"""

from __future__ import annotations

import importlib.util
import os
import re
import sys
import time
import tomllib
from pathlib import Path
from types import ModuleType
from typing import Any, Callable

os.environ["TRITON_INTERPRET"] = "1"
os.environ.setdefault("JAX_PLATFORMS", "cpu")

HERE = Path(__file__).resolve().parent
DTYPES = {"f16": "float16", "bf16": "bfloat16", "f32": "float32", "f64": "float64", "i8": "int8", "i32": "int32", "i64": "int64"}
SPEC = re.compile(r"(?P<dtype>\w+)\[(?P<dims>[\d,]*)\](?: in \[(?P<low>-?\d+),(?P<high>-?\d+)\))?")
SLACK = 4096  # finite garbage behind every input: an out-of-bounds read gives a wrong number, not a crash
TOLERANCE = {"float16": 1e-2, "bfloat16": 6e-2, "float32": 2e-4, "float64": 1e-9}
LOSSY = 20  # tolerances granted to a pair with a finding: same real function, accuracy lost


def pairs() -> list[str]:
    """The folders that hold a pair."""
    return sorted(p.parent.name for p in HERE.glob("*/expect.toml"))


def expectation(name: str) -> dict[str, Any]:
    """The parsed expect.toml of a pair."""
    return tomllib.loads((HERE / name / "expect.toml").read_text())


def load(path: Path) -> ModuleType:
    """Imports one side under a name of its own."""
    spec = importlib.util.spec_from_file_location(f"corpora_{path.parent.name}_{path.stem}", path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def entry(module: ModuleType, name: str | None, init: list[Any]) -> Callable[..., Any]:
    """The subject: the named function, a KernelBench model, or the one public function the file defines."""
    import torch

    if name:
        return getattr(module, name)
    for model in ("ModelNew", "Model"):
        if hasattr(module, model):
            torch.manual_seed(0)
            return getattr(module, model)(*init)
    own = [f for n, f in vars(module).items() if callable(f) and getattr(f, "__module__", "") == module.__name__
           and not n.startswith(("_", "get_")) and type(f).__name__ not in ("InterpretedFunction", "JITFunction")]
    assert len(own) == 1, f"{module.__file__}: name the entry, one of {own}"
    return own[0]


def draw(spec: str, seed: int) -> Any:
    """A random tensor for `f32[37,130]` or `i64[5] in [0,130)`, at the front of a larger buffer."""
    import torch

    found = SPEC.fullmatch(spec)
    assert found, f"bad input {spec!r}"
    dtype = getattr(torch, DTYPES[found["dtype"]])
    shape = [int(d) for d in found["dims"].split(",") if d]
    count = int(torch.tensor(shape).prod()) + SLACK
    generator = torch.Generator().manual_seed(seed)
    if found["low"]:
        flat = torch.randint(int(found["low"]), int(found["high"]), (count,), generator=generator).to(dtype)
    else:
        flat = torch.randn(count, generator=generator).to(dtype)
    return flat[: count - SLACK].view(shape)


def is_jax(module: ModuleType) -> bool:
    """Whether the side takes jax arrays."""
    return hasattr(module, "jnp") or hasattr(module, "jax")


def outputs(module: ModuleType, name: str | None, inputs: list[Any], init: list[Any]) -> list[Any]:
    """Runs one side on copies of the inputs; the outputs and the inputs it may have written, as torch tensors."""
    import torch

    if is_jax(module):
        got = entry(module, name, init)(*[_to_jax(x) for x in inputs])
        written = inputs
    else:
        written = [_copy(x) for x in inputs]
        got = entry(module, name, init)(*written)
    got = [] if got is None else list(got) if isinstance(got, tuple | list) else [got]
    written = [x for x in written if isinstance(x, torch.Tensor)]
    return [_to_torch(x) for x in got] + written


def _copy(x: Any) -> Any:
    """A copy of a tensor that keeps finite garbage behind it."""
    import torch

    if not isinstance(x, torch.Tensor):
        return x
    flat = torch.full((x.numel() + SLACK,), 3, dtype=x.dtype)
    view = flat[: x.numel()].view(x.shape)
    view.copy_(x)
    return view


def _to_jax(x: Any) -> Any:
    """A torch tensor as a jax array; bf16 goes through f32, exactly."""
    import jax.numpy as jnp
    import torch

    return jnp.asarray(x.float().numpy(), dtype=jnp.bfloat16) if x.dtype == torch.bfloat16 else jnp.asarray(x.numpy())


def _to_torch(x: Any) -> Any:
    """A jax array as a torch tensor; bf16 goes through f32, exactly."""
    import numpy as np
    import torch

    if isinstance(x, torch.Tensor):
        return x.detach()
    if x.dtype.name == "bfloat16":
        return torch.from_numpy(np.array(x, dtype=np.float32)).bfloat16()
    return torch.from_numpy(np.array(x))


def coarsest(tensors: list[Any]) -> float:
    """The tolerance of the coarsest float dtype among the tensors."""
    return max(TOLERANCE.get(str(getattr(t, "dtype", "")).removeprefix("torch."), 0.0) for t in tensors)


def gap(left: list[Any], right: list[Any], tolerance: float) -> float:
    """The largest difference in units of the coarsest float's tolerance; infinite where shapes, dtypes or NaNs disagree."""
    import torch

    worst = 0.0
    for a, b in zip(left, right, strict=True):
        if a.shape != b.shape or a.dtype != b.dtype:
            return float("inf")
        if torch.equal(a, b):
            continue
        x, y = a.double(), b.double()
        if not torch.equal(x.isfinite(), y.isfinite()):
            return float("inf")
        x, y = x.nan_to_num(), y.nan_to_num()
        unit = max(tolerance, 1e-9) * (0.1 + torch.maximum(x.abs(), y.abs()))
        worst = max(worst, float(((x - y).abs() / unit).max()))
    return worst


def check(name: str) -> str:
    """Why the label of a pair is wrong, or an empty string."""
    import torch
    from truth import TRUTH, WITNESS

    torch.use_deterministic_algorithms(True)  # fills torch.empty with NaN: an unwritten output shows
    want = expectation(name)
    a, b = load(HERE / name / "a.py"), load(HERE / name / "b.py")
    make = next((m.get_inputs for m in (a, b) if hasattr(m, "get_inputs")), None)
    init = next((m.get_init_inputs() for m in (a, b) if hasattr(m, "get_init_inputs")), [])
    different = want["verdict"] == "different"
    for seed in range(1 if different else 3):
        torch.manual_seed(seed)
        inputs = make() if make else [draw(s, 17 * seed + i) for i, s in enumerate(want["inputs"])]
        if different and name in WITNESS:
            inputs = WITNESS[name](inputs)
        out_a = outputs(a, want.get("entry_a"), inputs, init)
        out_b = outputs(b, want.get("entry_b"), inputs, init)
        tolerance = coarsest(inputs + out_a)
        if name in TRUTH:
            true = TRUTH[name](*[x.double() if isinstance(x, torch.Tensor) and x.is_floating_point() else x for x in inputs])
            true = [t.to(o.dtype) for t, o in zip(true if isinstance(true, tuple) else (true,), out_a)]
            if (far := gap(true, out_a[: len(true)], tolerance)) > 1:
                return f"a.py is {far:.3g} tolerances from the float64 formula"
        far = gap(out_a, out_b, tolerance)
        if different and far <= 1:
            return f"labelled different, yet the witness shows {far:.3g} tolerances"
        if want["verdict"] == "bitwise" and far != 0:
            return f"labelled bitwise, yet {far:.3g} tolerances apart"
        if want["verdict"] == "undecided" and far <= 1:
            return "labelled undecided, yet the sides agree"
        if want["verdict"] in ("reassociated", "real", "close") and far > (LOSSY if "finding" in want else 1):
            return f"labelled {want['verdict']}, yet {far:.3g} tolerances apart"
    return _check_culprit(name, want) if different else ""


def _check_culprit(name: str, want: dict[str, Any]) -> str:
    """Whether the culprit's line still reads as recorded."""
    culprit = want["culprit"]
    lines = (HERE / name / culprit["file"]).read_text().splitlines()
    found = lines[culprit["line"] - 1].strip()
    return "" if found == culprit["code"] else f"culprit: line {culprit['line']} reads {found!r}"


def language(path: Path) -> str:
    """The framework a side is written in."""
    text = path.read_text()
    kinds = {"pallas": "Pallas", "triton": "Triton", "jax": "jnp", "torch": "PyTorch"}
    kind = next(v for k, v in kinds.items() if re.search(rf"^(import|from) .*\b{k}\b", text, re.M))
    return kind + " Model" if "class Model" in text else kind


def table() -> str:
    """The README's table."""
    rows = ["| name | a | b | verdict | bug |", "|---|---|---|---|---|"]
    for name in pairs():
        want = expectation(name)
        culprit = want.get("culprit", {})
        bug = " ".join(filter(None, (culprit.get("what", ""), want.get("bug", ""))))
        verdict = want["verdict"] + (f", {want['finding']}" if "finding" in want else "")
        rows.append(f"| {name} | {language(HERE / name / 'a.py')} | {language(HERE / name / 'b.py')} | {verdict} | {bug} |")
    return "\n".join(rows)


def main(arguments: list[str]) -> int:
    """Checks the named pairs, or all; returns the exit code."""
    if "--table" in arguments:
        print(table())
        return 0
    sys.path.insert(0, str(HERE))
    failures = 0
    for name in arguments or pairs():
        start = time.monotonic()
        try:
            problem = check(name)
        except Exception as error:
            problem = f"{type(error).__name__}: {error}"
        failures += bool(problem)
        print(f"{'FAIL' if problem else 'ok  '} {name} ({time.monotonic() - start:.1f} s) {problem}", flush=True)
    print(f"{failures} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
