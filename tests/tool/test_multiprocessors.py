"""Hosts that ask how many multiprocessors there are: captured once more where these are few."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from irverify import compare
from irverify.exchange import Exchange
from irverify.job import Job
from irverify.side import run_side

AT_IMPORT = """
import torch
COUNT = torch.cuda.get_device_properties(0).multi_processor_count
def scaled(x):
    return x * COUNT
"""
IN_THE_CALL = """
import torch
def scaled(x):
    from triton.runtime import driver
    return x * driver.active.utils.get_device_properties(torch.cuda.current_device())["multiprocessor_count"]
"""
NEVER = """
import torch
COUNT = torch.cuda.get_device_properties(0).warp_size
def scaled(x):
    return x * COUNT
"""


def labels(source: str, folder: Path, other_takes: bool = True) -> dict[str, str]:
    """KIR by label of the leading side; the other side has said what it takes before it was asked."""
    (folder / "a.py").write_text(source)
    exchange = Exchange(folder)
    for index in range(12):
        exchange.publish(f"b.v{index}", {} if other_takes or not index else {"failure": {}})
    run_side(
        Job(side="a", path=str(folder / "a.py"), entry="scaled", adapter="irverify._capture_torch:TorchAdapter",
            exchange=str(folder), specs=["f32[40]"], max_shapes=3, blocks=[32], variant_seconds=500.0)
    )  # fmt: skip
    count = exchange.read("end")["count"]
    return {exchange.read(f"v{i}")["label"]: exchange.read_text(f"a.v{i}.kir") for i in range(count)}


@pytest.mark.parametrize("source", [AT_IMPORT, IN_THE_CALL])
def test_a_host_that_asks_is_told_of_few(source: str, tmp_path: Path) -> None:
    found = labels(source, tmp_path)
    assert "108" in found["given"] and "108" in found["ragged"]
    assert "108" not in found["3 multiprocessors"] and "value=3" in found["3 multiprocessors"]
    assert "value=2" in found["2 multiprocessors"] and "value=1" in found["1 multiprocessor"]


def test_a_host_that_does_not_ask_is_not(tmp_path: Path) -> None:
    assert not [label for label in labels(NEVER, tmp_path) if "multiprocessor" in label]


def test_only_where_both_sides_take_the_shapes(tmp_path: Path) -> None:
    found = [label for label in labels(AT_IMPORT, tmp_path, other_takes=False) if "multiprocessor" in label]
    assert found == ["3 multiprocessors", "1 multiprocessor"]  # both at the given ones


def test_a_file_that_cannot_be_loaded_twice_is_said(tmp_path: Path) -> None:
    once = "import sys\nif hasattr(sys, 'loaded_once'):\n    raise RuntimeError('again')\nsys.loaded_once = 1\n"
    try:
        found = labels(once + AT_IMPORT, tmp_path)
    finally:
        del sys.loaded_once  # type: ignore[attr-defined]
    assert not [label for label in found if "multiprocessor" in label]
    said = Exchange(tmp_path).read("skipped.3 multiprocessors")["message"]
    assert "the file cannot be loaded twice (RuntimeError)" in said


PERSISTENT = """
import torch
import triton
import triton.language as tl

@triton.jit
def kernel(x, y, n, tiles, BLOCK: tl.constexpr):
    total = tl.zeros((BLOCK,), tl.float32)
    for tile in range(tl.program_id(0), tiles, tl.num_programs(0)):
        at = tile * BLOCK + tl.arange(0, BLOCK)
        total TAKES tl.load(x + at, mask=at < n, other=0.0) * 2
        tl.store(y + at, total, mask=at < n)

def layer(x):
    y, tiles = torch.empty_like(x), triton.cdiv(x.numel(), 128)
    most = torch.cuda.get_device_properties(x.device).multi_processor_count
    kernel[(min(most, tiles),)](x, y, x.numel(), tiles, BLOCK=128)
    return y
"""


@pytest.mark.parametrize(("takes", "code"), [("=", 0), ("+=", 1)])
def test_what_a_tile_leaves_to_the_next(takes: str, code: int, tmp_path: Path) -> None:
    """One axis: other sets than the given one have two tiles at most, as many as there are multiprocessors."""
    (tmp_path / "a.py").write_text("import torch\ndef layer(x):\n    return x * 2\n")
    (tmp_path / "b.py").write_text(PERSISTENT.replace("TAKES", takes))
    report = compare(str(tmp_path / "a.py"), str(tmp_path / "b.py"), inputs=["f32[1000]"])
    assert report.exit_code == code
