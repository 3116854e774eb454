"""What the host reads becomes part of the trace; what a kernel computed can only be read through an evaluator."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from lowering.capture.trace import AtenCall, HostRead
from lowering.errors import Unsupported

X = np.arange(1, 9, dtype=np.float32)


def reads(trace):
    return [event for event in trace.events if isinstance(event, HostRead)]


def test_read_of_true_data_is_recorded(session, kernels):
    trace = session.capture(kernels.branches_on_input, [X])
    (read,) = reads(trace)
    assert read.value == True and read.span.name == "branches_on_input"  # noqa: E712
    assert trace.events[-1].op == "aten.add.Tensor"


def test_read_of_a_kernel_result_needs_an_evaluator(session, kernels):
    with pytest.raises(Unsupported, match="result computed by a kernel") as raised:
        session.capture(kernels.branches_on_result, [X])
    assert raised.value.span.name == "branches_on_result" and raised.value.span.line > 0


@pytest.mark.parametrize(("answer", "op"), [(1.0, "aten.add.Tensor"), (-1.0, "aten.sub.Tensor")])
def test_the_evaluators_answer_decides_the_branch(session, kernels, answer, op):
    asked = []

    def read_back(trace, ref):
        asked.append((len(trace.events), ref.shape))
        return np.full(ref.shape, answer, np.float32)

    trace = session.capture(kernels.branches_on_result, [X], read_back=read_back)
    assert asked == [(2, ())] and reads(trace)[0].value == answer and trace.events[-1].op == op


@pytest.mark.parametrize(
    "look",
    [
        lambda x: x.tolist(),
        lambda x: x.cpu().numpy(),
        lambda x: str(x),
        lambda x: float(x[0]),
        lambda x: torch.equal(x, x),
        lambda x: torch.any(x > 3).item(),
        lambda x: [int(i) for i in (x > 2).nonzero()],
        lambda x: x[x > 2],
        lambda x: torch.masked_select(x, x > 1),
        lambda x: torch.unique(x),
        lambda x: f"{x[0]:.2f}",
        lambda x: np.asarray(x.cpu()),
    ],
)
def test_every_way_to_look(session, look):
    trace = session.capture(lambda x: (look(x), x)[1], [X])
    assert reads(trace)


def test_reading_twice_the_same_kernel_result_asks_once_per_write(session, kernels):
    asked = []

    def host(x):
        y = kernels.scaled(x)
        return x * (float(y.sum()) + y.tolist()[0] + y.tolist()[1])

    def read_back(trace, ref):
        asked.append(ref.shape)
        return np.ones(ref.shape, np.float32)

    session.capture(host, [X], read_back=read_back)
    assert asked == [(), (8,)]


def test_data_dependent_size_is_noted(session):
    trace = session.capture(lambda x: x[x > 2], [X])
    assert trace.outputs[0][1].shape == (6,) and any("size" in note for note in trace.notes)
    assert any(isinstance(event, AtenCall) and event.op == "aten.index.Tensor" for event in trace.events)


def test_constants_are_not_reads(session):
    trace = session.capture(lambda x: x * torch.tensor([1.0, 2.0]).sum().item(), [X])
    assert not reads(trace)


def test_moving_to_the_cpu_and_back_is_not_a_read(session):
    trace = session.capture(lambda x: (x.cpu() + 1).cuda() * 2, [X])
    assert not reads(trace)
    assert [e.op for e in trace.events] == [
        "aten._to_copy.default", "aten.add.Tensor", "aten._to_copy.default", "aten.mul.Tensor"]  # fmt: skip


def test_a_plain_cpu_buffer_that_received_results_is_followed(session):
    def host(x):
        buffer = torch.empty(x.shape)
        buffer.copy_(x)
        return (buffer + 1).numpy().sum() * x

    trace = session.capture(host, [X])
    assert [e.op for e in trace.events if isinstance(e, AtenCall)][:2] == ["aten.copy.default", "aten.add.Tensor"]
    assert len(reads(trace)) == 1


def test_equal_reads_one_truth_value_not_the_tensors(session):
    trace = session.capture(lambda x: x * 2 if torch.equal(x, torch.ones(8, device="cuda")) else x * 3, [X])
    (read,) = reads(trace)
    assert read.tensor.shape == () and read.value == False  # noqa: E712
