"""Names for random draws: which generator, all that it gave before, and what is drawn from it.

Takes ops that draw, as they run; gives a name per draw.  Draws of equal names are the same numbers, on any device,
where the generators that nobody seeded begin in the same state.  Knows nothing of traces.
"""

from __future__ import annotations

import contextlib
import hashlib
import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

from lowering.capture.torch_arrays import unobserved

#: The state in which every capture finds the CPU's generators: a seed that no file will set itself.
UNSEEDED = 0x5851F42D4C957F2D
_SHORT = 2**32  # numpy and random take seeds of this size
#: One kernel of torch draws for all ops of a family; across families the counters run differently.
_FAMILIES = {
    "rand": "uniform", "rand_like": "uniform", "randn": "normal", "randn_like": "normal",
    "normal_functional": "normal", "randint": "random", "randint_like": "random",
}  # fmt: skip


class Streams:
    """One capture's generators.  cuda's default one is told apart from the CPU's, though both run on the CPU here."""

    def __init__(self) -> None:
        self.chains: dict[Any, str] = {"cuda": "as called", "cpu": "as called"}
        self.known: dict[Any, bytes] = {"cpu": _state(None)}  # the state that a chain leads to
        self._cuda_state = _state(None)
        self.seeded_cuda = False  # and not put back
        self._kept: list[Any] = []  # an id names a generator only while it lives
        self._saved: dict[bytes, str] = {}
        self.asked: list[str] = []  # seeds that the host asked for although nobody had set one

    # -- cuda's default generator --------------------------------------------------------------------------------

    def seed_cuda(self, seed: Any) -> None:
        self.chains["cuda"] = f"seed {int(seed)}"
        self.seeded_cuda = True

    def initial_seed(self) -> int:
        """torch.initial_seed(): a number left open, unless the file has seeded the generator itself."""
        seed = torch.default_generator.initial_seed()
        if seed == UNSEEDED:
            self.asked.append("the initial seed")
        return seed

    def seed(self) -> int:
        """torch.seed(): another number that is left open."""
        self.asked.append(f"a fresh seed {len(self.asked)}")
        torch.manual_seed(UNSEEDED + len(self.asked))
        return UNSEEDED + len(self.asked)

    @unobserved()
    def save_cuda(self) -> torch.Tensor:
        """torch.cuda.get_rng_state(): a tensor that stands for the chain."""
        state = torch.frombuffer(bytearray(_digest(self.chains["cuda"]).encode()), dtype=torch.uint8)
        self._saved[bytes(state.tolist())] = self.chains["cuda"]
        return state

    @unobserved()
    def restore_cuda(self, state: torch.Tensor) -> None:
        content = bytes(state.tolist())
        self.seeded_cuda = content not in self._saved
        self.chains["cuda"] = self._saved.get(content, f"state {_digest(content.hex())}")

    # -- draws ---------------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def drawing(self, generator: Any, cuda: bool) -> Iterator[Draw]:
        """Around one op; the draw has a name afterwards if the generator has moved."""
        key = "cuda" if cuda and generator is None else "cpu" if generator is None else id(generator)
        if generator is not None:
            self._kept.append(generator)
        draw = Draw(key)
        old = _state(None)
        if key == "cuda":
            _set_state(self._cuda_state)
        before = _state(generator)
        if key != "cuda" and self.known.get(key) != before:  # seeded, or restored, since its last draw
            self.chains[key] = f"state {_digest(before.hex())}"
        try:
            yield draw
        finally:
            after = _state(generator)
            draw.moved = after != before
            if key == "cuda":
                self._cuda_state = after
                _set_state(old)
            else:
                self.known[key] = after

    def named(self, draw: Draw, op: str, results: list[torch.Tensor], options: str) -> str:
        """The name of a draw into ``results``; the generator's chain goes on from it.  '' where nothing was drawn."""
        if not draw.moved or not results:
            return ""
        first = results[0]
        dense = first.is_contiguous()
        layout = str(first.numel()) if dense else f"{tuple(first.shape)} by {tuple(first.stride())}"
        what = f"{_family(op)} {first.dtype} {layout} {options}"
        where = "cuda" if draw.key == "cuda" else "cpu"
        name = _digest(f"{self.chains[draw.key]}, {where} {what}")
        self.chains[draw.key] = name
        return name


class Draw:
    """``moved``: whether the generator gave numbers."""

    def __init__(self, key: Any) -> None:
        self.key, self.moved = key, False


def _family(op: str) -> str:
    name = op.removeprefix("aten.").removesuffix("_")
    return _FAMILIES.get(name, name)


@unobserved()
def _state(generator: Any) -> bytes:
    return (generator or torch.default_generator).get_state().numpy().tobytes()


@unobserved()
def _set_state(state: bytes) -> None:
    torch.default_generator.set_state(torch.frombuffer(bytearray(state), dtype=torch.uint8))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@contextlib.contextmanager
def python_generators() -> Iterator[list[str]]:
    """``random`` and numpy's generators begin as in every capture; the list says afterwards which were used."""
    used: list[str] = []
    old, make = (random.getstate(), np.random.get_state()), np.random.default_rng

    def default_rng(seed: Any = None) -> np.random.Generator:
        if seed is None:
            used.append(f"numpy.random.default_rng {len(used)}")
            seed = [UNSEEDED, len(used)]
        return make(seed)

    np.random.default_rng = default_rng
    random.seed(UNSEEDED)
    np.random.seed(UNSEEDED % _SHORT)
    begun = random.getstate(), _numpy_state()
    try:
        yield used
    finally:
        ended = random.getstate(), _numpy_state()
        names = ("random", "numpy.random")
        used += [f"{n} {_digest(repr(e))}" for n, b, e in zip(names, begun, ended, strict=True) if b != e]
        random.setstate(old[0])
        np.random.set_state(old[1])
        np.random.default_rng = make


def _numpy_state() -> tuple[Any, ...]:
    name, keys, *rest = np.random.get_state(legacy=True)
    return name, np.asarray(keys).tobytes(), *rest
