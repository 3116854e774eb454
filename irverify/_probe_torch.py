"""Probes of torch: its own sums and products, and users' functions of tensors, run by torch itself (worker only).

Takes a Library or a function; gives a Runner on numpy arrays.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from irverify.runners import DTYPES, SHORT, Library, Runner, check_scalar, is_softmax, matrices, place
from lowering.errors import UsageError


def _device(target: str) -> str:
    if target == "cuda" and not torch.cuda.is_available():
        raise UsageError("the target is cuda, but torch sees no GPU here; probe with target cpu")
    return target


def _version(target: str) -> str:
    if target == "cuda":
        return f"torch {torch.__version__}, {torch.cuda.get_device_name()}"
    capability = torch.backends.cpu.get_cpu_capability()
    return f"torch {torch.__version__}, {capability}, {torch.get_num_threads()} threads"


def _entering(dtype: str, target: str) -> Callable[[np.ndarray], torch.Tensor]:
    """How an array becomes a tensor: on the CPU the same memory."""
    kind = getattr(torch, DTYPES[dtype])
    if dtype == "bf16":
        return lambda array: torch.from_numpy(array.view(np.int16)).view(kind).to(target)
    return lambda array: torch.from_numpy(array).to(target)


def library_runner(library: Library, n: int, dtype: str, target: str) -> Runner:
    """torch.sum, torch.dot or torch.matmul."""
    enter, version = _entering(dtype, _device(target)), _version(target)
    if library.operation == "sum":
        return Runner(lambda values: torch.sum(enter(values)).item(), 1, dtype, version)
    if library.operation == "softmax":
        return Runner(lambda values: _f64(torch.softmax(enter(values), 0)), 1, dtype, version, _exp(enter))
    if library.operation == "dot":
        return Runner(lambda a, b: torch.dot(enter(a), enter(b)).item(), 2, dtype, version)
    element, pair = library.element, matrices(library.element, n, dtype)

    def run(a: np.ndarray, b: np.ndarray) -> float:
        place(pair, element, a, b)
        return torch.matmul(enter(pair[0]), enter(pair[1]))[element.row, element.column].item()

    return Runner(run, 2, dtype, version)


def _f64(result: torch.Tensor) -> np.ndarray:
    return result.detach().double().cpu().numpy().reshape(-1)


def _exp(enter: Callable[[np.ndarray], torch.Tensor]) -> tuple[str, Callable[[np.ndarray], np.ndarray]]:
    def exp(values: np.ndarray) -> np.ndarray:
        x = enter(values)
        x = x.float() if x.dtype.itemsize < 4 else x
        return _f64(torch.exp(x - x.max()))

    return "torch.exp", exp


def function_runner(function: Callable[..., Any], factors: int, n: int, dtype: str, target: str) -> Runner:
    """A function of tensors that gives a tensor of one element, or a number; or a softmax of its argument."""
    enter = _entering(dtype, _device(target))
    where = getattr(function, "__name__", "the function")
    if inspect.isclass(function):
        raise UsageError(f"{where} is a class; name a function of one array, or of two for a dot product")

    def run(*arrays: np.ndarray) -> float:
        with torch.no_grad():
            result = function(*map(enter, arrays))
        if isinstance(result, torch.Tensor):
            check_scalar(result.numel(), where)
            return float(result.item())
        return float(result)

    first = function(*[torch.ones(n, dtype=getattr(torch, DTYPES[dtype]), device=target) for _ in range(factors)])
    kind = str(first.dtype).removeprefix("torch.") if isinstance(first, torch.Tensor) else "float64"
    if kind in SHORT and isinstance(first, torch.Tensor) and factors == 1 and first.numel() == n > 1:

        def row(values: np.ndarray) -> np.ndarray:
            with torch.no_grad():
                return _f64(function(enter(values)))

        if is_softmax(row, n, dtype):
            return Runner(row, 1, SHORT[kind], _version(target), _exp(enter))
    if kind not in SHORT:
        raise UsageError(f"{where} gives {kind} values; only sums in {', '.join(SHORT)} can be probed")
    return Runner(run, factors, SHORT[kind], _version(target))
