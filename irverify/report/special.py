"""Special values in words: a row wherever the two sides differ, or may, and one line of what is alike.

Takes a Report; gives lines of text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from equivalence.verdicts import Report, SpecialRow, SpecialValue

_WORDS = {"differ": "", "signs differ": "sign of zero: ", "open": "left open: "}


def special_lines(report: Report) -> Iterator[str]:
    """Rows that differ, output by output; then what is alike in all outputs, and what was not run."""
    table = report.special_table
    if not table:
        yield from map(_without_table, report.special_values)
        return
    for row in table:
        if row.status in _WORDS:
            yield f"{row.output}: {_WORDS[row.status]}{row.message}"
            yield f"  A  {row.outcome_a}; B  {row.outcome_b}"
    for title, status in (("alike on both sides", "alike"), ("not run", "not run")):
        chosen = _throughout(table, status)
        if chosen:
            yield f"{title}: {'; '.join(chosen)}"


def _throughout(table: Sequence[SpecialRow], status: str) -> list[str]:
    """Inputs, in words, for which every output has this status; kinds that the same inputs hold, in one phrase."""
    others = {row.input for row in table if row.status != status}
    inputs = dict[str, list[str]]()  # by kind: the inputs that hold it
    for row in table:
        if row.status == status and row.input not in others:
            kind, _, name = row.input.partition(" in ")
            held = inputs.setdefault(kind, [])
            if name not in held:
                held.append(name)
    alike = dict[str, list[str]]()
    for kind, names in inputs.items():
        alike.setdefault(", ".join(names), []).append(kind)
    return [", ".join(kinds) + (f" in {names}" if names else "") for names, kinds in alike.items()]


def _without_table(special: SpecialValue) -> str:
    if special.message.startswith(special.input):  # the whole sentence, with the place
        return f"{special.output}: {special.message}"
    text = f"{special.output}: {special.input} gives {special.value_a} in A, {special.value_b} in B"
    return text + (f" ({special.message})" if special.message else "")
