"""Instructions of the random number generators.  Their streams are not documented: what they give is an open source."""

from __future__ import annotations

from typing import Any

from lowering.capture.nki.operands import Mask, lane_or_number, same_elements, tile
from lowering.capture.nki.tile import Tile
from lowering.capture.nki.tracer import current


def dropout(dst: Tile, data: Tile, prob: Any, mask: Mask = None) -> None:
    """``dropout`` dst=[dst] src=[data, prob: number or (P, 1)]: elements set to 0 with that probability."""
    same_elements("dropout", dst, data)
    current().emit("dropout", [dst.view_of], [data.view_of, lane_or_number("prob", prob, data)], "dve", mask)


def rng(dst: Tile, engine: str = "dve") -> None:
    """``rng`` dst=[dst]: random bits."""
    current().emit("rng", [tile("dst of rng", dst).view_of], [], engine)


def rand2(dst: Tile, low: Any, high: Any) -> None:
    """``rand2`` dst=[dst] src=[min, max: numbers or (P, 1)]: uniform in between."""
    lanes = [lane_or_number(name, value, tile("dst of rand2", dst)) for name, value in (("min", low), ("max", high))]
    current().emit("rand2", [dst.view_of], lanes, "dve")


def rand_get_state(dst: Tile, engine: str = "pool") -> None:
    """``rand_get_state`` dst=[dst]: the state of the engine's generator, one for each partition."""
    current().emit("rand_get_state", [tile("dst of rand_get_state", dst).view_of], [], engine)


def rand_set_state(src: Tile, engine: str = "pool") -> None:
    """``rand_set_state`` src=[seeds]."""
    current().emit("rand_set_state", [], [tile("src_seeds of rand_set_state", src).view_of], engine)


def set_rng_seed(src: Tile) -> None:
    """``set_rng_seed`` src=[seeds]."""
    current().emit("set_rng_seed", [], [tile("src_seeds of set_rng_seed", src).view_of], "dve")
