"""The findings, explained.  Data only; docs/verdicts.md has the rules behind them."""

from __future__ import annotations

from irverify.explain.entry import Entry

ENTRIES = (
    Entry(
        "order-sensitive",
        "the result depends on the order of accumulation by more than the tolerance",
        """The two are equal up to order, but for one of them some order is far from the true sum: its error bound
        exceeds the tolerance of the output's type. The exit code is 1. Where the message names a line, the terms added
        there are that many times as large as their sum: they cancel, in whatever order they are added.""",
        """Equal up to order is not equal enough when the accumulator is short: 4096 equal terms in bf16 give 1024 in
        sequence and 3280 as a tree; the true sum is 3284.""",
        """
        acc = tl.zeros((BLOCK,), dtype=tl.bfloat16)     # then thousands of additions
        """,
        """Accumulate in f32; subtract the mean before squaring. If the order is meant, give --tolerance RTOL,ATOL.""",
    ),
    Entry(
        "precision-lost",
        "one side's error bound exceeds the tolerance of the output's type",
        """The same real function, but one side rounds so early or so coarsely that its result can be further from the
        truth than the tolerance. The exit code is 1, unless it is a warning: then B loses digits that A keeps only on
        inputs far from the given ones, which the message names, or in elements far below the largest one.""",
        """A cast to a narrow format before a sum or a product costs digits that no later step brings back.""",
        """
        acc += tl.dot(a, b).to(tl.bfloat16)     # a bf16 hop in every tile
        """,
        """Move the cast behind the accumulation, or accept it with --tolerance RTOL,ATOL.""",
    ),
    Entry(
        "unstable-order",
        "one side leaves the order of equal keys open, and an output follows it",
        """A sort that is not asked to be stable may leave equal keys in any order. The side was run with them reversed,
        and an output moved by more than another order of a sum comes to, while the other side has nothing left open.
        An error where B is the open one and keys are equal in the given inputs or in integers of a declared range, a
        warning where only rounded floats tie, a note where A is the open one: a port may fix what A leaves open.""",
        """Tokens permuted by an unstable argsort of their expert come in another order in every library, and with them
        whatever goes by place. Where the permutation is undone, nothing moves, and nothing is said.""",
        """
        order = torch.argsort(expert)                    # for torch.argsort(expert, stable=True)
        """,
        """Ask for a stable sort.""",
    ),
    Entry(
        "inference-differs",
        "in evaluation mode and without gradients the two do not agree",
        """The verdict is about modules as they are built, in training mode. Where either file names a mode, or a layer
        that has two (dropout, batch norm), both were captured once more after model.eval() and under torch.no_grad(),
        and differ there: an error, exit code 1. A warning where they could not be compared, or one does not run so.""",
        """A port is checked in training mode and deployed in evaluation mode; running statistics, a dropout's scale or
        a branch on grad mode that only the second shows are found in production.""",
        """
        return y if self.training else y * 0.9           # A's dropout does nothing in evaluation mode
        """,
        """Give both modes the same meaning; compare models in evaluation mode by building them so.""",
    ),
    Entry(
        "dot-precision",
        "two jax programs ask for products of f32 in other precisions",
        """One side fixes the precision of its products (HIGHEST, an algorithm) where the other leaves DEFAULT or HIGH.
        Both are taken as f32, which they are on a CPU; a TPU rounds the operands of DEFAULT to bf16, a GPU those of
        HIGH to TF32. The verdict is about f32; the exit code stays.""",
        """jax.default_matmul_precision and precision= are easily lost in a port, and cost most digits on a TPU.""",
        """
        jnp.dot(x, w)                                    # for jnp.dot(x, w, precision=jax.lax.Precision.HIGHEST)
        """,
        """Ask for the same precision on both sides.""",
    ),
    Entry(
        "donated-argument",
        "one jax program gives an argument's memory away, the other does not",
        """A jit with donate_argnums or donate_argnames may reuse the memory of an argument, and the caller cannot use
        that array afterwards. Results are the same; the exit code stays.""",
        """Code that called the other side and went on using the argument fails, on devices that donate.""",
        """
        step = jax.jit(update, donate_argnums=0)         # for jax.jit(update)
        """,
        """Donate on both sides or on neither, or know the callers.""",
    ),
    Entry(
        "bounds-apart",
        "the two programs put a bound one step apart, and nothing that was tried lies between",
        """A comparison of lengths, places or random draws with a fixed bound parts numbers at one place in A and a step
        further in B (i < 128 and i <= 128, r > p and r >= p), at every set of shapes that comes to both, and no number
        that was tried shows it. Those numbers are no inputs, so an equal verdict says nothing of the one in between.
        The exit code is 1.""",
        """A window of 128 tested with 48 rows, an expert's capacity that no batch fills, a dropout whose draws do not
        happen to equal p: right on what was tried, wrong by one beyond.""",
        """
        keep = i - j <= WINDOW                           # for i - j < WINDOW
        """,
        """Make the comparisons alike, or give sizes (--shapes) and inputs that reach the bound.""",
    ),
    Entry(
        "unordered-sets",
        "one side leaves open which of several values set at one place stays",
        """Several lanes of one assignment by index go to one element with different values, and the source does not say
        which is the last. The side was run with their order reversed, and an output moved, while the other side fixes
        it. Where B is the open one the verdict is undecided; where A is, this is a note.""",
        """out[index] = values with an index that comes twice is not determined on a GPU, nor in XLA; a loop over the
        same assignments is.""",
        """
        out[slot] = v                                    # for t in range(T): out[slot[t]] = v[t]
        """,
        """Make the places distinct (keep the last of each), or write in a fixed order.""",
    ),
    Entry(
        "rounds-below-zero",
        "a root or a logarithm of a difference that rounding may make negative",
        """Where values are equal (rows of one value, two inputs alike) the argument of a root or of a logarithm cancels
        to nothing but rounding, which may be negative; nothing in the source keeps it from that. A warning where one
        side does it, a note where both do. Where a NaN was seen on one side, and the other side cannot give one, the
        verdict is different.""",
        """E[x^2] - E[x]^2 and |x|^2 + |y|^2 - 2 x.y are not negative as real numbers, and are as rounded ones.""",
        """
        std = tl.sqrt(tl.sum(x * x) / n - mean * mean)     # NaN for about half of all constant rows
        """,
        """Clamp at 0, add eps before the root, or take the mean of squared differences.""",
    ),
    Entry(
        "loose-bound",
        "an error bound beyond the tolerance that the measured distance clears",
        """The bound of one side exceeds the tolerance, but nothing is left open there except the last digits of
        intrinsics, and the result itself was measured against an enclosure of the real one and lies within the
        tolerance. A note; the exit code is unchanged.""",
        """Running error analysis adds up roundings as if none cancelled. Compensated sums (Kahan, Neumaier) are built
        so that they do.""",
        """
        y = x - c; t = s + y; c = (t - s) - y; s = t     # the bound doubles in every step, the error does not
        """,
        """Nothing.""",
    ),
    Entry(
        "special-values",
        "equal for finite inputs, different at NaN, infinities or overflow",
        """A verdict speaks of inputs whose computation stays finite. For some input with a NaN or an infinity, or one
        that overflows, the two give different results. An error where ties alone tell them apart, which are finite
        inputs, unless A leaves open what is done with them.""",
        """max(NaN, 3) is 3 in some languages and NaN in others; masks added as -inf turn NaN into NaN where a select
        does not.""",
        """
        a NaN in the row gives 3.0 in A, NaN in B
        """,
        """Decide whether such inputs matter. --special strict counts them as different, and leaves undecided a pair
        for which they could not be run; --special ignore hides them.""",
    ),
    Entry(
        "layout-sensitive",
        "one side gives something else where its arguments are views: it ignores strides",
        """The same values were handed over as views: as rows of a wider matrix, transposed in memory, as every other
        column, each with an offset. One side gives what it gives for contiguous arguments, the other reads other
        elements, or memory that is no element. A warning where B is the one, a note where A is; the verdict speaks of
        the layouts given. A JAX function has no strides and is the same for all.""",
        """A kernel that computes row * n_cols for an address, or takes stride(0) alone, is right as long as everybody
        hands it contiguous tensors, and silently wrong after the first x.t() or x[:, ::2].""",
        """
        kernel[grid](x, y, x.shape[1])                    # and in the kernel: x_ptr + row * n_cols + cols
        """,
        """Pass every stride on, or call x.contiguous() in the wrapper, or assert x.is_contiguous(). --layouts strict
        counts such a layout as different, --layouts ignore does not try any.""",
    ),
    Entry(
        "cotangent-layout",
        "a backward pass takes its incoming gradient to be contiguous",
        """Under --backward each side is also run with incoming gradients that are expanded (one number with strides of
        0) and transposed, and compared with itself on contiguous ones of the same values. One side gives another
        gradient there. The exit code is 1; where both sides do, it is a warning.""",
        """f(x).sum().backward() hands back an expanded gradient, and f(x).t() a transposed one: autograd makes them, no
        caller sees them. A kernel that adds offsets to such a pointer reads other memory, without an error.""",
        """
        def backward(ctx, g):
            kernel[grid](x, g, dx, x.numel())              # and in the kernel: tl.load(g + offs)
        """,
        """Begin backward() with g = g.contiguous(), or pass all strides of g on. --layouts ignore does not try any.""",
    ),
    Entry(
        "specialised-layout",
        "a side does not take arguments that are views, or both assume a layout",
        """With such arguments a side raises (an assertion, view() of a tensor that is not contiguous), or neither side
        gives what it gives for contiguous ones. That is a matter of scope: nothing is said of these layouts.""",
        """A function may ask for contiguous arguments; to refuse others is better than to misread them.""",
        """
        assert x.is_contiguous()
        """,
        """Nothing, unless views are among the arguments that you use.""",
    ),
    Entry(
        "signed-zero",
        "the two give zeros of different sign",
        """An element is +0 on one side and -0 on the other, for an input that the message gives. A note: the sign of
        a zero is no witness, and no verdict but `bitwise` speaks of it.""",
        """x + 0 turns -0 into +0, and 0 - x is not -x at zero.""",
        """
        a.py  -x
        b.py  0.0 - x
        """,
        """Usually nothing; it shows only through 1/x, copysign and bit comparisons.""",
    ),
    Entry(
        "undefined-read",
        "memory that nothing has written can reach an output",
        """A value read from an uninitialised buffer, or beyond an array's end, can reach an output element.""",
        """On one device it happens to be 0 and on another garbage, so the kernel changes its meaning when it moves.""",
        """
        out = torch.empty(n); kernel[grid](x, out, n)      # and the kernel leaves the last block unwritten
        """,
        """Write every element, or start from zeros.""",
    ),
    Entry(
        "masked-load-without-other",
        "a masked load has no `other`, and its masked-off lanes can reach an output",
        """Masked-off lanes of tl.load(p, mask=m) are undefined by the language. On NVIDIA Triton 3.9 they are 0; other
        back ends give garbage. This is a warning about portability and never makes a pair different by itself.""",
        """Sums over a padded row are right on NVIDIA by luck; products, max and exp usually are not right even
        there.""",
        """
        x = tl.load(x_ptr + offs, mask=offs < n)          # then tl.max(x)
        """,
        """Give the neutral element of what follows: other=0.0 for sums, other=-float("inf") for max.""",
    ),
    Entry(
        "out-of-bounds",
        "an access lies outside its buffer",
        """A load or store has an address beyond the memory of its argument at these shapes.""",
        """A missing or wrong mask, a wrong stride, or an offset that wrapped in 32 bits.""",
        """
        tl.load(x_ptr + row * stride + offs)              # no mask, n is no multiple of BLOCK
        """,
        """Mask the access with the true bounds.""",
    ),
    Entry(
        "race",
        "threads touch the same address in no fixed order, and one of them writes",
        """Two instances of a launch write one address with different values and no atomic, or one reads what another
        writes; or a lane of one instance reads, or overwrites, what another lane of it stored since its last barrier.
        The result depends on who comes first.""",
        """Nothing orders program instances of one launch, and only a barrier orders the lanes of one instance. Lanes
        are the same thread where they have the same place in tensors of one shape.""",
        """
        tl.store(scratch + offs, x)
        y = tl.load(scratch + (N - 1 - offs))             # another thread's element, perhaps not yet stored
        """,
        """Give each instance memory of its own; put tl.debug_barrier() between the store and the load, or move lanes
        with tl.trans, tl.reshape, tl.gather or tl.flip.""",
    ),
    Entry(
        "stateful",
        "a call leaves something behind that changes what the next one gives",
        """After the call an attribute of the module, a global of the file, a closure or a default argument was not what
        it had been, and a second call with the same arguments gave other results or changed it further. The verdict
        speaks of first calls, so the exit code is 1. A note where only plain values go on changing (a counter, a log),
        or where both sides keep state and agree in two calls in a row; a warning where a second call could not be
        looked at. The same code where the second call overwrites the result that the first one returned, or gives what
        the first one has computed from its arguments (a cache by shape, the scale of the first batch), or where the
        same tensors, refilled with other values, give something else than new ones (a cache by identity). A cache that
        is filled once is no state in this sense, and buffers and parameters are inputs, whose new values are
        compared.""",
        """A running average or a step counter makes the second call another function than the first, and a port
        without it is right exactly once.""",
        """
        self.mean = self.mean * 0.9 + x.mean(0) * 0.1     # a plain attribute; the port leaves it out
        """,
        """Keep the state in a registered buffer, or pass it in and return it, on both sides: then it is compared.""",
    ),
    Entry(
        "parallel-revisit",
        "steps of a Pallas grid that run at once share memory",
        """Along an axis of the grid whose steps have no order, two steps use one output block or one scratch buffer:
        one reads what the other leaves there, or they write different values. Stands among the assumptions; the pair
        is undecided, as with any `race`. The verdict of other kernels speaks of the grid in order.""",
        """jax's interpreter runs the grid in order. A TPU with two cores splits axes that dimension_semantics calls
        parallel, and each core has its own scratch and windows; a GPU runs all program instances at once, except along
        axes that Mosaic GPU is told are sequential.""",
        """
        o_ref[...] += x_ref[...] @ y_ref[...]     # dimension_semantics=("parallel", "parallel", "parallel")
        """,
        """Declare the axis of the reduction "arbitrary" (TPU) or "sequential" (Mosaic GPU), or loop inside the
        kernel.""",
    ),
    Entry(
        "revisited-block",
        "a Pallas kernel expects to find an output block again after others",
        """A step reads an output block that an earlier step wrote, and in between the output had another block. Stands
        among the assumptions; what is read there is undefined, so the pair is different where it reaches an output of
        one side alone. On a GPU the same kernel races.""",
        """A TPU writes an output block back when the next step has another one, and does not fetch it again. jax's
        interpreter does.""",
        """
        grid=(k // BK, m // BM), out_specs=BlockSpec((BM, n), lambda k, i: (i, 0))     # and o_ref[...] += ...
        """,
        """Make the axis of the reduction the last one, so that steps with one block follow one another.""",
    ),
    Entry(
        "aliased-overlap",
        "a Pallas kernel overwrites an input that another of its steps reads",
        """With input_output_aliases an output is an input's memory, and a step writes a part of it that another step
        reads as input, later or at once. Stands among the assumptions; the pair is undecided, as with any
        `race`.""",
        """jax's interpreter keeps the input as it was. On a device whether a step sees the old values depends on when
        its block was fetched.""",
        """
        in_specs=[BlockSpec((8, n), lambda i: (i - 1, 0))], out_specs=BlockSpec((8, n), lambda i: (i, 0))
        """,
        """Read and write the same block in each step, or do without the alias.""",
    ),
    Entry(
        "grid-order",
        "a Pallas kernel that names no device is right only where the grid runs in order",
        """Steps share an output block, which is a sum on a TPU and a race on a GPU. The call does not say for which
        it is meant, so this is a note among the assumptions and the verdict speaks of the grid in order.""",
        """A TPU runs the grid in order unless an axis is declared parallel; a GPU runs all program instances at
        once.""",
        """
        o_ref[...] += x_ref[...]                  # pallas_call(..., interpret=True), and nothing else said
        """,
        """Say what it is for: compiler_params, or --target tpu_v5e.""",
    ),
    Entry(
        "output-mismatch",
        "an output has another dtype or shape on the other side",
        """The paired outputs cannot be compared element by element, so the verdict is `different`; the place named is
        where B fixes the type. (Two sides that return different numbers of arrays are a usage error; an argument that
        only one side writes to is compared with what the other leaves in it.)""",
        """A missing cast at the end, or a kept dimension.""",
        """
        a.py  returns bfloat16[37,130]
        b.py  returns float32[37,130]
        """,
        """Make the signatures agree, then compare again.""",
    ),
    Entry(
        "autotune-configs-differ",
        "not every autotune configuration of a kernel gives the same program",
        """One configuration was compared. Another one does not lower, or its result differs from the first.""",
        """Which configuration runs is decided on the user's machine, by time.""",
        """
        @triton.autotune(configs=[Config({"BLOCK": 128}), Config({"BLOCK": 100})], key=["n"])
        """,
        """Compare the others with --config N, or remove the one that differs.""",
    ),
    Entry(
        "specialised-shape",
        "one side only works at some shapes",
        """At other shapes side A runs and side B does not, or gives an output of another dtype. That is a matter of
        scope: it never says `different`, but the verdict holds only for the shapes listed.""",
        """A hard-coded size, a power-of-two dimension, a block that must divide the row.""",
        """
        assert n == 4096
        """,
        """Nothing if the shapes are the ones you use; else make side B general, or mask its last block.""",
    ),
    Entry(
        "given-not-run",
        "the given sizes are too large to be run; the verdict is about smaller ones",
        """Either the inputs (and weights) have more elements than are run, or judging them took more than the time that
        there is. The verdict holds for the smaller sets of shapes in the report, and the first line says so. What only
        large sizes show is not seen: offsets beyond 32 bits, a grid that is too large, another kernel chosen by size.
        The exit code is that of the verdict.""",
        """The inputs of a benchmark: 4096 rows of 393216 numbers.""",
        """
        def get_inputs(): return [torch.rand(4096, 393216)]
        """,
        """Nothing if smaller sizes are representative. To have the given ones run whatever it takes: --shapes given,
        with a larger --timeout and --memory; or name other sizes with --input.""",
    ),
    Entry(
        "unguarded-shape",
        "at other shapes B leaves its buffers, or leaves part of an output undefined, and A does not",
        """Both sides take this set of shapes. A works there; B reads or writes outside an array, or returns memory that
        nothing has written. B does not refuse these inputs: on a device it gives wrong numbers, or overwrites what is
        not its own. The verdict is about the other sets of shapes, the exit code is 1.""",
        """A grid of n // BLOCK, a last block that is not masked, a length that is assumed to be a multiple.""",
        """
        grid = (n // BLOCK,)                     # of 1100 elements the last 76 stay what torch.empty held
        """,
        """Mask the last block; or refuse such shapes (assert n % BLOCK == 0), which makes them a matter of scope. To
        compare at the given shapes alone: --shapes given.""",
    ),
    Entry(
        "shape-mismatch",
        "at other shapes B gives an output of another shape",
        """Both sides run at this set of shapes, and one output is larger or smaller in B than in A. B does not refuse
        these inputs: it answers wrongly. The verdict is about the other sets of shapes, the exit code is 1.""",
        """An output size that is right for even sizes only, or a size that is hard-coded.""",
        """
        out = torch.empty(n, c, h // 2, w // 2)   # of a pooling with padding: (h + 1) // 2
        """,
        """Mend the size; where the port is meant for the given shapes alone, let it refuse others or use
        --shapes given.""",
    ),
    Entry(
        "migration",
        "what the matrix units of two devices change in bits",
        """With --target-b: A as the matrix unit of --target evaluates it, against B as that of --target-b does, by
        output: how many elements differ in bits and the largest distance in ulp, on the given inputs and on the most
        telling of some derived ones. The verdict and the exit code are about the programs and do not change.""",
        """Inside one instruction each generation of a matrix unit aligns, cuts and rounds in its own way. Which way is
        measured by others, or assumed: docs/matrix-units.md has the table.""",
        """
        irverify compare a.py a.py --input 'bf16[64,64]' --input 'bf16[64,64]' --target sm_80 --target-b sm_90
        """,
        """Nothing where the distance is within what the use allows. Bits that must survive a move need sums whose order
        and roundings the source fixes.""",
    ),
    Entry(
        "constants-identified",
        "two constants were taken to be the same number in different precision",
        """A constant on one side is the other side's constant rounded to a shorter format, or both are forms of one
        closed expression, such as 1.44269504 and log2(e). Each identification is listed as an assumption.""",
        """Kernels write log2(e) as eight digits; as real numbers the two are different functions.""",
        """
        a.py  x * 1.44269504
        b.py  x / math.log(2)
        """,
        """Check that the two are meant to be the same number.""",
    ),
    Entry(
        "random-streams-differ",
        "the two draw random numbers in ways that cannot be matched",
        """Both use random numbers, but from different generators, seeds, offsets or kernels of a library, in another
        order or number, or only one does. Where the words are not equal all the same, the verdict is `undecided`.
        Draws correspond where both sides take the same number of elements of one dtype from the same generator of
        torch in the same order (then the report assumes that both begin in one state), or where both compute them
        (Philox in Triton, threefry in JAX) from equal keys and counters.""",
        """Equality of distributions is not something that this tool decides.""",
        """
        a.py  tl.rand(seed, offs)
        b.py  torch.rand_like(x)
        """,
        """Pass the mask in as an argument on both sides.""",
    ),
    Entry(
        "int32-overflow",
        "an offset exceeds 31 bits and wraps",
        """At the shapes that were run, an addition or a product in 32 bits gives more than 2**31 - 1, or less than
        -2**31, and what is left of it goes on into an address. The message names the number.""",
        """Wrapped offsets may stay inside mapped memory: wrong numbers and no error. Where they do not, there is a
        finding `out-of-bounds` as well.""",
        """
        offs = row * stride + cols                        # int32; wraps at row * stride = 2**31
        """,
        """Widen one factor: row.to(tl.int64) * stride.""",
    ),
)
