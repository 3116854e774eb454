"""The captured corpus, shared by every test of this folder: pairs come in order, as the two processes finish them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

import pytest

from irverify.collect import Collected
from tests.corpus.harness import Case, capture, cases, followed


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
def captured(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Iterator[Captured]:
    """Captured once, by the first worker that needs it; it leaves only when all of it is there for the others."""
    shared = os.environ.get("PYTEST_XDIST_WORKER") is not None
    base = tmp_path_factory.getbasetemp()
    directory = (base.parent if shared else base) / "corpus"
    chosen = _asked_for(request.session.items)
    try:
        directory.mkdir()
    except FileExistsError:
        yield Captured(followed(chosen, directory))
        return
    pairs = capture(chosen, directory)
    yield Captured(pairs)
    if shared and not request.session.shouldstop:
        for _ in pairs:
            pass
    pairs.close()  # type: ignore[attr-defined]


def _asked_for(items: Sequence[pytest.Item]) -> list[Case]:
    """The pairs that a selected test is about; every one where a test does not say."""
    asked: set[str] = set()
    for item in items:
        if "captured" in getattr(item, "fixturenames", ()):
            given = item.callspec.params if hasattr(item, "callspec") else {}  # type: ignore[attr-defined]
            asked.add(given["case"].name if "case" in given else str(given.get("name", "")))
    return [case for case in cases() if case.name in asked or "" in asked]
