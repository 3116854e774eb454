"""`error` for constants that stand for other numbers: a coarse constant identified with a finer one of the other side.

Takes the meaning that `real` and `enclosure` give to constants; the distance to it joins a literal's error, so that a
side's bound counts from the same real function as the enclosure.  Must not know programs.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from equivalence.evaluator.lanes import Lanes, Planes
from equivalence.fields.constants import Constant, Form
from equivalence.interpretations.enclosure import form_ends
from equivalence.interpretations.error import Error, is_mask


class MeantError(Error):
    """As Error; literals are off by at least their distance to what they stand for."""

    def __init__(self, meaning: Mapping[Constant, Form], usual: bool = True, target: str | None = None) -> None:
        super().__init__(usual, target)
        self.distances: dict[str, list[tuple[float, float]]] = {}
        for (dtype, value), form in meaning.items():
            low, high = form_ends(form)
            away = max(high - value, value - low)
            if away > 0:
                self.distances.setdefault(dtype, []).append((value, float(np.nextafter(away, np.inf))))

    def literal(self, data: np.ndarray, lanes: Lanes) -> Planes:
        made = super().literal(data, lanes)
        for value, away in self.distances.get(lanes.dtype.name, ()):
            here = (data.astype(np.float64) == value) & ~is_mask(data.astype(np.float64), lanes.dtype)
            made = {name: np.where(here, np.maximum(error, away), error) for name, error in made.items()}
        return dict.fromkeys(made, made["bound"])
