"""Tests that compile Triton source are left out where Triton is not installed."""

from __future__ import annotations

from importlib.util import find_spec

NEED_TRITON = ["test_float_atomics.py", "test_golden.py", "test_parse.py", "test_reorders.py", "test_unsupported.py"]
collect_ignore = [] if find_spec("triton") else NEED_TRITON
