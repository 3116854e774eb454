"""Curves of (operations, seconds) on logarithmic axes, as an SVG: straight lines of slope 1 are linear growth."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence

Curve = Sequence[tuple[float, float]]
Place = Callable[[float, float], tuple[float, float]]
WIDTH, HEIGHT, MARGIN = 640, 400, 56
COLOURS = ("#1f77b4", "#d62728", "#2ca02c", "#9467bd")


def drawn(curves: Mapping[str, Curve]) -> str:
    """The picture; each curve has at least one point, all numbers are positive."""
    points = [point for curve in curves.values() for point in curve]
    ranges = [_decades([point[k] for point in points]) for k in (0, 1)]

    def at(x: float, y: float) -> tuple[float, float]:
        (x0, x1), (y0, y1) = ranges
        across, up = (math.log10(x) - x0) / (x1 - x0), (math.log10(y) - y0) / (y1 - y0)
        return MARGIN + across * (WIDTH - 2 * MARGIN), HEIGHT - MARGIN - up * (HEIGHT - 2 * MARGIN)

    parts = [*_axes(ranges, at), *(line for k, item in enumerate(curves.items()) for line in _curve(k, *item, at))]
    size = f'viewBox="0 0 {WIDTH} {HEIGHT}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="12">'
    return "\n".join([head, '<rect width="100%" height="100%" fill="white"/>', *parts, "</svg>"]) + "\n"


def _decades(values: Sequence[float]) -> tuple[int, int]:
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    return low, max(high, low + 1)


def _axes(ranges: Sequence[tuple[int, int]], at: Place) -> Iterator[str]:
    (x0, x1), (y0, y1) = ranges
    for k in range(x0, x1 + 1):
        (x, bottom), (_, top) = at(10.0**k, 10.0**y0), at(10.0**k, 10.0**y1)
        yield f'<line x1="{x:.1f}" y1="{bottom:.1f}" x2="{x:.1f}" y2="{top:.1f}" stroke="#ddd"/>'
        yield f'<text x="{x:.1f}" y="{bottom + 18:.1f}" text-anchor="middle">1e{k}</text>'
    for k in range(y0, y1 + 1):
        (left, y), (right, _) = at(10.0**x0, 10.0**k), at(10.0**x1, 10.0**k)
        yield f'<line x1="{left:.1f}" y1="{y:.1f}" x2="{right:.1f}" y2="{y:.1f}" stroke="#ddd"/>'
        yield f'<text x="{left - 8:.1f}" y="{y + 4:.1f}" text-anchor="end">{10.0**k:g} s</text>'
    yield f'<text x="{WIDTH / 2}" y="{HEIGHT - 12}" text-anchor="middle">operations of the kernel</text>'
    yield f'<text x="{WIDTH / 2}" y="22" text-anchor="middle">seconds of judging (slope 1 is linear)</text>'


def _curve(number: int, name: str, curve: Curve, at: Place) -> Iterator[str]:
    colour = COLOURS[number % len(COLOURS)]
    places = [at(x, y) for x, y in curve]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    yield f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2"/>'
    yield from (f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{colour}"/>' for x, y in places)
    x, y = places[0]
    yield f'<text x="{x:.1f}" y="{y - 10:.1f}" fill="{colour}" text-anchor="middle">{name}</text>'
