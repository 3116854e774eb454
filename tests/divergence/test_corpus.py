"""On every `different` pair of the corpus: the culprit's line, and what it is."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from equivalence.divergence import explain
from equivalence.verdicts import Level, Report, Verdict
from irverify import orchestrate
from irverify.collect import Collected
from irverify.options import CompareOptions

pytestmark = pytest.mark.usefixtures("forked_workers")

CORPORA = Path(__file__).parents[2] / "corpora"
LABELS = {p.parent.name: tomllib.loads(p.read_text()) for p in sorted(CORPORA.glob("*/expect.toml"))}
DIFFERENT = [name for name, label in LABELS.items() if label["verdict"] == "different"]
#: A window's lower bound is off by one: labelled as an index, and explained as the mask that it is.
ALSO = {"attention_window_off_by_one": "mask"}


def witness(name: str, inputs: dict[str, Any]) -> dict[str, Any]:
    """Inputs on which the pair goes wrong, as corpora/truth.py makes them."""
    torch = pytest.importorskip("torch")
    sys.path.insert(0, str(CORPORA))
    from truth import WITNESS

    if name not in WITNESS:
        return inputs
    changed = WITNESS[name]([torch.from_numpy(x.copy()) for x in inputs.values()])
    return dict(zip(inputs, (x.numpy() for x in changed), strict=True))


@pytest.fixture
def captured(monkeypatch: pytest.MonkeyPatch) -> Any:
    def capture(name: str) -> Any:
        label, seen = LABELS[name], []

        def judge(collected: Collected, *_: Any) -> Report:
            seen.extend(collected.variants)
            return Report(Verdict(Level.TESTED))

        monkeypatch.setattr(orchestrate, "judged", judge)
        files = {side: str(CORPORA / name / f"{side}.py") for side in "ab"}
        entries = {key: label.get(key) for key in ("entry_a", "entry_b")}
        orchestrate.compare(
            CompareOptions(**files, **entries, inputs=tuple(label.get("inputs", ())), shapes=("given",))
        )
        return seen[0]

    return capture


@pytest.mark.sweep
@pytest.mark.parametrize("name", DIFFERENT)
def test_culprit(name: str, captured: Any) -> None:
    pytest.importorskip("triton")
    variant, culprit = captured(name), LABELS[name]["culprit"]
    inputs = witness(name, variant.inputs)
    found = explain(variant.program_a, variant.program_b, inputs, inputs)
    assert found.b is not None and found.b.line == culprit["line"], found
    assert found.kind in (culprit["what"], ALSO.get(name)), found
