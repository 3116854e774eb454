"""Masks and counts of integer inputs are no data, nor are values that are numbers whatever they are; others are."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from lowering.ir.program import Value
from lowering.ir.types import BOOL, F32, I32, TensorType
from tests.interpretations.real_runs import Kit, compare

N = 16


def valid(k: Kit, ids: Value) -> Value:
    return k.b.cmp("ne", ids, k.b.like(3, ids))


def mask(k: Kit, x: Value, ids: Value) -> Value:
    return k.b("mul", x, k.b.cast(valid(k, ids), "f32"))


def wide_mask(k: Kit, x: Value, ids: Value) -> Value:
    return k.b("mul", x, k.b.cast(k.b.cast(valid(k, ids), "i32"), "f32"))


def count(k: Kit, x: Value, ids: Value) -> Value:
    number = k.c.reduce("add", k.b.cast(valid(k, ids), "i32"), 0)
    return k.b("div", x, k.c.spread(k.b.cast(number, "f32"), x, 0))


def both(k: Kit, x: Value, ids: Value) -> Value:
    positive = k.b.cmp("gt", ids, k.b.like(0, ids))
    return k.b("mul", x, k.b.cast(k.b("and", valid(k, ids), positive), "f32"))


def values(k: Kit, x: Value, ids: Value) -> Value:
    return k.b("mul", x, k.b.cast(ids, "f32"))


def arithmetic(k: Kit, x: Value, ids: Value) -> Value:
    return k.b("mul", x, k.b.cast(k.b("add", ids, k.b.cast(valid(k, ids), "i32")), "f32"))


def total(k: Kit, x: Value, ids: Value) -> Value:
    return k.b("div", x, k.c.spread(k.b.cast(k.c.reduce("add", ids, 0), "f32"), x, 0))


def chosen(k: Kit, x: Value, ids: Value) -> Value:
    """A value that a mask lets through is still one."""
    return k.b("mul", x, k.b.cast(k.b("select", valid(k, ids), ids, k.b.like(0, ids)), "f32"))


def largest(k: Kit, x: Value, ids: Value) -> Value:
    return k.b("mul", x, k.c.spread(k.b.cast(k.c.reduce("max", ids, 0), "f32"), x, 0))


def used(body: Callable[[Kit, Value, Value], Value]) -> bool:
    types = [TensorType(F32, (N,)), TensorType(I32, (N,))]
    data = {"x0": np.linspace(-1, 2, N, dtype=np.float32), "x1": (np.arange(N) % 5).astype(np.int32)}
    real = compare(body, body, types=types, data=data, primes=1).real
    return real.used_integer_values or real.rests_on_values


@pytest.mark.parametrize("body", [mask, wide_mask, count, both, values])
def test_masks_and_counts_are_no_data(body: Callable[[Kit, Value, Value], Value]) -> None:
    assert not used(body)


@pytest.mark.parametrize("body", [arithmetic, total, chosen, largest])
def test_values_of_integer_inputs_are_data(body: Callable[[Kit, Value, Value], Value]) -> None:
    assert used(body)


def test_a_declared_truth_value_is_a_mask() -> None:
    def body(k: Kit, x: Value, keep: Value) -> Value:
        return k.b("mul", x, k.b.cast(keep, "f32"))

    data = {"x0": np.ones(N, np.float32), "x1": np.arange(N) % 3 == 0}
    result = compare(body, body, types=[TensorType(F32, (N,)), TensorType(BOOL, (N,))], data=data, primes=1)
    assert not result.real.used_integer_values
