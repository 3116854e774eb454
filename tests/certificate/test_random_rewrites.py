"""Random expressions against rewrites of them, valid on all reals, on a part, or not at all: what is certified agrees.

The judge of a certificate is the run itself: both programs in f64, on inputs of both signs, wherever both are finite.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest

from equivalence.certificate import certify
from equivalence.evaluator import Machine
from lowering.ir.program import Program, Value
from lowering.ir.types import F64, TensorType
from tests.interpretations.real_runs import Kit, program

LEAVES, SEEDS, PAIRS = 3, 12, 12
Tree = tuple


@dataclass(frozen=True)
class Rewrite:
    """Of an operation: a tree for a tree, None where it does not fit; ``valid`` wherever both are finite."""

    name: str
    rule: Callable[[Tree], Tree | None]
    valid: bool


def _of(name: str, fn: Callable[..., Tree | None]) -> Callable[[Tree], Tree | None]:
    return lambda t: fn(*t[1:]) if t[0] == name else None


def _nested(outer: str, inner: str, fn: Callable[..., Tree]) -> Callable[[Tree], Tree | None]:
    return lambda t: fn(*t[1][1:]) if t[0] == outer and t[1][0] == inner else None


def num(x: float) -> Tree:
    return ("num", x)


REWRITES = [
    Rewrite("a + b = b + a", _of("add", lambda a, b: ("add", b, a)), True),
    Rewrite("a b = b a", _of("mul", lambda a, b: ("mul", b, a)), True),
    Rewrite("a - b = a + -b", _of("sub", lambda a, b: ("add", a, ("neg", b))), True),
    Rewrite("a / b = a (1 / b)", _of("div", lambda a, b: ("mul", a, ("div", num(1.0), b))), True),
    Rewrite("e^a = e^(a/2)^2", _of("exp", lambda a: ("mul", *[("exp", ("mul", a, num(0.5)))] * 2)), True),
    Rewrite("e^(a+b) = e^a e^b", _nested("exp", "add", lambda a, b: ("mul", ("exp", a), ("exp", b))), True),
    Rewrite("tanh", _of("tanh", lambda a: ("sub", num(1.0), ("div", num(2.0), ("add", num(1.0), (
        "exp", ("mul", a, num(2.0))))))), True),
    Rewrite("max(a, b) = a if a > b", _of("max", lambda a, b: ("select", a, b, a, b)), True),
    Rewrite("|a| = sqrt(a^2)", _of("abs", lambda a: ("sqrt", ("mul", a, a))), True),
    Rewrite("|a| = max(a, -a)", _of("abs", lambda a: ("max", a, ("neg", a))), True),
    Rewrite("log|a| = log(a^2) / 2", _nested("log", "abs", lambda a: (
        "mul", num(0.5), ("log", ("mul", a, a)))), True),
    Rewrite("sqrt(a^2) = a", _of("sqrt", lambda a: a[1] if a[0] == "mul" and a[1] == a[2] else None), False),
    Rewrite("|a| = a", _of("abs", lambda a: a), False),
    Rewrite("max(a, b) = a", _of("max", lambda a, b: a), False),
    Rewrite("max(a, b) = min(a, b)", _of("max", lambda a, b: ("select", a, b, b, a)), False),
    Rewrite("max(a, b) = max(a, 2b) where b is 0 or not", _of("max", lambda a, b: (
        "max", a, ("mul", b, num(2.0)))), False),
    Rewrite("e^(a+b) = e^a + e^b", _nested("exp", "add", lambda a, b: ("add", ("exp", a), ("exp", b))), False),
    Rewrite("a b = |a| |b|", _of("mul", lambda a, b: ("mul", ("abs", a), ("abs", b))), False),
    Rewrite("a / b = b / a", _of("div", lambda a, b: ("div", b, a)), False),
    Rewrite("a + b = a + (1 + 1e-9) b", _of("add", lambda a, b: ("add", a, ("mul", b, num(1 + 1e-5)))), False),
    Rewrite("sides of a choice", _of("select", lambda p, q, a, b: ("select", p, q, b, a)), False),
    Rewrite("order of a comparison", _of("select", lambda p, q, a, b: ("select", q, p, a, b)), False),
]  # fmt: skip
ARITY = {"add": 2, "sub": 2, "mul": 2, "div": 2, "max": 2, "neg": 1, "exp": 1, "tanh": 1, "abs": 1, "sqrt": 1, "log": 1,
         "select": 4}  # fmt: skip


def tree(rng: np.random.Generator, depth: int) -> Tree:
    if depth == 0 or rng.random() < 0.1:
        return ("leaf", int(rng.integers(LEAVES))) if rng.random() < 0.8 else num(float(rng.integers(1, 4)))
    name = str(rng.choice(list(ARITY)))
    parts = [tree(rng, depth - 1) for _ in range(ARITY[name])]
    if name in ("sqrt", "log") and rng.random() < 0.7:
        parts = [("abs", parts[0])] if rng.random() < 0.5 else [("mul", parts[0], parts[0])]
    return (name, *parts)


def rewritten(rng: np.random.Generator, t: Tree) -> Tree:
    """Some nodes of t replaced."""
    if t[0] in ("leaf", "num"):
        return t
    t = (t[0], *(rewritten(rng, part) for part in t[1:]))
    for k in rng.permutation(len(REWRITES))[:6]:
        if rng.random() < (0.5 if REWRITES[k].valid else 0.06) and (new := REWRITES[k].rule(t)) is not None:
            return new
    return t


def built(k: Kit, t: Tree, leaves: tuple[Value, ...]) -> Value:
    if t[0] == "leaf":
        return leaves[t[1]]
    if t[0] == "num":
        return k.lit(t[1], leaves[0])
    parts = [built(k, part, leaves) for part in t[1:]]
    if t[0] == "select":
        return k.b("select", k.b.cmp("gt", parts[0], parts[1]), *parts[2:])
    return k.fn(t[0], *parts) if t[0] in ("exp", "tanh", "sqrt", "log") else k.b(t[0], *parts)


TYPES = [TensorType(F64, (1,))] * LEAVES


def of(t: Tree) -> Program:
    return program(TYPES, lambda k, *leaves: built(k, t, leaves))


def values(p: Program, rng: np.random.Generator) -> list[float]:
    found = []
    for _ in range(12):
        data = {f"x{i}": rng.normal(size=1) * rng.choice([0.3, 1.0, 3.0]) for i in range(LEAVES)}
        with np.errstate(all="ignore"):
            found.append(float(Machine(p, []).run(data).outputs["out"].data.reshape(-1)[0]))
    return found


@pytest.mark.parametrize("seed", range(SEEDS))
def test_what_is_certified_agrees_wherever_both_are_finite(seed: int) -> None:
    rng, certified = np.random.default_rng(seed), 0
    for _ in range(PAIRS):
        t = tree(rng, 4)
        a, b = of(t), of(rewritten(rng, t))
        data = {f"x{i}": rng.normal(size=1) for i in range(LEAVES)}
        with np.errstate(all="ignore"):
            if not certify(a, b, data, data, seconds=5.0)[0].certified:
                continue
        certified += 1
        points = int(rng.integers(1 << 30))
        x, y = (np.array(values(p, np.random.default_rng(points))) for p in (a, b))
        both = np.isfinite(x) & np.isfinite(y) & (np.maximum(np.abs(x), np.abs(y)) < 1e8)
        assert np.allclose(x[both], y[both], rtol=1e-5, atol=1e-7), (t, x, y)
    assert certified
