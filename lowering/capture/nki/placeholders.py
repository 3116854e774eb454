"""Names that the API has and that are not modelled: they are there at import, and say so when they are used."""

from __future__ import annotations

from typing import Any

from lowering.capture.nki.tracer import unmodelled


class Placeholder:
    """Used as a function, a decorator or a module, it raises Unsupported with the user's line."""

    def __init__(self, name: str) -> None:
        self.__name__ = self.name = name

    def __call__(self, *_: Any, **__: Any) -> Any:
        raise unmodelled(self.name)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise unmodelled(f"{self.name}.{name}")

    def __repr__(self) -> str:
        return self.name


class NkiInstruction:
    """What an instruction returns from 0.6 on: a handle for scheduling, which changes no value."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise unmodelled(f"NkiInstruction.{name}")


def placeholder(name: str) -> Placeholder:
    return Placeholder(name)
