"""Evaluator handlers of control: loops and branches under an active mask, launches in chunks of instances."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from equivalence.evaluator.fences import Fences
from equivalence.evaluator.frame import Frame
from equivalence.evaluator.lanes import FLOAT_DATA, INTEGER_DATA, Lanes
from equivalence.evaluator.machine import Machine, any_value, handles, kernel_frame
from equivalence.evaluator.provenance import TOUCHING, region_text, updated_buffers
from lowering.errors import Unsupported
from lowering.ir.program import Block, Function, Op, Program, Value

MOST_TURNS = 2000  # of a loop that data end: an infinity may keep it going for ever


def _per_instance(frame: Frame, lanes: Lanes) -> np.ndarray:
    """A scalar's value in each instance, [1] when uniform among the running ones."""
    values = lanes.data.reshape(-1)
    if values.size > 1:
        running = values if frame.active is None else values[frame.active]
        if running.size and (running == running[0]).all():
            return running[:1]
    return values


def _enter(m: Machine, frame: Frame, region: Block, arguments: Sequence[Lanes]) -> list[Lanes]:
    for value, lanes in zip(region.args, arguments, strict=True):
        frame.values[value] = lanes
    return m.block(frame, region)


def _observe_control(m: Machine, frame: Frame, op: Op, value: Lanes) -> bool:
    """Data decide what runs: with equal paths the regions, and all they can see, must be the same on both sides."""
    if value.taint != FLOAT_DATA or value.planes is None:
        m.observe(value, op.span)
        return False
    text, captured = region_text(op, m.program.kernels)
    seen = [frame.values[v] for v in captured]
    if any(inner.name in TOUCHING for region in op.regions for inner in region.walk()):
        seen += [b.cells for b in m.memory.buffers.values() if b.cells is not None]
    m.observe(value, op.span, text, seen, frame.key)
    return True


@handles("for")
def for_(m: Machine, frame: Frame, op: Op, x: list[Lanes]) -> Sequence[Lanes]:
    for bound in x[:3]:
        _observe_control(m, frame, op, bound)
    lower, upper, step = (_per_instance(frame, b) for b in x[:3])
    carries, uniform = x[3:], max(lower.size, upper.size, step.size) == 1
    if (step == 0).any() or (not uniform and (step < 0).any()):
        raise Unsupported("a loop that does not advance towards its bound", op.span)
    if uniform:
        for i in range(int(lower[0]), int(upper[0]), int(step[0])):
            counter = x[0].replace(data=np.array([i], x[0].data.dtype), planes=None, taint=0)
            carries = _enter(m, frame, op.regions[0], [counter, *carries])
        return carries
    return _ragged_for(m, frame, op, x[0], lower, upper, step, carries)


def _ragged_for(
    m: Machine,
    frame: Frame,
    op: Op,
    model: Lanes,
    lower: np.ndarray,
    upper: np.ndarray,
    step: np.ndarray,
    carries: list[Lanes],
) -> list[Lanes]:
    """Instances with bounds of their own leave the loop one by one."""
    outer = frame.active
    counter = np.broadcast_to(lower, (frame.batch,)).copy()
    while True:
        running = (counter < upper) if outer is None else (counter < upper) & outer
        if not running.any():
            break
        frame.active = None if running.all() else running
        i = model.replace(data=counter.copy(), planes=None, taint=0)
        new = _enter(m, frame, op.regions[0], [i, *carries])
        carries = [m.choose(running, n, o) for n, o in zip(new, carries, strict=True)]
        counter = counter + step
    frame.active = outer
    return carries


@handles("while")
def while_(m: Machine, frame: Frame, op: Op, x: list[Lanes]) -> Sequence[Lanes]:
    outer, carries, passed, entered, turns = frame.active, x, None, False, 0
    while True:
        condition, *values = _enter(m, frame, op.regions[0], carries)
        if entered:
            m.observe(condition, op.span)
        else:
            entered = _observe_control(m, frame, op, condition)
        going = np.broadcast_to(condition.data.reshape(-1), (max(frame.batch, condition.batch),))
        running = going if frame.active is None else going & frame.active
        passed = (
            values if passed is None else [m.choose(frame.active, v, p) for v, p in zip(values, passed, strict=True)]
        )
        if not running.any():
            break
        turns += 1
        if turns > MOST_TURNS and condition.taint == FLOAT_DATA:
            raise Unsupported(f"a loop that these data do not end in {MOST_TURNS} rounds", op.span)
        everyone = running.all()
        frame.active = None if everyone and frame.active is None else running
        new = _enter(m, frame, op.regions[1], values)
        carries = [m.choose(frame.active, n, o) for n, o in zip(new, carries, strict=True)]
    frame.active = outer
    if entered:
        _note_cap(m, frame, op)
    return passed


def _note_cap(m: Machine, frame: Frame, op: Op) -> None:
    """A loop that follows data and would also end after so many rounds: no data that were tried reached them."""
    for inner in op.regions[0].walk():
        bounded = (inner.span, "cmp", True) in m.coverage  # noted of comparisons of indices only
        if inner.name == "cmp" and bounded and (inner.span, "cmp", False) not in m.coverage:
            what = "a loop that follows data never came to the round at which it gives up"
            m.followed |= m.freedoms.bit("cap", m.site(frame, inner).key, what, inner.span)


@handles("if")
def if_(m: Machine, frame: Frame, op: Op, x: list[Lanes]) -> Sequence[Lanes]:
    _observe_control(m, frame, op, x[0])
    chosen = _per_instance(frame, x[0])
    if chosen.size == 1:
        return _enter(m, frame, op.regions[0 if chosen[0] else 1], [])
    outer = frame.active
    sides = []
    for region, mask in zip(op.regions, (chosen, ~chosen), strict=True):
        running = mask if outer is None else mask & outer
        frame.active = running
        sides.append(_enter(m, frame, region, []) if running.any() else None)
    frame.active = outer
    if sides[0] is None or sides[1] is None:
        return (sides[0] if sides[1] is None else sides[1]) or []
    return [m.choose(chosen, a, b) for a, b in zip(*sides, strict=True)]


@handles("observe")
def observe(m: Machine, frame: Frame, op: Op, x: list[Lanes]) -> Sequence[Lanes]:
    m.observe(x[0], op.span)
    if x[0].taint == FLOAT_DATA:
        what, kind = "the host follows data; what it does on other data was not captured", "host"
        if not x[0].data.any() and _tests_equality(m.program, op.operands[0]):
            what, kind = "the host found floats unequal; what it does where they are equal was not compared", "equality"
        m.followed |= m.freedoms.bit(kind, f"{op.span}", what, op.span)
    elif x[0].taint == INTEGER_DATA and x[0].dtype.kind == "bool" and _of_masks(m.program, op.operands[0]):
        what = "the host follows a mask; what it does on another mask was not captured"
        m.followed |= m.freedoms.bit("host", f"{op.span}", what, op.span)
    m.reads.append(np.ascontiguousarray(x[0].data).tobytes())
    return []


def _of_masks(program: Program, value: Value) -> bool:
    """Whether a truth value is made of truth values that are inputs."""
    makers = {result: op for op in program.body.walk() for result in op.results}
    given, pending, seen = set(program.body.args), [value], set[Value]()
    while pending:
        here = pending.pop()
        if here in given and here.type.dtype.kind == "bool":
            return True
        if here not in seen and here in makers:
            pending.extend(makers[here].operands)
        seen.add(here)
    return False


def _tests_equality(program: Program, value: Value) -> bool:
    """Whether a truth value says that floats are all equal: false but on a set of measure zero."""
    makers = {result: op for op in program.body.walk() for result in op.results}
    while (op := makers.get(value)) is not None:
        if op.name == "cmp":
            return op.attrs["pred"] == "eq" and op.operands[0].type.dtype.is_float
        if op.name not in ("reshape", "cast") and not (op.name == "reduce" and op.attrs["combine"] == "and"):
            return False
        value = op.operands[0]
    return False


@handles("launch")
def launch(m: Machine, frame: Frame, op: Op, x: list[Lanes]) -> Sequence[Lanes]:
    kernel = m.program.kernels[op.attrs["kernel"]]
    gx, gy, gz = (int(n) for n in op.attrs["grid"])
    total = gx * gy * gz
    m.memory.visits.epoch += 1
    m.memory.visits.watched = updated_buffers(kernel, x, m.memory.buffers)
    m.memory.fences = Fences()
    m.locks = any(inner.name == "atomic_cas" for inner in kernel.body.walk())
    m.memory.visits.atomic = any(inner.name.startswith("atomic_") for inner in kernel.body.walk())
    chunk = _chunk(m, kernel)
    for first in range(0, total, chunk):
        instance = np.arange(first, min(total, first + chunk), dtype=np.int64)
        inner = kernel_frame(kernel, x, (gx, gy, gz), instance)
        m.block(inner, kernel.body)
    m.memory.visits.epoch += 1
    m.memory.visits.watched, m.memory.fences, m.locks = frozenset(), Fences(), False
    return []


def _chunk(m: Machine, kernel: Function) -> int:
    """Instances run together: as many as the lane limit allows; one by one where they wait for each other."""
    widest = max((v.type.size for op in kernel.body.walk() for v in op.results), default=1)
    if any(op.name == "atomic_cas" for op in kernel.body.walk()):
        return 1
    return max(1, m.limits.lanes // max(1, widest))


@handles("program_id")
def program_id(m: Machine, frame: Frame, op: Op, _: list[Lanes]) -> Sequence[Lanes]:
    if frame.instance is None or frame.grid is None:
        raise Unsupported("a program id outside a launch", op.span)
    gx, gy, _gz = frame.grid
    axis = op.attrs["axis"]
    number = (frame.instance % gx, frame.instance // gx % gy, frame.instance // (gx * gy))[axis]
    if frame.grid[axis] == 1:
        number = number[:1]
    return [m.literal(number, op.result.type.dtype, ())]


@handles("num_programs")
def num_programs(m: Machine, frame: Frame, op: Op, _: list[Lanes]) -> Sequence[Lanes]:
    assert frame.grid is not None
    return [m.literal(np.array([frame.grid[op.attrs["axis"]]]), op.result.type.dtype, ())]


__all__ = ["any_value"]
