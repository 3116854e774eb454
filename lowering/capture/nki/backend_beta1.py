"""`neuronxcc.nki.compiler.backends.neuron`: names of the compiler that a few kernels import (NKI.md §1.1)."""

from __future__ import annotations

from lowering.capture.nki.indices_beta1 import Index
from lowering.capture.nki.loops_beta1 import nc
from lowering.capture.nki.placeholders import placeholder

VNC = nc
TileIndex = Index
local_tile = placeholder("local_tile of the compiler's backend")
