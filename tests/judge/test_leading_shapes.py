"""Small sets of shapes before a large given one: what they part is not looked at again, and nothing else changes."""

from __future__ import annotations

import pytest

from equivalence.fields import threads
from equivalence.judge import given as given_module
from equivalence.judge import judge, realjudge, runs
from equivalence.judge.given import Given
from equivalence.judge.runs import Pair
from equivalence.verdicts import Level, Report
from irverify.options import CompareOptions
from tests.semantics.programs import Body, arrays, launched, program

OPTIONS = CompareOptions(a="a.py", b="b.py")
SIZES = 24, 3, 5


def pairs(a: Body, b: Body, sizes: tuple[int, ...] = SIZES) -> list[Pair]:
    specs = [f"f32[{n},{n}]" for n in sizes]
    return [Pair(program(a, s), program(b, s), arrays(1, s)) for s in specs]


def judged(every: list[Pair]) -> Report:
    return judge([p.a for p in every], [p.b for p in every], [p.inputs for p in every], OPTIONS)


@pytest.fixture
def leading(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(given_module, "LED_FROM", 1)


def softmax(scale: float = 1.0, order: str = "unordered", divide: bool = True) -> Body:
    """Along the rows, ``scale`` times; divided by the sum, or multiplied by its inverse."""

    def body(k, x):
        spread = lambda row: k.b.broadcast(row, x.type.shape, [0])  # noqa: E731
        e = k.fn("exp", k.sub(x, spread(k.b("reduce", x, axis=1, combine="max"))))
        total = spread(k.sum(e, order=order))
        return k.mul(k.div(e, total) if divide else k.mul(e, k.div(k.lit(1.0, total), total)), scale)

    return body


def test_a_fingerprint_parted_by_a_small_shape_is_left_out(leading: None) -> None:
    every = pairs(softmax(), softmax(order="sequential"))
    made = Given(every[0], OPTIONS)
    made.lead(every[1:])
    assert made.lost == {"exact"} and [pair for pair, _ in made.leads] == every[1:]
    assert [hashed.name for hashed in made.result()[1]] == ["reassociated"]


def test_no_more_shapes_lead_once_all_is_lost(leading: None) -> None:
    every = pairs(softmax(), softmax(divide=False))
    made = Given(every[0], OPTIONS)
    made.lead(every[1:])
    assert made.lost == {"exact", "reassociated"} and len(made.leads) == 1 and made.result()[1] == []


def test_shapes_that_are_not_small_do_not_lead(leading: None) -> None:
    every = pairs(softmax(), softmax(divide=False), (24, 20))
    made = Given(every[0], OPTIONS)
    made.lead(every[1:])
    assert not made.leads and len(made.result()[1]) == 2


#: B (against a softmax), the verdict, and what is not tried at the given shape.
VERDICTS = {
    "another order": (softmax(order="sequential"), Level.REASSOCIATED, "bitwise not tried"),
    "times the inverse": (softmax(divide=False), Level.REAL, "bitwise and reassociated not tried"),
    "another factor": (softmax(1.25), Level.DIFFERENT, "bitwise and reassociated not tried"),
}


@pytest.mark.parametrize("name", VERDICTS)
def test_the_verdict_is_what_it_is_without(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    body, expected, said = VERDICTS[name]
    reports = []
    for least in (1 << 60, 1):
        monkeypatch.setattr(given_module, "LED_FROM", least)
        reports.append(judged(pairs(softmax(), body)))
    assert [report.verdict.level for report in reports] == [expected] * 2
    notes = [report.shapes[0].note for report in reports]
    assert notes[0] == "given" and said in notes[1] and ("not tried" in notes[1]) == ("not tried" in said)


def test_nothing_is_lost_between_equals(leading: None) -> None:
    def doubled(k, x):
        return k.mul(x, 2.0)

    report = judged(pairs(doubled, lambda k, x: k.mul(x, 2.0)))
    assert report.verdict.level is Level.BITWISE and report.shapes[0].note == "given"


def test_an_output_that_keeps_its_words_keeps_them_for_all(leading: None) -> None:
    """One output of two is another sum: no fingerprint is lost, as the other one's verdict still rests on it."""

    def both(order: str) -> Body:
        return lambda k, x: (k.mul(x, 2.0), k.sum(x, order=order))

    every = pairs(both("unordered"), both("sequential"))
    report = judged(every)
    assert [o.verdict.level for o in report.outputs] == [Level.BITWISE, Level.REASSOCIATED]


def test_a_shape_at_which_a_side_fails_takes_nothing(leading: None) -> None:
    """Beyond the end of its input a kernel computes anything; that is no reason to doubt the given shape."""

    def reads(at: int) -> Body:
        return lambda k, x, out: k.store(out, k.lanes(4), k.load(x, k.add(k.lanes(4), at)))

    good = Pair(launched(reads(0), "f32[64]", out="f32[4]"), launched(reads(0), "f32[64]", out="f32[4]"),
                arrays(1, "f32[64]"))  # fmt: skip
    bad = Pair(launched(reads(0), "f32[4]", out="f32[4]"), launched(reads(2), "f32[4]", out="f32[4]"),
               arrays(1, "f32[4]"))  # fmt: skip
    made = Given(good, OPTIONS)
    made.lead([bad])
    assert len(made.leads) == 1 and not made.lost
    report = judged([good, bad])
    assert report.verdict.level is Level.BITWISE and any("fails" in shape.note for shape in report.shapes)


@pytest.mark.parametrize(("body", "expected"), [(softmax(divide=False), Level.REAL), (softmax(1.0009765625), None)])
def test_real_functions_in_two_threads(monkeypatch: pytest.MonkeyPatch, body: Body, expected: Level | None) -> None:
    """Sides apart give what sides in turn give: the same verdict, and the same assumptions."""
    reports = []
    for least in (1 << 60, 1):
        monkeypatch.setattr(runs, "SIDE_BY_SIDE_FROM", least)
        monkeypatch.setattr(threads, "THREADS", 2)
        monkeypatch.setattr(realjudge, "MOST_MORE", 0)
        reports.append(judged(pairs(softmax(), body)))
    plain, threaded = reports
    assert plain.verdict.level is threaded.verdict.level and plain.assumptions == threaded.assumptions
    assert plain.verdict.level is (expected or Level.DIFFERENT)
