"""The captured corpus, shared by every test of this folder: pairs come in order, as the two processes finish them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from irverify.collect import Collected
from tests.corpus.harness import Case, capture, cases


class Captured:
    """Pairs by name; asking for one waits until it has been captured."""

    def __init__(self, found: Iterator[tuple[Case, Collected | Exception]]) -> None:
        self._found, self._known = found, dict[str, Collected | Exception]()

    def __getitem__(self, name: str) -> Collected:
        while name not in self._known:
            case, result = next(self._found)
            self._known[case.name] = result
        result = self._known[name]
        if isinstance(result, Exception):
            raise result
        return result


@pytest.fixture(scope="session")
def captured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Captured]:
    pairs = capture(cases(), Path(tmp_path_factory.mktemp("corpus")))
    yield Captured(pairs)
    pairs.close()  # type: ignore[attr-defined]
