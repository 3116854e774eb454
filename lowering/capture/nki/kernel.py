"""A function under ``nki.jit``, and what happens when it is called: its body runs once per place of the grid.

Inside a running kernel a call is a plain call.  Outside, ``host.capture_nki`` has set a tracer and given tensors.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from lowering.capture.nki.tracer import active, current, here
from lowering.errors import UsageError


class Kernel:
    """``kernel[grid](...)`` or ``kernel(...)``."""

    def __init__(self, function: Callable[..., Any], generation: str, options: dict[str, Any]) -> None:
        self.function, self.generation, self.options = function, generation, options
        self.grid: tuple[int, ...] = ()
        functools.update_wrapper(self, function)

    def __getitem__(self, grid: Any) -> Kernel:
        made = Kernel(self.function, self.generation, self.options)
        made.grid = tuple(int(n) for n in (grid if isinstance(grid, tuple) else (grid,)))
        return made

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not active():
            raise UsageError(f"{here()}: a kernel is called outside of a comparison; name it with --entry")
        tracer = current()
        if not self.grid:
            return self.function(*args, **kwargs)
        result, outer = None, (tracer.grid, tracer.place)
        try:
            tracer.grid = self.grid
            for place in np.ndindex(*self.grid):
                tracer.place = tuple(int(i) for i in place)
                result = self.function(*args, **kwargs)
        finally:
            tracer.grid, tracer.place = outer
        return result
