"""Races, what atomics find, undefined reads (SEMANTICS §7, §8): no schedule that happened to be run decides."""

from __future__ import annotations

import numpy as np
import pytest

from irverify.exits import exit_code_of
from lowering.errors import Unsupported
from lowering.ir.program import Op, Program, Value
from tests.semantics.programs import BOOL, EQUAL, F32, Level, arrays, judged, launched, level

V = "f32[8]"


def last_write(scaled_by_instance: bool) -> Program:
    def body(k, x, out):
        factor = k.add(k.splat(k.cast(k.pid(), "f32"), 8), 1.0)
        value = k.load(x, k.lanes(8))
        k.store(out, k.lanes(8), k.mul(value, factor) if scaled_by_instance else k.mul(value, 2.0))

    return launched(body, V, out=V, grid=2)


def shifted(inplace: bool, by: int) -> Program:
    def body(k, x, *out):
        k.store(out[0] if out else x, k.pid(), k.load(x, k.b("rem", k.add(k.pid(), by), k.int(8))))

    return launched(body, V, out=V, grid=8, inplace=inplace)


def numbered(by_ticket: bool, stored: bool) -> Program:
    """Slots by an atomic counter, or by the instance's own number."""

    def body(k, x, counter, out):
        slot = k.b("atomic_rmw", counter, k.int(1), combine="add") if by_ticket else k.pid()
        if stored:
            k.store(out, k.pid(), slot)
        else:
            k.store(out, slot, k.load(x, k.pid()))

    return launched(body, V, "i32[1]", out="i32[8]" if stored else V, grid=8)


def test_two_instances_that_write_different_values_are_undecided() -> None:
    assert level(last_write(True), last_write(False), V) not in EQUAL
    racing = last_write(True)
    assert level(racing, racing, V) not in EQUAL
    assert level(last_write(False), last_write(False), V) in EQUAL


@pytest.mark.parametrize("by", [1, 7])
def test_an_update_in_place_that_reads_its_neighbour_races(by: int) -> None:
    assert level(shifted(True, by), shifted(False, by), V) not in EQUAL
    assert level(shifted(False, by), shifted(False, by), V) is Level.BITWISE
    assert level(shifted(True, 0), shifted(False, 0), V) is Level.BITWISE


@pytest.mark.parametrize("stored", [True, False])
def test_what_an_atomic_finds_depends_on_the_schedule(stored: bool) -> None:
    data = {**arrays(1, V), "x1": np.zeros(1, np.int32)}
    ticket = numbered(True, stored)
    assert level(ticket, numbered(False, stored), V, "i32[1]", data=data) not in EQUAL
    assert level(ticket, ticket, V, "i32[1]", data=data) not in EQUAL


def test_a_compare_and_swap_on_data_is_not_decided_by_the_sample() -> None:
    def swap(k, x, out):
        k.store(out, k.int(0), k.b("atomic_cas", x, k.int(99), k.int(5)))

    with pytest.raises(Unsupported):
        level(launched(swap, "i32[1]", out="i32[1]"), launched(swap, "i32[1]", out="i32[1]"), "i32[1]")


def test_a_write_out_of_bounds_costs_the_exit_code() -> None:
    def body(limit: int):
        def inner(k, x, out):
            lanes = k.lanes(16)
            inside = k.cmp("lt", lanes, 8)
            value = k.load(x, lanes, inside, k.b.constant(0.0, F32, (16,)))
            k.store(out, lanes, value, k.cmp("lt", lanes, limit))

        return launched(inner, V, out=V)

    assert exit_code_of(judged(body(12), body(8), V)) != 0
    assert exit_code_of(judged(body(8), body(8), V)) == 0


def guarded(limit: float, instead: float | None) -> Program:
    """x below ``limit``, else a lane that nothing defines (or a multiple of x)."""

    def body(k, x, out):
        value = k.load(x, k.lanes(8))
        undefined = k.load(x, k.lanes(8), k.b.constant(False, BOOL, (8,)))
        other = undefined if instead is None else k.mul(value, instead)
        k.store(out, k.lanes(8), k.where(k.cmp("lt", value, limit), value, other))

    return launched(body, V, out=V)


def test_an_undefined_lane_behind_a_branch_not_taken_is_no_equality() -> None:
    assert level(guarded(1e6, None), guarded(1e6, 2.0), V) not in EQUAL
    assert level(guarded(1e6, None), guarded(1e6, None), V) not in EQUAL
    assert level(guarded(0.0, None), guarded(0.0, None), V) not in EQUAL


def masked(count: int, other: float | None) -> Program:
    def body(k, x, out):
        lanes, fill = k.lanes(8), [] if other is None else [k.b.constant(other, F32, (8,))]
        k.store(out, k.int(0), k.sum(k.load(x, lanes, k.cmp("lt", lanes, count), *fill), 0))

    return launched(body, V, out="f32[1]")


def test_a_masked_load_without_other_is_not_zero() -> None:
    assert level(masked(5, None), masked(5, 0.0), V) not in EQUAL
    assert level(masked(5, None), masked(5, None), V) not in EQUAL
    assert level(masked(5, 0.0), masked(5, 0.0), V) is Level.REASSOCIATED


def test_undefined_lanes_that_are_never_stored_do_no_harm() -> None:
    def body(extra: bool):
        def inner(k, x, out):
            lanes = k.lanes(8)
            inside = k.cmp("lt", lanes, 5)
            value = k.load(x, lanes, *([inside] if extra else []))
            k.store(out, lanes, k.mul(value, 3.0), inside)

        return launched(inner, V, out=V, init=0.0)

    assert level(body(True), body(False), V) is Level.BITWISE


def test_an_output_that_is_never_written_is_undecided_on_both_sides() -> None:
    def half(k, x, out):
        k.store(out, k.lanes(4), k.load(x, k.lanes(4)))

    assert level(launched(half, V, out=V), launched(half, V, out=V), V) not in EQUAL


def test_u_times_zero_is_at_most_equal_under_an_assumption() -> None:
    def times_zero(k, x, out):
        u = k.load(x, k.lanes(8), k.b.constant(False, BOOL, (8,)))
        k.store(out, k.lanes(8), k.mul(u, 0.0))

    def zero(k, x, out):
        k.store(out, k.lanes(8), k.b.constant(0.0, F32, (8,)))

    assert level(launched(times_zero, V, out=V), launched(zero, V, out=V), V) < Level.BITWISE


def twice(read_after: bool) -> Program:
    """(x, 2x) through one buffer that is doubled in place between two reads; or both reads after it."""
    program = launched(lambda k, x: k.store(x, k.lanes(8), k.mul(k.load(x, k.lanes(8)), 2.0)), V, out=V, inplace=True)
    ops = program.body.ops
    launch = next(i for i, op in enumerate(ops) if op.name == "launch")
    last = ops[-1]
    early = Op("read", last.operands, [Value("early", last.result.type)], dict(last.attrs), [], last.span)
    ops.insert(len(ops) if read_after else launch, early)
    program.outputs.append(("out1", early.result))
    return program


def test_a_value_read_before_an_update_in_place_keeps_its_value() -> None:
    assert level(twice(False), lambda k, x: [k.mul(x, 2.0), x], V) is Level.BITWISE
    assert level(twice(True), lambda k, x: [k.mul(x, 2.0), x], V) is Level.DIFFERENT
    assert level(twice(False), twice(True), V) is Level.DIFFERENT
