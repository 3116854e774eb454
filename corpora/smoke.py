"""Runs every pair on CPU (Triton through its interpreter, NKI through nki_numpy.py) and checks that its label is right.

Independent of irverify: a.py must meet a float64 formula from truth.py, and b.py must stand to a.py as labelled.
A `different` pair must disagree on the witness named in truth.py, `bitwise` pairs must agree to the bit, `undecided`
ones disagree, all others agree within a loose tolerance.
Usage: python corpora/smoke.py [--table] [name ...]
"""

from __future__ import annotations

import importlib.util
import os
import re
import sys
import time
import tomllib
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

os.environ["TRITON_INTERPRET"] = "1"
os.environ.setdefault("JAX_PLATFORMS", "cpu")

HERE = Path(__file__).resolve().parent
SPEC = re.compile(r"(?P<dtype>\w+)\[(?P<dims>[\d,]*)\](?: in \[(?P<low>-?\d+),(?P<high>-?\d+)\))?")
DTYPES = {"f16": "float16", "bf16": "bfloat16", "f32": "float32", "i8": "int8", "i32": "int32", "i64": "int64"}
TOLERANCE = {"float16": 1e-2, "bfloat16": 6e-2, "float32": 2e-4}
LOSSY = 20  # tolerances granted to a pair with a finding: the same real function, accuracy lost
SLACK = 4096  # finite garbage behind every input: an out-of-bounds read gives a wrong number, not a crash
FRAMEWORKS = {
    "neuronxcc": "NKI Beta-1",
    "nki": "NKI",
    "pallas": "Pallas",
    "triton": "Triton",
    "jax": "jnp",
    "torch": "PyTorch",
}


def pairs() -> list[str]:
    """The folders that hold a pair."""
    return sorted(p.parent.name for p in HERE.glob("*/expect.toml"))


def expectation(name: str) -> dict[str, Any]:
    """The parsed expect.toml of a pair."""
    return tomllib.loads((HERE / name / "expect.toml").read_text())


def load(path: Path) -> ModuleType:
    """Imports one side under a name of its own; NKI's modules are numpy's stand-ins."""
    from nki_numpy import installed

    spec = importlib.util.spec_from_file_location(f"corpora_{path.parent.name}_{path.stem}", path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    with installed():
        spec.loader.exec_module(module)
    return module


@dataclass(frozen=True)
class Pair:
    """A pair with both sides imported."""

    name: str
    want: dict[str, Any]
    a: ModuleType
    b: ModuleType

    @classmethod
    def open(cls, name: str) -> Pair:
        """Imports the pair of that name."""
        return cls(name, expectation(name), load(HERE / name / "a.py"), load(HERE / name / "b.py"))

    def shared(self, function: str) -> Callable[[], list[Any]] | None:
        """get_inputs or get_init_inputs, from whichever side has it."""
        return next((getattr(m, function) for m in (self.a, self.b) if hasattr(m, function)), None)

    def inputs(self, seed: int) -> list[Any]:
        """Inputs from get_inputs, else random ones as declared; turned into the witness of a `different` pair."""
        import torch
        from truth import WITNESS

        torch.manual_seed(seed)
        make = self.shared("get_inputs")
        drawn = make() if make else [draw(s, 17 * seed + i) for i, s in enumerate(self.want["inputs"])]
        return WITNESS.get(self.name, lambda same: same)(drawn)

    def run(self, side: str, inputs: list[Any]) -> list[Any]:
        """What a side returns, then what it left in its inputs, as torch tensors."""
        module: ModuleType = getattr(self, side)
        init = self.shared("get_init_inputs")
        subject = entry(module, self.want.get(f"entry_{side}"), init() if init else [])
        given = [to_jax(x) for x in inputs] if is_jax(module) else [guarded(x) for x in inputs]
        got = subject(*given)
        got = [] if got is None else list(got) if isinstance(got, tuple | list) else [got]
        return [to_torch(x) for x in got + given]


def entry(module: ModuleType, name: str | None, init: list[Any]) -> Callable[..., Any]:
    """The subject: the named function, a KernelBench model, or the one public function the file defines."""
    import torch

    if name:
        return getattr(module, name)
    for model in ("ModelNew", "Model"):
        if hasattr(module, model):
            torch.manual_seed(0)
            return getattr(module, model)(*init)
    own = [f for n, f in vars(module).items() if not n.startswith(("_", "get_")) and _defined_in(f, module)]
    assert len(own) == 1, f"{module.__file__}: name the entry, one of {own}"
    return own[0]


def _defined_in(value: Any, module: ModuleType) -> bool:
    return isinstance(value, type(_defined_in)) and value.__module__ == module.__name__


def is_jax(module: ModuleType) -> bool:
    """Whether the side takes jax arrays."""
    return hasattr(module, "jnp") or hasattr(module, "jax")


def draw(spec: str, seed: int) -> Any:
    """A random tensor for `f32[37,130]` or `i64[5] in [0,130)`."""
    import torch

    found = SPEC.fullmatch(spec)
    assert found, f"bad input {spec!r}"
    dtype = getattr(torch, DTYPES[found["dtype"]])
    shape = [int(d) for d in found["dims"].split(",") if d]
    generator = torch.Generator().manual_seed(seed)
    if found["low"]:
        return torch.randint(int(found["low"]), int(found["high"]), shape, generator=generator).to(dtype)
    return torch.randn(shape, generator=generator).to(dtype)


def guarded(x: Any) -> Any:
    """A copy at the front of a larger buffer of threes."""
    import torch

    view = torch.full((x.numel() + SLACK,), 3, dtype=x.dtype)[: x.numel()].view(x.shape)
    view.copy_(x)
    return view


def to_jax(x: Any) -> Any:
    """A torch tensor as a jax array; bf16 goes through f32, exactly."""
    import jax.numpy as jnp
    import torch

    if x.dtype == torch.bfloat16:
        return jnp.asarray(x.float().numpy(), dtype=jnp.bfloat16)
    return jnp.asarray(x.numpy())


def to_torch(x: Any) -> Any:
    """A jax array as a torch tensor; bf16 goes through f32, exactly."""
    import numpy as np
    import torch

    if isinstance(x, torch.Tensor):
        return x.detach()
    if x.dtype.name == "bfloat16":
        return torch.from_numpy(np.array(x, dtype=np.float32)).bfloat16()
    return torch.from_numpy(np.array(x))


def coarsest(tensors: list[Any]) -> float:
    """The tolerance of the coarsest float dtype among the tensors; next to nothing where all are integers."""
    return max(TOLERANCE.get(str(t.dtype).removeprefix("torch."), 1e-9) for t in tensors)


def gap(left: list[Any], right: list[Any], tolerance: float) -> float:
    """The largest difference in tolerances; infinite where shapes, dtypes or the places of NaN and inf disagree."""
    import torch

    worst = 0.0
    for a, b in zip(left, right, strict=True):
        if a.shape != b.shape or a.dtype != b.dtype:
            return float("inf")
        x, y = a.double(), b.double()
        if not torch.equal(x.isfinite(), y.isfinite()):
            return float("inf")
        x, y = x.nan_to_num(), y.nan_to_num()
        unit = tolerance * (0.1 + torch.maximum(x.abs(), y.abs()))
        worst = max(worst, float(((x - y).abs() / unit).max()))
    return worst


def off_truth(pair: Pair, inputs: list[Any], got: list[Any]) -> float:
    """How far the outputs are from the float64 formula, in tolerances; zero where there is no formula."""
    import torch
    from truth import TRUTH

    if pair.name not in TRUTH:
        return 0.0
    true = TRUTH[pair.name](*[x.double() if x.is_floating_point() else x for x in inputs])
    true = [true] if isinstance(true, torch.Tensor) else list(true)
    got = got[: len(true)]
    return gap([t.to(g.dtype) for t, g in zip(true, got, strict=True)], got, coarsest(inputs + got))


def misjudged(pair: Pair, far: float) -> bool:
    """Whether a distance between the sides, in tolerances, contradicts the label."""
    verdict = pair.want["verdict"]
    if verdict in ("different", "undecided"):
        return far <= 1
    if verdict == "bitwise":
        return far != 0
    return far > (LOSSY if "finding" in pair.want else 1)


def check(name: str) -> str:
    """Why the label of a pair is wrong, or an empty string."""
    pair = Pair.open(name)
    for seed in range(3):
        inputs = pair.inputs(seed)
        a, b = pair.run("a", inputs), pair.run("b", inputs)
        if (far := off_truth(pair, inputs, a)) > 1:
            return f"a.py is {far:.3g} tolerances from the float64 formula"
        if misjudged(pair, far := gap(a, b, coarsest(inputs + a))):
            return f"labelled {pair.want['verdict']}, yet {far:.3g} tolerances apart"
    return stale_culprit(name, pair.want)


def stale_culprit(name: str, want: dict[str, Any]) -> str:
    """Says so when the culprit's line no longer reads as recorded; a `different` pair must have a culprit."""
    if want["verdict"] != "different":
        return ""
    culprit = want["culprit"]
    found = (HERE / name / culprit["file"]).read_text().splitlines()[culprit["line"] - 1].strip()
    return "" if found == culprit["code"] else f"culprit: line {culprit['line']} reads {found!r}"


def framework(path: Path) -> str:
    """What a side is written in."""
    text = path.read_text()
    kind = next(v for k, v in FRAMEWORKS.items() if re.search(rf"^(import|from) .*\b{k}\b", text, re.M))
    return f"{kind} Model" if "(nn.Module)" in text else kind


def table() -> str:
    """The README's table."""
    rows = ["| name | a | b | verdict | culprit | bug |", "|---|---|---|---|---|---|"]
    for name in pairs():
        want = expectation(name)
        verdict = ", ".join(filter(None, (want["verdict"], want.get("finding"))))
        sides = [framework(HERE / name / side) for side in ("a.py", "b.py")]
        cells = [name, *sides, verdict, want.get("culprit", {}).get("what", ""), want.get("bug", "")]
        rows.append("| " + " | ".join(cells) + " |")
    return "\n".join(rows)


def main(arguments: list[str]) -> int:
    """Checks the named pairs, or all; gives the exit code."""
    if "--table" in arguments:
        print(table())
        return 0
    import torch

    torch.use_deterministic_algorithms(True)  # fills torch.empty with NaN: an unwritten output shows
    warnings.simplefilter("ignore", RuntimeWarning)  # NaN and overflow are what some pairs are about
    sys.path.insert(0, str(HERE))
    failures = 0
    if not arguments and table() not in (HERE / "README.md").read_text():
        failures += 1
        print("FAIL README.md: its table is stale, see --table")
    for name in arguments or pairs():
        start = time.monotonic()
        try:
            problem = check(name)
        except Exception as error:
            problem = f"{type(error).__name__}: {error}"
        failures += bool(problem)
        print(f"{'FAIL' if problem else 'ok'} {name} ({time.monotonic() - start:.1f} s) {problem}".rstrip(), flush=True)
    print(f"{failures} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
