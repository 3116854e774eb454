"""`irverify order` and what a comparison says of orders, from the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner, Result

from irverify.cli import main
from tests.order.conftest import GOLDEN

pytestmark = pytest.mark.usefixtures("forked_workers")

JAX = GOLDEN / "kernels_jax.py"


def run(*words: Any) -> Result:
    return CliRunner().invoke(main, [str(word) for word in words], catch_exceptions=False)


def test_text_json_and_picture(tmp_path: Path) -> None:
    picture, document = tmp_path / "order.svg", tmp_path / "order.json"
    result = run("order", f"{JAX}:pallas_blocks", "--input", "f32[3,64]", "--svg", picture, "--json", document)
    assert result.exit_code == 0, result.output
    assert "blocked(16 x 4, inner unordered(16, left open by StableHLO), outer sequential) in f32" in result.stdout
    assert "x[2, 16..31]" in result.stdout, "the last element, block by block"
    assert ElementTree.fromstring(picture.read_text()).tag.endswith("svg")
    [found] = json.loads(document.read_text())["accumulations"]
    assert (found["terms"], found["fixed"], found["line"]) == (64, False, 35)


def test_another_element(tmp_path: Path) -> None:
    result = run("order", f"{JAX}:dot", "--input", "f32[3,64]", "--input", "f32[64,5]", "--index", "1,2")
    assert "x[1, 0..63] * y[0..63, 2]" in result.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--index", "9"), "has no element [9]"),
        (("--index", "one"), "write whole numbers"),
        (("--output", "3"), "there is no output 3"),
        (("--svg", "/nowhere/x.svg"), "cannot be written"),
    ],
)
def test_what_cannot_be_shown(words: tuple[str, str], said: str) -> None:
    result = run("order", f"{JAX}:total", "--input", "f32[3,64]", *words)
    assert result.exit_code == 2 and said in result.stderr and "Traceback" not in result.output


def test_nothing_to_add_up(tmp_path: Path) -> None:
    file = tmp_path / "double.py"
    file.write_text("import jax.numpy as jnp\n\ndef double(x):\n    return jnp.multiply(x, 2)\n")
    result = run("order", file, "--input", "f32[5]")
    assert result.exit_code == 0 and "nothing is added up" in result.stdout
    assert run("order", file, "--input", "f32[5]", "--svg", tmp_path / "x.svg").exit_code == 2


def test_inputs_are_asked_for_once() -> None:
    result = run("order", f"{JAX}:total")
    assert result.exit_code == 2 and "kernels_jax.py does not define get_inputs()" in result.stderr
    assert result.stderr.count("total(x)") == 1


def test_a_measured_order_beside_the_promised_one(tmp_path: Path) -> None:
    result = run("order", "--probe", f"{JAX}:dot", "--terms", 16, "--json", tmp_path / "p.json")
    assert result.exit_code == 0, result.output
    assert "the same bits on 1000 of 1000 random inputs" in result.stdout
    assert "promised: unordered(16, left open by one dot) in f32" in result.stdout
    document = json.loads((tmp_path / "p.json").read_text())
    assert document["relation"] == "b refines a" and document["verified"] == 1000


def test_a_library_by_its_name() -> None:
    result = run("order", "--probe", "numpy.sum", "--terms", 7)
    assert "sequential(7) in f32" in result.stdout
    assert run("order", "--probe", "numpy.sum", "--target", "cuda").exit_code == 2


def test_a_comparison_relates_the_orders(tmp_path: Path) -> None:
    file = tmp_path / "b.py"
    file.write_text(
        "import jax, jax.numpy as jnp\n\ndef total(x):\n"
        "    return jax.lax.fori_loop(0, x.shape[1], lambda i, s: s + x[:, i], jnp.zeros(x.shape[0]))\n"
    )
    document = tmp_path / "report.json"
    result = run("compare", f"{JAX}:total", file, "--input", "f32[3,37]", "--json", document)
    assert result.exit_code == 0 and "Order of accumulation" in result.stdout
    [order] = json.loads(document.read_text())["orders"]
    assert order["relation"] == "b refines a" and order["same_terms"] and order["b"].startswith("sequential(")
    assert "B is one way to fill in what A leaves open" in order["what"]
