"""Other values for the numbers among the arguments: capture folds them into the program, and 0.5 hides p and 1 - p.

Takes a variant as the leading side announces it; gives one in which ordinary floats are others, and one in which whole
numbers are (a step count, a position, a window), as far as they are arguments and no size of an array.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import accumulate
from operator import mul
from typing import Any

from irverify.defaults import Defaults
from irverify.values import arrays_in

LABEL = "other numbers"
LEAST = 1e-3  # below this a number is an epsilon or a rate, whose change shows only where it is made larger
FOR_ZERO = 0.25  # a threshold, a rate, a smoothing; where it makes A draw random numbers, it does not count
LARGER = -6  # what such a number becomes: its digits times a power of two, in [2^-7, 2^-6)
#: By turn, so that numbers that were equal are not: they keep the sign and what lies within (0, 1), and are exact where
#: the number has few digits.
FACTORS = (0.75, 0.625, 0.875, 0.6875, 0.9375)
SHOWN = 4
MOST_WHOLE = 1 << 31  # seeds and masks beyond are no counts


def other_numbers(
    variant: dict[str, Any], defaults: Defaults | None = None, built: Defaults | None = None, zeros: bool = False
) -> dict[str, Any] | None:
    """The same arrays beside other numbers, also those that a model is built with; None where there are none.

    ``defaults``: floats that both sides take where nothing is given; they are given then.  ``built``: the same of the
    constructors.  ``zeros``: numbers that are 0 are others, and only these.
    """
    changed: list[tuple[float, float]] = []
    arguments = [*variant["arguments"], *_unset(variant["arguments"], defaults or {})]
    named = dict(_unset([(None, value) for value in variant["init"] or ()], built or {}))
    made = {
        **variant,
        "arguments": _changed(arguments, changed, zeros),
        "init": _changed(variant["init"], changed, zeros),
        "named": _changed(named, changed, zeros),
    }
    if not changed:
        return None
    words = [f"{new:.6g} for {old:.6g}" for old, new in changed]
    more = ["..."] if len(words) > SHOWN else []
    return made | {"label": f"{LABEL}: {', '.join(words[:SHOWN] + more)}", "numbers": True}


def other_whole_numbers(variant: dict[str, Any], zeros: bool = False) -> dict[str, Any] | None:
    """The same arrays beside whole numbers that are one larger, as a first step or position hides; None without any.

    A last place becomes the one before it.  Sizes, and negative numbers (axes), stay; so does what a model is built
    with.  ``zeros``: only those that are 0.
    """
    arrays = arrays_in([value for _, value in variant["arguments"]])
    sizes = {size for x in arrays for size in (*x.data.shape, *accumulate(reversed(x.data.shape), mul))}
    changed: list[tuple[int, int]] = []

    def change(value: Any) -> Any:
        if type(value) is not int or value in sizes or not (value == 0 if zeros else 0 < value < MOST_WHOLE):
            return value
        other = value - 1 if value + 1 in sizes else value + 1  # a last place has none behind it
        if other <= 0 or other in sizes:
            return value
        changed.append((value, other))
        return other

    arguments = _mapped([tuple(argument) for argument in variant["arguments"]], change)
    if not changed:
        return None
    words = ", ".join(f"{new} for {old}" for old, new in changed[:SHOWN]) + ", ..." * (len(changed) > SHOWN)
    return {**variant, "arguments": arguments, "label": f"{LABEL}: {words}", "numbers": True}


def _mapped(value: Any, change: Callable[[Any], Any]) -> Any:
    """``value`` with all that lies in its lists, tuples and dicts changed."""
    if isinstance(value, dict):
        return {key: _mapped(item, change) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_mapped(item, change) for item in value)
    return change(value)


def _unset(arguments: list[Any], defaults: Defaults) -> list[tuple[str, float]]:
    """Defaults that no argument replaces."""
    names = {name for name, _ in arguments}
    positional = sum(name is None for name, _ in arguments)
    return [(n, value) for n, (place, value) in defaults.items() if n not in names and place >= positional]


def _changed(value: Any, changed: list[tuple[float, float]], zeros: bool) -> Any:
    """``value`` with its ordinary floats replaced, or its zeros; each goes into ``changed``."""
    if type(value) is float and math.isfinite(value) and (value == 0) is zeros:
        ordinary = FOR_ZERO if zeros else value
        ordinary = ordinary if abs(ordinary) >= LEAST else math.ldexp(math.frexp(value)[0], LARGER)
        other = ordinary * FACTORS[len(changed) % len(FACTORS)]
        changed.append((value, other))
        return other
    if isinstance(value, dict):
        return {key: _changed(item, changed, zeros) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_changed(item, changed, zeros) for item in value)
    return value
