"""What the new API's instructions refuse: the words, and the user's line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from lowering.capture.nki import isa_new as nisa
from lowering.capture.nki import language_new as nl
from lowering.capture.nki import root_new
from tests.capture.nki.new_api import hbm, kernel, ps, refused, sb, unmodelled

P, F = 16, 24


def t(dtype: str = "float32") -> Any:
    return sb(P, F, dtype=dtype)


def lane() -> Any:
    return sb(P, 1)


REFUSED: list[tuple[str, Callable[[], Any]]] = [
    ("there is no mask=: masks are Beta-1's", lambda: nisa.tensor_copy(t(), t(), mask=None)),
    ("there is no dtype=: the result has dst's dtype",
     lambda: nisa.tensor_tensor(t(), t(), t(), nl.add, dtype=nl.float32)),
    ("there is no sclae=; its parameters are: dst, op, data", lambda: nisa.activation(t(), nl.exp, t(), sclae=2.0)),
    ("missing a required argument: 'op'", lambda: nisa.tensor_tensor(t(), t(), t())),
    ("too many positional arguments", lambda: nisa.reciprocal(t(), t(), None, None)),
    ("nisa.dma_copy: dst_rmw_op= is gone since NKI 0.3: write nisa.dma_compute",
     lambda: nisa.dma_copy(hbm(P, F), t(), dst_rmw_op=nl.add)),
    ("nisa.dma_copy: there is no prio=; its parameters are: dst, src, priority, oob_mode, dge_mode, engine, name",
     lambda: nisa.dma_copy(t(), hbm(P, F), prio=1)),
    ("nisa.dma_copy: there is no mask=", lambda: nisa.dma_copy(t(), hbm(P, F), mask=None)),
    ("dma_copy: dst has shape (16, 24), src (16, 23)", lambda: nisa.dma_copy(t(), hbm(P, 23))),
    ("src of dma_copy is a ndarray; it has to be a tile", lambda: nisa.dma_copy(t(), np_array())),
    ("it has to be a tile", lambda: nisa.tensor_copy(t(), 3.0)),
    ("tensor_tensor: shapes (16, 24) and (16, 1) hold different elements",
     lambda: nisa.tensor_tensor(t(), t(), lane(), nl.add)),
    ("operand0 is (16, 24); it has to be a number or (16, 1)",
     lambda: nisa.tensor_scalar(t(), t(), nl.add, t())),
    ("operand0 is (1, 1); it has to be a number or (16, 1)",
     lambda: nisa.tensor_scalar(t(), t(), nl.add, sb(1, 1))),
    ("operand1 and no op1", lambda: nisa.tensor_scalar(t(), t(), nl.add, 1.0, operand1=2.0)),
    ("not both bit operations", lambda: nisa.tensor_scalar(t("int32"), t("int32"), nl.bitwise_and, 1, op1=nl.add,
                                                           operand1=1)),
    ("bitwise_and takes an integer, and not inf",
     lambda: nisa.tensor_scalar(t("int32"), t("int32"), nl.bitwise_and, float("inf"))),
    ("logical_shift_left takes an integer, and not None",
     lambda: nisa.tensor_scalar(t("int32"), t("int32"), nl.left_shift, None)),
    ("bias is (16, 24)", lambda: nisa.activation(t(), nl.exp, t(), bias=t())),
    ("exp is not an ALU operation", lambda: nisa.tensor_tensor(t(), t(), t(), op=nl.exp)),
    ("add is not an activation function", lambda: nisa.activation(t(), nl.add, t())),
    ("reduce_op has to be nl.add", lambda: nisa.activation_reduce(t(), nl.exp, t(), nl.maximum, lane())),
    ("reduce_res is (16, 2)", lambda: nisa.activation_reduce(t(), nl.exp, t(), nl.add, sb(P, 2))),
    ("only trailing free axes fold", lambda: nisa.tensor_reduce(sb(P, 3), nl.add, sb(P, 2, 3), axis=1)),
    ("axis (2,) of a tile of shape (16, 24)", lambda: nisa.tensor_reduce(lane(), nl.add, t(), axis=2)),
    ("cannot combine by pow", lambda: nisa.tensor_reduce(lane(), nl.power, t(), axis=1)),
    ("dst has shape (16, 2) for data of shape (16, 24)", lambda: nisa.tensor_reduce(sb(P, 2), nl.add, t(), axis=1)),
    ("dst has shape (32, 1) for data of shape (16, 2, 24)",
     lambda: nisa.tensor_reduce(sb(2 * P, 1), nl.add, sb(P, 2, F), axis=2)),
    ("local_gather: dst has shape (32, 12), src_buffer (16, 24)",
     lambda: nisa.local_gather(sb(2 * P, 12), t(), sb(P, 1, dtype="uint16"))),
    ("cannot combine by subtract", lambda: nisa.tensor_partition_reduce(sb(1, F), nl.subtract, t())),
    ("load_reduce needs imm1", lambda: nisa.tensor_scalar_cumulative(t(), t(), nl.add, nl.add, 0.0,
                                                                     reduce_cmd=nisa.reduce_cmd.load_reduce)),
    ("activate2 has no (op0, op1) = (add, mult)",
     lambda: nisa.activate2(t(), nl.exp, t(), 1.0, 1.0, nl.add, nl.multiply)),
    ("reduce_op has to be nl.maximum", lambda: nisa.select_reduce(t(), t("uint8"), t(), 0.0, reduce_op=nl.add)),
    ("reduce_cmd='sum' is no nki.isa.reduce_cmd",
     lambda: nisa.select_reduce(t(), t("uint8"), t(), 0.0, reduce_cmd="sum")),
    ("engine='gpu' is no nki.isa.engine", lambda: nisa.tensor_copy(t(), t(), engine="gpu")),
    ("oob_mode='wrap' is no nki.isa.oob_mode", lambda: nisa.dma_copy(t(), hbm(P, F), oob_mode="wrap")),
    ("perf_mode='triple' is no nki.isa.matmul_perf_mode",
     lambda: nisa.nc_matmul(ps(F, F), t(), t(), perf_mode="triple")),
    ("stationary is (16, 24), and not (K, 2, ...)",
     lambda: nisa.nc_matmul(ps(12, 12), t(), t(), perf_mode="double_row")),
    ("contracts over partitions", lambda: nisa.nc_matmul(ps(F, 4), t(), sb(15, 4))),
    ("nc_matmul: dst has shape (4, 24); it has to hold (24, 4)", lambda: nisa.nc_matmul(ps(4, F), t(), sb(P, 4))),
    ("pattern [[1, 23]] does not fill", lambda: nisa.iota(t("int32"), [[1, 23]])),
    ("pattern is a list of [step, count]", lambda: nisa.iota(t("int32"), 24)),
    ("an offset is a number or one element", lambda: nisa.iota(t("int32"), [[1, F]], offset=lane())),
    ("it has to hold (16, 6)", lambda: nisa.bn_stats(sb(P, 5), t())),
    ("are no triples", lambda: nisa.bn_aggr(sb(P, 2), sb(P, 8))),
    ("needs 8 elements per partition", lambda: nisa.max8(sb(P, 8), sb(P, 7))),
    ("it has to hold (16, 8)", lambda: nisa.nc_find_index8(sb(P, 7), t(), sb(P, 8))),
    ("nc_n_gather: dst has shape", lambda: nisa.nc_n_gather(sb(8, 5), t(), sb(8, 5, dtype="uint32"))),
    ("one more is due", lambda: nisa.nonzero_with_count(t("int32"), t("int32"))),
    ("nonzero_with_count: dst has shape (16, 25) for src (17, 24)",
     lambda: nisa.nonzero_with_count(sb(16, 25, dtype="int32"), sb(17, 24, dtype="int32"))),
    ("sequence_bounds: dst has shape", lambda: nisa.sequence_bounds(sb(1, 2, 5), sb(1, 6))),
    ("shuffle_mask is 32 numbers", lambda: nisa.nc_stream_shuffle(sb(32, 8), sb(32, 8), [0] * 31)),
    ("partition 0 takes 20 of its quadrant", lambda: nisa.nc_stream_shuffle(t(), t(), [20] * 32)),
    ("nc_stream_shuffle: dst has shape (32, 8), src (32, 7)",
     lambda: nisa.nc_stream_shuffle(sb(32, 8), sb(32, 7), [0] * 32)),
    ("nc_transpose: dst has shape (16, 24)", lambda: nisa.nc_transpose(t(), t())),
    ("runs on the Tensor or the Vector engine", lambda: nisa.nc_transpose(sb(F, P), t(), engine=nisa.scalar_engine)),
    ("axes (1, 1) of a tile", lambda: nisa.dma_transpose(sb(F, P), hbm(P, F), axes=(1, 1))),
    ("src (16, 24) turned is (24, 16)", lambda: nisa.dma_transpose(t(), hbm(P, F))),
    ("2 sources and 1 scales", lambda: nisa.dma_compute(hbm(P, F), [t(), t()], nl.add, scales=[1.0])),
    ("one to sixteen tiles", lambda: nisa.dma_compute(hbm(P, F), t(), nl.add)),
    ("memset takes a number", lambda: nisa.memset(t(), t())),
    ("1.5 is no number of an int32 tile", lambda: nisa.memset(t("int32"), 1.5)),
    ("inf is no number of an int32 tile", lambda: nisa.memset(t("int32"), float("inf"))),
    ("on_false_value of affine_select has to be a number", lambda: nisa.affine_select(t(), [[1, F]], 0, t(), lane())),
    ("imm of nc_match_replace8 has to be", lambda: nisa.nc_match_replace8(t(), t(), sb(P, 8), lane())),
    ("have no operators", lambda: t() + t()),
    ("have no operators", lambda: 2.0 * t()),
    ("have no operators", lambda: t() > 0),
    ("have no operators", lambda: -t()),
    ("register_load takes a tensor of one element", lambda: nisa.register_load(nisa.register_alloc(), t())),
    ("register_move writes a register", lambda: nisa.register_move(3, 4)),
    ("a register is read before it is given a value", lambda: int(nisa.register_alloc())),
    ("every extent has to be positive", lambda: nl.ndarray((0, 4), nl.float32)),
    ("'dram' is no memory", lambda: nl.ndarray((4, 4), nl.float32, buffer="dram")),
    ("is no dtype of nki.language", lambda: nl.ndarray((4, 4), "float12")),
    ("is no dtype of nki.language", lambda: nl.exp(t(), dtype=t())),
    ("nl.affine_range: int() argument", lambda: nl.affine_range(3, None, [])),
    ("nl.ndarray: int() argument", lambda: nl.ndarray((4, []), nl.float32)),
    ("nl.sum(): '<=' not supported", lambda: nl.sum(t(), axis=None)),
    ("nisa.core_barrier: int() argument", lambda: nisa.core_barrier(t(), None)),
    ("nl.add takes a tile", lambda: nl.add(1, 2)),
    ("do not go together", lambda: nl.add(t(), sb(P, 23))),
    ("nl.matmul of the new API needs transpose_x=True", lambda: nl.matmul(t(), t())),
    ("there is no mask=", lambda: nl.load(hbm(4, 4), mask=None)),
    ("nl.exp(): there is no masks=", lambda: nl.exp(t(), masks=None)),
    ("nl.bypass is a value of op=", lambda: nl.bypass(t())),
    ("turns over 128 x 128 and less", lambda: nl.transpose(sb(128, 129))),
    ("nki.simulate takes a kernel", lambda: _simulate(3)),
]  # fmt: skip


def np_array() -> Any:
    return np.zeros((P, F), np.float32)


def _simulate(value: Any) -> Any:
    return root_new.simulate(value)


@pytest.mark.parametrize(("words", "call"), REFUSED, ids=[case[0][:60] for case in REFUSED])
def test_is_refused(words: str, call: Callable[[], Any]) -> None:
    with kernel(target="gen4"), refused(words):
        call()


def test_what_only_the_device_knows_is_not_modelled() -> None:
    with kernel():
        register = nisa.register_alloc()
        nisa.register_load(register, sb(1, 1, dtype="int32"))
        with unmodelled("a condition on a register"):
            bool(register)
        with unmodelled("arithmetic with a register"):
            _ = register + 1
        with unmodelled("nl.dynamic_range with a bound"):
            next(nl.dynamic_range(sb(1, 1)))
        with unmodelled("nl.dynamic_range with a bound"):
            next(nl.dynamic_range(register))
        with unmodelled("a slice whose start only the device knows"):
            sb(4, 32)[:, register:]


def test_a_mistake_of_a_body_is_its_own() -> None:
    def body(register: Any) -> None:
        raise TypeError("of the body")

    with kernel(), pytest.raises(TypeError, match="of the body"):
        nl.fori_loop(0, 2, body)


def test_methods_of_beta_1() -> None:
    with kernel():
        for name in ("astype", "broadcast_to", "expand_dims"):
            assert not hasattr(t(), name)
            with pytest.raises(AttributeError, match="it is Beta-1's"):
                getattr(t(), name)


def test_outside_of_a_kernel() -> None:
    with kernel():
        tile = t()
    with refused("is called outside of a kernel"):
        nisa.reciprocal(tile, tile)
