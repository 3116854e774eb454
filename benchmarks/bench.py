"""``python -m benchmarks.bench [--growth]``: whole processes, each peer in the same run; prints a table.

Time is wall clock and processor time (user + system, children included): the second hardly depends on what else the
machine does.  Memory is the peak resident size of the judging process.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.plot import drawn

KERNELS = Path(__file__).parent / "kernels"
ROOT = Path(__file__).resolve().parents[1]
TASKS: dict[str, list[str]] = {
    "matmul": ["f16[1024,1024]"] * 2,
    "softmax": ["f32[4096,4096]"],
    "attention": ["f16[8,1024,64]"] * 3,
}
SIZES: dict[str, list[list[str]]] = {
    "matmul": [[f"f16[{n},{n}]"] * 2 for n in (256, 512, 768, 1024)],
    "softmax": [[f"f32[{n},4096]"] for n in (512, 1024, 2048, 4096)],
    "attention": [[f"f16[8,{n},64]"] * 3 for n in (256, 512, 1024, 2048)],
}
OPERATIONS = {"matmul": lambda s: 2 * s[0] ** 3, "softmax": lambda s: 5 * s[0] * s[1],
              "attention": lambda s: 4 * s[0] * s[1] ** 2 * s[2]}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Cost:
    """One process: seconds of wall clock and of processor, peak MiB."""

    wall: float
    cpu: float
    memory: float


def measured(command: Sequence[str]) -> Cost:
    """Runs a process to its end; its output is dropped, an exit code above 1 is an error."""
    start = time.monotonic()
    out = os.open(os.devnull, os.O_WRONLY)
    pid = os.posix_spawn(command[0], command, os.environ, file_actions=[(os.POSIX_SPAWN_DUP2, out, 1)])
    os.close(out)
    _, status, usage = os.wait4(pid, 0)
    if os.waitstatus_to_exitcode(status) > 1 or os.waitstatus_to_exitcode(status) < 0:
        raise SystemExit(f"{' '.join(command)} ended with status {os.waitstatus_to_exitcode(status)}")
    return Cost(time.monotonic() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def median(costs: Sequence[Cost]) -> Cost:
    return Cost(*(statistics.median(getattr(c, name) for c in costs) for name in ("wall", "cpu", "memory")))


def compare(name: str, specs: Sequence[str], *options: str) -> Cost:
    files = [str(KERNELS / f"{name}_{kind}.py") for kind in ("triton", "jax")]
    inputs = [word for spec in specs for word in ("--input", spec)]
    return measured([sys.executable, "-m", "irverify.cli", "compare", *files, *inputs, *options])


def peer(name: str, specs: Sequence[str]) -> Cost:
    return measured([sys.executable, "-m", "benchmarks.peer", str(KERNELS / f"{name}_triton.py"), *specs])


def ratios(runs: int) -> None:
    print(f"{'task':<12}{'compare':>10}{'cpu':>8}{'peer':>10}{'cpu':>8}{'ratio':>8}{'by cpu':>8}{'peak MiB':>10}")
    for name, specs in TASKS.items():
        pairs = [(peer(name, specs), compare(name, specs)) for _ in range(runs)]
        other, own = median([p for p, _ in pairs]), median([c for _, c in pairs])
        print(f"{name:<12}{own.wall:>9.1f}s{own.cpu:>7.1f}s{other.wall:>9.1f}s{other.cpu:>7.1f}s"
              f"{own.wall / other.wall:>8.2f}{own.cpu / other.cpu:>8.2f}{own.memory:>10.0f}", flush=True)  # fmt: skip


def bounds() -> None:
    """What `error` adds to the run at the given shape, and to a whole compare of that much processor time."""
    print(f"{'task':<12}{'without':>9}{'with':>9}{'ratio':>8}{'compare':>9}{'ratio':>8}   seconds of the processor")
    for name, specs in TASKS.items():
        command = [sys.executable, "-m", "benchmarks.error_cost", name, *specs]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        without, own = (float(word) for word in done.stdout.split())
        whole = compare(name, specs).cpu
        print(f"{name:<12}{without:>8.2f}s{own:>8.2f}s{own / without:>8.2f}{whole:>8.1f}s"
              f"{whole / (whole - own + without):>8.2f}", flush=True)  # fmt: skip


def small(runs: int) -> None:
    """The start: --help, and a small pair from a cold process with warm caches."""
    commands = {
        "irverify --help": [sys.executable, "-m", "irverify.cli", "--help"],
        "small softmax pair": [sys.executable, "-m", "irverify.cli", "compare", str(ROOT / "corpora/softmax/a.py"),
                               str(ROOT / "corpora/softmax/b.py"), "--input", "f32[37,130]"],
    }  # fmt: skip
    for words, command in commands.items():
        cost = median([measured(command) for _ in range(runs)])
        print(f"{words:<20}{cost.wall:>8.2f}s wall{cost.cpu:>8.2f}s cpu{cost.memory:>8.0f} MiB", flush=True)


def extents(spec: str) -> list[int]:
    return [int(n) for n in spec.partition("[")[2].rstrip("]").split(",")]


def growth(runs: int, picture: str | None) -> None:
    """Compare at the given shape only, at growing sizes: seconds of judging against the kernel's own operations."""
    print(f"{'task':<12}{'shape':<18}{'operations':>12}{'cpu':>9}{'wall':>9}{'judge':>9}{'judge ns/op':>13}")
    curves: dict[str, list[tuple[float, float]]] = {}
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory) / "report.json"
        for name, sizes in SIZES.items():
            for specs in sizes:
                costs, judging = [], []
                for _ in range(runs):
                    costs.append(compare(name, specs, "--shapes", "given", "--json", str(file)))
                    timings = json.loads(file.read_text())["timings"]
                    judging.append(timings["evaluate"] + timings["real"])
                cost, judge = median(costs), statistics.median(judging)
                count = OPERATIONS[name](extents(specs[0]))
                curves.setdefault(name, []).append((count, judge))
                print(f"{name:<12}{specs[0]:<18}{count:>12.2e}{cost.cpu:>8.1f}s{cost.wall:>8.1f}s{judge:>8.2f}s"
                      f"{1e9 * judge / count:>13.2f}", flush=True)  # fmt: skip
    if picture is not None:
        Path(picture).write_text(drawn(curves))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--growth", action="store_true", help="how time grows with size, instead of the ratios")
    parser.add_argument("--picture", help="where --growth draws its curves, an SVG file")
    parser.add_argument("--runs", type=int, default=3, help="processes of each kind; medians are printed")
    chosen = parser.parse_args()
    print(f"load {os.getloadavg()[0]:.1f} on {len(os.sched_getaffinity(0))} cores")
    if chosen.growth:
        growth(chosen.runs, chosen.picture)
        return
    small(chosen.runs)
    ratios(chosen.runs)
    bounds()


if __name__ == "__main__":
    main()
