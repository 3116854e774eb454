"""Where tables are data, those that the call makes of no input on the device are, too: the bytes of the CPU's."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from lowering.capture.trace import AtenCall
from tests.capture.conftest import SUBJECTS

X = np.ones((5, 3), np.float32)


def angles(device=None) -> torch.Tensor:
    rates = 10000.0 ** (-torch.arange(0, 6, 2, device=device).float() / 6)
    return torch.outer(torch.arange(5, device=device).float(), rates)


@pytest.fixture
def data(session):
    session.dispatcher.formulas = False
    return session


def ops(trace) -> set[str]:
    return {event.op.split(".")[1] for event in trace.events if isinstance(event, AtenCall)}


def constants(trace) -> list[bytes]:
    """The contents of the float tables that ops read."""
    refs = [arg for event in trace.events for arg in event.args if hasattr(arg, "storage")]
    stored = [trace.storages[ref.storage] for ref in refs if ref.dtype == "float32"]
    return [storage.data.tobytes() for storage in stored if storage.origin == "data"]


def test_angles_are_the_bytes_that_the_cpu_computes(data):
    trace = data.capture(lambda x: x * angles(x.device).cos(), [X])
    assert not ops(trace) & {"cos", "pow", "div"} and angles().cos().numpy().tobytes() in constants(trace)


def test_they_are_formulas_where_those_are_asked_for(session):
    assert {"cos", "pow"} <= ops(session.capture(lambda x: x * angles(x.device).cos(), [X]))


def test_one_made_on_the_cpu_goes_on_as_data_on_the_device(data):
    trace = data.capture(lambda x: x * angles().to(x.device).cos(), [X])
    assert "cos" not in ops(trace) and angles().cos().numpy().tobytes() in constants(trace)


def test_a_table_that_is_returned_is_data(data):
    trace = data.capture(lambda x: (x, angles(x.device).sin()), [X])
    assert trace.storages[trace.outputs[1][1].storage].data.tobytes() == angles().sin().numpy().tobytes()


def test_rounded_arithmetic_is_data_and_whole_numbers_are_ops(data):
    assert "div" not in ops(data.capture(lambda x: x * (torch.arange(3, device=x.device) / 7), [X]))
    assert {"arange", "mul", "sub"} <= ops(data.capture(lambda x: x - torch.arange(3, device=x.device) * 2.0, [X]))


def test_zeros_and_what_is_filled_with_one_number_are_ops(data):
    trace = data.capture(lambda x: x + torch.zeros(5, 3, device=x.device) + torch.ones(3, device=x.device) * 0.1, [X])
    assert not constants(trace) and "mul" in ops(trace)


def test_what_depends_on_an_input_is_recorded(data):
    def written(x):
        table = angles(x.device)
        table[0] = x[0]
        return table.cos()

    def accumulated(x):
        table = torch.zeros(5, 3, device=x.device)
        table += x
        return table.cos()

    def made_like_it(x):
        return (angles(x.device) + x.sum()).cos()

    for fn in (written, accumulated, made_like_it):
        assert "cos" in ops(data.capture(fn, [X])), fn


def test_what_a_kernel_wrote_is_recorded(data):
    pytest.importorskip("triton")
    assert "exp" in ops(data.capture(data.import_file(SUBJECTS / "kernel_writes_zeros.py").run, [X]))


def test_a_table_keeps_the_bytes_it_had_when_it_was_used(data):
    def fn(x):
        table = angles(x.device).cos()
        y = x * table
        table.zero_()
        return y

    assert angles().cos().numpy().tobytes() in constants(data.capture(fn, [X]))


def test_undefined_memory_is_no_table(data):
    assert "exp" in ops(data.capture(lambda x: x + torch.empty(3, device=x.device).exp(), [X]))
