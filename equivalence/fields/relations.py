"""Takes the constants of two programs that mean nothing by themselves, gives meanings under which one side's follow
from the other side's: the host of one program has folded 1/(1 - beta^3), the other divides by 1 - beta^3.

A relation c = f(x) is used where some number that rounds to x is taken by f to one that rounds to c, where c and x are
constants of one side only, and no other relation fits c.  Among a few hundred candidates a constant of f32 that means
nothing meets one by chance in one of 10^4.  Must not know programs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

from equivalence.fields.formats import FORMATS, rational
from equivalence.fields.forms import Form, exact

Constant = tuple[str, float]

#: Formats in which a chance meeting is rare.
PRECISE = frozenset(["f32", "f64"])
MOST = 8  # constants that one side alone has
_PARTS = [Fraction(k, 8) for k in range(9)]
_PURE = [Form(Fraction(1), ln2=-1), Form(Fraction(1), ln2=1)]


@dataclass(frozen=True)
class Relation:
    """c = f(x): ``ahead`` takes a number for x to the one for c, ``back`` the other way; None where it is no form."""

    words: str
    ahead: Callable[[Form], Form | None]
    back: Callable[[Form], Form | None]


def _square(x: Form) -> Form | None:
    return x.times(x)


def _inverse_root(x: Form) -> Form | None:
    root = x.sqrt()
    return None if root is None else root.inverse()


def _inverse_square(x: Form) -> Form | None:
    square = x.times(x)
    return None if square is None else square.inverse()


def _below_one(x: Form) -> Form | None:
    return exact(1 - x.rational) if x.is_rational else None


def _times(y: Form) -> Callable[[Form], Form | None]:
    return lambda x: x.times(y)


def _over(y: Form) -> Callable[[Form], Form | None]:
    inverse = y.inverse()
    return lambda x: None if inverse is None else x.times(inverse)


def _into(y: Form) -> Callable[[Form], Form | None]:
    def quotient(x: Form) -> Form | None:
        inverse = x.inverse()
        return None if inverse is None else y.times(inverse)

    return quotient


def relations(factors: Iterable[Form], *, known: bool) -> Iterator[Relation]:
    """1/x, 1 - x, x^2, and products and quotients with ``factors``; roots of an x that is ``known``: d^(1/4) of √d."""
    yield Relation("1/({})", Form.inverse, Form.inverse)
    yield Relation("1 - {}", _below_one, _below_one)
    yield Relation("({})^2", _square, Form.sqrt)
    if known:
        yield Relation("the root of {}", Form.sqrt, _square)
        yield Relation("1 / the root of {}", _inverse_root, _inverse_square)
    for y in factors:
        yield Relation(f"{y.words()} * ({{}})", _times(y), _over(y))
        yield Relation(f"{y.words()} / ({{}})", _into(y), _into(y))
        yield Relation(f"({{}}) / ({y.words()})", _over(y), _times(y))


def related(
    alone_a: Iterable[Constant], alone_b: Iterable[Constant], known: Mapping[Constant, Form]
) -> tuple[dict[Constant, Form], list[str]]:
    """Meanings for constants that are on one side only and stand for nothing known; and each relation in words.

    ``known``: what the recognised constants of either side stand for.
    """
    meaning: dict[Constant, Form] = {}
    said: list[str] = []
    a, b = ([c for c in side if c[0] in PRECISE and c[1] > 0] for side in (alone_a, alone_b))
    if max(len(a), len(b)) > MOST:  # tables: what a host has folded are a few numbers
        return {}, []
    factors = list(dict.fromkeys([*known.values(), *_PURE]))
    for c in [*a, *b]:
        if c in meaning or c in known:
            continue
        others = [x for x in (b if c in a else a) if x not in meaning]
        fitting = {(x, *forms): words for x, words, *forms in _fitting(c, others, known, factors)}
        if len(fitting) == 1:
            ((x, for_c, for_x), words) = next(iter(fitting.items()))
            meaning[c], meaning[x] = for_c, for_x
            said.append(f"{c[0]} {c[1]!r} is {words.format(f'{x[0]} {x[1]!r}')} rounded to {c[0]}")
    return {c: form for c, form in meaning.items() if c not in known}, said


def _fitting(
    c: Constant, others: Iterable[Constant], known: Mapping[Constant, Form], factors: Iterable[Form]
) -> Iterator[tuple[Constant, str, Form, Form]]:
    for x in others:
        for relation in relations(factors, known=x in known):
            found = _numbers(c, x, known.get(x), relation)
            if found is not None:
                yield x, relation.words, *found
            if x in known or relation.words != "({})^2":
                continue
            found = _numbers(x, c, None, relation)  # c as the root of x
            if found is not None:
                yield x, "the root of {}", found[1], found[0]


def _numbers(c: Constant, x: Constant, form: Form | None, relation: Relation) -> tuple[Form, Form] | None:
    """(for c, for x): numbers that round to the two constants and are so related."""
    if form is not None:
        made = relation.ahead(form)
        return (made, form) if made is not None and _rounds(made, c) else None
    if not _near(c, relation.ahead(exact(x[1]))):
        return None
    for number in _candidates(c, x, relation):
        made = relation.ahead(number)
        if made is not None and _rounds(made, c) and _rounds(number, x):
            return made, number
    return None


def _near(c: Constant, made: Form | None) -> bool:
    """Within two ulp of c: 1 - x makes much of the rounding of an x next to 1, and then means little."""
    if made is None:
        return False
    value = made.rational if made.is_rational else rational(made.value())
    return abs(value - Fraction(c[1])) <= 2 * FORMATS[c[0]].ulp(Fraction(c[1]))


def _candidates(c: Constant, x: Constant, relation: Relation) -> Iterator[Form]:
    """Rational numbers from x itself to what would give c exactly: one of them rounds to both if any number does."""
    back = relation.back(exact(c[1]))
    if back is None:
        return
    start = Fraction(x[1])
    way = (back.rational if back.is_rational else rational(back.value())) - start
    if abs(way) <= 2 * FORMATS[x[0]].ulp(start) + 2 * abs(start) * FORMATS[c[0]].ulp(Fraction(c[1])) / Fraction(c[1]):
        yield from (exact(start + way * part) for part in _PARTS)


def _rounds(form: Form, c: Constant) -> bool:
    value = form.rational if form.is_rational else rational(form.value())
    return FORMATS[c[0]].round(value) == Fraction(c[1])


__all__ = ["related"]
