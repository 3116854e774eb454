"""What depends on the order of things: a kernel that breaks each rule, and a neighbour that does not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from lowering.capture.nki.trace import BETA1
from lowering.legality import Finding, check
from tests.capture.nki.beta1 import captured
from tests.legality.kernels import found, traced

Codes = Callable[..., list[str]]


@pytest.fixture
def codes(tmp_path: Path) -> Codes:
    def of(body: str, target: str = "trn2", generation: str = "") -> list[str]:
        trace = traced(tmp_path, body, target)
        trace.generation = generation or trace.generation
        return [one.code for one in check(trace)]

    return of


# -- undefined memory ------------------------------------------------------------------------------------------------


def test_a_tile_that_was_never_written(codes: Codes) -> None:
    assert codes("nisa.tensor_copy(sbuf((128, 8)), sbuf((128, 8)))") == ["nki-undefined"]
    assert codes("nisa.tensor_copy(sbuf((128, 8)), filled((128, 8)))") == []


def test_undefined_lanes_matter_where_they_are_summed_or_stored(codes: Codes) -> None:
    partly = "t = sbuf((128, 64))\nnisa.memset(t[:, 0:63], 1)\n"
    assert codes(partly + "nisa.activation(sbuf((128, 64)), nl.exp, t)") == []
    assert codes(partly + "nisa.dma_copy(dst=out, src=t)") == ["nki-undefined"]
    assert codes(partly + "nisa.dma_copy(dst=out[:, 0:63], src=t[:, 0:63])") == []
    assert codes(partly + "e = sbuf((128, 64))\nnisa.activation(e, nl.exp, t)\nnisa.dma_copy(dst=out, src=e)") == [
        "nki-undefined"
    ]
    assert codes(partly + "nisa.nc_matmul(psum((64, 64)), t, filled((128, 64)))") == ["nki-undefined"]


def test_undefined_lanes_pass_through_folds_and_transposes(codes: Codes) -> None:
    partly = "t = sbuf((32, 64))\nnisa.memset(t[0:31, :], 1)\n"
    folded = partly + "s = sbuf((32, 1))\nnisa.tensor_reduce(s, nl.add, t, axis=1)\n"
    assert codes(folded + "nisa.dma_copy(dst=out[0:31, 0:1], src=s[0:31, :])") == []
    assert codes(folded + "nisa.dma_copy(dst=out[0:32, 0:1], src=s)") == ["nki-undefined"]
    turned = partly + "p = psum((64, 32))\nnisa.nc_transpose(p, t)\nq = sbuf((64, 32))\nnisa.tensor_copy(q, p)\n"
    assert codes(turned + "nisa.dma_copy(dst=out[0:64, 0:31], src=q[:, 0:31])") == []
    assert codes(turned + "nisa.dma_copy(dst=out[0:64, 0:32], src=q)") == ["nki-undefined"]


def test_only_the_first_of_a_chain_is_told(tmp_path: Path) -> None:
    """Every row's sum has an undefined term; what is made of the sums is no finding of its own."""
    body = """
    t, s, e = sbuf((32, 64)), sbuf((32, 1)), sbuf((32, 64))
    nisa.memset(t[:, 0:63], 1)
    nisa.tensor_reduce(s, nl.add, t, axis=1)
    nisa.tensor_scalar(e, filled((32, 64)), nl.multiply, s)
    nisa.dma_copy(dst=out[0:32, :], src=e)
    """
    (one,) = found(tmp_path, body)
    assert one.code == "nki-undefined" and one.message.startswith("tensor_reduce reads")
    assert "32 of 2048 elements have no contents" in one.message
    assert found(tmp_path, body.replace("[:, 0:63]", "")) == []


def test_another_dtype_s_view_of_what_was_written(codes: Codes) -> None:
    half = "t = sbuf((128, 8), nl.uint32)\nnisa.memset(t.view(nl.uint16)[:, 0:8], 1)\n"
    assert codes(half + "nisa.tensor_copy(sbuf((128, 4), nl.uint32), t[:, 0:4])") == []
    assert codes(half + "nisa.tensor_copy(sbuf((128, 4), nl.uint32), t[:, 4:8])") == ["nki-undefined"]


def test_an_output_that_is_not_written_whole(tmp_path: Path) -> None:
    trace = traced(tmp_path, "")
    last = trace.instrs.pop()
    (one,) = check(trace)
    assert one.code == "nki-output-undefined" and "8192 of 8192 elements" in one.message
    trace.instrs.append(last)
    assert check(trace) == []


def test_a_barrier_reads_nothing(codes: Codes) -> None:
    assert codes("nisa.core_barrier(sbuf((128, 8)), (0, 1))") == []


# -- sums in PSUM ----------------------------------------------------------------------------------------------------


def test_adding_to_psum_that_no_matmul_has_written(codes: Codes) -> None:
    first, more = "p = psum((32, 64))\na, b = filled((128, 32)), filled((128, 64))\n", "nisa.nc_matmul(p, a, b{})\n"
    assert codes(first + more.format(", accumulate=True")) == ["nki-accumulate-undefined"]
    assert codes(first + more.format(", accumulate=False") + more.format(", accumulate=True")) == []
    assert codes(first + more.format("") + more.format("")) == []


def test_adding_to_psum_that_another_engine_has_written(codes: Codes) -> None:
    body = "p = psum((32, 64))\nnisa.memset(p, 0)\nnisa.nc_matmul(p, filled((128, 32)), filled((128, 64)){})"
    assert codes(body.format(", accumulate=True")) == ["nki-accumulate-other"]
    assert codes(body.format(", accumulate=True"), "trn1") == ["nki-accumulate-other"]
    assert codes(body.format(", accumulate=True"), "trn3") == []
    assert codes(body.format("")) == []
    assert codes(body.format(", accumulate=True"), generation=BETA1) == []  # nl.zeros in PSUM and +=


# -- loops -----------------------------------------------------------------------------------------------------------

CARRIED = """
acc = filled((128, 8))
t = filled((128, 8))
for i in nl.{range}(3):
    {first}
    nisa.tensor_copy(t, acc)
    {last}
"""


def test_turns_that_depend_on_each_other(codes: Codes) -> None:
    write = "nisa.memset(acc, 2)"
    carried = CARRIED.format(range="affine_range", first="", last=write)
    assert codes(carried, generation=BETA1) == ["nki-carried"]
    assert codes(carried) == []  # the new API's affine_range is a range
    assert codes(CARRIED.format(range="sequential_range", first="", last=write), generation=BETA1) == []
    assert codes(CARRIED.format(range="affine_range", first=write, last=""), generation=BETA1) == []


def test_lanes_that_an_earlier_turn_left_behind(codes: Codes) -> None:
    """A tile outside of the loop whose tail is not loaded again: no mistake until the tail is used."""
    body = """
    t, e = filled((128, 64)), sbuf((128, 64))
    for i in nl.affine_range(2):
        nisa.memset(t[:, 0:60 if i else 64], i)
        nisa.activation(e, nl.exp, t)
        nisa.dma_copy(dst=out[:, 0:{0}], src=e[:, 0:{0}])
    """
    assert codes(body.format(60), generation=BETA1) == []
    assert codes(body.format(64), generation=BETA1) == ["nki-carried"]
    assert codes(body.format(64)) == []


def test_sums_in_an_affine_range(codes: Codes) -> None:
    added = """
    {}
    for i in nl.affine_range(3):
        {}
    """
    in_place = "nisa.tensor_tensor(acc, acc, filled((128, 8)), nl.{})"
    kinds = {op: codes(added.format("acc = filled((128, 8))", in_place.format(op)), generation=BETA1)
             for op in ("add", "maximum", "subtract")}  # fmt: skip
    assert kinds == {
        "add": ["nki-affine-accumulate"],
        "maximum": ["nki-affine-accumulate"],
        "subtract": ["nki-carried"],
    }
    product = "nisa.nc_matmul(acc, filled((128, 32)), filled((128, 8)))"
    assert codes(added.format("acc = psum((32, 8))", product), generation=BETA1) == []


def test_what_a_sum_makes_is_no_dependence(codes: Codes) -> None:
    """Nor is it where the sum has lanes that nobody uses, whose garbage hides that the others are carried."""
    body = """
    for i in nl.affine_range(2):
        acc = filled((128, 8))
        for j in nl.affine_range(2):
            part = sbuf((128, 8))
            nisa.memset(part[0:64], j)
            nisa.tensor_tensor(acc, acc, part, nl.{})
        nisa.dma_copy(dst=out[0:64, 0:8], src=acc[0:64])
    """
    assert set(codes(body.format("add"), generation=BETA1)) == {"nki-affine-accumulate"}
    assert set(codes(body.format("subtract"), generation=BETA1)) == {"nki-carried"}


LOOPED = """
@nki.jit
def kernel(x):
    out = nl.ndarray((4, 3), dtype=x.dtype, buffer=nl.shared_hbm)
    total = nl.zeros((4, 3), dtype=nl.float32)
    for i in nl.affine_range(2):
        {}
    nl.store(out, total)
    return out
"""


def test_a_dependence_that_the_source_asks_for(tmp_path: Path) -> None:
    """nl.loop_reduce may carry what nothing else may."""
    asked = LOOPED.format("total[...] = nl.loop_reduce(nl.load(x[i]), op=np.add, loop_indices=[i])")
    assert check(captured(tmp_path, asked, x=np.ones((2, 4, 3), np.float32))) == []
    by_hand = LOOPED.format("total[...] = nl.add(total, nl.load(x[i]))")
    (one,) = check(captured(tmp_path, by_hand, x=np.ones((2, 4, 3), np.float32)))
    assert (one.code, one.severity, one.span.line) == ("nki-affine-accumulate", "warning", 13)


# -- one memory ------------------------------------------------------------------------------------------------------


def test_a_destination_that_overlaps_its_source(codes: Codes) -> None:
    copy = "t = filled((128, 9))\nnisa.tensor_copy({}, {})"
    assert codes(copy.format("t[:, 0:8]", "t[:, 1:9]")) == ["nki-overlap"]
    assert codes(copy.format("t[:, 0:8]", "t[:, 0:8]")) == []
    assert codes(copy.format("t[:, 0:4]", "t[:, 4:8]")) == []
    assert codes(copy.format("t[:, 0:8:2]", "t[:, 1:9:2]")) == []
    assert codes("t = filled((128, 9))\nnisa.tensor_reduce(t[:, 0:1], nl.add, t, axis=1)") == ["nki-overlap"]
    turned = "t = filled((32, 32))\nnisa.nc_transpose({}, t, engine=nisa.vector_engine)"
    assert codes(turned.format("t")) == ["nki-overlap"]
    assert codes(turned.format("sbuf((32, 32))")) == []


def test_a_tile_whose_place_another_one_took(codes: Codes) -> None:
    body = """
    a = filled((128, 8), address=(0, 0))
    b = filled((128, 8), address=(0, {}))
    nisa.tensor_tensor(sbuf((128, 8)), a, b, nl.add)
    """
    assert codes(body.format(16)) == ["nki-stale"]
    assert codes(body.format(32)) == []
    alias = """
    a = filled((128, 8), address=(0, 0))
    b = sbuf((128, 8), address=(0, 0))
    nisa.tensor_copy(sbuf((128, 8)), b)
    """
    assert codes(alias) == []  # one place under two names, on purpose


# -- accumulator registers -------------------------------------------------------------------------------------------

REDUCE = "nisa.tensor_scalar_reduce(sbuf((8, 8)), t, nl.add, 1.0, nl.add, {res}, reduce_cmd=nisa.reduce_cmd.{cmd})\n"


def test_registers_of_the_vector_engine(codes: Codes) -> None:
    tile, idle = "t = filled((8, 8))\n", "nisa.select_reduce(sbuf((8, 8)), filled((8, 8), nl.uint8), t, 0.0)\n"
    begin, more = REDUCE.format(res="sbuf((8, 1))", cmd="reset_reduce"), REDUCE.format(res="sbuf((8, 1))", cmd="reduce")
    assert codes(tile + more) == ["nki-register"]
    assert codes(tile + begin + more) == []
    assert codes(tile + begin + idle + more) == ["nki-register"]


def test_the_scalar_engine_keeps_its_register(codes: Codes) -> None:
    act = "nisa.activation(sbuf((8, 8)), nl.exp, t, reduce_op=nl.add, reduce_res={}, reduce_cmd=nisa.reduce_cmd.{})\n"
    begin, idle, more = (
        act.format("None", "reset_reduce"),
        act.format("None", "idle"),
        act.format("sbuf((8, 1))", "reduce"),
    )
    tile = "t = filled((8, 8))\n"
    assert codes(tile + begin + idle + more) == []
    assert codes(tile + more) == ["nki-register"]


# -- together --------------------------------------------------------------------------------------------------------


def test_one_finding_for_each_line(tmp_path: Path) -> None:
    body = "for i in range(5):\n    nisa.tensor_copy(sbuf((128, 8)), sbuf((128, 8)))"
    (one,) = found(tmp_path, body)
    assert isinstance(one, Finding) and (one.code, one.count) == ("nki-undefined", 5)
