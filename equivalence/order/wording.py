"""Orders in a sentence's words: "4 blocks of 32 one after the other".

Takes a Name; gives the words after "adds".  Less exact than the name, never wrong: what the words do not cover is given
by the name.  Must not know two orders (relation.py).
"""

from __future__ import annotations

from equivalence.order.groupings import Before, Blocked, Grouping, Lanes, Then
from equivalence.order.naming import Name
from equivalence.order.patterns import Bits, Flat, Fold, One, Pairwise, Pattern, Place, hop_words


def words(name: Name) -> str:
    """How an order adds up, without the formats that its name gives."""
    if name.pattern is None:
        return "nothing"
    if isinstance(name.pattern, One):
        return "one term"
    return _phrase(name.pattern, name.size)


def _phrase(pattern: Pattern, size: int) -> str:
    match pattern:
        case Then():
            return f"{_phrase(pattern.inner, size)}, then {hop_words(pattern.hops, pattern.dtype)}"
        case Before():
            return f"{_phrase(pattern.inner, size)}, each {hop_words(pattern.hops, pattern.dtype)} first"
        case Blocked() | Lanes():
            what, unit = _groups(pattern, size)
            inner = _manner(pattern.inner, "term")
            each = f", the terms of each {inner or 'as ' + _text(pattern.inner, max(map(len, pattern.groups(size))))}"
            return f"{what} {_manner(pattern.outer, unit) or 'as ' + _text(pattern.outer, size)}{each}"
    manner = _manner(pattern, "term")
    return f"{size} terms {manner}" if manner else f"{size} terms as {_text(pattern, size)}"


def _groups(pattern: Grouping, size: int) -> tuple[str, str]:
    groups = [len(group) for group in pattern.groups(size)]
    sizes = sorted(set(groups), reverse=True)
    word = "strided lane" if isinstance(pattern, Lanes) else "slab" if pattern.split else "block"
    kind = " of different programs" if pattern.split else ""
    return f"{len(groups)} {word}s of {' or '.join(map(str, sizes))}{kind}", word


def _text(pattern: Pattern, size: int) -> str:
    return pattern.text(Place(size, dtype=pattern.dtype))


def _manner(pattern: Pattern, unit: str) -> str:
    """How operands are combined; "" where it takes the whole name to say so."""
    match pattern:
        case Flat():
            return _flat(pattern)
        case Fold():
            return _fold(pattern, unit)
        case Pairwise(leaf=1):
            return "pairwise"
        case Bits():
            return f"in a {pattern.text(Place(1 << len(pattern.order), False, pattern.dtype))}"
        case Then():
            inner = _manner(pattern.inner, unit)
            return inner and f"{inner}, then {hop_words(pattern.hops, pattern.dtype)}"
    return ""


def _flat(pattern: Flat) -> str:
    match pattern.how:
        case "open":
            return "in one unordered reduction" + (f" ({pattern.by} leaves the order open)" if pattern.by else "")
        case "racing":
            return f"in an order that changes from run to run ({pattern.by or 'racing'})"
        case "fused":
            return "in one addition that rounds once"
    return f"with the errors carried along ({pattern.by})"


def _fold(pattern: Fold, unit: str) -> str:
    fused = " with fused products" if pattern.how == "fma" else ""
    visit = {"": "one after the other", "reversed": "one after the other, the last one first"}
    said = visit.get(pattern.visit.kind, f"one after the other, {pattern.visit.text()}")
    if pattern.width > 1:
        step = {"fused": "in one addition that rounds once"}.get(pattern.how, _flat(Flat(pattern.how, "", pattern.by)))
        said = f"{pattern.width} at a time with the running sum, each time {step}"
    return said + fused + pattern.carry.text(pattern.dtype, unit)
