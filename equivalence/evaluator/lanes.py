"""The evaluator's value: Lanes, one array of concrete data and one array per plane of each interpretation.

Every array has a leading batch axis (program instances of a launch; extent 1 outside) and is *lazily broadcast*: each
of its extents is either the logical extent or 1.  So a broadcast costs nothing and uniform values stay small.
Must not know what the planes mean.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field

import numpy as np

from lowering.ir.types import DType

Planes = dict[str, np.ndarray]


class Atoms(Mapping[str, np.ndarray]):
    """Planes of a large input, made when they are looked at: of all elements, or only ``at`` some positions."""

    def __init__(self, make: Callable[[np.ndarray], Planes], names: Sequence[str], shape: tuple[int, ...]) -> None:
        """``make``: planes of the elements at flat positions int64[...]; ``shape`` is that of the whole input's."""
        self.at, self.names, self.shape = make, tuple(names), shape
        self._whole: Planes | None = None

    def __getitem__(self, name: str) -> np.ndarray:
        if self._whole is None:
            self._whole = self.at(np.arange(int(np.prod(self.shape)), dtype=np.int64).reshape(self.shape))
        return self._whole[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)

    def reshaped(self, *shape: int) -> Atoms:
        """The same elements under another shape."""
        return Atoms(self.at, self.names, shape)


#: Taint of a value: computed from shapes and literals only / from integer inputs / from float data.
INDEX, INTEGER_DATA, FLOAT_DATA = 0, 1, 2
#: Whether lanes may be literals: none, some, all.
NONE, SOME, ALL = 0, 1, 2


@dataclass(eq=False, slots=True)
class Lanes:
    """``shape`` is the logical shape without the batch axis; ``data`` the ieee values in the dtype's numpy storage.

    ``planes`` is None for index integers: they are concrete under every interpretation.  ``freedoms`` is a bit set of
    sites (machine.Freedoms) whose open choices this value depends on; ``literal`` says whether lanes may be literals;
    ``product`` whether lanes may be a product that the compiler may fuse into an addition.  ``fits``: for floats a
    narrower format that holds every lane; for integers the dtype itself when no lane's word is a sum that may have
    wrapped.  ``weight``: bits of the largest coefficient in the words of integers (weights.py).
    """

    dtype: DType
    shape: tuple[int, ...]
    data: np.ndarray
    planes: Planes | Atoms | None = None
    taint: int = INDEX
    freedoms: int = 0
    literal: int = ALL
    product: bool = False
    fits: DType | None = None
    weight: int = 0
    literals: dict[int, tuple[np.ndarray, bool]] = field(default_factory=dict, repr=False)  # a cache of fingerprints

    @property
    def batch(self) -> int:
        return self.data.shape[0]

    def arrays(self) -> list[np.ndarray]:
        return [self.data, *(self.planes or {}).values()]

    def map(self, fn: Callable[[np.ndarray], np.ndarray], shape: Sequence[int] | None = None) -> Lanes:
        """The same lanes moved by ``fn``, which treats every array alike; planes that share an array still do."""
        planes = None if self.planes is None else mapped(fn, self.planes)
        return self.replace(data=fn(self.data), planes=planes, shape=self.shape if shape is None else tuple(shape))

    def replace(self, **changes: object) -> Lanes:
        new = copy(self)
        for name, value in changes.items():
            setattr(new, name, value)
        return new

    def __copy__(self) -> Lanes:
        return Lanes(
            self.dtype,
            self.shape,
            self.data,
            self.planes,
            self.taint,
            self.freedoms,
            self.literal,
            self.product,
            self.fits,
            self.weight,
        )

    def full(self, array: np.ndarray, batch: int | None = None) -> np.ndarray:
        """``array`` (data or a plane) at its full logical extents, as a read-only view."""
        return np.broadcast_to(array, (array.shape[0] if batch is None else batch, *self.shape))


def mapped(fn: Callable[..., np.ndarray], *planes: Mapping[str, np.ndarray]) -> Planes:
    """``fn`` of the planes of one name, for every name; computed once for names that share their arrays."""
    done: dict[tuple[int, ...], np.ndarray] = {}
    result: Planes = {}
    for name in planes[0]:
        arrays = [p[name] for p in planes]
        key = tuple(map(id, arrays))
        if key not in done:
            done[key] = fn(*arrays)
        result[name] = done[key]
    return result


def joined(parts: Sequence[Lanes], fn: Callable[[list[np.ndarray]], np.ndarray], shape: Sequence[int]) -> Lanes:
    """One value made of the lanes of several: ``fn`` gets the data of all parts, then each plane of all parts.

    All parts have planes or none has.
    """
    first = parts[0]
    planes = None
    if first.planes is not None:
        planes = mapped(lambda *arrays: fn(list(arrays)), *(p.planes for p in parts))  # type: ignore[arg-type]
    literals = {p.literal for p in parts}
    return Lanes(
        first.dtype,
        tuple(shape),
        fn([p.data for p in parts]),
        planes,
        taint=max(p.taint for p in parts),
        freedoms=union(parts),
        literal=literals.pop() if len(literals) == 1 and literals != {SOME} else SOME,
        product=any(p.product for p in parts),
        fits=first.fits if len({p.fits for p in parts}) == 1 else None,
        weight=max(p.weight for p in parts),
    )


def union(parts: Sequence[Lanes]) -> int:
    """All freedoms of ``parts``."""
    bits = 0
    for part in parts:
        bits |= part.freedoms
    return bits
