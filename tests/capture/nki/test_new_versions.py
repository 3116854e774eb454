"""What the releases 0.2 to 0.6 have differently: each is told or done as that release did it."""

from __future__ import annotations

import pytest

from lowering.capture.nki import isa_new as nisa
from lowering.capture.nki import language_new as nl
from lowering.capture.nki.tracer import current
from tests.capture.nki.new_api import hbm, kernel, last, refused, sb

P, F = 16, 24


def test_what_a_release_does_not_have_yet() -> None:
    with kernel(version="0.2"):
        with refused("nl.add() is there from NKI 0.3 on; the kernel is read as NKI 0.2"):
            nl.add(sb(P, F), sb(P, F))
        with refused("nisa.nc_matmul: accumulate= is there from NKI 0.3 on"):
            nisa.nc_matmul(sb(F, F), sb(P, F), sb(P, F), accumulate=True)
        with refused("nl.ndarray: address="):
            nl.ndarray((4, 4), nl.float32, address=(0, 0))
    with kernel(version="0.3"):
        with refused("nisa.dma_copy: priority= is there from NKI 0.4 on, not in 0.3"):
            nisa.dma_copy(sb(P, F), hbm(P, F), priority=1)
        with refused("nisa.activate2 is there from NKI 0.4 on"):
            nisa.activate2(sb(P, F), nl.exp, sb(P, F), 1.0, 1.0, nl.multiply, nl.add)
    with kernel(version="0.5"):
        with refused("nl.fori_loop is there from NKI 0.6 on"):
            nl.fori_loop(0, 4, print)
        with refused("needs reduce_res before NKI 0.6"):
            nisa.tensor_scalar_reduce(sb(P, F), sb(P, F), nl.add, 1.0, nl.add)
        with refused("nisa.topk is there from NKI 0.6 on"):
            nisa.topk(sb(1, 8), sb(1, 8), sb(P, F), 8)


def test_calls_that_0_2_had_otherwise() -> None:
    with kernel(version="0.2") as trace:
        nisa.dma_copy(hbm(P, F), sb(P, F), dst_rmw_op=nl.add)
        assert last(trace).attrs["compute_op"] == "add"
        nisa.dma_compute(hbm(P, F), [sb(P, F)], [2.0], nl.add)
        assert last(trace).attrs["scales"] == (2.0,) and last(trace).attrs["reduce_op"] == "add"
        nisa.affine_select(sb(P, F), [[1, F]], 3, 1, sb(P, F), -1.0)
        assert last(trace).src[1] == 3 and last(trace).attrs["channel_multiplier"] == 1
        register = nisa.register_alloc()
        nisa.register_move(register, imm=4)
        assert int(register) == 4
    with kernel(version="0.3"):
        with refused("imm= is gone since NKI 0.3"):
            nisa.register_move(register, imm=4)
        with refused("dst_rmw_op= is gone since NKI 0.3"):
            nisa.dma_copy(hbm(P, F), sb(P, F), dst_rmw_op=nl.add)


def test_0_2_folds_the_last_axis() -> None:
    with kernel(version="0.2") as trace:
        nisa.tensor_reduce(sb(P, 2), nl.add, sb(P, 2, 3), axis=1)
        assert last(trace).attrs["axes"] == (2,) and "0.2 folds the last axis" in trace.notes[0]
    with kernel(version="0.3"), refused("only trailing free axes fold; NKI 0.2 folded the last one"):
        nisa.tensor_reduce(sb(P, 3), nl.add, sb(P, 2, 3), axis=1)


def test_accumulators_of_0_2() -> None:
    with kernel(version="0.2") as trace:
        nisa.activation(sb(P, F), nl.exp, sb(P, F))
        assert last(trace).attrs["reduce_cmd"] == "reset"
        nisa.range_select(sb(P, F), sb(P, F), nl.less, nl.less, sb(P, 1), sb(P, 1), nisa.reduce_cmd.idle,
                          on_false_value=1.0)  # fmt: skip
        assert last(trace).attrs["reduce_cmd"] == "reset_reduce" and last(trace).attrs["on_false_value"] < -3e38
        assert "ignores on_false_value" in trace.notes[0]
    with kernel(version="0.3") as trace:
        nisa.activation(sb(P, F), nl.exp, sb(P, F))
        assert last(trace).attrs["reduce_cmd"] == "idle"


def test_a_fraction_in_an_integer_tile() -> None:
    with kernel(version="0.2") as trace:
        nisa.memset(sb(P, F, dtype="int32"), 1.5)
        assert last(trace).src == (1,)
        with refused("nan is no number of an int32 tile"):
            nisa.memset(sb(P, F, dtype="int32"), float("nan"))
    with kernel(version="0.3"), refused("is no number of an int32 tile"):
        nisa.memset(sb(P, F, dtype="int32"), 1.5)


@pytest.mark.parametrize(("version", "op"), [("0.3", "nc_activate"), ("0.5", "nc_activate"), ("0.6", "nc_copy")])
def test_nl_copy_went_through_f32_before_0_6(version: str, op: str) -> None:
    with kernel(version=version) as trace:
        nl.copy(sb(P, F, dtype="int32"))
        assert last(trace).op == op


@pytest.mark.parametrize(("version", "engine"), [("0.4", "act"), ("0.5", "pool")])
def test_nl_rsqrt_moved_to_another_engine(version: str, engine: str) -> None:
    with kernel(version=version) as trace:
        nl.rsqrt(sb(P, F))
        assert last(trace).engine == engine


def test_the_number_of_instances() -> None:
    for version, wanted in (("0.2", (2, 3)), ("0.3", 2)):
        with kernel(version=version):
            current().grid = (2, 3)
            assert nl.num_programs() == wanted and nl.num_programs(axes=1) == 3 and nl.num_programs((1, 0)) == (3, 2)
            assert nl.program_ndim() == 2


def test_a_release_that_there_is_not() -> None:
    with kernel(version="0.1"), refused("whose releases are 0.2, 0.3, 0.4, 0.5, 0.6, not 0.1"):
        nisa.reciprocal(sb(P, F), sb(P, F))
