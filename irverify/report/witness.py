"""--save-witness DIR: the inputs that show a difference, as npz, with a page that says how to replay them.

Takes a Report with a witness; gives files that appear together or not at all.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

import numpy as np

from equivalence.verdicts import Report, Witness
from irverify.report.json import report_to_json
from irverify.weights import WEIGHT
from lowering.errors import UsageError

_FILES = ("inputs.npz", "report.json", "README.md")


def save_witness(report: Report, directory: Path) -> None:
    """Written beside the target and moved in: a full disk leaves nothing half-written."""
    assert report.witness is not None
    try:
        directory.parent.mkdir(parents=True, exist_ok=True)
        staging = Path(tempfile.mkdtemp(prefix=f".{directory.name}-", dir=directory.parent))
    except OSError as error:
        raise UsageError(f"--save-witness {directory} cannot be written: {error.strerror}") from None
    try:
        _write(report, report.witness, staging)
        _move(staging, directory)
    except OSError as error:
        raise UsageError(f"--save-witness {directory} cannot be written: {error.strerror}") from None
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def _write(report: Report, witness: Witness, staging: Path) -> None:
    arrays = {name.replace("/", "_"): portable(array) for name, array in witness.inputs.items()}
    np.savez(staging / "inputs.npz", **arrays)  # pyright: ignore[reportArgumentType]
    (staging / "report.json").write_text(report_to_json(report))
    (staging / "README.md").write_text(_readme(report, witness))


def portable(array: np.ndarray) -> np.ndarray:
    """Arrays of dtypes that npz cannot name (bfloat16, float8) as the unsigned integers of the same bits."""
    if array.dtype.kind != "V" and array.dtype.isbuiltin == 1:
        return array
    return array.view(f"u{array.dtype.itemsize}")


def _layout(witness: Witness, name: str) -> str:
    """How to lay the array out in memory: torch.as_strided(memory, shape, strides, offset)."""
    if not witness.views:
        return ""
    strides, offset = witness.views.get(name, ((), 0))
    return f" strides {list(strides)}, offset {offset} (elements) |" if strides else " |"


def _move(staging: Path, directory: Path) -> None:
    if not directory.exists():
        staging.chmod(0o777 & ~_umask())
        staging.rename(directory)
        return
    for file in _FILES:
        os.replace(staging / file, directory / file)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _readme(report: Report, witness: Witness) -> str:
    subjects = "\n".join(f"* {letter}: `{s.file}:{s.entry}`" for letter, s in zip("AB", report.subjects or ()))
    rows = "\n".join(
        f"| `{name}` | {array.dtype.name} | {list(array.shape)} |{_layout(witness, name)}"
        for name, array in witness.inputs.items()
    )
    index = ", ".join(map(str, witness.index))
    return f"""# A witness that two kernels differ

{subjects}

Element `[{index}]` of output `{witness.output or "0"}`: A gives `{witness.value_a}`, B gives `{witness.value_b}`.
The rounding of both sides together explains at most `{witness.bound}`. Replayed by {witness.replayed_by}.

| input | dtype | shape |{" layout |" if witness.views else ""}
|---|---|---|{"---|" if witness.views else ""}
{rows}

## Replay

    import numpy as np
    inputs = np.load("inputs.npz")        # bfloat16 and float8 arrays are stored as their bits (uint16, uint8)

{_replay(any(name.startswith(WEIGHT) for name in witness.inputs))} `report.json` is the whole report.
"""


def _replay(model: bool) -> str:
    """What to do with the arrays; a model's weights are no arguments of it."""
    if not model:
        return """Hand the arrays to both functions in the order of the table, on any machine that runs them, and look
at the element above. `irverify.compare(a, b, inputs=[inputs[n] for n in inputs.files])` judges the pair again on
exactly these arrays."""
    return f"""Copy the arrays named `{WEIGHT}NAME` into A's parameter or buffer NAME and into what stands for it in B,
hand the others to both models in the order of the table, and look at the element above. `irverify.compare(a, b,
inputs=[inputs[n] for n in inputs.files if not n.startswith("{WEIGHT}")])` judges the pair again on these inputs, with
weights of its own."""
