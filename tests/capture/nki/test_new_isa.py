"""Every function of nki.isa of the new API: the instruction that it records."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from lowering.capture.nki import isa_new as nisa
from lowering.capture.nki import language_new as nl
from lowering.capture.trace import TensorRef
from tests.capture.nki.new_api import hbm, kernel, last, ps, sb, unmodelled

P, F = 16, 24
Case = tuple[Callable[[], Any], str, dict[str, Any]]


def t(dtype: str = "float32") -> Any:
    return sb(P, F, dtype=dtype)


def lane(dtype: str = "float32") -> Any:
    return sb(P, 1, dtype=dtype)


#: the call, "operation engine number-of-dst sources" (v: a view, else the number), and attributes
CASES: list[Case] = [
    (lambda: nisa.dma_copy(dst=t(), src=hbm(P, F)), "nc_dma_copy dma 1 v",
     {"compute_op": "none", "oob_mode": "error"}),
    (lambda: nisa.dma_copy(t(), hbm(P, F), oob_mode=nisa.oob_mode.skip, dge_mode=nisa.dge_mode.swdge),
     "nc_dma_copy dma 1 v", {"oob_mode": "skip"}),
    (lambda: nisa.dma_compute(hbm(P, F), [t(), t()], nl.add, scales=[1.0, 2.0], unique_indices=False),
     "dma_compute dma 1 v v", {"reduce_op": "add", "scales": (1.0, 2.0), "unique_indices": False}),
    (lambda: nisa.dma_transpose(sb(F, P), hbm(P, F)), "dma_transpose dma 1 v", {"axes": (1, 0)}),
    (lambda: nisa.dma_transpose(sb(4, 3, 2), hbm(2, 3, 4)), "dma_transpose dma 1 v", {"axes": (2, 1, 0)}),
    (lambda: nisa.dma_transpose(sb(5, 3, 4, 2), hbm(2, 3, 4, 5)), "dma_transpose dma 1 v", {"axes": (3, 1, 2, 0)}),
    (lambda: nisa.tensor_copy(t(), t()), "nc_copy dve 1 v", {}),
    (lambda: nisa.tensor_copy(t(), t(), engine=nisa.scalar_engine), "nc_copy act 1 v", {}),
    (lambda: nisa.tensor_copy_predicated(t(), t(), t("uint8"), reverse_pred=True), "copy_predicated dve 1 v v",
     {"reverse_pred": True}),
    (lambda: nisa.tensor_copy_predicated(t(), 3.0, t("uint8")), "copy_predicated dve 1 3.0 v", {"reverse_pred": False}),
    (lambda: nisa.memset(t(), value=1.5, engine=nisa.gpsimd_engine), "mem_set pool 1 1.5", {}),
    (lambda: nisa.reciprocal(t(), t()), "reciprocal dve 1 v", {}),
    (lambda: nisa.tensor_tensor(t(), t(), t(), nl.multiply), "tensor_tensor dve 1 v v", {"op": "mult"}),
    (lambda: nisa.tensor_tensor(t(), t(), t(), op=nl.power), "tensor_tensor pool 1 v v", {"op": "pow"}),
    (lambda: nisa.tensor_tensor(t("int32"), t("int32"), t("uint32"), op=nl.add), "tensor_tensor pool 1 v v", {}),
    (lambda: nisa.tensor_tensor(t("int32"), ps(P, F, dtype="int32"), t("int32"), op=nl.add), "tensor_tensor dve 1 v v",
     {}),
    (lambda: nisa.tensor_tensor(t("int32"), t("int32"), t("int32"), op=nl.add, engine=nisa.vector_engine),
     "tensor_tensor dve 1 v v", {}),
    (lambda: nisa.tensor_scalar(t(), t(), nl.subtract, lane(), True, nl.maximum, 0.0),
     "tensor_scalar dve 1 v v 0.0", {"op0": "subtract", "op1": "max", "reverse0": True, "reverse1": False}),
    (lambda: nisa.tensor_scalar(t(), t(), op0=nl.rsqrt, operand0=None), "tensor_scalar pool 1 v None None",
     {"op0": "rsqrt", "op1": None}),
    (lambda: nisa.tensor_scalar(t(), t(), op0=nl.multiply, operand0=2, engine=nisa.engine.scalar),
     "tensor_scalar act 1 v 2 None", {"op0": "mult"}),
    (lambda: nisa.scalar_tensor_tensor(t(), t(), nl.multiply, lane(), nl.add, t(), reverse1=True),
     "nc_scalar_tensor_tensor dve 1 v v v", {"op0": "mult", "op1": "add", "reverse0": False, "reverse1": True}),
    (lambda: nisa.tensor_reduce(lane(), nl.maximum, t(), axis=1, negate=True), "tensor_reduce dve 1 v",
     {"op": "max", "axes": (1,), "negate": True}),
    (lambda: nisa.tensor_reduce(sb(P, 2), nl.add, sb(P, 2, 3, 4), axis=[2, -1]), "tensor_reduce dve 1 v",
     {"op": "add", "axes": (2, 3)}),
    (lambda: nisa.tensor_partition_reduce(sb(1, F), nl.add, t()), "tensor_partition_reduce pool 1 v", {"op": "add"}),
    (lambda: nisa.tensor_scalar_reduce(t(), t(), nl.multiply, 2.0, nl.add, lane(), reduce_res_negate=True),
     "tensor_scalar_reduce dve 2 v 2.0 None", {"op0": "mult", "reverse0": False, "reduce_op": "add",
                                               "reduce_cmd": "reset_reduce", "negate": True}),
    (lambda: nisa.tensor_scalar_reduce(t(), t(), nl.add, lane(), nl.maximum, reduce_cmd=nisa.reduce_cmd.load_reduce,
                                       reduce_init=0.5),
     "tensor_scalar_reduce dve 1 v v 0.5", {"reduce_op": "max", "reduce_cmd": "load_reduce"}),
    (lambda: nisa.tensor_scalar_cumulative(t(), t(), nl.multiply, nl.add, 1.0, lane(), nisa.reduce_cmd.load_reduce),
     "tensor_scalar_cumulative dve 1 v 1.0 v", {"op0": "mult", "op1": "add", "reduce_cmd": "load_reduce"}),
    (lambda: nisa.tensor_tensor_scan(t(), t(), t(), 0.0, nl.multiply, nl.add, reverse0=True),
     "tensor_tensor_scan dve 1 v v 0.0", {"op0": "mult", "op1": "add", "reverse0": True, "reverse1": False}),
    (lambda: nisa.activation(t(), nl.exp, t()), "nc_activate act 1 v None 1.0",
     {"op": "exp", "reduce_op": None, "reduce_cmd": "idle"}),
    (lambda: nisa.activation(t(), op=nl.exp, data=t(), bias=lane(), scale=lane(), reduce_op=nl.add, reduce_res=lane(),
                             reduce_cmd=nisa.reduce_cmd.reset_reduce),
     "nc_activate act 2 v v v", {"reduce_op": "add", "reduce_cmd": "reset_reduce"}),
    (lambda: nisa.activation_reduce(t(), nl.square, t(), nl.add, lane(), scale=0.5), "nc_activate act 2 v None 0.5",
     {"op": "square", "reduce_op": "add", "reduce_cmd": "reset_reduce"}),
    (lambda: nisa.activate2(t(), nl.relu, t(), 2.0, lane(), nl.multiply, nl.add, relu_param=0.25),
     "activate2 act 1 v 2.0 v 0.25", {"op": "relu", "op0": "mult", "op1": "add", "reduce_op": None}),
    (lambda: nisa.exponential(t(), t(), lane(), lane(), nisa.reduce_cmd.reset_reduce), "exponential dve 2 v v 0.0",
     {"reduce_cmd": "reset_reduce"}),
    (lambda: nisa.select_reduce(t(), t("uint8"), t(), -1.0, reverse_pred=True), "select_reduce dve 1 v v -1.0",
     {"reduce_op": "max", "reduce_cmd": "idle", "reverse_pred": True}),
    (lambda: nisa.range_select(t(), t(), nl.greater_equal, nl.less, lane(), lane(), reduce_res=lane(), range_start=3),
     "nc_range_select dve 2 v v v 3", {"comp_op0": "is_ge", "comp_op1": "is_lt", "reduce_cmd": "reset_reduce",
                                       "on_false_value": -3.4028234663852886e38}),
    (lambda: nisa.iota(t("int32"), [[2, 6], [1, 4]], offset=5, channel_multiplier=7), "iota pool 1 5",
     {"pattern": ((2, 6), (1, 4)), "channel_multiplier": 7}),
    (lambda: nisa.affine_select(t(), [[-1, F]], 1, t(), -9.0, nl.greater_equal, 2), "nc_affine_select pool 1 v 2",
     {"pattern": ((-1, F),), "channel_multiplier": 1, "cmp_op": "is_ge", "on_false_value": -9.0}),
    (lambda: nisa.affine_select(t(), [[1, F]], 0, t(), 0.0), "nc_affine_select pool 1 v 0", {"cmp_op": "is_equal"}),
    (lambda: nisa.bn_stats(sb(P, 6), t()), "batch_norm_stats dve 1 v", {}),
    (lambda: nisa.bn_aggr(sb(P, 2), sb(P, 12)), "batch_norm_aggregate dve 1 v", {}),
    (lambda: nisa.max8(sb(P, 8), t()), "max8 dve 1 v", {}),
    (lambda: nisa.nc_find_index8(sb(P, 8, dtype="uint32"), t(), sb(P, 8)), "find_index8 dve 1 v v", {}),
    (lambda: nisa.nc_match_replace8(t(), t(), sb(P, 8), -1e9), "match_replace8 dve 1 v v", {"replace_value": -1e9}),
    (lambda: nisa.nc_match_replace8(t(), t(), sb(P, 8), 0, dst_idx=sb(P, 8, dtype="uint32")),
     "match_replace8 dve 2 v v", {"replace_value": 0.0}),
    (lambda: nisa.local_gather(sb(P, 32), t(), sb(P, 2, dtype="uint16"), 1, 32), "nc_local_gather pool 1 v v",
     {"num_elem_per_idx": 1, "num_valid_indices": 32}),
    (lambda: nisa.nc_n_gather(sb(P, 5), t(), sb(P, 5, dtype="uint32")), "nc_n_gather pool 1 v v", {}),
    (lambda: nisa.nonzero_with_count(sb(P, 25, dtype="int32"), t("int32"), padding_val=-2),
     "nonzero_with_count pool 1 v", {"index_offset": 0, "padding_val": -2}),
    (lambda: nisa.sequence_bounds(sb(1, 2, F), sb(1, F)), "sequence_bounds pool 1 v", {}),
    (lambda: nisa.topk(sb(16, 8, dtype="bfloat16"), sb(16, 8, dtype="uint32"), t("bfloat16"), 8), "topk pool 2 v",
     {"n": 8}),
    (lambda: nisa.nc_stream_shuffle(sb(32, F), sb(32, F), list(range(31)) + [255]), "shuffle dve 1 v",
     {"shuffle_mask": (*range(31), 255)}),
    (lambda: nisa.nc_stream_shuffle(sb(24, F), sb(1, F), [0] * 32), "shuffle dve 1 v", {"shuffle_mask": (0,) * 32}),
    (lambda: nisa.nc_transpose(ps(F, P), t()), "transpose pe 1 v", {}),
    (lambda: nisa.nc_transpose(sb(F, P), t()), "transpose dve 1 v", {}),
    (lambda: nisa.nc_transpose(sb(F, P), t(), engine=nisa.tensor_engine), "transpose pe 1 v", {}),
    (lambda: nisa.nc_matmul(ps(F, 9), t(), sb(P, 9)), "nc_mat_mul pe 1 v v",
     {"accumulate": False, "asked": None, "is_transpose": False, "perf_mode": "none"}),
    (lambda: nisa.nc_matmul(ps(F, 9), t(), sb(P, 9), accumulate=True), "nc_mat_mul pe 1 v v",
     {"accumulate": True, "asked": True}),
    (lambda: nisa.nc_matmul(ps(5, 9), sb(P, 2, 5), sb(P, 2, 9), perf_mode=nisa.matmul_perf_mode.double_row),
     "nc_mat_mul pe 1 v v", {"perf_mode": "double_row"}),
    (lambda: nisa.nc_matmul_mx(ps(4, 6), sb(32, 4, dtype="float8_e4m3fn_x4"), sb(32, 6, dtype="float8_e4m3fn_x4"),
                               sb(32, 4, dtype="uint8"), sb(32, 6, dtype="uint8")),
     "mat_mul_mx pe 1 v v v v", {"accumulate": False, "asked": None}),
    (lambda: nisa.quantize_mx(sb(32, 4, dtype="float8_e4m3fn_x4"), sb(32, 16), sb(32, 4, dtype="uint8")),
     "quantize_mx dve 2 v", {}),
    (lambda: nisa.dropout(t(), t(), 0.5), "dropout dve 1 v 0.5", {}),
    (lambda: nisa.rng(t("uint32")), "rng dve 1", {}),
    (lambda: nisa.rand2(t(), 0.0, lane()), "rand2 dve 1 0.0 v", {}),
    (lambda: nisa.rand_get_state(t("uint32")), "rand_get_state pool 1", {}),
    (lambda: nisa.rand_set_state(t("uint32")), "rand_set_state pool 0 v", {}),
    (lambda: nisa.set_rng_seed(sb(1, 1, dtype="uint32")), "set_rng_seed dve 0 v", {}),
    (lambda: nisa.core_barrier(hbm(P, F), (0, 1)), "core_barrier pool 0 v", {"cores": (0, 1)}),
    (lambda: nisa.register_load(nisa.register_alloc(), sb(1, 1, dtype="int32")), "tensor_load sp 1 v", {}),
    (lambda: nisa.register_store(sb(1, 1, dtype="int32"), nisa.register_alloc(7)), "tensor_store sp 1 7", {}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("call", "wanted", "attrs"), CASES, ids=[f"{i}-{c[1].split()[0]}" for i, c in enumerate(CASES)]
)
def test_what_is_recorded(call: Callable[[], Any], wanted: str, attrs: dict[str, Any]) -> None:
    op, engine, results, *sources = wanted.split()
    with kernel(target="gen4") as trace:
        call()
        made = last(trace)
    assert (made.op, made.engine, len(made.dst)) == (op, engine, int(results))
    assert ["v" if isinstance(source, TensorRef) else str(source) for source in made.src] == sources
    assert {key: made.attrs[key] for key in attrs} == attrs
    assert made.span.file == __file__


def test_matmuls_on_one_place_add_up_and_a_new_place_starts_anew() -> None:
    with kernel() as trace:
        total, a, b = ps(4, 8), sb(P, 4), sb(P, 8)
        nisa.nc_matmul(total[:, 0:4], a, b[:, 0:4])
        nisa.nc_matmul(total, a, b)
        nisa.nc_matmul(total, a, b)
        flags = [instr.attrs["accumulate"] for instr in trace.instrs]
    assert flags[0] is False and flags[2] is True and flags[1].tolist() == [[True] * 4 + [False] * 4] * 4


def test_a_matmul_into_another_dtype_is_not_modelled() -> None:
    with kernel(), unmodelled("a product that is written to a bfloat16 tile as float32"):
        nisa.nc_matmul(ps(4, 8, dtype="bfloat16").view(nl.float32), sb(P, 4), sb(P, 4))


def test_registers_hold_numbers_or_what_the_device_loads() -> None:
    with kernel() as trace:
        a, b = nisa.register_alloc(3), nisa.register_alloc()
        nisa.register_move(b, a)
        assert int(b) == 3 and b + 1 == 4 and 2 * b == 6 and b > 2 and sb(8, 8)[:, b].offset == 3
        nisa.register_load(a, sb(1, 1, dtype="int32"))
        assert a.loaded is not None and trace.storages[a.loaded.ref.storage].space == "register"
        nisa.register_store(sb(1, 1, dtype="int32"), a)
        assert a.loaded is not None and last(trace).src == (a.loaded.ref,)


def test_what_an_instruction_returns_changes_nothing() -> None:
    with kernel():
        assert isinstance(nisa.tensor_copy(t(), t()), nisa.NkiInstruction)
    with kernel(version="0.5"):
        assert nisa.tensor_copy(t(), t()) is None


def test_the_target_is_asked() -> None:
    for target, version in (("gen2", 2), ("gen3", 3), ("gen4", 4)):
        with kernel(target=target):
            assert nisa.get_nc_version().value == version
            assert (nisa.get_nc_version() >= nisa.nc_version.gen3) is (version >= 3)


def test_a_copy_between_shapes_says_so() -> None:
    with kernel() as trace:
        nisa.dma_copy(sb(4, 6), hbm(4, 1, 6))
        assert not trace.notes
        nisa.dma_copy(sb(4, 6), hbm(6, 4))
        nisa.dma_copy(sb(4, 6), hbm(3, 8))
        assert len(trace.notes) == 2 and "from (6, 4) to (4, 6): NKI wants equal shapes" in trace.notes[0]


def test_a_name_is_one_object() -> None:
    assert nl.add is nl.add and nl.add != nl.multiply and nl.exp is nl.exp and nl.float32 == "float32"


@pytest.mark.sweep
def test_tracing_is_fast_enough() -> None:
    """20,000 instructions a second on a usual machine; a fifth of that is asked here, of processor time."""
    with kernel() as trace:
        a = t()
        begun = time.process_time()
        for _ in nl.affine_range(4000):
            nisa.tensor_tensor(a, a, a, op=nl.add)
        assert time.process_time() - begun < 1.0 and len(trace.instrs) == 4000
