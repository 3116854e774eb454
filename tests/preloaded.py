"""What the server of tests/forked.py imports before it forks, under the switches that a worker has."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from irverify.sandbox import environment

os.environ.update(environment(Path(tempfile.gettempdir())))

import jax.experimental.pallas  # noqa: F401
import torch  # noqa: F401
import triton.language  # noqa: F401

import irverify._capture_jax
import irverify._capture_nki
import irverify._capture_torch
import irverify.side  # noqa: F401
import lowering.capture.jax_host
import lowering.capture.torch_session
import lowering.pipeline  # noqa: F401
