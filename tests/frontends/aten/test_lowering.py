"""What lowering emits: golden texts of representative ops, what CUDA's kernels do otherwise, and what is refused."""

from __future__ import annotations

import re
from typing import Any

import pytest

from lowering.capture.trace import AtenCall, HostRead, HostTrace, Storage, TensorRef
from lowering.errors import Span, Unsupported
from lowering.frontends.aten import FAMILIES, HANDLERS
from lowering.frontends.aten.dtypes import promote, result_type
from lowering.ir.parser import parse_program
from lowering.ir.printer import print_program
from lowering.ir.types import BF16, BOOL, F16, F32, F64, I8, I16, I32, I64, U8, DType
from lowering.pipeline import lower_torch


def ref(storage: int, *shape: int, dtype: str = "float32", strides: tuple[int, ...] | None = None) -> TensorRef:
    row_major, n = [], 1
    for extent in reversed(shape):
        row_major.insert(0, n)
        n *= extent
    return TensorRef(storage, dtype, shape, strides or tuple(row_major))


CUBE = ref(0, 3, 5, 7)
COLUMNS = TensorRef(9, "float32", (3, 2), (5, 2), 1)
X, Y, OUT = ref(0, 3, 5), ref(1, 5), ref(9, 3, 5)
HALF, HALF_OUT = ref(0, 3, 5, dtype="bfloat16"), ref(9, 3, 5, dtype="bfloat16")


def trace(
    *calls: AtenCall, inputs: tuple[TensorRef, ...] = (X, Y), out: TensorRef = OUT, target: str = "cpu"
) -> HostTrace:
    """The trace of a few calls whose last output is returned."""
    storages = {i: Storage(i, 4096, "empty") for i in range(10)}
    named = [(f"in{i}", r) for i, r in enumerate(inputs)]
    return HostTrace(named, [("out", out)], storages, list(calls), target=target)


def call(op: str, *args: Any, out: TensorRef = OUT, **kwargs: Any) -> AtenCall:
    return AtenCall(f"aten.{op}", args, kwargs, (out,), Span())


def text(host: HostTrace) -> str:
    """The body without its signature; printed text must parse to itself."""
    printed = print_program(lower_torch(host))
    assert print_program(parse_program(printed)) == printed
    body = printed.split("{\n", 1)[1]
    return "\n".join(line.strip() for line in _renumbered(body).splitlines()[:-1])


def _renumbered(body: str) -> str:
    names: dict[str, str] = {}
    return re.sub(r"%\d+", lambda m: names.setdefault(m[0], f"%{len(names)}"), body)


GOLDEN = {
    "promoted scalar": (
        trace(call("mul.Tensor", HALF, 0.1, out=HALF_OUT), inputs=(HALF,), out=HALF_OUT),
        """%0 = cast %1 {to="f32"} : f32[3,5]
           %2 = constant {to="f32", shape=[3, 5], value=0.1} : f32[3,5]
           %3 = mul %0, %2 : f32[3,5]
           %4 = cast %3 {to="bf16"} : bf16[3,5]
           return "out" %4""",
    ),
    "sum of two dimensions": (
        trace(call("sum.dim_IntList", CUBE, (0, 2), out=ref(9, 5)), inputs=(CUBE,), out=ref(9, 5)),
        """%0 = transpose %1 {perm=[0, 2, 1]} : f32[3,7,5]
           %2 = reshape %0 {shape=[21, 5]} : f32[21,5]
           %3 = reduce %2 {axis=0, combine="add", impl="torch"} : f32[5]
           return "out" %3""",
    ),
    "linear layer on a transposed weight": (
        trace(
            call("addmm.default", Y, X, ref(2, 5, 5, strides=(1, 5))),
            inputs=(X, Y, ref(2, 5, 5)),
        ),
        """%0 = transpose %1 {perm=[1, 0]} : f32[5,5]
           %2 = dot %3, %0 {acc="f32", impl="torch"} : f32[3,5]
           %4 = broadcast %5 {shape=[3, 5], dims=[1]} : f32[3,5]
           %6 = add %2, %4 : f32[3,5]
           return "out" %6""",
    ),
    "in place through a view": (
        trace(
            call("copy_.default", OUT, X),
            call("mul_.Tensor", COLUMNS, 2.0, out=COLUMNS),
        ),
        """%0 = alloc {bytes=4096} : ptr
           write %0, %1 {strides=[5, 1]}
           %2 = slice %1 {start=[0, 1], limit=[3, 4], step=[1, 2]} : f32[3,2]
           %3 = constant {to="f32", shape=[3, 2], value=2.0} : f32[3,2]
           %4 = mul %2, %3 : f32[3,2]
           write %0, %4 {strides=[5, 2], offset=1}
           %5 = read %0 {to="f32", shape=[3, 5], strides=[5, 1]} : f32[3,5]
           return "out" %5""",
    ),
    "softmax": (
        trace(call("_softmax.default", X, -1, False)),
        """%0 = reduce %1 {axis=1, combine="max", impl="torch"} : f32[3]
           %2 = broadcast %0 {shape=[3, 5], dims=[0]} : f32[3,5]
           %3 = sub %1, %2 : f32[3,5]
           %4 = math %3 {fn="exp", impl="torch"} : f32[3,5]
           %5 = reduce %4 {axis=1, combine="add", impl="torch"} : f32[3]
           %6 = broadcast %5 {shape=[3, 5], dims=[0]} : f32[3,5]
           %7 = div %4, %6 : f32[3,5]
           return "out" %7""",
    ),
    "dropout": (
        trace(call("bernoulli.p", X, 0.25)),
        """%0 = random {to="f32", shape=[3, 5], dist="uniform"} : f32[3,5]
           %1 = constant {to="f32", shape=[3, 5], value=0.25} : f32[3,5]
           %2 = cmp %0, %1 {pred="lt"} : i1[3,5]
           %3 = cast %2 {to="f32"} : f32[3,5]
           return "out" %3""",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", GOLDEN)
def test_golden(name: str) -> None:
    host, expected = GOLDEN[name]
    assert text(host) == "\n".join(line.strip() for line in expected.splitlines())


def test_cuda_division_by_a_number_has_an_accuracy_of_its_own() -> None:
    division = call("div.Tensor", X, 3.0)
    assert "declared" not in text(trace(division)) and "declared" in text(trace(division, target="sm_80"))
    assert "declared" not in text(trace(call("div.Tensor", X, 4.0), target="sm_80"))
    assert "declared" not in text(trace(call("div.Tensor", X, Y), target="sm_80"))


def test_cuda_adds_with_atomics() -> None:
    index = ref(2, 3, 5, dtype="int64")
    scatter = call("scatter_add.default", X, 1, index, X)
    assert 'order="sequential"' in text(trace(scatter, inputs=(X, index)))
    assert 'order="racing"' in text(trace(scatter, inputs=(X, index), target="sm_80"))


def test_tf32_is_a_flag_and_convolutions_say_when_it_is_unknown() -> None:
    image, kernel, out = ref(0, 1, 2, 5, 7), ref(1, 3, 2, 2, 3), ref(9, 1, 3, 4, 5)
    conv = call("convolution.default", image, kernel, None, (1, 1), (0, 0), (1, 1), False, (0, 0), 1, out=out)
    host = trace(conv, inputs=(image, kernel), out=out, target="sm_80")
    program = lower_torch(host)
    assert "allow_tf32" in program.notes[0] and "tf32" not in text(host)
    assert not lower_torch(trace(conv, inputs=(image, kernel), out=out)).notes


def test_padding_between_elements_stays_undefined() -> None:
    strided = ref(0, 3, 5, strides=(8, 1))
    whole = ref(0, 24)
    printed = text(trace(call("neg.default", whole, out=ref(9, 24)), inputs=(strided,), out=ref(9, 24)))
    assert "write %0, %1 {strides=[8, 1]}" in printed and 'read %0 {to="f32", shape=[24]' in printed


def test_repeated_elements_are_not_forwarded() -> None:
    """Writing through a view that visits an element twice does not read back what was written."""
    twice = ref(9, 3, 5, strides=(0, 1))
    printed = text(trace(call("add.Tensor", X, Y, out=twice), out=twice))
    assert "read" in printed


def test_host_read_joins_the_path() -> None:
    host = trace(call("add.Tensor", X, Y))
    host.events.append(HostRead(ref(9), None))  # type: ignore[arg-type]
    assert "observe" in text(host)


def test_constants_are_written_in_the_dtype_they_are_used_with() -> None:
    import numpy as np

    table = np.arange(5, dtype=np.float32)
    host = trace(call("add.Tensor", X, ref(5, 5)), inputs=(X,))
    host.storages[5] = Storage(5, 20, "data", table.view(np.uint8))
    assert 'constant {to="f32", shape=[5], value=dense' in text(host)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (call("_fft_r2c.default", X, (0,), 0, True), "aten._fft_r2c.default at k.py:7"),
        (call("scatter_reduce.two", X, 1, X, X, "mean"), "reduce='mean' at k.py:7"),
        (call("view_as_complex.default", X), "aten.view_as_complex.default at k.py:7"),
        (call("add.Tensor", X, ref(1, 5, dtype="complex64")), "complex64"),
        (call("relu.default", X, 1, 2, 3), "this overload is not covered"),
    ],
)
def test_refused_with_the_line(bad: AtenCall, message: str) -> None:
    placed = AtenCall(bad.op, bad.args, bad.kwargs, bad.outputs, Span("k.py", 7, 3))
    with pytest.raises(Unsupported, match=re.escape(message)):
        lower_torch(trace(placed, inputs=(X,)))


@pytest.mark.parametrize(
    ("a", "b", "result"),
    [(F32, F64, F64), (F16, BF16, F32), (I64, F16, F16), (U8, I32, I32), (BOOL, U8, U8), (U8, I8, I16)],
)  # fmt: skip
def test_promotion(a: DType, b: DType, result: DType) -> None:
    assert promote(a, b) is result and promote(b, a) is result


def test_result_type_prefers_dimensioned_tensors() -> None:
    assert result_type([(BF16, 2), (F32, 0), 1.5]) is BF16
    assert result_type([(I64, 2), (F64, 0)]) is F64
    assert result_type([(I32, 1), 1.5]) is F32
    assert result_type([(BOOL, 1), 2]) is I64


def test_every_family_registers_handlers() -> None:
    modules = {handler.__module__ for handler in HANDLERS.values()}
    assert {family.__name__ for family in FAMILIES} <= modules
