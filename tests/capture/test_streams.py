"""CUDA streams: work of two streams on the same memory races unless one waits for the other."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from lowering.ir.printer import print_program
from lowering.pipeline import lower

X = np.arange(15, dtype=np.float32).reshape(3, 5)
cuda = torch.cuda


def unwaited(x):
    s = cuda.Stream()
    y = torch.empty_like(x)
    with cuda.stream(s):
        torch.mul(x, 2, out=y)
    return y + 1


def overwritten_while_read(x):
    s, y = cuda.Stream(), x * 3
    s.wait_stream(cuda.current_stream())
    with cuda.stream(s):
        z = y * 2
    y.add_(1)
    cuda.current_stream().wait_stream(s)
    return z


def returned_unwaited(x):
    with cuda.stream(cuda.Stream()):
        return x * 2


def an_event_too_early(x):
    s, event = cuda.Stream(), cuda.Event()
    with cuda.stream(s):
        event.record()
        y = x * 2
    event.wait()
    return y + 1


def a_generic_stream(x):
    with torch.Stream(device="cuda"):
        return x * 2


def set_and_forgotten(x):
    s = cuda.Stream()
    y = x * 2
    cuda.set_stream(s)
    z = y + 1
    cuda.synchronize()
    cuda.set_stream(cuda.default_stream())
    return z


@pytest.mark.parametrize(
    "host",
    [unwaited, overwritten_while_read, returned_unwaited, an_event_too_early, set_and_forgotten, a_generic_stream],
)
def test_work_that_does_not_wait_races(session, host):
    trace = session.capture(host, [X])
    assert len(trace.races) == 1 and "with no wait" in next(iter(trace.races.values()))
    assert "two_streams" in print_program(lower(trace))


def waiting(wait):
    def host(x):
        s = cuda.Stream()
        y = x * 3
        s.wait_stream(cuda.current_stream())
        with cuda.stream(s):
            z = y * 2
            event = s.record_event()
        wait(s, event)
        return z + y

    return host


@pytest.mark.parametrize(
    "wait",
    [
        lambda s, event: cuda.current_stream().wait_stream(s),
        lambda s, event: cuda.current_stream().wait_event(event),
        lambda s, event: event.wait(),
        lambda s, event: event.synchronize(),
        lambda s, event: s.synchronize(),
        lambda s, event: cuda.synchronize(),
    ],
)
def test_every_way_to_wait(session, wait):
    trace = session.capture(waiting(wait), [X])
    assert not trace.races and "two_streams" not in print_program(lower(trace))


def test_two_streams_on_different_memory(session):
    def host(x):
        halves, y = (cuda.Stream(), cuda.Stream()), torch.empty_like(x)
        for number, s in enumerate(halves):
            s.wait_stream(cuda.current_stream())
            with cuda.stream(s):
                torch.mul(x[:, number::2], 2, out=y[:, number::2])
        for s in halves:
            cuda.current_stream().wait_stream(s)
        return y

    assert not session.capture(host, [X]).races


def test_a_result_that_the_host_reads_is_finished(session):
    def host(x):
        s = cuda.Stream()
        with cuda.stream(s):
            y = x * 2
            scale = float(y.cpu().sum())
        return y * scale

    assert not session.capture(host, [X]).races
