"""Every way to get a command wrong: a clear message, the right exit code, nothing half-written."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from equivalence.verdicts import Level
from irverify import orchestrate, sandbox
from irverify.exchange import Exchange
from irverify.failures import Undecided
from irverify.options import CompareOptions
from tests.tool.conftest import Run, Write

pytestmark = pytest.mark.own_processes

GOOD = "def double(x):\n    return x + x\n"


def test_missing_file(run: Run, write: Write, tmp_path: Path) -> None:
    result = run("compare", tmp_path / "nowhere.py", write("b.py", GOOD))
    assert result.exit_code == 2
    assert "there is no such file" in result.stderr and "nowhere.py" in result.stderr


def test_a_name_mistyped_by_a_letter(run: Run, write: Write, tmp_path: Path) -> None:
    given = write("softmax_nki.py", GOOD)
    result = run("compare", given, tmp_path / "sofmax_nki.py")
    assert result.exit_code == 2 and f"did you mean {given}?" in result.stderr


def test_directory(run: Run, write: Write, tmp_path: Path) -> None:
    result = run("compare", tmp_path, write("b.py", GOOD))
    assert (result.exit_code, "is a directory" in result.stderr) == (2, True)


def test_syntax_error_shows_the_line(run: Run, write: Write) -> None:
    result = run("compare", write("a.py", "def f(x:\n    return x\n"), write("b.py", GOOD))
    assert result.exit_code == 2
    assert "a.py:2: syntax error" in result.stderr and "def f(x:" in result.stderr


def test_kernel_that_raises_shows_only_the_users_lines(run: Run, write: Write) -> None:
    source = "def double(x):\n    y = x + x\n    raise RuntimeError('bad tile')\n"
    result = run("compare", write("a.py", source), write("b.py", GOOD), "--input", "f32[3,5]")
    assert result.exit_code == 2
    assert "the kernel raised RuntimeError: bad tile" in result.stderr
    assert "a.py:4 in double" in result.stderr and "raise RuntimeError('bad tile')" in result.stderr
    assert "irverify/side.py" not in result.stderr and "Traceback" not in result.stderr


def test_file_that_raises_when_imported(run: Run, write: Write) -> None:
    result = run("compare", write("a.py", GOOD + "1 / 0\n"), write("b.py", GOOD), "--input", "f32[3,5]")
    assert result.exit_code == 2
    assert "ZeroDivisionError" in result.stderr and "a.py:4 in <module>" in result.stderr


def test_kernel_that_never_ends(run: Run, write: Write) -> None:
    source = "def double(x):\n    while True:\n        pass\n"
    words = ("--input", "f32[3,5]", "--timeout", "8", "--json", "-")
    result = run("compare", write("a.py", source), write("b.py", GOOD), *words)
    document = json.loads(result.stdout)
    assert (result.exit_code, document["exit_code"], document["verdict"]) == (3, 3, "undecided")
    assert "did not end within 8 s" in document["reason"] and "a.py" in document["reason"]


def test_kernel_that_never_ends_on_the_other_side(run: Run, write: Write) -> None:
    source = "def double(x):\n    while True:\n        pass\n"
    words = ("--input", "f32[3,5]", "--timeout", "8", "--shapes", "given")
    result = run("compare", write("a.py", GOOD), write("b.py", source), *words)
    assert result.exit_code == 3
    assert "b.py: running its entry did not end" in result.stdout


def test_wrong_shapes(run: Run, write: Write) -> None:
    pair = write("a.py", "def plus(x, y):\n    return x + y\n"), write("b.py", "def plus(x, y):\n    return y + x\n")
    result = run("compare", *pair, "--input", "f32[3,5]", "--input", "f32[3,7]")
    assert result.exit_code == 2
    first = "shapes (3, 5) and (3, 7) do not match", "return x + y"
    second = "shapes (3, 7) and (3, 5) do not match", "return y + x"  # whichever side fails first is shown
    assert any(all(words in result.stderr for words in side) for side in (first, second))


def test_wrong_number_of_inputs(run: Run, write: Write) -> None:
    pair = write("a.py", "def plus(x, y):\n    return x + y\n"), write("b.py", "def plus(x, y):\n    return y + x\n")
    result = run("compare", *pair, "--input", "f32[3,5]")
    assert result.exit_code == 2
    assert any(f"{name}.py:plus(x, y)" in result.stderr for name in "ab")
    assert "missing a required argument: 'y'" in result.stderr


def test_two_outputs_against_one(run: Run, write: Write) -> None:
    two = write("b.py", "def double(x):\n    return x + x, x * x\n")
    result = run("compare", write("a.py", GOOD), two, "--input", "f32[3,5]")
    assert result.exit_code == 2
    assert "different numbers of outputs" in result.stderr
    assert "a.py: 1: out0 f32[3,5]" in result.stderr and "b.py: 2:" in result.stderr


def test_framework_that_is_not_installed(run: Run, write: Write) -> None:
    hide = "import sys\nsys.modules['triton'] = None\nimport triton\n"
    result = run("compare", write("a.py", hide + GOOD), write("b.py", GOOD), "--input", "f32[3,5]")
    assert result.exit_code == 2
    assert "imports triton, which is not installed here" in result.stderr and "irverify doctor" in result.stderr


def test_framework_that_is_not_supported(run: Run, tmp_path: Path, write: Write) -> None:
    foreign = tmp_path / "kernel.py"
    foreign.write_text("import tilelang\n\n\ndef double(x):\n    return tilelang.jit(x)\n")
    result = run("compare", foreign, write("b.py", GOOD), "--json", "-")
    document = json.loads(result.stdout)
    assert (result.exit_code, document["verdict"]) == (3, "unsupported")
    assert document["site"] == {"file": str(foreign), "line": 1, "column": 1, "name": ""}


def test_cuda_source(run: Run, tmp_path: Path, write: Write) -> None:
    source = tmp_path / "kernel.cu"
    source.write_text("__global__ void f() {}")
    result = run("compare", source, write("b.py", GOOD))
    assert result.exit_code == 3
    assert "unsupported" in result.stdout and "CUDA C++ source" in result.stdout


def test_unsupported_construct_names_its_line(run: Run, write: Write) -> None:
    fancy = write("a.py", "def double(x):\n    return x.fancy()\n")
    result = run("compare", fancy, write("b.py", GOOD), "--input", "f32[3,5]", "--json", "-")
    document = json.loads(result.stdout)
    assert (result.exit_code, document["verdict"]) == (3, "unsupported")
    assert "fake.fancy" in document["reason"] and document["site"]["line"] == 7


def test_crash_is_a_message(run: Run, write: Write) -> None:
    crash = "import os, signal\ndef double(x):\n    print('before')\n    os.kill(os.getpid(), signal.SIGSEGV)\n"
    result = run("compare", write("a.py", crash), write("b.py", GOOD), "--input", "f32[3,5]")
    assert result.exit_code == 2
    assert "crashed with SIGSEGV" in result.stderr and "before" in result.stderr


def test_file_that_exits(run: Run, write: Write) -> None:
    result = run("compare", write("a.py", GOOD + "import os\nos._exit(0)\n"), write("b.py", GOOD), "--input", "f32[3]")
    assert result.exit_code == 2
    assert "ended the process itself with status 0" in result.stderr


def test_memory_limit(run: Run, write: Write) -> None:
    greedy = "import numpy\ndef double(x):\n    numpy.ones(1 << 30)\n    return x + x\n"
    words = ("--input", "f32[3,5]", "--memory", "2G")
    result = run("compare", write("a.py", greedy), write("b.py", GOOD), *words)
    assert result.exit_code == 3
    assert "ran out of memory" in result.stdout


def test_no_inputs_shows_what_to_write(run: Run, write: Write) -> None:
    a = write("a.py", "def scale(x, weight, eps=1e-5):\n    return x * weight\n")
    result = run("compare", a, write("b.py", "def scale(x, weight):\n    return x * weight\n"))
    assert result.exit_code == 2
    assert "scale(x, weight, eps=1e-05)" in result.stderr
    assert "--input 'x=f32[37,130]' --input 'weight=f32[37,130]'" in result.stderr


def test_several_candidates_are_listed(run: Run, write: Write) -> None:
    a = write("a.py", "def scale(x):\n    return x * x\n\n\ndef shift(x):\n    return x + x\n")
    result = run("compare", a, write("b.py", GOOD), "--input", "f32[3,5]")
    assert result.exit_code == 2
    assert "scale(x)  (line 2)" in result.stderr and "shift(x)  (line 6)" in result.stderr


def test_unknown_entry(run: Run, write: Write) -> None:
    result = run("compare", f"{write('a.py', GOOD)}:triple", write("b.py", GOOD), "--input", "f32[3,5]")
    assert result.exit_code == 2
    assert "'triple' is not defined here; public functions: double" in result.stderr


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_no_permission_for_the_witness(run: Run, write: Write, tmp_path: Path) -> None:
    locked = tmp_path / "locked"
    locked.mkdir(mode=0o500)
    pair = write("a.py", GOOD), write("b.py", GOOD)
    result = run("compare", *pair, "--input", "f32[3,5]", "--save-witness", locked / "w")
    assert result.exit_code == 2 and "no permission to write" in result.stderr
    assert not list(locked.iterdir())


def test_witness_directory_below_a_file(run: Run, write: Write, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    pair = write("a.py", GOOD), write("b.py", GOOD)
    result = run("compare", *pair, "--input", "f32[3,5]", "--save-witness", tmp_path / "file" / "w")
    assert result.exit_code == 2 and "is a file" in result.stderr


def test_json_target_that_cannot_be_written(run: Run, write: Write, tmp_path: Path) -> None:
    pair = write("a.py", GOOD), write("b.py", GOOD)
    result = run("compare", *pair, "--input", "f32[3,5]", "--json", tmp_path / "no" / "report.json")
    assert result.exit_code == 2 and "cannot be written" in result.stderr


def test_usage_errors_have_a_json_document(run: Run, write: Write, tmp_path: Path) -> None:
    target = tmp_path / "report.json"
    result = run("compare", tmp_path / "nowhere.py", write("b.py", GOOD), "--json", target)
    document = json.loads(target.read_text())
    assert (result.exit_code, document["exit_code"], document["verdict"]) == (2, 2, None)
    assert document["error"]["kind"] == "usage" and "nowhere.py" in document["error"]["message"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--input", "f31[3]"), "'f31' is not a dtype"),
        (("--input", "i64[3]"), "integers are never invented"),
        (("--input", "f32[3"), "neither an array nor a value"),
        (("--input", "f32[N]"), "--shapes N=64"),
        (("--input", "f32[3] shuffled"), "'shuffled' is not understood"),
        (("--input", "x=f32[3]", "--input", "x=f32[3]"), "is given 2 times"),
        (("--input", "f32[3]", "--tolerance", "1e-3"), "RTOL,ATOL"),
        (("--input", "f32[3]", "--require", "equal"), "one of bitwise, reassociated"),
        (("--input", "f32[3]", "--memory", "lots"), "512M or 8G"),
        (("--input", "f32[3]", "--timeout", "0"), "above 0"),
        (("--input", "f32[3]", "--shapes", "M=3"), "no dimension has a name here"),
    ],
)
def test_options_name_argument_value_and_remedy(run: Run, write: Write, words: tuple[str, ...], message: str) -> None:
    result = run("compare", write("a.py", GOOD), write("b.py", GOOD), *words)
    assert result.exit_code == 2
    assert message in result.stderr


def test_internal_error_is_no_traceback(run: Run, write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    from irverify import orchestrate

    def broken(*_: object) -> None:
        raise KeyError("lost")

    monkeypatch.setattr(orchestrate, "judged", broken)
    pair = write("a.py", GOOD), write("b.py", GOOD)
    result = run("compare", *pair, "--input", "f32[3,5]")
    assert result.exit_code == 4
    assert "internal error: KeyError" in result.stderr and "Traceback" not in result.stderr
    assert "Traceback" in run("compare", *pair, "--input", "f32[3,5]", "--debug").stderr


def test_nothing_is_left_beside_the_users_file(run: Run, write: Write, tmp_path: Path, judged_at: object) -> None:
    judged_at(Level.BITWISE)  # type: ignore[operator]
    a, b = write("a.py", GOOD), write("b.py", GOOD)
    assert run("compare", a, b, "--input", "f32[3,5]").exit_code == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.py", "b.py"]


def test_no_framework_is_imported_by_the_parent(run: Run, write: Write, judged_at: object) -> None:
    judged_at(Level.BITWISE)  # type: ignore[operator]
    run("compare", write("a.py", GOOD), write("b.py", GOOD), "--input", "f32[3,5]")
    assert "subject_a" not in sys.modules


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="needs a directory that nobody can write to")
def test_witness_where_even_root_cannot_write(run: Run, write: Write) -> None:
    pair = write("a.py", GOOD), write("b.py", GOOD)
    result = run("compare", *pair, "--input", "f32[3,5]", "--save-witness", "/proc/witness")
    assert result.exit_code == 2 and "--save-witness /proc/witness" in result.stderr


LOOP = "def double(x):\n    while True:\n        x = x\n"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_no_worker_outlives_the_command(write: Write, tmp_path: Path, number: signal.Signals) -> None:
    """However the command ends: after SIGTERM nothing is left at all, after SIGKILL no process."""
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    command = [sys.executable, "-m", "irverify.cli", "compare", write("a.py", LOOP), write("b.py", LOOP),
               "--input", "f32[3]"]  # fmt: skip
    with subprocess.Popen(command, env=os.environ | {"TMPDIR": str(temporary)}, stderr=subprocess.DEVNULL) as process:
        wait_for(lambda: len(workers(temporary)) == 2)
        process.send_signal(number)
        process.wait(20)
    wait_for(lambda: not workers(temporary))
    assert number is signal.SIGKILL or not list(temporary.iterdir())


def wait_for(condition: Callable[[], bool], seconds: float = 20) -> None:
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.05)


def workers(directory: Path) -> list[str]:
    """Command lines of the workers that a job in the directory is given to."""
    listing = subprocess.run(["ps", "-ewwo", "args"], capture_output=True, text=True, check=True).stdout
    return [line for line in listing.splitlines() if "irverify.worker" in line and str(directory) in line]


def test_a_killed_worker_that_is_slow_to_be_gone(tmp_path: Path) -> None:
    """A process that holds gigabytes is still there for a while after it was killed."""

    class Process:
        returncode = None

        def poll(self) -> None:
            return None

    child = sandbox.Child(Process(), tmp_path, "a", 0.0, killed_for="time")  # type: ignore[arg-type]
    options = CompareOptions(a="a.py", b="b.py", timeout=8.0)
    with pytest.raises(Undecided, match=r"a\.py: importing the file did not end within 8 s"):
        orchestrate._raise_failure(child, Exchange(tmp_path, mapped=False), "a.py", options)
