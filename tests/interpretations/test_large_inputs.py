"""How large inputs are run changes nothing: planes made where they are loaded, slabs, two sides in two threads."""

from __future__ import annotations

import pytest

from equivalence.evaluator import Freedoms, Lanes, Limits, Machine, machine, slabs
from equivalence.fields import threads
from equivalence.interpretations.depends import Depends
from equivalence.interpretations.error import Error
from equivalence.interpretations.exact import Exact
from equivalence.interpretations.reassociated import Reassociated
from equivalence.judge import runs
from equivalence.judge.runs import Pair, Runner
from lowering.ir.program import Program
from tests.semantics.programs import F32, I64, arrays, launched, program

ROWS, COLUMNS = 6, 8
X = f"f32[{ROWS},{COLUMNS}]"


def kernel(shift: int = 0) -> Program:
    """Row by row a softmax without its maximum, of lanes ``shift`` further on; the last ones are masked off."""

    def body(k, x, out):
        lanes, start = k.lanes(COLUMNS), k.splat(k.mul(k.pid(), k.int(COLUMNS)), COLUMNS)
        there = k.add(lanes, shift)
        inside = k.cmp("lt", there, COLUMNS)
        other = k.b.constant(0.25, F32, (COLUMNS,))
        value = k.fn("exp", k.load(x, k.add(start, there), inside, other))
        total = k.b("reduce", value, axis=0, combine="add")
        k.store(out, k.add(start, lanes), k.div(value, k.splat(total, COLUMNS)))

    return launched(body, X, out=X, grid=ROWS)


def host() -> Program:
    """The same without memory: what slabs are for."""

    def body(k, x):
        value = k.fn("exp", x)
        total = k.b.broadcast(k.b("reduce", value, axis=1, combine="add"), (ROWS, COLUMNS), [0])
        return k.div(value, total), k.b.broadcast(k.b.constant(0.5, F32, (ROWS,)), (ROWS, COLUMNS), [0])

    return program(body, X)


def outputs(p: Program, lanes: int = 1 << 18) -> list[Lanes]:
    interpretations = [Exact(3), Reassociated(3), Depends(), Error()]
    run = Machine(p, interpretations, Freedoms(), Limits(lanes=lanes)).run(arrays(1, X))
    return list(run.outputs.values())


def assert_same(a: Lanes, b: Lanes) -> None:
    assert a.planes is not None and b.planes is not None and set(a.planes) == set(b.planes)
    assert (a.shape, a.taint, a.freedoms, a.literal) == (b.shape, b.taint, b.freedoms, b.literal)
    for one, other in ((a.data, b.data), *((a.planes[name], b.planes[name]) for name in a.planes)):
        assert a.full(one, 1).tobytes() == b.full(other, 1).tobytes()


@pytest.mark.parametrize("shift", [0, 3])
def test_planes_made_where_they_are_loaded(monkeypatch: pytest.MonkeyPatch, shift: int) -> None:
    p = kernel(shift)
    plain = outputs(p)
    monkeypatch.setattr(machine, "LAZY_FROM", 0)
    for a, b in zip(plain, outputs(p), strict=True):
        assert_same(a, b)


@pytest.mark.parametrize("lanes", [8, 12])
def test_slabs_put_in_place(lanes: int) -> None:
    p = host()
    assert slabs.plan(p, lanes) is not None
    for a, b in zip(outputs(p), outputs(p, lanes), strict=True):
        assert_same(a, b)


ALONG = {
    "a scan down the rows": lambda k, x: k.b("scan", x, axis=0, combine="add"),
    "a scan along the rows": lambda k, x: k.b("scan", x, axis=1, combine="add"),
    "a sort of columns": lambda k, x: k.b("sort", x, axis=0, order="ascending", stable=True),
    "a maximum of columns": lambda k, x: k.b.broadcast(
        k.b("reduce", x, axis=0, combine="max"), (ROWS, COLUMNS), [1]
    ),
    "a scatter to the next row": lambda k, x: k.b(
        "scatter", k.b.constant(0.0, F32, (ROWS, COLUMNS)), x,
        k.b("rem", k.add(k.b.index((ROWS, COLUMNS), 0, I64), 1), k.b.constant(ROWS, I64, (ROWS, COLUMNS))),
        k.b.index((ROWS, COLUMNS), 1, I64), combine="add",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ALONG)
def test_no_slab_without_what_it_needs(name: str) -> None:
    """Operations along the axis that slabs are cut along: cut elsewhere, or not at all."""
    p = program(ALONG[name], X)
    for a, b in zip(outputs(p), outputs(p, 8), strict=True):
        assert_same(a, b)


def test_the_lazy_kernel_is_another_one_where_it_reads_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "LAZY_FROM", 0)
    a, b = (outputs(kernel(shift))[0] for shift in (0, 1))
    assert a.planes is not None and b.planes is not None
    assert (a.planes["reassociated"] != b.planes["reassociated"]).any()


def test_sides_in_two_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    pair = Pair(kernel(), host(), arrays(1, X))
    made = []
    for least in (1 << 60, 0):
        monkeypatch.setattr(runs, "SIDE_BY_SIDE_FROM", least)
        monkeypatch.setattr(threads, "THREADS", 2)
        runner = Runner()
        run = runner.run(pair, [Exact(3), Reassociated(3), Depends(), Error()], pair.inputs)
        made.append((run, runner.freedoms.choices))
    (plain, choices), (threaded, again) = made
    assert [c.key for c in choices] == [c.key for c in again]
    for side in ("a", "b"):
        for x, y in zip(getattr(plain, side).outputs.values(), getattr(threaded, side).outputs.values(), strict=True):
            assert_same(x, y)


def test_an_error_of_either_side_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "THREADS", 2)

    def fails() -> None:
        raise ValueError("this side")

    for work in ((fails, lambda: 1), (lambda: 1, fails)):
        with pytest.raises(ValueError, match="this side"):
            threads.side_by_side(*work)
    assert threads.idle() == 2 and threads.side_by_side(lambda: threads.idle(), lambda: 7)[1] == 7
