"""Addresses that a kernel loads from a tensor are those of the program's buffers."""

from __future__ import annotations

import numpy as np
import pytest

from equivalence.evaluator import Machine
from lowering.capture.trace import Launch
from lowering.pipeline import lower
from tests.capture.conftest import SUBJECTS

X, Y = np.arange(40, dtype=np.float32), np.arange(7, dtype=np.float32) - 3


@pytest.fixture
def tables(session):
    return session.import_file(SUBJECTS / "pointer_tables.py")


def outcome(session, entry, *arrays):
    trace = session.capture(entry, list(arrays))
    program = lower(trace)
    return trace, Machine(program, []).run(dict(zip(program.input_names, arrays, strict=True)))


def test_kernels_read_and_write_through_a_table(session, tables):
    trace, ran = outcome(session, tables.doubled, X, Y)
    np.testing.assert_array_equal(ran.outputs["out0"].data[0], 2 * X)
    np.testing.assert_array_equal(ran.outputs["out1"].data[0], 2 * Y)
    (launch,) = (event for event in trace.events if isinstance(event, Launch))
    reached = {ref.storage for _, ref in [*trace.inputs, *trace.outputs]}
    assert set(launch.reached) == reached


def test_an_address_inside_a_buffer(session, tables):
    _, ran = outcome(session, tables.doubled_tail, X)
    np.testing.assert_array_equal(ran.outputs["out0"].data[0], 2 * (X + 1)[3:])


def test_races_through_a_table_are_seen(session, tables):
    _, ran = outcome(session, tables.raced, np.arange(64, dtype=np.float32))
    assert any(event.code == "race" for event in ran.events)


def test_a_wrapper_may_say_where_its_data_is(session, tables):
    _, ran = outcome(session, tables.flipped, X)
    np.testing.assert_array_equal(ran.outputs["out0"].data[0], X[::-1])


def test_a_compiled_kernel_launched_without_its_constants(session, tables):
    _, ran = outcome(session, tables.launched_twice, X)
    for name in ("out0", "out1"):
        np.testing.assert_array_equal(ran.outputs[name].data[0], X)


def test_a_block_pointer_says_what_it_points_to(session, tables):
    _, ran = outcome(session, tables.halves, X)
    np.testing.assert_array_equal(ran.outputs["out0"].data[0], (X / np.float32(3)).astype(np.float16))


def test_what_a_kernel_writes_through_a_table_is_an_effect(session, tables):
    from irverify._capture_torch import returned_and_written

    trace = session.capture(tables.doubled_in_place, [X])
    assert [name for name, _ in trace.outputs + returned_and_written(trace)] == ["out0", "written:x"]
