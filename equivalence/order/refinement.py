"""Whether one order fills in what another leaves open.

Takes two nodes of one Table; gives a yes or no.  An open step of n operands admits any tree of additions in its format
over these operands, each kept whole; one dot also admits fused products and fused adders.  Nothing is merged: an open
step below another one stays a sum of its own.  Must not know names (naming.py) nor words (relation.py).
"""

from __future__ import annotations

from collections.abc import Sequence

from equivalence.order.canonical import LEAVES, Table

_Pairs = list[tuple[int, int]]


def refines(table: Table, fine: int, coarse: int, opened: frozenset[str] = frozenset(("open",))) -> bool:
    """Whether ``fine`` is ``coarse`` with steps of the kinds ``opened`` replaced by some order of their operands."""
    return _Refinement(table, (fine, coarse), opened).holds(fine, coarse)


def spans(table: Table, roots: Sequence[int]) -> dict[int, int]:
    """The terms below each node, as bits of a number."""
    found: dict[int, int] = {}
    for number in sorted({n for root in roots for n in table.below(root)}):
        how, _, children, _ = table.nodes[number]
        found[number] = 1 << children[0] if how in LEAVES else 0
        for child in () if how in LEAVES else children:
            found[number] |= found[child]
    return found


class _Refinement:
    def __init__(self, table: Table, roots: tuple[int, int], opened: frozenset[str]) -> None:
        self.table, self.opened = table, opened
        self.spans = spans(table, roots)

    def holds(self, fine: int, coarse: int) -> bool:
        waiting: _Pairs = [(fine, coarse)]
        while waiting:
            fine, coarse = waiting.pop()
            if fine == coarse:
                continue
            pairs = self._pairs(fine, coarse) if self.spans[fine] == self.spans[coarse] else None
            if pairs is None:
                return False
            waiting.extend(pairs)
        return True

    def _pairs(self, fine: int, coarse: int) -> _Pairs | None:
        """What must hold of the parts of two nodes; None where they cannot be one and the other."""
        how, dtype, children, detail = self.table.nodes[coarse]
        if how in LEAVES:
            return None
        if how in self.opened:
            return self._filled(fine, coarse)
        other, format, parts, also = self.table.nodes[fine]
        if (how, dtype, detail, len(children)) != (other, format, also, len(parts)):
            return None
        if how in ("fma", "compensated") or len(children) == 1:
            return list(zip(parts, children, strict=True))
        return self._matched(parts, children)

    def _matched(self, fine: Sequence[int], coarse: Sequence[int]) -> _Pairs | None:
        """Children paired by their terms; where several have the same terms, only equal ones are."""
        left, right = list(fine), []
        for child in coarse:
            if child in left:
                left.remove(child)
            else:
                right.append(child)
        by_span = {self.spans[child]: child for child in left}
        if len(by_span) < len(left) or {self.spans[child] for child in right} != by_span.keys():
            return None
        return [(by_span[self.spans[child]], child) for child in right]

    def _filled(self, fine: int, coarse: int) -> _Pairs | None:
        """The operands of an open step, each with the part of ``fine`` that stands for it."""
        _, dtype, children, detail = self.table.nodes[coarse]
        operands = {self.spans[child]: child for child in children}
        if len(operands) < len(children):
            return None
        pairs: _Pairs = []
        waiting = [fine]
        while waiting:
            number = waiting.pop()
            operand = operands.pop(self.spans[number], None)
            if operand is not None:
                if not (detail and self._is_exact(number, operand)):
                    pairs.append((number, operand))
            elif self._adds(number, dtype, detail):
                waiting.extend(self.table.nodes[number][2])
            else:
                return None
        return None if operands else pairs

    def _adds(self, number: int, dtype: str, detail: str) -> bool:
        how, format, children, also = self.table.nodes[number]
        if format != dtype:
            return False
        if how in ("add", *self.opened):
            return not also or also == detail
        product = how == "fma" and self.table.nodes[children[0]][0] in LEAVES
        return bool(detail) and (how == "fused" or product)

    def _is_exact(self, number: int, operand: int) -> bool:
        """A term that enters a fused adder as an exact product, where a dot has it as a term."""
        return self.table.nodes[number][0] == "product" and self.table.nodes[operand][0] == "term"
