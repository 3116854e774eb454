"""Input specifications: ``f32[37,130]``, ``idx=i64[N] in [0,50)``, ``i32[64] permutation``, ``1e-5``, ``None``.

Takes the text of each ``--input`` (or an array, from the Python API); gives Argument records and, for a seed and a
binding of the named dimensions, their values.  Must not import any framework.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from irverify.values import ArrayValue, Named, dtype_named
from lowering.errors import UsageError

DTYPES = {
    "f16": "float16", "f32": "float32", "f64": "float64", "bf16": "bfloat16",
    "f8e4m3": "float8_e4m3", "f8e4m3fn": "float8_e4m3fn", "f8e4m3fnuz": "float8_e4m3fnuz",
    "f8e5m2": "float8_e5m2", "f8e5m2fnuz": "float8_e5m2fnuz",
    "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64",
    "u8": "uint8", "u16": "uint16", "u32": "uint32", "u64": "uint64", "bool": "bool",
}  # fmt: skip
EXAMPLES = "f32[37,130], bf16[N,64], 'i64[128] in [0,50)', 'i32[64] permutation', bool[5], 3, 1e-5, None"
_ARRAY = re.compile(r"(?P<dtype>\w+)\s*\[(?P<dims>[^\]]*)\]\s*(?P<rest>.*)")
_NAMED = re.compile(r"(?P<name>[A-Za-z_]\w*(?:\.\w+)*)\s*=\s*(?P<spec>[^=].*)", re.DOTALL)
_RANGE = re.compile(r"in\s*\[\s*(?P<low>[^,]+?)\s*,\s*(?P<high>[^)\]]+?)\s*(?P<close>[)\]])")
_TRAITS = ("permutation", "sorted", "transposed", "strided")
_CONSTANT = re.compile(r"(?:torch|jnp|np)\.(?P<dtype>b?float\w*|u?int\d+|bool)")

Bindings = Mapping[str, int]


@dataclass(frozen=True, slots=True)
class ArraySpec:
    """A random array: dtype name, dimensions (numbers or names), the closed-open range of its values, its traits."""

    dtype: str
    dims: tuple[int | str, ...]
    low: float | str | None = None
    high: float | str | None = None
    traits: frozenset[str] = frozenset()

    def shape(self, bindings: Bindings) -> tuple[int, ...]:
        return tuple(_bound(dim, bindings) for dim in self.dims)


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument: ``name`` None means by position; ``text`` is what the user wrote, for messages."""

    name: str | None
    spec: Any  # ArraySpec, ArrayValue, or a plain value
    text: str = ""


def parse_arguments(inputs: Sequence[Any]) -> tuple[Argument, ...]:
    """Every ``--input`` in order; positions come before names, as in a Python call."""
    arguments = tuple(_parse(value, position) for position, value in enumerate(inputs))
    names = [argument.name for argument in arguments if argument.name]
    for name in names:
        if names.count(name) > 1:
            raise UsageError(f"--input {name}=... is given {names.count(name)} times; give each argument once")
    return arguments


def _parse(value: Any, position: int) -> Argument:
    if not isinstance(value, str):
        return Argument(None, from_object(value, f"inputs[{position}]"), type(value).__name__)
    named = _NAMED.fullmatch(value.strip())
    name, text = (named["name"], named["spec"].strip()) if named else (None, value.strip())
    return Argument(name, parse_spec(text, f"--input {value!r}"), value)


def parse_spec(text: str, where: str) -> Any:
    """An ArraySpec or a plain value; ``where`` opens the message of any error."""
    match = _ARRAY.fullmatch(text)
    if match:
        return _array_spec(match, where)
    words = {"none": None, "true": True, "false": False}
    if text.lower() in words:
        return words[text.lower()]
    constant = _CONSTANT.fullmatch(text)
    if constant:
        return Named("dtype", constant["dtype"])
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        raise UsageError(f"{where} is neither an array nor a value; write one of {EXAMPLES}") from None


def _array_spec(match: re.Match[str], where: str) -> ArraySpec:
    dtype = DTYPES.get(match["dtype"], match["dtype"])
    if dtype not in DTYPES.values():
        raise UsageError(f"{where}: {match['dtype']!r} is not a dtype; write one of {', '.join(DTYPES)}")
    dims = tuple(_dim(part.strip(), where) for part in match["dims"].split(",") if part.strip())
    low, high, traits = _qualifiers(match["rest"].strip(), dtype, where)
    spec = ArraySpec(dtype, dims, low, high, traits)
    if "int" in dtype and low is None and "permutation" not in traits:
        raise UsageError(
            f"{where}: integers are never invented, because an index must be in range; say which values are meant, "
            f"for example '{match['dtype']}[{match['dims']}] in [0,50)' or '... permutation'"
        )
    return spec


def _dim(text: str, where: str) -> int | str:
    if text.isdecimal():
        return int(text)
    if text.isidentifier():
        return text
    raise UsageError(f"{where}: {text!r} is not a dimension; write a number from 0 up, or a name bound by --shapes")


def _qualifiers(text: str, dtype: str, where: str) -> tuple[Any, Any, frozenset[str]]:
    low = high = None
    match = _RANGE.search(text)
    if match:
        low, high = _limit(match["low"], where), _limit(match["high"], where)
        if match["close"] == "]" and isinstance(high, int) and "int" in dtype:
            high += 1
        text = text.replace(match[0], " ")
    traits = frozenset(text.replace(",", " ").split())
    unknown = sorted(traits.difference(_TRAITS))
    if unknown:
        raise UsageError(f"{where}: {unknown[0]!r} is not understood; write 'in [LOW,HIGH)' or {', '.join(_TRAITS)}")
    return low, high, traits


def _limit(text: str, where: str) -> Any:
    if text.isidentifier():
        return text
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        raise UsageError(f"{where}: the limit {text!r} is neither a number nor the name of a dimension") from None


def _bound(value: Any, bindings: Bindings) -> Any:
    if not isinstance(value, str):
        return value
    if value not in bindings:
        raise UsageError(f"the dimension {value!r} has no size; add --shapes {value}=64 (several: {value}=64,D=130)")
    return bindings[value]


def generate(spec: Any, bindings: Bindings, seed: tuple[int, ...]) -> Any:
    """The value of one argument: random for an ArraySpec, else as given."""
    if not isinstance(spec, ArraySpec):
        return spec
    rng = np.random.default_rng(seed)
    values = _draw(spec, spec.shape(bindings), bindings, rng)
    if "sorted" in spec.traits:
        values = np.sort(values, axis=-1)
    return _laid_out(values.astype(dtype_named(spec.dtype), copy=False), spec.traits)


_LARGE = 1 << 20  # elements from which normal numbers are drawn in single precision: twice as fast


def _draw(spec: ArraySpec, shape: tuple[int, ...], bindings: Bindings, rng: np.random.Generator) -> np.ndarray:
    if "permutation" in spec.traits:
        return rng.permutation(int(np.prod(shape))).reshape(shape)
    if spec.dtype == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    if spec.low is None:
        wide = spec.dtype == "float64" or int(np.prod(shape)) < _LARGE
        return rng.standard_normal(shape, np.float64 if wide else np.float32)
    low, high = _bound(spec.low, bindings), _bound(spec.high, bindings)
    if not low < high:
        raise UsageError(f"the range [{low},{high}) of an input is empty; write [LOW,HIGH) with LOW below HIGH")
    return rng.integers(low, high, shape) if "int" in spec.dtype else rng.uniform(low, high, shape)


def _laid_out(values: np.ndarray, traits: frozenset[str]) -> ArrayValue:
    """Gives a view its strides: ``transposed`` swaps the last two axes in memory, ``strided`` pads each row."""
    if values.ndim < 1 or not traits & {"transposed", "strided"}:
        return ArrayValue(values)
    if "transposed" in traits and values.ndim >= 2:
        order = (*range(values.ndim - 2), values.ndim - 1, values.ndim - 2)
        return ArrayValue(values, _strides([values.shape[i] for i in order], order))
    padded = [*values.shape[:-1], values.shape[-1] + 3] if values.ndim > 1 else [values.shape[0]]
    strides = _strides(padded, tuple(range(values.ndim)))
    return ArrayValue(values, strides if values.ndim > 1 else (2,), offset=0)


def _strides(memory_shape: Sequence[int], order: tuple[int, ...]) -> tuple[int, ...]:
    """Element strides of axis order[i], for axes laid out in memory as ``memory_shape``."""
    strides, step = [0] * len(order), 1
    for size, axis in zip(reversed(memory_shape), reversed(order)):
        strides[axis], step = step, step * size
    return tuple(strides)


def from_object(value: Any, where: str) -> Any:
    """An argument of the Python API as data: numpy, torch and jax arrays by duck typing, everything else as it is."""
    if isinstance(value, np.ndarray | np.generic):
        return ArrayValue(np.asarray(value))
    if isinstance(value, list | tuple):
        return type(value)(from_object(item, where) for item in value)
    if hasattr(value, "detach") and hasattr(value, "stride"):
        return _from_torch(value)
    if hasattr(value, "__array__") and hasattr(value, "shape"):
        return ArrayValue(np.asarray(value))
    if value is None or isinstance(value, bool | int | float | str | dict):
        return value
    raise UsageError(f"{where} is a {type(value).__name__}; give an array, a number, a string, None or a spec")


def _from_torch(tensor: Any) -> ArrayValue:
    """A torch tensor without importing torch: dtypes numpy lacks go through their bits."""
    name = str(tensor.dtype).removeprefix("torch.")
    plain = tensor.detach().cpu().contiguous()
    bits = {1: "int8", 2: "int16"}.get(plain.element_size()) if name.startswith(("bfloat", "float8")) else None
    data = plain.view(getattr(sys.modules["torch"], bits)).numpy().view(dtype_named(name)) if bits else plain.numpy()
    strides = tuple(tensor.stride())
    return ArrayValue(data, None if tensor.is_contiguous() else strides)


def dimension_names(arguments: Sequence[Argument]) -> list[str]:
    """Every named dimension, in order of appearance."""
    found: dict[str, None] = {}
    for argument in arguments:
        if isinstance(argument.spec, ArraySpec):
            candidates = (*argument.spec.dims, argument.spec.low, argument.spec.high)
            found.update(dict.fromkeys(name for name in candidates if isinstance(name, str)))
    return list(found)
