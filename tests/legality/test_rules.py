"""Every rule: a kernel that breaks it, and a neighbour of it that is legal."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

from irverify.explain import REGISTRY
from lowering.capture.nki.text import print_trace
from lowering.capture.nki.text_parser import parse_trace
from lowering.legality import RULES, check
from tests.legality.kernels import found, traced


class Case(NamedTuple):
    """``legal`` has no finding of any kind."""

    code: str
    illegal: str
    legal: str
    target: str = "trn2"
    legal_target: str = ""
    severity: str = "error"


MATMUL = "nisa.nc_matmul(psum(({m}, {n}){dst}), {a}, {b}{more})"


def matmul(m: int = 32, n: int = 64, k: int = 128, a: str = "", b: str = "", dst: str = "", more: str = "") -> str:
    """A matmul of filled tiles; ``a``, ``b``, ``dst``: dtypes."""
    left, right = f"filled(({k}, {m}), nl.{a or 'float32'})", f"filled(({k}, {n}), nl.{b or 'float32'})"
    return MATMUL.format(m=m, n=n, a=left, b=right, dst=f", nl.{dst}" if dst else "", more=more)


COPY = "nisa.tensor_copy({0}, {1})"
MX = """
d, s = sbuf((128, 4), nl.float8_e4m3fn_x4), sbuf((128, 4), nl.uint8)
nisa.quantize_mx(d, filled((128, 16), nl.{nl}), s)
"""
MX_MATMUL = "nisa.nc_matmul_mx(psum((4, 4)), d, d, {}, s)"
TOPK = "nisa.topk(sbuf((16, 8), nl.bfloat16), sbuf((16, 8), nl.{nl}), filled((16, 2), nl.bfloat16), 32)"
CASES = [
    Case("nki-partitions", "filled((129, 4))", "filled((128, 4))"),
    Case("nki-partitions", "filled((64, 4), address=(96, 0))", "filled((32, 4), address=(96, 0))"),
    Case("nki-sbuf-capacity", "filled((128, 4), address=(0, 212980))", "filled((128, 1), address=(0, 212980))"),
    Case("nki-matmul-size", matmul(n=513), matmul(n=512)),
    Case("nki-matmul-size", matmul(m=129), matmul(m=128)),
    Case("nki-matmul-size", matmul(n=1024), matmul(n=1024), "trn2", "trn3"),
    Case("nki-instruction-size", "nisa.bn_stats(sbuf((128, 6)), filled((128, 513)))",
         "nisa.bn_stats(sbuf((128, 6)), filled((128, 512)))"),
    Case("nki-instruction-size", "nisa.nc_transpose(sbuf((64, 32)), filled((32, 64)), engine=nisa.vector_engine)",
         "nisa.nc_transpose(psum((64, 32)), filled((32, 64)), engine=nisa.tensor_engine)"),
    Case("nki-instruction-size", "nisa.max8(sbuf((128, 8)), filled((128, 16385)))",
         "nisa.max8(sbuf((128, 8)), filled((128, 16384)))"),
    Case("nki-psum-bank", "p = psum((32, 1024))\nnisa.nc_matmul(p[:, 256:768], filled((128, 32)), filled((128, 512)))",
         "p = psum((32, 1024))\nnisa.nc_matmul(p[:, 512:1024], filled((128, 32)), filled((128, 512)))"),
    Case("nki-psum-capacity", "p = psum((128, 4097))", "p = psum((128, 4096))"),
    Case("nki-psum-capacity", """
         tiles = [psum((128, 512)) for _ in range(9)]
         for t in tiles:
             nisa.memset(t, 0)
         for t in tiles:
             nisa.tensor_copy(sbuf((128, 512)), t)
         """, """
         for _ in range(9):
             t = psum((128, 512))
             nisa.memset(t, 0)
             nisa.tensor_copy(sbuf((128, 512)), t)
         """),
    Case("nki-sbuf-capacity", "filled((128, 60000))", "filled((128, 50000))"),
    Case("nki-sbuf-capacity", "a, b = filled((128, 30000)), filled((128, 30000))\nnisa.tensor_copy(b, a)",
         "a, b = filled((64, 30000)), filled((64, 30000))\nnisa.tensor_copy(b, a)"),
    Case("nki-sbuf-capacity", "filled((128, 50000))", "filled((128, 50000))", "trn1", "trn2"),
    Case("nki-start-partition", COPY.format("sbuf((128, 8))[16:48, :]", "filled((32, 8))"),
         COPY.format("sbuf((128, 8))[32:64, :]", "filled((32, 8))")),
    Case("nki-start-partition", COPY.format("sbuf((128, 8))[32:96, :]", "filled((64, 8))"),
         COPY.format("sbuf((128, 8))[64:128, :]", "filled((64, 8))")),
    Case("nki-gpsimd-psum", "p = psum((128, 8))\nnisa.memset(p, 0, engine=nisa.gpsimd_engine)",
         "p = psum((128, 8))\nnisa.memset(p, 0, engine=nisa.vector_engine)"),
    Case("nki-two-psum", """
         p, q = psum((128, 8)), psum((128, 8))
         nisa.memset(p, 0)
         nisa.memset(q, 0)
         nisa.tensor_tensor(sbuf((128, 8)), p, q, nl.add)
         """, """
         p, q = psum((128, 8)), sbuf((128, 8))
         nisa.memset(p, 0)
         nisa.memset(q, 0)
         nisa.tensor_tensor(sbuf((128, 8)), p, q, nl.add)
         """),
    Case("nki-matmul-memory", "nisa.nc_matmul(sbuf((32, 64)), filled((128, 32)), filled((128, 64)))", matmul()),
    Case("nki-memory", COPY.format("sbuf((128, 64))", "x"), COPY.format("sbuf((128, 64))", "loaded(x)")),
    Case("nki-memory", "p = psum((128, 64))\nnisa.memset(p, 0)\nnisa.dma_copy(dst=out, src=p)",
         "p = sbuf((128, 64))\nnisa.memset(p, 0)\nnisa.dma_copy(dst=out, src=p)"),
    Case("nki-engine",
         "nisa.tensor_scalar(sbuf((128, 8)), filled((128, 8)), nl.maximum, 1.0, engine=nisa.scalar_engine)",
         "nisa.tensor_scalar(sbuf((128, 8)), filled((128, 8)), nl.multiply, 2.0, engine=nisa.scalar_engine)"),
    Case("nki-engine",
         "nisa.tensor_tensor(sbuf((8, 8)), filled((8, 8)), filled((8, 8)), nl.power, engine=nisa.vector_engine)",
         "nisa.tensor_tensor(sbuf((8, 8)), filled((8, 8)), filled((8, 8)), nl.power)"),
    Case("nki-target", "nisa.tensor_copy(sbuf((128, 8)), filled((128, 8)), engine=nisa.scalar_engine)",
         "nisa.tensor_copy(sbuf((128, 8)), filled((128, 8)), engine=nisa.scalar_engine)", "trn1", "trn2"),
    Case("nki-target", "nisa.activation(sbuf((128, 8)), nl.exp, filled((128, 8)), bias=1.0)",
         "nisa.activation(sbuf((128, 8)), nl.exp, filled((128, 8)), bias=filled((128, 1)))", "trn1"),
    Case("nki-target", "nisa.exponential(sbuf((128, 8)), filled((128, 8)), 1.0)",
         "nisa.exponential(sbuf((128, 8)), filled((128, 8)), 1.0)", "trn2", "trn3"),
    Case("nki-target", COPY.format("sbuf((16, 4))", "filled((16, 8)).indirect(filled((16, 1), nl.uint16), 4)"),
         COPY.format("sbuf((16, 4))", "filled((16, 8)).indirect(filled((16, 1), nl.uint16), 4)"), "trn2", "trn3"),
    Case("nki-matmul-dtype", matmul(a="float32", b="bfloat16"), matmul(a="float16", b="bfloat16")),
    Case("nki-matmul-dtype", matmul(a="int32", b="int32"), matmul(a="bfloat16", b="float8_e5m2")),
    Case("nki-matmul-dtype", matmul(a="bfloat16", b="bfloat16", dst="bfloat16"),
         matmul(a="bfloat16", b="bfloat16", dst="bfloat16"), "trn2", "trn3"),
    Case("nki-dtype", "nisa.nc_transpose(psum((64, 32)), filled((32, 64), nl.bfloat16))",
         "nisa.nc_transpose(psum((64, 32), nl.bfloat16), filled((32, 64), nl.bfloat16))"),
    Case("nki-dtype", "nisa.tensor_tensor(sbuf((8, 8)), filled((8, 8)), filled((8, 8)), nl.bitwise_and)",
         """
         a = filled((8, 8), nl.int32)
         nisa.tensor_tensor(sbuf((8, 8), nl.int32), a, filled((8, 8), nl.int32), nl.bitwise_and)
         """),
    Case("nki-dtype", "nisa.tensor_copy_predicated(filled((8, 8)), filled((8, 8)), filled((8, 8)))",
         "nisa.tensor_copy_predicated(filled((8, 8)), filled((8, 8)), filled((8, 8), nl.uint8))"),
    Case("nki-dtype", MX.format(nl="float32"), MX.format(nl="bfloat16"), "trn3"),
    Case("nki-dtype", TOPK.format(nl="int32"), TOPK.format(nl="uint32")),
    Case("nki-target", MX.format(nl="bfloat16"), MX.format(nl="bfloat16"), "trn2", "trn3"),
    Case("nki-undefined", MX.format(nl="bfloat16") + MX_MATMUL.format("sbuf((128, 4), nl.uint8)"),
         MX.format(nl="bfloat16") + MX_MATMUL.format("s"), "trn3"),
    Case("nki-integers", "nisa.tensor_scalar(sbuf((8, 8), nl.int32), filled((8, 8), nl.int32), nl.add, 1)",
         "nisa.tensor_tensor(sbuf((8, 8), nl.int32), filled((8, 8), nl.int32), filled((8, 8), nl.int32), nl.add)",
         severity="warning"),
    Case("nki-pattern", "nisa.memset(sbuf((2, 4, 4, 4, 4, 4))[:, 0:2, 0:2, 0:2, 0:2, 0:2], 0)",
         "nisa.memset(sbuf((2, 4, 4, 4, 4))[:, 0:2, 0:2, 0:2, 0:2], 0)"),
    Case("nki-pattern", "nisa.memset(sbuf((2, 2, 32768), nl.bfloat16)[:, :, 0:1], 0)",
         "nisa.memset(sbuf((2, 2, 32767), nl.bfloat16)[:, :, 0:1], 0)"),
    Case("nki-partition-stride", "nisa.memset(sbuf((128, 8))[0:64:2, :], 0)",
         "nisa.memset(sbuf((128, 8))[0:32, :], 0)"),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.code)
def test_a_rule_is_broken_and_kept(case: Case, tmp_path: Path) -> None:
    broken = [one for one in found(tmp_path, case.illegal, case.target) if one.code == case.code]
    assert broken and broken[0].severity == case.severity, found(tmp_path, case.illegal, case.target)
    assert broken[0].span.file.startswith(str(tmp_path)) and broken[0].span.line
    assert not found(tmp_path, case.legal, case.legal_target or case.target)


def test_an_access_stays_within_its_tensor(tmp_path: Path) -> None:
    """The tracer refuses such views; a trace that is read may have them."""
    text = print_trace(traced(tmp_path, "nisa.memset(sbuf((128, 8))[:, 1:8], 0)"))
    assert check(parse_trace(text)) == []
    (one,) = check(parse_trace(text.replace("[128,7]/(8,1)+1", "[128,7]/(8,1)+2")))
    assert one.code == "nki-bounds" and "elements 2 to 1024" in one.message
    (one,) = check(parse_trace(text.replace("[128,7]/(8,1)+1", "[128,7]/(8,-1)+5")))
    assert one.code == "nki-bounds" and "elements -1 to 1021" in one.message


def test_one_partition_in_the_place_of_many(tmp_path: Path) -> None:
    """Beta-1's compiler spreads a partition over the others; nothing does in the new API."""
    text = print_trace(traced(tmp_path, "nisa.tensor_copy(sbuf((128, 7)), filled((128, 8))[:, 1:8])"))
    text = text.replace("[128,7]/(8,1)+1", "[128,7]/(0,1)+1")
    (one,) = check(parse_trace(text))
    assert one.code == "nki-partition-stride" and "one partition in the place of 128" in one.message
    assert check(parse_trace(text.replace('"new"', '"beta1"'))) == []


def test_every_rule_is_explained() -> None:
    assert {code for code in REGISTRY if code.startswith("nki-")} == set(RULES)
