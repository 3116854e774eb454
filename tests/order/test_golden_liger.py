"""liger-kernel's operators, forward and backward: the name of each order, read off its source, and the tree's bits.

Where an order is left open, the program is run with its open sums made one after the other, as ``evaluate`` does, so
that the named tree must give the program's bits on any inputs.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from equivalence.divergence import trace as tracing
from equivalence.divergence.trace import Trace, trace
from equivalence.order.element import Named, element
from equivalence.order.lanes import Graph
from equivalence.order.tree import evaluate
from lowering.ir.program import Program
from tests.order.one_by_one import OneByOne

needs_liger = pytest.mark.skipif(not importlib.util.find_spec("liger_kernel"), reason="liger-kernel is not installed")

ROW = "unordered(40, left open by TTIR) in f32"  # tl.sum over a row of 40
CLASSES = "unordered(37, left open by TTIR) in f32"
ROWS = "unordered(6, left open by ATen) in f32"  # partial sums of the programs, one row each, by tensor.sum(dim=0)
#: (operator, output, which accumulation of its last element) -> the order; lines are those of liger-kernel 0.8.5.
NAMES: dict[tuple[str, str, int], str] = {
    ("rms_norm", "out0", 0): ROW,  # rms_norm.py:128
    ("rms_norm", "grad:X", 1): ROW,  # 232
    ("rms_norm", "grad:W", 0): ROWS,  # 622
    ("layer_norm", "out0", 0): ROW,  # layer_norm.py:70
    ("layer_norm", "out0", 1): ROW,  # 74, of squares of what is centred
    ("layer_norm", "grad:B", 0): ROWS,  # 317
    ("group_norm", "out0", 0): ROW,  # group_norm.py:68, both channels of a group in one block
    ("group_norm", "grad:affine_shifting_bias", 0):
        "split-K(20 x 3, each unordered(20, left open by TTIR), combined racing(atomics)) in f32",  # 169, 177
    ("softmax", "out0", 0): ROW,  # softmax.py:27
    ("softmax", "grad:x", 0): ROW,
    ("softmax", "grad:x", 1):
        "blocked(40 + 1, inner unordered(40, left open by TTIR), outer sequential, running sum negated before each "
        "addition) in f32",  # 80: dy - dot
    ("cross_entropy", "out0", 0): "unordered(5, left open by ATen) in f32",  # cross_entropy.py:468, one is ignored
    ("cross_entropy", "out0", 2): CLASSES,  # 184, one block
    ("kl_div", "out0", 0):
        "split-K(37 x 6, each unordered(37, left open by TTIR), "
        "combined unordered(left open by ATen)) in f32",  # kl_div.py:92, 160
    ("tvd", "out0", 0): ROWS,  # tvd.py:157
    ("tvd", "out0", 1): CLASSES,  # 105
    ("dyt", "grad:alpha", 0):
        "split-K(40 x 6, each unordered(40, left open by TTIR), "
        "combined unordered(left open by ATen)) in f32",  # dyt.py:91, 147
    ("dyt", "grad:gamma", 0): ROWS,  # dyt.py:146
    ("jsd", "out0", 0): "unordered(222, left open by ATen) in f32",  # jsd.py:129
    ("poly_norm", "out0", 1): ROW,  # poly_norm.py:75
    ("poly_norm", "grad:B", 0):
        "split-K(40 x 6, each unordered(40, left open by TTIR), "
        "combined unordered(left open by ATen)) in f32",  # poly_norm.py:167, 337
}  # fmt: skip
#: Operators without a sum of three terms or more.
ELEMENTWISE = ("swiglu", "geglu")
Traced = Callable[[str], Trace]


@pytest.fixture(scope="module")
def liger() -> Iterator[Traced]:
    """The trace of an operator with its open sums made one after the other."""
    import torch

    from lowering.capture.torch_host import torch_session
    from lowering.pipeline import lower

    known: dict[str, Trace] = {}
    with torch_session("sm_80") as session, pytest.MonkeyPatch.context() as patch:
        patch.setattr(tracing, "TracingMachine", OneByOne)
        from tests.sweeps.liger_cases import CASES, normal

        cases = {case.name: case for case in CASES}

        def inputs_of(name: str) -> dict[str, Any]:
            given = cases[name].inputs()
            return {**given, "X": normal(3, 6, 20)} if name == "group_norm" else given  # three programs a channel

        def of(name: str) -> Trace:
            if name not in known:
                given = inputs_of(name)
                program = lower(session.capture(cases[name].load(), given, backward=True))
                arrays = {n: v.detach().numpy() for n, v in given.items() if isinstance(v, torch.Tensor)}
                known[name] = trace(program, _all(program, arrays), 0)
            return known[name]

        yield of


def _all(program: Program, arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The operator's inputs, and incoming gradients."""
    rng, made = np.random.default_rng(3), dict[str, np.ndarray]()
    for name, value in zip(program.input_names, program.body.args, strict=True):
        kind = value.type
        drawn = arrays.get(name, np.asarray(rng.standard_normal(kind.shape)))
        made[name] = drawn.astype(kind.dtype.numpy).reshape(kind.shape)
    return made


def check_bits(made: Trace, named: Named) -> None:
    graph = Graph(made)
    result = evaluate(named.name.build(), named.accumulation.values(graph))
    assert float(result[0]) == graph.at(named.accumulation.root).value
    assert float(result[0]) != 0


@needs_liger
@pytest.mark.parametrize("subject", NAMES, ids=lambda s: f"{s[0]}.{s[1]}.{s[2]}")
def test_the_name_and_its_bits(subject: tuple[str, str, int], liger: Traced) -> None:
    operator, output, which = subject
    made = liger(operator)
    named = element(made, output).named[which]
    assert str(named.name) == NAMES[subject]
    check_bits(made, named)


@needs_liger
@pytest.mark.parametrize("operator", ELEMENTWISE)
def test_what_adds_nothing_up_has_no_order(operator: str, liger: Traced) -> None:
    made = liger(operator)
    assert all(not element(made, output).named for output in made.outputs)


@needs_liger
def test_another_order_gives_other_bits(liger: Traced) -> None:
    """The check can fail: the same terms from the last to the first."""
    made = liger("layer_norm")
    named = element(made, "out0").named[0]
    values = named.accumulation.values(Graph(made))
    assert float(evaluate(named.name.build(), values[::-1])[0]) != Graph(made).at(named.accumulation.root).value
