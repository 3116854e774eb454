"""Sentences of a report that must be true: at how many shapes what was done, up to what, and what is undefined."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from equivalence.judge import judge
from equivalence.verdicts import Level, Report
from irverify.report.words import headline
from lowering.ir.builder import Builder
from lowering.ir.program import Program
from lowering.ir.types import F32, TensorType
from tests.semantics.programs import EQUAL, Body, arrays, launched, options, program


def judged(*pairs: tuple[Program, Program, *tuple[str, ...]]) -> Report:
    with np.errstate(all="ignore"):
        return judge(
            [a for a, *_ in pairs], [b for _, b, *_ in pairs], [arrays(1, *s) for _, _, *s in pairs], options()
        )


def both(a: Body, b: Body, *specs: str) -> Report:
    return judged(*[(program(a, spec), program(b, spec), spec) for spec in specs])


# -- sets of shapes ----------------------------------------------------------------------------------------------


def doubled(k: Any, x: Any) -> Any:
    return k.mul(x, 2.0)


def scaled(k: Any, x: Any) -> Any:
    return k.div(x, k.b.broadcast(k.add(k.sum(k.mul(x, x)), 1.0), x.type.shape, []))


def inverse(k: Any, x: Any) -> Any:
    total = k.add(k.sum(k.mul(x, x)), 1.0)
    return k.mul(x, k.b.broadcast(k.div(k.lit(1.0, total), total), x.type.shape, []))


@pytest.mark.parametrize(
    ("a", "b", "level", "said"),
    [
        (doubled, lambda k, x: k.add(x, x), Level.BITWISE, "proved"),
        (scaled, inverse, Level.REAL, "examined"),
        (scaled, lambda k, x: k.mul(scaled(k, x), 1.5), Level.DIFFERENT, "run"),
    ],
)
def test_only_equal_words_are_proved(a: Body, b: Body, level: Level, said: str) -> None:
    report = both(a, b, "f32[5]", "f32[3]")
    assert report.verdict.level is level and f"inputs are finite; {said} at 2 sets of shapes" in report.assumptions


def test_a_single_set_is_one_set() -> None:
    assert "inputs are finite; proved at 1 set of shapes" in both(doubled, doubled, "f32[5]").assumptions


def cut(rows: int, limit: int) -> Program:
    b = Builder()
    x = b.value(TensorType(F32, (rows,)))
    b.block.args = [x]
    part = b("slice", x, start=(0,), limit=(min(rows, limit),), step=(1,))
    return Program(b.block, ["x0"], [("out0", b("mul", part, b.like(2.0, part)))])


def test_an_output_of_another_shape_elsewhere_is_an_error() -> None:
    every = [(cut(n, 99), cut(n, 7), f"f32[{n}]") for n in (7, 9, 5)]
    report = judged(*every)
    assert report.verdict.level is Level.BITWISE
    [found] = [finding for finding in report.findings if finding.code == "shape-mismatch"]
    assert found.severity == "error" and "f32[9] in A and f32[7] in B" in found.message
    assert [shape.level for shape in report.shapes] == [Level.BITWISE, Level.UNDECIDED, Level.BITWISE]
    assert "another shape" in report.shapes[1].note and not report.shapes[2].note
    assert "inputs are finite; proved at 2 sets of shapes" in report.assumptions


def first_rows(shapes: tuple[tuple[int, int], tuple[int, int]], like: int) -> Program:
    """x0 + 0 * (a sum of x1), in as many columns as one of them has."""
    b = Builder()
    values = [b.value(TensorType(F32, shape)) for shape in shapes]
    b.block.args = values
    part = b("slice", values[0], start=(0, 0), limit=(shapes[0][0], shapes[like][1]), step=(1, 1))
    return Program(b.block, ["x0", "x1"], [("out0", b("mul", part, b.like(2.0, part)))])


def test_sizes_that_are_made_different_are_scope() -> None:
    def at(*shapes: tuple[int, int]) -> tuple[Program, Program, *tuple[str, ...]]:
        specs = [f"f32[{m},{n}]" for m, n in shapes]
        return first_rows(shapes, 0), first_rows(shapes, 1), *specs  # type: ignore[arg-type]

    together = judged(at((3, 8), (3, 8)), at((3, 9), (3, 9)), at((3, 9), (3, 5)))
    [found] = [finding for finding in together.findings if "another shape" in finding.message]
    assert (found.code, found.severity) == ("specialised-shape", "warning")


def rooted(shapes: tuple[tuple[int, int], tuple[int, int]], less: float) -> Program:
    """The root of what is negative where the arrays have unlike sizes; ``less`` tells two programs apart."""
    b = Builder()
    values = [b.value(TensorType(F32, shape)) for shape in shapes]
    b.block.args = values
    least = 0.25 if shapes[0] == shapes[1] else -4.0
    square = b("mul", values[0], values[0])
    kept = b("max", square, b.like(0.25, square), nan="propagate") if least > 0 else b.like(least, square)
    root = b("math", kept, fn="sqrt", accuracy="exact")
    return Program(b.block, ["x0", "x1"], [("out0", b("add", root, b.like(less, root)))])


def test_sizes_at_which_the_reference_gives_no_number_do_not_count() -> None:
    def at(*shapes: tuple[int, int], less: float = 0.0) -> tuple[Program, Program, *tuple[str, ...]]:
        specs = [f"f32[{m},{n}]" for m, n in shapes]
        return rooted(shapes, 0.0), rooted(shapes, less), *specs  # type: ignore[arg-type]

    report = judged(at((3, 8), (3, 8)), at((3, 8), (3, 5)))
    assert report.verdict.level is Level.BITWISE
    assert "has no number everywhere in A" in report.shapes[1].note
    assert judged(at((3, 8), (3, 8), less=1.0), at((3, 8), (3, 5))).verdict.level is Level.DIFFERENT


# -- undefined values --------------------------------------------------------------------------------------------


def stale(n: int, factor: float | None) -> Program:
    """2x, with ``factor`` times what the output held before: memory that nothing has written."""

    def body(k: Any, x: Any, out: Any) -> None:
        lanes = k.lanes(n)
        value = k.mul(k.load(x, lanes), 2.0)
        k.store(out, lanes, value if factor is None else k.add(value, k.mul(k.load(out, lanes), factor)))

    return launched(body, f"f32[{n}]", out=f"f32[{n}]")


def test_nothing_times_unwritten_memory_is_an_error_of_the_side_that_does_it() -> None:
    found = [f for f in judged((stale(4, None), stale(4, 0.0), "f32[4]")).findings if f.code == "undefined-read"]
    assert [(f.severity, f.message.startswith("in B")) for f in found] == [("error", True)]
    both = [f for f in judged((stale(4, 0.0), stale(4, 0.0), "f32[4]")).findings if f.code == "undefined-read"]
    assert [f.severity for f in both] == ["warning"]
    masked = judged((stale(4, None), filled(4, 3, spare=True), "f32[4]"))
    assert all(f.severity != "error" for f in masked.findings if f.code == "undefined-read")
    assert not [f for f in judged((stale(4, None), stale(4, None), "f32[4]")).findings if f.code == "undefined-read"]


def filled(n: int, written: int, spare: bool = False) -> Program:
    """2x in the first elements of an output, undefined ones behind; ``spare``: times 0, so that none moves."""

    def body(k: Any, x: Any, out: Any) -> None:
        lanes = k.lanes(n)
        value = k.load(x, lanes, k.cmp("lt", lanes, written))
        kept = k.mul(value, 0.0) if spare else k.mul(value, 2.0)
        k.store(out, lanes, kept)

    return launched(body, f"f32[{n}]", out=f"f32[{n}]")


def test_another_shape_does_not_take_back_what_is_undefined_at_the_given_one() -> None:
    given = (filled(8, 6), filled(8, 6), "f32[8]")
    harmless = (filled(4, 3, spare=True), filled(4, 3, spare=True), "f32[4]")
    for every in ((given,), (given, harmless)):
        report = judged(*every)
        assert report.verdict.level is Level.UNDECIDED and "undefined value may reach out0" in report.verdict.reason
    alone = judged(harmless)
    assert alone.verdict.level in EQUAL and [f.code for f in alone.findings] == ["undefined-read"]


# -- up to what --------------------------------------------------------------------------------------------------


def test_sums_in_another_order_are_equal_up_to_it() -> None:
    report = both(lambda k, x: k.sum(x), lambda k, x: k.sum(x, order="sequential"), "f32[3,5]")
    assert headline(report).endswith("up to the order of accumulation")


def test_open_accuracy_is_no_accumulation() -> None:
    report = both(lambda k, x: k.fn("exp", x), lambda k, x: k.fn("exp", x), "f32[5]")
    assert report.verdict.level in (Level.BITWISE, Level.REASSOCIATED)
    if report.verdict.level is Level.REASSOCIATED:
        assert "accumulation" not in headline(report) and "the accuracy of intrinsics" in headline(report)


def test_an_open_maximum_is_no_accumulation() -> None:
    def largest(k: Any, x: Any) -> Any:
        return k.b("reduce", x, axis=1, combine="max", order="unordered")

    report = both(largest, lambda k, x: largest(k, x), "f32[3,5]")
    assert report.verdict.level is Level.REASSOCIATED
    assert headline(report).endswith("up to the order of maxima and minima, which only the sign of a zero can show")


def test_keys_that_are_equal_are_no_accumulation() -> None:
    def sort(k: Any, x: Any) -> Any:
        return k.b.op("sort", [x], axis=1, order="descending", stable=False).results[0]

    report = both(sort, lambda k, x: sort(k, x), "f32[3,5]")
    assert report.verdict.level is Level.REASSOCIATED
    assert headline(report).endswith("up to the order of equal keys")


# -- the path condition ------------------------------------------------------------------------------------------

PATHS = """
import numpy as np
from equivalence.evaluator import Machine
from equivalence.interpretations.exact import Exact
from equivalence.interpretations.reassociated import Reassociated
from tests.judge.test_statements import gathered
for seed in (0, 1):
    done = Machine(gathered(), [Exact(seed), Reassociated(seed)]).run({"x0": np.arange(8, dtype=np.float32)})
    print(sorted(done.path.items()))
"""


def gathered() -> Program:
    """x at an address made of x's own first element."""

    def body(k: Any, x: Any, out: Any) -> None:
        first = k.load(x, k.int(0))
        k.store(out, k.int(0), k.load(x, k.cast(first, "i32", rounding="rtz")))

    return launched(body, "f32[8]", out="f32[1]", key="gathered")


def test_paths_are_the_same_in_every_process_and_others_under_another_seed() -> None:
    root = Path(__file__).parents[2]
    texts = [
        subprocess.run([sys.executable, "-c", PATHS], capture_output=True, text=True, check=True, cwd=root,
                       env={**os.environ, "PYTHONHASHSEED": str(number), "PYTHONPATH": str(root)}).stdout
        for number in (1, 2)
    ]  # fmt: skip
    assert texts[0] == texts[1], hashlib.sha256(texts[0].encode()).hexdigest()
    zero, one = texts[0].splitlines()
    assert zero != one and "exact" in zero and "reassociated" in zero
