"""Which adder the matrix unit of each target has: parameters by target and format, with where each is known from.

Takes a target's name (sm_80, tpu_v5e, trn2) and formats; gives Rows with an Adder, and ``dot``.  Data and look-up only:
the arithmetic is fused_add.py's.  Must not know programs.

No vendor specifies the order or the rounding inside one instruction (PTX ISA, mma and wgmma: "unspecified"), so every
row says what it rests on: ``documented`` by the vendor, ``measured`` on devices by a publication, or ``assumed``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Final, Literal

import numpy as np

from .formats import Array, storage_dtype
from .fused_add import Adder, accumulate

Status = Literal["documented", "measured", "assumed"]

#: Where the figures are from, by the key that a row has.
SOURCES: Final[dict[str, str]] = {
    "MMA-Sim": "Xie et al., MMA-Sim, arXiv 2511.10909 (bit for bit on devices of every generation)",
    "Leeds": "Khattak and Mikaitis, Accurate Models of NVIDIA Tensor Cores, arXiv 2512.07004 (V100, A100, A2, A30, "
    "RTX 1000 Ada, L40S, H100, H200, B200, RTX PRO 6000)",
    "Fasi": "Fasi et al., Numerical behavior of NVIDIA tensor cores, PeerJ CS 7:e330, 2021, and its test suite (V100: "
    "no extra bits, toward zero into f32, to nearest into f16)",
    "SMT": "Valpey et al., An SMT Formalization of Mixed-Precision Matrix Multiplication, arXiv 2502.15999 (Volta, "
    "Turing, Ampere)",
    "FPRev": "Xie et al., FPRev, USENIX ATC 2025, arXiv 2411.00442 (orders: 4, 8 and 16 products with the accumulator "
    "on V100, A100, H100)",
    "FP22": "Zhang et al., SageAttention2, arXiv 2411.10958, and the DeepSeek-V3 report, arXiv 2412.19437 (the "
    "accumulator of fp8 products has 13 fraction bits on Ada and Hopper)",
    "PTX": "PTX ISA, mma and fma: f64 is IEEE arithmetic; the order of additions is not specified",
    "TPU": "Cloud TPU, System architecture: all multiplications take bf16, all accumulations are f32",
    "NKI": "AWS Neuron, nki.isa.nc_matmul and the Trainium architecture guide: accumulation in the array and in PSUM "
    "is f32; instructions on one PSUM address add in program order",
    "none": "no publication known; the simplest order that fits what is documented",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Row:
    """One instruction's products of ``inputs`` into accumulators of format ``acc``.

    ``status`` is that of the adder's parameters; ``why`` adds, in words, what of it is less well known.  ``promoted``:
    Triton adds the unit's accumulator to a full one every so many products (max_num_imprecise_acc).
    """

    instruction: str
    inputs: tuple[str, ...]
    acc: str
    adder: Adder
    status: Status
    sources: tuple[str, ...]
    why: str = ""
    promoted: bool = False


@dataclass(frozen=True, slots=True)
class Unit:
    """The matrix unit of a family of targets.  ``passes``: how f32 operands at full precision are multiplied."""

    name: str
    what: str
    rows: tuple[Row, ...]
    passes: str = ""

    def row(self, dtype_in: str, dtype_acc: str) -> Row | None:
        """The row for products of one format; None where that is not modelled."""
        return next((row for row in self.rows if dtype_in in row.inputs and row.acc == dtype_acc), None)


_FP8 = ("f8e4m3fn", "f8e5m2")
_WHOLE = 1 << 30  # products of a step that takes all of them


def _half(instruction: str, fraction: int, width: int, sources: tuple[str, ...], least: int | None = None,
          bf16: bool = True, why: str = "") -> tuple[Row, ...]:  # fmt: skip
    """The 16-bit formats and TF32 of a generation whose step takes ``width`` bytes of each operand."""
    to_f32 = Adder("fused", width // 2, fraction, least=least)
    rows = [
        Row(instruction, ("f16", "bf16") if bf16 else ("f16",), "f32", to_f32, "measured", sources, why),
        Row(instruction, ("f16",), "f16", replace(to_f32, nearest=True), "measured", sources, why),
    ]
    if bf16:
        rows.append(Row(instruction, ("tf32",), "f32", replace(to_f32, products=width // 4), "measured", sources))
    return tuple(rows)


def _fp8(instruction: str, adder: Adder, sources: tuple[str, ...], promoted: bool = False) -> tuple[Row, ...]:
    return (
        Row(instruction, _FP8, "f32", adder, "measured", sources, promoted=promoted),
        Row(instruction, _FP8, "f16", replace(adder, nearest=True, kept=None), "measured", sources),
    )


_DMMA = Row("dmma", ("f64",), "f64", Adder("chain", _WHOLE), "measured", ("PTX", "MMA-Sim"))
_FMA, _FMA64 = (
    Row("fma", (name,), name, Adder("chain", _WHOLE), "assumed", ("PTX", "none"), "no matrix unit: a chain along K")
    for name in ("f32", "f64")
)


def _systolic(instruction: str, depth: int, inputs: tuple[str, ...], source: str) -> tuple[Row, ...]:
    """Exact products summed down a column in f32, then added to an accumulator in f32."""
    why = "the formats are documented; the order down a column and the rounding of each addition are assumed"
    adder = Adder("chain", depth, joins=False)
    return tuple(Row(instruction, (name,), "f32", adder, "assumed", (source, "none"), why) for name in inputs)


_PE = ("bf16", "f16", "tf32", "f32", "f8e4m3", "f8e5m2")
_SHORT = 13  # fraction bits of the accumulator of fp8 products on Ada and Hopper
_FIVE = "the SMT model has 4 products in a step on Turing, MMA-Sim 8, which is followed"
UNITS: Final[dict[str, Unit]] = {
    unit.name: unit
    for unit in (
        Unit(
            "Volta", "NVIDIA Volta, mma.sync",
            (*_half("mma", 23, 8, ("MMA-Sim", "Leeds", "Fasi", "FPRev"), bf16=False), _FMA, _FMA64),
        ),
        Unit(
            "Turing", "NVIDIA Turing, mma.sync",
            (*_half("mma", 24, 16, ("MMA-Sim",), bf16=False, why=_FIVE), _FMA, _FMA64),
        ),
        Unit(
            "Ampere", "NVIDIA Ampere, mma.sync",
            (*_half("mma", 24, 16, ("MMA-Sim", "Leeds", "FPRev"), -132), _DMMA, _FMA),
        ),
        Unit(
            "Ada", "NVIDIA Ada, mma.sync",
            (*_half("mma", 24, 16, ("MMA-Sim", "Leeds"), -132),
             *_fp8("mma", Adder("fused", 16, _SHORT, kept=_SHORT), ("MMA-Sim", "Leeds", "FP22")), _DMMA, _FMA),
        ),
        Unit(
            "Hopper", "NVIDIA Hopper, mma.sync and wgmma",
            (*_half("mma, wgmma", 25, 32, ("MMA-Sim", "Leeds", "FPRev"), -133),
             *_fp8("wgmma", Adder("fused", 32, _SHORT, kept=_SHORT), ("MMA-Sim", "Leeds", "FP22"), promoted=True),
             _DMMA, _FMA),
        ),
        Unit(
            "Blackwell", "NVIDIA Blackwell, mma.sync and tcgen05.mma",
            (*_half("mma, tcgen05", 25, 32, ("MMA-Sim", "Leeds"), -133),
             *_fp8("mma, tcgen05", Adder("fused", 32, 25), ("MMA-Sim", "Leeds")), _DMMA, _FMA),
        ),
        Unit("TPU", "Google TPU, MXU of 128 x 128", _systolic("MXU", 128, ("bf16",), "TPU"), "bf16x6"),
        Unit("TPU v6", "Google TPU v6e and later, MXU of 256 x 256", _systolic("MXU", 256, ("bf16",), "TPU"), "bf16x6"),
        Unit("Trainium", "AWS Trainium 1 and 2, PE array of 128 x 128", _systolic("PE", 128, _PE, "NKI")),
        Unit("Trainium 3", "AWS Trainium 3, PE array of 128 x 128", _systolic("PE", 128, (*_PE, "f8e4m3fn"), "NKI")),
    )
}  # fmt: skip

#: Which unit a target has: a pattern of its name, with the letter of an architecture-specific feature set left off.
TARGETS: Final[dict[str, str]] = {
    r"sm_7[02]": "Volta", r"sm_75": "Turing", r"sm_8[0678]": "Ampere", r"sm_89": "Ada", r"sm_90": "Hopper",
    r"sm_1[012]\d": "Blackwell", r"tpu_?v[2345][a-z]?": "TPU", r"tpu_?v[67][a-z]?": "TPU v6", r"trn[12]": "Trainium",
    r"trn3": "Trainium 3",
}  # fmt: skip


def unit_of(target: str) -> Unit | None:
    """The matrix unit of 'sm_90a', 'tpu_v5e', 'trn2'; None for a target that has none, or that is not modelled."""
    bare = re.sub(r"(?<=sm_\d\d)[a-z]$|(?<=sm_\d\d\d)[a-z]$", "", target)
    return next((UNITS[name] for pattern, name in TARGETS.items() if re.fullmatch(pattern, bare)), None)


def dot(
    a: Array, b: Array, acc: Array | None, model: Adder | Unit, dtype_in: str | tuple[str, str], dtype_acc: str
) -> Array:
    """acc + a @ b for a [..., M, K] and b [..., K, N] of format ``dtype_in``, in accumulators of format ``dtype_acc``.

    Raises ValueError where a Unit has no row for these formats.
    """
    dtypes = (dtype_in, dtype_in) if isinstance(dtype_in, str) else dtype_in
    if isinstance(model, Unit):
        row = model.row(dtypes[0], dtype_acc)
        if row is None or row is not model.row(dtypes[1], dtype_acc):
            raise ValueError(f"{model.what}: products of {' and '.join(dtypes)} into {dtype_acc} are not modelled")
        model = row.adder
    outer = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    shape = (*outer, a.shape[-2], b.shape[-1])
    rows = np.broadcast_to(a, (*outer, *a.shape[-2:])).reshape(-1, *a.shape[-2:])
    columns = np.broadcast_to(b, (*outer, *b.shape[-2:])).reshape(-1, *b.shape[-2:])
    start = np.zeros(shape, storage_dtype(dtype_acc)) if acc is None else np.broadcast_to(acc, shape)
    result = accumulate(rows, columns, start.reshape(-1, *shape[-2:]), model, dtypes, dtype_acc)
    return result.reshape(shape)


__all__ = ["SOURCES", "TARGETS", "UNITS", "Row", "Unit", "dot", "unit_of"]
