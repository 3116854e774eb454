"""Functions of nki.language in the new API that are several instructions: loads, folds, products, norms (NKI.md §1.8).

How softmax, rms_norm, mean and var are put together is not documented: the trace names the assumption.
"""

from __future__ import annotations

from typing import Any

from lowering.capture.nki import instructions
from lowering.capture.nki.assumptions import assume
from lowering.capture.nki.dtypes import dtype_name
from lowering.capture.nki.operands import folded_axes
from lowering.capture.nki.ops import ALU
from lowering.capture.nki.signatures import api
from lowering.capture.nki.tensor_new import NkiTensor
from lowering.capture.nki.trace import PSUM, SBUF
from lowering.capture.nki.tracer import here, unmodelled
from lowering.capture.nki.wrappers_new import copy, made_like, spread, tile_of
from lowering.errors import UsageError

F32 = "float32"
_PE, _DVE = 128, 32  # extents that the two engines transpose


# -- memory ----------------------------------------------------------------------------------------------------------


def load(src: Any, dtype: Any = None) -> NkiTensor:
    """A tensor of HBM as a tile of SBUF."""
    dst = made_like(tile_of("nl.load", src), dtype)
    instructions.dma_copy(dst, src)
    return dst


def store(dst: Any, value: Any) -> None:
    """A tile into HBM; from PSUM by way of SBUF."""
    tile_of("nl.store", dst)
    if tile_of("nl.store", value).storage.space == PSUM:
        value = copy(value)
    instructions.dma_copy(dst, value)


def load_transpose2d(src: Any, dtype: Any = None) -> NkiTensor:
    rows, columns = _matrix("nl.load_transpose2d", src)
    dst = made_like(src, dtype, (columns, rows))
    if dst.dtype_name == src.dtype_name:
        instructions.dma_transpose(dst, src, (1, 0))
    else:
        instructions.dma_copy(dst, src.permute((1, 0)))
    return dst


def _matrix(what: str, x: Any) -> tuple[int, int]:
    if tile_of(what, x).ndim != 2:
        raise UsageError(f"{here()}: {what} takes two dimensions, and not {x.shape}")
    return x.shape[0], x.shape[1]


# -- the Tensor engine -----------------------------------------------------------------------------------------------


def matmul(x: Any, y: Any, transpose_x: bool = False) -> NkiTensor:
    """x.T @ y in PSUM, in f32: x (K, M), y (K, N)."""
    (_, rows), (_, columns) = _matrix("nl.matmul", x), _matrix("nl.matmul", y)
    if not transpose_x:
        raise UsageError(f"{here()}: nl.matmul of the new API needs transpose_x=True: x is (K, M)")
    dst = NkiTensor.new(PSUM, (rows, columns), F32)
    instructions.nc_matmul(dst, x, y)
    return dst


def transpose(x: Any, dtype: Any = None) -> NkiTensor:
    """A tile turned over, in SBUF."""
    rows, columns = tile_of("nl.transpose", x).partitions, x.free
    dst = made_like(x, dtype, (columns, rows))
    if max(rows, columns) <= _DVE:
        instructions.nc_transpose(dst, x)
        return dst
    if max(rows, columns) > _PE:
        raise UsageError(f"{here()}: nl.transpose of {x.shape}: the Tensor engine turns over 128 x 128 and less")
    turned = NkiTensor.new(PSUM, (columns, rows), x.dtype_name)
    instructions.nc_transpose(turned, x, "pe")
    instructions.copy(dst, turned, "dve")
    return dst


def broadcast_to(x: Any, shape: Any, dtype: Any = None) -> NkiTensor:
    """Free dimensions of extent 1 repeated into a tile of its own; one partition becomes many by a product with 1."""
    wanted = tuple(int(n) for n in shape)
    source = tile_of("nl.broadcast_to", x)
    if source.partitions == 1 and wanted[0] != 1:
        return _over_partitions(spread(source, (1, *wanted[1:])), wanted, dtype)
    dst = made_like(source, dtype, wanted)
    instructions.copy(dst, spread(source, wanted), "dve")
    return dst


def _over_partitions(x: NkiTensor, shape: tuple[int, ...], dtype: Any) -> NkiTensor:
    ones = NkiTensor.new(SBUF, (1, shape[0]), x.dtype_name)
    instructions.memset(ones, 1.0)
    product = NkiTensor.new(PSUM, shape, F32)
    instructions.nc_matmul(product, ones, x)
    dst = made_like(x, dtype, shape)
    instructions.copy(dst, product, "dve")
    return dst


def expand_dims(x: Any, axis: int) -> NkiTensor:
    """A view with a dimension more."""
    return tile_of("nl.expand_dims", x).expand_dim(axis)


def gather_flattened(data: Any, indices: Any, axis: int = 0, dtype: Any = None) -> NkiTensor:
    """Element indices[p, j] of partition p, whose free dimensions count as one."""
    if axis != 0:
        raise unmodelled(f"nl.gather_flattened with axis={axis}")
    tile_of("nl.gather_flattened", data)
    dst = made_like(tile_of("nl.gather_flattened (indices)", indices), dtype or data.dtype_name)
    instructions.n_gather(dst, data, indices)
    return dst


# -- folds -----------------------------------------------------------------------------------------------------------


def _folded_shape(x: NkiTensor, axes: tuple[int, ...], keepdims: bool) -> tuple[int, ...]:
    kept = x.shape[: x.ndim - len(axes)]
    shape = (*kept, *[1] * len(axes)) if keepdims else kept
    return shape if len(shape) > 1 else (*shape, 1)


def _fold(name: str, x: Any, axis: Any, dtype: Any, keepdims: bool, op: str) -> NkiTensor:
    axes = folded_axes(f"nl.{name}", tile_of(f"nl.{name}", x), axis if isinstance(axis, list | tuple) else (axis,))
    dst = made_like(x, dtype, _folded_shape(x, axes, keepdims))
    instructions.tensor_reduce(dst, op, x, axes)
    return dst


def _folding(name: str) -> Any:
    op = ALU[name]

    def function(x: Any, axis: Any, dtype: Any = None, keepdims: bool = False) -> NkiTensor:
        return _fold(name, x, axis, dtype, keepdims, op)

    return function


def all_of(x: Any, axis: Any, dtype: Any = None) -> NkiTensor:
    return _fold("all", x, axis, dtype, False, "logical_and")


def mean(x: Any, axis: Any, dtype: Any = None, keepdims: bool = False) -> NkiTensor:
    """The sum in f32, times 1 / n."""
    assume("nl_mean")
    total = _fold("mean", x, axis, F32, keepdims, "add")
    dst = made_like(total, dtype or x.dtype_name)
    instructions.tensor_scalar(dst, total, "mult", total.size / x.size)
    return dst


def var(x: Any, axis: Any, dtype: Any = None, keepdims: bool = False) -> NkiTensor:
    """The mean of (x - mean)^2, axes kept."""
    assume("nl_var")
    center = mean(x, axis, F32, keepdims=True)
    moved = made_like(x, F32)
    instructions.tensor_tensor(moved, x, spread(center, x.shape), "subtract")
    squared = made_like(x, F32)
    instructions.tensor_tensor(squared, moved, moved, "mult")
    return mean(squared, axis, dtype or x.dtype_name, keepdims=True)


def softmax(x: Any, axis: Any = -1, dtype: Any = None) -> NkiTensor:
    """exp(x - max) times the reciprocal of the sum, in f32."""
    assume("nl_softmax")
    least = _negated_max(x, axis)
    powers = made_like(x, F32)
    instructions.activation(powers, "exp", x, bias=least)
    total = _fold("softmax", powers, axis, F32, True, "add")
    share = made_like(total, F32)
    instructions.reciprocal(share, total)
    dst = made_like(x, dtype)
    instructions.tensor_tensor(dst, powers, spread(share, x.shape), "mult")
    return dst


def _negated_max(x: Any, axis: Any) -> NkiTensor:
    axes = folded_axes("nl.softmax", tile_of("nl.softmax", x), axis if isinstance(axis, list | tuple) else (axis,))
    if len(axes) != x.ndim - 1:
        raise unmodelled(f"nl.softmax over axis {axis} of a tile of shape {x.shape}", "all free axes are modelled")
    least = NkiTensor.new(SBUF, _folded_shape(x, axes, True), F32)
    instructions.tensor_reduce(least, "max", x, axes, negate=True)
    return least


def rms_norm(
    x: Any, w: Any, axis: Any, n: Any, epsilon: float = 1e-6, dtype: Any = None, compute_dtype: Any = None
) -> NkiTensor:
    """x * rsqrt(sum(x^2) / n + epsilon) * w, in compute_dtype (f32 where it is not given)."""
    assume("nl_rms_norm")
    inner = F32 if compute_dtype is None else dtype_name(compute_dtype)
    squared = made_like(tile_of("nl.rms_norm", x), inner)
    instructions.activation(squared, "square", x)
    total = _fold("rms_norm", squared, axis, F32, True, "add")
    scale = made_like(total, F32)
    instructions.tensor_scalar(scale, total, "mult", 1.0 / float(n), op1="add", operand1=float(epsilon))
    instructions.activation(scale, "rsqrt", scale)
    normed = made_like(x, inner)
    instructions.tensor_tensor(normed, x, spread(scale, x.shape), "mult")
    dst = made_like(x, dtype)
    weight = w if not isinstance(w, NkiTensor) or w.partitions == x.partitions else broadcast_to(w, x.shape)
    instructions.tensor_tensor(dst, normed, spread(tile_of("nl.rms_norm (w)", weight), x.shape), "mult")
    return dst


# -- random numbers --------------------------------------------------------------------------------------------------


def dropout(x: Any, rate: Any, dtype: Any = None) -> NkiTensor:
    dst = made_like(tile_of("nl.dropout", x), dtype)
    instructions.dropout(dst, x, rate)
    return dst


def rand(shape: Any, dtype: Any, buffer: Any = SBUF, name: str = "") -> NkiTensor:
    """Uniform in [0, 1)."""
    dst = NkiTensor.new(str(buffer or SBUF), tuple(shape), dtype_name(dtype), name=name)
    instructions.rand2(dst, 0.0, 1.0)
    return dst


def random_seed(seed: Any) -> None:
    instructions.set_rng_seed(tile_of("nl.random_seed", seed))


_COMPOSITES = {
    "load": load, "store": store, "load_transpose2d": load_transpose2d, "matmul": matmul, "transpose": transpose,
    "broadcast_to": broadcast_to, "expand_dims": expand_dims, "gather_flattened": gather_flattened,
    **{name: _folding(name) for name in ("sum", "max", "min", "prod")}, "all": all_of, "mean": mean, "var": var,
    "softmax": softmax, "rms_norm": rms_norm, "dropout": dropout, "rand": rand, "random_seed": random_seed,
}  # fmt: skip
COMPOSITES = {name: api(f"nl.{name}()", since="0.3")(made) for name, made in _COMPOSITES.items()}
