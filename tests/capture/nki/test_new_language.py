"""nki.language of the new API: what its functions give, against numpy; loops, memory, the grid."""

from __future__ import annotations

from collections.abc import Callable
from math import erf
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from lowering.capture.nki import isa_new as nisa
from lowering.capture.nki import language_new as nl
from lowering.capture.nki.tracer import current
from tests.capture.nki.new_api import hbm, kernel, last, ps, refused, sb, values

RNG = np.random.default_rng(3)
X = RNG.uniform(0.5, 2.5, (8, 12)).astype(np.float32)
Y = RNG.uniform(0.5, 2.5, (8, 12)).astype(np.float32)
SIGNED = RNG.uniform(-3, 3, (8, 12)).astype(np.float32)
WHOLE = RNG.integers(-9, 10, (8, 12)).astype(np.int32)
BITS = RNG.integers(0, 16, (8, 12)).astype(np.int32)
F32 = np.float32

EXACT: list[tuple[str, Callable[..., Any], tuple[np.ndarray, ...], np.ndarray]] = [
    ("add", nl.add, (X, Y), X + Y),
    ("subtract from a number", lambda x: nl.subtract(1.5, x), (X,), F32(1.5) - X),
    ("multiply by a number", lambda x: nl.multiply(x, 2.5), (X,), X * F32(2.5)),
    ("divide", nl.divide, (X, Y), X / Y),
    ("maximum", nl.maximum, (SIGNED, Y), np.maximum(SIGNED, Y)),
    ("minimum of a number", lambda x: nl.minimum(x, 0.25), (SIGNED,), np.minimum(SIGNED, F32(0.25))),
    ("over a dimension of extent 1", lambda x, y: nl.add(x, y[:, 0:1]), (X, Y), X + Y[:, :1]),
    ("greater", nl.greater, (X, Y), (X > Y).astype(F32)),
    ("less_equal of a number", lambda x: nl.less_equal(x, 1.0), (X,), (X <= 1).astype(F32)),
    ("not_equal as bytes", lambda x, y: nl.not_equal(x, y, dtype=nl.uint8), (X, X), np.zeros((8, 12), np.uint8)),
    ("logical_and", nl.logical_and, (WHOLE, BITS), ((WHOLE != 0) & (BITS != 0)).astype(np.int32)),
    ("logical_not", nl.logical_not, (BITS,), (BITS == 0).astype(np.int32)),
    ("integers", nl.multiply, (WHOLE, BITS), WHOLE * BITS),
    ("bitwise_and", nl.bitwise_and, (WHOLE, BITS), WHOLE & BITS),
    ("bitwise_xor of a number", lambda x: nl.bitwise_xor(x, 5), (BITS,), BITS ^ 5),
    ("left_shift", lambda x: nl.left_shift(x, 3), (BITS,), BITS << 3),
    ("invert", nl.invert, (WHOLE,), ~WHOLE),
    ("negative", nl.negative, (SIGNED,), -SIGNED),
    ("abs", nl.abs, (SIGNED,), np.abs(SIGNED)),
    ("square", nl.square, (SIGNED,), SIGNED * SIGNED),
    ("relu", nl.relu, (SIGNED,), np.maximum(SIGNED, 0)),
    ("sign", nl.sign, (SIGNED,), np.sign(SIGNED)),
    ("floor", nl.floor, (SIGNED,), np.floor(SIGNED)),
    ("ceil", nl.ceil, (SIGNED,), np.ceil(SIGNED)),
    ("trunc", nl.trunc, (SIGNED,), np.trunc(SIGNED)),
    ("copy", nl.copy, (WHOLE,), WHOLE),
    ("copy to bf16", lambda x: nl.copy(x, dtype=nl.bfloat16), (X,), X.astype(ml_dtypes.bfloat16)),
    ("where", nl.where, (BITS % 2, X, Y), np.where(BITS % 2 != 0, X, Y)),
    ("where of numbers", lambda c: nl.where(c, 1.0, -2.0, dtype=nl.float32), (BITS % 2,),
     np.where(BITS % 2 != 0, F32(1), F32(-2))),
    ("max", lambda x: nl.max(x, axis=1), (SIGNED,), SIGNED.max(1, keepdims=True)),
    ("min", lambda x: nl.min(x, axis=-1, keepdims=True), (SIGNED,), SIGNED.min(1, keepdims=True)),
    ("sum of whole numbers", lambda x: nl.sum(x, axis=[1]), (WHOLE,), WHOLE.sum(1, keepdims=True)),
    ("all", lambda x: nl.all(x, axis=1), (BITS,), (BITS != 0).all(1, keepdims=True).astype(np.int32)),
    ("transpose", nl.transpose, (X,), X.T),
    ("transpose by the Tensor engine", nl.transpose, (np.tile(X, (8, 1)),), np.tile(X, (8, 1)).T),
    ("matmul", lambda x, y: nl.matmul(x, y, transpose_x=True), (WHOLE.astype(F32), BITS.astype(F32)),
     (WHOLE.T @ BITS).astype(F32)),
    ("broadcast_to", lambda x: nl.broadcast_to(x[:, 3:4], (8, 12)), (X,), np.broadcast_to(X[:, 3:4], (8, 12))),
    ("a column and a row", lambda x: nl.subtract(x[:, 3:4], x[2:3]), (X,), X[:, 3:4] - X[2:3]),
    ("a number and a column", lambda x: nl.add(x[0:1, 0:1], x[:, 1:2]), (X,), X[0, 0] + X[:, 1:2]),
    ("broadcast_to partitions", lambda x: nl.broadcast_to(x[0:1], (8, 12)), (X,), np.broadcast_to(X[:1], (8, 12))),
    ("expand_dims", lambda x: nl.expand_dims(x, 1), (X,), X[:, None]),
    ("load and store", lambda x: nl.load(_stored(x)), (X,), X),
    ("load_transpose2d", lambda x: nl.load_transpose2d(_stored(x)), (X,), X.T),
    ("full", lambda x: nl.full((4, 3), 7, nl.int32), (X,), np.full((4, 3), 7, np.int32)),
    ("zeros_like", nl.zeros_like, (X,), np.zeros_like(X)),
    ("ones", lambda x: nl.ones((4, 3), nl.bfloat16), (X,), np.ones((4, 3), ml_dtypes.bfloat16)),
    ("shared_constant", lambda x: nl.load(nl.shared_constant(X)), (Y,), X),
    ("shared_identity_matrix", lambda x: nl.load(nl.shared_identity_matrix(5)), (Y,), np.eye(5, dtype=np.uint8)),
    ("shared_identity_matrix to a tile", lambda x: nl.shared_identity_matrix(8, dst=sb(8, 8)), (Y,), np.eye(8)),
]  # fmt: skip


def _stored(x: Any) -> Any:
    place = hbm(*x.shape)
    nl.store(place, x)
    return place


@pytest.mark.parametrize(("body", "arrays", "wanted"), [case[1:] for case in EXACT], ids=[case[0] for case in EXACT])
def test_exact(body: Callable[..., Any], arrays: tuple[np.ndarray, ...], wanted: np.ndarray) -> None:
    found = values(body, *arrays)
    assert found.shape == wanted.shape and np.array_equal(found, wanted)


def _softmax(x: np.ndarray) -> np.ndarray:
    powers = np.exp(x - x.max(1, keepdims=True))
    return powers / powers.sum(1, keepdims=True)


CLOSE: list[tuple[str, Callable[..., Any], tuple[np.ndarray, ...], np.ndarray]] = [
    ("exp", nl.exp, (SIGNED,), np.exp(SIGNED)),
    ("log", nl.log, (X,), np.log(X)),
    ("sqrt", nl.sqrt, (X,), np.sqrt(X)),
    ("rsqrt", nl.rsqrt, (X,), 1 / np.sqrt(X)),
    ("reciprocal", nl.reciprocal, (X,), 1 / X),
    ("tanh", nl.tanh, (SIGNED,), np.tanh(SIGNED)),
    ("sigmoid", nl.sigmoid, (SIGNED,), 1 / (1 + np.exp(-SIGNED))),
    ("silu", nl.silu, (SIGNED,), SIGNED / (1 + np.exp(-SIGNED))),
    ("gelu", nl.gelu, (SIGNED,), SIGNED * (1 + np.vectorize(erf)(SIGNED / np.sqrt(2))) / 2),
    ("softplus", nl.softplus, (SIGNED,), np.log1p(np.exp(SIGNED))),
    ("power", nl.power, (X, Y), X**Y),
    ("sum", lambda x: nl.sum(x, axis=1), (X,), X.sum(1, keepdims=True)),
    ("prod", lambda x: nl.prod(x, axis=1), (X,), X.prod(1, keepdims=True)),
    ("mean", lambda x: nl.mean(x, axis=1), (X,), X.mean(1, keepdims=True)),
    ("var", lambda x: nl.var(x, axis=1), (X,), X.var(1, keepdims=True)),
    ("softmax", nl.softmax, (SIGNED,), _softmax(SIGNED)),
    ("rms_norm", lambda x, w: nl.rms_norm(x, w[0:1], 1, 12, epsilon=1e-5), (SIGNED, Y),
     SIGNED / np.sqrt((SIGNED**2).mean(1, keepdims=True) + 1e-5) * Y[:1]),
]  # fmt: skip


@pytest.mark.parametrize(("body", "arrays", "wanted"), [case[1:] for case in CLOSE], ids=[case[0] for case in CLOSE])
def test_close(body: Callable[..., Any], arrays: tuple[np.ndarray, ...], wanted: np.ndarray) -> None:
    found = values(body, *arrays)
    assert found.shape == wanted.shape
    np.testing.assert_allclose(found, wanted, rtol=2e-6, atol=1e-6)


def test_what_is_put_together_in_an_assumed_way_says_so() -> None:
    with kernel() as trace:
        nl.softmax(sb(8, 12))
        nl.mean(sb(8, 12), axis=1)
        assert [name.split(":")[0] for name in trace.assumed] == ["nl_softmax", "nl_mean"]


def test_the_dtype_of_a_result() -> None:
    with kernel():
        half = sb(8, 12, dtype="bfloat16")
        assert nl.add(half, sb(8, 12)).dtype == nl.bfloat16 and nl.add(sb(8, 12), half).dtype == nl.float32
        assert nl.multiply(half, 1.5).dtype == nl.bfloat16 and nl.equal(half, half).dtype == nl.bfloat16
        assert nl.exp(half, dtype=nl.float32).dtype == nl.float32
        assert nl.add(half, half).buffer == "sbuf" and nl.matmul(half, half, transpose_x=True).buffer == "psum"


def test_a_tile_of_psum_is_stored_by_way_of_sbuf() -> None:
    with kernel() as trace:
        nl.store(hbm(8, 12), ps(8, 12))
        assert [instr.op for instr in trace.instrs] == ["nc_copy", "nc_dma_copy"]


def test_loops_run_with_numbers() -> None:
    with kernel() as trace:
        for i in nl.affine_range(2):
            for j in nl.sequential_range(1, 6, 2):
                nisa.reciprocal(sb(8, 12)[i, j], sb(8, 12)[i, j])
        turns = [[(loop.kind, loop.turn) for loop in instr.loops] for instr in trace.instrs]
        assert turns[1] == [("affine_range", 0), ("sequential_range", 3)] and len(turns) == 6
        seen: list[int] = []
        nl.fori_loop(1, 9, lambda register: seen.append(int(register)), step=3)
        assert seen == [1, 4, 7]

        def less(register: Any) -> None:
            nisa.reciprocal(sb(8, 12)[:, register], sb(8, 12)[:, register])
            nisa.register_move(register, register - 1)

        nl.while_loop(nisa.register_alloc(3), less)
        assert [loop.turn for instr in trace.instrs[6:] for loop in instr.loops] == [0, 1, 2]
        assert list(nl.dynamic_range(nisa.register_alloc(2), 5)) == [2, 3, 4] and list(nl.static_range(2)) == [0, 1]


def test_memory() -> None:
    with kernel() as trace:
        place = nl.ndarray((4, 6), nl.float32, address=(32, 1024), name="held")
        assert trace.storages[place.storage.id].pinned == (32, 1024) and place.name == "held"
        assert nl.ndarray((4, 6), np.float32, buffer=nl.private_hbm).buffer == "hbm"
        assert nl.is_hbm(nl.shared_hbm) and nl.is_on_chip(nl.psum) and nl.is_sbuf("sbuf") and not nl.is_psum(nl.sbuf)
        assert nl.zeros((2, 3), nl.float32, buffer=nl.psum).buffer == "psum"
        with nl.no_reorder():
            nl.device_print("x", place)
        assert last(trace).op == "mem_set"


def test_sizes_depend_on_the_target() -> None:
    sizes = []
    for target in ("gen2", "gen3", "gen4"):
        with kernel(target=target) as trace:
            sizes.append(nl.tile_size.total_available_sbuf_size)
            assert (nl.tile_size.pmax, nl.tile_size.gemm_moving_fmax, nl.tile_size.psum_num_banks) == (128, 512, 8)
            assert nl.tile_size.sbuf_min_align and any("alignments" in name for name in trace.assumed)
    assert sizes == [180224, 212984, 245752]


def test_the_grid() -> None:
    with kernel():
        assert (nl.program_id(0), nl.num_programs(), nl.num_programs(0)) == (0, 1, 1)
        current().grid, current().place = (2,), (1,)
        assert (nl.program_id(), nl.num_programs(0), nl.program_ndim()) == (1, 2, 1)


def test_configurations_are_plain_objects() -> None:
    class Config(nl.NKIObject):
        rows: int
        columns: int = 4

    made = Config(rows=3)
    assert (made.rows, made.columns) == (3, 4) and Config(5, 6).columns == 6
    with refused("has 2 fields and is given 3"):
        Config(1, 2, 3)
