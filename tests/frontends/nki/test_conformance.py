"""Every function of nki.isa at the edges: two dtypes, fewest and most partitions and elements, views, masks, PSUM."""

from __future__ import annotations

import inspect
from dataclasses import replace

import numpy as np
import pytest

from lowering.capture.nki import isa_new
from tests.frontends.nki.conformance import Case, cases
from tests.frontends.nki.conformance_table import ELSEWHERE, ENTRIES

ALL = list(cases(ENTRIES))
FAST = [case for case in ALL if case.fast]


@pytest.mark.parametrize("name", [entry.name for entry in ENTRIES])
def test_a_function_at_its_small_edges(name: str) -> None:
    for case in FAST:
        if case.entry.name == name:
            case.check()


def test_another_statement_is_not_met() -> None:
    """Off by one unit of the last place, in one element of any variant."""
    entry = next(entry for entry in ENTRIES if entry.name == "tensor_tensor")

    def off(*operands: np.ndarray) -> list[np.ndarray]:
        value = entry.want(*operands)[0].copy()
        value[-1, -1] = np.nextafter(value[-1, -1], np.float32(np.inf))
        return [value]

    for variant in entry.variants:
        Case(entry, "float32", 128, 2, variant).check()
        with pytest.raises(AssertionError):
            Case(replace(entry, want=off), "float32", 128, 2, variant).check()


@pytest.mark.sweep
@pytest.mark.parametrize("case", [case for case in ALL if not case.fast], ids=str)
def test_a_function_at_its_largest(case: Case) -> None:
    case.check()


def test_every_function_is_in_the_table_or_said_to_be_elsewhere() -> None:
    functions = {name for name in isa_new.__all__ if inspect.isfunction(getattr(isa_new, name))}
    tabled = {entry.name.split("/")[0] for entry in ENTRIES}
    assert not tabled & set(ELSEWHERE) and functions == tabled | set(ELSEWHERE)
