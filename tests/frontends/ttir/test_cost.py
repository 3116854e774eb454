"""Importing the room must not import MLIR: ``irverify --help`` has to stay quick."""

from __future__ import annotations

import subprocess
import sys


def test_import_is_lazy() -> None:
    code = "import sys, lowering.frontends.ttir; sys.exit(any(m.startswith(('jaxlib', 'triton')) for m in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
