"""The operators of Beta-1's tensors: each stands for the function of nki.language of its name, or for an assignment.

``operators`` gives them to a class; ``ops`` and ``assigning`` are the modules of functions, which need that class.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np

from lowering.capture.nki.access_beta1 import Shifted
from lowering.capture.nki.indices_beta1 import Index
from lowering.capture.nki.tile import Tile

_OPERATORS = {"add": "add", "sub": "subtract", "mul": "multiply", "truediv": "divide", "mod": "mod", "pow": "power",
              "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor", "lshift": "left_shift",
              "rshift": "right_shift"}  # fmt: skip
_COMPARED = {"lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal", "eq": "equal", "ne": "not_equal"}


def _operator(name: str, swapped: bool = False) -> Any:
    def compute(self: Any, other: Any) -> Any:
        if isinstance(other, Index) and name == "add":
            return Shifted(self, other)
        if not isinstance(other, Tile | int | float | np.generic):
            return NotImplemented
        return getattr(ops(), name)(*((other, self) if swapped else (self, other)))

    return compute


def _in_place(name: str) -> Any:
    return lambda self, other: assigning().combine_into(self, other, name)


def ops() -> ModuleType:
    """The module of functions that operators stand for; it needs this one."""
    from lowering.capture.nki import math_beta1

    return math_beta1


def assigning() -> ModuleType:
    from lowering.capture.nki import assign_beta1

    return assign_beta1


def operators(cls: type[Tile]) -> None:
    """Python's operators, the reflected and the augmented ones too."""
    for python, name in _OPERATORS.items():
        setattr(cls, f"__{python}__", _operator(name))
        setattr(cls, f"__r{python}__", _operator(name, swapped=True))
        if python != "add":
            setattr(cls, f"__i{python}__", _in_place(name))
    for python, name in _COMPARED.items():
        setattr(cls, f"__{python}__", _operator(name))
    setattr(cls, "__neg__", lambda self: ops().negative(self))  # noqa: B010  (as the others)
    setattr(cls, "__invert__", lambda self: ops().invert(self))  # noqa: B010
