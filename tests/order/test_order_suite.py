"""Orders over num_warps x BLOCK x BLOCK_K: what TTIR leaves open is said to be open, what could differ is not bitwise.

Every configuration is compared with the first one of its subject.  Expected orders are read off the kernels.
"""

from __future__ import annotations

import importlib.util
import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from equivalence.divergence.trace import trace
from equivalence.judge import judge
from equivalence.judge.judge import Judge
from equivalence.judge.levels import level
from equivalence.judge.runs import Pair
from equivalence.order.element import Named, element
from equivalence.order.filling import legal_orders
from equivalence.order.lanes import Graph
from equivalence.order.pairing import pair
from equivalence.order.tree import evaluate
from equivalence.verdicts import Level
from lowering.ir.program import Program
from tests.semantics.programs import arrays, options

N = 64  # what every subject adds up
GRID = Path(__file__).parent / "golden" / "kernels_grid.py"
IN_DOT = "left open by one dot"


def in_blocks(config: Any) -> str:
    if config.block >= N:
        return f"unordered({N}, left open by TTIR) in f32"
    inner = f"unordered({config.block}, left open by TTIR)"
    return f"blocked({config.block} x {N // config.block}, inner {inner}, outer sequential) in f32"


def in_lanes(config: Any) -> str:
    if config.block >= N:
        return f"unordered({N}, left open by TTIR) in f32"
    return f"strided-lanes({config.block} over {N}, each sequential, combined unordered(left open by TTIR)) in f32"


def of_dots(config: Any) -> str:
    if config.block_k >= N:
        return f"unordered({N}, {IN_DOT}) in f32"
    return f"sequential({N}) of unordered({config.block_k}+1, {IN_DOT}) in f32"


@dataclass(frozen=True)
class Subject:
    """``named``: the order of the outermost accumulation at a configuration."""

    entry: str
    specs: tuple[str, ...]
    named: Callable[[Any], str]
    blocks: tuple[int, ...] = (16, 32, 64)
    blocks_k: tuple[int, ...] = (16,)
    closed: bool = False  # no order is left open


SUBJECTS = (
    Subject("row_sum", (f"f32[3,{N}]",), in_blocks),
    Subject("row_sum_in_lanes", (f"f32[3,{N}]",), in_lanes),
    Subject("row_chain", (f"f32[3,{N}]",), lambda c: f"sequential({N}) in f32", (16,), closed=True),
    Subject("row_dot", (f"f32[3,{N}]", f"f32[{N}]"), in_blocks),
    Subject("softmax", (f"f32[3,{N}]",), in_blocks),
    Subject("layer_norm", (f"f32[3,{N}]", f"f32[{N}]"), in_blocks),
    Subject("matmul", (f"f16[20,{N}]", f"f16[{N},24]"), of_dots, (16, 32), (16, 32, 64)),
)
WARPS = (1, 2, 4, 8)
by_subject = pytest.mark.parametrize("subject", SUBJECTS, ids=lambda s: s.entry)
Lowered = Callable[[Subject, Any], Program]


@pytest.fixture(scope="module")
def lowered() -> Iterator[Lowered]:
    """The program of a subject at a configuration, captured once."""
    import torch

    from lowering.capture.torch_host import torch_session
    from lowering.pipeline import lower

    known: dict[tuple[str, Any], Program] = {}
    with torch_session("sm_80") as session:
        kernels = _load()

        def of(subject: Subject, config: Any) -> Program:
            key = (subject.entry, config)
            if key not in known:
                given = [torch.from_numpy(x) for x in arrays(1, *subject.specs).values()]
                function = getattr(kernels, subject.entry)
                known[key] = lower(session.capture(lambda *xs: function(*xs, config), given))
            return known[key]

        of.Config = kernels.Config  # type: ignore[attr-defined]
        yield of


def _load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("kernels_grid", GRID)
    assert spec is not None and spec.loader is not None
    import sys

    module = sys.modules["kernels_grid"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@dataclass(frozen=True)
class Compared:
    config: Any
    order: str
    level: Level
    relation: str

    def line(self) -> str:
        c = self.config
        return f"{c.warps:5} {c.block:5} {c.block_k:7}  {self.level.value:12}  {self.relation:20}  {self.order}"


def by_words(a: Program, b: Program, inputs: dict[str, np.ndarray]) -> tuple[Level, str]:
    """The level that the words and open choices give, without tests; and the relation of the outermost orders."""
    judging = Judge([Pair(a, b, inputs)], options())
    judging.deep_runs()
    found = level(judging.evidence[0], judging.runner.freedoms, judging.real).level
    [first, *_] = pair(trace(a, inputs, 0), trace(b, inputs, 0), 0)[2]
    return found, first.relation.kind if first.relation is not None else ""


def in_full(a: Program, b: Program, inputs: dict[str, np.ndarray]) -> tuple[Level, str]:
    """The verdict of a whole comparison, and the relation that it reports first."""
    report = judge([a], [b], [inputs], options(special="ignore", layouts="ignore"))
    return report.verdict.level, next((order.relation for order in report.orders), "")


def compared(subject: Subject, lowered: Lowered, config: Any, first: Any, how: Any = by_words) -> Compared:
    """One configuration beside the first."""
    data = arrays(1, *subject.specs)
    a, b = lowered(subject, first), lowered(subject, config)
    inputs = dict(zip(a.input_names, data.values(), strict=True))
    with np.errstate(all="ignore"):
        found, relation = how(a, b, inputs)
    return Compared(config, str(outermost(b, data).name), found, relation)


def outermost(program: Program, data: dict[str, np.ndarray]) -> Named:
    return element(trace(program, dict(zip(program.input_names, data.values(), strict=True)), 0)).named[0]


def table(subject: Subject, rows: list[Compared]) -> str:
    head = f"{subject.entry}\nwarps block block_k  verdict       relation              order"
    return "\n".join([head, *(row.line() for row in rows)])


def check(subject: Subject, lowered: Lowered, configs: list[Any], how: Any = by_words) -> None:
    rows = [compared(subject, lowered, config, configs[0], how) for config in configs]
    print(table(subject, rows))
    for row in rows:
        assert row.order == subject.named(row.config)
        open_ = "open" in row.order
        assert open_ is not subject.closed
        same = row.config == configs[0]
        assert row.level is (Level.BITWISE if same or subject.closed else Level.REASSOCIATED), row.line()
        if not row.relation:  # a whole comparison gives up on orders after ten seconds
            continue
        assert row.relation in (
            ("same",) if same or subject.closed else ("same", "different", "a refines b", "b refines a")
        )


@by_subject
def test_a_few_configurations(subject: Subject, lowered: Lowered) -> None:
    first = lowered.Config()  # type: ignore[attr-defined]
    changed = [{"warps": 8}]
    changed += [{"block": 32}] if len(subject.blocks) > 1 else []
    changed += [{"block_k": 32}] if len(subject.blocks_k) > 1 else []
    check(subject, lowered, [first, *(type(first)(**change) for change in changed)])


@pytest.mark.sweep
@by_subject
def test_every_configuration(subject: Subject, lowered: Lowered) -> None:
    make = lowered.Config  # type: ignore[attr-defined]
    check(subject, lowered, [make(*c) for c in itertools.product(WARPS, subject.blocks, subject.blocks_k)], in_full)


@by_subject
def test_what_is_not_bitwise_may_differ_on_a_device(subject: Subject, lowered: Lowered) -> None:
    """Ways to fill an open order in, as other warps would, give other bits; a fixed one has one."""
    data = arrays(1, *subject.specs)
    program = lowered(subject, lowered.Config())  # type: ignore[attr-defined]
    made = trace(program, dict(zip(program.input_names, data.values(), strict=True)), 0)
    named = element(made).named[0]
    tree, values = named.accumulation.tree, named.accumulation.values(Graph(made))
    assert bool(tree.open_steps()) is not subject.closed
    rng = np.random.default_rng(0)
    results = set[float]()
    for _ in range(200):
        results.add(float(evaluate(legal_orders(tree, rng), values)[0]))
        if len(results) > 1:
            break
    assert (len(results) > 1) is not subject.closed and all(map(math.isfinite, results))
