"""Report -> JSON (schema ``irverify-report/1``, described in docs/report-schema.md).

Takes a Report or an error; gives plain dicts and text.  Numbers that JSON lacks (NaN, infinity) are strings.
"""

from __future__ import annotations

import json
import math
from typing import Any

from equivalence.verdicts import (
    Check,
    Conditioning,
    Divergence,
    Finding,
    LayoutResult,
    OrderResult,
    OutputResult,
    Report,
    ShapeResult,
    SpecialRow,
    SpecialValue,
    Subject,
    Verdict,
    Views,
    Witness,
)
from lowering.errors import IrverifyError, Span, Unsupported, UsageError

SCHEMA = "irverify-report/1"


def report_to_dict(report: Report) -> dict[str, Any]:
    """The document, top-level keys in the order of the schema."""
    return {
        "schema": SCHEMA,
        "version": report.version,
        "verdict": report.verdict.level.value,
        "exit_code": report.exit_code,
        "require": report.require.value,
        **_verdict_details(report.verdict),
        "subjects": [_subject(subject) for subject in report.subjects or ()],
        "outputs": [_output(output) for output in report.outputs],
        "divergence": _divergence(report.divergence),
        "witness": _witness(report.witness),
        "special_values": [_special(special) for special in report.special_values],
        "special_table": [_special_row(row) for row in report.special_table],
        "layouts": [_layout(layout) for layout in report.layouts],
        "orders": [_order(order) for order in report.orders],
        "findings": [_finding(finding) for finding in report.findings],
        "shapes": [_shape(shape) for shape in report.shapes],
        "assumptions": list(report.assumptions),
        "checks": [_check(check) for check in report.checks],
        "timings": {name: round(seconds, 6) for name, seconds in report.timings.items()},
    }


def report_to_json(report: Report) -> str:
    return json.dumps(report_to_dict(report), indent=2, allow_nan=False) + "\n"


def error_to_json(error: IrverifyError, version: str) -> str:
    """The document of a run that ended in an error: the same schema, with no verdict."""
    kind = "usage" if isinstance(error, UsageError) else "unsupported" if isinstance(error, Unsupported) else "internal"
    empty = {"outputs": [], "divergence": None, "witness": None, "assumptions": [], "checks": [], "timings": {}}
    head = {"schema": SCHEMA, "version": version, "verdict": None, "exit_code": error.exit_code}
    document = {
        **head,
        "error": {"kind": kind, "message": str(error)},
        **empty,
        "special_values": [],
        "special_table": [],
        "layouts": [],
        "orders": [],
    }
    return json.dumps(document, indent=2) + "\n"


def _verdict_details(verdict: Verdict) -> dict[str, Any]:
    return {
        "strength": verdict.strength,
        "delta": number(verdict.delta),
        "reason": verdict.reason,
        "site": span(verdict.site),
        "n_inputs": verdict.n_inputs,
    }


def span(place: Span | None) -> dict[str, Any] | None:
    if place is None:
        return None
    return {"file": place.file, "line": place.line, "column": place.column, "name": place.name}


def number(value: Any) -> Any:
    """A number that JSON can hold; NaN and infinities as text."""
    if value is None or isinstance(value, str | bool | int):
        return value
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float | int):
        return value if math.isfinite(value) else str(float(value))
    return str(value)


def _output(output: OutputResult) -> dict[str, Any]:
    return {
        "name": output.name,
        "dtype": output.dtype,
        "shape": list(output.shape),
        "verdict": output.verdict.level.value,
        **_verdict_details(output.verdict),
        "max_ulp": number(output.max_ulp),
        "max_abs": number(output.max_abs),
        "max_rel": number(output.max_rel),
        "bound_a": number(output.bound_a),
        "bound_b": number(output.bound_b),
        "condition_a": _conditioning(output.condition_a),
        "condition_b": _conditioning(output.condition_b),
        "freedoms": list(output.freedoms),
        "special_values": [_special(special) for special in output.special_values],
    }


def _conditioning(found: Conditioning | None) -> dict[str, Any] | None:
    if found is None:
        return None
    return {"number": number(found.number), "digits_left": number(found.left), "place": span(found.span)}


def _order(order: OrderResult) -> dict[str, Any]:
    return {
        "output": order.output,
        "index": list(order.index),
        "shapes": order.shapes,
        "a": order.a or None,
        "b": order.b or None,
        "relation": order.relation or None,
        "what": order.what,
        "same_terms": order.same_terms,
        "count": order.count,
        "place_a": span(order.place_a),
        "place_b": span(order.place_b),
    }


def _divergence(divergence: Divergence | None) -> dict[str, Any] | None:
    if divergence is None:
        return None
    return {"a": span(divergence.a), "b": span(divergence.b), "what": divergence.what}


def _witness(witness: Witness | None) -> dict[str, Any] | None:
    """Small inputs are written out; of large ones dtype and shape, since --save-witness keeps the values."""
    if witness is None:
        return None
    return {
        "output": witness.output,
        "index": list(witness.index),
        "value_a": number(witness.value_a),
        "value_b": number(witness.value_b),
        "bound": number(witness.bound),
        "replayed_by": witness.replayed_by,
        "inputs": {
            name: array_to_dict(array) | (views(witness.views)[name] if name in witness.views else {})
            for name, array in witness.inputs.items()
        },
    }


def views(layout: Views) -> dict[str, Any]:
    return {name: {"strides": list(strides), "offset": offset} for name, (strides, offset) in layout.items()}


def array_to_dict(array: Any, limit: int = 64) -> dict[str, Any]:
    described: dict[str, Any] = {"dtype": array.dtype.name, "shape": list(array.shape)}
    if array.size <= limit:
        described["values"] = [number(value) for value in array.ravel().tolist()]
    return described


def _special(special: SpecialValue) -> dict[str, Any]:
    return {
        "output": special.output,
        "input": special.input,
        "value_a": number(special.value_a),
        "value_b": number(special.value_b),
        "message": special.message,
    }


def _special_row(row: SpecialRow) -> dict[str, Any]:
    """``replay``: the arrays that were run, written out where they are small; else where the special values stand."""
    return {
        "output": row.output,
        "kind": row.kind,
        "input": row.input,
        "status": row.status,
        "outcome_a": row.outcome_a,
        "outcome_b": row.outcome_b,
        "index": list(row.index),
        "value_a": number(row.value_a),
        "value_b": number(row.value_b),
        "bound": number(row.bound),
        "message": row.message,
        "planted": [{"input": p.input, "place": p.place, "value": number(p.value)} for p in row.plants],
        "replay": {name: array_to_dict(array) for name, array in row.inputs.items()},
    }


def _layout(layout: LayoutResult) -> dict[str, Any]:
    return {
        "layout": layout.layout,
        "status": layout.status,
        "views": views(layout.views),
        "output": layout.output,
        "index": list(layout.index),
        "value_a": number(layout.value_a),
        "value_b": number(layout.value_b),
        "message": layout.message,
    }


def _finding(finding: Finding) -> dict[str, Any]:
    where = span(finding.span)
    return {"code": finding.code, "severity": finding.severity, "message": finding.message, "span": where}


def _shape(shape: ShapeResult) -> dict[str, Any]:
    shapes = {name: list(dims) for name, dims in shape.shapes.items()}
    return {"shapes": shapes, "level": shape.level.value, "note": shape.note}


def _check(check: Check) -> dict[str, Any]:
    return {"name": check.name, "passed": check.passed, "applies": check.applies, "detail": check.detail}


def _subject(subject: Subject) -> dict[str, Any]:
    return {
        "file": subject.file,
        "entry": subject.entry,
        "framework": subject.framework,
        "kernels": list(subject.kernels),
    }
