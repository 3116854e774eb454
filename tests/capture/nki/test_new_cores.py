"""Kernels of the new API on two cores: what they share, where they meet, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from equivalence.evaluator import Machine
from lowering.capture.nki import isa_new as nisa
from lowering.capture.nki import language_new as nl
from lowering.capture.nki import root_new as nki
from lowering.capture.nki.host import capture_nki
from lowering.capture.nki.trace import NkiTrace
from lowering.errors import Unsupported, UsageError
from lowering.nki_program import lower_nki

X = np.arange(8 * 6, dtype=np.float32).reshape(8, 6)


@nki.jit
def halves(x: Any) -> Any:
    """Each core doubles its half of the rows."""
    out = nl.ndarray((8, 6), nl.float32, buffer=nl.shared_hbm)
    core = nl.program_id(0)
    rows = nl.ds(core * 8 // nl.num_programs(), 8 // nl.num_programs())
    tile = nl.load(x[rows])
    nisa.tensor_tensor(tile, tile, tile, nl.add)
    nisa.dma_copy(out[rows], tile)
    return out


@nki.jit
def swapped(x: Any) -> Any:
    """Each core adds the other's half to its own."""
    out = nl.ndarray((8, 6), nl.float32, buffer=nl.shared_hbm)
    core = nl.program_id(0)
    mine, other = nl.load(x[nl.ds(core * 4, 4)]), nl.ndarray((4, 6), nl.float32)
    for _ in nl.affine_range(1):
        nisa.sendrecv(src=mine, dst=other, send_to_rank=1 - core, recv_from_rank=1 - core, pipe_id=0)
    nisa.tensor_tensor(mine, mine, other, nl.add)
    nisa.dma_copy(out[nl.ds(core * 4, 4)], mine)
    return out


@nki.jit
def by_way_of_hbm(x: Any) -> Any:
    """Core 0 reads what core 1 has written before the barrier."""
    out = nl.ndarray((8, 6), nl.float32, buffer=nl.shared_hbm)
    between = nl.ndarray((8, 6), nl.float32, buffer=nl.shared_hbm)
    core = nl.program_id(0)
    nisa.dma_copy(between[nl.ds(core * 4, 4)], nl.load(x[nl.ds(core * 4, 4)]))
    nisa.core_barrier(between, (0, 1))
    nisa.dma_copy(out[nl.ds(core * 4, 4)], nl.load(between[nl.ds(4 - core * 4, 4)]))
    return out


@nki.jit
def gathered(x: Any) -> Any:
    """Each core fills the other's part of its own tile."""
    out = nl.ndarray((4, 2, 6), nl.float32, buffer=nl.shared_hbm)
    core, tile = nl.program_id(0), nl.ndarray((4, 2, 6), nl.float32)
    nisa.dma_copy(tile[:, core], x[nl.ds(core * 4, 4)])
    nisa.sendrecv(src=tile[:, core], dst=tile[:, 1 - core], send_to_rank=1 - core, recv_from_rank=1 - core, pipe_id=0)
    if core == 1:
        nisa.dma_copy(out, tile)
    return out


def traced(kernel: Callable[..., Any]) -> NkiTrace:
    return capture_nki(kernel, [X], names=("x",))


def run(kernel: Callable[..., Any]) -> np.ndarray:
    outcome = Machine(lower_nki(traced(kernel)), ()).run({"x": X})
    return np.asarray(outcome.outputs["out0"].data)[0]


def test_cores_write_one_tensor() -> None:
    assert np.array_equal(run(halves[2]), 2 * X) and np.array_equal(run(halves), 2 * X)
    assert [instr.core for instr in traced(halves[2]).instrs] == [0, 0, 0, 1, 1, 1]


def test_an_exchange_and_a_barrier() -> None:
    assert np.array_equal(run(swapped[2]), X + np.roll(X, 4, axis=0))
    assert np.array_equal(run(by_way_of_hbm[2]), np.roll(X, 4, axis=0))
    assert np.array_equal(run(gathered[2]), X.reshape(2, 4, 6).transpose(1, 0, 2))
    sent = [instr for instr in traced(swapped[2]).instrs if instr.op == "send_recv"]
    assert [instr.core for instr in sent] == [0, 1] and sent[0].dst[0] != sent[1].dst[0]
    assert {instr.span.line for instr in sent} == {42} and sent[0].loops[0].kind == "affine_range"


def _kernel(body: Callable[[Any, int], Any]) -> Callable[..., Any]:
    def kernel(x: Any) -> Any:
        out = nl.ndarray((4, 6), nl.float32, buffer=nl.shared_hbm)
        body(nl.load(x[0:4]), nl.program_id(0))
        return out

    return nki.jit(kernel)[2]


def test_what_does_not_meet_is_refused() -> None:
    def alone(tile: Any, core: int) -> None:
        if core == 0:
            nisa.core_barrier(tile, (0, 1))

    def crossed(tile: Any, core: int) -> None:
        if core == 0:
            nisa.core_barrier(tile, (0, 1))
        else:
            nisa.sendrecv(tile, nl.zeros((4, 6), nl.float32), 0, 0, 0)

    def to_itself(tile: Any, core: int) -> None:
        nisa.sendrecv(tile, nl.zeros((4, 6), nl.float32), 0, 0, 0)

    def in_place(tile: Any, core: int) -> None:
        nisa.sendrecv(tile, tile, 1 - core, 1 - core, 0)

    shared = nl.shared_hbm

    def both_write(tile: Any, core: int) -> None:
        nisa.dma_copy(nl.ndarray((4, 6), nl.float32, buffer=shared), tile)

    def reads_early(tile: Any, core: int) -> None:
        place = nl.ndarray((8, 6), nl.float32, buffer=shared)
        nisa.dma_copy(place[nl.ds(core * 4, 4)], tile)
        nl.load(place[nl.ds(0, 4)])

    def fails(tile: Any, core: int) -> None:
        if core == 1:
            nl.add(tile, nl.zeros((4, 7), nl.float32))

    cases: list[tuple[Any, str]] = [
        (alone, "nisa.core_barrier waits for core 1, which has ended"),
        (crossed, "nisa.sendrecv meets nisa.core_barrier"),
        (to_itself, "which does not send to it"),
        (fails, "do not go together"),
        (both_write, "core 1 writes elements that core 0 writes at"),
        (reads_early, "core 1 reads elements that core 0 writes at"),
    ]
    for body, words in cases:
        with pytest.raises(UsageError, match=r"test_new_cores\.py:\d+") as caught:
            traced(_kernel(body))
        assert words in str(caught.value)
    with pytest.raises(Unsupported, match="sent at the same time"):
        traced(_kernel(in_place))
    with pytest.raises(Unsupported, match="runs on one core"):
        traced(swapped)


def test_cores_that_return_different_tensors() -> None:
    def kernel(x: Any) -> Any:
        out = nl.ndarray((8, 6), nl.float32, buffer=nl.hbm)
        nisa.dma_copy(out, x)
        return out

    with pytest.raises(Unsupported, match="different tensors"):
        traced(nki.jit(kernel)[2])


@nki.jit
def at_one_place(x: Any) -> Any:
    """Each core keeps its half at the same place of its own memory."""
    out = nl.ndarray((8, 6), nl.float32, buffer=nl.shared_hbm)
    core = nl.program_id(0)
    mine = nl.ndarray((4, 6), nl.float32, buffer=nl.sbuf, address=(0, 0))
    nisa.dma_copy(mine, x[nl.ds(core * 4, 4)])
    nisa.core_barrier(out, (0, 1))
    nisa.dma_copy(out[nl.ds(core * 4, 4)], mine)
    return out


@nki.jit
def accumulated(x: Any) -> Any:
    """Each core's accumulator adds up its half twice."""
    out = nl.ndarray((8, 1), nl.float32, buffer=nl.shared_hbm)
    core = nl.program_id(0)
    mine, copied, total = nl.load(x[nl.ds(core * 4, 4)]), nl.ndarray((4, 6), nl.float32), nl.ndarray((4, 1), nl.float32)
    nisa.activation(copied, nl.copy, mine, reduce_op=nl.add, reduce_cmd=nisa.reduce_cmd.reset_reduce)
    nisa.core_barrier(out, (0, 1))
    nisa.activation(copied, nl.copy, mine, reduce_op=nl.add, reduce_cmd=nisa.reduce_cmd.reduce, reduce_res=total)
    nisa.dma_copy(out[nl.ds(core * 4, 4)], total)
    return out


def test_a_place_and_an_accumulator_are_of_one_core() -> None:
    assert np.array_equal(run(at_one_place[2]), X)
    assert np.array_equal(run(accumulated[2])[:, 0], 2 * X.sum(1))


def test_cores_that_make_different_shared_tensors() -> None:
    """What both make at one place of the source is one tensor; which of several is which has to be clear."""

    def kernel(x: Any) -> Any:
        core = nl.program_id(0)
        if core == 0:
            nl.ndarray((8, 6), nl.float32, buffer=nl.shared_hbm)
        out = nl.ndarray((8, 6), nl.float32, buffer=nl.shared_hbm)
        nisa.dma_copy(out[4 * core : 4 * core + 4], x[4 * core : 4 * core + 4])
        return out

    assert np.array_equal(run(nki.jit(kernel)[2]), X)

    def unclear(x: Any) -> Any:
        core = nl.program_id(0)
        made = [nl.ndarray((8, 6), nl.float32, buffer=nl.shared_hbm) for _ in range(2 - core)]
        nisa.dma_copy(made[-1][4 * core : 4 * core + 4], x[4 * core : 4 * core + 4])
        return made[0]

    with pytest.raises(Unsupported, match="some instances of a grid do not make"):
        traced(nki.jit(unclear)[2])
