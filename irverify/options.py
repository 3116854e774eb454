"""What a comparison may be asked: one frozen record, checked when it is made, read by every part of the tool.

Takes plain values (the command line parses text with the functions below); gives CompareOptions.  No numpy here:
this is on the path of ``irverify --help``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Literal

from equivalence.verdicts import Level
from lowering.errors import UsageError

Special = Literal["report", "strict", "ignore"]
SPECIALS: tuple[Special, ...] = ("report", "strict", "ignore")
REQUIRABLE = tuple(level.value for level in Level if level not in (Level.UNDECIDED, Level.UNSUPPORTED, Level.DIFFERENT))
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?", re.IGNORECASE)
_TARGET = re.compile(r"sm_\d{2,3}[a-z]?|tpu(_?v\d\w*)?|cpu")
_UNIT = re.compile(r"sm_\d{2,3}[a-z]?|tpu_?v\d\w*|trn\d")
_NKI_TARGET = re.compile(r"trn[123]|inf2|gen[234]")
_NKI_VERSION = re.compile(r"0\.[1-6]")
DEFAULT_DEVICE = "sm_80"
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareOptions:
    """Every option of ``irverify compare`` and of ``irverify.compare``, with its default."""

    a: str  # the first file, 'a.py' or 'a.py:entry'
    b: str  # the second file
    entry_a: str | None = None  # the function or class to compare in a; None: found by the rules of subjects.py
    entry_b: str | None = None  # the same in b
    inputs: tuple[Any, ...] = ()  # arguments: spec text ('f32[37,130]', 'x=i64[128] in [0,50)') or arrays
    require: Level = Level.REAL  # the weakest verdict that still exits 0
    special: Special = "report"  # differences only at NaN, infinities and overflow: report, count (strict), ignore
    layouts: Special = "report"  # differences only for arguments that are views: report, count (strict), ignore
    tolerance: tuple[float, float] | None = None  # (rtol, atol) of the error bounds; None: by output dtype
    shapes: tuple[str, ...] = ("auto",)  # 'auto', 'given', or bindings 'N=64,D=130', one per set of shapes
    seed: int = 0  # of all random inputs and weights
    timeout: float = 120.0  # seconds of wall clock for running each file, and again for judging
    memory: int = 16 << 30  # bytes of address space for running each file
    target: str | None = None  # the device that captured code sees (sm_80), and whose masked loads are meant
    nki_target: str = "trn2"  # the device of NKI kernels; --target trn3 sets this one, and no other side's
    nki_version: str = "0.6"  # the release of NKI whose rules are meant
    target_b: str | None = None  # another device: what its matrix unit changes in bits, B there against A on target
    backward: bool = False  # compare gradients as well
    config: str = "first"  # which autotune configuration is compared: 'first', 'all', or its number from 0
    save_witness: str | None = None  # directory for the witness inputs, made only when there is a witness
    debug: bool = False  # keep tracebacks of internal errors

    @property
    def device(self) -> str:
        """The virtual device: the target, or the default one."""
        return self.target or DEFAULT_DEVICE

    def __post_init__(self) -> None:
        self._split_target()
        _check(bool(_NKI_TARGET.fullmatch(self.nki_target)), "--target", self.nki_target, "trn1, inf2, trn2 or trn3")
        _check(bool(_NKI_VERSION.fullmatch(self.nki_version)), "--nki-version", self.nki_version, "0.1 to 0.6")
        _check(self.require.value in REQUIRABLE, "--require", self.require.value, f"one of {', '.join(REQUIRABLE)}")
        _check(self.special in SPECIALS, "--special", self.special, f"one of {', '.join(SPECIALS)}")
        _check(self.layouts in SPECIALS, "--layouts", self.layouts, f"one of {', '.join(SPECIALS)}")
        _check(self.timeout > 0, "--timeout", self.timeout, "a number of seconds above 0")
        _check(self.memory >= 1 << 28, "--memory", self.memory, "at least 256M, for example 8G")
        _check(
            bool(_TARGET.fullmatch(self.device)),
            "--target",
            self.target,
            "sm_80, sm_90, tpu_v5e, cpu, trn1, inf2, trn2 or trn3",
        )
        if self.target_b is not None:
            _check(bool(_UNIT.fullmatch(self.target_b)), "--target-b", self.target_b, "sm_90, sm_100, tpu_v5e or trn2")
        _check(self.seed >= 0, "--seed", self.seed, "a whole number from 0 up")
        _check(_is_config(self.config), "--config", self.config, "'first', 'all' or the number of a configuration")
        _check(_is_tolerance(self.tolerance), "--tolerance", self.tolerance, "two numbers from 0 up: RTOL,ATOL")
        _check(bool(self.shapes), "--shapes", self.shapes, "'auto', 'given' or bindings such as N=64,D=130")

    def _split_target(self) -> None:
        """'sm_90,trn3': a Trainium name is the device of NKI kernels, another that of the rest; one may be left out."""
        names = (self.target or "").split(",")
        others = [name for name in names if not _NKI_TARGET.fullmatch(name)]
        for name in names:
            if _NKI_TARGET.fullmatch(name):
                object.__setattr__(self, "nki_target", name)
        object.__setattr__(self, "target", ",".join(others) or None)


def _check(holds: bool, option: str, value: object, expected: str) -> None:
    if not holds:
        raise UsageError(f"{option} is {value!r}; write {expected}")


def _is_config(text: str) -> bool:
    return text in ("first", "all") or text.isdecimal()


def _is_tolerance(pair: tuple[float, float] | None) -> bool:
    return pair is None or (len(pair) == 2 and all(0 <= value < float("inf") for value in pair))


def parse_tolerance(text: str) -> tuple[float, float]:
    """'1e-5,1e-8' as (rtol, atol)."""
    try:
        rtol, atol = (float(part) for part in text.split(","))
    except ValueError:
        raise UsageError(f"--tolerance is {text!r}; write two numbers, RTOL,ATOL: --tolerance 1e-5,1e-8") from None
    return rtol, atol


def parse_size(text: str) -> int:
    """'8G', '512M' or plain bytes, as bytes."""
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        raise UsageError(f"--memory is {text!r}; write a size such as 512M or 8G")
    return int(float(match[1]) * _UNITS[match[2].upper()])


def parse_level(text: str) -> Level:
    """A word that ``--require`` accepts, as a Level."""
    if text not in REQUIRABLE:
        raise UsageError(f"--require is {text!r}; write one of {', '.join(REQUIRABLE)}")
    return Level(text)
