"""`error`: how far a lane's ieee value can be from the real-number result of the same program.

Running error analysis (Higham, Accuracy and Stability, ch. 3): every operation passes on its operands' errors and adds
its own rounding.  Plane ``bound`` holds in every order that the source leaves open (n-1 roundings of the sum of
magnitudes); ``expected`` replaces that n by 4 sqrt(n) (Higham & Mary 2019), for judging, never for witnesses.
For truth values and indices the planes say by how much they may be off; infinity when nothing is known.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from equivalence.evaluator.lanes import ALL, Lanes, Planes
from equivalence.interpretations import error_dots, error_loops, error_math, ieee
from equivalence.interpretations.base import Interpretation, Site, Sums
from equivalence.interpretations.hashed import Hashed
from equivalence.numerics.error_bounds import DEFAULT_TARGET, declared_bound, error_at
from equivalence.numerics.formats import format_of
from equivalence.numerics.intrinsic_table import ASSUMED, Bound
from lowering.ir.types import DType

Array = np.ndarray
MASK = 1e9
PLANES = ("bound", "expected")
IMPLEMENTATIONS = {
    "cuda": "triton",
    "libdevice": "cuda",
    "cuda-fast": "cuda-fast",
    "xla": "xla",
    "torch": "torch",
    "nki": "nki",
    "": "exact",
}


def wide(lanes: Lanes) -> Array:
    return lanes.data.astype(np.float64)


def unit(dt: DType) -> tuple[float, float]:
    """(unit roundoff, half the smallest subnormal)."""
    fmt = format_of(dt.name)
    return 2.0**-fmt.p, 2.0 ** (fmt.emin - fmt.p)


def rounding(data: Array, dt: DType) -> Array:
    """Error of one correct rounding that gave ``data``; a saturated or infinite result has no bound."""
    u, tiny = unit(dt)
    error = np.abs(data)
    error *= u * (1 + 4 * u)
    error += tiny
    finite = np.isfinite(data)
    return error if finite.all() else np.where(finite, error, np.inf)


def is_mask(value: Array, dt: DType) -> Array:
    """Literals that stand for minus infinity in an exponential (-1e30); half an ulp of f32 or f64 is no matter."""
    return (value <= -MASK) & (dt.name in ("f32", "f64"))


def _coarser_subnormals(x: Lanes, out: Lanes) -> Array | float:
    """What a cast to a format of more bits but a shorter range loses: half a subnormal step (bf16 to f16)."""
    source, target = format_of((x.fits or x.dtype).name), format_of(out.dtype.name)
    if target.emin - target.p <= source.emin - source.p:
        return 0.0
    return np.where(np.abs(wide(out)) <= 2.0**target.emin, unit(out.dtype)[1], 0.0)


def _of_overflow(x: Lanes, error: Array) -> Array:
    """Unknown where ``x`` is infinite: it may stand for a number that is too large, whose inverse is not 0.

    What masks lead to is not concerned: an exponential of minus infinity.
    """
    infinite = np.isinf(x.data)
    return np.where(infinite, np.inf, error) if infinite.any() else error


def worst(n: int, u: float) -> float:
    """gamma_n = n u / (1 - n u)."""
    return n * u / (1 - n * u) if n * u < 0.5 else np.inf if n * u >= 1 else 2 * n * u


def usual(n: int, u: float) -> float:
    """4 sqrt(n) u: exceeded with negligible probability when roundings are independent."""
    return min(worst(n, u), 4 * np.sqrt(n) * u)


#: Exponentials by the logarithm of their base, rounded up.
_RATES = {"exp": 1.0, "exp2": float(np.log(2.0)) * (1 + 2.0**-50)}
GROWTH: dict[str, Callable[[int, float], float]] = {"bound": worst, "expected": usual}


class Error(Interpretation):
    """Planes ``bound`` and ``expected``: absolute errors in f64."""

    name = "error"
    sums_in_any_order = True

    def __init__(self, usual: bool = True, target: str | None = None) -> None:
        """``usual``: whether the expected error is wanted too; what only looks for witnesses is cheaper without.

        ``target``: whose intrinsics are meant; None: the device that captured code sees.
        """
        self.target = target or DEFAULT_TARGET
        self.names = PLANES if usual else PLANES[:1]
        self.planes = {name: np.dtype(np.float64) for name in self.names}
        self._known: dict[str, Array] = {}  # of the op at hand: what both planes need

    def literal(self, data: Array, lanes: Lanes) -> Planes:
        """A literal of few bits is meant exactly; another one may stand for a real number half an ulp away.

        So is a mask of f32 or f64: what it hides is 0 whatever its last digits, and it is subtracted from itself.
        """
        if not lanes.dtype.is_float:
            return dict.fromkeys(self.names, np.zeros((1,) * data.ndim))
        value = data.astype(np.float64)
        with np.errstate(all="ignore"):
            short = value.astype(np.float32).view(np.uint32) & np.uint32(0xFFF) == 0
            exact = short & (value.astype(np.float32) == value) | ~np.isfinite(value) | is_mask(value, lanes.dtype)
            error = np.where(exact, 0.0, rounding(value, lanes.dtype))
        return dict.fromkeys(self.names, error)

    def atom(self, name: str, index: Array, lanes: Lanes) -> Planes:
        return dict.fromkeys(self.names, np.zeros((1,) * index.ndim))

    def undefined(self, first: int, lanes: Lanes) -> Planes:
        return dict.fromkeys(self.names, np.full((1,) * lanes.data.ndim, np.inf))

    def apply(self, site: Site, out: Lanes, args: Sequence[Lanes]) -> Planes:
        """Both planes by the same rule; they differ in how an accumulation of n terms grows."""
        self._known = {}
        self._halves = 2 if site.attrs.get("rounding") in ("rtz", "rtp", "rtn") else 1  # half ulps a rounding is off
        with np.errstate(all="ignore"):
            rule = getattr(self, f"op_{site.name}")
            planes: Planes = {}
            for name in self.names:
                errors = [a.planes[name] for a in args]  # type: ignore[index]
                if name == "expected" and all(a.planes["bound"] is e for a, e in zip(args, errors, strict=True)):  # type: ignore[index]
                    if site.name not in ("reduce", "scan", "dot"):
                        planes[name] = planes["bound"]
                        continue
                planes[name] = np.asarray(rule(site, out, args, errors, GROWTH[name]))
            return planes

    def steered(self, value: Lanes) -> bool:
        return value.planes is not None and bool((value.planes["bound"] > 0).any())

    # -- arithmetic: rule(site, out, args, errors, growth) -> error -------------------------------------------------

    def _rounded(self, out: Lanes, passed: Array, x: Sequence[Lanes]) -> Array:
        """One rounding more.  An infinity is exact where an operand is one already (a mask), unknown elsewhere."""
        if not out.dtype.is_float:
            return passed
        if error_loops.fits(None, out.data):
            return self._masked(out, error_loops.rounded(out.data, passed, *self._unit(out)), x)
        if "rounding" not in self._known:
            self._known["rounding"] = rounding(wide(out), out.dtype) * self._halves
        return self._masked(out, passed + self._known["rounding"], x)

    def _unit(self, out: Lanes) -> tuple[float, float]:
        """What one rounding costs: (of the value, at least)."""
        u, tiny = unit(out.dtype)
        return u * (1 + 4 * u) * self._halves, tiny * self._halves

    @staticmethod
    def _masked(out: Lanes, error: Array, x: Sequence[Lanes]) -> Array:
        if np.isinf(out.data).any():
            masked = np.isinf(wide(out)) & np.logical_or.reduce(np.broadcast_arrays(*(np.isinf(wide(a)) for a in x)))
            error = np.where(masked, 0.0, error)
        return error

    def op_add(self, site: Site, out: Lanes, x: Sequence[Lanes], e: Sequence[Array], growth: Any) -> Array:
        for zero, error, other in ((x[0], e[0], e[1]), (x[1], e[1], e[0])):
            if out.dtype.is_float and zero.data.size == 1 and not zero.data.any() and not error.any():
                return other  # plus or minus an exact zero: nothing is rounded
        return self._rounded(out, e[0] + e[1], x)

    op_sub = op_add

    def op_mul(self, site: Site, out: Lanes, x: Sequence[Lanes], e: Sequence[Array], growth: Any) -> Array:
        if error_loops.fits(None, out.data, x[0].data, x[1].data):
            error = error_loops.product(out.data, x[0].data, x[1].data, e[0], e[1], *self._unit(out))
            return self._masked(out, error, x)
        return self._rounded(out, product_error(wide(x[0]), wide(x[1]), e[0], e[1]), x)

    def op_fma(self, site: Site, out: Lanes, x: Sequence[Lanes], e: Sequence[Array], growth: Any) -> Array:
        return self._rounded(out, product_error(wide(x[0]), wide(x[1]), e[0], e[1]) + e[2], x)

    def op_div(self, site: Site, out: Lanes, x: Sequence[Lanes], e: Sequence[Array], growth: Any) -> Array:
        if not out.dtype.is_float:
            return self.unknown(site, out, x, e, growth)
        return _of_overflow(x[1], self._quotient(site, out, x, e))

    def _quotient(self, site: Site, out: Lanes, x: Sequence[Lanes], e: Sequence[Array]) -> Array:
        bound = _correct() if site.attrs["accuracy"] == "exact" else self._bound("div", site, out)
        if self._halves == 1 and error_loops.fits(bound, out.data, x[0].data, x[1].data):
            if np.isfinite(out.data).all():
                return error_loops.quotient(bound, [a.data for a in x], out.data, e)
        if not e[0].any() and not e[1].any():
            return self._divided(site, out, x, np.zeros((1,) * out.data.ndim))
        quotient, divisor = np.abs(wide(out)), np.abs(wide(x[1]))
        room = divisor - e[1]
        passed = np.where(
            (e[0] == 0) & (e[1] == 0),
            0.0,
            np.where(room > 0, (e[0] + quotient * e[1]) / np.where(room > 0, room, 1), np.inf),
        )
        return self._divided(site, out, x, passed)

    def _divided(self, site: Site, out: Lanes, x: Sequence[Lanes], passed: Array) -> Array:
        if site.attrs["accuracy"] == "exact":
            return self._rounded(out, passed, x)
        return self._masked(out, passed + self._declared("div", site, out, x), x)

    def _declared(self, fn: str, site: Site, out: Lanes, x: Sequence[Lanes]) -> Array:
        if fn not in self._known:
            self._known[fn] = self._declared_now(fn, site, out, x)
        return self._known[fn]

    def _bound(self, fn: str, site: Site, out: Lanes) -> Bound:
        """Of a function about which nobody says anything what is assumed."""
        impl = IMPLEMENTATIONS.get((site.attrs.get("impl") or "").split(":")[0], "cuda-fast")
        bound = declared_bound(fn, out.dtype.name, impl, self.target)  # type: ignore[arg-type]
        return bound if bound.declared else ASSUMED

    def _declared_now(self, fn: str, site: Site, out: Lanes, x: Sequence[Lanes]) -> Array:
        argument = wide(x[1] if fn == "div" else x[0])
        error = error_at(self._bound(fn, site, out), argument, out.data, out.dtype.name)
        masked = np.isinf(wide(x[0]))
        return np.where(masked, 0.0, error) if masked.any() else error  # exp(-inf) is 0 in every implementation

    def op_neg(self, site: Site, out: Lanes, x: Sequence[Lanes], e: Sequence[Array], growth: Any) -> Array:
        return e[0]

    op_abs = op_neg

    def op_max(self, site: Site, out: Lanes, x: Sequence[Lanes], e: Sequence[Array], growth: Any) -> Array:
        """The real extremum lies between the extremum of the lower and that of the upper ends."""
        pick = np.maximum if site.name == "max" else np.minimum
        ends = [pick(wide(x[0]) + sign * e[0], wide(x[1]) + sign * e[1]) for sign in (1, -1)]
        return straddled(wide(out), ends, e)

    op_min = op_max

    def op_rem(self, site: Site, out: Lanes, x: Sequence[Lanes], e: Sequence[Array], growth: Any) -> Array:
        """fmod is exact; the floor's remainder is rounded where the divisor is added to it."""
        if not out.dtype.is_float:
            return self.unknown(site, out, x, e, growth)
        a, b, floor = wide(x[0]), wide(x[1]), site.attrs["rounding"] == "floor"
        passed = error_math.remainder(a, b, e, floor=floor)
        if not floor:
            return passed
        added = wide(out) != np.fmod(a, b)
        return np.where(added, self._rounded(out, passed, x), passed)

    def op_math(self, site: Site, out: Lanes, x: Sequence[Lanes], e: Sequence[Array], growth: Any) -> Array:
        fn = site.attrs["fn"]
        if fn in ("rsqrt", "pow"):
            return _of_overflow(x[0], self._function(site, out, x, e))
        return self._function(site, out, x, e)

    def _function(self, site: Site, out: Lanes, x: Sequence[Lanes], e: Sequence[Array]) -> Array:
        fn = site.attrs["fn"]
        if fn in _RATES and site.attrs["accuracy"] != "exact":
            bound = self._bound(fn, site, out)
            if error_loops.fits(bound, out.data, x[0].data):
                return error_loops.exponential(bound, _RATES[fn], x[0].data, out.data, e[0])
        passed = error_math.propagated(fn, [wide(a) for a in x], e)
        if site.attrs["accuracy"] == "exact":
            return self._rounded(out, passed, x)
        return passed + self._declared(fn, site, out, x)

    def op_round(self, site: Site, out: Lanes, x: Sequence[Lanes], e: Sequence[Array], growth: Any) -> Array:
        """A whole step where the interval straddles a discontinuity."""
        fn = {"floor": np.floor, "ceil": np.ceil, "trunc": np.trunc, "even": np.rint}.get(site.attrs["mode"], np.rint)
        return np.where(e[0] == 0, 0.0, np.maximum(fn(wide(x[0]) + e[0]) - fn(wide(x[0]) - e[0]), 0.0))

    # -- truth values ----------------------------------------------------------------------------------------------

    def op_cmp(self, site: Site, out: Lanes, x: Sequence[Lanes], e: Sequence[Array], growth: Any) -> Array:
        """1 where the operands' intervals meet: the answer may be the other one."""
        if x[0].data is x[1].data:  # a value and itself: no rounding comes between
            return np.zeros((1,) * out.data.ndim)
        reach = e[0] + e[1]
        gap = np.abs(wide(x[0]) - wide(x[1]))
        return np.where((reach == 0) | (gap > reach), 0.0, 1.0)

    def op_select(self, site: Site, out: Lanes, x: Sequence[Lanes], e: Sequence[Array], growth: Any) -> Array:
        if all(v.size == 1 and not v.any() for v in e):
            return e[0]
        taken = np.where(x[0].data, e[1], e[2])
        if not e[0].any():
            return taken
        either = np.maximum(e[1], e[2]) + np.abs(wide(x[1]) - wide(x[2]))
        return np.where(e[0] == 0, taken, np.where(np.isnan(either), np.inf, either))

    def op_cast(self, site: Site, out: Lanes, x: Sequence[Lanes], e: Sequence[Array], growth: Any) -> Array:
        if not out.dtype.is_float:
            if not x[0].dtype.is_float:
                return e[0]
            low, high = np.trunc(wide(x[0]) - e[0]), np.trunc(wide(x[0]) + e[0])
            return np.where(e[0] == 0, 0.0, high - low)
        if x[0].dtype.is_float and format_of(out.dtype.name).p >= format_of((x[0].fits or x[0].dtype).name).p:
            kept = e[0] + _coarser_subnormals(x[0], out)
            return np.where(np.isfinite(wide(out)), kept, np.inf) if out.dtype.name == "f16" else kept
        exact = wide(out) == wide(x[0]) if not x[0].dtype.is_float else np.zeros((1,) * out.data.ndim, bool)
        return np.where(exact, e[0], self._rounded(out, e[0], x))

    # -- integers and bits: an error of zero stays zero, anything else is unknown -------------------------------------

    def unknown(self, site: Site, out: Lanes, x: Sequence[Lanes], e: Sequence[Array], growth: Any) -> Array:
        total = e[0]
        for error in e[1:]:
            total = total + error
        return np.where(total == 0, 0.0, 1.0 if out.dtype.kind == "bool" else np.inf)

    def op_and(self, site: Site, out: Lanes, x: Sequence[Lanes], e: Sequence[Array], growth: Any) -> Array:
        """Certainly false is one that is: a mask over lanes about which nothing is known."""
        sure = [(own == 0) & (lanes.data == 0) for lanes, own in zip(x, e, strict=True)]
        return np.where(sure[0] | sure[1], 0.0, self.unknown(site, out, x, e, growth))

    def op_or(self, site: Site, out: Lanes, x: Sequence[Lanes], e: Sequence[Array], growth: Any) -> Array:
        doubt = self.unknown(site, out, x, e, growth)
        if out.dtype.kind != "bool":
            return doubt
        sure = [(own == 0) & lanes.data for lanes, own in zip(x, e, strict=True)]
        return np.where(sure[0] | sure[1], 0.0, doubt)

    op_xor = op_not = op_shl = op_shr = op_mulhi = op_popcount = op_clz = op_opaque = unknown

    def op_bitcast(self, site: Site, out: Lanes, x: Sequence[Lanes], e: Sequence[Array], growth: Any) -> Array:
        return self.unknown(site, out, x, e, growth)

    # -- accumulation ----------------------------------------------------------------------------------------------

    def op_reduce(self, site: Site, out: Lanes, x: Sequence[Lanes], e: Sequence[Array], growth: Any) -> Array:
        axis, combine = site.attrs["axis"] + 1, site.attrs["combine"]
        n, lane = x[0].shape[axis - 1], wide(x[0])
        full = Hashed.full_axis(e[0], x[0].shape, axis)
        if combine in ("max", "min"):
            lanes = Hashed.full_axis(lane, x[0].shape, axis)
            ends = [getattr(np, combine)(lanes + sign * full, axis=axis) for sign in (1, -1)]
            return straddled(wide(out), ends, [full.max(axis=axis)])
        if combine == "add":
            total = full.sum(axis=axis)
            return total + self._growth(out, growth, n - 1) * np.abs(Hashed.full_axis(lane, x[0].shape, axis)).sum(axis)
        if combine == "mul" and out.dtype.is_float:
            relative = np.where(lane == 0, np.inf, full / np.abs(np.where(lane == 0, 1, lane)))
            relative = np.where(full == 0, 0.0, relative)
            factor = np.prod(1 + relative, axis=axis) * (1 + growth(n, unit(out.dtype)[0])) - 1
            below, most = self._range_of_partial_products(out, Hashed.full_axis(lane, x[0].shape, axis), axis)
            lost = np.where(below, n * unit(out.dtype)[1] * most * (1 + factor), 0.0)
            known = np.where(wide(out) == 0, np.where(full.sum(axis) == 0, 0.0, np.inf), np.abs(wide(out)) * factor)
            return np.where(most > format_of(out.dtype.name).max, np.inf, known + lost)
        return self.unknown(site, out, x, [full.sum(axis=axis)], growth)

    def in_any_order(self, out: Lanes, sums: Sums) -> Planes:
        """n - 1 roundings of the sum of magnitudes, whichever lane comes first."""
        steps, place = np.unique(np.maximum(sums.count, 1) - 1, return_inverse=True)
        unknown = ~np.isfinite(wide(out)[0])
        planes: Planes = {}
        for name, errors in sums.passed.items():
            growth = np.array([self._growth(out, GROWTH[name], int(n)) for n in steps])[place]
            planes[name] = np.where(unknown, np.inf, errors + growth * sums.size)
        return planes

    @staticmethod
    def _range_of_partial_products(out: Lanes, x: Array, axis: int) -> tuple[Array, Array]:
        """(whether some order of a product has a partial product that is subnormal, the largest of any order)."""
        size = np.abs(x)
        least, most = np.prod(np.minimum(size, 1), axis=axis), np.prod(np.maximum(size, 1), axis=axis)
        return (least < format_of(out.dtype.name).smallest_normal) & (x != 0).all(axis=axis), most

    @staticmethod
    def _normal(out: Lanes) -> float:
        return format_of(out.dtype.name).smallest_normal if out.dtype.is_float else 0.0

    @staticmethod
    def _growth(out: Lanes, growth: Any, n: int) -> float:
        return growth(n, unit(out.dtype)[0]) if out.dtype.is_float and n > 0 else 0.0

    def op_scan(self, site: Site, out: Lanes, x: Sequence[Lanes], e: Sequence[Array], growth: Any) -> Array:
        axis, combine, n = site.attrs["axis"] + 1, site.attrs["combine"], x[0].shape[site.attrs["axis"]]
        flip = (lambda a: np.flip(a, axis)) if site.attrs["reverse"] else (lambda a: a)
        full = flip(Hashed.full_axis(e[0], x[0].shape, axis))
        if combine in ("max", "min"):
            return flip(np.maximum.accumulate(full, axis=axis))
        if combine == "add":
            return flip(np.cumsum(full, axis=axis)) + self._prefixes(site, out, x[0], axis, growth)
        lane = flip(Hashed.full_axis(wide(x[0]), x[0].shape, axis))
        lost = np.logical_and.accumulate(lane != 0, axis=axis) & (np.abs(flip(wide(out))) < self._normal(out))
        known = (np.cumsum(full, axis=axis) == 0) & ~np.logical_or.accumulate(lost, axis=axis)
        return flip(np.where(known, np.abs(flip(wide(out))) * self._growth(out, growth, n), np.inf))

    def _prefixes(self, site: Site, out: Lanes, x: Lanes, axis: int, growth: Any) -> Array:
        """What adding up prefixes rounds: each prefix once where the scan is sequential, else each in any order."""
        if not out.dtype.is_float:
            return np.zeros((1,) * out.data.ndim)
        flip = (lambda a: np.flip(a, axis)) if site.attrs["reverse"] else (lambda a: a)
        if site.attrs["order"] == "sequential":
            each = flip(Hashed.full_axis(rounding(wide(out), out.dtype), out.shape, axis)).copy()
            each[(slice(None),) * axis + (0,)] = 0.0
            return flip(np.cumsum(each, axis=axis))
        terms = np.arange(x.shape[axis - 1]).reshape([-1 if d == axis else 1 for d in range(out.data.ndim)])
        factors = np.vectorize(lambda n: self._growth(out, growth, int(n)))(terms)
        size = np.cumsum(np.abs(flip(Hashed.full_axis(wide(x), x.shape, axis))), axis=axis)
        return flip(factors * size)

    def op_dot(self, site: Site, out: Lanes, x: Sequence[Lanes], e: Sequence[Array], growth: Any) -> Array:
        """|A| eB + eA |B| + eA eB and one rounding for each product and each addition."""
        if not out.dtype.is_float:
            largest = sum(float(np.max(v, initial=0.0)) for v in e)
            return self.unknown(site, out, x, [np.full((1,) * out.data.ndim, largest)], growth)
        a, b = (np.abs(lane.full(wide(lane))) for lane in x[:2])
        ea, eb = (lane.full(error) for lane, error in zip(x[:2], e[:2], strict=True))
        narrow = error_dots.COARSE.get(site.attrs["precision"])
        if narrow is not None:
            ea, eb = (error + (narrow[0] * v + narrow[1] * (v > 0)) for error, v in ((ea, a), (eb, b)))
        split = error_dots.SPLITS.get(site.attrs["precision"])
        if split is not None:
            ea, eb = ea + split.beyond(a), eb + split.beyond(b)
        n = a.shape[-1] * (split.products if split is not None else 1)
        if "size" not in self._known:
            self._known["size"] = ieee.product(a, b)
        size = self._known["size"]
        total = self._growth(out, growth, n + 1) * size
        if split is not None:
            total = total * split.spread + split.lost * size
        total = total + n * error_dots.underflow(x[0].dtype, x[1].dtype, out.dtype) * (
            size > 0
        )  # of products; sums do not underflow
        if ea.any() or eb.any():
            total = total + ieee.product(a + ea, eb) if eb.any() else total
            total = total + ieee.product(ea, b) if ea.any() else total
        if len(x) > 2:
            total = total + e[2] + self._growth(out, growth, n + 1) * np.abs(wide(x[2]))
        unknown = np.isnan(total)
        return np.where(unknown, np.inf, total) if unknown.any() else total

    def several(self, site: Site, outs: Sequence[Lanes], args: Sequence[Lanes], extra: Any = None) -> list[Planes]:
        """argmax pairs and sorts: values move by at most the largest error; places are sure where the gaps are wide."""
        axis = site.attrs["axis"] + 1
        keys = Hashed.full_axis(wide(args[0]), args[0].shape, axis)
        planes: list[Planes] = [{} for _ in outs]
        for name in self.names:
            largest = np.max(args[0].planes[name], axis=axis, keepdims=True)  # type: ignore[index]
            sure = largest == 0
            with np.errstate(invalid="ignore"):
                gaps = np.diff(np.sort(keys, axis=axis), axis=axis)
            if site.name == "reduce":
                edge = gaps.take([-1 if site.attrs["combine"] == "argmax" else 0], axis) if gaps.size else np.inf
                sure = sure | (edge > 2 * largest)
                value, place = largest.squeeze(axis), np.where(sure, 0.0, np.inf).squeeze(axis)
            else:
                sure = sure | np.asarray((gaps > 2 * largest).all(axis=axis, keepdims=True))
                value, place = largest, np.where(sure, 0.0, np.inf)
            for position, own in enumerate(planes):
                own[name] = value if position == 0 else place
        return planes


def _correct() -> Bound:
    """Of a correctly rounded operation."""
    return declared_bound("div", "f32", "exact")


def straddled(value: Array, ends: Sequence[Array], errors: Sequence[Array]) -> Array:
    """Largest distance of ``value`` from either end; never more than the largest operand's error."""
    most = errors[0]
    for error in errors[1:]:
        most = np.maximum(most, error)
    reach = np.maximum(np.abs(ends[0] - value), np.abs(ends[1] - value)) * (1 + 2.0**-50)
    return np.where(np.isnan(reach), most, np.minimum(reach, most))


def product_error(a: Array, b: Array, ea: Array, eb: Array) -> Array:
    """Error passed on by a product; 0 times unknown is still unknown, but 0 times exact is exact."""
    if not ea.any() and not eb.any():
        return np.zeros((1,) * a.ndim)
    error = np.abs(a) * eb + np.abs(b) * ea + ea * eb
    return np.where(np.isnan(error), np.inf, error) if np.isnan(error).any() else error


__all__ = ["ALL", "Error"]
