"""Every pair labelled ``real`` that is made of sums, products, exp, log, roots and max is proved at a small shape."""

from __future__ import annotations

from typing import Any

import pytest

from equivalence.certificate import certify
from tests.corpus.harness import cases

WITHOUT_A_FORM = {"topk_jax": "sort"}
REAL = [case.name for case in cases() if case.expect["verdict"] == "real"]


@pytest.mark.parametrize("name", REAL)
def test_real_pairs_are_certified_whole(name: str, captured: Any) -> None:
    small = min(captured[name].variants, key=lambda v: sum(x.size for x in v.inputs.values()))
    found = certify(small.program_a, small.program_b, small.inputs, small.inputs, seconds=30.0)
    if name in WITHOUT_A_FORM:
        assert not any(one.certified for one in found)
        assert any(WITHOUT_A_FORM[name] in one.reason for one in found)
        return
    assert all(one.certified and one.elements[0] == one.elements[1] for one in found), [one.reason for one in found]
