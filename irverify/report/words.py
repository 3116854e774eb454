"""The sentences of a report: the verdict in words, once, for every renderer.

Takes a Report or Verdict; gives text.
"""

from __future__ import annotations

from pathlib import Path

from equivalence.verdicts import Level, Report, ShapeResult, Verdict
from irverify import scalars

_SENTENCES = {
    Level.BITWISE: "bit for bit the same for every input of these shapes",
    Level.REASSOCIATED: "the same terms with the same roundings",  # and up to what
    Level.REAL: "the same real-valued function; only rounding differs",
    Level.CLOSE: "not the same real function; no input tried shows more than rounding explains",
    Level.TESTED: "agree on every input tried; nothing is proved",
    Level.UNDECIDED: "could not be decided",
    Level.UNSUPPORTED: "uses something that is not modelled yet",
    Level.DIFFERENT: "not equivalent",
}
_EQUAL = (Level.BITWISE, Level.REASSOCIATED, Level.REAL)


def level_in_words(verdict: Verdict) -> str:
    """'real (certified)', 'close(1e-07)', 'tested(40)', 'bitwise'."""
    match verdict.level:
        case Level.REAL if verdict.strength:
            return f"real ({verdict.strength})"
        case Level.CLOSE if verdict.delta is not None:
            return f"close({verdict.delta:.3g})"
        case Level.TESTED if verdict.n_inputs:
            return f"tested({verdict.n_inputs})"
    return verdict.level.value


def headline(report: Report) -> str:
    """One sentence: verdict, meaning, what it is about, and why when that is not plain."""
    verdict = report.verdict
    sentence = _elsewhere(report) or _SENTENCES[verdict.level]
    parts = [f"{level_in_words(verdict)}: {_pair(report)}{sentence}{_up_to(report)}"]
    if verdict.level is not Level.DIFFERENT:
        parts += _reservations(report)
    elif report.witness is not None:
        parts.append("here is an input that shows it")
    if verdict.reason:
        parts.append(verdict.reason)
    if verdict.site is not None and verdict.site.line:
        parts.append(f"at {verdict.site}")
    return "; ".join(parts)


def _elsewhere(report: Report) -> str:
    """Where the two differ, when that is only beside what was given: a size or a number that one of them has fixed."""
    counted = [shape for shape in report.shapes if shape.shapes and shape.level is not Level.UNDECIDED]
    differing = [shape for shape in counted if shape.level is Level.DIFFERENT]
    if report.verdict.level is not Level.DIFFERENT or not differing or counted[0] is not report.shapes[0]:
        return ""
    if counted[0].level is Level.DIFFERENT:
        return ""
    numbers = [shape.note for shape in differing if shape.note.startswith(scalars.LABEL)]
    if len(numbers) == len(differing):
        return f"agree in every test as given, differ with {numbers[0]}"
    dims = next(_dims(shape) for shape in differing if not shape.note.startswith(scalars.LABEL))
    return f"agree in every test at the given shapes, differ at {dims}"


def _dims(shape: ShapeResult) -> str:
    return ", ".join(f"{name}[{','.join(map(str, size))}]" for name, size in shape.shapes.items())


def _reservations(report: Report) -> list[str]:
    """What a reader of one line must know beside the level."""
    parts = [f"but {finding.message}" for finding in report.findings if finding.severity == "error"][:1]
    parts += [f"at smaller sizes than given ({f.message})" for f in report.findings if f.code == "given-not-run"]
    lost = [f for f in report.findings if f.severity == "warning" and f.message.startswith("B loses precision")]
    parts += [f"but {finding.message}" for finding in lost[:1]]
    if report.special_values:
        parts.append(_special_headline(report))
    strays = next((layout for layout in report.layouts if layout.status == "b strays"), None)
    if strays is not None:
        parts.append(f"B takes inputs to be contiguous, A does not: it reads other elements of views ({strays.layout})")
    lost = next((shape for shape in report.shapes if shape.note.startswith("not counted: B ")), None)
    if lost is not None:
        parts.append(f"{lost.note.removeprefix('not counted: ')} at another shape, {_dims(lost)}")
    return parts


def _up_to(report: Report) -> str:
    """', up to the order of accumulation and the accuracy of intrinsics', of all outputs that have this verdict."""
    if report.verdict.level is not Level.REASSOCIATED:
        return ""
    phrases = dict.fromkeys(phrase for output in report.outputs for phrase in output.up_to)
    return f", up to {' and '.join(phrases or ['the order of accumulation'])}"


def _pair(report: Report) -> str:
    if not report.subjects:
        return ""
    names = [f"{Path(subject.file).name}:{subject.entry}" for subject in report.subjects]
    if names[0] == names[1]:
        names = [f"{subject.file}:{subject.entry}" for subject in report.subjects]
    return f"{names[0]} and {names[1]}: "


def _special_headline(report: Report) -> str:
    special = report.special_values[0]
    more = len(report.special_values) - 1
    others = f" (and {more} more)" if more else ""
    opening = "equal for finite inputs only" if report.verdict.level in _EQUAL else "special values differ"
    return f"{opening}: {special.input} gives {special.value_a} in A, {special.value_b} in B{others}"
