"""Sizes that are too large to be run: smaller ones in their place, said in the first line."""

from __future__ import annotations

import ast
import json
from collections.abc import Callable
from math import prod
from pathlib import Path
from types import ModuleType

from equivalence.verdicts import Level
from irverify import file_sizes, leading, oversize, shapes
from irverify.collect import Collected
from irverify.job import Job
from tests.tool.conftest import Run, Write

Judge = Callable[..., list[Collected]]
GOOD = "def double(x):\n    return x + x\n"


def area(sizes: shapes.Sizes) -> int:
    return prod(sizes.values())


def test_rows_go_first_and_reductions_keep_their_length() -> None:
    first, *others = oversize.fitting({"rows": 4096, "dim": 393216}, area)
    assert first == {"rows": 8, "dim": 393216}
    assert [area(sizes) <= oversize.INSTEAD for sizes in others] == [True]


def test_sizes_that_can_be_run_stay() -> None:
    assert list(oversize.fitting({"rows": 4096, "dim": 4096}, area)) == []


def test_sizes_that_count_for_nothing_stay() -> None:
    [fit] = oversize.fitting({"classes": 1 << 30, "rows": 1 << 26}, lambda sizes: sizes["rows"])
    assert fit == {"classes": 1 << 30, "rows": 1 << 22}


def test_nothing_where_no_size_helps() -> None:
    assert list(oversize.fitting({"rows": 4096}, lambda _: 1 << 40)) == []


def test_specs_that_are_too_large(run: Run, write: Write, judged_at: Judge) -> None:
    seen = judged_at(Level.REAL)
    result = run("compare", write("a.py", GOOD), write("b.py", GOOD), "--input", "f32[8192,4096]")
    assert result.exit_code == 0, result.output
    assert seen[0].variants[0].inputs["x"].shape == (1024, 4096)
    assert seen[0].variants[0].label == oversize.LABEL
    first = result.stdout.splitlines()[0]
    assert "at smaller sizes than given" in first and "33,554,432 elements" in first


def test_named_dimensions_that_are_too_large(run: Run, write: Write, judged_at: Judge) -> None:
    seen = judged_at(Level.REAL)
    words = ("--input", "f32[N,D]", "--shapes", "N=1048576,D=40", "--json", "-")
    document = json.loads(run("compare", write("a.py", GOOD), write("b.py", GOOD), *words).stdout)
    assert seen[0].variants[0].inputs["x"].shape == (65536, 40)
    assert any(shape["note"].startswith(oversize.NOT_RUN) for shape in document["shapes"])
    assert any(finding["code"] == "given-not-run" for finding in document["findings"])


MAKES = (
    "import numpy as np\nrows = 3 * 1024 * 4096\n\n\ndef get_inputs():\n    return [np.zeros((rows, 3), 'float32')]\n"
)


def test_files_that_ask_for_too_much(run: Run, write: Write, judged_at: Judge) -> None:
    seen = judged_at(Level.REAL)
    result = run("compare", write("a.py", MAKES + GOOD), write("b.py", GOOD))
    assert result.exit_code == 0, result.output
    assert seen[0].variants[0].inputs["x"].shape == (3 * 1024 * 4096 // 16, 3)


KEEPS = """
import numpy as np
kept = []
def get_inputs():
    kept.append(1)
    return [np.ones((4, len(kept)), "float32")]
"""
ONCE = "import pathlib\nseen = pathlib.Path(__file__ + '.seen')\nassert not seen.exists()\nseen.touch()\n"


def test_what_a_file_keeps_where_no_data_exist_is_not_seen_by_a_call(run: Run, write: Write, judged_at: Judge) -> None:
    seen = judged_at(Level.REAL)
    result = run("compare", write("a.py", KEEPS + GOOD), write("b.py", GOOD))
    assert result.exit_code == 0, result.output
    assert seen[0].variants[0].inputs["x"].shape == (4, 1)


def test_a_file_that_can_be_loaded_only_once_is_run_as_it_is(run: Run, write: Write, judged_at: Judge) -> None:
    seen = judged_at(Level.REAL)
    result = run("compare", write("a.py", ONCE + KEEPS + GOOD), write("b.py", GOOD))
    assert result.exit_code == 0, result.output
    assert seen[0].variants[0].inputs["x"].shape == (4, 1)


def test_a_side_that_takes_no_smaller_sizes(run: Run, write: Write) -> None:
    strict = "def double(x):\n    assert x.shape[0] == 8192\n    return x + x\n"
    result = run("compare", write("a.py", strict), write("b.py", GOOD), "--input", "f32[8192,4096]")
    assert result.exit_code == 2
    assert "A does not run there" in result.output and "--shapes" in result.output


SIZES = """
n = 2048 * 2
c, other = 3, 4
k = c = 6
b, (h, w), d = 16, (3, 7), 4
wide: int = d * 10
shape = (n, 7)
whole = (8, 9)
total = n * k // 2
grown = 5
grown += 1
made = f(3)
def get_inputs():
    return make(total, grown, made, *shape, *whole, b, wide)
"""


def test_sizes_are_what_others_are_computed_from() -> None:
    assert file_sizes.sizes_in(ast.parse(SIZES)) == {"n": 4096, "k": 6, "b": 16, "d": 4, "whole[0]": 8, "whole[1]": 9}
    source = "n = f(3)\nk = -n\nshape = (n, 7)\ndef get_inputs():\n    return make(n, k, *shape)\n"
    assert file_sizes.sizes_in(ast.parse(source)) == {}


BLOCKED = "BLOCK = 64\nn = 4 * BLOCK\ndef get_inputs():\n    return make(n)\n"


def test_a_block_that_a_kernel_reads_is_no_size() -> None:
    launch = ast.parse("def f(x):\n    kernel[grid](x, BLOCK)\n")
    assert file_sizes.sizes_in(ast.parse(BLOCKED)) == {"BLOCK": 64}
    assert file_sizes.sizes_in(ast.parse(BLOCKED), [launch]) == {}
    assert file_sizes.sizes_in(ast.parse(BLOCKED.replace("make(n)", "make(BLOCK)")), [launch]) == {"BLOCK": 64}
    assert file_sizes.sizes_in(ast.parse(BLOCKED.replace("64", "6")), [launch]) == {"BLOCK": 6}


def test_what_is_computed_from_sizes_follows_them() -> None:
    follows = file_sizes.following(ast.parse(SIZES), {"n": 10, "whole[1]": 3})
    assert follows == {"n": 10, "shape": (10, 7), "whole": (8, 3), "total": 30}
    assert file_sizes.following(ast.parse(SIZES), {}) == {}


def test_sizes_are_set_in_a_module(tmp_path: Path) -> None:
    file = tmp_path / "made.py"
    file.write_text(SIZES.replace("made = f(3)\n", "made = 11\n"))
    module = ModuleType("made")
    exec(file.read_text(), vars(module))
    module.__file__ = str(file)
    leading.set_sizes(module, {"n": 8, "whole[1]": 3, "missing": 2, "f": 1})
    assert (module.n, module.shape, module.whole, module.total) == (8, (8, 7), (8, 3), 24)
    assert (module.grown, module.made, module.k) == (6, 11, 6) and not hasattr(module, "missing")
    leading.set_sizes(module, {"n": 4096, "whole[1]": 9})
    assert (module.shape, module.whole, module.total) == ((4096, 7), (8, 9), 4096 * 3)


def job(*given: str) -> Job:
    return Job(side="a", path="a.py", entry="f", adapter="fake", exchange="", specs=["f32[N,D]"], shapes=list(given))


def test_shapes_that_the_user_listed_are_not_replaced() -> None:
    assert oversize.too_large(job("N=1048576,D=40"))
    assert not oversize.too_large(job("N=1048576,D=40", "N=5"))
    assert not oversize.too_large(job("given"))
