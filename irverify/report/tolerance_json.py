"""An assessment of tolerances as JSON (schema ``irverify-tolerance/1``, docs/report-schema.md).

Takes an Assessed; gives a document.
"""

from __future__ import annotations

import json
from typing import Any

from equivalence.tolerance.derive import Tolerance
from equivalence.tolerance.metrics import Distance
from equivalence.tolerance.reordered import worst_first
from equivalence.tolerance.result import Failing, OutputTolerance, Trial
from irverify import __version__
from irverify.report.json import number
from irverify.tolerance import Assessed

SCHEMA = "irverify-tolerance/1"


def tolerances_to_json(assessed: Assessed) -> str:
    return json.dumps(tolerances_to_dict(assessed), indent=2, allow_nan=False) + "\n"


def tolerances_to_dict(assessed: Assessed) -> dict[str, Any]:
    report = assessed.report
    counted = report.counted()
    return {
        "schema": SCHEMA,
        "version": __version__,
        "verdict": report.verdict,
        "exit_code": report.exit_code,
        "subjects": [
            {"file": s.file, "entry": s.entry, "framework": s.framework, "kernels": list(s.kernels)}
            for s in assessed.subjects
        ],
        "check": None if report.check is None else {"rtol": report.check[0], "atol": report.check[1]},
        "outputs": [_output(own) for own in report.outputs],
        "draws": list(report.draws),
        "orders": list(report.orders),
        "reorderings": report.runs,
        "broken": [_refusal(f) for f in report.broken],
        "too_tight": [_refusal(f) for f in worst_first(report.tight)],
        "uncovered": report.uncovered,
        "side": None if report.side is None else _trial(report.side),
        "candidates": [_trial(t) for t in report.trials],
        "mutants": {
            "counted": len(counted),
            **{f"rejected_{name}": report.rejected(name) for name in (counted[0].passes if counted else ())},
        },
        "notes": list(report.notes),
        "seconds": round(assessed.seconds, 6),
    }


def _output(own: OutputTolerance) -> dict[str, Any]:
    return {
        "name": own.name,
        "dtype": own.dtype,
        "shape": list(own.shape),
        "worst": _tolerance(own.worst),
        "expected": _tolerance(own.expected),
        "worst_alone": _tolerance(own.worst_alone),
        "expected_alone": _tolerance(own.expected_alone),
        "unbounded": own.unbounded,
        "elements": own.elements,
        "observed": _distance(own.observed),
    }


def _tolerance(found: Tolerance | None) -> dict[str, Any] | None:
    return None if found is None else {"rtol": found.rtol, "atol": found.atol, "ulp": number(found.ulp)}


def _distance(d: Distance) -> dict[str, Any]:
    names = ("absolute", "ulp", "cosine", "relative_l2")
    return {"identical": d.identical, **{name: number(getattr(d, name)) for name in names}}


def _refusal(f: Failing) -> dict[str, Any]:
    numbers = {name: number(getattr(f, name)) for name in ("value", "reference", "allowed")}
    return {"output": f.output, "index": list(f.index), **numbers, "order": f.order, "input": f.draw}


def _trial(t: Trial) -> dict[str, Any]:
    return {
        "kind": t.kind,
        "name": t.name,
        "what": t.what,
        "status": t.status,
        "passes": dict(t.passes),
        "caught_below": number(t.caught_below),
        "atol": t.atol,
        "outside": t.outside,
        "beyond_bounds": t.beyond_bounds,
        "distance": _distance(t.distance),
    }
