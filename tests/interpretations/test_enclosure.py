"""`enclosure` holds the true value (mpmath at 60 digits, exact fractions, arb) and is not much wider than needed."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from flint import arb, ctx
from mpmath import mp, mpf

from equivalence.evaluator import Machine
from equivalence.interpretations import enclosure_math
from equivalence.interpretations import interval as iv
from equivalence.interpretations.depends import Depends
from equivalence.interpretations.enclosure import Enclosure, Interval, interval, prepare
from lowering.ir.builder import Builder
from lowering.ir.composites import Composites
from lowering.ir.program import Program, Value
from lowering.ir.types import F32, F64, I32, TensorType
from tests.interpretations.real_runs import Kit, inputs, program

LANES = 5
Exact = list[Any]


def enclosed(p: Program, data: dict[str, np.ndarray], own: Enclosure | None = None) -> dict[str, Interval]:
    outputs = Machine(p, [own or prepare(p, p), Depends()]).run(data).outputs
    return {name: Interval(*(lanes.full(end, 1)[0] for end in interval(lanes))) for name, lanes in outputs.items()}


# -- random programs ---------------------------------------------------------------------------------------------


class Random:
    """Grows one program; every value has its true value, computed at 60 digits, beside it."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.b, self.truths = Builder(), {}
        self.c = Composites(self.b, "torch")
        self.b.block.args = [self.b.value(TensorType(F32, (LANES,))) for _ in range(3)]
        self.data = {f"x{i}": self.rng.standard_normal(LANES).astype(np.float32) for i in range(3)}
        self.pool: list[Value] = list(self.b.block.args)
        for value, x in zip(self.pool, self.data.values(), strict=True):
            self.truths[value] = [mpf(float(v)) for v in x]

    def pick(self) -> Value:
        return self.pool[int(self.rng.integers(len(self.pool)))]

    def keep(self, value: Value, truth: Exact) -> None:
        if all(abs(t) < 1e6 for t in truth):
            self.truths[value] = truth
            self.pool.append(value)

    def grow(self) -> None:
        kind = int(self.rng.integers(4))
        if kind == 0:
            name = str(self.rng.choice(list(UNARY)))
            x = self.guarded(self.pick(), name)
            self.keep(self.c.fn(name, x), [UNARY[name](t) for t in self.truths[x]])
        elif kind == 1:
            name, a, b = str(self.rng.choice(list(BINARY))), self.pick(), self.pick()
            if name != "div" or all(abs(t) > 1e-3 for t in self.truths[b]):
                truth = [BINARY[name](s, t) for s, t in zip(self.truths[a], self.truths[b], strict=True)]
                self.keep(self.b(name, a, b), truth)
        elif kind == 2:
            value, meaning = CONSTANTS[int(self.rng.integers(len(CONSTANTS)))]
            a = self.pick()
            self.keep(self.c.scale(a, value), [t * meaning() for t in self.truths[a]])
        else:
            self.folded()

    def guarded(self, x: Value, name: str) -> Value:
        """x moved into the function's domain: its absolute value, plus 1 where 0 is a pole."""
        if name not in ("log", "sqrt", "rsqrt", "log1p"):
            return x
        y = self.b("abs", x)
        self.truths[y] = [abs(t) for t in self.truths[x]]
        z = self.c.plus(y, 1.0)
        self.truths[z] = [t + 1 for t in self.truths[y]]
        return z

    def folded(self) -> None:
        a = self.pick()
        combine = str(self.rng.choice(["add", "max", "min"]))
        fold = {"add": mp.fsum, "max": max, "min": min}[combine]
        value = self.c.spread(self.c.reduce(combine, a, 0), a, 0)
        self.keep(value, [fold(self.truths[a])] * LANES)

    def program(self) -> Program:
        outputs = [(f"out{i}", v) for i, v in enumerate(self.pool)]
        return Program(self.b.block, list(self.data), outputs)


UNARY: dict[str, Callable[[Any], Any]] = {
    "exp": mp.exp, "log": mp.log, "sqrt": mp.sqrt, "rsqrt": lambda t: 1 / mp.sqrt(t), "tanh": mp.tanh, "sin": mp.sin,
    "cos": mp.cos, "erf": mp.erf, "log1p": lambda t: mp.log(1 + t), "expm1": lambda t: mp.exp(t) - 1,
    "exp2": lambda t: mpf(2) ** t, "cbrt": lambda t: mp.sign(t) * mp.cbrt(abs(t)), "atan": mp.atan,
}  # fmt: skip
BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b, "div": lambda a, b: a / b,
    "max": max, "min": min,
}  # fmt: skip
#: Literals of f32 and the numbers they stand for.
CONSTANTS: list[tuple[float, Callable[[], Any]]] = [
    (0.5, lambda: mpf("0.5")), (float(np.float32(0.1)), lambda: mpf(1) / 10),
    (float(np.float32(1.4426950408889634)), lambda: 1 / mp.ln2),
    (float(np.float32(0.7978845608)), lambda: mp.sqrt(2 / mp.pi)),
    (-3.0, lambda: mpf(-3)),
]  # fmt: skip


def misses(seed: int, steps: int = 25) -> tuple[int, float]:
    """(lanes whose enclosure does not hold the true value, the median width in units of 2^-52 of the value)."""
    with mp.workdps(60):
        grown = Random(seed)
        for _ in range(steps):
            grown.grow()
        found = enclosed(grown.program(), grown.data)
        missed, widths = 0, []
        for k, value in enumerate(grown.pool):
            x = found[f"out{k}"]
            for lane, truth in enumerate(grown.truths[value]):
                lo, hi = float(x.lo[lane]), float(x.hi[lane])
                missed += not lo <= truth <= hi
                widths.append((hi - lo) / (2.0**-52 * max(float(abs(truth)), 1e-300)))
        return missed, float(np.median(widths))


@pytest.mark.parametrize("block", range(6))
def test_random_programs_are_enclosed(block: int) -> None:
    results = [misses(1000 * block + seed) for seed in range(10)]
    print("median width in 2^-52:", [round(width, 1) for _, width in results])
    assert sum(missed for missed, _ in results) == 0
    assert np.median([width for _, width in results]) < 200


def test_without_outward_rounding_values_are_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(iv, "down", lambda x: x)
    monkeypatch.setattr(iv, "up", lambda x: x)
    monkeypatch.setattr(enclosure_math, "_slack", lambda y, ulps=0: 0 * y)
    assert sum(misses(seed)[0] for seed in range(5)) > 0


# -- functions ---------------------------------------------------------------------------------------------------

#: Ranges of arguments in which every function is defined.
RANGES: dict[str, tuple[float, float]] = {
    "exp": (-700, 700), "exp2": (-1000, 1000), "expm1": (-40, 40), "log": (1e-12, 1e6), "log2": (1e-12, 1e6),
    "log10": (1e-12, 1e6), "log1p": (-0.99, 100), "sin": (-100, 100), "cos": (-100, 100), "tan": (-1.5, 1.5),
    "asin": (-1, 1), "acos": (-1, 1), "atan": (-50, 50), "sinh": (-50, 50), "cosh": (-50, 50), "tanh": (-20, 20),
    "asinh": (-50, 50), "acosh": (1.0, 50), "atanh": (-0.999, 0.999), "erf": (-5, 5), "erfc": (-5, 25),
    "erfinv": (-0.99, 0.99), "lgamma": (0.01, 40), "digamma": (0.01, 40), "sqrt": (0, 1e6), "rsqrt": (1e-9, 1e6),
}  # fmt: skip
_ARB: dict[str, Callable[[arb], arb]] = {
    "exp2": lambda x: arb(2) ** x, "log2": lambda x: x.log() / arb(2).log(), "log10": lambda x: x.log() / arb(10).log(),
}  # fmt: skip


def true(fn: str, x: float) -> arb:
    return _ARB[fn](arb(x)) if fn in _ARB else getattr(arb(x), fn)()


def arguments(fn: str, count: int, seed: int) -> np.ndarray:
    low, high = RANGES[fn]
    rng = np.random.default_rng(seed)
    even = rng.uniform(low, high, count // 2)
    near = np.clip(rng.standard_normal(count // 2) * 0.1 + (0 if low < 0 else 1), max(low, -1e9), high)
    return np.concatenate([even, near, [low, high]])


@pytest.mark.parametrize("fn", RANGES)
def test_functions_of_numbers_hold_the_true_value_tightly(fn: str) -> None:
    x = arguments(fn, 600, 1)
    y = enclosure_math.function(fn, iv.point(x))
    with ctx.workprec(200):
        truths = [true(fn, float(v)) for v in x]
        for lo, hi, t in zip(y.lo.tolist(), y.hi.tolist(), truths, strict=True):
            assert arb(lo) <= t <= arb(hi)
    used = (y.hi - y.lo) / (2.0**-52 * np.maximum(np.abs(y.lo), 1e-30))
    print(fn, "median width in 2^-52:", float(np.median(used)))
    assert np.median(used) < (2000 if fn == "erfc" else 70)


@pytest.mark.parametrize("fn", RANGES)
def test_functions_of_intervals_hold_every_value_between(fn: str) -> None:
    ends = np.sort(arguments(fn, 80, 2).reshape(2, -1), axis=0)
    y = enclosure_math.function(fn, Interval(ends[0], ends[1]))
    with ctx.workprec(200):
        for lane in range(ends.shape[1]):
            for part in (0.0, 0.25, 0.5, 0.9, 1.0):
                x = float(np.clip(ends[0, lane] + part * (ends[1, lane] - ends[0, lane]), ends[0, lane], ends[1, lane]))
                assert arb(float(y.lo[lane])) <= true(fn, x) <= arb(float(y.hi[lane]))


def test_every_function_has_an_enclosure() -> None:
    from lowering.ir.ops.elementwise import MATH_FUNCTIONS

    assert set(MATH_FUNCTIONS) == enclosure_math.FUNCTIONS


def test_outside_the_domain_nothing_is_known() -> None:
    for fn, x in (("log", -1.0), ("sqrt", -1.0), ("acosh", 0.5), ("rsqrt", 0.0), ("atanh", 2.0)):
        assert enclosure_math.function(fn, iv.point(np.array([x]))).is_top.all(), fn


def test_powers_and_angles() -> None:
    rng = np.random.default_rng(3)
    base, exponent = rng.uniform(0.1, 4, 50), np.r_[rng.uniform(-3, 3, 40), np.arange(-5.0, 5.0)]
    y = enclosure_math.function("pow", iv.point(base), iv.point(exponent))
    z = enclosure_math.function("pow", iv.point(-base), iv.point(np.full(50, 3.0)))
    angle = enclosure_math.function("atan2", iv.point(exponent), iv.point(base))
    with mp.workdps(40):
        for k in range(50):
            assert y.lo[k] <= mpf(base[k]) ** mpf(exponent[k]) <= y.hi[k]
            assert z.lo[k] <= -(mpf(base[k]) ** 3) <= z.hi[k]
            assert angle.lo[k] <= mp.atan2(exponent[k], base[k]) <= angle.hi[k]


# -- arithmetic and accumulation against exact fractions ---------------------------------------------------------


def fractions(x: np.ndarray) -> list[Fraction]:
    return [Fraction(float(v)) for v in x.reshape(-1)]


@pytest.mark.parametrize("op", ["add", "sub", "mul", "div"])
def test_arithmetic_is_rounded_outward_by_at_most_a_float(op: str) -> None:
    rng = np.random.default_rng(4)
    a, b = (rng.standard_normal(2000) * 2.0 ** rng.integers(-30, 30, 2000) for _ in range(2))
    x = getattr(iv, op)(iv.point(a), iv.point(b))
    sign = {"add": Fraction.__add__, "sub": Fraction.__sub__, "mul": Fraction.__mul__, "div": Fraction.__truediv__}[op]
    for lo, hi, s, t in zip(x.lo.tolist(), x.hi.tolist(), fractions(a), fractions(b), strict=True):
        assert Fraction(lo) <= sign(s, t) <= Fraction(hi)
    assert (np.nextafter(np.nextafter(x.lo, np.inf), np.inf) >= x.hi).all()


def test_sums_are_within_two_floats() -> None:
    rng = np.random.default_rng(5)
    data = rng.standard_normal((40, 333)) * 10.0 ** rng.integers(-8, 8, (40, 333))
    data[0] = np.r_[1e20, np.ones(331), -1e20]
    x = iv.total(iv.point(data), 1)
    for lo, hi, row in zip(x.lo.tolist(), x.hi.tolist(), data, strict=True):
        assert Fraction(lo) <= sum(fractions(row)) <= Fraction(hi)
    width = (x.hi - x.lo) / np.maximum(np.abs(x.lo), 1e-300)
    print("widest sum:", float(width.max()))
    assert np.median(width) < 1e-15


def test_prefix_sums_and_dots() -> None:
    rng = np.random.default_rng(6)
    a, b = rng.standard_normal((3, 40)), rng.standard_normal((40, 2))
    dot, prefix = iv.matmul(iv.point(a), iv.point(b)), iv.running_total(iv.point(a), 1)
    wide = iv.matmul(Interval(a - 1e-3, a + 1e-3), Interval(b - 1e-3, b + 1e-3))
    for i in range(3):
        for k in range(40):
            assert Fraction(prefix.lo[i, k]) <= sum(fractions(a[i, : k + 1])) <= Fraction(prefix.hi[i, k])
        for j in range(2):
            exact = sum((s * t for s, t in zip(fractions(a[i]), fractions(b[:, j]), strict=True)), Fraction(0))
            assert Fraction(dot.lo[i, j]) <= exact <= Fraction(dot.hi[i, j])
            corner = sum(abs(x) + abs(y) for x, y in zip(a[i], b[:, j], strict=True)) * 1e-3
            assert wide.lo[i, j] <= float(exact) - 0.9 * corner and wide.hi[i, j] >= float(exact) + 0.9 * corner


@np.errstate(all="ignore")
def test_infinities_are_exact_and_nan_is_unknown() -> None:
    masked, number = iv.point(np.array([-np.inf])), iv.point(np.array([2.0]))
    assert iv.add(masked, number) == masked and iv.extreme("max", masked, number) == number
    assert enclosure_math.function("exp", masked) == iv.point(np.array([0.0]))
    assert iv.sub(masked, masked).is_top.all() and iv.mul(masked, iv.point(np.array([0.0]))).is_top.all()
    huge = iv.point(np.array([1e308]))
    assert np.isfinite(iv.add(huge, huge).lo).all() and np.isinf(iv.add(huge, huge).hi).all()


# -- decisions ---------------------------------------------------------------------------------------------------

THIRD = TensorType(F64, (3,))


def one(body: Callable[..., Value], *data: np.ndarray) -> Interval:
    types = [TensorType(F64 if x.dtype == np.float64 else F32, x.shape) for x in data]
    p = program(types, body)
    return enclosed(p, {f"x{i}": x for i, x in enumerate(data)})["out"]


def fuzzy(k: Kit, x: Value) -> Value:
    """x, with an enclosure of some width: (x / 3) * 3."""
    return k.b("mul", k.b("div", x, k.lit(3.0, x)), k.lit(3.0, x))


def test_an_unsure_comparison_gives_both_answers() -> None:
    def body(k: Kit, x: Value) -> Value:
        return k.b("select", k.c.above(fuzzy(k, x), 1.0), k.lit(10.0, x), k.lit(-10.0, x))

    x = one(body, np.array([0.5, 1.0, 2.0]))
    assert x.lo.tolist() == [-10, -10, 10] and x.hi.tolist() == [-10, 10, 10]


def test_rounding_and_casts_give_a_step_where_an_interval_straddles_it() -> None:
    data = np.array([1.5, 2.0, -2.0])
    floor = one(lambda k, x: k.b("round", fuzzy(k, x), mode="floor"), data)
    whole = one(lambda k, x: k.b.cast(fuzzy(k, x), I32), data)
    assert floor.lo.tolist() == [1, 1, -3] and floor.hi.tolist() == [1, 2, -2]
    assert whole.lo.tolist() == [1, 1, -2] and whole.hi.tolist() == [1, 2, -1]


def test_a_comparison_of_a_value_with_itself_is_sure() -> None:
    x = one(lambda k, x: k.b("cast", k.b.is_nan(fuzzy(k, x)), to="f64"), np.array([1.0, 2.0, 3.0]))
    assert not x.lo.any() and not x.hi.any()


def winner(k: Kit, x: Value) -> Value:
    index = k.b.index(x.type.shape, 1, I32)
    return k.b.op("reduce", [fuzzy(k, x), index], axis=1, combine="argmax").results[1]


def test_argmax_is_sure_only_where_the_gap_is() -> None:
    x = one(winner, np.array([[1.0, 5.0, 2.0], [7.0, 1.0, 7.0 + 2.0**-50], [4.0, 4.0, 1.0]]))
    assert x.lo.tolist() == [1, 0, 0] and x.hi.tolist() == [1, 2, 1]


def test_argmax_of_equal_numbers_is_the_lowest() -> None:
    def exact(k: Kit, x: Value) -> Value:
        return k.b.op("reduce", [x, k.b.index(x.type.shape, 1, I32)], axis=1, combine="argmax").results[1]

    x = one(exact, np.array([[4.0, 4.0, 1.0]]))
    assert x.lo.tolist() == x.hi.tolist() == [0]


def test_payloads_of_a_sort_are_sure_where_places_are() -> None:
    def places(k: Kit, x: Value) -> Value:
        return k.b.op("sort", [fuzzy(k, x), k.b.index(x.type.shape, 0, I32)], axis=0).results[1]

    x = one(places, np.array([9.0, 5.0, 5.0 + 2.0**-50, 1.0]))
    assert x.lo.tolist() == [3, 0, 0, 0] and x.hi.tolist() == [3, 3, 3, 0]


def test_undefined_lanes_are_unknown_and_meet_everything() -> None:
    assert iv.top(1).is_top.all() and iv.extreme("max", iv.top(1), iv.point(np.zeros(1))).is_top.all()


# -- disjoint or not ---------------------------------------------------------------------------------------------


def apart(a: Callable[..., Value], b: Callable[..., Value], shape: tuple[int, ...] = (4, 16)) -> float:
    types = [TensorType(F32, shape)]
    first, second = program(types, a), program(types, b)
    own, data = prepare(first, second), inputs(types)
    x, y = (enclosed(p, data, own)["out"] for p in (first, second))
    with np.errstate(all="ignore"):
        return float(np.max(np.maximum(x.lo - y.hi, y.lo - x.hi)))


DIFFERENT: dict[str, tuple[Callable[..., Value], Callable[..., Value]]] = {
    "eps 1e-12": (lambda k, x: k.c.normalize(x, 1, 1e-12)[0], lambda k, x: k.c.normalize(x, 1, 1e-13)[0]),
    "gelu": (lambda k, x: k.c.gelu_erf(x), lambda k, x: k.c.gelu_tanh(x)),
    "log2e to five digits": (lambda k, x: k.fn("exp2", k.c.scale(x, 1.4426950408889634)),
                             lambda k, x: k.fn("exp2", k.c.scale(x, 1.4427))),
    "sin and cos": (lambda k, x: k.fn("sin", x), lambda k, x: k.fn("cos", x)),
}  # fmt: skip
EQUAL: dict[str, tuple[Callable[..., Value], Callable[..., Value]]] = {
    "root of a square": (lambda k, x: k.fn("sqrt", k.b("mul", x, x)), lambda k, x: k.b("abs", x)),
    "exp through exp2": (lambda k, x: k.c.exp(x), lambda k, x: k.fn("exp2", k.c.scale(x, 1.4426950408889634))),
    "sigmoid through tanh": (
        lambda k, x: k.c.sigmoid(x),
        lambda k, x: k.c.scale(k.c.plus(k.fn("tanh", k.c.scale(x, 0.5)), 1.0), 0.5),
    ),
    "softmax of a shifted row": (lambda k, x: k.c.softmax(x, 1), lambda k, x: k.c.softmax(k.c.plus(x, 1.0), 1)),
    "log of a product": (lambda k, x: k.fn("log", k.b("mul", k.c.exp(x), k.c.exp(x))), lambda k, x: k.c.scale(x, 2.0)),
    "a recognised constant": (
        lambda k, x: k.c.scale(x, float(np.float32(1 / 3))),
        lambda k, x: k.b("div", x, k.lit(3.0, x)),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", DIFFERENT)
def test_other_real_functions_are_apart(name: str) -> None:
    assert apart(*DIFFERENT[name]) > 0


@pytest.mark.parametrize("name", EQUAL)
def test_equal_real_functions_meet(name: str) -> None:
    assert apart(*EQUAL[name]) <= 0


def test_every_primitive_has_an_enclosure() -> None:
    from lowering.ir.ops import RECORDS

    asked = {name for name, record in RECORDS.items() if record.primitive} - {"sort", "scatter", "atomic_rmw"}
    assert [name for name in sorted(asked) if not hasattr(Enclosure, f"op_{name}")] == []
