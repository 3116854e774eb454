"""The ring Z/(2^61-1), its matrix product and its hashes against Python integers."""

from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from equivalence.fields import limbs, mersenne, threads
from equivalence.fields.mersenne import FLAG, Mixer, P, Words

EDGES = [0, 1, 2, P - 1, P - 2, P // 2, P // 2 + 1, (1 << 60) - 1, 1 << 60, (1 << 42) - 1, (1 << 20), (1 << 21) - 1]
element = st.one_of(st.sampled_from(EDGES), st.integers(0, P - 1))


def draw(shape: tuple[int, ...], seed: int = 1) -> Words:
    return np.random.default_rng(seed).integers(0, P, shape, dtype=np.uint64)


def ints(a: Words) -> np.ndarray:
    return a.astype(object)


@settings(max_examples=200, deadline=None)
@given(element, element)
def test_scalar_operations_against_python(a: int, b: int) -> None:
    assert int(mersenne.add(a, b)) == (a + b) % P
    assert int(mersenne.sub(a, b)) == (a - b) % P
    assert int(mersenne.mul(a, b)) == a * b % P
    assert int(mersenne.neg(a)) == -a % P
    assert int(mersenne.mul(a, mersenne.inverse(a))) == (a != 0)


@settings(max_examples=50, deadline=None)
@given(element, element, element)
def test_ring_laws(a: int, b: int, c: int) -> None:
    left = mersenne.mul(a, mersenne.add(b, c))
    assert left == mersenne.add(mersenne.mul(a, b), mersenne.mul(a, c))
    assert mersenne.mul(mersenne.mul(a, b), c) == mersenne.mul(a, mersenne.mul(b, c))


@pytest.mark.parametrize("n", [1, 7, threads.PARALLEL_FROM + 13])
@pytest.mark.parametrize("shape", ["same", "scalar", "view", "row", "column"])
def test_broadcasting_in_one_thread_and_several(n: int, shape: str) -> None:
    a = draw((3, n))
    b = {
        "same": draw((3, n), 2),
        "scalar": draw((), 2),
        "view": np.broadcast_to(draw((), 2), (3, n)),
        "row": draw((n,), 2),
        "column": draw((3, 1), 2),
    }[shape]
    for name, law in {"add": lambda x, y: x + y, "sub": lambda x, y: x - y, "mul": lambda x, y: x * y}.items():
        got = getattr(mersenne, name)(a, b)
        assert got.shape == (3, n) and got.flags.writeable
        assert (ints(got) == law(ints(a), ints(b)) % P).all()


def test_flag_bits_are_ignored_and_results_are_clear() -> None:
    a, b = draw((50,)), draw((50,), 2)
    for f in (
        mersenne.add,
        mersenne.sub,
        mersenne.mul,
        lambda x, y: mersenne.mix(3, x, y),
        lambda x, y: mersenne.mix_sym(3, x, y),
    ):
        assert (f(a | FLAG, b) == f(a, b)).all() and (f(a, b) < P).all()
    assert (mersenne.sum_axis(a[:1] | FLAG, 0) == a[0]).all()
    assert (mersenne.matmul((a | FLAG)[None], b[:, None]) == mersenne.matmul(a[None], b[:, None])).all()


@pytest.mark.parametrize("axis", [0, 1, 2, -1, (0, 2), None])
def test_sums_and_products_over_axes(axis: int | tuple[int, ...] | None) -> None:
    a = draw((3, 5, 7))
    for keep in (False, True):
        assert (ints(mersenne.sum_axis(a, axis, keep)) == np.sum(ints(a), axis=axis, keepdims=keep) % P).all()
        assert (ints(mersenne.prod_axis(a, axis, keep)) == np.prod(ints(a), axis=axis, keepdims=keep) % P).all()


def test_long_and_empty_sums() -> None:
    full = np.full((2, 1 << 16), P - 1, np.uint64)
    assert mersenne.sum_axis(full, 1).tolist() == [-(1 << 16) % P] * 2
    assert mersenne.sum_axis(full, 0).tolist() == [P - 2] * (1 << 16)
    assert mersenne.sum_axis(full[:, :0], 1).tolist() == [0, 0]
    assert mersenne.prod_axis(full[:, :0], 1).tolist() == [1, 1]


@pytest.mark.parametrize("batch", [((), ()), ((4,), ()), ((2, 1), (3,))])
def test_matmul_against_python(batch: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    a, b = draw((*batch[0], 3, 5)), draw((*batch[1], 5, 7), 2)
    assert (ints(mersenne.matmul(a, b)) == np.matmul(ints(a), ints(b)) % P).all()


@pytest.mark.parametrize("value", EDGES)
def test_matmul_of_extreme_words_over_several_chunks(value: int) -> None:
    """Every term of every float64 sum has the same sign and the largest size: the bound in limbs.py is met."""
    k = 2 * limbs.K_CHUNK + 3
    a, b = np.full((2, k), value, np.uint64), np.full((k, 3), value, np.uint64)
    assert (ints(mersenne.matmul(a, b)) == k * value * value % P).all()


def test_matmul_worst_limbs_and_row_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    worst = sum(-(1 << 20) << s for s in (0, 21)) - ((1 << 18) << 42)
    a = np.full((5, limbs.K_CHUNK), worst % P, np.uint64)
    monkeypatch.setattr(limbs, "OUT_CHUNK", 6)
    assert (ints(mersenne.matmul(a, a.T[:, :3])) == limbs.K_CHUNK * worst * worst % P).all()


def test_limb_sums_stay_in_the_proved_range() -> None:
    words = np.array([*EDGES, *draw((1000,))], np.uint64)
    parts = limbs._split(words)
    value = sum(parts[i].astype(np.int64).astype(object) << (21 * i) for i in range(3))
    assert (value % P == ints(words) % P).all()
    assert np.abs(parts[:2]).max() <= 2**20 and np.abs(parts[2]).max() <= 2**18 and np.abs(parts).max() <= 2**21


def test_mix_is_ordered_tagged_and_in_range() -> None:
    a, b, c = draw((1000,)), draw((1000,), 2), draw((1000,), 3)
    variants = [
        mersenne.mix(1, a),
        mersenne.mix(2, a),
        mersenne.mix(1, a, b),
        mersenne.mix(1, b, a),
        mersenne.mix(1, a, b, c),
        mersenne.mix(1, a, c, b),
        mersenne.mix_sym(1, a, b),
        mersenne.mix(1, a, 0),
        mersenne.mix(1, a, 0, 0),
    ]
    assert len(np.unique(np.concatenate(variants))) == 1000 * len(variants)
    assert all((v > 0).all() and (v < P).all() for v in variants)


def test_mix_sym_forgets_order_and_nothing_else() -> None:
    a, b = draw((1000,)), draw((1000,), 2)
    assert (mersenne.mix_sym(5, a, b) == mersenne.mix_sym(5, b, a)).all()
    assert (mersenne.mix_sym(5, a, b) != mersenne.mix_sym(5, mersenne.add(a, 1), mersenne.sub(b, 1))).all()
    assert (mersenne.mix_sym(5, a, b) != mersenne.mix_sym(6, a, b)).all()


def test_seeds_are_independent_and_runs_repeat() -> None:
    a = draw((100,))
    assert (Mixer(1).mix(9, a) == Mixer(1).mix(9, a)).all() and (Mixer(1).mix(9, a) != Mixer(2).mix(9, a)).all()
    assert Mixer(1).leaf(0, "f32") != Mixer(1).leaf(0, "f16")


def test_mix_has_no_linear_structure() -> None:
    a = draw((2000,))
    step = mersenne.sub(mersenne.mix(1, mersenne.add(a, 1)), mersenne.mix(1, a))
    assert len(np.unique(step)) == 2000
    assert (mersenne.mix(1, mersenne.add(a, a)) != mersenne.mul(2, mersenne.mix(1, a))).all()


@pytest.mark.parametrize("bit", range(0, 61, 6))
def test_mix_avalanche(bit: int) -> None:
    a = draw((4000,))
    for flip in (
        mersenne.mix(1, a) ^ mersenne.mix(1, a ^ np.uint64(1 << bit)),
        mersenne.mix(1, 5, a) ^ mersenne.mix(1, 5, a ^ np.uint64(1 << bit)),
    ):
        rates = [np.mean((flip >> np.uint64(i)) & np.uint64(1)) for i in range(61)]
        assert min(rates) > 0.45 and max(rates) < 0.55


def test_mix_axis_is_ordered_and_knows_its_length() -> None:
    a = draw((3, 5, 7))
    for axis in (0, 1, 2, -1):
        h = mersenne.mix_axis(4, a, axis)
        flipped = mersenne.mix_axis(4, np.flip(a, axis), axis)
        assert h.shape == mersenne.sum_axis(a, axis).shape and (h != flipped).all()
    padded = np.concatenate([a, np.zeros((3, 5, 1), np.uint64)], 2)
    assert (mersenne.mix_axis(4, a) != mersenne.mix_axis(4, padded)).all()
    assert (mersenne.mix_axis(4, a, 1) == mersenne.mix_axis(4, a.transpose(0, 2, 1), 2)).all()


def test_large_arrays_agree_with_small_ones() -> None:
    a, b = draw((2 * threads.PARALLEL_FROM,)), draw((2 * threads.PARALLEL_FROM,), 2)
    for f in (
        lambda x, y: mersenne.mix(1, x),
        lambda x, y: mersenne.mix(1, x, y),
        lambda x, y: mersenne.mix(1, x, y, x),
        lambda x, y: mersenne.mix(1, x, 7),
        lambda x, y: mersenne.mix_sym(1, x, y),
    ):
        assert (f(a, b)[-99:] == f(a[-99:], b[-99:])).all()


def test_speed_of_a_large_matmul() -> None:
    a, b = draw((1024, 1024)), draw((1024, 1024), 2)
    start = time.perf_counter()
    got = mersenne.matmul(a, b)
    print(f"1024^3 mod 2^61-1: {time.perf_counter() - start:.2f} s")
    assert int(got[5, 77]) == sum(int(x) * int(y) for x, y in zip(a[5], b[:, 77])) % P
