"""The verdict words, explained.  Data only."""

from __future__ import annotations

from irverify.explain.entry import Entry

ENTRIES = (
    Entry(
        "bitwise",
        "bit for bit the same for every input of these shapes",
        """Both programs perform the same operations in the same order with the same roundings, and every one of them
        is fully specified by its source: IEEE arithmetic, casts, selects, integer code, or the same implementation of
        the same intrinsic.""",
        """The whole expression of every output element has the same 61-bit fingerprint on both sides. The only way
        to be wrong is a collision of fingerprints; docs/verdicts.md gives the number.""",
        """
        a.py  out = x + y                      (torch)
        b.py  tl.store(o, tl.load(x) + tl.load(y))
        """,
        """Nothing. If you expected less, look at the assumptions: shapes, aliasing, target.""",
    ),
    Entry(
        "reassociated",
        "the same terms with the same roundings, up to their order and what a source leaves open",
        """The two add, multiply or otherwise combine the same terms in the same formats, but in another order, or they
        differ only in freedoms that a source leaves open. Every freedom that was used is listed in the report.""",
        """A sum in one format is compared as a multiset of its terms; anything else (a cast, another format, a product)
        closes it. So a tree and a loop agree, a bf16 accumulator and an f32 one do not.""",
        """
        a.py  for k in range(0, K, 32): acc += tl.sum(x[k:k+32])
        b.py  acc = jnp.sum(x)
        """,
        """Look at the bounds: an order can cost accuracy. --require bitwise if the order itself matters to you.""",
    ),
    Entry(
        "real",
        "the same real-valued function; only rounding differs",
        """If all arithmetic were exact, both would give the same result; roundings, casts, accumulator precision or
        algebra differ. `certified`: shown by a canonical form of the expression. `evidence`: equal in a finite field at
        random points, which with exponentials is strong evidence and not a proof.""",
        """Flash attention and plain attention are the same function and share hardly an operation. What separates them
        is rounding, and the error bounds of the report say how much that can be.""",
        """
        a.py  x / x.sum()
        b.py  x * (1 / x.sum())
        """,
        """Compare the bounds with what you can accept (--tolerance). `where it differs` names the first rounding that
        is placed elsewhere.""",
    ),
    Entry(
        "close",
        "not the same real function; no input tried shows more than rounding explains",
        """The real functions are shown to differ, by the bound at least, and no input that was tried is a witness: on
        these the difference is below what rounding already does. That no input at all shows more is not proved.""",
        """rsqrt(x + 1e-12) and rsqrt(x + 1e-13) are different functions; in f32 that is invisible for usual x.""",
        """
        a.py  torch.rsqrt(var + 1e-12)
        b.py  torch.rsqrt(var + 1e-13)
        """,
        """Decide whether the two were meant to be the same. `where it differs` names the constant or operation. Accept
        it with --require close.""",
    ),
    Entry(
        "tested",
        "agree on every input tried; nothing is proved",
        """Both were evaluated on n inputs, chosen to find the mistakes that people really make, and agreed within
        rounding on all of them. Agreement on tests never gives more than this word.""",
        """Some part could not be compared symbolically, for instance integer inputs that are used as data.""",
        """
        a.py  x >> 1
        b.py  torch.div(x, 2, rounding_mode="trunc")      (agree on every non-negative x)
        """,
        """Read the reason: it names the operation. Declare integer ranges ('i64[128] in [0,50)'), or accept it with
        --require tested.""",
    ),
    Entry(
        "undecided",
        "nothing could be said, and why",
        """No proof was found and no witness either, or a limit was reached. The reason and the place are in the
        report. Exit code 3.""",
        """Saying less is better than guessing: a region of a branch that no input reached, an opaque operation, two
        random streams that differ, a time limit.""",
        """
        undecided(region: a.py:17)       no input made the clamp at line 17 act
        """,
        """Give inputs that reach the region (--input 'f32[64] in [-50,50)'), smaller shapes, or a larger --timeout.""",
    ),
    Entry(
        "unsupported",
        "a construct that is not modelled yet, and where it is",
        """The named construct at the named line cannot be lowered to the common IR. Nothing was guessed. Exit
        code 3.""",
        """Each operation needs a stated meaning before it may take part in a verdict.""",
        """
        unsupported: tt.make_tensor_descriptor at kernel.py:41
        """,
        """Read the hint. Compare the part around it, or write that line another way; a report with the line helps.""",
    ),
    Entry(
        "different",
        "not equivalent, with an input that shows it",
        """There is a witness: an input on which the two results are further apart than the rounding of both can
        explain, replayed by the evaluator and made small; or a structural fact such as another output type. Exit
        code 1.""",
        """A mismatch of fingerprints alone never says this: it needs numbers that anyone can check.""",
        """
        out[3]: A gives 0.25, B gives 0.2499; the bounds explain 1.2e-07
        """,
        """Look at `where they differ`; save the input with --save-witness DIR and run it in both frameworks.""",
    ),
)
