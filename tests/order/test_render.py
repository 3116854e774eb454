"""Orders as text trees and as pictures."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import replace

import numpy as np
import pytest

from equivalence.order.render import svg, text
from equivalence.order.sketch import span_label
from equivalence.order.tree import OrderTree, Step
from tests.order import trees
from tests.order.trees import Grower


def row(tree: OrderTree, label: str = "x[3, {}]") -> OrderTree:
    return replace(tree, terms=tuple(label.format(i) for i in range(tree.size)))


def test_regular_blocks() -> None:
    tree = row(trees.blocks(128, 32))
    steps = tuple(replace(s, line="softmax.py:11" if s.how == "open" else "softmax.py:12") for s in tree.steps)
    assert text(replace(tree, steps=steps)) == "\n".join((
        "blocked(32 x 4, inner unordered(32, left open by TTIR), outer sequential) in f32: x[3, 0..127]"
        "  (softmax.py:12)",
        "├─ unordered(32, left open by TTIR): x[3, 0..31]  (softmax.py:11)",
        "├─ unordered(32, left open by TTIR): x[3, 32..63]  (softmax.py:11)",
        "├─ unordered(32, left open by TTIR): x[3, 64..95]  (softmax.py:11)",
        "└─ unordered(32, left open by TTIR): x[3, 96..127]  (softmax.py:11)",
    ))  # fmt: skip


def test_many_blocks_are_cut() -> None:
    lines = text(row(trees.blocks(1024, 16))).splitlines()
    assert len(lines) == 10
    assert lines[8] == "├─ ... 56 more: x[3, 112..1007]"
    assert lines[9] == "└─ unordered(16, left open by TTIR): x[3, 1008..1023]"


def test_lanes_and_halves() -> None:
    lines = text(trees.lanes(100, 4)).splitlines()
    assert lines[1] == "├─ sequential(25): x[0..96 by 4]"
    assert text(trees.numpy_sum(1024)).splitlines()[1] == (
        "├─ strided-lanes(8 over 128, each sequential, combined pairwise): x[0..127]"
    )


def test_a_regular_sum_is_one_line() -> None:
    assert text(trees.sequential(64)) == "sequential(64) in f32: x[0..63]"
    assert text(Grower(1).tree()) == "x[0]"
    assert text(OrderTree((), ())) == "no terms"


def test_an_irregular_sum_is_opened() -> None:
    grower = Grower(9)
    a = grower.chain([7, 1, 4])
    b = grower.step("open", [0, 2, 3, 5, 6], by="TTIR")
    grower.chain([b, grower.step("cast", (a,), "bf16"), 8])
    head, *rest = text(grower.tree()).splitlines()
    assert head.startswith("irregular(9 terms, depth 6, ") and head.endswith(" in f32: one after the other: x[0..8]")
    assert rest == [
        "├─ unordered(5, left open by TTIR): x[0], x[2] and 3 more",
        "├─ sequential(3, from 2 round), then rounded to bf16: x[1..7 by 3]",
        "└─ x[8]",
    ]


def test_a_large_irregular_sum_is_cut() -> None:
    tree = trees.random_tree(2000, np.random.default_rng(2))
    lines = text(tree, limit=40).splitlines()
    assert len(lines) < 70
    assert any("... " in line and " more: " in line for line in lines)
    assert not any("... " in line for line in text(trees.random_tree(9, np.random.default_rng(2))).splitlines())


@pytest.mark.parametrize(
    ("terms", "label"),
    [
        ([f"x[{i}]" for i in range(32)], "x[0..31]"),
        ([f"x[3, {i}]" for i in range(0, 64, 8)], "x[3, 0..56 by 8]"),
        ([f"a[2, {k}] * b[{k}, 5]" for k in range(16)], "a[2, 0..15] * b[0..15, 5]"),
        (["x[0]", "x[9]"], "x[0], x[9]"),
        (["x[0]", "x[9]", "x[10]", "x[12]"], "x[0], x[9] and 2 more"),
        (["x[0]", "y[1]", "x[2]"], "x[0], y[1] and 1 more"),
        ([f"exp(x[{i}] - 1e-05)" for i in range(3)], "exp(x[0..2] - 1e-05)"),
    ],
)
def test_labels(terms: list[str], label: str) -> None:
    assert span_label(terms, range(len(terms))) == label


PICTURES = {
    "chain": lambda: trees.sequential(8),
    "bits": lambda: trees.by_bits(16, (0, 3, 1, 2)),
    "blocks": lambda: trees.blocks(1024, 32, hop=Step("cast", (), "bf16")),
    "numpy": lambda: trees.numpy_sum(1000),
    "irregular": lambda: trees.random_tree(300, np.random.default_rng(0), False),
    "split": lambda: trees.split(4, 16, "racing"),
    "one": lambda: Grower(1).tree(),
    "none": lambda: OrderTree((), ()),
    "long chain": lambda: trees.sequential(4096, np.random.default_rng(0).permutation(4096).tolist()),
}


@pytest.mark.parametrize("which", PICTURES)
def test_pictures_are_xml_and_fit(which: str) -> None:
    picture = svg(PICTURES[which]())
    root = ET.fromstring(picture)
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    boxes = [e.attrib for e in root.iter("{http://www.w3.org/2000/svg}rect") if "x" in e.attrib]
    assert 1 <= len(boxes) < 80
    for box in boxes:
        x, y, w, h = (float(box[key]) for key in ("x", "y", "width", "height"))
        assert min(x, y) >= 0 and x + w <= width + 1 and y + h <= height + 1
    for i, a in enumerate(boxes):
        for b in boxes[:i]:
            apart = [abs(float(a[k]) - float(b[k])) for k in ("x", "y")]
            assert apart[1] > 1 or apart[0] > 1, "two boxes at one place"


def test_terms_are_at_the_bottom_and_the_result_on_top() -> None:
    root = ET.fromstring(svg(trees.sequential(4)))
    boxes = [e.attrib for e in root.iter("{http://www.w3.org/2000/svg}rect") if "x" in e.attrib]
    heights = sorted({float(box["y"]) for box in boxes})
    assert sum(float(box["y"]) == heights[-1] for box in boxes) == 4
    assert sum(float(box["y"]) == heights[0] for box in boxes) == 1


def test_text_of_a_picture_is_escaped() -> None:
    tree = row(trees.flat(4, by='<b> & "TTIR"'), "exp(x[{}] < 3 & y)")
    picture = svg(tree)
    words = [e.text for e in ET.fromstring(picture).iter("{http://www.w3.org/2000/svg}text")]
    assert "exp(x[2] < 3 & y)" in words
    assert "<b>" not in picture


def test_a_regular_picture_repeats_nothing_beyond_a_few() -> None:
    picture = svg(trees.blocks(1024, 32))
    assert picture.count("<rect") == 8 and "... 27 more" in picture
