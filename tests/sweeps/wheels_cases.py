"""The NKI kernels of six wheels on PyPI, each with small inputs and a reference in plain PyTorch.

Takes nothing; gives CASES.  ``kernel()`` imports the wheel and must be called while the NKI namespaces are in place.
References take the kernel's arguments and are the mathematical definition; ``package`` compares with a function of
the wheel's own where it has one: from the arguments and the kernel's outputs to (found, wanted).
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

Arguments = dict[str, Any]
Package = Callable[[Arguments, list[np.ndarray]], tuple[Any, Any]]


@dataclass(frozen=True)
class WheelCase:
    name: str
    kernel: Callable[[], Any]
    reference: Callable[..., Any]
    arguments: Callable[[], Arguments]
    package: Package | None = None


CASES: list[WheelCase] = []


def load(module: str, name: str) -> Callable[[], Any]:
    return lambda: getattr(importlib.import_module(module), name)


def case(
    kernel: str, module: str, arguments: Callable[[], Arguments], package: Package | None = None
) -> Callable[[Any], Any]:
    """Registers the decorated function as the reference of a kernel."""

    def register(reference: Callable[..., Any]) -> Callable[..., Any]:
        name = f"{module.split('.')[0]} {kernel}"
        CASES.append(WheelCase(name, load(module, kernel), reference, arguments, package))
        return reference

    return register


def normal(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def energies(count: int, sign: int) -> np.ndarray:
    """Orbital energies: all of one sign, none near 0."""
    return (sign * np.linspace(0.5, 1.5, count)).astype(np.float32)


def tensors(given: Arguments) -> Arguments:
    return {k: torch.from_numpy(v) if isinstance(v, np.ndarray) else v for k, v in given.items()}


# -- trnblas -----------------------------------------------------------------------------------------------------

BLAS = "trnblas.nki.dispatch"


def _gemm(tile_m: int, tile_n: int) -> None:
    def arguments() -> Arguments:
        return {"a": normal(tile_m, 256), "b": normal(256, tile_n, seed=1)}

    case(f"_gemm_kernel_{tile_m}_128_{tile_n}", BLAS, arguments)(lambda a, b: a @ b)


for _tile in ((64, 128), (64, 256), (64, 512), (128, 128), (128, 256), (128, 512)):
    _gemm(*_tile)


@case("_syrk_kernel", BLAS, lambda: {"a": normal(128, 256)})
def syrk(a):
    return a @ a.T


def pair_terms(t: torch.Tensor, occupied: torch.Tensor, column: torch.Tensor, row: torch.Tensor) -> torch.Tensor:
    """T (2 T - T transposed) / (occupied - column[a] - row[b]), summed over b."""
    denominator = occupied - column.view(-1, 1) - row.view(1, -1)
    return (t * (2.0 * t - t.transpose(-2, -1)) / denominator).sum(-1)


def _mp2_arguments() -> Arguments:
    occupied, virtual = energies(2, -1), energies(130, 1)
    return {
        "T_flat": normal(130, 260), "eps_occ_chunk": occupied[None, :1], "eps_occ_full": occupied[None],
        "eps_vir_col": virtual[:, None], "eps_vir_row": virtual[None],
    }  # fmt: skip


def _mp2_package(given: Arguments, found: list[np.ndarray]) -> tuple[Any, Any]:
    t = tensors(given)
    reference = load(BLAS, "_torch_mp2_energy")()
    flat = [t["T_flat"], t["eps_occ_chunk"][0], t["eps_occ_full"][0], t["eps_vir_row"][0]]
    return found[0].sum(dtype=np.float64), reference(*flat)


@case("_mp2_energy_kernel", BLAS, _mp2_arguments, _mp2_package)
def mp2_energy(T_flat, eps_occ_chunk, eps_occ_full, eps_vir_col, eps_vir_row):
    count, virtual = eps_occ_full.shape[1], eps_vir_col.shape[0]
    t = T_flat.reshape(virtual, count, virtual).permute(1, 0, 2)
    occupied = (eps_occ_chunk + eps_occ_full).view(count, 1, 1)
    return pair_terms(t, occupied, eps_vir_col, eps_vir_row).view(count, 2, virtual // 2).sum(1).T


def _fused_arguments() -> Arguments:
    virtual = energies(128, 1)
    return {
        "b_i": normal(128, 128), "b_j": normal(128, 128, seed=1), "eps_occ_sum": np.float32([[-2.0]]),
        "eps_vir_col": virtual[:, None], "eps_vir_row": virtual[None],
    }  # fmt: skip


def _fused_package(given: Arguments, found: list[np.ndarray]) -> tuple[Any, Any]:
    t = tensors(given)
    reference = load(BLAS, "_torch_fused_pair_energy")()
    return found[0].sum(dtype=np.float64), reference(t["b_i"], t["b_j"], -0.5, -1.5, t["eps_vir_row"][0])


@case("_fused_gemm_energy_kernel", BLAS, _fused_arguments, _fused_package)
def fused_gemm_energy(b_i, b_j, eps_occ_sum, eps_vir_col, eps_vir_row):
    return pair_terms(b_i @ b_j.T, eps_occ_sum, eps_vir_col, eps_vir_row)[:, None]


def _batched_arguments() -> Arguments:
    virtual = energies(128, 1)
    return {
        "B": normal(2, 128, 128), "eps_occ_row": energies(2, -1)[None], "eps_vir_col": virtual[:, None],
        "eps_vir_row": virtual[None],
    }  # fmt: skip


def _batched_package(given: Arguments, found: list[np.ndarray]) -> tuple[Any, Any]:
    t = tensors(given)
    reference = load(BLAS, "_torch_batched_pair_energy")()
    return found[0].sum(dtype=np.float64), reference(t["B"], t["eps_occ_row"][0], t["eps_vir_row"][0])


@case("_batched_pair_kernel", BLAS, _batched_arguments, _batched_package)
def batched_pair(B, eps_occ_row, eps_vir_col, eps_vir_row):
    occupied = (eps_occ_row.T + eps_occ_row).view(2, 2, 1, 1)
    t = B[:, None] @ B[None].transpose(-2, -1)
    return pair_terms(t, occupied, eps_vir_col, eps_vir_row).view(4, 128).T


def _j_arguments() -> Arguments:
    given = _batched_arguments()
    return {"b_i": given["B"][1].copy(), "B": given["B"], "eps_occ_i": given["eps_occ_row"][:, 1:]} | {
        name: given[name] for name in ("eps_occ_row", "eps_vir_col", "eps_vir_row")
    }


@case("_j_batched_kernel", BLAS, _j_arguments)
def j_batched(b_i, B, eps_occ_i, eps_occ_row, eps_vir_col, eps_vir_row):
    occupied = (eps_occ_i + eps_occ_row).view(2, 1, 1)
    return pair_terms(b_i @ B.transpose(-2, -1), occupied, eps_vir_col, eps_vir_row).T


# -- trntensor ---------------------------------------------------------------------------------------------------

TENSOR = "trntensor.nki._kernels"


@case("matmul_kernel", TENSOR, lambda: {"a": normal(128, 256), "b": normal(256, 40, seed=1)})
def matmul(a, b):
    return a @ b


@case("batched_matmul_kernel", TENSOR, lambda: {"a": normal(2, 128, 128), "b": normal(2, 128, 40, seed=1)})
def batched_matmul(a, b):
    return a @ b


def _tensor_mp2_arguments() -> Arguments:
    return {"B": normal(2, 6, 5), "eps_occ": energies(2, -1)[:, None], "eps_vir": energies(6, 1)[:, None]}


def _tensor_mp2_package(given: Arguments, found: list[np.ndarray]) -> tuple[Any, Any]:
    t = tensors(given)
    reference = load("trntensor.quantum", "_cpu_mp2_energy")()
    return found[0].sum(dtype=np.float64), reference(t["B"], t["eps_occ"][:, 0], t["eps_vir"][:, 0])


@case("mp2_energy_kernel", TENSOR, _tensor_mp2_arguments, _tensor_mp2_package)
def tensor_mp2(B, eps_occ, eps_vir):
    t = B[:, None] @ B[None].transpose(-2, -1)
    return pair_terms(t, (eps_occ + eps_occ.T).view(2, 2, 1, 1), eps_vir, eps_vir).sum(-1)


@case(
    "ao_to_mo_transform_kernel",
    TENSOR,
    lambda: {"eri": normal(128, 128, 2), "C_occ": normal(128, 3, seed=1), "C_vir": normal(128, 4, seed=2)},
)
def ao_to_mo(eri, C_occ, C_vir):
    half = C_occ.T @ eri.permute(2, 0, 1)
    return (half @ C_vir).permute(1, 2, 0)
