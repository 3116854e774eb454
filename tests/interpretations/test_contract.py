"""Every primitive of KIR has a meaning under every interpretation; a missing one fails by name."""

from __future__ import annotations

import importlib

import pytest

from equivalence.evaluator.machine import HANDLERS
from equivalence.interpretations.base import Interpretation
from lowering.ir.ops import RECORDS

_CLASSES = {
    "exact": "Exact",
    "reassociated": "Reassociated",
    "depends": "Depends",
    "real": "Real",
    "error": "Error",
    "enclosure": "Enclosure",
    "hazards": "Hazards",
}
#: One rule for every primitive; and one that answers "unknown" for what it has no rule for (test_enclosure.py).
_WHOLESALE = {"depends", "enclosure", "hazards"}
_SEVERAL = ("reduce", "sort")
#: Moved by the evaluator's structure and memory handlers before an interpretation sees them.
_NEVER_ASKED = frozenset(name for name in RECORDS if name in HANDLERS) - {"reduce", "scan", "dot", "sort"}


def interpretation(name: str) -> type[Interpretation]:
    return getattr(importlib.import_module(f"equivalence.interpretations.{name}"), _CLASSES[name])


@pytest.mark.parametrize("name", _CLASSES)
@pytest.mark.parametrize("op", [n for n, r in RECORDS.items() if r.primitive and n not in {*_NEVER_ASKED, "sort"}])
def test_primitive_has_a_meaning(op: str, name: str) -> None:
    cls = interpretation(name)
    assert name in _WHOLESALE or hasattr(cls, f"op_{op}"), f"{name} has no meaning for {op}"


@pytest.mark.parametrize("name", _CLASSES)
@pytest.mark.parametrize("op", _SEVERAL)
def test_primitive_with_several_results_has_a_meaning(op: str, name: str) -> None:
    cls = interpretation(name)
    assert cls.several is not Interpretation.several or hasattr(cls, f"multi_{op}"), f"{name}: no multi_{op}"


@pytest.mark.parametrize("name", _CLASSES)
@pytest.mark.parametrize("leaf", ["literal", "atom", "undefined"])
def test_leaves_have_a_meaning(leaf: str, name: str) -> None:
    assert getattr(interpretation(name), leaf) is not getattr(Interpretation, leaf)
