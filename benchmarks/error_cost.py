"""What the error bounds cost: ``python -m benchmarks.error_cost NAME SPEC...`` prints seconds without and with them.

The run of a pair at the given shape, as a comparison makes it (both sides, every fingerprint, `depends`), in one
process that has captured both files; processor time, alternating, the least of each.
"""

from __future__ import annotations

import multiprocessing
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from irverify.options import CompareOptions

KERNELS = Path(__file__).parent / "kernels"
TIMES = 2


def captured(name: str, specs: Sequence[str]) -> Any:
    """The pair at the given shape."""
    from equivalence.judge.runs import Pair
    from irverify.collect import collect
    from irverify.exchange import Exchange
    from irverify.prepare import prepare
    from irverify.side import run_side

    files = [str(KERNELS / f"{name}_{kind}.py") for kind in ("triton", "jax")]
    with tempfile.TemporaryDirectory() as directory:
        options = CompareOptions(a=files[0], b=files[1], inputs=tuple(specs), shapes=("given",))
        prepared = prepare(options, Path(directory))
        context = multiprocessing.get_context("spawn")
        for job in prepared.jobs:
            child = context.Process(target=run_side, args=(job,))
            child.start()
            child.join()
        frameworks = prepared.sides[0].framework, prepared.sides[1].framework
        found = collect(Exchange(Path(directory)), (files[0], files[1]), frameworks).variants[0]
    return Pair(found.program_a, found.program_b, found.inputs)


def seconds(pair: Any, error: bool) -> float:
    """Of the processor, all threads: one run."""
    from equivalence.interpretations.depends import Depends
    from equivalence.interpretations.exact import Exact
    from equivalence.interpretations.reassociated import Reassociated
    from equivalence.judge.given import bounds
    from equivalence.judge.runs import Runner

    interpretations = [Exact(0), Reassociated(0), Depends(marks=False), *([bounds(pair, usual=True)] if error else [])]
    start = time.process_time()
    Runner().run(pair, interpretations, pair.inputs)
    return time.process_time() - start


def main() -> None:
    pair = captured(sys.argv[1], sys.argv[2:])
    seconds(pair, error=True)  # compiles what is compiled
    both = [(seconds(pair, error=False), seconds(pair, error=True)) for _ in range(TIMES)]
    print(*(f"{min(side):.3f}" for side in zip(*both, strict=True)))


if __name__ == "__main__":
    main()
