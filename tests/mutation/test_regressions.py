"""What mutants found: each is the smallest program that shows it."""

from __future__ import annotations

import numpy as np
import pytest

from equivalence.verdicts import Level
from lowering.errors import Unsupported
from lowering.ir.parser import parse_program
from tests.mutation.trial import real_judge


def level(a: str, b: str, **inputs: np.ndarray) -> Level:
    return real_judge(parse_program(a), parse_program(b), inputs, 0).verdict.level


def test_bf16_to_f16_rounds_subnormals() -> None:
    """Both round 2.5 steps of f16, one after a rounding to bf16: a step apart is no witness."""
    head, tail = 'program(%0: f32[64] "x") {} {\n', '  return "out" %1\n}\n'
    once = head + '  %1 = cast %0 {to="f16"} : f16[64]\n' + tail
    twice = head + '  %2 = cast %0 {to="bf16"} : bf16[64]\n  %1 = cast %2 {to="f16"} : f16[64]\n' + tail
    x = (np.linspace(2.4, 2.6, 64) * 2.0**-24).astype(np.float32)
    assert level(once, twice, x=x) is Level.REAL


_IN_PLACE = """
kernel @"k"(%0: ptr) {{}} {{
  %1 = iota {{to="i32", shape=[8]}} : i32[8]
  %2 = broadcast %0 {{shape=[8], dims=[]}} : ptr[8]
  %3 = addptr %2, %1 {{bytes=4}} : ptr[8]
  %4 = load %3 {{to="f32"}} : f32[8]
  %5 = add %4, %4 : f32[8]
  store %3, %5
  {again}
  yield
}}
program(%0: f32[8] "x") {{}} {{
  %1 = alloc {{bytes=32}} : ptr
  write %1, %0 {{strides=[1]}}
  launch %1 {{kernel="k", grid=[{grid}, 1, 1]}}
  %2 = read %1 {{to="f32", shape=[8], strides=[1]}} : f32[8]
  return "out" %2
}}
"""


def test_every_instance_updates_the_same_elements() -> None:
    """One instance is well defined; three race, and that is said without a traceback."""
    x = np.arange(1, 9, dtype=np.float32)
    one, three = (_IN_PLACE.format(grid=n, again="") for n in (1, 3))
    assert level(one, one, x=x) is Level.BITWISE
    assert level(one, three, x=x) in (Level.UNDECIDED, Level.DIFFERENT)


def test_every_instance_reads_back_what_all_wrote() -> None:
    again = '%6 = load %3 {to="f32"} : f32[8]\n  store %3, %6'
    x = np.arange(1, 9, dtype=np.float32)
    assert level(_IN_PLACE.format(grid=3, again=again), _IN_PLACE.format(grid=1, again=""), x=x) < Level.REAL


def test_an_extremum_where_only_one_end_is_uniform() -> None:
    """Found as a traceback on an argmax of lanes that nothing had written."""
    from equivalence.interpretations.enclosure_accumulate import _extreme
    from equivalence.interpretations.interval import Interval

    high = np.where(np.arange(15).reshape(5, 3) % 4 == 0, -np.inf, np.inf)
    found = _extreme("max", Interval(np.full((1, 3), -np.inf), high), 1)
    assert np.broadcast_to(found.hi, (5,)).tolist() == [np.inf] * 5
    assert np.broadcast_to(found.is_top, (5,)).all()


def test_a_loop_without_a_step_is_refused() -> None:
    text = """program(%0: f32[3] "x") {} {
  %1 = constant {to="i32", value=0} : i32
  %2 = constant {to="i32", value=4} : i32
  %3 = for %1, %2, %1, %0 : f32[3] (
  ^(%4: i32, %5: f32[3]):
    yield %5
  )
  return "out" %3
}"""
    with pytest.raises(Unsupported, match="does not advance"):
        level(text, text, x=np.ones(3, np.float32))
