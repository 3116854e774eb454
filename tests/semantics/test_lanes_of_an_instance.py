"""Lanes of one program instance are threads: what one writes another may read only after a barrier (bug class B57)."""

from __future__ import annotations

import numpy as np
import pytest

from lowering.ir.program import Program, Value
from tests.semantics.programs import EQUAL, I32, KernelKit, Level, judged, launched, level

V = "f32[8]"


def reverse(k: KernelKit, lanes: Value) -> Value:
    return k.b("sub", k.b.like(7, lanes), lanes)


def through_scratch(barrier: bool, other_lane: bool) -> Program:
    """x1 is scratch: doubled x goes in through each lane and comes out through the same or another one."""

    def body(k, x, scratch, out):
        lanes = k.lanes(8)
        k.store(scratch, lanes, k.mul(k.load(x, lanes), 2.0))
        if barrier:
            k.b.op("barrier")
        k.store(out, lanes, k.load(scratch, reverse(k, lanes) if other_lane else lanes))

    return launched(body, V, V, out=V)


def direct(reversed_: bool) -> Program:
    def body(k, x, scratch, out):
        lanes = k.lanes(8)
        k.store(out, lanes, k.mul(k.load(x, reverse(k, lanes) if reversed_ else lanes), 2.0))

    return launched(body, V, V, out=V)


def test_another_lane_reads_only_after_a_barrier() -> None:
    report = judged(through_scratch(False, True), direct(True), V, V)
    assert report.verdict.level is Level.UNDECIDED
    assert "race" in {f.code for f in report.findings}
    racing = through_scratch(False, True)
    assert level(racing, racing, V, V) is Level.UNDECIDED
    assert level(through_scratch(True, True), direct(True), V, V) is Level.BITWISE
    assert level(through_scratch(True, True), direct(False), V, V) is Level.DIFFERENT


def test_a_lane_reads_what_it_wrote() -> None:
    assert level(through_scratch(False, False), direct(False), V, V) is Level.BITWISE


def test_update_in_place_lane_by_lane() -> None:
    def body(times: int):
        def inner(k, x):
            for _ in range(times):
                k.store(x, k.lanes(8), k.mul(k.load(x, k.lanes(8)), 2.0))

        return launched(inner, V, out=V, inplace=True)

    assert level(body(3), body(3), V) is Level.BITWISE
    assert level(body(3), body(2), V) is Level.DIFFERENT


def over(shape: str, barrier: bool) -> Program:
    """The scratch is written as a matrix or one by one, and read back by the lanes of a vector, or by one."""

    def body(k, x, scratch, out):
        lanes = k.lanes(8)
        if shape == "matrix":
            rows = k.b("reshape", lanes, shape=(2, 4))
            k.b.op("store", [k.at(scratch, rows), k.b("load", k.at(x, rows), to="f32")])
        elif shape == "scalar":
            for i in range(8):
                k.store(scratch, k.int(i), k.load(x, k.int(i)))
        else:
            k.store(scratch, lanes, k.load(x, lanes))
        if barrier:
            k.b.op("barrier")
        if shape == "one":
            first = k.load(scratch, k.int(3))
            k.store(out, lanes, k.splat(first, 8))
        else:
            k.store(out, lanes, k.load(scratch, lanes))

    return launched(body, V, V, out=V)


@pytest.mark.parametrize("shape", ["matrix", "scalar", "one"])
def test_lanes_of_another_shape_are_other_threads(shape: str) -> None:
    assert level(over(shape, False), over(shape, False), V, V) is Level.UNDECIDED
    assert level(over(shape, True), over(shape, True), V, V) is Level.BITWISE


def test_one_thread_stores_and_loads_a_scalar() -> None:
    def body(k, x, scratch, out):
        k.store(scratch, k.int(2), k.load(x, k.int(1)))
        k.store(out, k.int(0), k.load(scratch, k.int(2)))

    program = launched(body, V, V, out="f32[1]")
    assert level(program, program, V, V) is Level.BITWISE


def counted(barrier: bool) -> Program:
    """Counts by atomics, read back by every lane."""

    def body(k, x, counts, out):
        lanes = k.lanes(8)
        k.b("atomic_rmw", k.at(counts, k.b("div", lanes, k.b.like(2, lanes)), I32), k.b.like(1, lanes), combine="add")
        if barrier:
            k.b.op("barrier")
        k.store(out, lanes, k.load(counts, lanes, dt=I32))

    return launched(body, V, "i32[8]", out="i32[8]")


def test_atomics_are_writes() -> None:
    data = {"x0": np.ones(8, np.float32), "x1": np.zeros(8, np.int32)}
    assert level(counted(False), counted(False), V, "i32[8]", data=data) is Level.UNDECIDED
    assert level(counted(True), counted(True), V, "i32[8]", data=data) in (*EQUAL, Level.TESTED)


def cleared(barrier: bool) -> Program:
    """Zeros stored by each lane, then atomics by others."""

    def body(k, x, sums, out):
        lanes = k.lanes(8)
        k.store(sums, lanes, k.b.like(0, lanes))
        if barrier:
            k.b.op("barrier")
        k.b("atomic_rmw", k.at(sums, k.b("div", lanes, k.b.like(2, lanes)), I32), k.b.like(1, lanes), combine="add")
        k.b.op("barrier")
        k.store(out, lanes, k.load(sums, lanes, dt=I32))

    return launched(body, V, "i32[8]", out="i32[8]")


def test_an_atomic_follows_the_stores_of_others_only_after_a_barrier() -> None:
    data = {"x0": np.ones(8, np.float32), "x1": np.zeros(8, np.int32)}
    assert level(cleared(False), cleared(False), V, "i32[8]", data=data) is Level.UNDECIDED
    assert level(cleared(True), cleared(True), V, "i32[8]", data=data) in (*EQUAL, Level.TESTED)


def overwritten(barrier: bool) -> Program:
    """A vector of x, then one element of it by one thread."""

    def body(k, x, out):
        k.store(out, k.lanes(8), k.load(x, k.lanes(8)))
        if barrier:
            k.b.op("barrier")
        k.store(out, k.int(3), k.add(k.load(x, k.int(3)), 1.0))
        if barrier:
            k.b.op("barrier")
        k.store(x, k.lanes(8), k.load(out, k.lanes(8)))

    return launched(body, V, out=V)


def test_two_lanes_write_one_element_only_with_a_barrier_between() -> None:
    assert level(overwritten(False), overwritten(False), V) is Level.UNDECIDED
    assert level(overwritten(True), overwritten(True), V) is Level.BITWISE


@pytest.mark.parametrize("everyone", [True, False])
def test_a_barrier_holds_for_the_instances_that_reach_it(everyone: bool) -> None:
    def body(k, x, scratch, out):
        lanes = k.b("add", k.lanes(8), k.splat(k.b("mul", k.pid(), k.int(8)), 8))
        back = k.b("add", reverse(k, k.lanes(8)), k.splat(k.b("mul", k.pid(), k.int(8)), 8))
        k.store(scratch, lanes, k.load(x, lanes))
        reached = k.cmp("lt", k.pid(), k.int(2 if everyone else 1))
        k.b.op("if", [reached], [k.b.region([], lambda: k.b.op("barrier").results), k.b.region([], list)])
        k.store(out, lanes, k.load(scratch, back))

    program = launched(body, "f32[16]", "f32[16]", out="f32[16]", grid=2)
    expected = Level.BITWISE if everyone else Level.UNDECIDED
    assert level(program, program, "f32[16]", "f32[16]") is expected


def test_lanes_that_share_an_element_read_what_they_wrote() -> None:
    """A vector spread over the rows of a matrix: each lane writes what its row writes, and reads it back."""

    def body(k, x, scratch, out):
        column = k.b.broadcast(k.lanes(4), (2, 4), (1,))
        at = k.b("reshape", k.lanes(8), shape=(2, 4))
        k.b.op("store", [k.at(scratch, column), k.b("load", k.at(x, column), to="f32")])
        k.b.op("store", [k.at(out, at), k.b("load", k.at(scratch, column), to="f32")])

    program = launched(body, V, V, out=V)
    assert level(program, program, V, V) is Level.BITWISE


@pytest.mark.parametrize("barrier", [True, False])
def test_two_stores_to_an_output_that_nothing_reads(barrier: bool) -> None:
    def body(k, x, out):
        lanes = k.lanes(8)
        k.store(out, lanes, k.load(x, lanes))
        if barrier:
            k.b.op("barrier")
        k.store(out, reverse(k, lanes), k.mul(k.load(x, lanes), 2.0))

    program = launched(body, V, out=V)
    assert level(program, program, V) is (Level.BITWISE if barrier else Level.UNDECIDED)


def test_two_stores_of_one_lane_or_of_one_value() -> None:
    def body(k, x, out):
        lanes = k.lanes(8)
        k.store(out, lanes, k.load(x, lanes))
        k.store(out, lanes, k.mul(k.load(x, lanes), 2.0))
        k.store(out, k.int(3), k.mul(k.load(x, k.int(3)), 2.0))

    program = launched(body, V, out=V)
    assert level(program, program, V) is Level.BITWISE
