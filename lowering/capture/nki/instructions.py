"""The instruction set behind both API generations: checks what an instruction needs, and records it.

Each function takes the destination first and Tiles throughout; ``mask`` is Beta-1's.  Its docstring says what it
records: ``op``: the operation of the trace, ``dst`` and ``src`` in their order, and its attributes.  ``[dst,
reduce_res?]``: a second destination gets the accumulator, where one is given.  Shapes and rules: NKI.md §1.6.  The
legality of sizes, engines and dtypes on a target is looked at afterwards, on the trace.
"""

from __future__ import annotations

from lowering.capture.nki.instructions_act import activate2, activation, exponential
from lowering.capture.nki.instructions_elementwise import (
    copy,
    copy_predicated,
    memset,
    range_select,
    reciprocal,
    scalar_tensor_tensor,
    select_reduce,
    tensor_scalar,
    tensor_tensor,
)
from lowering.capture.nki.instructions_fold import (
    bn_aggr,
    bn_stats,
    tensor_partition_reduce,
    tensor_reduce,
    tensor_scalar_cumulative,
    tensor_scalar_reduce,
    tensor_tensor_scan,
)
from lowering.capture.nki.instructions_gather import (
    affine_select,
    find_index8,
    iota,
    local_gather,
    match_replace8,
    max8,
    n_gather,
    nonzero_with_count,
    sequence_bounds,
    topk,
)
from lowering.capture.nki.instructions_move import (
    core_barrier,
    dma_compute,
    dma_copy,
    dma_transpose,
    nc_transpose,
    send_recv,
    shuffle,
)
from lowering.capture.nki.instructions_pe import nc_matmul, nc_matmul_mx, quantize_mx
from lowering.capture.nki.instructions_random import dropout, rand2, rand_get_state, rand_set_state, rng, set_rng_seed
from lowering.capture.nki.operands import Mask, Scalar, operand, same_elements

__all__ = [
    "Mask", "Scalar", "activate2", "activation", "affine_select", "bn_aggr", "bn_stats", "copy", "copy_predicated",
    "core_barrier", "dma_compute", "dma_copy", "dma_transpose", "dropout", "exponential", "find_index8", "iota",
    "local_gather", "match_replace8", "max8", "memset", "n_gather", "nc_matmul", "nc_matmul_mx", "nc_transpose",
    "nonzero_with_count", "operand", "quantize_mx", "rand2", "rand_get_state", "rand_set_state", "range_select",
    "reciprocal", "rng", "same_elements", "scalar_tensor_tensor", "select_reduce", "send_recv", "sequence_bounds",
    "set_rng_seed", "shuffle", "tensor_partition_reduce", "tensor_reduce", "tensor_scalar",
    "tensor_scalar_cumulative", "tensor_scalar_reduce", "tensor_tensor", "tensor_tensor_scan", "topk",
]  # fmt: skip
