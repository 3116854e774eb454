"""Models in evaluation mode and without gradients, as they are deployed: the two must agree there as well.

Takes, in a worker, a function to call; in the parent an Exchange after both workers have ended, and the judge, and
gives Findings.  A verdict is about modules as they are built, in training mode; where either file asks for a mode, both
are captured once more.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from equivalence.verdicts import Finding, Level, Report
from irverify.collect import paired
from irverify.exchange import Exchange
from irverify.failures import error_of
from lowering.errors import IrverifyError
from lowering.ir.program import Program

CODE, NAME = "inference-differs", "inference"
MODE = "in evaluation mode, without gradients"
Judged = Callable[[Program, Program, dict[str, Any]], Report]
#: What a file says where its results may depend on a mode: the modes themselves, and what torch makes depend on them.
_ASKS = ("training", "is_grad_enabled", "requires_grad", "is_inference_mode_enabled", "Dropout", "BatchNorm")
_ASKS += ("InstanceNorm", "dropout", "batch_norm", "instance_norm", "RReLU", "rrelu")


def asked(trees: Sequence[ast.Module]) -> bool:
    """Whether a file names a mode, or a layer that has two."""
    nodes = (node for tree in trees for node in ast.walk(tree))
    names = {node.attr if isinstance(node, ast.Attribute) else node.id for node in nodes
             if isinstance(node, ast.Attribute | ast.Name)}  # fmt: skip
    return any(word in name for name in names for word in _ASKS)


@contextmanager
def inference(function: Any) -> Iterator[Any]:
    """Gives a torch function or module to call in that mode; afterwards the module is as it was."""
    torch = sys.modules["torch"]  # the worker's adapter has imported it
    if not isinstance(function, torch.nn.Module):
        yield torch.no_grad()(function)
        return
    modules = list(function.modules())
    modes = [module.training for module in modules]
    function.eval()
    function.forward = torch.no_grad()(function.forward)  # the capture itself turns gradients on
    try:
        yield function
    finally:
        del function.forward
        for module, mode in zip(modules, modes, strict=True):
            module.training = mode


def findings(
    exchange: Exchange, files: tuple[str, str], frameworks: tuple[str, str], judged: Judged
) -> Iterator[Finding]:
    """An error where the two differ so, a warning where that is not known; nothing where both do as in training."""
    at = [f"{side}.{NAME}" for side in "ab"]
    published = [name for name in at if exchange.has(name)]
    if not published:
        return
    base = exchange.read(published[0])["label"]
    usual = [f"{side}.{base}" for side in "ab"]
    names = [name if name in published else other for name, other in zip(at, usual, strict=True)]
    if not all(exchange.has(name) for name in (*names, *usual)):
        return
    records = [exchange.read(name) for name in names]
    refused = [(f, r["failure"]) for f, r in zip(files, records, strict=True) if "failure" in r]
    if refused:
        said = [f"{file} does not run: {str(error_of(failure, file)).splitlines()[0]}" for file, failure in refused]
        yield Finding(CODE, f"{MODE} {'; '.join(said)}", None, "warning" if len(refused) == 1 else "note")
        return
    if all(exchange.read_text(f"{n}.kir") == exchange.read_text(f"{u}.kir") for n, u in zip(names, usual, strict=True)):
        return
    yield from _compared(exchange, (names[0], names[1]), files, frameworks, judged)


def _compared(
    exchange: Exchange, names: tuple[str, str], files: tuple[str, str], frameworks: tuple[str, str], judged: Judged
) -> Iterator[Finding]:
    try:
        variant = paired(exchange, names, files, frameworks)
        report = judged(variant.program_a, variant.program_b, variant.inputs)
    except IrverifyError as error:
        yield Finding(CODE, f"{MODE} the two could not be compared: {error}")
        return
    level = report.verdict.level
    if level is Level.DIFFERENT:
        place = report.divergence.b if report.divergence is not None else None
        yield Finding(CODE, f"{MODE} {report.verdict.reason}", place, "error")
    elif level < Level.REAL:
        yield Finding(CODE, f"{MODE} the two are {level}: {report.verdict.reason}")
