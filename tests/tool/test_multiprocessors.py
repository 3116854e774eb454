"""Hosts that ask how many multiprocessors there are: captured once more where these are few."""

from __future__ import annotations

from pathlib import Path

import pytest

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
    assert "value=2" in found["2 multiprocessors"]


def test_a_host_that_does_not_ask_is_not(tmp_path: Path) -> None:
    assert not [label for label in labels(NEVER, tmp_path) if "multiprocessors" in label]


def test_only_where_both_sides_take_the_shapes(tmp_path: Path) -> None:
    assert not [label for label in labels(AT_IMPORT, tmp_path, other_takes=False) if "multiprocessors" in label]
