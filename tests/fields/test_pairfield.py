"""Safe primes, residues and pairs against sympy and Python integers, and the laws that `real` leans on."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sympy import is_quad_residue, isprime
from sympy.ntheory import n_order

from equivalence.fields import primes, residues, threads
from equivalence.fields.pairfield import Pair, pair_field
from equivalence.fields.residues import Modulus

PRIME = primes.choose(seed=1)[0]
FIELD = pair_field(PRIME)
MODULI = [FIELD.v, FIELD.w]
both = pytest.mark.parametrize("field", MODULI, ids=["p", "q"])


def draw(field: Modulus, shape: tuple[int, ...], seed: int = 1) -> residues.Residues:
    return np.random.default_rng(seed).integers(0, field.m, shape, dtype=np.uint32)


def edges(field: Modulus) -> list[int]:
    return [0, 1, 2, field.m // 2, field.m // 2 + 1, field.m - 2, field.m - 1, 8191, 8192]


@pytest.mark.parametrize("p", primes.SAFE_PRIMES)
def test_primes_are_safe_and_of_the_right_kind(p: int) -> None:
    q = (p - 1) // 2
    assert isprime(p) and isprime(q) and p < 2**26 and p % 8 == 7 and q % 4 == 3
    assert is_quad_residue(2, p) and not is_quad_residue(-1 % p, p)


def test_choice_by_seed() -> None:
    assert primes.choose(3, 6) == primes.choose(3, 6) and primes.choose(3) != primes.choose(4)
    assert len({s.p for s in primes.choose(5, 12)}) == 12
    for s in primes.choose(7, 3):
        assert n_order(s.g, s.p) == s.q
    with pytest.raises(ValueError, match="count is 13"):
        primes.choose(1, 13)


@both
def test_every_pair_of_edges_against_python(field: Modulus) -> None:
    a = np.array(edges(field), np.uint32)
    x, y = a[:, None].astype(object), a[None].astype(object)
    assert (field.add(a[:, None], a) == (x + y) % field.m).all()
    assert (field.sub(a[:, None], a) == (x - y) % field.m).all()
    assert (field.mul(a[:, None], a) == (x * y) % field.m).all()
    assert (field.neg(a) == -a.astype(object) % field.m).all()


@both
@pytest.mark.parametrize("n", [5, threads.PARALLEL_FROM + 7])
def test_random_lanes_against_python(field: Modulus, n: int) -> None:
    a = draw(field, (2, n))
    for b in (draw(field, (2, n), 2), draw(field, (), 2), draw(field, (n,), 2), draw(field, (2, 1), 2)):
        assert (field.mul(a, b) == a.astype(object) * b.astype(object) % field.m).all()
        assert (field.add(a, b) == (a.astype(object) + b.astype(object)) % field.m).all()
        assert (field.sub(a, b) == (a.astype(object) - b.astype(object)) % field.m).all()


@both
def test_largest_products_reduce_fully(field: Modulus) -> None:
    """The Barrett bound: products next to multiples of m and next to m^2."""
    top = np.arange(field.m - 3000, field.m, dtype=np.uint32)
    assert (field.mul(top, top[::-1]) == top.astype(object) * top[::-1].astype(object) % field.m).all()
    b = np.arange(1, 3001, dtype=np.uint32)
    near = np.array([pow(int(x), -1, field.m) for x in b], np.uint32)
    assert (field.mul(b, near) == 1).all() and (field.mul(field.neg(b), near) == field.m - 1).all()


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_field_laws(data: st.DataObject) -> None:
    field = data.draw(st.sampled_from(MODULI))
    a, b, c = (data.draw(st.one_of(st.sampled_from(edges(field)), st.integers(0, field.m - 1))) for _ in range(3))
    assert field.mul(a, field.add(b, c)) == field.add(field.mul(a, b), field.mul(a, c))
    assert field.mul(field.mul(a, b), c) == field.mul(a, field.mul(b, c))
    assert field.sub(a, b) == field.neg(field.sub(b, a))
    root_a, root_b, root_ab = (field.sqrt(x)[0] for x in (a, b, field.mul(a, b)))
    assert field.mul(root_a, root_b) == root_ab


@both
@pytest.mark.parametrize("n", [1, 63, 64, 65, 4096 + 130, 2 * threads.PARALLEL_FROM + 77])
def test_inverses_with_zero_lanes(field: Modulus, n: int) -> None:
    a = draw(field, (n,))
    a[:: max(n // 9, 1)] = 0
    inverse, zero = field.inverse(a)
    assert (zero == (a == 0)).all() and (inverse[zero] == 0).all()
    assert (field.mul(a, inverse)[~zero] == 1).all()


@both
def test_division_and_rationals(field: Modulus) -> None:
    quotient, zero = field.div(draw(field, (3, 1)), np.array([5, 0, 7], np.uint32))
    assert zero.tolist() == [False, True, False] and (field.mul(quotient[:, 0], 5) == draw(field, (3,))).all()
    assert field.rational(1, 3) == int(field.inverse(3)[0]) and field.rational(1, field.m) is None


@both
@pytest.mark.parametrize("n", [0, 1, 2, 3, 17, -1, -5, 10**12])
def test_powers_against_python(field: Modulus, n: int) -> None:
    a = draw(field, (1300,)) + np.uint32(0)
    a[:3] = [1, 2, field.m - 1]
    assert (field.power(a, n) == [pow(int(x), n, field.m) for x in a]).all()
    assert field.power(0, n) == (1 if n == 0 else 0)


@both
def test_roots_are_squares_themselves_and_non_residues_are_flagged(field: Modulus) -> None:
    a = draw(field, (700,))
    a[0] = 0
    root, bad = field.sqrt(a)
    assert bad.tolist() == [not is_quad_residue(int(x), field.m) for x in a]
    assert (field.mul(root, root) == np.where(bad, field.neg(a), a)).all()
    assert not field.sqrt(root[~bad])[1].any()


@both
@pytest.mark.parametrize("axis", [0, 1, -1, (0, 2), None])
def test_sums(field: Modulus, axis: int | tuple[int, ...] | None) -> None:
    a = draw(field, (3, 5, 7))
    for keep in (False, True):
        assert (field.sum_axis(a, axis, keep) == np.sum(a.astype(object), axis=axis, keepdims=keep) % field.m).all()


@both
def test_running_sums_and_products(field: Modulus) -> None:
    a = draw(field, (3, 5, 7))
    for axis in (0, 1, 2, -1):
        assert (field.cumsum_axis(a, axis) == np.cumsum(a.astype(object), axis) % field.m).all()
        assert (field.prod_axis(a, axis) == np.prod(a.astype(object), axis) % field.m).all()
    assert (field.prod_axis(a[:0], 0) == 1).all() and (field.sum_axis(a[:0], 0) == 0).all()


@both
@pytest.mark.parametrize("batch", [((), ()), ((4,), ()), ((2, 1), (3,))])
def test_matmul_against_python(field: Modulus, batch: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    a, b = draw(field, (*batch[0], 3, 5)), draw(field, (*batch[1], 5, 7), 2)
    assert (field.matmul(a, b) == np.matmul(a.astype(object), b.astype(object)) % field.m).all()


@both
def test_matmul_of_the_largest_limbs_over_several_chunks(field: Modulus, monkeypatch: pytest.MonkeyPatch) -> None:
    depth = 2 * residues.K_CHUNK + 5
    monkeypatch.setattr(residues, "OUT_CHUNK", 7)
    for x in (field.m // 2, field.m // 2 + 1, field.m - 1):
        for y in (field.m - 1, (field.m >> 13 << 13) - 1):
            got = field.matmul(np.full((5, depth), x, np.uint32), np.full((depth, 3), y, np.uint32))
            assert (got == depth * x * y % field.m).all()


def test_exp_is_a_homomorphism_and_log_undoes_it() -> None:
    w, u = draw(FIELD.w, (1000,)), draw(FIELD.w, (1000,), 2)
    assert (FIELD.exp(w)[:50] == [pow(PRIME.g, int(x), PRIME.p) for x in w[:50]]).all()
    assert (FIELD.exp(FIELD.w.add(w, u)) == FIELD.v.mul(FIELD.exp(w), FIELD.exp(u))).all()
    back, missing = FIELD.log(FIELD.exp(w))
    assert (back == w).all() and not missing.any()
    assert FIELD.exp(np.array([0, PRIME.q - 1]))[0] == 1


def test_log_flags_zero_and_non_squares() -> None:
    v = np.concatenate([[0, 1, PRIME.p - 1], draw(FIELD.v, (500,))]).astype(np.uint32)
    w, missing = FIELD.log(v)
    assert missing.tolist() == [x == 0 or not is_quad_residue(int(x), PRIME.p) for x in v]
    assert (FIELD.exp(w)[~missing] == v[~missing]).all() and FIELD.log_of(PRIME.p - 1) is None
    assert FIELD.log_of(2) is not None and FIELD.log_of(1) == 0


def test_pairs_act_channel_by_channel() -> None:
    rng = np.random.default_rng(3)
    a, b = FIELD.random(rng, (3, 5)), FIELD.random(rng, (3, 5))
    cases: list[tuple[Pair, Callable[[Modulus, int], object]]] = [
        (FIELD.add(a, b), lambda f, c: f.add(a[c], b[c])),
        (FIELD.sub(a, b), lambda f, c: f.sub(a[c], b[c])),
        (FIELD.mul(a, b), lambda f, c: f.mul(a[c], b[c])),
        (FIELD.neg(a), lambda f, c: f.neg(a[c])),
        (FIELD.div(a, b)[0], lambda f, c: f.div(a[c], b[c])[0]),
        (FIELD.inverse(a)[0], lambda f, c: f.inverse(a[c])[0]),
        (FIELD.sqrt(a)[0], lambda f, c: f.sqrt(a[c])[0]),
        (FIELD.power(a, 3), lambda f, c: f.power(a[c], 3)),
        (FIELD.sum_axis(a, 0), lambda f, c: f.sum_axis(a[c], 0)),
        (FIELD.cumsum_axis(a, 1), lambda f, c: f.cumsum_axis(a[c], 1)),
        (FIELD.matmul(a, Pair(b.v.T, b.w.T)), lambda f, c: f.matmul(a[c], b[c].T)),
    ]
    for got, law in cases:
        assert (got.v == law(FIELD.v, 0)).all() and (got.w == law(FIELD.w, 1)).all()
    assert FIELD.from_int(np.array([-1])) == (PRIME.p - 1, PRIME.q - 1)


def test_two_pass_softmax_equals_the_online_one_and_not_a_wrong_one() -> None:
    """What the pair is for: the maximum that is subtracted cancels, exactly, and a missing rescale does not."""
    rng = np.random.default_rng(4)
    x, m1, m2 = FIELD.w.random(rng, (8,)), FIELD.w.random(rng), FIELD.w.random(rng)

    def softmax(m: residues.Residues) -> residues.Residues:
        e = FIELD.exp(FIELD.w.sub(x, m))
        return FIELD.v.div(e, FIELD.v.sum_axis(e, 0))[0]

    assert (softmax(m1) == softmax(m2)).all()
    first, rest = (FIELD.v.sum_axis(FIELD.exp(FIELD.w.sub(part, m)), 0) for part, m in ((x[:4], m1), (x[4:], m2)))
    rescaled = FIELD.v.add(FIELD.v.mul(first, FIELD.exp(FIELD.w.sub(m1, m2))), rest)
    assert rescaled == FIELD.v.sum_axis(FIELD.exp(FIELD.w.sub(x, m2)), 0) and rescaled != FIELD.v.add(first, rest)
