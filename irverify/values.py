"""Arguments as data: nested lists, scalars and arrays, to and from JSON and flat bytes, without pickle.

Takes values made of None, bool, int, float, str, list, tuple, dict and arrays; gives (JSON tree, flat arrays).
Arrays of numpy's missing dtypes (bfloat16, float8) travel as bytes with their dtype's name beside them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

from lowering.errors import UsageError


@dataclass(frozen=True, slots=True)
class ArrayValue:
    """An array argument.  ``strides`` (elements) and ``offset`` keep a view's layout; None means contiguous."""

    data: np.ndarray
    strides: tuple[int, ...] | None = None
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Named:
    """A framework constant by name: a dtype ('dtype', 'float16') or device ('device', 'cuda')."""

    kind: str
    name: str


def dtype_named(name: str) -> np.dtype:
    """The numpy dtype called ``name`` ('float32', 'bfloat16', 'float8_e4m3fn', 'bool')."""
    return np.dtype(getattr(ml_dtypes, name, name))


def encode(value: Any, arrays: dict[str, np.ndarray], path: str = "value") -> Any:
    """The JSON tree of ``value``; arrays are put into ``arrays`` under the keys that the tree names."""
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return {"float": value.hex()}
        case complex():
            return {"complex": [value.real.hex(), value.imag.hex()]}
        case Named():
            return {"named": [value.kind, value.name]}
        case list() | tuple():
            items = [encode(item, arrays, f"{path}[{i}]") for i, item in enumerate(value)]
            return {"tuple": items} if isinstance(value, tuple) else items
        case dict():
            return {"dict": [[key, encode(item, arrays, f"{path}[{key!r}]")] for key, item in value.items()]}
        case np.ndarray() | np.generic():
            return encode(ArrayValue(np.asarray(value)), arrays, path)
        case ArrayValue():
            return _encode_array(value, arrays)
        case _:
            raise UsageError(
                f"{path} is a {type(value).__name__}; only numbers, strings, None, lists, tuples, dicts and arrays "
                "can be handed to both sides. Build it inside the function instead"
            )


def _encode_array(value: ArrayValue, arrays: dict[str, np.ndarray]) -> Any:
    key = f"a{len(arrays)}"
    arrays[key] = np.ascontiguousarray(value.data).reshape(-1).view(np.uint8)
    layout = {"strides": value.strides, "offset": value.offset} if value.strides is not None else {}
    return {"array": key, "dtype": value.data.dtype.name, "shape": list(value.data.shape)} | layout


def decode(tree: Any, arrays: dict[str, np.ndarray]) -> Any:
    """The value that ``encode`` saw; arrays come back as ArrayValue."""
    if isinstance(tree, list):
        return [decode(item, arrays) for item in tree]
    if not isinstance(tree, dict):
        return tree
    match tree:
        case {"float": text}:
            return float.fromhex(text)
        case {"complex": [real, imag]}:
            return complex(float.fromhex(real), float.fromhex(imag))
        case {"named": [kind, name]}:
            return Named(kind, name)
        case {"tuple": items}:
            return tuple(decode(item, arrays) for item in items)
        case {"dict": pairs}:
            return {key: decode(item, arrays) for key, item in pairs}
    data = arrays[tree["array"]].view(dtype_named(tree["dtype"])).reshape(tree["shape"])
    strides = tuple(tree["strides"]) if "strides" in tree else None
    return ArrayValue(data, strides, tree.get("offset", 0))


def arrays_in(value: Any) -> list[ArrayValue]:
    """Every array of a nested value, left to right."""
    match value:
        case ArrayValue():
            return [value]
        case list() | tuple():
            return [array for item in value for array in arrays_in(item)]
        case dict():
            return arrays_in(list(value.values()))
    return []


def map_arrays(value: Any, change: Any) -> Any:
    """``value`` with every array (and Named) replaced by ``change`` of it."""
    match value:
        case ArrayValue() | Named():
            return change(value)
        case list():
            return [map_arrays(item, change) for item in value]
        case tuple():
            return tuple(map_arrays(item, change) for item in value)
        case dict():
            return {key: map_arrays(item, change) for key, item in value.items()}
    return value
