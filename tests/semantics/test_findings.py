"""Findings that go with a verdict: each appears where it is due, and not where it is not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from equivalence.verdicts import Finding, Level, Report
from irverify.exits import exit_code_of
from irverify.explain import findings
from lowering.ir.program import Program
from lowering.ir.types import BOOL, F32
from tests.semantics.programs import judged, launched

ROOT = Path(__file__).resolve().parents[2]


def of(report: Report, code: str) -> list[Finding]:
    return [finding for finding in report.findings if finding.code == code]


@pytest.mark.parametrize("code", [entry.code for entry in findings.ENTRIES])
def test_every_explained_finding_is_emitted_somewhere(code: str) -> None:
    sources = [p for root in ("equivalence", "irverify", "lowering") for p in (ROOT / root).rglob("*.py")]
    assert any(f'"{code}"' in path.read_text() for path in sources if "explain" not in path.parts)


# -- signed-zero -------------------------------------------------------------------------------------------------


def test_zeros_of_other_sign() -> None:
    report = judged(lambda k, x: k.b("neg", x), lambda k, x: k.sub(k.lit(0.0, x), x), "f32[5]")
    assert report.verdict.level is not Level.BITWISE
    [finding] = of(report, "signed-zero")
    assert finding.severity == "note" and "is -0 in A and +0 in B" in finding.message
    assert of(judged(lambda k, x: k.mul(x, 1.0), lambda k, x: k.add(x, 0.0), "f32[5]"), "signed-zero")
    assert not of(judged(lambda k, x: k.b("neg", x), lambda k, x: k.mul(x, -1.0), "f32[5]"), "signed-zero")


# -- output-mismatch ---------------------------------------------------------------------------------------------


def test_outputs_of_other_types() -> None:
    report = judged(lambda k, x: k.mul(x, 2.0), lambda k, x: k.cast(k.mul(x, 2.0), "bf16"), "f32[5]")
    assert report.verdict.level is Level.DIFFERENT and "bf16" in of(report, "output-mismatch")[0].message
    assert not of(judged(lambda k, x: k.mul(x, 2.0), lambda k, x: k.mul(x, 3.0), "f32[5]"), "output-mismatch")


# -- constants-identified ----------------------------------------------------------------------------------------


def test_constants_that_were_taken_to_be_one() -> None:
    def wide(k, x):
        return k.cast(k.mul(k.cast(x, "f64"), 0.1), "f32")

    def narrow(k, x):
        return k.mul(x, float(np.float32(0.1)))

    report = judged(narrow, wide, "f32[5]")
    assert report.verdict.level is Level.REAL
    assert "rounded to f32" in of(report, "constants-identified")[0].message
    exact = judged(lambda k, x: k.mul(k.add(x, 1.0), 3.0), lambda k, x: k.add(k.mul(x, 3.0), 3.0), "f32[5]")
    assert exact.verdict.level is Level.REAL and not of(exact, "constants-identified")


# -- int32-overflow ----------------------------------------------------------------------------------------------

ROW = 1 << 29


def strided(stride: int, width: str, used: bool = True) -> Program:
    """Row 4 of a matrix whose rows lie ``stride`` apart as the kernel is told; what is not there is 1."""

    def body(k, x, out):
        row = k.cast(k.add(k.pid(), 4), width)
        offset = k.mul(row, stride)
        inside = k.cmp("lt", offset, 8) if used else k.b.constant(False, BOOL)
        value = k.load(x, offset if used else k.int(0), inside, k.b.constant(1.0, F32))
        k.store(out, k.int(0), value)

    return launched(body, "f32[8]", out="f32[1]")


def test_an_offset_that_wraps() -> None:
    report = judged(strided(ROW, "i32"), strided(ROW, "i64"), "f32[8]")
    [finding] = of(report, "int32-overflow")
    assert finding.message.startswith("A: mul gives 2147483648")
    assert not of(judged(strided(ROW, "i64"), strided(ROW, "i64"), "f32[8]"), "int32-overflow")
    assert not of(judged(strided(1, "i32"), strided(1, "i32"), "f32[8]"), "int32-overflow")


def test_a_hash_that_wraps_on_purpose_is_no_offset() -> None:
    assert not of(judged(strided(ROW, "i32", used=False), strided(ROW, "i32", used=False), "f32[8]"), "int32-overflow")


# -- out-of-bounds -----------------------------------------------------------------------------------------------


def stores(limit: int, atomic: bool = False) -> Program:
    def body(k, x, out):
        lanes = k.lanes(16)
        value = k.load(x, lanes, k.cmp("lt", lanes, 8), k.b.constant(0.0, F32, (16,)))
        if atomic:
            k.b("atomic_rmw", k.at(out, lanes), value, k.cmp("lt", lanes, limit), combine="add")
        else:
            k.store(out, lanes, value, k.cmp("lt", lanes, limit))

    return launched(body, "f32[8]", out="f32[8]", init=0.0)


@pytest.mark.parametrize("atomic", [False, True], ids=["store", "atomic"])
@pytest.mark.parametrize(("a", "b"), [(8, 9), (9, 8), (9, 9)])
def test_a_write_out_of_bounds_on_any_side_is_an_error(a: int, b: int, atomic: bool) -> None:
    report = judged(stores(a, atomic), stores(b, atomic), "f32[8]")
    assert exit_code_of(report) != 0
    assert {finding.severity for finding in of(report, "out-of-bounds")} == {"error"}
    assert not of(judged(stores(8, atomic), stores(8, atomic), "f32[8]"), "out-of-bounds")


# -- order-sensitive ---------------------------------------------------------------------------------------------


def half(filled: bool) -> Program:
    """Half of the output written, the rest undefined or the same again."""

    def body(k, x, out):
        lanes = k.lanes(8)
        k.store(out, lanes, k.load(x, lanes), *([] if filled else [k.cmp("lt", lanes, 4)]))

    return launched(body, "f32[8]", out="f32[8]")


def test_an_undefined_value_is_not_blamed_on_an_order() -> None:
    report = judged(half(False), half(True), "f32[8]")
    assert report.verdict.level is Level.DIFFERENT
    assert not of(report, "order-sensitive") and not of(report, "precision-lost")


def test_a_short_accumulator_is() -> None:
    def narrow(k, x):
        return k.cast(k.sum(k.cast(x, "bf16")), "f32")

    report = judged(narrow, narrow, "f32[4096]")
    assert of(report, "order-sensitive") or of(report, "precision-lost")
