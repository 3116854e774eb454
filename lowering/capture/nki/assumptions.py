"""What capture takes where the documentation of NKI leaves something open: a name and a sentence each.

``assume`` writes it on the trace, so that a report says what its verdict rests on.
"""

from __future__ import annotations

from lowering.capture.nki.tracer import active, current

SENTENCES = {
    "ap_offset": "an explicit offset of .ap() counts from the view's own start (the documentation says this in one "
    "place and from the storage's start in another)",
    "register_load": "a float that is loaded into a register becomes the nearest integer",
    "tile_size": "alignments of nl.tile_size are 4 bytes in PSUM and 32 in SBUF (they move allocations alone)",
    "beta1_mgrid": "tiles of nl.mgrid have extent 1 in the other dimensions and broadcast to the grid (documented as "
    "dense)",
    "beta1_psum_operand": "what an engine without access to PSUM is given from there is copied to SBUF first",
    "beta1_psum_fresh": "the first product that is added to PSUM that nothing has written overwrites it",
    "nl_mean": "the sum in f32 times 1/n",
    "nl_var": "the mean of (x - mean)^2, each in f32",
    "nl_softmax": "exp(x - max) * (1 / sum), each in f32",
    "nl_rms_norm": "x * rsqrt(sum(x*x) * (1/n) + epsilon) * w, each in f32",
}


def assume(name: str) -> None:
    """The run rests on it."""
    if active():
        current().trace.assumed[f"{name}: {SENTENCES[name]}"] = None
