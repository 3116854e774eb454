"""Which shapes are tried."""

from __future__ import annotations

import ast
from math import prod

import pytest

from irverify import file_sizes, shapes
from lowering.errors import UsageError


def test_automatic_sizes_differ_between_names() -> None:
    plan = shapes.plan({"N": 1024, "D": 512}, ["auto"], ["N", "D"], [32, 64])
    ragged = dict(plan.tries)["ragged"]
    assert ragged["N"] != ragged["D"] and all(size % 64 for size in ragged.values())
    assert dict(plan.tries)["one block"] == {"N": 64, "D": 64}


def test_small_dimensions_stay() -> None:
    plan = shapes.plan({"B": 2, "N": 100}, ["auto"], ["B", "N"], [])
    assert all(sizes["B"] == 2 for _, sizes in plan.tries)


def test_one_binding_says_what_the_names_mean() -> None:
    plan = shapes.plan({"N": 0}, ["N=100"], ["N"], [])
    assert plan.given == {"N": 100} and len(plan.tries) > 1


def test_several_bindings_are_the_users_list() -> None:
    plan = shapes.plan({"N": 0, "D": 0}, ["N=100,D=7", "N=5"], ["N", "D"], [])
    assert [sizes for _, sizes in plan.tries] == [{"N": 5, "D": 7}]


def test_a_length_that_no_size_passes_is_passed() -> None:
    """A window of 128 beside 48 rows; where sizes come to it anyway, or it costs much, there is no such set."""
    plan = shapes.plan({"T": 48, "D": 8}, ["auto"], ["T", "D"], [128])
    assert plan.tries[0] == ("past 128", {"T": 131, "D": 8}) and plan.extra == 1  # both would be 17,423 elements
    for blocks, size in (([32], 48), ([128], 300), ([8192], 48)):
        tries = shapes.plan({"T": size, "D": 8}, ["auto"], ["T", "D"], blocks).tries
        assert not any(label.startswith("past") for label, _ in tries)


def test_given_only() -> None:
    assert shapes.plan({"N": 64}, ["given"], ["N"], []).tries == ()


@pytest.mark.parametrize("text", ["N", "N=", "N=x", "N=3;D=4"])
def test_bad_bindings(text: str) -> None:
    with pytest.raises(UsageError, match="--shapes"):
        shapes.parse_binding(text, ["N", "D"])


def test_sizes_are_the_ints_that_get_inputs_reads() -> None:
    source = "rows = 4\nother = 5\nname = 'x'\ndef get_inputs():\n    return make(rows)\n"
    assert file_sizes.sizes_in(ast.parse(source)) == {"rows": 4}


def test_blocks_are_the_powers_of_two_written_there() -> None:
    assert shapes.blocks_in(ast.parse("f(BLOCK=64, n=100, w=4, big=2048)")) == [64, 2048]


def test_whole_blocks_of_a_long_one() -> None:
    """Where the length is a multiple of the block, a mask of the remainder masks everything off."""
    plan = shapes.plan({"N": 5000}, ["auto"], ["N"], [1024])
    assert dict(plan.tries)["whole long blocks"] == {"N": 2048} and plan.extra == 1
    assert not shapes.plan({"N": 5000}, ["auto"], ["N"], [64]).extra


def test_a_batch_of_one_is_also_two() -> None:
    sizes = shapes.class_names([(1, 40, 30), (40, 30)])
    plan = shapes.plan(sizes, ["auto"], [], [], shapes.batch_classes([(1, 40, 30), (40, 30)]))
    assert dict(plan.tries)["two of 1"] == {"#1": 2, "#40": 40, "#30": 30}
    assert "#1" not in shapes.class_names([(1, 40, 30), (40, 1)])  # a kept dimension is no batch


def test_resize_keeps_classes_together() -> None:
    classes = shapes.class_names([(64, 32), (32, 64)])
    assert shapes.resize((32, 64), classes, {"#64": 7, "#32": 9}) == (9, 7)


def test_split_separates_a_square_product() -> None:
    def is_product(new: list[tuple[int, ...]]) -> bool:
        (_, inner), (inner_b, _) = new
        return inner == inner_b

    together, *alone = shapes.split([(64, 64), (64, 64)], is_product)
    (rows, inner), (inner_b, columns) = together
    assert inner == inner_b and len({rows, inner, columns}) == 3
    assert len(alone) == 2 and all(is_product(new) and new != [(64, 64), (64, 64)] for new in alone)
    assert all(len({size for shape in new for size in shape}) == 2 for new in alone), "one size by itself"


def test_split_leaves_what_must_be_equal() -> None:
    assert shapes.split([(64,), (64,)], lambda new: new[0] == new[1]) == [[(64,), (64,)]]


def test_sizes_are_exchanged_so_that_the_other_one_is_the_larger() -> None:
    assert shapes.exchanged([(64, 16), (16, 128), (2, 64)]) == [(64, 128), (128, 16), (2, 64)]
    assert shapes.exchanged([(3, 2), (1,)]) == [(3, 2), (1,)], "small ones are channels or batches"


def test_a_short_leading_dimension_is_repetition() -> None:
    dims = [(8, 1024, 64), (8, 1024, 64)]
    plan = shapes.plan({"#8": 8, "#1024": 1024, "#64": 64}, ["auto"], [], [64], shapes.batch_classes(dims))
    assert {sizes["#8"] for _, sizes in plan.tries} == {2, 3}


@pytest.mark.parametrize("dims", [[(8, 1024)], [(1024, 8, 64)], [(8, 64, 64), (64, 8)]])
def test_dimensions_that_a_kernel_may_tile_are_varied_in_full(dims: list[tuple[int, ...]]) -> None:
    assert "#8" not in shapes.batch_classes(dims)
    plan = shapes.plan({"#8": 8, "#64": 64}, ["auto"], [], [64], shapes.batch_classes(dims))
    assert {sizes["#8"] for _, sizes in plan.tries} >= {64, 128}


@pytest.mark.parametrize("name", ["M", "K", "N"])
def test_every_size_is_beside_a_block_on_either_side(name: str) -> None:
    plan = shapes.plan({"M": 256, "K": 512, "N": 128}, ["auto"], ["M", "K", "N"], [32, 64])
    assert {sizes[name] % 64 for _, sizes in plan.tries} >= {0, 1, 63}
    half = dict(plan.tries)["half a block more"][name]
    assert half % 16 == 0 and (half % 32 or half % 64), "whole for half of a block, and not for that block"


@pytest.mark.parametrize("names", ["N", "MN"])
def test_one_block_stays_the_smallest(names: str) -> None:
    """Derived inputs are tried there, and sums of equal terms are exact where extents are powers of two."""
    plan = shapes.plan(dict.fromkeys(names, 512), ["auto"], list(names), [64])
    tries = dict(list(plan.tries)[:6])
    assert min(tries, key=lambda label: prod(tries[label].values())) == "one block"


def test_no_set_of_shapes_is_tried_twice() -> None:
    plan = shapes.plan({"N": 64}, ["auto"], ["N"], [64])
    assert len({tuple(sizes.items()) for _, sizes in plan.tries}) == len(plan.tries)
    assert {"N": 64} not in [sizes for _, sizes in plan.tries]


def test_sizes_that_were_never_ragged_are_tried_alone() -> None:
    """Where D must be a power of two, the other side refuses every set in which all sizes are ragged."""
    plan = shapes.plan({"L": 128, "D": 64}, ["auto"], ["L", "D"], [16])
    whole = {"L": 16, "D": 16}
    tries = shapes.starved(plan, [whole])
    assert ("L beside a block", {"L": 17, "D": 16}) in tries and ("D beside a block", {"L": 16, "D": 17}) in tries
    assert all(sum(sizes[name] != whole[name] for name in sizes) == 1 for _, sizes in tries)
    assert len(tries) <= shapes.MOST_STARVED


def test_nothing_is_starved_where_ragged_sets_are_taken() -> None:
    plan = shapes.plan({"L": 128, "D": 64}, ["auto"], ["L", "D"], [16])
    assert shapes.starved(plan, [sizes for _, sizes in plan.tries]) == []
    assert shapes.starved(shapes.plan({"L": 128}, ["given"], ["L"], [16]), []) == []


def test_a_small_set_where_all_are_large() -> None:
    plan = shapes.plan({"B": 64, "S": 4096, "D": 1024}, ["auto"], ("B", "S", "D"), [64])
    made = [sizes for _, sizes in shapes.reduced(plan)]
    assert all(prod(sizes.values()) <= 1 << 15 for sizes in made)
    assert made[0]["D"] > plan.block > made[0]["S"] != made[0]["B"]
    assert set(made[-1].values()) == {16}


def test_sizes_that_are_part_of_the_algorithm_are_not_reduced() -> None:
    plan = shapes.plan({"N": 4096, "taps": 3}, ["auto"], ("N", "taps"), [64])
    assert {sizes["taps"] for _, sizes in shapes.reduced(plan)} == {3}
    assert shapes.reduced(shapes.plan({"taps": 3}, ["auto"], ("taps",), [64])) == []
