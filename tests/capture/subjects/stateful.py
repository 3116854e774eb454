"""Functions and modules that keep something from one call to the next, and some that only look so."""

import random

import torch
from torch import nn

CALLS = 0
TABLE = {}
LOG = []
TOTAL = torch.zeros(4)


class Attribute(nn.Module):
    def __init__(self):
        super().__init__()
        self.mean = torch.zeros(4)

    def forward(self, x):
        self.mean = self.mean * 0.9 + x * 0.1
        return x * 2


class Carried(Attribute):
    def forward(self, x):
        self.mean = self.mean + x
        return self.mean


class Nested(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Sequential(Carried())

    def forward(self, x):
        return self.inner(x)


class Buffer(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.zeros(4))

    def forward(self, x):
        self.mean = self.mean * 0.9 + x * 0.1
        return x * 2


class BufferInPlace(Buffer):
    def forward(self, x):
        self.mean.mul_(0.9).add_(x, alpha=0.1)
        return x * 2


class Table(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("cos", None)
        self.last = None

    def forward(self, x):
        if self.cos is None:
            self.cos = torch.arange(4, device=x.device).cos()
        self.last = x * self.cos
        return self.last + 1


def counted(x):
    global CALLS
    CALLS += 1
    return x * CALLS


def every_tenth(x):
    global CALLS
    CALLS += 1
    return x * 2 if CALLS % 10 else x * 3


def every_tenth_alike(x):
    global CALLS
    CALLS += 1
    return x * 2 if CALLS % 10 else x + x


def memoised(x):
    if "twice" not in TABLE:
        TABLE["twice"] = x * 2
    return TABLE["twice"] + 1


def logged(x):
    LOG.append(tuple(x.shape))
    return x + 1


def summed(x):
    TOTAL.add_(x)
    return TOTAL * 2


class Scratch(nn.Module):
    def __init__(self):
        super().__init__()
        self.work = None

    def forward(self, x):
        self.work = torch.empty(8, device=x.device)
        self.work[:4] = x
        return self.work[:4] + 1


class KeptResult(nn.Module):
    def __init__(self):
        super().__init__()
        self.out = None

    def forward(self, x):
        if self.out is None:
            self.out = torch.empty_like(x)
        self.out.copy_(x).mul_(2)
        return self.out


class AllocatedBefore(nn.Module):
    def __init__(self):
        super().__init__()
        self.out = torch.empty(4)

    def forward(self, x):
        return self.out.copy_(x * 2)


class TwoInTurn(KeptResult):
    def forward(self, x):
        if self.out is None:
            self.out = [torch.empty_like(x), torch.zeros_like(x)]
        self.out.reverse()
        self.out[1].zero_()
        return self.out[0].copy_(x)


class ReturnedView(KeptResult):
    def forward(self, x):
        return super().forward(x)[:2]


class KeptAndReturned(KeptResult):
    def forward(self, x):
        self.out = x * 2
        return self.out


class Accumulated(KeptResult):
    def forward(self, x):
        if self.out is None:
            self.out = torch.zeros_like(x)
        return self.out.add_(x)


class MadeOnce(KeptResult):
    def forward(self, x):
        if self.out is None:
            self.out = x * 2
        return self.out


def default(x, seen=[]):  # noqa: B006
    seen.append(1)
    return x * len(seen)


def _closed():
    calls = 0

    def closed(x):
        nonlocal calls
        calls += 1
        return x * calls

    return closed


closed = _closed()


def drawn(x):
    counted(x)
    return x + torch.rand_like(x)


def written(x):
    counted(x)
    return x.add_(1)


def once(x):
    if LOG:
        raise ValueError("called twice")
    LOG.append(1)
    return x


def pure(x):
    return x + len(TABLE)


def chosen(x):
    counted(x)
    return x * random.random()
