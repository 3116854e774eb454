"""Launches: arguments match the TTIR's parameters, whatever Triton's runtime did to them on the way."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from lowering.capture.torch_host import torch_session
from lowering.capture.trace import AtenCall, Launch, PointerArg
from lowering.errors import Unsupported, UsageError
from tests.capture.conftest import SUBJECTS

X = np.arange(40, dtype=np.float32)


def launches(trace):
    return [event for event in trace.events if isinstance(event, Launch)]


def parameters(ttir):
    """Number of parameters of the module's function, by MLIR's own parser."""
    from jaxlib.mlir import ir
    from jaxlib.triton import dialect

    with ir.Context() as context:
        dialect.register_dialect(context)
        context.allow_unregistered_dialects = True
        module = ir.Module.parse(ttir)
        function = module.body.operations[0]
        return len(function.regions[0].blocks[0].arguments)


@pytest.mark.parametrize("name", ["scaled", "heuristic", "tuned", "with_tuple"])
def test_arguments_match_parameters(session, kernels, name):
    (launch,) = launches(session.capture(getattr(kernels, name), [X]))
    assert len(launch.args) == parameters(launch.ttir)


def test_vector_add(session):
    module = session.import_file(SUBJECTS / "vector_add.py")
    trace = session.capture(module.add, [X, X])
    (launch,) = launches(trace)
    assert launch.grid == (1, 1, 1) and launch.constants == {"BLOCK_SIZE": 64}
    assert [(arg.name, arg.signature) for arg in launch.args] == [
        ("x_ptr", "*fp32"),
        ("y_ptr", "*fp32"),
        ("output_ptr", "*fp32"),
        ("n_elements", "i32"),
    ]
    assert launch.written == (2,) and launch.span.line == 22 and launch.options["num_warps"] == 4
    assert trace.outputs[0][1].storage == launch.args[2].value.storage
    assert trace.storages[trace.outputs[0][1].storage].origin == "empty"


def test_constant_one_is_folded_and_nested_jit_is_inlined(session, kernels):
    (launch,) = launches(session.capture(kernels.scaled, [X]))
    assert launch.constants["stride"] == 1 and "stride" not in [arg.name for arg in launch.args]
    assert "tt.call" not in launch.ttir


def test_view_argument_keeps_offset_and_stride(session, kernels):
    trace = session.capture(kernels.scaled_column, [X.reshape(10, 4)])
    (launch,) = launches(trace)
    pointer = launch.args[0].value
    assert isinstance(pointer, PointerArg) and pointer.byte_offset == 4
    assert pointer.tensor.strides == (4,) and pointer.storage == trace.inputs[0][1].storage
    assert {arg.name: arg.value for arg in launch.args}["stride"] == 4


def test_aten_between_two_launches(session, kernels):
    trace = session.capture(kernels.two_launches, [X])
    assert [type(event) for event in trace.events] == [Launch, AtenCall, Launch, AtenCall]
    first, add, second, total = trace.events
    assert add.args[0].storage == first.args[1].value.storage
    assert second.args[0].value.storage == add.outputs[0].storage
    assert total.op == "aten.sum.default"


def test_autograd_function(session, kernels):
    trace = session.capture(kernels.scale_function, [X], backward=True)
    _, backward = launches(trace)
    assert [name for name, _ in trace.outputs] == ["out0", "grad:x"]
    assert [name for name, _ in trace.inputs] == ["x", "cotangent:out0"]
    assert backward.args[0].value.storage == trace.inputs[1][1].storage


def test_autotuner_takes_the_first_configuration_that_compiles(session, kernels):
    trace = session.capture(kernels.tuned, [X])
    (launch,) = launches(trace)
    assert launch.constants["BLOCK"] == 32 and launch.config.startswith("configuration 1 of 3")
    assert trace.configurations == {"tuned_kernel": 3} and any("configuration 1 of 3" in note for note in trace.notes)
    # The autotuner's trial runs leave no event; its reset of y does: it is part of what a GPU would do.
    assert [event.op for event in trace.events[:-1]] == ["aten.zeros_like.default", "aten.fill.Scalar"]


def test_autotuner_can_be_told(session, kernels):
    (launch,) = launches(session.capture(kernels.tuned, [X], autotune_config=2))
    assert launch.constants["BLOCK"] == 64 and "configuration 2 of 3" in launch.config
    with pytest.raises(UsageError, match="from 0 to 2"):
        session.capture(kernels.tuned, [X], autotune_config=3)


def test_a_tuner_with_a_run_of_its_own(session, kernels):
    """What it chose in one capture does not decide the next; the launch says which configuration it has."""
    for asked, block, index in ((None, 32, 1), (2, 64, 2), (None, 32, 1)):
        (launch,) = launches(session.capture(kernels.own_tuned, [X], autotune_config=asked))
        assert launch.constants["BLOCK"] == block and f"configuration {index} of 3" in launch.config


def test_heuristics_and_none(session, kernels):
    (launch,) = launches(session.capture(kernels.heuristic, [X]))
    assert launch.constants == {"bias_ptr": None, "BLOCK": 64, "EVEN": True}
    (launch,) = launches(session.capture(kernels.heuristic, [X, X]))
    assert [arg.name for arg in launch.args] == ["x_ptr", "bias_ptr", "y_ptr", "n"]


def test_descriptors_become_pointers_on_sm_80(session, kernels):
    trace = session.capture(kernels.through_descriptors, [np.zeros((8, 16), np.float32)])
    (launch,) = launches(trace)
    assert "tt.descriptor" not in launch.ttir and len(launch.args) == parameters(launch.ttir)
    assert launch.args[0].signature == "*fp32" and launch.args[1].value == 8
    assert [launch.args[i].name for i in launch.written] == ["target"]


def test_descriptors_stay_on_sm_90():
    with torch_session("sm_90") as session:
        module = session.import_file(SUBJECTS / "kernels.py")
        (launch,) = launches(session.capture(module.through_descriptors, [np.zeros((8, 16), np.float32)]))
    assert "tt.descriptor_load" in launch.ttir and len(launch.args) == 10
    assert launch.args[0].signature.startswith("tensordesc")


def test_written_parameters_through_branch_and_loop(session, kernels):
    (launch,) = launches(session.capture(kernels.chosen, [X, X, X]))
    assert [launch.args[i].name for i in launch.written] == ["a_ptr", "b_ptr"]


def test_block_pointers(session):
    module = session.import_file(SUBJECTS / "block_pointer_gemm.py")
    (launch,) = launches(session.capture(module.matmul, [np.ones((20, 37), np.float32), np.ones((18, 37), np.float32)]))
    assert len(launch.args) == parameters(launch.ttir) and launch.written == (2,)
    assert launch.ttir.count("arith.cmpi sge") >= 2 and "i64" in launch.ttir


def test_a_host_can_divide_by_what_a_compiled_kernel_uses(session):
    """The softmax tutorial works out its grid from the kernel's registers and shared memory."""
    module = session.import_file(SUBJECTS / "vector_add.py")
    seen = []

    def persistent(x):
        kernel = module.add_kernel.warmup(x, x, x, x.numel(), BLOCK_SIZE=64, grid=(1,))
        kernel._init_handles()
        gpu = torch.cuda.get_device_properties(0)
        seen.append(min(65536 // (kernel.n_regs * gpu.warp_size), 100000 // kernel.metadata.shared))
        return module.add(x, x)

    session.capture(persistent, [X])
    assert seen[0] > 0


def test_zero_grid_is_no_launch(session, kernels):
    assert launches(session.capture(kernels.empty_grid, [X])) == []


def test_cpu_pointer_is_refused_as_triton_does(session, kernels):
    with pytest.raises(ValueError, match="cannot be accessed from Triton"):
        session.capture(kernels.cpu_pointer, [X])


def test_written_input_is_an_output(session, kernels):
    trace = session.capture(kernels.in_place, {"x": X, "out": np.zeros_like(X)})
    assert [name for name, _ in trace.outputs] == ["written:out"]


def test_captures_in_one_session_are_independent(session, kernels):
    sizes = [launches(session.capture(kernels.scaled, [np.zeros(n, np.float32)]))[0].grid[0] for n in (16, 33, 16)]
    assert sizes == [1, 3, 1]


def test_bfloat16_and_fp8_inputs(session, kernels):
    import ml_dtypes

    trace = session.capture(kernels.scaled, [X.astype(ml_dtypes.bfloat16)])
    assert launches(trace)[0].args[0].signature == "*bf16"
    trace = session.capture(kernels.heuristic, [torch.zeros(16).to(torch.float8_e4m3fn)])
    assert launches(trace)[0].args[0].signature == "*fp8e4nv"


@pytest.mark.parametrize("target", ["sm_80", "sm_90"])
def test_the_padding_of_a_descriptor_is_seen_or_refused(target):
    """Below sm_90 it is an argument of the kernel; from there on it is hidden in the descriptor."""
    with torch_session(target) as session:
        module = session.import_file(SUBJECTS / "kernels.py")
        inputs = [np.zeros((8, 16), np.float32)]
        if target == "sm_90":
            with pytest.raises(Unsupported, match="padding='nan'"):
                session.capture(lambda x: module.through_descriptors(x, padding="nan"), inputs)
        else:
            trace = session.capture(lambda x: module.through_descriptors(x, padding="nan"), inputs)
            (launch,) = launches(trace)
            assert [a.value for a in launch.args if a.name.endswith("nan_padding")] == [True, False]
