"""The modules of the new API as kernels import them: what is there, what says so only when used, what is missing."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from irverify import loading
from lowering.capture.nki.host import capture_nki
from lowering.capture.nki.namespaces import installed
from lowering.errors import Unsupported, UsageError
from tests.capture.nki.new_api import hbm, kernel, refused, unmodelled

SOURCE = """
from dataclasses import dataclass
import nki, nki.dtype, nki.runtime
import nki.compiler as ncc
import nki.compiler.kernel_builder as nb
import nki.collectives as ncoll
import nki.isa as nisa
import nki.language as nl
import nki.typing as nt
from nki import jit
from nki.collectives import ReplicaGroup, all_reduce
from nki.isa import NkiValidationError, VirtualRegister, NkiInstruction
from nki.isa.constants import dge_mode, matmul_perf_mode, oob_mode
from nki.language import NKIObject, NkiTensor
from nki.language.constants import sbuf, psum
from nki.runtime import SpikeModel

GROUP = ReplicaGroup([[0, 1]])


@dataclass
class Sizes(NKIObject):
    rows: int
    columns: int = 4


@ncc.skip_middle_end_transformations
@nki.jit(platform_target="trn2")
def kernel(x: nt.tensor, y: "nt.mutable_tensor" = None, factor: nt.scalar = 2.0) -> nt.tensor[4, 4]:
    sizes = Sizes(rows=4)
    out = nl.ndarray((sizes.rows, sizes.columns), dtype=nki.dtype.float32, buffer=nl.shared_hbm)
    tile = nl.ndarray(out.shape, x.dtype, buffer=sbuf)
    assert tile.dtype in (nl.float32, np.float16) and tile.dtype == nki.dtype.float32 and tile.dtype != nl.bfloat16
    assert isinstance(x, NkiTensor) and x.buffer == nl.hbm and tile.buffer == nl.sbuf
    nisa.dma_copy(dst=tile, src=x, dge_mode=dge_mode.hwdge, oob_mode=oob_mode.error)
    nisa.tensor_scalar(dst=tile, data=tile, op0=nl.multiply, operand0=factor)
    nisa.dma_copy(dst=out, src=tile)
    return out


@jit
def reduced(x):
    all_reduce([x], [x], GROUP, nl.add)


@jit
def built(x):
    nb.build(x)


@jit
def ran(x):
    SpikeModel(x)


@jit
def old(x):
    return nl.arange(4)
""".replace("from dataclasses", "import numpy as np\nfrom dataclasses", 1)
X = np.ones((4, 4), np.float32)


def module_of(folder: Path, text: str = SOURCE) -> Any:
    (folder / "kernel.py").write_text(text)
    return loading.load(folder / "kernel.py")


def test_a_kernel_with_every_import(tmp_path: Path) -> None:
    with installed():
        module = module_of(tmp_path)
        trace = capture_nki(module.kernel, [X], names=("x",))
        assert [instr.op for instr in trace.instrs] == ["nc_dma_copy", "tensor_scalar", "nc_dma_copy"]
        for entry, word in (("reduced", "all_reduce over groups of 2 ranks"), ("built", "kernel_builder.build"),
                            ("ran", "nki.runtime.SpikeModel")):  # fmt: skip
            with pytest.raises(Unsupported, match=rf"{word}, which is not modelled yet at .*kernel\.py:\d+"):
                capture_nki(getattr(module, entry), [X], names=("x",))
        with pytest.raises(Exception, match=r"nki\.language\.arange is not in NKI"):
            capture_nki(module.old, [X], names=("x",))
    assert not [name for name in sys.modules if name.split(".")[0] == "nki"]


CONSTANT = """
import numpy as np
import nki
import nki.isa as nisa
import nki.language as nl
import nki.tensor as ntensor

@nki.jit
def kernel(x):
    out = nl.ndarray((4, 4), dtype=nl.float32, buffer=nl.shared_hbm)
    made = ntensor.identity(4, nl.float32) + ntensor.zeros((4, 4), dtype=nl.int8) + ntensor.arange(0, 8, 2)
    nisa.dma_copy(dst=out, src=nl.shared_constant(made.astype(np.float32) if {} else ntensor.tril(made)))
    return out
"""


def test_constants_of_nki_tensor(tmp_path: Path) -> None:
    with installed():
        (instr,) = (trace := capture_nki(module_of(tmp_path, CONSTANT.format(True)).kernel, [X], names=("x",))).instrs
        data = trace.storages[instr.src[0].storage].data
        assert data.dtype == np.float32 and (data == np.eye(4) + [0, 2, 4, 6]).all()
        with pytest.raises(Unsupported, match=r"nki\.tensor\.tril, which is not modelled yet"):
            capture_nki(module_of(tmp_path, CONSTANT.format(False)).kernel, [X], names=("x",))


def test_names_that_are_not_there() -> None:
    with installed():
        language, isa, root = (importlib.import_module(name) for name in ("nki.language", "nki.isa", "nki"))
        for module, name, words in (
            (language, "mgrid", "take slices"), (language, "par_dim", "lists of tensors"),
            (language, "fp32", "Beta-1's"), (language, "nonsense", "has no attribute 'nonsense'"),
            (isa, "tensor_copy_dynamic_src", "scalar_offset"),
            (isa, "builtin_custom_op", "Beta-1's"), (root, "benchmark", "Beta-1's"), (root, "baremetal", "Beta-1's"),
        ):  # fmt: skip
            assert not hasattr(module, name)
            with pytest.raises(AttributeError, match=words):
                getattr(module, name)
        for name in ("current", "instructions", "np", "tile_of", "alu", "api", "here"):
            assert not hasattr(language, name) and not hasattr(isa, name)
        for name in ("nki.private", "nki._private_kernels", "nki.isa.private"):
            with pytest.raises(ImportError):
                importlib.import_module(name)


def test_modules_are_attributes_of_the_package() -> None:
    with installed():
        root = importlib.import_module("nki")
        for name in ("dtype", "language", "isa", "typing", "collectives", "compiler", "runtime"):
            assert getattr(root, name).__name__ == f"nki.{name}"


def test_the_target_is_not_known_at_import(tmp_path: Path) -> None:
    with installed(), pytest.raises(UsageError, match=r"kernel\.py:2: nisa.get_nc_version\(\) outside of a kernel"):
        module_of(tmp_path, "import nki.isa as nisa\nVERSION = nisa.get_nc_version()\n")


def test_collectives_of_one_rank_are_copies() -> None:
    from lowering.capture.nki import collectives_new as ncoll

    with kernel() as trace:
        x, y = hbm(4, 8), hbm(4, 8)
        one, two = ncoll.ReplicaGroup([[0]]), ncoll.ReplicaGroup([[0, 1], [2, 3]])
        ncoll.all_reduce([x], [y], one, "add")
        ncoll.all_gather([x], [y], one, 0)
        ncoll.reduce_scatter([x], [y], ncoll.ReplicaGroup([[0], [1]]), 0, "add")
        ncoll.all_to_all([x], [y], one, 0)
        ncoll.collective_permute([x], [y], [(0, 0)])
        assert [(i.op, i.dst, i.src) for i in trace.instrs] == [("nc_dma_copy", (y.ref,), (x.ref,))] * 5
        with unmodelled("nki.collectives.all_reduce over groups of 2 ranks", "is a copy"):
            ncoll.all_reduce([x], [y], two, "add")
        with unmodelled("collective_permute along [(0, 1), (1, 0)]"):
            ncoll.collective_permute([x], [y], [(0, 1), (1, 0)])
        with refused("as many destinations"):
            ncoll.all_reduce([x], [], one, "add")
        with refused("nki.collectives.all_reduce: from float32 to bfloat16"):
            ncoll.all_reduce([x], [hbm(4, 8, dtype="bfloat16")], one, "add")
        with unmodelled("nki.collectives.rank_id"):
            ncoll.rank_id()
