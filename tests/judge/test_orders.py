"""Combiners of the user's own: a tree must give what a left fold gives, or the verdict says that it does not."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from equivalence.evaluator import Limits, Machine
from equivalence.verdicts import Level
from lowering.ir.program import Program, Value
from lowering.ir.types import F32, TensorType
from tests.semantics.programs import Body, Kit, arrays, judged, launched, program

SCALARS = [TensorType(F32)] * 4


def affine(right: bool):
    """x -> a x + b after x -> c x + d; without ``right``, as if the second factor had been forgotten."""

    def combine(k: Kit, a: Value, b: Value, c: Value, d: Value) -> list[Value]:
        return [k.mul(a, c) if right else c, k.add(k.mul(b, c), d)]

    return combine


def scanned(combine) -> Body:
    def body(k: Kit, a: Value, b: Value) -> Value:
        region = k.b.region(SCALARS, lambda *xs: combine(k, *xs))
        return k.b.op("scan", [a, b], [region], axis=1, combine="region").results[1]

    return body


def looped(k: Kit, a: Value, b: Value) -> Value:
    """h = a h + b, column by column."""
    columns = list(zip(k.columns(a), k.columns(b)))
    states = list(itertools.accumulate(columns[1:], lambda h, ab: k.add(k.mul(ab[0], h), ab[1]), initial=columns[0][1]))
    rows, n = b.type.shape
    spread = [k.b.broadcast(state, (rows, n), [0]) for state in states]
    place = k.b.index((rows, n), 1)
    whole = spread[0]
    for i in range(1, n):
        whole = k.where(k.cmp("eq", place, i), spread[i], whole)
    return whole


@pytest.mark.parametrize("right", [True, False])
def test_a_recurrence_by_an_associative_scan(right: bool) -> None:
    report = judged(looped, scanned(affine(right)), "f32[3,9]", "f32[3,9]")
    checks = {check.name: check.passed for check in report.checks}
    assert checks["generic combiners in another order"] is right
    if right:
        assert report.verdict.level in (Level.REASSOCIATED, Level.REAL)
    else:
        assert report.verdict.level is Level.DIFFERENT and "combined in a tree" in report.verdict.reason
        assert report.divergence is not None and "combiner of B" in report.divergence.what
        assert report.witness is not None and report.witness.value_a != report.witness.value_b


def test_the_same_wrong_combiner_on_both_sides_is_the_same_program() -> None:
    body = scanned(affine(False))
    assert judged(body, body, "f32[3,9]", "f32[3,9]").verdict.level is not Level.DIFFERENT


def values(p: Program, given: dict[str, np.ndarray], tree: bool) -> np.ndarray:
    out = next(iter(Machine(p, [], limits=Limits(tree=tree)).run(given).outputs.values()))
    return out.full(out.data)[0]


@pytest.mark.parametrize(("n", "reverse"), [(n, reverse) for n in range(1, 10) for reverse in (False, True)])
def test_a_tree_of_sums_is_the_sum(n: int, reverse: bool) -> None:
    """Every prefix, for every length; whole numbers, so that no order rounds."""

    def body(k: Kit, x: Value) -> list[Value]:
        region = k.b.region(SCALARS[:2], lambda a, b: [k.add(a, b)])
        again = k.b.region(SCALARS[:2], lambda a, b: [k.add(a, b)])
        scan = k.b.op("scan", [x], [region], axis=1, combine="region", reverse=reverse).results[0]
        return [scan, k.b.op("reduce", [x], [again], axis=1, combine="region").results[0]]

    given = {"x0": np.arange(2 * n, dtype=np.float32).reshape(2, n) ** 2}
    machine = Machine(program(body, f"f32[2,{n}]"), [], limits=Limits(tree=True)).run(given)
    scan, total = (o.full(o.data)[0] for o in machine.outputs.values())
    x = given["x0"][:, ::-1] if reverse else given["x0"]
    expected = np.cumsum(x, axis=1)
    assert (scan == (expected[:, ::-1] if reverse else expected)).all() and (total == x.sum(1)).all()


def composed(k: Kit, a: Value, b: Value, c: Value, d: Value) -> list[Value]:
    return [k.mul(a, c), k.add(k.mul(b, c), d)]


def test_kernels_exchange_operands_and_hosts_do_not() -> None:
    """An affine map composed in any order of nesting is one map; with its operands exchanged it is another."""

    def in_kernel(k, a, b, out):
        lanes = k.lanes(8)
        region = k.b.region(SCALARS, lambda *xs: composed(k, *xs))
        pair = [k.load(a, lanes), k.load(b, lanes)]
        k.store(out, k.int(0), k.b.op("reduce", pair, [region], axis=0, combine="region").results[1])

    def on_host(k, a, b):
        region = k.b.region(SCALARS, lambda *xs: composed(k, *xs))
        return k.b.op("reduce", [a, b], [region], axis=0, combine="region").results[1]

    given = arrays(3, "f32[8]", "f32[8]")
    kernel, host = launched(in_kernel, "f32[8]", "f32[8]", out="f32[1]"), program(on_host, "f32[8]", "f32[8]")
    assert not np.allclose(values(kernel, given, tree=True), values(kernel, given, tree=False))
    assert np.allclose(values(host, given, tree=True), values(host, given, tree=False))


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("n", [257, 288, 1000, 2048])
def test_a_long_fold_of_blocks_is_the_fold(n: int, reverse: bool) -> None:
    """Affine maps, which do not commute, of whole numbers, which no order rounds; forgetting a factor is told apart."""

    def body(right: bool) -> Body:
        def both(k: Kit, a: Value, b: Value) -> list[Value]:
            scan, again = (k.b.region(SCALARS, lambda *xs: affine(right)(k, *xs)) for _ in range(2))
            prefixes = k.b.op("scan", [a, b], [scan], axis=1, combine="region", reverse=reverse).results[1]
            return [prefixes, k.b.op("reduce", [a, b], [again], axis=1, combine="region").results[1]]

        return both

    rng = np.random.default_rng(n)
    a, b = rng.choice([-1, 1], (2, n)).astype(np.float32), rng.integers(-9, 10, (2, n)).astype(np.float32)
    step = -1 if reverse else 1
    states = [b[:, ::step][:, 0]]
    for i in range(1, n):
        states.append(a[:, ::step][:, i] * states[-1] + b[:, ::step][:, i])
    whole = b[:, 0]
    for i in range(1, n):
        whole = a[:, i] * whole + b[:, i]
    types, given = (f"f32[2,{n}]",) * 2, {"x0": a, "x1": b}
    outs = Machine(program(body(True), *types), []).run(given).outputs.values()
    scan, total = (o.full(o.data)[0] for o in outs)
    assert (scan == np.stack(states, 1)[:, ::step]).all() and (total == whole).all()
    tree = Machine(program(body(False), *types), [], limits=Limits(tree=True)).run(given).outputs.values()
    wrong = Machine(program(body(False), *types), []).run(given).outputs.values()
    assert any(not np.array_equal(x.full(x.data), y.full(y.data)) for x, y in zip(tree, wrong, strict=True))
