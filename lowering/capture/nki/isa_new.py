"""nki.isa of the new API (0.2 to 0.6): destination first, nothing returned but a handle (NKI.md Appendix A).

Signatures are those of 0.6.  Everything is checked and recorded by instructions.py.
"""

from __future__ import annotations

from enum import Enum
from typing import Any

from lowering.capture.nki import instructions
from lowering.capture.nki.ops import activation as activation_of
from lowering.capture.nki.ops import alu
from lowering.capture.nki.tile import Tile
from lowering.capture.nki.tracer import current


class engine(Enum):
    unknown, tensor, scalar, gpsimd, dma, vector, sync = range(7)


class reduce_cmd(Enum):
    idle, reset, reduce, reset_reduce, load_reduce = range(5)


class dge_mode(Enum):
    unknown, swdge, hwdge, none = range(4)


class oob_mode(Enum):
    error, skip = range(2)


class matmul_perf_mode(Enum):
    none, double_row = range(2)


class nc_version(Enum):
    gen2, gen3, gen4 = 2, 3, 4


tensor_engine, scalar_engine, gpsimd_engine, vector_engine = engine.tensor, engine.scalar, engine.gpsimd, engine.vector
unknown_engine = engine.unknown
_ENGINES = {"tensor": "pe", "scalar": "act", "gpsimd": "pool", "dma": "dma", "vector": "dve", "sync": "sp"}


def engine_name(chosen: Any) -> str:
    """KLR's name; '' where the compiler chooses."""
    return _ENGINES.get(getattr(chosen, "name", ""), "")


def get_nc_version() -> nc_version:
    return nc_version[current().trace.target]


def dma_copy(
    dst: Tile, src: Tile, priority: Any = None, oob_mode: Any = oob_mode.error, dge_mode: Any = None,
    engine: Any = None, name: Any = None,
) -> None:  # fmt: skip
    instructions.dma_copy(dst, src, oob=oob_mode.name)


def tensor_copy(dst: Tile, src: Tile, engine: Any = engine.unknown, name: Any = None) -> None:
    instructions.copy(dst, src, engine_name(engine) or "dve")


def memset(dst: Tile, value: Any, engine: Any = engine.unknown, name: Any = None) -> None:
    instructions.memset(dst, value, engine_name(engine))


def tensor_tensor(dst: Tile, data1: Tile, data2: Tile, op: Any, engine: Any = engine.unknown, name: Any = None) -> None:
    instructions.tensor_tensor(dst, data1, data2, alu(op), engine_name(engine))


def tensor_scalar(
    dst: Tile, data: Tile, op0: Any, operand0: Any, reverse0: bool = False, op1: Any = None, operand1: Any = None,
    reverse1: bool = False, engine: Any = engine.unknown, name: Any = None,
) -> None:  # fmt: skip
    second = None if op1 is None else alu(op1)
    instructions.tensor_scalar(dst, data, alu(op0), operand0, reverse0, second, operand1, reverse1, engine_name(engine))


def tensor_reduce(
    dst: Tile, op: Any, data: Tile, axis: Any, negate: bool = False, keepdims: bool = False, name: Any = None
) -> None:
    axes = tuple(axis) if isinstance(axis, list | tuple) else (axis,)
    instructions.tensor_reduce(dst, alu(op), data, axes, negate)


def activation(
    dst: Tile, op: Any, data: Tile, bias: Any = None, scale: Any = 1.0, reduce_op: Any = None, reduce_res: Any = None,
    reduce_cmd: Any = reduce_cmd.idle, name: Any = None,
) -> None:  # fmt: skip
    folded = None if reduce_op is None else alu(reduce_op)
    instructions.activation(dst, activation_of(op), data, bias, scale, folded, reduce_res, reduce_cmd.name)


def reciprocal(dst: Tile, data: Tile, name: Any = None) -> None:
    instructions.reciprocal(dst, data)


def nc_matmul(
    dst: Tile, stationary: Tile, moving: Tile, is_stationary_onezero: bool = False, is_moving_onezero: bool = False,
    is_transpose: bool = False, accumulate: bool | None = None, tile_position: Any = (), tile_size: Any = (),
    perf_mode: Any = matmul_perf_mode.none, name: Any = None,
) -> None:  # fmt: skip
    mode = perf_mode if isinstance(perf_mode, str) else perf_mode.name
    instructions.nc_matmul(dst, stationary, moving, accumulate, is_transpose, mode)


def nc_transpose(dst: Tile, data: Tile, engine: Any = engine.unknown, name: Any = None) -> None:
    instructions.nc_transpose(dst, data, engine_name(engine))
