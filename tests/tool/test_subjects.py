"""Entries and frameworks found without running a file."""

from __future__ import annotations

from pathlib import Path

import pytest

from irverify.frameworks import detect
from irverify.subjects import choose_entries, choose_entry, read_source, side_of, split_entry
from lowering.errors import Unsupported, UsageError

TRITON = """
import torch
import triton
import triton.language as tl

@triton.autotune(configs=[], key=[])
@triton.jit
def softmax_kernel(x_ptr, n, BLOCK: tl.constexpr):
    pass

@triton.jit
def helper_kernel(x):
    return x

def softmax(x):
    softmax_kernel[(1,)](x, 3, BLOCK=16)
    return x

def get_inputs():
    return [torch.randn(3)]

if __name__ == "__main__":
    print(softmax(torch.randn(3)))
"""
PALLAS = """
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl

def kernel(x_ref, o_ref):
    o_ref[...] = x_ref[...]

@jax.jit
def copy(x):
    return pl.pallas_call(kernel, out_shape=x)(x)
"""


def source(tmp_path: Path, text: str, name: str = "a.py"):
    path = tmp_path / name
    path.write_text(text)
    return read_source(str(path))


def test_a_lambda_with_a_name_is_an_entry_unless_it_only_helps(tmp_path: Path) -> None:
    text = "ceil = lambda a, b: -(a // -b)\ndef blocks(x):\n    return ceil(x, 32)\n"
    assert choose_entry(source(tmp_path, text), None) == "blocks"
    both = source(tmp_path, "import jax\nsoftmax = lambda x, axis=-1: jax.nn.softmax(x, axis)\n")
    assert choose_entry(both, None) == "softmax" and side_of(both, "softmax").signature == "softmax(x, axis=-1)"


def test_kernels_are_not_entries(tmp_path: Path) -> None:
    assert choose_entry(source(tmp_path, TRITON), None) == "softmax"


def test_pallas_kernels_are_not_entries(tmp_path: Path) -> None:
    assert choose_entry(source(tmp_path, PALLAS), None) == "copy"


def test_bare_jit_of_jax_is_host_code(tmp_path: Path) -> None:
    assert choose_entry(source(tmp_path, "from jax import jit\n@jit\ndef f(x):\n    return x\n"), None) == "f"
    with pytest.raises(UsageError, match="no public function"):
        choose_entry(source(tmp_path, "from triton import jit\n@jit\ndef f(p):\n    store(p)\n"), None)


def test_jitted_assignment_is_an_entry(tmp_path: Path) -> None:
    assert choose_entry(source(tmp_path, "import jax\ndef _f(x):\n    return x\nfast = jax.jit(_f)\n"), None) == "fast"


def test_model_and_model_new_in_one_file(tmp_path: Path) -> None:
    both = source(tmp_path, "class Model: ...\nclass ModelNew: ...\ndef f(x): ...\n")
    assert choose_entries(both, both, None, None) == ("Model", "ModelNew")


def test_explicit_entry_wins(tmp_path: Path) -> None:
    both = source(tmp_path, "class Model: ...\ndef f(x): ...\ndef g(x): ...\n")
    assert choose_entries(both, both, "f", "g") == ("f", "g")


def test_imported_names_only_when_named(tmp_path: Path) -> None:
    imported = source(tmp_path, "from torch.nn.functional import softmax\nimport torch\n")
    with pytest.raises(UsageError, match="no public function"):
        choose_entry(imported, None)
    assert side_of(imported, "softmax").entry == "softmax"


@pytest.mark.parametrize(
    ("text", "expected"),
    [("a.py", ("a.py", None)), ("a.py:f", ("a.py", "f")), ("d/a.py:C.f", ("d/a.py", "C.f")),
     ("C:\\a.py", ("C:\\a.py", None)), ("a:b/c.py", ("a:b/c.py", None))],
)  # fmt: skip
def test_split_entry(text: str, expected: tuple[str, str | None]) -> None:
    assert split_entry(text) == expected


def test_frameworks(tmp_path: Path) -> None:
    for text, framework in ((TRITON, "torch"), (PALLAS, "jax"), ("def softmax(x):\n    return x\n", "torch")):
        found = source(tmp_path, text)
        assert detect(found.path, found.tree, "softmax") == framework


def test_framework_of_what_the_entry_uses(tmp_path: Path) -> None:
    text = "import jax.numpy as jnp\nimport torch\ndef f(x):\n    return g(x)\ndef g(x):\n    return jnp.exp(x)\n"
    found = source(tmp_path, text)
    assert detect(found.path, found.tree, "f") == "jax"


def test_kernels_of_nki_and_torch_code_that_calls_them(tmp_path: Path) -> None:
    text = """
import torch
from neuronxcc import nki
import neuronxcc.nki.language as nl

@nki.jit
def kernel(x: torch.Tensor):
    return x

@nki.jit
def other(x):
    return nl.load(x)

def host(x):
    return kernel(torch.relu(x))

def plain(x):
    return other(x)

def reference(x):
    return torch.relu(x)
"""
    found = source(tmp_path, text)
    by_entry = {name: detect(found.path, found.tree, name) for name in ("kernel", "host", "plain", "reference")}
    assert by_entry == {"kernel": "nki", "host": "nki-torch", "plain": "nki", "reference": "torch"}


def test_framework_behind_a_local_import(tmp_path: Path) -> None:
    (tmp_path / "ops.py").write_text("import jax\ndef f(x):\n    return x\n")
    found = source(tmp_path, "from ops import f\ndef g(x):\n    return f(x)\n")
    assert detect(found.path, found.tree, "g") == "jax"


def test_foreign_framework_names_its_import(tmp_path: Path) -> None:
    found = source(tmp_path, "\nimport tilelang\ndef f(x):\n    return tilelang.x\n")
    with pytest.raises(Unsupported, match=r"TileLang kernels at .*a.py:2"):
        detect(found.path, found.tree, "f")


def test_a_copy_of_the_reference_is_not_compared_with_itself(tmp_path: Path) -> None:
    def write(name: str, text: str) -> str:
        (tmp_path / name).write_text(f"import torch\n{text}")
        return str(tmp_path / name)

    a = read_source(write("a.py", "def softmax(x):\n    return x\n"))
    kept = "def softmax(x):\n    '''for the test'''\n    return x\n\ndef softmax_fast(x):\n    return x * 1\n"
    with pytest.raises(UsageError, match="softmax is the same text"):
        choose_entries(a, read_source(write("b.py", kept)), None, None)
    other = read_source(write("c.py", kept.replace("return x\n", "return x + 0\n")))
    assert choose_entries(a, other, None, None) == ("softmax", "softmax")
    assert choose_entries(a, read_source(write("b.py", kept)), None, "softmax") == ("softmax", "softmax")
