"""The table of handlers against torch's own schemas: each can be reached, and none ignores an argument silently."""

from __future__ import annotations

import dis
import inspect
import re
from collections.abc import Iterator
from typing import Any

import pytest
import torch

from lowering.capture import aten_policy as policy
from lowering.capture.trace import AtenCall
from lowering.errors import Span, Unsupported
from lowering.frontends.aten import HANDLERS, Library, lower_call
from lowering.frontends.aten.registry import PRIMS
from lowering.ir.builder import Builder
from lowering.ir.types import F32, TensorType
from lowering.pipeline import lower_torch
from tests.frontends.aten.test_lowering import OUT, X, call, ref, text, trace


def overloads(name: str) -> Iterator[Any]:
    """Of the op and of its in-place form, those the dispatcher knows."""
    for spelled in (name, f"{name}_"):
        packet = getattr(torch.ops.aten, spelled, None)
        for overload in packet.overloads() if packet else ():
            try:
                func = getattr(packet, overload)
                policy.decomposition(func)
            except RuntimeError:  # TorchScript's own, on Python numbers
                continue
            yield func


def recorded(func: Any) -> bool:
    """Whether capture hands the op on under its own name."""
    functional = policy.functional_variant(func) if func._schema.is_mutable else func
    apart = functional is not None and policy.packet_name(functional) in policy.TAKEN_APART
    kept = policy.packet_name(func) not in policy.ALLOCATORS
    return kept and not apart and policy.decomposition(func) is None and not policy.is_view(func)


@pytest.mark.parametrize("name", sorted(HANDLERS))
def test_a_registered_name_can_be_reached(name: str) -> None:
    renamed = {target.removeprefix("aten.") for target, _, _ in policy.RENAMED.values()}
    assert name in set(PRIMS.values()) | renamed or any(map(recorded, overloads(name)))


def test_what_is_kept_has_a_handler() -> None:
    assert {name.removeprefix("aten.") for name in policy.KEPT} <= set(HANDLERS)


# -- arguments --------------------------------------------------------------------------------------------------------


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


#: Arguments that are seen in the outputs' shapes and dtypes, or say how a result is found and not what it is.
SEEN = _names(
    """
    keepdim ceil_mode output_size out_dtype out_int32 output_padding input_dtype size _size implicit minlength
    non_blocking sparse sparse_grad unsafe bias_sizes return_inverse return_counts
    """
)
_SHAPED = "the outputs have the shape and the dtype"
#: Of single handlers, with the reason.
HARMLESS = {
    "embedding": ({"padding_idx", "scale_grad_by_freq"}, "only gradients ask for them"),
    "max_pool2d_with_indices_backward": ({"self", "kernel_size", "stride", "padding", "dilation"}, "indices say all"),
    "max_pool3d_with_indices_backward": ({"self", "kernel_size", "stride", "padding", "dilation"}, "indices say all"),
    "softmax": ({"dtype"}, _SHAPED),
    "log_softmax": ({"dtype"}, _SHAPED),
    "_softmax": ({"dtype"}, _SHAPED),
    "_log_softmax": ({"dtype"}, _SHAPED),
    "_safe_softmax": ({"dtype"}, _SHAPED),
    "arange": ({"end"}, _SHAPED),
    "eye": ({"n", "m"}, _SHAPED),
    "randperm": ({"n"}, _SHAPED),
    **dict.fromkeys(["copy", "exponential", "fill", "random", "uniform", "new_full"], ({"self"}, "it is overwritten")),
    **dict.fromkeys(
        _names("""
        _conj_copy _to_copy clone view_copy new_ones new_zeros ones ones_like rand rand_like randn randn_like zero zeros
        zeros_like
        """),
        ({"_"}, _SHAPED),
    ),
}
#: Ops with a dtype= that their handlers do not take: they convert to the result's dtype before they compute.
CONVERT_FIRST = _names(
    """
    _to_copy arange cumprod cumsum eye full full_like linspace new_full new_ones new_zeros normal ones ones_like rand
    rand_like randint randint_like randn randn_like randperm scalar_tensor tril_indices triu_indices zeros zeros_like
    """
)


def unread(handler: Any) -> set[str]:
    """The parameters that a handler never looks at."""
    code = handler.__code__
    operands = {i.argval for i in dis.get_instructions(code) if i.opname.startswith(("LOAD", "MAKE_CELL"))}
    operands |= {name for pair in operands if isinstance(pair, tuple) for name in pair}
    nested = {name for const in code.co_consts if inspect.iscode(const) for name in const.co_freevars}
    return set(inspect.signature(handler).parameters) - operands - nested - {"ctx"}


def test_what_is_unread_is_found() -> None:
    def handler(ctx: Any, self: Any, dim: int, keepdim: bool, *rest: Any) -> Any:
        return [ctx.value(self, d) for d in range(dim)]

    assert unread(handler) == {"keepdim", "rest"}


@pytest.mark.parametrize("name", sorted(HANDLERS))
def test_no_argument_is_ignored_silently(name: str) -> None:
    """An argument without a parameter is refused, but for those that say where a result is stored."""
    harmless, _ = HARMLESS.get(name, (set(), ""))
    assert unread(HANDLERS[name]) - SEEN == harmless
    parameters = inspect.signature(HANDLERS[name]).parameters
    keywords = {a.name for func in overloads(name) for a in func._schema.arguments if a.kwarg_only}
    assert ("dtype" in keywords - set(parameters)) == (name in CONVERT_FIRST)


def test_an_argument_without_a_parameter_is_refused() -> None:
    extras: list[dict[str, Any]] = [{"output_scale": 2}, {"without": True}, {"layout_like": X}]
    for extra in extras:
        with pytest.raises(Unsupported, match="this overload is not covered"):
            lower_torch(trace(call("relu.default", X, **extra), inputs=(X,)))
    lower_torch(trace(call("relu.default", X, out=ref(9, 3, 5), memory_format=None), inputs=(X,)))


@pytest.mark.parametrize(
    ("refused", "message"),
    [
        (call("view_copy.dtype", X, "int32", out=ref(9, 3, 5, dtype="int32")), "use .view(dtype)"),
        (call("linspace.Tensor_Scalar", ref(0), 1.0, 15), "numbers as bounds"),
        (call("unique_consecutive.default", X, False, False, 0), "with dim"),
        (call("searchsorted.Tensor", X, X, sorter=X), "with a sorter"),
        (call("scatter_reduce.two", X, 1, X, X, "mean"), "reduce='mean'"),
    ],
)
def test_arguments_that_are_refused(refused: Any, message: str) -> None:
    with pytest.raises(Unsupported, match=re.escape(message)):
        lower_torch(trace(refused, inputs=(X,)))


# -- arguments that were lost once ------------------------------------------------------------------------------------


def test_an_order_that_is_not_asked_for_is_open() -> None:
    indices = ref(8, 3, 2, dtype="int64")
    for flag, orders in ((True, 0), (False, 1)):
        op = AtenCall("aten.topk.default", (X, 2, 1, True, flag), {}, (ref(9, 3, 2), indices), Span())
        assert text(trace(op, inputs=(X,), out=ref(9, 3, 2))).count("reorder") == orders
        line, inverse = ref(0, 4, dtype="int64"), ref(8, 4, dtype="int64")
        op = AtenCall("aten._unique2.default", (line, flag, True), {}, (ref(9, 3, dtype="int64"), inverse), Span())
        found = text(trace(op, inputs=(line,), out=ref(9, 3, dtype="int64")))
        assert (found.count("reorder") > 0) == (orders > 0)


def test_dropout_without_a_mode_trains() -> None:
    for mode, drawn in ((None, True), (True, True), (False, False)):
        op = AtenCall("aten.native_dropout.default", (X, 0.25, mode), {}, (OUT, ref(8, 3, 5, dtype="bool")), Span())
        assert ("random" in text(trace(op, inputs=(X,)))) == drawn


@pytest.mark.parametrize("op", ["_softmax.default", "_log_softmax.default", "_safe_softmax.default", "softmax.int"])
def test_softmax_computes_in_the_dtype_asked_for(op: str) -> None:
    wide = ref(9, 3, 5, dtype="float64")
    lines = text(trace(call(op, X, 1, "float64", out=wide), inputs=(X,), out=wide)).splitlines()
    assert 'cast %1 {to="f64"}' in lines[0] and not any("f32" in line for line in lines[1:])


def test_tf32_can_be_forbidden_for_one_convolution() -> None:
    image, kernel, out = ref(0, 1, 2, 5, 7), ref(1, 3, 2, 2, 3), ref(9, 1, 3, 4, 5)
    for allowed in (True, False):
        flags = (False, False, True, allowed)
        op = call(
            "_convolution.default", image, kernel, None, (1, 1), (0, 0), (1, 1), False, (0, 0), 1, *flags, out=out
        )
        builder, library = Builder(), Library("sm_80", convolution_tf32=True)
        lower_call(builder, op, lambda r, b=builder: b.value(TensorType(F32, r.shape)), lambda *_: None, library)
        (product,) = [made for made in builder.block.ops if made.name == "dot"]
        assert product.attrs["precision"] == ("tf32" if allowed else "ieee")


def test_cuda_scales_the_product_where_the_cpu_scales_a_factor() -> None:
    """aten/src/ATen/native/cuda/DeviceAddCmulCdiv.cuh."""
    three = (X, ref(1, 3, 5), ref(2, 3, 5))
    ops = lambda op, target: [  # noqa: E731
        line.split(" = ")[1].split()[0]
        for line in text(trace(op, inputs=three, target=target)).splitlines()
        if " = " in line and "constant" not in line
    ]
    assert ops(call("addcmul.default", *three), "cpu") == ops(call("addcmul.default", *three), "sm_80") == ["fma"]
    scaled, quotient = call("addcmul.default", *three, value=0.3), call("addcdiv.default", *three, value=0.3)
    assert ops(scaled, "cpu") == ops(scaled, "sm_80") == ["mul", "fma"]
    assert text(trace(scaled, inputs=three)) != text(trace(scaled, inputs=three, target="sm_80"))
    assert ops(quotient, "cpu") == ["mul", "div", "add"] and ops(quotient, "sm_80") == ["div", "fma"]


def test_the_activation_of_a_fused_product_differs_by_device() -> None:
    bias, left, right = ref(0, 5), ref(1, 3, 7), ref(2, 7, 5)
    op = call("_addmm_activation.default", bias, left, right, use_gelu=True)
    inputs = (bias, left, right)
    assert 'fn="erf"' in text(trace(op, inputs=inputs)) and 'fn="tanh"' in text(
        trace(op, inputs=inputs, target="sm_80")
    )
