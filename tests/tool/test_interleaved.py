"""Two forward passes before a backward pass: an error where the first one's gradients are made of the second's."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest

from equivalence.verdicts import Finding
from irverify import interleaved, loading
from irverify._capture import CaptureOptions, load_adapter
from irverify.exchange import Exchange
from irverify.options import CompareOptions
from irverify.orchestrate import _briefly
from irverify.values import ArrayValue

SUBJECTS = Path(__file__).parents[1] / "capture" / "subjects" / "interleaved.py"
FILES = ("a.py", "b.py")


@pytest.fixture
def found(tmp_path):
    """The findings on two subjects, and the checks that are left open."""

    def of(*names: str) -> tuple[list[Finding], list[str]]:
        exchange = Exchange(tmp_path)
        for side, name in zip("ab", names):
            adapter = load_adapter("irverify._capture_torch:TorchAdapter", CaptureOptions(backward=True))
            with adapter.session():
                function = getattr(loading.load(SUBJECTS), name)
                arrays = np.linspace(1, 2, 15, dtype=np.float32).reshape(3, 5), np.arange(5, dtype=np.float32)
                bound = loading.bind(function, [(None, ArrayValue(array)) for array in arrays], name)
                captured = adapter.capture(function, bound)
            exchange.publish(f"{side}.v0", {"inputs": captured.inputs})
            if captured.interleaved is not None:
                exchange.publish(f"{side}.interleaved", {"at": f"{side}.v0", **asdict(captured.interleaved)})
        judged = _briefly(CompareOptions(a="a.py", b="b.py"))
        open_ = [check.detail for check in interleaved.left_out(exchange, FILES) if check.passed is None]
        return interleaved.findings(exchange, FILES, judged), open_

    return of


@pytest.mark.parametrize("name", ["on_class", "in_global", "in_workspace", "number_on_class"])
def test_what_a_later_call_overwrites(found, name):
    (finding,), _ = found("saved", name)
    assert (finding.code, finding.severity) == ("stateful", "error")
    assert finding.message.startswith("b.py: where another call comes before the backward pass, grad:x")


@pytest.mark.parametrize("name", ["saved", "on_ctx", "remade", "by_autograd"])
def test_what_is_kept_where_it_belongs(found, name):
    assert found("saved", name) == ([], [])


def test_both_sides(found):
    assert [finding.severity for finding in found("on_class", "in_global")[0]] == ["warning", "warning"]


def test_a_call_that_was_not_made_is_told(found):
    findings, (detail,) = found("saved", "drawn")
    assert not findings and detail == "not run: b.py: the first call draws random numbers"


def test_a_refilled_call_that_raises_is_told(tmp_path):
    adapter = load_adapter("irverify._capture_torch:TorchAdapter", CaptureOptions())
    with adapter.session():
        function = loading.load(SUBJECTS.with_name("refilled.py")).takes_one_value
        bound = loading.bind(function, [(None, ArrayValue(np.linspace(1, 5, 5, dtype=np.float32)))], "takes_one_value")
        captured = adapter.capture(function, bound)
    assert captured.refilled is not None
    assert captured.refilled.unseen == "the call raises ValueError: another value"
