"""Bounds that the two programs put one step apart, where nothing that was run lies between: ``i < n`` for ``i <= n``.

Lengths, places and random draws are the numbers that they are, so words say nothing of others: a window of 128 that no
tried shape fills, a draw that equals p.  Takes a Judge whose sets of shapes were run; gives findings.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from equivalence.evaluator.cuts import Cut, Cuts, Parted
from equivalence.verdicts import Finding
from lowering.errors import Span

if TYPE_CHECKING:
    from equivalence.judge.judge import Judge

CODE = "bounds-apart"
Places = tuple[Span, Span]


def findings(judge: Judge) -> Iterator[Finding]:
    """An error for each pair of lines whose bounds are apart at every set of shapes that came to both."""
    sides = [judge.reached[id(pair)] for pair in judge.pairs if id(pair) in judge.reached]
    seen = [(dict(_apart(a.cuts, b.cuts)), _lines(a.cuts), _lines(b.cuts)) for a, b in sides]
    everywhere = {places: said for found, _, _ in reversed(seen) for places, said in found.items()}
    for places, said in everywhere.items():
        if all(places in found for found, a, b in seen if places[0] in a and places[1] in b):
            yield Finding(CODE, said, places[1], "error")


def _lines(cuts: Cuts) -> set[Span]:
    return {parted.span for parted in cuts.values()}


def _apart(a: Cuts, b: Cuts) -> Iterator[tuple[Places, str]]:
    """Cuts of one side alone that are a step from one of the other side alone, with nothing in between."""
    for cut, parted in b.items():
        if cut in a:
            continue
        for other in _beside(cut):
            own = a.get(other)
            if own is not None and other not in b and _unseen(cut, parted, own):
                yield (own.span, parted.span), _said(other, cut)


def _beside(cut: Cut) -> tuple[Cut, ...]:
    if not cut.whole:
        return (Cut(cut.bound, not cut.above, False),)
    return Cut(cut.bound - 1, True, True), Cut(cut.bound + 1, True, True)


def _unseen(cut: Cut, b: Parted, a: Parted) -> bool:
    """Whether both saw the same one side only, or the same numbers beside their cuts."""
    if cut.whole and (math.inf == a.beyond == b.beyond or -math.inf == a.below == b.below):
        return True
    return a.nearest == b.nearest


def _said(a: Cut, b: Cut) -> str:
    if a.whole:
        one, other = (f"between {int(c.bound - 0.5)} and {int(c.bound + 0.5)}" for c in (a, b))
        reached = "no number that was tried lies between the two bounds: give inputs, or sizes, that reach them"
        return f"A parts numbers {one}, B {other}, and {reached}"
    larger, smaller = "BA" if a.above else "AB"
    said = (
        f"a number that equals {a.bound:.9g} is one of the larger ones in {larger} and of the smaller ones in {smaller}"
    )
    return f"{said}; none that was drawn equals it"
