"""The range helpers and device loops of the new API (NKI.md §1.5): every turn runs, with numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from lowering.capture.nki.registers import VirtualRegister
from lowering.capture.nki.signatures import api
from lowering.capture.nki.tile import Tile
from lowering.capture.nki.tracer import current, here, unmodelled
from lowering.errors import UsageError

_MOST_TURNS = 1_000_000  # of a while loop; what runs longer does not end


COUNT = "give the number of turns as a Python number: a comparison then holds for that number"


def only_the_device_knows(value: Any) -> bool:
    """A register that was loaded from a tensor."""
    return isinstance(value, VirtualRegister) and value.number is None and value.loaded is not None


def _bounds(kind: str, start: Any, stop: Any, step: Any) -> tuple[int, ...]:
    found = []
    for bound in (0, start, step) if stop is None else (start, stop, step):
        if isinstance(bound, Tile) or only_the_device_knows(bound):
            raise unmodelled(f"nl.{kind} with a bound that only the device knows", COUNT)
        found.append(int(bound))
    return tuple(found)


@api("nl.affine_range")
def affine_range(start: Any, stop: Any = None, step: Any = 1, **hints: Any) -> Iterator[int]:
    return current().turns("affine_range", *_bounds("affine_range", start, stop, step))


@api("nl.sequential_range")
def sequential_range(start: Any, stop: Any = None, step: Any = 1, **hints: Any) -> Iterator[int]:
    return current().turns("sequential_range", *_bounds("sequential_range", start, stop, step))


@api("nl.static_range")
def static_range(start: Any, stop: Any = None, step: Any = 1) -> Iterator[int]:
    return current().turns("static_range", *_bounds("static_range", start, stop, step))


@api("nl.dynamic_range", since="0.3")
def dynamic_range(start: Any, stop: Any = None, step: Any = 1) -> Iterator[int]:
    return current().turns("dynamic_range", *_bounds("dynamic_range", start, stop, step))


@api("nl.fori_loop", since="0.6")
def fori_loop(lower: Any, upper: Any, body_fun: Callable[..., Any], step: Any = 1) -> None:
    """body_fun(register) for lower, lower + step, ... before upper."""
    for turn in current().turns("fori_loop", *_bounds("fori_loop", lower, upper, step)):
        body_fun(VirtualRegister(turn))


@api("nl.while_loop", since="0.6")
def while_loop(init: Any, body_fun: Callable[..., Any]) -> None:
    """body_fun(register) while the register is not 0, looked at before each turn; the body changes it."""
    register = init if isinstance(init, VirtualRegister) else VirtualRegister(int(init))
    for _ in current().turns("while_loop", 0, _MOST_TURNS, 1):
        if only_the_device_knows(register):
            raise unmodelled("nl.while_loop whose number of turns only the device knows", COUNT)
        if not register:
            return
        following = body_fun(register)
        if isinstance(following, VirtualRegister):
            register = following
    raise UsageError(f"{here()}: nl.while_loop has not ended after {_MOST_TURNS} turns")
