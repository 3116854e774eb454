"""What Beta-1 does not have is refused with its reason and the user's line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from lowering.errors import Unsupported, UsageError
from tests.capture.nki.beta1 import captured, whole_numbers

BODY = """
import neuronxcc.nki.nccl as nccl; from neuronxcc.nki.compiler.backends.neuron.tensor import local_tile, TileIndex
@nki.jit
def kernel(x, rows):
    out = nl.ndarray((8, 6), dtype=x.dtype, buffer=nl.shared_hbm)
    i_p, i_f = nl.arange(8)[:, None], nl.arange(6)[None, :]
    tile = nl.load(x)
    {}
    nl.store(out, tile)
    return out
"""
LINE = 14  # of what is put in


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("tile[i_p, 0:6]", "index tiles and a slice in one subscript"),
        ("tile[i_p, ...]", "index tiles and ... in one subscript"),
        ("tile[i_p]", "1 indices of a tensor of 2 dimensions"),
        ("tile[i_p * i_p, i_f]", "not affine"),
        ("nl.load(x[i_p + 1, i_f])", "indices 1 to 8 of dimension 0, of 8: out of bounds without a mask"),
        ("nl.load(x[i_p + 1, i_f], mask=i_p < 8)", "out of bounds without a mask"),
        ("nl.load(x[0:9, :])", "indices 0 to 8 of dimension 0, of 8: out of bounds without a mask"),
        ("tile[8]", "index 8 is out of bounds of dimension 0, of 8"),
        ("tile[i_p, nl.arange(5)[:, None]]", "index tiles of shapes (8, 1) and (5, 1) do not broadcast"),
        ("nl.copy(tile, mask=(i_p < 3) | (i_f < 2))", "joined with & only"),
        ("nl.copy(tile, mask=nl.arange(7)[:, None] < 3)", "a mask of shape (7, 1) does not fit a tile of shape (8, 6)"),
        ("nl.sum(tile, axis=0)", "axis 0, the partitions"),
        ("nl.add(tile, tile[:, 0:5])", "shapes (8, 6) and (8, 5) do not broadcast"),
        ("tile[...] = x.shape", "a tuple is assigned to a tensor"),
        ("tile.assert_shape((6, 8))", "assert_shape: the tensor has shape (8, 6)"),
        ("nisa.nc_matmul(tile, tile[0:4])", "nc_matmul contracts over partitions"),
        ("bool(nl.max(tile, axis=1) > 0)", "no truth value"),
        ("nl.mgrid[8, 6]", "nl.mgrid takes slices"),
        ("tile[nl.arange(8), 0]", "an index tile of one dimension"),
        ("assert i_p < 3", "control flow that depends on nl.arange"),
        ("nl.exp(x)", "nl.exp's operand is in hbm; it has to be in sbuf or psum"),
        ("x + tile", "an operand of nl.add is in hbm"),
        ("nl.load(tile)", "src of nl.load is in sbuf; it has to be in hbm"),
        ("nl.store(tile, tile)", "dst of nl.store is in sbuf"),
        ("nl.exp(nl.ndarray((2, par_dim(8), 6), nl.float32))", "has block dimensions, (2, 8, 6)"),
        ("nisa.tensor_tensor(tile, tile[0:1], np.add)", "the partitions of (8, 6) and (1, 6) differ"),
        ("tile[:, 0:1][...] = tile", "a tile of shape (8, 6) does not broadcast to (8, 1)"),
        ("kernel[2](x, rows)", "kernel is launched on a grid inside of another kernel"),
        ("nl.loop_reduce(tile, op=np.add, loop_indices=[0])", "loop_indices are variables of"),
        ("nisa.affine_select(tile, tile, 0.0)", "pred of affine_select compares index tiles"),
        ("nl.ndarray((par_dim(8), par_dim(2)), nl.float32)", "one nl.par_dim at most"),
    ],
)
def test_usage(tmp_path: Path, line: str, message: str) -> None:
    with pytest.raises(UsageError) as raised:
        captured(tmp_path, BODY.format(line), x=whole_numbers(8, 6), rows=np.zeros((8, 1), np.int32))
    assert message in str(raised.value)
    assert f"kernel.py:{LINE}" in str(raised.value)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("nisa.builtin_custom_op()", "nisa.builtin_custom_op"),
        ("nl.load(x[nl.load(rows)[i_p, 0], nl.load(rows)[i_p, 0]])", "two tiles as indices"),
        ("nl.softmax(tile, axis=1, mask=i_p < 4)", "nl.softmax under a mask"),
        ("nl.gemm_grid()", "nl.gemm_grid"),
        ("nccl.all_reduce(op=np.add, srcs=[x], dsts=[out])", "nccl.all_reduce"),
        ("TileIndex and local_tile(x)", "local_tile"),
    ],
)
def test_not_modelled(tmp_path: Path, line: str, message: str) -> None:
    with pytest.raises(Unsupported, match="not modelled yet") as raised:
        captured(tmp_path, BODY.format(line), x=whole_numbers(8, 6), rows=np.zeros((8, 1), np.int32))
    assert message in str(raised.value) and raised.value.span.line == LINE


def test_private_kernels_are_not_there(tmp_path: Path) -> None:
    source = """
try:
    from neuronxcc.nki._private_kernels.attention import attention_isa_kernel
except ImportError:
    attention_isa_kernel = None

@nki.jit
def kernel(x):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    assert attention_isa_kernel is None
    nl.store(out, nl.load(x))
    return out
"""
    assert captured(tmp_path, source, x=whole_numbers(8, 6)).generation == "beta1"


BOTH = """
import nki.isa as nisa_new
import nki.language as nl_new
import nki as nki_new

@nki.jit
def kernel(x):
    out = nl_new.ndarray(x.shape, dtype=x.dtype, buffer=nl_new.shared_hbm)
    tile = nl_new.ndarray(x.shape, dtype=x.dtype, buffer=nl_new.sbuf)
    nisa_new.dma_copy(dst=tile, src=x)
    nisa_new.dma_copy(dst=out, src=tile)
    return out

@nki_new.jit
def other(x):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    nl.store(out, nl.load(x))
    return out
"""


def test_both_roots_in_one_file(tmp_path: Path) -> None:
    """Which of them a function uses decides, not which decorated it."""
    assert captured(tmp_path, BOTH, x=whole_numbers(8, 6)).generation == "new"
    assert captured(tmp_path, BOTH, "other", x=whole_numbers(8, 6)).generation == "beta1"
