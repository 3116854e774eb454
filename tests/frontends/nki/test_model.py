"""The sentences on what NKI leaves open: each is said by an instruction that rests on it."""

from __future__ import annotations

import inspect

import numpy as np

from lowering.capture.nki import instructions as isa
from lowering.capture.nki.tile import Tile
from lowering.frontends.nki import FAMILIES, activations, alu, numerics, registers, state
from lowering.frontends.nki.model import SENTENCES, sentence
from tests.frontends.nki.instruction_runs import given, lowered, tile


def test_every_sentence_is_said_somewhere() -> None:
    text = "".join(map(inspect.getsource, [*FAMILIES, activations, alu, numerics, registers, state]))
    assert [name for name in SENTENCES if f'assume("{name}")' not in text] == []


def test_shifts_and_statistics_name_what_they_rest_on() -> None:
    def shifted(x: Tile) -> Tile:
        dst = tile(x.shape, "int32")
        isa.tensor_scalar(dst, x, "logical_shift_left", 3)
        return dst

    def statistics(x: Tile) -> Tile:
        dst = tile((4, 6))
        isa.bn_stats(dst, x)
        return dst

    assert sentence("shift") in lowered(shifted, np.ones((4, 3), np.int32)).notes
    assert sentence("bn_stats") in lowered(statistics, given(4, 8)).notes
