"""`python -m tests.sweeps [SWEEP] [NAME...]`: whole libraries, a table with reasons and the shares of each verdict."""

from __future__ import annotations

import os
import sys

from tests.sweeps.pool import run
from tests.sweeps.row import HEAD, Row, summary

SWEEPS = {
    "liger": "tests.sweeps.liger:Liger",
    "pallas": "tests.sweeps.pallas:Pallas",
    "wheels": "tests.sweeps.wheels:Wheels",
}
NAMES = {name: path.partition(":")[0] + ":names" for name, path in SWEEPS.items()}


def names_of(sweep: str) -> list[str]:
    import importlib

    module, _, function = NAMES[sweep].partition(":")
    return getattr(importlib.import_module(module), function)()


def sweep(name: str, wanted: list[str]) -> None:
    """Rows as they finish, then the summary."""
    cases = [case for case in names_of(name) if not wanted or case in wanted]
    print(f"{name}\n{HEAD}", flush=True)
    rows: list[Row] = []
    for row in run(SWEEPS[name], cases, int(os.environ.get("SWEEP_WORKERS", "2"))):
        rows.append(row)
        print("\n".join(row.lines()), flush=True)
    print("\n".join(summary(rows)), flush=True)


if __name__ == "__main__":
    chosen = [sys.argv[1]] if len(sys.argv) > 1 else list(SWEEPS)
    for each in chosen:
        sweep(each, sys.argv[2:])
