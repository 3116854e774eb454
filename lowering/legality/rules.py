"""The rules that a kernel is checked against, paraphrased from the documentation of NKI and of the architectures.

Sources: the pages of each instruction under nki/api, nki/programming_model (2.26), and nki/guides/architecture of
Trainium, Trainium2 and Trainium3; collected in docs/nki.md.
"""

from __future__ import annotations

RULES = {
    # sizes
    "nki-partitions": "a tile on chip has at most 128 partitions",
    "nki-matmul-size": "a matmul makes at most 128 rows and 512 columns (Trainium3: 4096 columns of f32, 8192 of bf16)",
    "nki-instruction-size": "an instruction takes as many elements as its page says",
    # memory
    "nki-psum-bank": "one matmul writes within one bank of PSUM: 2 KiB per partition",
    "nki-psum-capacity": "PSUM holds 16 KiB per partition: 8 banks of 2 KiB",
    "nki-sbuf-capacity": "SBUF holds 192 KiB per partition on Trainium, 224 KiB on Trainium2, 256 KiB on Trainium3; "
    "some of it is reserved",
    "nki-start-partition": "an access of more than 64 partitions starts at partition 0, of more than 32 at 0 or 64, of "
    "fewer at 0, 32, 64 or 96",
    # engines
    "nki-gpsimd-psum": "GpSimd has no access to PSUM",
    "nki-two-psum": "an instruction with two tile operands reads at most one of them from PSUM",
    "nki-matmul-memory": "the Tensor engine reads SBUF and writes PSUM",
    "nki-memory": "the compute engines read and write SBUF and PSUM; DMA reaches HBM and SBUF",
    "nki-engine": "an instruction runs on the engines that its page names",
    "nki-target": "an instruction is there from a generation of the hardware on",
    # dtypes
    "nki-matmul-dtype": "a matmul takes 8- and 16-bit floats, or f32 and tf32 with each other, and writes f32 "
    "(Trainium3: bf16 as well)",
    "nki-dtype": "an instruction takes the dtypes that its page names",
    "nki-integers": "the engines compute in f32, but for bit operations and for 32-bit add, subtract and multiply on "
    "GpSimd",
    # access patterns
    "nki-bounds": "an access stays within its tensor",
    "nki-pattern": "an access has at most 4 free dimensions, of at most 65535 elements, with strides of 16 bits",
    "nki-partition-stride": "partitions are accessed one after the other: there is no stride between them",
    # hazards
    "nki-undefined": "memory holds nothing until it is written",
    "nki-output-undefined": "every element of an output is written",
    "nki-carried": "turns of an affine_range do not depend on each other, but for associative sums",
    "nki-affine-accumulate": "turns of an affine_range may share an associative sum; matmuls in PSUM do so safely",
    "nki-accumulate-undefined": "a matmul with accumulate=True adds to what a matmul has written",
    "nki-accumulate-other": "on Trainium and Trainium2, matmuls do not add to what another engine has written",
    "nki-overlap": "an instruction's destination is its source, or does not overlap with it",
    "nki-stale": "a tile is used until another one takes its place",
    "nki-register": "an accumulator register is reset before it is read; an idle instruction of the Vector engine may "
    "overwrite it",
}
