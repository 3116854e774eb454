"""Races: one element changed in more than one way by several instances; read and then written by lanes of one."""

from __future__ import annotations

import pytest

from equivalence.verdicts import Level
from lowering.ir.program import Program
from lowering.ir.types import F32, I32
from tests.semantics.programs import EQUAL, KernelKit, launched, level

IN, OUT = "i32[8]", "i32[1]"


def add(k: KernelKit, x, out) -> None:
    k.b("atomic_rmw", k.at(out, k.int(0), I32), k.load(x, k.pid(), dt=I32), combine="add")


def added(init: float | None) -> Program:
    return launched(add, IN, out=OUT, grid=8, init=init)


def first_stores(k: KernelKit, x, out) -> None:
    k.store(out, k.int(0), k.int(0), k.cmp("eq", k.pid(), k.int(0)))
    add(k, x, out)


def test_an_accumulator_that_one_instance_clears() -> None:
    assert level(launched(first_stores, IN, out=OUT, grid=8), added(0), IN) is Level.UNDECIDED
    assert level(launched(first_stores, IN, out=OUT, grid=1), launched(add, IN, out=OUT, init=0), IN) in EQUAL
    assert level(added(0), added(0), IN) in EQUAL


def test_a_load_beside_the_updates_of_others() -> None:
    def seen(updates: bool):
        def body(k: KernelKit, x, c, out) -> None:
            before = k.load(c, k.int(0), dt=I32)
            if updates:
                k.b("atomic_rmw", k.at(c, k.int(0), I32), k.load(x, k.pid(), dt=I32), combine="add")
            k.store(out, k.pid(), before)

        return launched(body, IN, OUT, out=IN, grid=8)

    assert level(seen(True), seen(False), IN, OUT) is Level.UNDECIDED
    assert level(seen(False), seen(False), IN, OUT) in EQUAL


@pytest.mark.parametrize(
    ("first", "second", "races"),
    [("max", "add", True), ("and", "or", True), ("add", "add", False), ("max", "max", False)],
)
def test_two_combiners(first: str, second: str, races: bool) -> None:
    def body(k: KernelKit, x, out) -> None:
        for combine in (first, second):
            k.b("atomic_rmw", k.at(out, k.int(0), I32), k.load(x, k.pid(), dt=I32), combine=combine)

    program = launched(body, IN, out=OUT, grid=8, init=0)
    assert (level(program, program, IN) is Level.UNDECIDED) is races


def test_exchanges_of_several_instances() -> None:
    def body(k: KernelKit, x, out) -> None:
        k.b("atomic_rmw", k.at(out, k.int(0), I32), k.load(x, k.pid(), dt=I32), combine="exchange")

    assert level(*[launched(body, IN, out=OUT, grid=8)] * 2, IN) is Level.UNDECIDED
    assert level(*[launched(body, IN, out=OUT, grid=1)] * 2, IN) in EQUAL


V = "f32[8]"


def turned(inplace: bool, reduced: bool = False) -> Program:
    """Each lane takes its neighbour's element; in place another lane may have replaced it already."""

    def body(k: KernelKit, x, out=None) -> None:
        lanes = k.lanes(8)
        value = k.load(x, k.b("rem", k.add(lanes, 1), k.b.like(8, lanes)))
        if reduced:  # no lane has the sum before all have loaded
            value = k.sub(value, k.splat(k.sum(value), 8))
        k.store(x if inplace else out, lanes, value)

    return launched(body, V, out=V, inplace=inplace)


def test_a_lane_overwrites_what_another_one_has_still_to_read() -> None:
    assert level(turned(True), turned(False), V) is Level.UNDECIDED
    assert level(turned(False), turned(False), V) in EQUAL
    assert level(turned(True, reduced=True), turned(True, reduced=True), V) in EQUAL


def test_each_lane_in_its_own_place() -> None:
    def doubled(k: KernelKit, x) -> None:
        k.store(x, k.lanes(8), k.mul(k.load(x, k.lanes(8)), 2.0))

    program = launched(doubled, V, out=V, inplace=True)
    assert level(program, program, V) in EQUAL


def test_a_short_accumulator_is_another_sum() -> None:
    def product(impl: str):
        return lambda k, x, y: k.b("dot", x, y, acc="f32", precision="ieee", product="open", impl=impl)

    specs = "f8e4m3fn[16,64]", "f8e4m3fn[64,16]"
    assert level(product("cuda"), product("cuda:imprecise=32"), *specs) not in (Level.BITWISE, Level.REASSOCIATED)
    assert level(product("cuda:imprecise=32"), product("cuda:imprecise=32"), *specs) in EQUAL


def chosen_by_undefined(other: bool) -> Program:
    """Lanes 6 and 7 take an index from a masked-off lane."""

    def body(k: KernelKit, x, i, out) -> None:
        lanes = k.lanes(8)
        mask = k.cmp("lt", lanes, k.b.like(6, lanes))
        masked = (mask, k.b.constant(0, I32, (8,))) if other else (mask,)
        k.store(out, lanes, k.load(x, k.load(i, lanes, *masked, dt=I32)))

    return launched(body, V, IN, out=V)


def test_an_undefined_value_that_steers() -> None:
    assert level(chosen_by_undefined(False), chosen_by_undefined(True), V, IN) is Level.DIFFERENT
    assert level(chosen_by_undefined(False), chosen_by_undefined(False), V, IN) is Level.UNDECIDED
    assert level(chosen_by_undefined(True), chosen_by_undefined(True), V, IN) in EQUAL


def test_undefined_lanes_of_an_address_that_are_masked_off_steer_nothing() -> None:
    def body(k: KernelKit, x, i, out) -> None:
        lanes = k.lanes(8)
        mask = k.cmp("lt", lanes, k.b.like(6, lanes))
        k.store(out, lanes, k.load(x, k.load(i, lanes, mask, dt=I32), mask, k.splat(k.b.constant(0.0, F32), 8)))

    program = launched(body, V, IN, out=V)
    assert level(program, program, V, IN) in EQUAL
