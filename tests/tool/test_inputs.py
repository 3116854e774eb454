"""Input specifications and the values they give; their way through the exchange."""

from __future__ import annotations

from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from irverify._capture import laid_out
from irverify.exchange import Exchange
from irverify.inputs import ArraySpec, from_object, generate, parse_arguments, parse_spec
from irverify.values import ArrayValue, Named
from lowering.errors import UsageError


def value_of(text: str, **bindings: int) -> np.ndarray:
    return generate(parse_spec(text, "--input"), bindings, (0, 0)).data


def test_dtypes_and_shapes() -> None:
    for text, dtype, shape in (
        ("f32[3,5]", np.float32, (3, 5)),
        ("bf16[7]", ml_dtypes.bfloat16, (7,)),
        ("f8e4m3fn[2,3]", ml_dtypes.float8_e4m3fn, (2, 3)),
        ("float16[ 4 ]", np.float16, (4,)),
        ("bool[5]", np.bool_, (5,)),
        ("f32[]", np.float32, ()),
        ("f32[0,3]", np.float32, (0, 3)),
    ):
        array = value_of(text)
        assert (array.dtype, array.shape) == (dtype, shape), text


def test_named_dimensions_and_ranges() -> None:
    array = value_of("i64[N] in [0,V)", N=200, V=7)
    assert array.shape == (200,) and array.min() == 0 and array.max() == 6


def test_closed_integer_range_includes_its_end() -> None:
    assert set(value_of("i32[200] in [-1,1]").tolist()) == {-1, 0, 1}


def test_permutation_and_sorted() -> None:
    assert sorted(value_of("i32[17] permutation").tolist()) == list(range(17))
    assert (np.diff(value_of("f32[9] in [0,4) sorted")) >= 0).all()


@pytest.mark.parametrize(("text", "strides"), [("f32[3,5] transposed", (1, 3)), ("f32[3,5] strided", (8, 1))])
def test_layouts(text: str, strides: tuple[int, int]) -> None:
    value = generate(parse_spec(text, ""), {}, (0, 0))
    assert value.strides == strides
    memory = laid_out(value)
    view = np.lib.stride_tricks.as_strided(memory, value.data.shape, [4 * step for step in strides])
    assert np.array_equal(view, value.data)


@pytest.mark.parametrize(
    ("text", "value"),
    [("3", 3), ("1e-5", 1e-5), ("None", None), ("true", True), ("False", False), ("'mean'", "mean"), ("(2, 3)", (2, 3)),
     ("torch.float16", Named("dtype", "float16"))],
)  # fmt: skip
def test_plain_values(text: str, value: object) -> None:
    assert parse_spec(text, "") == value


def test_names_and_positions() -> None:
    first, second = parse_arguments(["f32[3]", "eps=1e-5"])
    assert first.name is None and isinstance(first.spec, ArraySpec)
    assert (second.name, second.spec) == ("eps", 1e-5)


def test_unknown_object_is_named() -> None:
    with pytest.raises(UsageError, match=r"inputs\[0\] is a object"):
        from_object(object(), "inputs[0]")


def test_exchange_keeps_every_value(tmp_path: Path) -> None:
    exchange = Exchange(tmp_path)
    value = [None, True, -3, 0.1, float("nan"), "x", (1, [2.5]), {"k": ArrayValue(np.ones(3, ml_dtypes.bfloat16))},
             ArrayValue(np.arange(6.0).reshape(2, 3), (1, 2)), Named("dtype", "float16"), np.float32(2)]  # fmt: skip
    exchange.publish("v", value)
    back = exchange.read("v")
    assert back[:4] == value[:4] and np.isnan(back[4]) and back[5:7] == value[5:7]
    assert back[7]["k"].data.dtype == ml_dtypes.bfloat16 and back[8].strides == (1, 2)
    assert back[9] == value[9] and back[10].data == np.float32(2)


def test_exchange_refuses_objects(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"init\[1\] is a object"):
        Exchange(tmp_path).publish("init", [1, object()])


@pytest.mark.parametrize("file", ["../secret.bin", "/etc/hostname", "a.job.json"])
def test_files_outside_the_exchange_are_refused(tmp_path: Path, file: str) -> None:
    value = '{"array": "a0", "dtype": "uint8", "shape": [1]}'
    (tmp_path / "v.json").write_text(f'{{"files": {{"a0": "{file}"}}, "value": {value}}}')
    with pytest.raises(UsageError, match="none of its own"):
        Exchange(tmp_path).read("v")


def test_an_array_is_written_once_and_read_as_it_was(tmp_path: Path) -> None:
    x = np.random.default_rng(0).standard_normal((300, 300)).astype(np.float32)
    exchange = Exchange(tmp_path)
    exchange.publish("v0", [ArrayValue(x)])
    read = exchange.read("v0")[0].data
    exchange.publish("a.v0", {"x": ArrayValue(x.copy())})
    assert len(list(tmp_path.glob("*.bin"))) == 1
    read[0, 0] = 7.0  # the reader's own memory
    again = Exchange(tmp_path).read("a.v0")["x"].data
    assert np.array_equal(again, x)
    exchange.publish("b.v0", {"x": ArrayValue(read)})
    assert np.array_equal(Exchange(tmp_path).read("b.v0")["x"].data, read) and read[0, 0] == 7.0


def test_the_parent_keeps_what_it_has_read(tmp_path: Path) -> None:
    x = np.random.default_rng(1).standard_normal((300, 300)).astype(np.float32)
    Exchange(tmp_path).publish("v0", [ArrayValue(x)])
    read = Exchange(tmp_path, mapped=False).read("v0")[0].data
    (tmp_path / "v0.a0.bin").write_bytes(b"")  # mapped bytes would be gone, and looking at them fatal
    assert np.array_equal(read, x)


def test_a_link_is_no_array(tmp_path: Path) -> None:
    Exchange(tmp_path).publish("v0", [ArrayValue(np.zeros(4, np.float32))])
    (tmp_path / "v0.a0.bin").rename(tmp_path / "elsewhere")
    (tmp_path / "v0.a0.bin").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="symbolic"):
        Exchange(tmp_path).read("v0")


def test_empty_arrays_pass(tmp_path: Path) -> None:
    Exchange(tmp_path).publish("v", [ArrayValue(np.zeros((0, 3), np.float32))])
    assert Exchange(tmp_path).read("v")[0].data.shape == (0, 3)
