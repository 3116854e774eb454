"""``from irverify import compare``."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from equivalence.verdicts import Level
from irverify import compare
from irverify.api import _place
from lowering.errors import UsageError
from tests.tool.conftest import Write

GOOD = "def double(x):\n    return x + x\n"


def test_paths_and_arrays(write: Write, judged_at: Any) -> None:
    seen = judged_at(Level.BITWISE)
    x = np.arange(15, dtype=np.float32).reshape(3, 5)
    report = compare(write("a.py", GOOD), f"{write('b.py', GOOD)}:double", inputs=[x], require="bitwise")
    assert report and report.exit_code == 0 and report.verdict.level is Level.BITWISE
    assert np.array_equal(seen[0].variants[0].inputs["x"], x)


def test_report_renders(write: Write, judged_at: Any) -> None:
    judged_at(Level.DIFFERENT)
    report = compare(write("a.py", GOOD), write("b.py", GOOD), inputs=["f32[3,5]"], shapes="given")
    assert not report and str(report).startswith("different: a.py:double and b.py:double")
    assert "<table>" in report._repr_html_() and json.loads(report.to_json())["verdict"] == "different"
    assert repr(report) == "<irverify report: different, exit 1>"


def test_functions_of_a_file_run_in_a_child(write: Write, judged_at: Any) -> None:
    judged_at(Level.REAL)
    path = write("mine.py", GOOD)
    spec = importlib.util.spec_from_file_location("mine", path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules["mine"] = module
    try:
        spec.loader.exec_module(module)
        assert _place(module.double) == f"{path}:double"
        report = compare(module.double, path, inputs=["f32[3,5]"], shapes="given")
    finally:
        del sys.modules["mine"]
    assert report.subjects[0].entry == "double"


def test_closures_have_no_place() -> None:
    def local(x: Any) -> Any:
        return x

    assert _place(local) is None
    assert _place(lambda x: x) is None


def test_a_path_and_a_closure_do_not_mix(write: Write) -> None:
    with pytest.raises(UsageError, match="give two functions"):
        compare(write("a.py", GOOD), lambda x: x, inputs=["f32[3]"])


def test_closures_need_inputs() -> None:
    with pytest.raises(UsageError, match="need inputs"):
        compare(lambda x: x, lambda x: x)


def test_unknown_options_are_named(write: Write) -> None:
    with pytest.raises(UsageError, match="no option 'requires'"):
        compare(write("a.py", GOOD), write("b.py", GOOD), requires="real")


def test_notebook_functions_run_here() -> None:
    """In a process of its own, because the virtual device stays with the process."""
    script = (
        "from irverify import compare\nimport torch\n"
        "report = compare(lambda x: x + x, lambda x: 2.0 * x, inputs=['f32[3,5]'], shapes='given')\n"
        "print(report.to_json())\n"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stderr
    document = json.loads(run.stdout)
    assert document["exit_code"] == 0
    assert any("in this process" in assumption for assumption in document["assumptions"])


def test_doctor_names_every_front_end() -> None:
    from irverify.doctor import Examination, Package, print_findings, probe

    assert probe("numpy").version == np.__version__
    missing = probe("no_such_package_at_all")
    assert missing.version is None and "pip install no_such_package_at_all" in missing.problem
    names = ("numpy", "ml_dtypes", "numba", "scipy", "mpmath", "z3", "jaxlib", "jax", "torch")
    found = Examination(
        {name: Package(name, "1") for name in names} | {"triton": Package("triton", None, problem="broken")}, ()
    )
    lines: list[str] = []
    assert print_findings(found, lines.append) == 0
    text = "\n".join(lines)
    assert "Triton: not usable, for lack of triton" in text and "JAX and Pallas: usable" in text
    assert "NKI: usable, nothing has to be installed (no Neuron SDK is installed here, and none is used)" in text


def test_doctor_says_what_of_the_neuron_sdk_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    from irverify import doctor

    monkeypatch.setattr(doctor, "NEURON", ("numpy", "no-such-package-at-all"))
    assert f"(numpy {np.__version__} installed here is not used)" in doctor.nki_state()


def test_root_is_not_needed_on_the_path(tmp_path: Path) -> None:
    """The tool works from any directory."""
    run = subprocess.run(
        [sys.executable, "-m", "irverify.cli", "explain", "real"], cwd=tmp_path, capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr


SELF = """
import numpy as np
from irverify import compare

def double(x):
    import torch
    return x + x

def doubled(x):
    return x * 2

report = compare(double, doubled, inputs=["f32[3,5]"], shapes="given")
print("verdict", report.verdict.level.value)
after = 1
"""


def test_a_script_that_compares_its_own_functions(tmp_path: Path) -> None:
    """Workers import the script up to the call; they do not compare again."""
    script = tmp_path / "script.py"
    script.write_text(SELF)
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=120, cwd=tmp_path)
    assert done.stdout == "verdict bitwise\n", done.stderr


def test_a_command_started_by_a_worker_is_refused(write: Write) -> None:
    file = write("a.py", GOOD)
    command = [sys.executable, "-m", "irverify.cli", "compare", file, file, "--input", "f32[3]"]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"IRVERIFY_WORKER": "1"})
    assert done.returncode == 2 and "started by a file that irverify is comparing" in done.stderr
