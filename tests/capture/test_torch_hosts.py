"""Plain PyTorch host code: devices, modules, in-place writes, views, randomness, custom operators."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import torch.nn as nn
import torch.nn.functional as F

from lowering.capture.trace import AtenCall, Launch
from tests.capture.conftest import SUBJECTS
from tests.capture.replay import Replay

X = np.linspace(-2, 3, 24, dtype=np.float32).reshape(4, 6)


def ops(trace):
    return [event.op for event in trace.events if isinstance(event, AtenCall)]


def replayed(session, fn, args, **options):
    """Captures, replays, and gives (trace, outputs)."""
    trace = session.capture(fn, args, **options)
    return trace, Replay(trace).outputs


def test_softmax_is_one_event(session):
    def softmax(x):
        return torch.softmax(x, -1)

    trace = session.capture(softmax, [X])
    assert ops(trace) == ["aten._softmax.default"]
    assert trace.events[0].span.name == "softmax" and trace.events[0].span.file == __file__
    assert trace.inputs[0][0] == "x" and trace.outputs[0][0] == "out0"


@pytest.mark.parametrize(
    "host",
    [
        lambda x: x.cuda() + 1,
        lambda x: x.to("cuda") + 1,
        lambda x: x.to(0) + 1,
        lambda x: x.to(torch.device("cuda", 0)) + 1,
        lambda x: x + torch.ones(4, 6, device="cuda"),
        lambda x: x + torch.tensor(1.0, device="cuda"),
        lambda x: x + torch.tensor([1.0], device=x.device),
        lambda x: x + x.new_tensor([1.0]),
        lambda x: x + x.new_ones(1),
        lambda x: x + torch.as_tensor([1.0], device="cuda"),
        lambda x: x + torch.full((1,), 1.0, device=0),
        lambda x: x + torch.ones_like(x),
        lambda x: x + torch.from_numpy(np.ones(6, np.float32)).cuda(),
        lambda x: x + torch.tensor(1.0),
        lambda x: torch.where(x > -9, x, 0) + 1,
    ],
)
def test_every_way_to_ask_for_the_device(session, host):
    _, outputs = replayed(session, host, [X])
    torch.testing.assert_close(outputs["out0"], torch.from_numpy(X) + 1)


def test_default_device(session):
    def host(x):
        with torch.device("cuda"):
            y = torch.ones(6)
        torch.set_default_device("cuda")
        try:
            return x + y * torch.tensor(2.0)
        finally:
            torch.set_default_device(None)

    _, outputs = replayed(session, host, [X])
    torch.testing.assert_close(outputs["out0"], torch.from_numpy(X) + 2)


def test_tensors_say_cuda(session):
    seen = {}

    def host(x):
        seen.update(
            device=str(x.device),
            is_cuda=x.is_cuda,
            get=x.get_device(),
            count=torch.cuda.device_count(),
            sms=torch.cuda.get_device_properties(0).multi_processor_count,
            cap=torch.cuda.get_device_capability(),
        )
        return x

    session.capture(host, [X])
    assert seen == {"device": "cuda:0", "is_cuda": True, "get": 0, "count": 1, "sms": 108, "cap": (8, 0)}


def test_views_are_not_events(session):
    trace = session.capture(lambda x: x.t()[1:3].unsqueeze(0).expand(5, 2, 4), [X])
    assert trace.events == [] and trace.outputs[0][1].storage == trace.inputs[0][1].storage
    assert trace.outputs[0][1].strides == (0, 1, 6) and trace.outputs[0][1].offset == 1


def test_in_place_writes(session):
    def host(x, y):
        x[:, 0].add_(1.0)
        y.copy_(x)
        y[0] = 7.0
        torch.mul(x, 2.0, out=y[:, :6])
        x.unsqueeze_(0)
        x.zero_()

    trace, outputs = replayed(session, host, [X, np.zeros_like(X)])
    assert [name for name, _ in trace.outputs] == ["written:x", "written:y"]
    assert all("_." not in op and ".out" not in op for op in ops(trace))
    expected = torch.from_numpy(X).clone()
    expected[:, 0] += 1
    torch.testing.assert_close(outputs["written:y"], expected * 2)
    assert not outputs["written:x"].any()


def test_in_place_op_that_is_taken_apart(session):
    _, outputs = replayed(session, lambda x: F.hardswish(x.clone(), inplace=True), [X])
    torch.testing.assert_close(outputs["out0"], F.hardswish(torch.from_numpy(X)))


def test_inputs_sharing_memory_keep_sharing_it(session):
    base = torch.zeros(10)
    trace = session.capture(lambda a, b: a.add_(1), [base[:5], base[5:]])
    (_, first), (_, second) = trace.inputs
    assert first.storage == second.storage and second.offset == 5 and not base.any()


def test_kernelbench_model(session):
    module = session.import_file(SUBJECTS / "kernelbench.py")
    arguments = module.get_inputs()
    for cls in (module.Model, module.ModelNew):
        torch.manual_seed(0)
        model = cls(*module.get_init_inputs())
        first = session.capture(model, arguments)
        second = session.capture(model, arguments)
        names = [name for name, _ in first.inputs]
        assert names[:3] == ["x", "weight:linear.weight", "weight:linear.bias"] and "weight:norm.running_mean" in names
        assert first.outputs[0][0] == "out0"
        assert "written:weight:norm.running_mean" in [name for name, _ in first.outputs]
        assert not isinstance(model.linear.weight, type(arguments[0])) and model.linear.weight.device.type == "cpu"
        running = dict(second.inputs)["weight:norm.running_var"].storage
        assert (second.storages[running].data == first.storages[running].data).all()
    assert any(isinstance(event, Launch) for event in first.events)


def test_kernelbench_reference_replays(session):
    module = session.import_file(SUBJECTS / "kernelbench.py")
    model = module.Model(*module.get_init_inputs())
    x = torch.randn(6, 10, device="cpu")
    trace, outputs = replayed(session, model, [x], backward=True)
    cotangent = Replay(trace).view(dict(trace.inputs)["cotangent:out0"])
    leaf = x.clone().requires_grad_()
    expected = model(leaf)
    expected.backward(cotangent)
    torch.testing.assert_close(outputs["out0"], expected.detach())
    torch.testing.assert_close(outputs["grad:x"], leaf.grad, rtol=1e-3, atol=1e-4)
    torch.testing.assert_close(outputs["grad:weight:linear.weight"], model.linear.weight.grad, rtol=1e-3, atol=1e-4)
    torch.testing.assert_close(outputs["written:weight:norm.running_mean"], model.norm.running_mean)


@pytest.mark.parametrize(
    ("name", "module", "shape"),
    [
        ("conv", nn.Conv2d(3, 5, 3, padding=1), (2, 3, 8, 8)),
        ("group norm", nn.GroupNorm(3, 6), (2, 6, 5)),
        ("layer norm", nn.LayerNorm(6), (4, 6)),
        ("lstm", nn.LSTM(6, 5, batch_first=True), (2, 3, 6)),
        ("attention", nn.MultiheadAttention(8, 2, batch_first=True), (2, 4, 8)),
        ("pool", nn.MaxPool2d(2), (1, 2, 6, 6)),
        ("average pool", nn.AdaptiveAvgPool2d(2), (1, 2, 6, 6)),
        ("mish", nn.Mish(), (4, 6)),
        ("gelu", nn.GELU(), (4, 6)),
        ("transposed conv", nn.ConvTranspose2d(3, 2, 3, stride=2), (1, 3, 4, 4)),
        ("eval norm", nn.BatchNorm2d(3).eval(), (2, 3, 4, 4)),
        ("instance norm", nn.InstanceNorm2d(3), (2, 3, 4, 4)),
        ("upsample", nn.Upsample(scale_factor=2, mode="bilinear"), (1, 2, 4, 4)),
        ("prelu", nn.PReLU(), (4, 6)),
        ("reflection", nn.ReflectionPad2d(1), (1, 1, 4, 4)),
        ("glu", nn.GLU(), (4, 6)),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_layers_forward_and_backward(session, name, module, shape):
    torch.manual_seed(1)
    x = torch.randn(shape, device="cpu")
    arguments = [x, x.clone(), x.clone()] if name == "attention" else [x]
    _, outputs = replayed(session, module, arguments, backward=True)
    expected = module(*arguments)
    expected = expected[0] if isinstance(expected, tuple) else expected
    torch.testing.assert_close(outputs["out0"], expected.detach(), rtol=1e-4, atol=1e-5)
    assert any(output.startswith("grad:") for output in outputs)


def test_scaled_dot_product_attention_is_taken_apart(session):
    q = np.random.default_rng(0).standard_normal((1, 2, 5, 8), dtype=np.float32)
    trace, outputs = replayed(
        session, lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True), [q, q, q]
    )
    expected = F.scaled_dot_product_attention(*[torch.from_numpy(q)] * 3, is_causal=True)
    torch.testing.assert_close(outputs["out0"], expected, rtol=1e-4, atol=1e-5)
    assert not any("attention" in op for op in ops(trace))


def test_cpu_tensors_of_the_functions_own(session):
    """Mixed devices are an error on a GPU: such a function is captured with CPU inputs instead."""

    def host(x):
        mask = torch.ones(4, 6).tril()
        return torch.where(mask > 0, x, -1.0) * torch.arange(6)

    trace, outputs = replayed(session, host, [X])
    expected = host(torch.from_numpy(X))
    torch.testing.assert_close(outputs["out0"], expected)
    assert trace.inputs[0][0] == "x"


def test_constants_changed_later_stay_right(session):
    def host(x):
        offset = torch.zeros(6)
        first = x.cpu() + offset
        offset.add_(1.0)
        return first, x.cpu() + offset

    _, outputs = replayed(session, host, [X])
    torch.testing.assert_close(outputs["out1"], outputs["out0"] + 1)


def test_randomness_is_noted(session):
    trace = session.capture(lambda x: F.dropout(x, 0.5) + torch.randn_like(x), [X])
    assert sum("random values" in note for note in trace.notes) >= 2
    again = session.capture(lambda x: F.dropout(x, 0.5) + torch.randn_like(x), [X])
    assert [e.op for e in again.events] == [e.op for e in trace.events]


def test_checkpoint_inference_mode_compile_and_jit(session):
    from torch.utils.checkpoint import checkpoint

    trace = session.capture(lambda x: checkpoint(torch.tanh, x, use_reentrant=False), [X], backward=True)
    assert ops(trace).count("aten.tanh.default") == 2

    @torch.inference_mode()
    def inference(x):
        return torch.compile(lambda y: y * 2)(x)

    assert ops(session.capture(inference, [X])) == ["aten.mul.Tensor"]


def test_backward_inside_the_function(session):
    def host(x):
        leaf = x.detach().requires_grad_()
        (leaf**3).sum().backward()
        return leaf.grad

    _, outputs = replayed(session, host, [X])
    torch.testing.assert_close(outputs["out0"], 3 * torch.from_numpy(X) ** 2)


def test_spans_of_backward_ops_are_their_forward_lines(session):
    def host(x):
        y = torch.exp(x)
        return torch.sin(y)

    trace = session.capture(host, [X], backward=True)
    first = host.__code__.co_firstlineno
    lines = {event.op: event.span.line - first for event in trace.events}
    assert lines["aten.cos.default"] == 2 and lines["aten.exp.default"] == 1
    assert trace.events[-1].span.line - first == 1


def test_custom_operator_with_a_triton_kernel(session, kernels):
    @torch.library.custom_op("irverify_test::double", mutates_args=(), device_types="cuda")
    def double(x: torch.Tensor) -> torch.Tensor:
        return kernels.scaled(x)

    library = torch.library.Library("irverify_test2", "DEF")
    library.define("triple(Tensor x) -> Tensor")
    library.impl("triple", lambda x: kernels.scaled(x, 3.0), "CUDA")

    def host(x):
        return torch.ops.irverify_test2.triple(double(x))

    trace = session.capture(host, [X[0]])
    assert [event.kernel for event in trace.events if isinstance(event, Launch)] == ["scale_kernel"] * 2
    library._destroy()


def test_numbers_and_nested_results(session):
    trace = session.capture(lambda x: {"a": (x + 1, 2.5), "b": [x * 2, None]}, [X])
    assert [name for name, _ in trace.outputs] == ["out.a.0", "out.a.1", "out.b.0"]
    assert dict(trace.outputs)["out.a.1"].dtype == "float64"


def test_data_assignment_and_metadata_in_place(session):
    def host(x):
        y = torch.zeros(2, device="cuda")
        y.data = x.t()
        assert y.shape == (6, 4)
        y.t_()
        assert y.shape == (4, 6)
        return y + 1

    _, outputs = replayed(session, host, [X])
    torch.testing.assert_close(outputs["out0"], torch.from_numpy(X) + 1)


def test_lazy_conjugates_and_lists_of_tensors(session):
    def host(x):
        pairs = torch.view_as_complex(x.view(12, 2))
        product = torch.view_as_real(pairs * pairs.conj())
        return product, *torch._foreach_add([x, x], 1.0)

    trace, outputs = replayed(session, host, [X])
    pairs = torch.view_as_complex(torch.from_numpy(X).view(12, 2))
    torch.testing.assert_close(outputs["out0"], torch.view_as_real(pairs * pairs.conj()))
    assert ops(trace).count("aten.add.Scalar") + ops(trace).count("aten.add.Tensor") == 2
