"""One NKI kernel of a published wheel against PyTorch: traced without the Neuron SDK, lowered and judged.

Takes a WheelCase; gives a Row.  Runs in a worker process (tests.sweeps.pool); the wheels are imported while the NKI
namespaces are in place, because they define their kernels only then.
"""

from __future__ import annotations

import contextlib
import os
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from equivalence.evaluator import Freedoms, Limits, Machine
from irverify._capture_torch import captured_trace
from irverify.collect import Variant
from irverify.pairing import WRITTEN, pair_programs
from irverify.readback import read_back
from lowering.errors import Unsupported, UsageError
from lowering.ir.parser import parse_program
from lowering.ir.printer import print_program
from tests.sweeps.liger import at, judged, part_of
from tests.sweeps.oracle import relative
from tests.sweeps.row import Part, Row

if TYPE_CHECKING:
    from tests.sweeps.wheels_cases import WheelCase

FILES = ("reference", "kernel")
FAR = 1e-4  # of float outputs, relative to the largest magnitude; integers have to be the same


def cases() -> list[WheelCase]:
    """Every case, of both modules that register some."""
    import tests.sweeps.wheels_more
    from tests.sweeps.wheels_cases import CASES

    assert tests.sweeps.wheels_more
    return CASES


def names() -> list[str]:
    return [case.name for case in cases()]


class Wheels:
    """The NKI namespaces and a PyTorch session, entered on the first case."""

    def __init__(self) -> None:
        from lowering.capture.nki.namespaces import installed
        from lowering.capture.torch_host import torch_session

        self.stack = contextlib.ExitStack()
        self.stack.enter_context(installed())
        self.session = self.stack.enter_context(torch_session())

    def row(self, name: str) -> Row:
        case, started = next(case for case in cases() if case.name == name), time.monotonic()
        return Row(name, [self.part(case)], time.monotonic() - started)

    def part(self, case: WheelCase) -> Part:
        """The verdict, and where the kernel's values are far from the reference's in float64 or from the package's."""
        try:
            variant, notes = self.variant(case)
            return part_of(judged(variant), notes, disagreements(case, variant))
        except Unsupported as error:
            return Part("unsupported", f"{error.construct} at {at(error.span)}", [])
        except UsageError as error:
            return Part("refused", str(error).split("\n")[0][:200], [])
        except Exception as error:
            if os.environ.get("SWEEP_DEBUG"):
                raise
            return Part("error", f"{type(error).__name__}: {error}".split("\n")[0][:200], [])

    def variant(self, case: WheelCase) -> tuple[Variant, list[str]]:
        """Both programs, the reference first, as the command line pairs them."""
        from lowering.capture.nki.host import capture_nki
        from lowering.nki_program import lower_nki

        given = case.arguments()
        trace = capture_nki(case.kernel(), list(given.values()), names=list(given))
        kernel = parse_program(print_program(lower_nki(trace)))
        tensors = {name: tensor(value) for name, value in given.items()}
        captured = captured_trace(self.session.capture(case.reference, tensors, read_back=read_back))
        reference = parse_program(captured.kir)
        notes = pair_programs(reference, kernel, FILES)
        return Variant("given", reference, kernel, captured.inputs), notes


def disagreements(case: WheelCase, variant: Variant) -> list[str]:
    """The kernel's program evaluated, against the reference in float64 and against what the package itself offers."""
    run = Machine(variant.program_b, (), Freedoms(), Limits()).run(variant.inputs)
    found = {name: lanes.full(lanes.data)[0] for name, lanes in run.outputs.items()}
    words = [
        f"{name} is {distance:.1e} from PyTorch in float64"
        for name, want in wide_outputs(case).items()
        if name in found and not (distance := apart(found[name], want)) <= FAR
    ]
    if case.package is not None:
        got, want = (np.asarray(x) for x in case.package(case.arguments(), list(found.values())))
        distance = apart(got, want)
        words += [] if distance <= FAR else [f"{distance:.1e} from the package's own reference"]
    return words


def apart(found: np.ndarray, want: np.ndarray) -> float:
    """Relative to the largest magnitude; infinite where integers differ at all."""
    if np.issubdtype(found.dtype, np.integer):
        return 0.0 if np.array_equal(found, want) else float("inf")
    return relative(found.astype(np.float64), want.astype(np.float64))


def wide_outputs(case: WheelCase) -> dict[str, np.ndarray]:
    """What the reference gives in float64, by the names of capture: what it returns, and what it writes to."""
    from lowering.capture.torch_arrays import unobserved

    with unobserved():
        given = {name: wide(tensor(value)) for name, value in case.arguments().items()}
        result = case.reference(**given)
        results = result if isinstance(result, tuple) else () if result is None else (result,)
        named = {f"out{i}": out.numpy() for i, out in enumerate(results)}
        written = {WRITTEN + name: value.numpy() for name, value in given.items() if hasattr(value, "numpy")}
        return named | written


def tensor(value: Any) -> Any:
    """An array as a tensor of its own; anything else as it is."""
    import torch

    return torch.from_numpy(value.copy()) if isinstance(value, np.ndarray) else value


def wide(value: Any) -> Any:
    floating = hasattr(value, "is_floating_point") and value.is_floating_point()
    return value.double() if floating else value
