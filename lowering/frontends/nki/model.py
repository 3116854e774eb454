"""What NKI's documentation leaves open about numbers, as parameters with a default each (NKI.md §2.5).

Gives Model, and a sentence for every parameter that a run rests on.  An order that is left open is no parameter: it is
written on the op (``order='unordered'``).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Model:
    """``fma``: a product and a sum inside one instruction are rounded once instead of twice.

    ``reduce_order``: 'open', or 'ascending' for a left fold of every reduction along the free axes.
    ``accumulated``: what an accumulator register takes in, the elements 'computed' in f32 or as 'written' to dst.
    ``int32_uint32_copy``: what a copy between int32 and uint32 keeps, the 'bits' or, through f32, the 'value'.
    """

    fma: bool = False
    reduce_order: str = "open"
    accumulated: str = "computed"
    int32_uint32_copy: str = "bits"


SENTENCES = {
    "pe_product_rounding": "products in the PE are not rounded before they are added in f32 (assumed: only the sum is "
    "documented as f32)",
    "fp32_matmul": "an f32 product in the PE is that of the f32 operands (assumed: how the PE splits them is open)",
    "fma": "a product and a sum inside one instruction are rounded one after the other (assumed: not documented)",
    "act_model": "functions of the engines are within 16 ulp of the mathematical ones (assumed: NKI states no error)",
    "act_range": "the tables of sin beyond [-pi, pi] and of arctan beyond [-pi/2, pi/2] are not these functions "
    "(documented); there they are taken to give their argument",
    "ftz": "subnormal numbers are kept (assumed: not documented)",
    "nan": "max and min give NaN where an operand is NaN (assumed: not documented)",
    "accumulated": "an accumulator register takes in elements before they are rounded to dst (assumed: not documented)",
    "scan_state": "the state of a scan is f32 whatever dst is (documented as float32 math)",
    "float8_overflow": "a value beyond float8_e4m3fn becomes NaN (assumed: NaN or saturation is not documented)",
    "tfloat32": "a tfloat32 operand is rounded to 10 fraction bits where the PE reads it (assumed)",
    "bn_stats": "bn_stats and bn_aggr sum up squared differences from the mean, and no elements give zeros (assumed: "
    "not documented)",
    "average": "an average over partitions is their sum in f32, divided by their number (assumed: not documented)",
    "gather_unit": "an index of local_gather counts elements (the SDK's unit test multiplies it by num_elem_per_idx)",
    "mixed_bits": "operands of a bit operation are extended to the wider one's width by value (assumed)",
    "int32_uint32_copy": "a copy between int32 and uint32 keeps the bits (assumed: other changes of dtype pass "
    "through f32)",
    "mx_scale": "the scale of a group follows the exponent bits of its largest element, also of a subnormal, an "
    "infinity or a NaN, and is 2^-127 at least (assumed)",
    "mx_product": "microscaled elements are multiplied by their scales in f32, and then with each other (assumed: what "
    "overflows is not documented)",
    "topk": "topk writes its results in ascending order and laid out as its source, result j of a group in partition "
    "j % 16 (the pages of NKI 0.6 and 0.7 differ)",
    "rand_state": "the state of a generator right after rand_set_state is the seeds that it was given (assumed)",
    "shift": "the result of a shift by the width or more is not known",
}


def sentence(name: str) -> str:
    """The note of one parameter."""
    return f"nki: {SENTENCES[name]}" if name in SENTENCES else f"nki: {name}"
