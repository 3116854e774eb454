"""Accumulation orders: trees of additions, their names, their relation, and the trees of black boxes by probing."""
