"""Signatures by release: what a call may give, and what is said of a name that a release does not have.

``api`` wraps a function of the new API.  A keyword that no release has, or that the traced release does not have yet
or has no longer, is a usage error that says so (NKI.md Appendix A, "signature changes inside the new generation").
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from lowering.capture.nki.placeholders import NkiInstruction
from lowering.capture.nki.tracer import active, current, here
from lowering.capture.user_frames import is_user_file
from lowering.errors import UsageError

VERSIONS = ("0.2", "0.3", "0.4", "0.5", "0.6")
LATEST = VERSIONS[-1]
#: keywords of Beta-1 that old code still gives
_BETA1 = {"mask": "masks are Beta-1's (neuronxcc.nki): take a slice of the tile",
          "dtype": "the result has dst's dtype; dtype= is Beta-1's (neuronxcc.nki)"}  # fmt: skip


def version() -> str:
    """The release that is traced."""
    return current().trace.version if active() else LATEST


def older_than(release: str) -> bool:
    """Whether the traced release is before ``release``."""
    traced = version()
    if traced not in VERSIONS:
        raise UsageError(f"{here()}: the kernel imports nki, whose releases are {', '.join(VERSIONS)}, not {traced}")
    return VERSIONS.index(traced) < VERSIONS.index(release)


@dataclass(frozen=True, slots=True)
class Declared:
    """A function of the API and what its releases have otherwise; the fields are ``api``'s."""

    name: str
    since: str
    added: Mapping[str, str]
    gone: Mapping[str, tuple[str, str]]
    renamed: Mapping[str, str]
    order_02: Sequence[str]
    signature: inspect.Signature

    def latest(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The call of an earlier release as the latest one would have it."""
        if older_than(self.since):
            said = f"{self.name} is there from NKI {self.since} on; the kernel is read as NKI {version()}"
            raise UsageError(f"{here()}: {said}")
        if version() == "0.2":
            kwargs = {self.renamed.get(key, key): value for key, value in kwargs.items()}
            if self.order_02:
                args, kwargs = (), {**dict(zip(self.order_02, args, strict=False)), **kwargs}
        for key, release in self.added.items():
            if key in kwargs and older_than(release):
                raise UsageError(f"{here()}: {self.name}: {key}= is there from NKI {release} on, not in {version()}")
        return args, kwargs

    def refuse(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Says what is wrong with the call, if it is the call."""
        parameters = self.signature.parameters
        known = ", ".join(n for n, p in parameters.items() if p.kind is not p.VAR_KEYWORD)
        for key in kwargs:
            if key in parameters:
                continue
            if key in self.gone:
                release, instead = self.gone[key]
                raise UsageError(f"{here()}: {self.name}: {key}= is gone since NKI {release}: {instead}")
            if key in _BETA1:
                raise UsageError(f"{here()}: {self.name}: there is no {key}=: {_BETA1[key]}")
            raise UsageError(f"{here()}: {self.name}: there is no {key}=; its parameters are: {known}")
        try:
            self.signature.bind(*args, **kwargs)
        except TypeError as error:
            raise UsageError(f"{here()}: {self.name}: {error}; its parameters are: {known}") from None


def api(
    name: str,
    since: str = "0.2",
    added: Mapping[str, str] | None = None,
    gone: Mapping[str, tuple[str, str]] | None = None,
    renamed: Mapping[str, str] | None = None,
    order_02: Sequence[str] = (),
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A function of the API called ``name``.

    ``since``: the release that has it first; ``added``: keyword -> the release that has it first; ``gone``: keyword ->
    (the release that has it no longer, what to write instead); ``renamed``: 0.2's keyword -> the later one;
    ``order_02``: the order of parameters in 0.2, where it was another.
    """

    def wrap(function: Callable[..., Any]) -> Callable[..., Any]:
        signature = inspect.signature(function)
        declared = Declared(name, since, added or {}, gone or {}, renamed or {}, order_02, signature)
        handle = NkiInstruction() if name.startswith("nisa.") else None

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            latest = version() == LATEST
            if not latest:
                args, kwargs = declared.latest(args, kwargs)
            try:
                result = function(*args, **kwargs)
                return handle if result is None and latest else result
            except (TypeError, ValueError, OverflowError, AttributeError, LookupError) as error:
                declared.refuse(args, kwargs)
                if _is_ours(error):
                    raise UsageError(f"{here()}: {name}: {error}") from error
                raise

        return call

    return wrap


def _is_ours(error: Exception) -> bool:
    """Raised in this package, by what a call gave; not by the user's code that the call ran."""
    trace = error.__traceback__
    files = []
    while trace is not None:
        files.append(trace.tb_frame.f_code.co_filename)
        trace = trace.tb_next
    return not any(is_user_file(file) and "site-packages" not in file for file in files)


def missing(module: str, name: str, beta1: frozenset[str], hint: Mapping[str, str]) -> NoReturn:
    """What a name of a module that is not there raises; an AttributeError, since libraries ask with hasattr."""
    if name in hint:
        raise AttributeError(f"{module}.{name} is not in NKI 0.2 to 0.6: {hint[name]}")
    if name in beta1:
        raise AttributeError(f"{module}.{name} is Beta-1's (neuronxcc.nki) and not in NKI 0.2 to 0.6")
    raise AttributeError(f"module {module!r} has no attribute {name!r}")
