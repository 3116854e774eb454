"""What ``irverify check`` finds of the hardware, explained.  Data only; lowering/legality has the checks."""

from __future__ import annotations

from irverify.explain.entry import Entry

ENTRIES = (
    Entry(
        "nki-partitions",
        "a tile on chip has more than 128 partitions",
        """The first dimension of a tile in SBUF or PSUM is the partition. There are 128 of them.""",
        """A tensor of more rows takes several tiles, one behind the other in the free dimension.""",
        """
        t = nl.ndarray((256, 64), nl.float32, buffer=nl.sbuf)
        """,
        """Tile the first dimension: a loop over tiles of nl.tile_size.pmax rows, or (128, 2, 64).""",
    ),
    Entry(
        "nki-matmul-size",
        "a matmul has more rows or columns than the Tensor engine takes",
        """The stationary tile has at most 128 free elements (rows of the result), the moving one 512 (columns).
        Trainium3 takes 4096 columns into f32 and 8192 into bf16; microscaled operands come in multiples of 32
        partitions and an even number of rows.""",
        """The PE array is 128 x 128, and one matmul fills one bank of PSUM.""",
        """
        nisa.nc_matmul(dst=psum, stationary=a, moving=b[:, 0:1024])
        """,
        """Loop over tiles of nl.tile_size.gemm_moving_fmax columns.""",
    ),
    Entry(
        "nki-instruction-size",
        "an instruction is given more or fewer elements than it takes",
        """bn_stats takes 512 elements per partition, max8 and its kin 8 to 16384, dma_compute 16 sources, a transpose
        128 x 128 on the Tensor engine and 32 x 32 on the Vector engine.""",
        """These are the sizes of the units that do the work.""",
        """
        nisa.nc_transpose(dst, data=t[0:32, 0:64], engine=nisa.vector_engine)
        """,
        """Split the operand, or name the other engine.""",
    ),
    Entry(
        "nki-psum-bank",
        "a matmul writes across a bank of PSUM",
        """A bank holds 2 KiB per partition, 512 numbers of f32. One matmul accumulates within one bank.""",
        """Each bank has an accumulator of its own behind the PE array.""",
        """
        nisa.nc_matmul(acc[:, 256:768], a, b)      # acc is (128, 1024) f32: banks 0 and 1
        """,
        """Let each matmul write columns that begin at a multiple of 512 numbers of f32.""",
    ),
    Entry(
        "nki-psum-capacity",
        "PSUM does not hold the tiles that are in use at once",
        """PSUM has 8 banks of 2 KiB per partition. A tile counts from its first access to its last in program order, so
        what is shown is the least that any placement needs.""",
        """PSUM is for sums in progress; results are moved to SBUF.""",
        """
        parts = [nl.ndarray((128, 512), nl.float32, buffer=nl.psum) for _ in range(9)]
        """,
        """Copy a finished sum to SBUF before the next one begins, or make the tiles smaller.""",
    ),
    Entry(
        "nki-sbuf-capacity",
        "SBUF does not hold the tiles that are in use at once",
        """A tile counts from its first access to its last in program order; tiles of few partitions share theirs. What
        is shown is the least that any placement needs. For Beta-1 kernels it is a warning: their compiler may move
        tiles out to HBM and back, which takes time.""",
        """SBUF has 192 KiB per partition on Trainium and Inferentia2, 224 KiB on Trainium2, 256 KiB on Trainium3; a
        kernel may have 180224, 212984 and 245752 bytes of them.""",
        """
        a = nl.ndarray((128, 60000), nl.float32, buffer=nl.sbuf)
        """,
        """Use smaller tiles, or load them later. --cost shows the high-water mark.""",
    ),
    Entry(
        "nki-start-partition",
        "an access begins at a partition where an access of its size cannot",
        """More than 64 partitions begin at 0, 33 to 64 at 0 or 64, and 32 or fewer at 0, 32, 64 or 96. DMA may begin
        anywhere.""",
        """The engines address partitions by quadrants of 32.""",
        """
        nisa.tensor_copy(t[16:48, :], s)
        """,
        """Align the tile, move the rows by DMA, or shuffle them (nc_stream_shuffle).""",
    ),
    Entry(
        "nki-gpsimd-psum",
        "GpSimd is to access PSUM",
        """GpSimd reads and writes SBUF alone, on every generation.""",
        """PSUM is connected to the Tensor, the Vector and the Scalar engine.""",
        """
        nisa.tensor_copy(t, psum_tile, engine=nisa.gpsimd_engine)
        """,
        """Name the Vector or the Scalar engine, or copy the tile to SBUF first.""",
    ),
    Entry(
        "nki-two-psum",
        "both tile operands of an instruction are in PSUM",
        """tensor_tensor and scalar_tensor_tensor read at most one operand from PSUM.""",
        """The Vector engine has one port to PSUM.""",
        """
        nisa.tensor_tensor(dst, psum_a, psum_b, nl.add)
        """,
        """Copy one of them to SBUF first, or accumulate in PSUM with matmuls.""",
    ),
    Entry(
        "nki-matmul-memory",
        "the Tensor engine is to read something else than SBUF, or to write something else than PSUM",
        """Both operands of a matmul or of a transpose on the Tensor engine are in SBUF; the result is in PSUM.""",
        """The PE array is fed from SBUF and emptied into PSUM.""",
        """
        nisa.nc_matmul(dst=sbuf_tile, stationary=a, moving=b)
        """,
        """Write to a PSUM tile and copy it to SBUF afterwards.""",
    ),
    Entry(
        "nki-memory",
        "an engine is to access a memory that it does not reach",
        """The Vector engine, the Scalar engine and GpSimd work on SBUF (and PSUM); HBM is reached by DMA alone. DMA
        does not reach PSUM in the new API from 0.3 on; Beta-1 puts a copy in between.""",
        """HBM is outside of the core.""",
        """
        nisa.dma_copy(dst=out, src=psum_tile)
        """,
        """Load with dma_copy first; copy PSUM to SBUF before it is stored.""",
    ),
    Entry(
        "nki-engine",
        "an instruction is given to an engine that does not have it",
        """Each instruction's page names its engines: power runs on GpSimd; the Scalar engine has tensor_scalar with
        multiply and add, multiply, or add.""",
        """The engines are different machines.""",
        """
        nisa.tensor_scalar(dst, t, nl.maximum, 1.0, engine=nisa.scalar_engine)
        """,
        """Leave the engine out, or name one of those in the message.""",
    ),
    Entry(
        "nki-target",
        "the target does not have an instruction or an option yet",
        """range_select, sendrecv, core_barrier, nonzero_with_count, double_row, copies on the Scalar engine and numbers
        as a bias came with Trainium2; activate2, exponential, quantize_mx, nc_matmul_mx, rand2, indirect accesses
        along the free axis and abs_max with Trainium3. A warning: activation(op=nl.copy) may leave out its bias on
        Trainium.""",
        """A kernel that runs on one generation need not run on the one before.""",
        """
        irverify check kernel.py --target trn1
        """,
        """Check against the device that is meant (--target), or write the instruction out.""",
    ),
    Entry(
        "nki-matmul-dtype",
        "a matmul has dtypes that the Tensor engine does not take",
        """The operands are float8, bf16, fp16, tf32 or f32; f32 and tf32 go with each other alone, the two kinds of
        e4m3 do not go together. The result is f32; on Trainium3 bf16 as well.""",
        """Integers are not multiplied by the PE array, and sums in PSUM are f32.""",
        """
        nisa.nc_matmul(psum, a_f32, b_bf16)
        """,
        """Cast one operand; copy the f32 sums to a narrower tile afterwards.""",
    ),
    Entry(
        "nki-dtype",
        "an instruction has a dtype that it does not take",
        """Data that are moved keep their dtype (transposes); predicates are unsigned integers; indices are u16 or u32;
        bit operations take integers; nothing on chip has 64 bits; float8_e4m3fn is there from Trainium3 on.""",
        """Each instruction's page names its dtypes; the compiler refuses others.""",
        """
        nisa.tensor_copy_predicated(dst, src, predicate=mask_f32)
        """,
        """Copy the operand into a tile of the dtype that is asked for.""",
    ),
    Entry(
        "nki-integers",
        "32-bit integers are computed in f32",
        """The engines convert operands to f32, compute, and convert back, so integers beyond 2^24 are rounded. Exact
        are bit operations, and add, subtract and multiply of 32-bit integers with tensor_tensor on GpSimd. A warning,
        since small integers lose nothing.""",
        """An index beyond 16777216, a hash or a random number goes wrong silently.""",
        """
        nisa.tensor_scalar(dst_i32, t_i32, nl.add, 1)
        """,
        """Use tensor_tensor on GpSimd with both operands in SBUF, or make sure that the numbers are small.""",
    ),
    Entry(
        "nki-bounds",
        "an access leaves its tensor",
        """An access pattern reaches elements before the first or behind the last one of its tensor.""",
        """What lies there belongs to another tile.""",
        """
        t.ap(pattern=[[64, 128], [1, 65]])         # t is (128, 64)
        """,
        """Mend the pattern's counts, strides or offset.""",
    ),
    Entry(
        "nki-pattern",
        "an access pattern is more than an instruction can say",
        """At most 4 free dimensions that do not join, each of at most 65535 elements, with strides that fit 16
        bits.""",
        """An instruction has that many fields, and no more.""",
        """
        nisa.tensor_copy(dst, t[:, 0:2, 0:2, 0:2, 0:2, 0:2])
        """,
        """Split the access into several, or order the tile so that dimensions join.""",
    ),
    Entry(
        "nki-partition-stride",
        "partitions are to be accessed with a stride",
        """An access takes partitions one after the other. DMA is free to do otherwise.""",
        """The partitions of an access are given by the first one and their number.""",
        """
        nisa.memset(t[0:64:2, :], 0)
        """,
        """Move the rows by DMA, or shuffle them within their quadrant.""",
    ),
    Entry(
        "nki-undefined",
        "memory is read that was never written",
        """A source has no element that was written, or elements without contents are summed over or stored to HBM.
        Lanes that nobody uses pass: garbage that stays in its lane is no mistake.""",
        """A fresh tile holds whatever was there before; the official simulator fills it with NaN.""",
        """
        t = nl.ndarray((128, 64), nl.float32, buffer=nl.sbuf)
        nisa.dma_copy(dst=t[:, 0:n], src=x)
        nisa.tensor_reduce(s, nl.add, t, axis=1)           # all 64 columns
        """,
        """Fill the tile first, or restrict the access to what was written.""",
    ),
    Entry(
        "nki-output-undefined",
        "some elements of an output are never written",
        """The kernel ends, and elements of a tensor that it returns have no contents.""",
        """A loop over tiles that leaves out the rest of a size is the usual cause.""",
        """
        for i in nl.affine_range(n // 128):        # n is no multiple of 128
        """,
        """Cover the remainder, or refuse such sizes in the kernel (assert).""",
    ),
    Entry(
        "nki-carried",
        "turns of an affine_range depend on each other",
        """A turn reads what another turn of the same affine_range has written, other than to go on with an associative
        sum. Beta-1 alone: in the new API an affine_range is a range.""",
        """affine_range says that the turns may run in any order or at once; sums of matmuls in PSUM are the
        exception.""",
        """
        for i in nl.affine_range(4):
            state[...] = nl.multiply(nl.add(state, 1.0), tile[i])
        """,
        """Use sequential_range, or keep a tile for each turn and combine them afterwards.""",
    ),
    Entry(
        "nki-affine-accumulate",
        "an affine_range carries an associative sum outside of PSUM",
        """An add, multiply, maximum or the like whose destination is its source meets the same elements in several
        turns of an affine_range, and is no sum of matmuls in PSUM. Beta-1 alone. A warning: the documentation counts
        associative reductions as no dependence, and its example is a sum of matmuls. A comparison takes the order of
        the turns and lists that among its assumptions.""",
        """The maintainers' word (aws-neuron-sdk issue 1051) is that sums of matmuls in PSUM are the only well-supported
        ones; others have made the compiler fail.""",
        """
        for i in nl.affine_range(4):
            acc[...] += nl.load(x[i])
        """,
        """Use sequential_range or static_range for sums in SBUF, or nl.loop_reduce.""",
    ),
    Entry(
        "nki-accumulate-undefined",
        "a matmul with accumulate=True adds to PSUM that no matmul has written",
        """The flag says add, and there is nothing to add to.""",
        """What is undefined is added to the sum, on every generation.""",
        """
        for k in range(4):
            nisa.nc_matmul(psum, a[k], b[k], accumulate=True)
        """,
        """Leave accumulate out, or write accumulate=(k > 0).""",
    ),
    Entry(
        "nki-accumulate-other",
        "a matmul adds to PSUM that another engine has written",
        """The destination was filled by memset, a copy or the like, and then a matmul adds to it. On Trainium3 that is
        allowed. nl.zeros in PSUM followed by += of Beta-1 is not meant.""",
        """The documentation calls it undefined behaviour on Trainium and Trainium2.""",
        """
        psum = nl.zeros((128, 512), nl.float32, buffer=nl.psum)
        nisa.nc_matmul(psum, a, b, accumulate=True)
        """,
        """Let the first matmul overwrite (leave accumulate out), and add the other term afterwards.""",
    ),
    Entry(
        "nki-overlap",
        "an instruction writes some of what it reads, at other places",
        """Destination and source overlap without being the same elements in the same order; or an instruction that
        moves elements (a transpose, a shuffle, a gather) works in place. A warning where the source is folded, or is
        one element per partition.""",
        """Whether an element is read before it is overwritten is nobody's promise.""",
        """
        nisa.tensor_copy(t[:, 0:8], t[:, 1:9])
        """,
        """Write to another tile.""",
    ),
    Entry(
        "nki-stale",
        "a tile is read whose place another tile has taken",
        """Two tiles are put at overlapping addresses; the first is written, then the second, then the first is read.
        Using two names for one place on purpose is no finding as long as only one of them is written.""",
        """Addresses that the source names are not checked by the compiler.""",
        """
        a = nl.ndarray((128, 8), nl.float32, address=(0, 0))
        b = nl.ndarray((128, 8), nl.float32, address=(0, 16))
        """,
        """Move one of the tiles, or finish with the first before the second is written.""",
    ),
    Entry(
        "nki-register",
        "an accumulator register is read that was not reset, or that may have been overwritten",
        """reduce_cmd.reduce goes on with the register, and so does a reduce_res; the register has to be reset first. An
        instruction of the Vector engine with reduce_cmd.idle may overwrite that engine's register.""",
        """There is one register for each partition in each of the two engines, and all accumulating instructions of the
        engine share it.""",
        """
        nisa.tensor_scalar_reduce(d, t, nl.add, 1.0, nl.add, r, reduce_cmd=nisa.reduce_cmd.reduce)
        """,
        """Begin with reduce_cmd.reset_reduce, and keep the accumulating instructions together.""",
    ),
)
