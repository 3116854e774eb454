"""Each spelling of Triton's printer that jaxlib's older dialect cannot read is cured, and still needs the cure.

A test fails when Triton's print changes (the pattern no longer occurs in it) or when jaxlib learns to read it.
Spellings of Triton 3.4 are kept as text.
"""

from __future__ import annotations

from typing import Any

import pytest
import triton
import triton.language as tl
from jaxlib.mlir import ir

from lowering.errors import Unsupported
from lowering.frontends.ttir.parse import SPELLINGS, context, normalise, parse
from tests.frontends.ttir.compile import ttir_of


@triton.jit
def _cache_policy(x, y):
    tl.store(y, tl.load(x, cache_modifier=".cg", eviction_policy="evict_last"), cache_modifier=".wt")


@triton.jit
def _cache_policy_and_volatile(x, y):
    tl.store(y, tl.load(x, cache_modifier=".cg", volatile=True))


@triton.jit
def _barrier(x, y):
    tl.debug_barrier()


@triton.jit
def _assume(x, y):
    tl.assume(tl.program_id(0) < 5)


CASES: dict[str, tuple[Any, str]] = {
    "cache policy": (_cache_policy, "*fp32"),
    "constant pointer": (_cache_policy, "*kfp32"),
    "barrier": (_barrier, "*fp32"),
    "assume": (_assume, "*fp32"),
}
#: What Triton 3.4 printed: read from its output, for this Triton prints it no more.
OLDER: dict[str, str] = {
    "gpu barrier": 'tt.func public @k() {\n    gpu.barrier loc(#loc)\n    tt.return\n}\n#loc = loc("a.py":1:0)',
    "descriptor of a tensor": """
  tt.func public @k(%d: !tt.tensordesc<tensor<8x32xf32>>, %p: !tt.ptr<f32>, %n: i32, %s: i64) {
    %e = tt.make_tensor_descriptor %p, [%n, %n], [%s, %s] : <f32>, <tensor<8x32xf32>>
    %v = tt.descriptor_load %d[%n, %n] : !tt.tensordesc<tensor<8x32xf32>> -> tensor<8x32xf32>
    tt.return
  }""",
}


def _printed(what: str) -> str:
    if what in OLDER:
        return OLDER[what]
    fn, pointer = CASES[what]
    return ttir_of(fn, {"x": pointer, "y": "*fp32"})


@pytest.mark.parametrize("what", [what for what, _pattern, _replacement in SPELLINGS])
def test_triton_still_prints_it_and_the_bindings_still_refuse_it(what: str) -> None:
    text = _printed(what)
    others = [row for row in SPELLINGS if row[0] != what]
    (pattern,) = [row[1] for row in SPELLINGS if row[0] == what]
    assert pattern.search(text)
    for _what, other, replacement in others:
        text = other.sub(replacement, text)
    with context(), pytest.raises(ir.MLIRError):
        ir.Module.parse(text)


@pytest.mark.parametrize("what", [*CASES, *OLDER])
def test_normalised_text_is_read(what: str) -> None:
    assert parse(_printed(what)).operation.verify()


def test_cache_policy_before_another_attribute() -> None:
    assert parse(ttir_of(_cache_policy_and_volatile, {"x": "*fp32", "y": "*fp32"}))


def test_text_without_these_spellings_is_left_alone() -> None:
    text = "tt.load %a {isVolatile = true} : !tt.ptr<f32>"
    assert normalise(text) == text


def test_unreadable_text_is_unsupported_with_its_place() -> None:
    with pytest.raises(Unsupported, match=r"at TTIR:2") as caught:
        parse("module {\n  tt.no_such_op %x\n}")
    assert "tt.no_such_op" in caught.value.hint
