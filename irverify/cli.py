"""The command line: ``irverify compare | tolerance | order | lower | check | doctor | explain``.

Takes argv; gives exit codes 0 to 4 (exits.py).  Only click is imported here: everything heavy waits for its command,
so that --help stays under 0.3 s.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import click

from irverify import __version__
from irverify.options import (
    REQUIRABLE,
    SPECIALS,
    CompareOptions,
    parse_level,
    parse_size,
    parse_tolerance,
)
from lowering.errors import InternalError, IrverifyError

_EXITS = """
\b
Exit codes:
  0  the verdict meets --require, with error bounds within tolerance
  1  the two differ, or the verdict is below --require
  2  something to fix in the command or in a file (a kernel that raises, too)
  3  undecided, or a construct that is not supported yet
  4  an internal error: please report it
"""
_TOLERANCE_EXITS = """
\b
Exit codes:
  0  the tolerance was derived, or the proposed one is adequate
  1  the proposed one is too tight or too loose
  2  something to fix in the command or in a file (a kernel that raises, too)
  3  a construct that is not supported yet, or out of time
  4  an internal error: please report it
"""
_CHECK_EXITS = """
\b
Exit codes:
  0  no error was found
  1  the kernel breaks a rule of its hardware
  2  something to fix in the command or in a file (a kernel that raises, too)
  3  a construct that is not supported yet, or out of time
  4  an internal error: please report it
"""
_DEFAULTS = CompareOptions(a="", b="")


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__, prog_name="irverify")
def main() -> None:
    """Says whether a kernel survived its translation: Triton, Pallas/JAX and PyTorch kernels compared in one IR."""


def _capture_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Options that `compare` and `lower` share."""
    shared = [
        click.option("--input", "inputs", multiple=True, metavar="SPEC",
                     help="One argument, in order or as NAME=SPEC; repeat for each. 'f32[37,130]', 'bf16[N,64]', "
                          "'i64[128] in [0,50)', 'i32[64] permutation', 'f32[9] sorted', 'f32[64,32] transposed', "
                          "'bool[5]', 3, 1e-5, None, true, \"'mean'\". Without it either file's get_inputs() is used."),
        click.option("--seed", type=int, default=_DEFAULTS.seed, show_default=True, metavar="N",
                     help="Seed of random inputs and of model weights."),
        click.option("--timeout", type=float, default=_DEFAULTS.timeout, show_default=True, metavar="SECONDS",
                     help="Wall-clock limit for running each file, and again for judging."),
        click.option("--memory", default="16G", show_default=True, metavar="SIZE",
                     help="Address space that running each file may use."),
        click.option("--target", metavar="DEVICE",
                     help="The device that the code sees (default sm_80): sm_90, tpu_v5e, ... Naming an sm_* also says "
                          "that masked-off lanes of a Triton load are 0, as on NVIDIA. trn1, inf2, trn2 (the default) "
                          "and trn3 are devices of NKI kernels and change no other side; sm_90,trn3 names both."),
        click.option("--nki-version", default=_DEFAULTS.nki_version, show_default=True, metavar="V",
                     help="The release of NKI whose rules are meant: 0.1 to 0.6."),
        click.option("--backward", is_flag=True, help="Compare gradients of the inputs as well."),
        click.option("--config", default=_DEFAULTS.config, show_default=True, metavar="first|all|N",
                     help="Which autotune configuration is compared; the others are checked to lower."),
        click.option("--debug", is_flag=True, help="Show tracebacks of internal errors."),
    ]  # fmt: skip
    for option in reversed(shared):
        command = option(command)
    return command


@main.command(epilog=_EXITS)
@click.argument("a", metavar="A.py[:ENTRY]")
@click.argument("b", metavar="B.py[:ENTRY]")
@click.option("--entry-a", metavar="NAME", help="The function or class to compare in A (default: found by its name).")
@click.option("--entry-b", metavar="NAME", help="The same in B.")
@click.option("--require", default="real", show_default=True, metavar="LEVEL",
              help=f"The weakest verdict that exits 0, strongest first: {', '.join(REQUIRABLE)}.")  # fmt: skip
@click.option("--special", type=click.Choice(SPECIALS), default=_DEFAULTS.special, show_default=True,
              help="Differences only at NaN, infinities and overflow: report them, count them as different (strict), "
                   "or ignore them.")  # fmt: skip
@click.option("--layouts", type=click.Choice(SPECIALS), default=_DEFAULTS.layouts, show_default=True,
              help="Differences only where arguments are views (transposed, sliced): report them, count them as "
                   "different (strict), or ignore them.")  # fmt: skip
@click.option("--tolerance", metavar="RTOL,ATOL", help="How large each side's error bound may be (default: by dtype).")
@click.option("--shapes", multiple=True, metavar="auto|given|N=64,D=130",
              help="Shapes to compare at: the given one and others chosen from the block sizes (auto), only the given "
                   "one, or sizes by name (names as in --input 'f32[N,D]' or module-level ints); repeat for several. "
                   "[default: auto]")  # fmt: skip
@click.option(
    "--json", "json_file", metavar="FILE|-", help="Write the report as JSON; - prints it instead of the text."
)
@click.option("--save-witness", metavar="DIR", help="Save the inputs that show a difference, if there are any.")
@click.option("--target-b", metavar="DEVICE",
              help="Another device (sm_90, tpu_v5e, trn2): a note says how many elements differ in bits between A with "
                   "its dots as --target evaluates them and B with its own as this one does.")  # fmt: skip
@_capture_options
def compare(a: str, b: str, json_file: str | None, debug: bool, **given: Any) -> None:
    """Compare kernel A with kernel B.

    Each file is run once, unmodified, in a child process. The entry is the one named, else Model or ModelNew, else
    the one public function, else the function that both files name alike.

    \b
    irverify compare softmax_triton.py softmax_pallas.py --input 'f32[37,130]'
    irverify compare a.py:softmax b.py:softmax_ref --require reassociated --json report.json
    """
    from irverify.commands import run_compare

    _guarded(lambda: run_compare(_options(a, b, debug, given), json_file), debug, json_file)


@main.command(epilog=_TOLERANCE_EXITS)
@click.argument("a", metavar="A.py[:ENTRY]")
@click.argument("b", metavar="[B.py[:ENTRY]]", required=False, default="")
@click.option("--entry-a", metavar="NAME", help="The function or class in A (default: found by its name).")
@click.option("--entry-b", metavar="NAME", help="The same in B.")
@click.option("--check", metavar="RTOL,ATOL", help="A proposed tolerance: is it too tight, or too loose?")
@click.option("--draws", type=int, default=3, show_default=True, metavar="N",
              help="Inputs: the given values, then the same in other orders.")  # fmt: skip
@click.option("--mutants", type=int, default=32, show_default=True, metavar="N", help="Wrong kernels made from A.")
@click.option(
    "--json", "json_file", metavar="FILE|-", help="Write the assessment as JSON; - prints it instead of the text."
)
@_capture_options
def tolerance(a: str, b: str, check: str | None, draws: int, mutants: int, json_file: str | None, debug: bool,
              **given: Any) -> None:  # fmt: skip
    """Derive the tolerance that a test of kernel A needs, or judge one; B is a second implementation.

    The smallest rtol and atol that pass every permitted order and rounding on these inputs; with --check, legal results
    that a proposed tolerance refuses, and wrong kernels and null outputs that it lets pass.

    \b
    irverify tolerance softmax.py --input 'f32[37,130]'
    irverify tolerance softmax.py softmax_pallas.py --input 'f32[37,130]' --check 1e-2,1e-2
    """
    from irverify.commands import run_tolerance

    _guarded(lambda: run_tolerance(_options(a, b, debug, given), check, draws, mutants, json_file), debug, json_file)


@main.command("order", epilog=_EXITS)
@click.argument("a", metavar="A.py[:ENTRY]")
@click.option("--entry", metavar="NAME", help="The function or class to look at (default: found by its name).")
@click.option("--output", default="0", show_default=True, metavar="N|NAME", help="Which output.")
@click.option("--index", metavar="I,J", help="Which of its elements (default: the last one).")
@click.option("--probe", is_flag=True,
              help="Measure instead: call the real function (or numpy.sum, torch.matmul, ...) on chosen values, on "
                   "--target cpu or cuda.")  # fmt: skip
@click.option("--terms", type=int, default=64, show_default=True, metavar="N", help="With --probe: how many terms.")
@click.option("--dtype", default="f32", show_default=True, metavar="DTYPE", help="With --probe: the terms' format.")
@click.option("--svg", metavar="FILE", help="Draw the outermost accumulation.")
@click.option(
    "--json", "json_file", metavar="FILE|-", help="Write the orders as JSON; - prints them instead of the text."
)
@_capture_options
def order_(a: str, entry: str | None, output: str, index: str | None, probe: bool, terms: int, dtype: str,
           svg: str | None, json_file: str | None, debug: bool, **given: Any) -> None:  # fmt: skip
    """Show how each reduction of one output element is added up: the order, who leaves it open, where it is rounded.

    \b
    irverify order softmax.py --input 'f32[37,130]' --index 3,5
    irverify order --probe torch.sum --terms 1000
    irverify order --probe a.py:row_dot --terms 64 --dtype bf16
    """
    from irverify.commands import run_order, run_probe

    def action() -> int:
        if not probe:
            return run_order(_options(a, a, debug, given), entry, output, index, svg, json_file)
        target = given.pop("target") or "cpu"
        return run_probe(_options(a, a, debug, given), entry, (terms, dtype, target), svg, json_file)

    _guarded(action, debug, json_file)


@main.command(epilog=_EXITS)
@click.argument("a", metavar="A.py[:ENTRY]")
@click.option("--entry", metavar="NAME", help="The function or class to lower (default: found by its name).")
@click.option("--to", "to", type=click.Choice(["kir", "ttir", "stablehlo", "aten", "trace"]), default="kir",
              show_default=True, help="What to print: our IR, what the framework itself produced, or the trace of an "
                                      "NKI kernel, one line per instruction.")  # fmt: skip
@_capture_options
def lower(a: str, entry: str | None, to: str, debug: bool, **given: Any) -> None:
    """Print what a kernel is lowered to. KIR that is printed parses again."""
    from irverify.commands import run_lower

    _guarded(lambda: run_lower(_options(a, a, debug, given), entry, to), debug)


@main.command("check", epilog=_CHECK_EXITS)
@click.argument("a", metavar="KERNEL.py[:ENTRY]")
@click.option("--entry", metavar="NAME", help="The kernel to check (default: found by its name).")
@click.option("--cost", "with_cost", is_flag=True,
              help="Also what each engine has to do: FLOPs and how much of the array they use, elements, bytes and the "
                   "runs they go in, arithmetic intensity, high-water marks of SBUF and PSUM.")  # fmt: skip
@click.option(
    "--json", "json_file", metavar="FILE|-", help="Write the findings as JSON; - prints it instead of the text."
)
@_capture_options
def check_(a: str, entry: str | None, with_cost: bool, json_file: str | None, debug: bool, **given: Any) -> None:
    """Check one NKI kernel against its hardware: sizes, memory, engines, dtypes, access patterns and hazards.

    The kernel is traced at the given shapes without the Neuron SDK; what it computes is no matter here.

    \b
    irverify check matmul_nki.py --input 'bf16[256,128]' --input 'bf16[256,512]' --target trn2 --cost
    """
    from irverify.commands import run_check

    _guarded(lambda: run_check(_options(a, a, debug, given), entry, with_cost, json_file), debug, json_file)


@main.command()
@click.option("--warm", is_flag=True, help="Fill the compiled-code caches, so that the first comparison is fast.")
def doctor(warm: bool) -> None:
    """Show which frameworks and versions are usable here, and why not."""
    from irverify.commands import run_doctor

    _guarded(lambda: run_doctor(warm), debug=False)


@main.command()
@click.argument("code", required=False)
def explain(code: str | None) -> None:
    """Explain a verdict, a finding or an error code; without CODE, list them all."""
    from irverify.commands import run_explain

    _guarded(lambda: run_explain(code), debug=False)


def _options(a: str, b: str, debug: bool, given: dict[str, Any]) -> CompareOptions:
    """The command line's words as options."""
    tolerance, shapes = given.pop("tolerance", None), given.pop("shapes", ())
    return CompareOptions(
        a=a,
        b=b,
        require=parse_level(given.pop("require", "real")),
        tolerance=parse_tolerance(tolerance) if tolerance is not None else None,
        shapes=tuple(shapes) or ("auto",),
        memory=parse_size(given.pop("memory")),
        debug=debug,
        **given,
    )


def _guarded(action: Callable[[], int], debug: bool, json_file: str | None = None) -> None:
    """Runs a command; whatever goes wrong ends in one message and the right exit code."""
    before = signal.signal(signal.SIGTERM, _terminated)
    try:
        code = action()
    except (IrverifyError, KeyboardInterrupt, BrokenPipeError) as error:
        code = _failed(error, debug, json_file)
    except Exception as error:
        code = _failed(_unexpected(error), debug, json_file)
    finally:
        signal.signal(signal.SIGTERM, before)
    sys.exit(code)


def _terminated(*_: object) -> None:
    """SIGTERM ends a command as ^C does: workers are stopped, their directory is removed."""
    raise KeyboardInterrupt


def _unexpected(error: Exception) -> InternalError:
    place = error.__traceback__
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    where = f" at {Path(place.tb_frame.f_code.co_filename).name}:{place.tb_lineno}" if place else ""
    internal = InternalError(f"{type(error).__name__}{where}: {error}")
    internal.__cause__ = error
    return internal


def _failed(error: BaseException, debug: bool, json_file: str | None) -> int:
    if isinstance(error, BrokenPipeError):
        sys.stderr.close()  # the reader went away: nothing to say, and nobody to say it to
        return 0
    if not isinstance(error, IrverifyError):
        click.echo("interrupted", err=True)
        return 130
    _show(error, debug)
    if json_file is not None:
        _write_error(error, json_file)
    return error.exit_code


def _show(error: IrverifyError, debug: bool) -> None:
    prefix = "internal error" if error.exit_code == InternalError.exit_code else "error"
    click.echo(f"irverify: {prefix}: {error}", err=True)
    if error.exit_code != InternalError.exit_code:
        return
    if debug:
        import traceback

        click.echo("".join(traceback.format_exception(error)), err=True)
        return
    click.echo("This is a bug of irverify; please report it with the two files. --debug shows where.", err=True)


def _write_error(error: IrverifyError, json_file: str) -> None:
    from irverify.commands import write_text
    from irverify.report.json import error_to_json

    try:
        write_text(error_to_json(error, __version__), json_file)
    except IrverifyError as second:
        click.echo(f"irverify: error: {second}", err=True)


def run() -> None:
    """The console script: ends the process as soon as everything is written (taking gigabytes apart takes time)."""
    code: object = 0
    try:
        main()
    except SystemExit as end:
        code = end.code
    status = code if isinstance(code, int) else 0 if code is None else 1
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):  # the reader went away
            stream.flush()
    os._exit(status)


if __name__ == "__main__":
    run()
