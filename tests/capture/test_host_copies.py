"""Copies to the host that do not block: reads that do not wait for them are noted, with both lines."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from lowering.ir.printer import print_program
from lowering.pipeline import lower

X = np.arange(15, dtype=np.float32).reshape(3, 5)
cuda = torch.cuda


def copied(x):
    return x.to("cpu", non_blocking=True)


def buffered(x):
    return torch.empty(x.shape, pin_memory=True).copy_(x, non_blocking=True)


def reading(read, copy=copied, wait=lambda: None):
    def host(x):
        found = copy(x * 2)
        wait()
        read(found)
        return x + 1

    return host


@pytest.mark.parametrize(
    "read",
    [
        lambda host: host.tolist(),
        lambda host: host.numpy(),
        lambda host: host[0, 0].item(),
        lambda host: float(host.max()),
        lambda host: bool((host > 0).all()),
        lambda host: str(host),
        lambda host: host.add_(1),
    ],
)
@pytest.mark.parametrize("copy", [copied, buffered, lambda x: copied(x)[1:].t()])
def test_reads_that_do_not_wait(session, read, copy):
    (found,) = session.capture(reading(read, copy), [X]).unsynchronised
    assert found.span.file == found.copied.file == __file__ and found.copied.line < found.span.line + 60


def test_both_lines_are_in_the_program(session):
    trace = session.capture(reading(lambda host: host.tolist()), [X])
    assert "unsynchronised=" in print_program(lower(trace)) and "tolist()" in print_program(lower(trace))


def recorded():
    event = cuda.Event()
    event.record()
    event.synchronize()


@pytest.mark.parametrize("copy", [copied, buffered])
@pytest.mark.parametrize(
    "wait",
    [
        lambda: cuda.synchronize(),
        lambda: cuda.current_stream().synchronize(),
        recorded,
        lambda: cuda.current_stream().query(),
    ],
)
def test_every_way_to_wait(session, copy, wait):
    assert session.capture(reading(lambda host: host.tolist(), copy, wait), [X]).unsynchronised == []


def test_another_read_of_the_device_waits(session):
    def host(x):
        found = copied(x * 2)
        x.sum().item()
        return x * found.tolist()[0][0]

    assert session.capture(host, [X]).unsynchronised == []


def test_a_read_of_the_host_does_not(session):
    def host(x):
        first, second = x.cpu(), copied(x * 2)
        first.max().item()
        return x * second.max().item()

    assert len(session.capture(host, [X]).unsynchronised) == 1


def test_another_stream_is_not_waited_for(session):
    def host(x):
        found, other = copied(x * 2), cuda.Stream()
        other.synchronize()
        return x * found.max().item()

    assert len(session.capture(host, [X]).unsynchronised) == 1


def back_again(x):
    return copied(x * 2).to("cuda", non_blocking=True) + 1


def only_its_shape(x):
    found = copied(x * 2)
    return x + found.shape[0] + found[0].numel() + torch.empty_like(found).dim()


def twice_into_one(x):
    host = torch.empty(x.shape, pin_memory=True)
    host.copy_(x, non_blocking=True)
    host.copy_(x * 2, non_blocking=True)
    cuda.synchronize()
    return x * host.max().item()


def blocking(x):
    return x * x.to("cpu").max().item() + torch.empty(x.shape).copy_(x).max().item()


def to_the_device(x):
    return x + torch.ones(5).to("cuda", non_blocking=True)


@pytest.mark.parametrize("host", [back_again, only_its_shape, twice_into_one, blocking, to_the_device])
def test_what_reads_nothing_too_early(session, host):
    assert session.capture(host, [X]).unsynchronised == []
