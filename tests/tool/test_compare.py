"""Whole comparisons with the test framework: who is compared, on which inputs, at which shapes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from equivalence.verdicts import Level
from irverify.collect import Collected
from tests.tool.conftest import Run, Write

pytestmark = pytest.mark.own_processes

Judge = Callable[..., list[Collected]]
GOOD = "def double(x):\n    return x + x\n"


def test_programs_and_inputs_reach_the_judge(run: Run, write: Write, judged_at: Judge) -> None:
    seen = judged_at(Level.BITWISE)
    a = write("a.py", "def plus(x, y):\n    return x + y\n")
    b = write("b.py", "def add(left, right):\n    return left + right\n")
    result = run("compare", a, b, "--input", "f32[3,5]", "--input", "f32[3,5]", "--shapes", "given")
    assert result.exit_code == 0, result.output
    [variant] = seen[0].variants
    assert variant.program_a.input_names == variant.program_b.input_names == ["x", "y"]
    assert {name: array.shape for name, array in variant.inputs.items()} == {"x": (3, 5), "y": (3, 5)}
    assert "bitwise: a.py:plus and b.py:add" in result.stdout and "captured by the fake" in result.stdout


def test_several_shapes_with_distinct_dimensions(run: Run, write: Write, judged_at: Judge) -> None:
    seen = judged_at(Level.REAL)
    run("compare", write("a.py", GOOD), write("b.py", GOOD), "--input", "f32[64,96]")
    shapes = [variant.inputs["x"].shape for variant in seen[0].variants]
    assert shapes[0] == (64, 96) and len(shapes) >= 4
    assert any(rows != columns and rows % 32 and columns % 32 for rows, columns in shapes[1:])


def test_shapes_where_a_does_not_run_do_not_count(run: Run, write: Write, judged_at: Judge) -> None:
    seen = judged_at(Level.REAL)
    a = write("a.py", "def double(x):\n    assert x.shape[1] % 32 == 0\n    return x + x\n")
    result = run("compare", a, write("b.py", GOOD), "--input", "f32[64,96]", "--json", "-")
    assert all(variant.inputs["x"].shape[1] % 32 == 0 for variant in seen[0].variants)
    notes = [shape["note"] for shape in json.loads(result.stdout)["shapes"]]
    assert any("not counted" in note for note in notes)


def test_a_specialised_b_is_scope_not_difference(run: Run, write: Write, judged_at: Judge) -> None:
    judged_at(Level.REAL)
    b = write("b.py", "def double(x):\n    assert x.shape == (64, 96)\n    return x + x\n")
    result = run("compare", write("a.py", GOOD), b, "--input", "f32[64,96]", "--json", "-")
    document = json.loads(result.stdout)
    assert (result.exit_code, document["verdict"]) == (0, "real")
    assert any("specialised" in shape["note"] for shape in document["shapes"])


def test_named_dimensions(run: Run, write: Write, judged_at: Judge) -> None:
    seen = judged_at(Level.REAL)
    words = ("--input", "f32[N,D]", "--shapes", "N=6,D=7", "--shapes", "N=11")
    result = run("compare", write("a.py", GOOD), write("b.py", GOOD), *words)
    assert result.exit_code == 0, result.output
    assert [variant.inputs["x"].shape for variant in seen[0].variants] == [(6, 7), (11, 7)]


def test_get_inputs_of_the_first_file_and_its_sizes(run: Run, write: Write, judged_at: Judge) -> None:
    seen = judged_at(Level.REAL)
    make = (
        "import numpy as np\nrows = 9\n\n\ndef get_inputs():\n    return [np.random.randn(rows, 5).astype('float32')]\n"
    )
    result = run("compare", write("a.py", GOOD + make), write("b.py", GOOD))
    assert result.exit_code == 0, result.output
    shapes = [variant.inputs["x"].shape for variant in seen[0].variants]
    assert shapes[0] == (9, 5) and len(shapes) > 1 and all(columns == 5 for _, columns in shapes)


def test_get_inputs_of_the_second_file(run: Run, write: Write, judged_at: Judge) -> None:
    seen = judged_at(Level.REAL)
    make = "import numpy as np\n\n\ndef get_inputs():\n    return [np.ones((4, 3), 'float32')]\n"
    result = run("compare", write("a.py", GOOD), write("b.py", GOOD + make))
    assert result.exit_code == 0, result.output
    assert seen[0].variants[0].inputs["x"].shape == (4, 3)


MODEL = """
import numpy as np
import pytest


class Model:
    def __init__(self, width):
        self.scale = np.random.randn(width).astype("float32")

    def __call__(self, x):
        return x * x


def get_inputs():
    return [np.random.randn(3, 5).astype("float32")]


def get_init_inputs():
    return [7]
"""


def test_models_share_init_inputs_and_weights(run: Run, write: Write, judged_at: Judge) -> None:
    judged_at(Level.REAL)
    new = MODEL.split("def get_inputs")[0].replace("Model", "ModelNew")
    result = run("compare", write("a.py", MODEL), write("b.py", new))
    assert result.exit_code == 0, result.output
    assert "the weights of A were copied to B" in result.stdout and "b.py:ModelNew" in result.stdout


def test_same_name_on_both_sides_decides(run: Run, write: Write, judged_at: Judge) -> None:
    judged_at(Level.REAL)
    a = write("a.py", GOOD + "\n\ndef shift(x):\n    return x * x\n")
    b = write("b.py", GOOD + "\n\ndef other(x):\n    return x * x\n")
    result = run("compare", a, b, "--input", "f32[3,5]")
    assert result.exit_code == 0 and "a.py:double and b.py:double" in result.stdout


def test_helpers_are_no_candidates(run: Run, write: Write, judged_at: Judge) -> None:
    judged_at(Level.REAL)
    a = write(
        "a.py",
        "def helper(x):\n    return x + x\n\n\ndef entry(x):\n    return helper(x)\n\n\ndef test_it():\n    entry(1)\n",
    )
    result = run("compare", a, write("b.py", GOOD), "--input", "f32[3,5]")
    assert result.exit_code == 0 and "a.py:entry and" in result.stdout


def test_a_destination_that_one_side_takes(run: Run, write: Write, judged_at: Judge) -> None:
    judged_at(Level.REAL)
    a = write("a.py", "def double(x, out):\n    return x + x\n")
    result = run("compare", a, write("b.py", GOOD), "--input", "x=f32[3,5]", "--input", "out=f32[3,5]")
    assert result.exit_code == 0, result.output
    assert "takes no argument 'out'" in result.stdout


def test_exit_codes_follow_require(run: Run, write: Write, judged_at: Judge) -> None:
    judged_at(Level.REASSOCIATED)
    words = (write("a.py", GOOD), write("b.py", GOOD), "--input", "f32[3,5]", "--shapes", "given")
    assert run("compare", *words).exit_code == 0
    result = run("compare", *words, "--require", "bitwise")
    assert result.exit_code == 1 and "reassociated is below the required bitwise" in result.stdout


def test_same_seed_same_inputs(run: Run, write: Write, judged_at: Judge) -> None:
    seen = judged_at(Level.REAL)
    words = (write("a.py", GOOD), write("b.py", GOOD), "--input", "f32[3,5]", "--shapes", "given", "--seed")
    for seed in (4, 4, 5):
        run("compare", *words, seed)
    first, again, other = (collected.variants[0].inputs["x"] for collected in seen)
    assert np.array_equal(first, again) and not np.array_equal(first, other)


def test_lower_prints_kir_that_parses(run: Run, write: Write, tmp_path: Path) -> None:
    from lowering.ir.parser import parse_program
    from lowering.ir.printer import print_program

    result = run("lower", write("a.py", GOOD), "--input", "f32[3,5]")
    assert result.exit_code == 0, result.output
    assert print_program(parse_program(result.stdout)) == result.stdout
    missing = run("lower", write("a.py", GOOD), "--input", "f32[3,5]", "--to", "ttir")
    assert missing.exit_code == 2 and "has no ttir" in missing.stderr
