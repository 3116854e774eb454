"""Integer inputs as numbers: what holds for every value is `real`, what holds for the given ones is not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from equivalence.evaluator import Machine
from equivalence.fields.primes import choose
from equivalence.interpretations.real import Real
from equivalence.interpretations.real_bits import ONE, Bits
from lowering.ir.program import Value
from tests.semantics.programs import EQUAL, Body, Kit, Level, judged, level, program

Q, W8, X, S = "u8[3,5]", "i8[3,5]", "f32[3,5]", "f32[5]"
RANGES = ("u8[3,5] in [0,256)",)


def nibble(k: Kit, q: Value, high: bool) -> Value:
    return k.b("shr", q, k.lit(4, q)) if high else k.b("and", q, k.lit(15, q))


def signed_by_xor(k: Kit, q: Value) -> Value:
    low = k.cast(nibble(k, q, False), "i32")
    return k.sub(k.b("xor", low, k.lit(8, low)), 8)


def signed_by_shifts(k: Kit, q: Value) -> Value:
    moved = k.b("bitcast", k.b("shl", q, k.lit(4, q)), to="i8")
    return k.cast(k.b("shr", moved, k.lit(4, moved)), "i32")


def repacked(k: Kit, q: Value, by: int = 16) -> Value:
    low, high = (k.cast(nibble(k, q, h), "i32") for h in (False, True))
    return k.b("shr", k.add(low, k.mul(high, by)), k.lit(4, low))


def remainder(k: Kit, w: Value) -> Value:
    """Modulo 1024, of a value of eight bits."""
    wide = k.cast(w, "i32")
    return k.b("rem", wide, k.lit(1024, wide), rounding="floor")


def moved(k: Kit, w: Value, by: float, to: str = "f32") -> Value:
    """value + by, by way of another type."""
    return k.cast(k.cast(k.add(k.cast(w, "f32"), by), to), "f32")


def turned(k: Kit, q: Value, x: Value, y: Value, most: float | None = None) -> Value:
    """y or 2 y, by the sign of (q - 5.5) x; ``most``: and of most - q."""
    factor = k.sub(k.cast(q, "f32"), 5.5)
    if most is not None:
        factor = k.mul(factor, k.add(k.mul(k.cast(q, "f32"), -1.0), most))
    return k.where(k.cmp("gt", k.mul(factor, x), 0.0), y, k.mul(y, 2.0))


def chosen(k: Kit, w: Value, c: Value, x: Value) -> Value:
    """An integer by the sign of a float."""
    return k.where(k.cmp("gt", x, 0.0), w, c)


def rowwise(body: Any) -> Body:
    """(a sum along the rows of what floats choose) * the sum of x."""
    return lambda k, w, c, x: k.mul(k.cast(body(k, chosen(k, w, c, x)), "f32"), k.sum(x))


def scanned(k: Kit, w: Value) -> Value:
    return k.column(k.b("scan", w, axis=1, combine="add", reverse=False), 4)


def dot(k: Kit, *xs: Value, to: str = "i32") -> Value:
    """x y + start, scaled."""
    x, y, start, scale = xs
    parts = [x, y, start] if to == "i32" else [k.cast(v, to) for v in (x, y, start)]
    precision = {"precision": "ieee"} if to == "f32" else {}
    return k.mul(k.cast(k.b("dot", *parts, acc=to, **precision), "f32"), scale)


def again(k: Kit, x: Value, y: Value, start: Value, scale: Value) -> Value:
    """x y + (x y + start), the inner sum in i32, scaled."""
    return dot(k, x, y, k.b("dot", x, y, start, acc="i32"), scale)


def relu(inside: bool) -> Body:
    return lambda k, w, x: k.max(k.mul(k.cast(w, "f32"), x), 0.0) if inside else k.mul(k.cast(w, "f32"), k.max(x, 0.0))


def number(body: Any, zero: float = 8.0) -> Body:
    """(value - zero) * x, a float."""
    return lambda k, q, x: k.mul(k.sub(k.cast(body(k, q), "f32"), zero), x)


PROVED: dict[str, tuple[Body, Body, tuple[str, ...]]] = {
    "the zero point as a number": (
        number(lambda k, q: nibble(k, q, False)),
        lambda k, q, x: k.mul(k.cast(k.sub(k.cast(nibble(k, q, False), "i32"), 8), "f32"), x), (Q, X)),
    "scales after the sum": (
        lambda k, w, x, s: k.sum(k.mul(k.mul(k.cast(w, "f32"), s), x)),
        lambda k, w, x, s: k.sum(k.mul(k.mul(k.cast(k.cast(w, "i32"), "f32"), x), s)), (W8, X, X)),
    "high nibbles by division": (
        number(lambda k, q: nibble(k, q, True)),
        number(lambda k, q: k.b("div", q, k.lit(16, q), rounding="floor")), (Q, X)),
    "low nibbles by remainder": (
        number(lambda k, q: nibble(k, q, False)),
        number(lambda k, q: k.b("rem", q, k.lit(16, q), rounding="trunc")), (Q, X)),
    "signed nibbles": (number(signed_by_xor, 0.0), number(signed_by_shifts, 0.0), (Q, X)),
    "packed again": (number(lambda k, q: nibble(k, q, True)), number(repacked), (Q, X)),
    "sums of products in i32": (
        lambda k, a, b: k.cast(k.sum(k.mul(k.cast(a, "i32"), k.cast(b, "i32"))), "f32"),
        lambda k, a, b: k.sum(k.mul(k.cast(a, "f32"), k.cast(b, "f32"))), (W8, W8)),
    "remainders by more than the value": (
        number(remainder, 0.0), number(lambda k, w: k.b("and", k.cast(w, "i32"), k.lit(1023, k.cast(w, "i32"))), 0.0),
        (W8, X)),
    "a number that is an i8 again": (
        number(lambda k, w: w), lambda k, w, x: k.mul(moved(k, k.cast(k.cast(w, "f32"), "i8"), -8.0), x), (W8, X)),
    "sums in i32 of what floats choose": (
        rowwise(lambda k, w: k.sum(k.cast(w, "i32"))), rowwise(lambda k, w: k.sum(k.cast(w, "f32"))), (W8, W8, X)),
    "a relu before factors that are not negative": (relu(True), relu(False), (Q, X)),
}  # fmt: skip
OTHER: dict[str, tuple[Body, Body, tuple[str, ...]]] = {
    "a mask of three bits": (
        number(lambda k, q: nibble(k, q, False)), number(lambda k, q: k.b("and", q, k.lit(7, q))), (Q, X)),
    "a zero point of 7": (
        number(lambda k, q: nibble(k, q, True)), number(lambda k, q: nibble(k, q, True), 7.0), (Q, X)),
    "the zero point in eight bits": (
        number(lambda k, q: nibble(k, q, False)),
        lambda k, q, x: k.mul(k.cast(k.sub(nibble(k, q, False), 8), "f32"), x), (Q, X)),
    "signed and not": (number(signed_by_xor, 0.0), number(lambda k, q: nibble(k, q, False), 0.0), (Q, X)),
    "packed by 8": (number(lambda k, q: nibble(k, q, True)), number(lambda k, q: repacked(k, q, 8)), (Q, X)),
    "products that wrap in i8": (
        lambda k, a, b: k.cast(k.mul(a, b), "f32"),
        lambda k, a, b: k.mul(k.cast(a, "f32"), k.cast(b, "f32")), (W8, W8)),
    "|x| as x": (lambda k, w, x: k.mul(k.cast(k.b("abs", w), "f32"), x),
                 lambda k, w, x: k.mul(k.cast(w, "f32"), x), (W8, X)),
    "a relu of the number alone": (
        lambda k, w, x: k.mul(k.max(k.cast(w, "f32"), -100.0), x), lambda k, w, x: k.mul(k.cast(w, "f32"), x), (W8, X)),
    "a threshold that no given value meets": (
        lambda k, w, x: k.where(k.cmp("gt", w, 120), x, k.mul(k.mul(x, 3.0), k.cast(w, "f32"))),
        lambda k, w, x: k.mul(x, k.mul(k.cast(w, "f32"), 3.0)), (W8, X)),
    "a remainder as the value": (number(remainder, 0.0), number(lambda k, w: w, 0.0), (W8, X)),
    "an i32 as a float as i8": (
        number(lambda k, w: w, 0.0), lambda k, w, x: k.mul(moved(k, w, 0.0, "i8"), x), ("i32[3,5]", X)),
    "a sum of floats as i8": (
        lambda k, w, x: k.mul(moved(k, w, 100.0), x), lambda k, w, x: k.mul(moved(k, w, 100.0, "i8"), x), (W8, X)),
    "a relu before any factors": (relu(True), relu(False), (W8, X)),
    "absolute values of products": (
        lambda k, w, x: k.b("abs", k.mul(k.cast(w, "f32"), x)),
        lambda k, w, x: k.mul(k.cast(w, "f32"), k.b("abs", x)), (W8, X)),
    "a sign that turns beyond what is given": (turned, lambda k, *xs: turned(k, *xs, most=200.0), (Q, X, X)),
    "sums in i8 of what floats choose": (
        rowwise(Kit.sum), rowwise(lambda k, w: k.sum(k.cast(w, "i32"))), (W8, W8, X)),
    "running sums in i8 of what floats choose": (
        rowwise(scanned), rowwise(lambda k, w: scanned(k, k.cast(w, "i32"))), (W8, W8, X)),
    "a sum in i32 of what floats choose, as i8": (
        rowwise(lambda k, w: k.cast(k.sum(k.cast(w, "i32")), "i8")), rowwise(lambda k, w: k.sum(k.cast(w, "i32"))),
        (W8, W8, X)),
    "an i32 that floats choose, as i16": (
        rowwise(lambda k, w: k.column(k.cast(w, "i16"), 0)), rowwise(lambda k, w: k.column(w, 0)),
        ("i32[3,5]", "i32[3,5]", X)),
    "an i8 that floats choose, as u8": (
        rowwise(lambda k, w: k.column(k.cast(w, "u8"), 0)), rowwise(lambda k, w: k.column(w, 0)), (W8, W8, X)),
    "w / w as 1": (
        lambda k, w, x: k.mul(k.div(moved(k, w, 0.0), moved(k, w, 0.0)), x),
        lambda k, w, x: k.mul(x, moved(k, k.sub(w, w), 1.0)), (W8, X)),
}  # fmt: skip


@pytest.mark.parametrize("kind", ["i8", "u8"])
def test_one_integer_is_drawn_with_both_signs(kind: str) -> None:
    data = {"x0": np.array(3, np.int8 if kind == "i8" else np.uint8), "x1": np.linspace(-1, 1, 5, dtype=np.float32)}

    def spread(inside: bool) -> Body:
        return lambda k, w, x: relu(inside)(k, k.b.broadcast(w, (5,), ()), x)

    found = level(spread(True), spread(False), f"{kind}[]", "f32[5]", data=data)
    assert (found in EQUAL) == (kind == "u8")


@pytest.mark.parametrize(("start", "right"), [("i32", False), ("i16", True)])
def test_products_on_an_accumulator(start: str, right: bool) -> None:
    """An accumulator that may hold any i32 may wrap."""

    def ints(k: Kit, x: Value, y: Value, a: Value, s: Value) -> Value:
        return again(k, x, y, k.cast(a, "i32") if start == "i16" else a, s)

    def floats(k: Kit, x: Value, y: Value, a: Value, s: Value) -> Value:
        return k.mul(k.add(k.mul(dot(k, x, y, k.mul(a, 0), k.lit(1.0, s), to="f32"), 2.0), k.cast(a, "f32")), s)

    specs = ("i8[3,4]", "i8[4,5]", f"{start}[3,5]", "f32[3,5]")
    assert (level(ints, floats, *specs) in EQUAL) == right


@pytest.mark.parametrize("name", PROVED)
def test_functions_of_all_values_are_real(name: str) -> None:
    assert level(*PROVED[name][:2], *PROVED[name][2]) in EQUAL


@pytest.mark.parametrize("name", OTHER)
def test_other_functions_are_not(name: str) -> None:
    """Values in [0, 8) do not tell all of these apart."""
    assert level(*OTHER[name][:2], *OTHER[name][2]) not in EQUAL


@pytest.mark.parametrize(("by", "right"), [("i8", False), ("i64", True)])
def test_products_of_quantised_numbers_as_another_type(by: str, right: bool) -> None:
    """All given integers are 0: nothing that is tried overflows."""

    def body(to: str) -> Body:
        return lambda k, w, x, s: k.mul(
            k.cast(k.cast(k.b("dot", k.cast(k.mul(x, 3.0), "i8"), w, acc="i32"), to), "f32"), s
        )

    specs = ("i8[4,5]", "f32[3,4]", "f32[3,5]")
    data = {"x0": np.zeros((4, 5), np.int8), "x1": np.ones((3, 4), np.float32), "x2": np.ones((3, 5), np.float32)}
    assert (level(body(by), body("i32"), *specs, data=data) in EQUAL) == right


def test_common_bits_are_not_those_that_differ() -> None:
    """Both are 0 where every given value is."""
    data = {"x0": np.zeros((3, 5), np.uint8), "x1": np.zeros((3, 5), np.uint8), "x2": np.ones((3, 5), np.float32)}

    def operated(name: str) -> Body:
        return lambda k, a, b, x: k.mul(k.cast(k.b(name, a, b), "f32"), x)

    assert level(operated("and"), operated("xor"), Q, Q, X, data=data) not in EQUAL
    assert level(operated("xor"), operated("xor"), Q, Q, X, data=data) in EQUAL


def test_integers_out_of_integers() -> None:
    assert level(signed_by_xor, signed_by_shifts, Q) is Level.REAL
    assert level(signed_by_xor, lambda k, q: k.cast(nibble(k, q, False), "i32"), Q) not in EQUAL


def test_declared_ranges_are_bits_that_are_zero() -> None:
    """Four bits of an i32 are itself; of five they are not, though no given value shows it."""
    bodies: tuple[Body, Body] = (number(lambda k, q: k.b("and", q, k.lit(15, q))), number(lambda k, q: q))
    data = {"x0": np.arange(15, dtype=np.int32).reshape(3, 5) % 11, "x1": np.ones((3, 5), np.float32)}
    found = {}
    for most in (16, 17):
        given = (f"x0=i32[3,5] in [0,{most})", X)
        found[most] = judged(*bodies, "i32[3,5]", X, data=data, inputs=given).verdict.level
    assert found[16] in EQUAL and found[17] not in EQUAL


class Plain(Bits):
    """Bits whose residues are the bits that the run has: then every residue is the integer itself."""

    def __init__(self, channels: Any) -> None:
        super().__init__(channels)
        self.value: dict[int, int] = {0: 0}

    def made(self, ids: Any, data: Any, origins: Any, data_mark: bool = False) -> Any:
        for k in range(ids.shape[-1]):
            bare = (ids[..., k] & ~ONE).reshape(-1)
            bits = (np.broadcast_to(data, ids.shape[:-1]).astype(np.int64) >> min(k, 63)).reshape(-1) & 1
            for one, bit in zip(bare.tolist(), bits.tolist(), strict=True):
                self.value.setdefault(one, bit)
        return super().made(ids, data, origins, data_mark)

    def _residues(self, ids: Any, channel: int, field: Any) -> Any:
        bits = np.array([self.value[one] for one in (ids & ~ONE).reshape(-1).tolist()], np.uint32).reshape(ids.shape)
        return np.where((ids & ONE) != 0, 1 - bits, np.where((ids & ~ONE) == 0, 0, bits)).astype(np.uint32)


@pytest.mark.parametrize("kind", ["u8", "i8", "i16", "i32"])
@pytest.mark.parametrize("seed", range(6))
def test_residues_of_bits_are_the_integers(kind: str, seed: int) -> None:
    """Chains of operations with constants, at random: with plain bits for residues the sum of bits is the value."""
    rng = np.random.default_rng([seed, *kind.encode()])

    def body(k: Kit, q: Value) -> list[Value]:
        outs, x = [], q
        for _ in range(6):
            name = rng.choice(["and", "or", "xor", "not", "shl", "shr", "cast", "add", "sub", "mul", "div", "rem"])
            bits = x.type.dtype.bits
            if name == "not":
                x = k.b("not", x)
            elif name == "cast":
                x = k.cast(x, str(rng.choice(["u8", "i8", "i16", "u16", "i32"])))
            elif name in ("shl", "shr"):
                x = k.b(str(name), x, k.lit(int(rng.integers(0, bits)), x))
            elif name in ("div", "rem"):
                x = k.b(
                    str(name),
                    x,
                    k.lit(1 << int(rng.integers(0, bits - 1)), x),
                    rounding=str(rng.choice(["floor", "trunc"])),
                )
            else:
                x = k.b(str(name), x, k.lit(int(rng.integers(0, 1 << (bits - 2))), x))
            outs.append(x)
        return outs

    real = Real(seed, choose(0, 1)[0])
    real.bits = Plain(real.channels)
    made = program(body, f"{kind}[40]")
    info = np.iinfo(np.dtype({"u8": "uint8", "i8": "int8", "i16": "int16", "i32": "int32"}[kind]))
    data = {"x0": rng.integers(info.min, info.max, 40, endpoint=True).astype(info.dtype)}
    for lanes in Machine(made, [real]).run(data).outputs.values():
        assert lanes.planes is not None
        v, w = real.channels.integers(lanes.data.astype(np.int64))
        assert (lanes.full(lanes.planes["v"]) == v).all() and (lanes.full(lanes.planes["w"]) == w).all()
