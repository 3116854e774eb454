"""What mutants found: each is the smallest program that shows it."""

from __future__ import annotations

import numpy as np

from equivalence.verdicts import Level
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


_EXTREME = """
kernel @"k"(%0: ptr, %1: ptr) {} {
  %2 = iota {to="i32", shape=[4]} : i32[4]
  %3 = program_id {axis=0} : i32
  %4 = constant {to="i32", value=4} : i32
  %5 = mul %3, %4 : i32
  %6 = broadcast %5 {shape=[4], dims=[]} : i32[4]
  %7 = add %6, %2 : i32[4]
  %8 = broadcast %0 {shape=[4], dims=[]} : ptr[4]
  %9 = addptr %8, %7 {bytes=4} : ptr[4]
  %10 = load %9 {to="f32"} : f32[4]
  %11, %12 = reduce %10, %2 {axis=0, combine="argmax"} : f32, i32
  %13 = addptr %1, %3 {bytes=4} : ptr
  store %13, %11
  yield
}
program(%0: f32[12] "x") {} {
  %1 = alloc {bytes=48} : ptr
  WRITE
  %2 = alloc {bytes=12} : ptr
  launch %1, %2 {kernel="k", grid=[3, 1, 1]}
  %3 = read %2 {to="f32", shape=[3], strides=[1]} : f32[3]
  return "out" %3
}
"""


def test_the_winner_among_undefined_lanes() -> None:
    """Nothing was written to what the kernel reads: no verdict of equality, and no traceback."""
    written = _EXTREME.replace("WRITE", "write %1, %0 {strides=[1]}")
    assert level(written, written, x=np.arange(12, dtype=np.float32)) is Level.BITWISE
    assert level(written, _EXTREME.replace("WRITE", ""), x=np.arange(12, dtype=np.float32)) < Level.CLOSE
