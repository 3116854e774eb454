"""torch's precision switches: what is in force when an op runs decides how its products round."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from lowering.capture.trace import AtenCall
from lowering.ir.printer import print_program
from lowering.pipeline import lower

A, B = np.ones((3, 5), np.float32), np.ones((5, 7), np.float32)
H = A.astype(np.float16), B.astype(np.float16)
IMAGE, KERNEL = np.ones((1, 2, 5, 7), np.float32), np.ones((3, 2, 2, 3), np.float32)
MATMUL = torch.backends.cuda.matmul


@pytest.fixture(autouse=True)
def flags_as_they_were() -> Iterator[None]:
    yield
    torch.set_float32_matmul_precision("highest")
    MATMUL.allow_fp16_accumulation = False
    MATMUL.allow_bf16_reduced_precision_reduction = MATMUL.allow_fp16_reduced_precision_reduction = True
    torch.backends.cudnn.allow_tf32 = True


def set_tf32() -> None:
    MATMUL.allow_tf32 = True


def set_fp32_precision() -> None:
    MATMUL.fp32_precision = "tf32"


def flags(trace) -> list[tuple[str, ...]]:
    return [event.flags for event in trace.events if isinstance(event, AtenCall)]


@pytest.mark.parametrize(
    "switch",
    [
        set_tf32,
        set_fp32_precision,
        lambda: torch.set_float32_matmul_precision("high"),
        lambda: torch.set_float32_matmul_precision("medium"),
    ],
)
def test_every_spelling_of_tf32(session, switch):
    def host(x, y):
        switch()
        return x @ y

    trace = session.capture(host, [A, B])
    assert flags(trace) == [("matmul_tf32",)]
    assert 'precision="tf32"' in print_program(lower(trace))
    assert any("TF32" in note and "test_precision_flags.py" in note for note in trace.notes)


def test_a_flag_holds_from_where_it_is_set_to_where_it_is_taken_back(session):
    def host(x, y):
        first = x @ y
        MATMUL.allow_tf32 = True
        second = F.linear(x, y.T, y[0, 0].expand(7))
        MATMUL.allow_tf32 = False
        return first, second, torch.bmm(x[None], y[None])

    trace = session.capture(host, [A, B])
    assert flags(trace) == [(), ("matmul_tf32",), ()]


def test_flags_of_other_dtypes_do_not_matter(session):
    def host(x, y):
        MATMUL.allow_tf32 = True
        MATMUL.allow_bf16_reduced_precision_reduction = False
        return x @ y, x.float() + 1

    assert not any(flags(session.capture(host, list(H))))


def test_f16_accumulators_are_f16(session):
    def host(x, y):
        MATMUL.allow_fp16_accumulation = True
        return x @ y

    def plain(x, y):
        return x @ y

    assert 'acc="f16"' in print_program(lower(session.capture(host, list(H))))
    MATMUL.allow_fp16_accumulation = False
    assert 'acc="f32"' in print_program(lower(session.capture(plain, list(H))))


def test_partial_sums_that_may_not_be_narrow_are_another_source(session):
    """Another key: open orders of the two sides are then not made alike.  The same flag gives the same key."""

    def host(x, y):
        return x @ y

    keys = []
    for allowed in (True, False, False):
        MATMUL.allow_fp16_reduced_precision_reduction = allowed
        trace = session.capture(host, list(H))
        keys.append(lower(trace).attrs["key"])
    assert keys[0] != keys[1] == keys[2]
    assert any("allow_fp16_reduced_precision_reduction is False" in note for note in trace.notes)


def test_convolutions_are_ieee_until_the_file_asks_for_tf32(session):
    def host(x, w):
        return F.conv2d(x, w)

    assert 'precision="tf32"' not in print_program(lower(session.capture(host, [IMAGE, KERNEL])))
    torch.backends.cudnn.allow_tf32 = True
    assert 'precision="tf32"' in print_program(lower(session.capture(host, [IMAGE, KERNEL])))


def test_the_default_is_back_after_the_session():
    from lowering.capture.torch_host import torch_session

    with torch_session("sm_80"):
        assert not torch.backends.cudnn.allow_tf32
    assert torch.backends.cudnn.allow_tf32
