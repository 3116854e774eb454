"""Names an accumulation order: a short term that determines it.

Takes an OrderTree; gives a Name, whose text and whose ``build()`` come from the same pattern, and whose pattern has
been checked to rebuild the tree.  So different orders have different names; where nothing regular fits, the name has a
digest of the exact order.  Must not know where a tree comes from.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from equivalence.order.canonical import Table, canonical, leaves_fusing_open, stripped
from equivalence.order.groupings import Irregular
from equivalence.order.patterns import Pattern, Place
from equivalence.order.recognise import Recogniser, is_irregular
from equivalence.order.tree import OrderTree, Step

LISTED_MOST = 4  # operands of a fused adder that are not products, written out


@dataclass(frozen=True, slots=True)
class Name:
    """The name of an order of ``size`` terms.

    ``exact``: the terms that enter a fused adder as exact products; ``rounded``: all terms are products, each rounded.
    """

    pattern: Pattern | None  # None where nothing is added
    size: int
    exact: frozenset[int] = frozenset()
    rounded: bool = False
    given: OrderTree | None = field(default=None, compare=False, repr=False)  # what cannot be rebuilt

    def __str__(self) -> str:
        return self.text()

    def text(self, dtype: str = "") -> str:
        """The name; the accumulator's format is left out where it is ``dtype``."""
        if self.pattern is None:
            return "no terms"
        return self.pattern.text(Place(self.size, dtype=dtype)) + self._products()

    def _products(self) -> str:
        if self.rounded:
            return ", products rounded first"
        if not self.exact:
            return ""
        others = sorted(set(range(self.size)) - self.exact)
        return ", exact products" + (f" but for {', '.join(map(str, others))}" if others else "")

    @property
    def dtype(self) -> str:
        """The format of the additions that combine the outermost partial sums; "" where nothing is added."""
        return self.pattern.dtype if self.pattern is not None else ""

    @property
    def regular(self) -> bool:
        """Whether no part of the order is a mere copy with a digest."""
        return self.pattern is None or not is_irregular(self.pattern)

    def build(self) -> OrderTree:
        """The order again, over terms x[0], x[1] and so on."""
        if self.given is not None or self.pattern is None:
            return self.given or OrderTree((), ())
        maker = Building(self.size)
        self.pattern.emit(maker, range(self.size))
        labels = tuple(f"x[{i}]" for i in range(self.size))
        return OrderTree(labels, tuple(maker.steps), self._all_products(maker.steps), str(self))

    def _all_products(self, steps: Sequence[Step]) -> frozenset[int]:
        """The terms that are products: all, where each is rounded or fused into a sum, unless fused adders say less."""
        fused = frozenset(step.children[0] for step in steps if step.how == "fma")
        if self.rounded or (fused and all(step.how != "fused" for step in steps)):
            return frozenset(range(self.size))
        return self.exact | {i for i in fused if i < self.size}


@dataclass(slots=True)
class Building:
    """A Maker of Steps over ``size`` terms."""

    size: int
    where: str = ""
    steps: list[Step] = field(default_factory=list)

    def put(self, how: str, dtype: str, children: Sequence[int], by: str = "") -> int:
        self.steps.append(Step(how, tuple(children), dtype or "f32", by, where=self.where))  # type: ignore[arg-type]
        return self.size + len(self.steps) - 1


def name(tree: OrderTree) -> Name:
    """The name of a tree's order."""
    tree = stripped(tree)
    if not tree.size:
        return Name(None, 0)
    table = Table()
    root = table.intern(tree)
    plain = [table.put("term", "", (i,)) for i in range(tree.size)]
    products = [table.find("product", "", (i,)) for i in range(tree.size)]
    exact = frozenset(i for i, number in enumerate(products) if number is not None)
    leaves = [p if p is not None else t for p, t in zip(products, plain, strict=True)]
    pattern = Recogniser(table).pattern(root, leaves)
    if 0 < len(exact) < tree.size - LISTED_MOST or (isinstance(pattern, Irregular) and pattern.size < 0):
        return Name(_copied(tree, pattern), tree.size, given=tree)
    fusing = any(step.how in ("fma", "fused") or _leaves_fusing_open(step) for step in tree.steps)
    rounded = not fusing and len(tree.products) == tree.size
    return Name(pattern, tree.size, exact, rounded)


def _leaves_fusing_open(step: Step) -> bool:
    return step.how == "open" and leaves_fusing_open(step.by)


def _copied(tree: OrderTree, pattern: Pattern) -> Irregular:
    """The name of what no pattern tells apart."""
    digest = canonical(tree).digest[:16]
    used = len({c for step in tree.steps for c in step.children if c < tree.size})
    if isinstance(pattern, Irregular):
        return replace(pattern, size=tree.size, used=used, digest=digest)
    return Irregular(tree.size, used, tree.depth(), pattern.dtype, digest, ())
