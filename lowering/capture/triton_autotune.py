"""Makes Triton's autotuner choose without a clock: the first configuration that compiles, or the one asked for.

Takes the active session through a Chooser; gives the choice in words.  Must not know about traces or tensors.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import triton.testing
from triton.compiler.errors import CompilationError
from triton.runtime.autotuner import Autotuner

from lowering.errors import UsageError

_IMPOSSIBLE = [float("inf")] * 3
_POSSIBLE = [1.0, 1.0, 1.0]


@dataclass
class Chooser:
    """The autotuning of one capture.  ``forced``: index among the configurations left after pruning, or None."""

    forced: int | None = None
    counts: dict[str, int] = field(default_factory=dict)  # kernel name -> number of configurations to choose from
    running: list[Autotuner] = field(default_factory=list)
    candidates: dict[int, list[Any]] = field(default_factory=dict)
    tuned: set[int] = field(default_factory=set)
    found: bool = False
    tunes: bool = False  # whether the running tuner has not chosen yet for these arguments
    now: Callable[[], int] = int  # the number of events recorded so far
    begun: int = 0  # that number, when the running tuner began to choose

    def restrict(self, tuner: Autotuner, configs: list[Any]) -> list[Any]:
        """The configurations that are tried."""
        name = tuner.base_fn.__name__
        self.found, self.tunes, self.begun = False, True, self.now()
        self.counts[name] = len(configs)
        self.candidates[id(tuner)] = list(configs)
        if self.forced is None:
            return configs
        if not 0 <= self.forced < len(configs):
            raise UsageError(
                f"autotuner configuration {self.forced} asked for, but kernel {name} has {len(configs)} "
                f"(write a number from 0 to {len(configs) - 1})"
            )
        return [configs[self.forced]]

    def benchmark(self, kernel_call: Callable[[], Any]) -> list[float]:
        """Finite time for the first configuration that compiles, infinite for all others."""
        if self.found:
            return list(_IMPOSSIBLE)
        try:
            kernel_call()
        except CompilationError:
            return list(_IMPOSSIBLE)
        self.found = True
        return list(_POSSIBLE)

    def put_back(self) -> set[str] | None:
        """The arguments that the running tuner restores after its trials; None where it makes none that show.

        It makes none where it has one configuration, or has chosen before; hooks around trials may put back anything.
        """
        tuner = self.running[-1] if self.running else None
        if tuner is None or not self.tunes or len(self.candidates.get(id(tuner), tuner.configs)) < 2:
            return None
        if getattr(tuner, "user_defined_pre_hook", False) or getattr(tuner, "user_defined_post_hook", False):
            return None
        return {*getattr(tuner, "reset_to_zero", ()), *getattr(tuner, "restore_value", ())}

    def describe(self) -> str:
        """The running tuner's choice: 'configuration 0 of 3: BLOCK: 64, num_warps: 4'; "" outside an autotuner."""
        if not self.running or getattr(self.running[-1], "best_config", None) is None:
            return ""
        tuner = self.running[-1]
        chosen, known = tuner.best_config, self.candidates.get(id(tuner), list(tuner.configs))
        index = next((i for i, config in enumerate(known) if config is chosen or config == chosen), 0)
        words = ", ".join(part for part in str(chosen).split(", ") if not part.endswith("None"))
        return f"configuration {index} of {len(known)}: {words}"


def install(chooser: Callable[[], Chooser], benchmark: Callable[..., Any]) -> Callable[[], None]:
    """Patches the autotuner; ``chooser`` gives the capture's Chooser at call time.  Gives the undo function."""
    old_run, old_prune, old_init = Autotuner.run, Autotuner.prune_configs, Autotuner.__init__
    old_bench = triton.testing.do_bench, triton.testing.do_bench_cudagraph
    installed = [True]

    def watched(plain: Callable[..., Any], self: Autotuner, *args: Any, **kwargs: Any) -> Any:
        current = chooser() if installed else None
        if current is None or (current.running and current.running[-1] is self):
            return plain(self, *args, **kwargs)
        if id(self) not in current.tuned:  # an earlier capture's choice must not decide this one's
            current.tuned.add(id(self))
            self.cache = {}
        current.running.append(self)
        current.tunes = False
        try:
            return plain(self, *args, **kwargs)
        finally:
            current.running.pop()

    def run(self: Autotuner, *args: Any, **kwargs: Any) -> Any:
        return watched(old_run, self, *args, **kwargs)

    def init(self: Autotuner, *args: Any, **kwargs: Any) -> None:
        """A library's own tuner has a ``run`` of its own."""
        old_init(self, *args, **kwargs)
        own = type(self).run
        if own is not run:
            self.run = partial(watched, own, self)  # type: ignore[method-assign]

    def prune_configs(self: Autotuner, *args: Any, **kwargs: Any) -> Any:
        return chooser().restrict(self, old_prune(self, *args, **kwargs))

    Autotuner.run, Autotuner.prune_configs, Autotuner.__init__ = run, prune_configs, init  # type: ignore[method-assign]
    triton.testing.do_bench = triton.testing.do_bench_cudagraph = benchmark

    def undo() -> None:
        installed.clear()
        Autotuner.run, Autotuner.prune_configs = old_run, old_prune  # type: ignore[method-assign]
        Autotuner.__init__ = old_init  # type: ignore[method-assign]
        triton.testing.do_bench, triton.testing.do_bench_cudagraph = old_bench

    return undo
