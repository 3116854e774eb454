"""Random draws: equal only where both sides take the same numbers of one generator; never `different` otherwise."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from equivalence.judge import judge
from equivalence.verdicts import Level, Report
from irverify.options import CompareOptions
from irverify.pairing import pair_programs
from lowering.errors import Unsupported
from lowering.pipeline import lower

X = np.linspace(-2, 3, 35, dtype=np.float32).reshape(5, 7)
OPTIONS = CompareOptions(a="a.py", b="b.py")
Host = Callable[[torch.Tensor], Any]


def judged(session: Any, a: Host, b: Host) -> Report:
    programs = [lower(session.capture(function, [X])) for function in (a, b)]
    pair_programs(programs[0], programs[1], ("a.py", "b.py"))
    return judge(programs[:1], programs[1:], [{"x": X}], OPTIONS)


def empty(x: torch.Tensor) -> torch.Tensor:
    return torch.empty_like(x)


def seeded(seed: int, draw: Host) -> Host:
    def run(x: torch.Tensor) -> Any:
        torch.manual_seed(seed)
        return draw(x)

    return run


def seeded_cuda(seed: int) -> Host:
    def run(x: torch.Tensor) -> Any:
        torch.cuda.manual_seed(seed)
        return x + torch.rand_like(x)

    return run


def generator(seed: int) -> Host:
    def run(x: torch.Tensor) -> Any:
        source = torch.Generator(device="cuda").manual_seed(seed)
        return x + torch.rand(5, 7, device="cuda", generator=source)

    return run


def second_of_two(x: torch.Tensor) -> Any:
    torch.rand_like(x)
    return x + torch.rand_like(x)


DRAWS: dict[str, Host] = {
    "rand": lambda x: x + torch.rand(5, 7, device=x.device),
    "randn": lambda x: x + torch.randn(5, 7, device=x.device),
    "randint": lambda x: x + torch.randint(0, 9, (5, 7), device=x.device),
    "randperm": lambda x: x[torch.randperm(5, device=x.device)],
    "bernoulli_": lambda x: x * empty(x).bernoulli_(0.5),
    "bernoulli_ of a tensor": lambda x: x * empty(x).bernoulli_(x.sigmoid()),
    "normal_": lambda x: x + empty(x).normal_(),
    "uniform_": lambda x: x + empty(x).uniform_(-1, 1),
    "random_": lambda x: x + empty(x).random_(0, 10),
    "random_ to": lambda x: x + empty(x).random_(10),
    "random_ of the dtype": lambda x: x + empty(x).random_(),
    "exponential_": lambda x: x + empty(x).exponential_(),
    "dropout": lambda x: F.dropout(x, 0.5),
    "dropout in place": lambda x: F.dropout(x.clone(), 0.5, inplace=True),
    "on the CPU": lambda x: x + torch.rand(5, 7).to(x.device),
    "a number": lambda x: x * float(torch.randint(0, 2**31, (1,)).item()),
    "the seed nobody set": lambda x: x * float(torch.initial_seed() % 7),
    "a fresh seed": lambda x: x * float(torch.seed() % 7),
    "random.random": lambda x: x + random.random(),
    "numpy.random": lambda x: x + float(np.random.rand()),
    "numpy's generator": lambda x: x + float(np.random.default_rng().random()),
}


@pytest.mark.parametrize("name", DRAWS)
def test_the_same_draw_is_equal_and_no_draw_is_undecided(session: Any, name: str) -> None:
    same = judged(session, DRAWS[name], DRAWS[name])
    assert same.verdict.level >= Level.REASSOCIATED, same.verdict
    none = judged(session, DRAWS[name], lambda x: x + 0.0)
    assert none.verdict.level is Level.UNDECIDED and "random streams" in none.verdict.reason
    assert any(finding.code == "random-streams-differ" for finding in none.findings)


UNMATCHED: dict[str, tuple[Host, Host]] = {
    "another kernel of torch": (lambda x: x * (torch.rand_like(x) < 0.5), lambda x: x * (empty(x).bernoulli_(0.5) > 0)),
    "dropout is fused": (DRAWS["dropout"], lambda x: x * (empty(x).bernoulli_(0.5) / 0.5)),
    "exponentials are not made of rand": (DRAWS["exponential_"], lambda x: x - torch.log1p(-torch.rand_like(x))),
    "another seed": (seeded(1, DRAWS["rand"]), seeded(2, DRAWS["rand"])),
    "a seed on one side": (seeded(0, DRAWS["rand"]), DRAWS["rand"]),
    "another seed of cuda": (seeded_cuda(1), seeded_cuda(2)),
    "another seed of a generator": (generator(1), generator(2)),
    "a later draw": (second_of_two, lambda x: x + torch.rand_like(x)),
    "another size": (DRAWS["rand"], lambda x: x + torch.rand(6, 7, device=x.device)[:5]),
    "another dtype": (DRAWS["rand"], lambda x: x + torch.rand(5, 7, device=x.device, dtype=torch.float64).float()),
    "another order in memory": (DRAWS["rand"], lambda x: x + torch.rand_like(x.t().contiguous().t())),
    "another device": (DRAWS["rand"], DRAWS["on the CPU"]),
    "constants of the CPU": (DRAWS["on the CPU"], lambda x: x + torch.randn(5, 7).to(x.device)),
}


@pytest.mark.parametrize("name", UNMATCHED)
def test_draws_that_do_not_correspond_are_undecided(session: Any, name: str) -> None:
    verdict = judged(session, *UNMATCHED[name]).verdict
    assert verdict.level is Level.UNDECIDED and "random streams" in verdict.reason


MATCHED: dict[str, tuple[Host, Host]] = {
    "shapes of one size": (DRAWS["rand"], lambda x: x + torch.rand(35, device=x.device).view(5, 7)),
    "rand_like": (DRAWS["rand"], lambda x: x + torch.rand_like(x)),
    "normal_ is randn": (DRAWS["normal_"], DRAWS["randn"]),
    "one seed": (seeded(3, DRAWS["rand"]), seeded(3, DRAWS["rand"])),
    "one seed of cuda": (seeded_cuda(3), seeded(3, DRAWS["rand"])),
    "one seed of a generator": (generator(3), generator(3)),
}


@pytest.mark.parametrize("name", MATCHED)
def test_draws_that_correspond(session: Any, name: str) -> None:
    report = judged(session, *MATCHED[name])
    assert report.verdict.level >= Level.REAL, report.verdict
    assert any("generators in the same state" in line for line in report.assumptions)


def test_another_use_of_the_same_numbers_is_different(session: Any) -> None:
    report = judged(session, DRAWS["dropout"], lambda x: 0.5 * F.dropout(x, 0.5))
    assert report.verdict.level is Level.DIFFERENT


@pytest.mark.parametrize("draw", ["geometric_", "cauchy_", "log_normal_"])
def test_other_distributions_are_refused_by_name(session: Any, draw: str) -> None:
    arguments = (0.5,) if draw == "geometric_" else ()
    trace = session.capture(lambda x: x + getattr(empty(x), draw)(*arguments), [X])
    with pytest.raises(Unsupported, match=draw.removesuffix("_")):
        lower(trace)


def test_capture_leaves_the_generators_alone(session: Any) -> None:
    states = random.getstate(), torch.get_rng_state().tolist(), np.random.get_state()[1].tolist()  # type: ignore[index]
    for name in DRAWS:
        session.capture(DRAWS[name], [X])
    assert states == (random.getstate(), torch.get_rng_state().tolist(), np.random.get_state()[1].tolist())  # type: ignore[index]


def test_a_backend_generator_of_jax_is_refused() -> None:
    jax = pytest.importorskip("jax")
    from lowering.capture.jax_host import capture_jax

    def bits(x: Any) -> Any:
        return x + jax.random.uniform(jax.random.key(0, impl="rbg"), x.shape)

    with pytest.raises(Unsupported, match="rng_bit_generator"):
        lower(capture_jax(bits, [X]))


@pytest.mark.parametrize(("a", "b", "same"), [(0, 0, True), (0, 1, False), (0, None, False)])
def test_keys_of_jax(a: int, b: int | None, same: bool) -> None:
    jax = pytest.importorskip("jax")
    from lowering.capture.jax_host import capture_jax

    def noisy(key: int | None) -> Callable[..., Any]:
        return lambda x: x + (0.5 if key is None else jax.random.uniform(jax.random.key(key), x.shape))

    programs = [lower(capture_jax(noisy(key), [X])) for key in (a, b)]
    pair_programs(programs[0], programs[1], ("a.py", "b.py"))
    x = programs[0].input_names[0]
    verdict = judge(programs[:1], programs[1:], [{x: X}], OPTIONS).verdict
    assert verdict.level is (Level.BITWISE if same else Level.UNDECIDED), verdict


def philox(seed: int | None = None, steps: int = 4, scale: float = 1.0) -> Host:
    """A host that hands the state of cuda's generator to a kernel of its own, and moves it on."""

    def run(x: torch.Tensor) -> Any:
        generator = torch.cuda.default_generators[0]
        if seed is not None:
            generator.set_state(torch.tensor([seed, 0]).view(torch.uint8))
        state = generator.get_state()
        number, offset = map(int, state.view(torch.int64))
        state.view(torch.int64)[1] += steps
        generator.set_state(state)
        return x * (number + offset + scale)

    return run


def test_the_state_of_cudas_generator_is_a_draw(session: Any) -> None:
    """Of every capture anew; where the file has set the seed, its numbers are constants."""
    traces = [session.capture(philox(), [X]) for _ in range(2)]
    assert [trace.host_draws for trace in traces] == [["cuda's generator from 0 on"]] * 2
    assert not session.capture(philox(seed=3), [X]).host_draws
    assert judged(session, philox(), philox()).verdict.level is Level.BITWISE
    assert judged(session, philox(), lambda x: x * 1.0).verdict.level is Level.UNDECIDED
    assert judged(session, philox(seed=3), philox(seed=3, scale=2.0)).verdict.level is Level.DIFFERENT
