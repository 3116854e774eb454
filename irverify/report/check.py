"""What ``irverify check`` found as text on a rich console.

Takes a Checked and a Console; prints.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from irverify.check import Checked
from lowering.legality.finding import Finding

_COLOURS = {"error": "bold red", "warning": "yellow"}
_ENGINES = {"dve": "Vector", "act": "Scalar", "pool": "GpSimd"}
_SCALES = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))


def print_checked(checked: Checked, console: Console, with_cost: bool) -> None:
    """The findings, each with its rule, then the table of costs."""
    console.print(Text(headline(checked), style="bold red" if checked.exit_code else "bold green"))
    for one in checked.findings:
        console.print()
        for line in _lines(one):
            console.print(line)
    if with_cost:
        console.print()
        console.print(Text("Cost, counted on the trace", style="bold"))
        console.print(_table(checked.details["cost"]))
    console.print()
    console.print(Text(_closing(checked)))


def headline(checked: Checked) -> str:
    """'illegal on trn2: ...' or 'legal on trn2: ...'."""
    errors = sum(one.severity == "error" for one in checked.findings)
    warnings = len(checked.findings) - errors
    parts = [
        f"{number} {word}{'s' * (number != 1)}" for number, word in ((errors, "error"), (warnings, "warning")) if number
    ]
    word = "illegal" if errors else "legal"
    subject = f"{Path(checked.file).name}:{checked.entry}"
    return f"{word} on {checked.target} with NKI {checked.nki_version}: {subject}" + (
        f", {', '.join(parts)}" if parts else ""
    )


def _lines(one: Finding) -> Iterator[Text]:
    where = f"{Path(one.span.file).name}:{one.span.line}" if one.span.line else "the kernel"
    times = f" ({one.count} instructions)" if one.count > 1 else ""
    head = Text(f"{one.severity} {one.code}", style=_COLOURS[one.severity])
    yield head.append(f"  {where}{times}", style="default")
    yield Text(f"  {one.message}")
    yield Text(f"  rule: {one.rule}")


def _closing(checked: Checked) -> str:
    number = checked.details["instructions"]
    said = f"{number} instructions at the given shapes were looked at; irverify explain CODE says more of a finding."
    reason = "an error was found" if checked.exit_code else "no error was found"
    return f"{said}\nExit {checked.exit_code}: {reason}."


def _table(cost: dict[str, Any]) -> Table:
    table = Table("engine", "work", "how well", box=None, pad_edge=False, padding=(0, 2, 0, 2))
    for row in (*_tensor(cost["pe"]), *_lanes(cost["engines"]), *_dma(cost["dma"]), *_memory(cost)):
        table.add_row(*row)
    return table


def _tensor(pe: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    if pe["matmuls"]:
        done = f"{pe['matmuls']} matmuls, {_scaled(pe['flops'])}FLOP, at least {_seconds(pe['least_seconds'])}"
        yield "Tensor", done, f"{pe['utilisation']:.0%} of the array"
    if pe["transposes"]:
        yield "Tensor", f"{pe['transposes']} transposes, {pe['transposed_elements']:,} elements", ""


def _lanes(engines: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    for name, one in engines.items():
        if one["instructions"]:
            done = f"{one['instructions']} instructions, {one['elements']:,} elements"
            per = f"{one['elements_per_partition']:,} per partition, {one['partitions_used']:.0%} of the partitions"
            yield _ENGINES[name], done, per


def _dma(dma: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    if not dma["transfers"]:
        return
    moved = f"{_scaled(dma['bytes_from_hbm'])}B from HBM, {_scaled(dma['bytes_to_hbm'])}B to HBM"
    runs = [run["bytes"] for run in dma["runs"]]
    span = f"runs of {runs[0]} B" if len(runs) == 1 else f"runs of {runs[0]} to {runs[-1]} B"
    yield "DMA", f"{dma['transfers']} transfers, {moved}", f"{span}, {dma['bytes_in_short_runs']:.0%} below 512 B"


def _memory(cost: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    for where, peak in cost["high_water"].items():
        used = peak["bytes_per_partition"] / peak["of"]
        yield (
            where.upper(),
            f"{peak['bytes_per_partition']} of {peak['of']} B per partition",
            f"{used:.0%} at most at once",
        )
    yield "all", f"{cost['arithmetic_intensity']:.3g} operations per byte of HBM", ""


def _scaled(number: float) -> str:
    for size, letter in _SCALES:
        if number >= size:
            return f"{number / size:.3g} {letter}"
    return f"{number:g} "


def _seconds(seconds: float) -> str:
    return f"{seconds * 1e6:.3g} us"
