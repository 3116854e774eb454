"""The findings about what a host does around its kernels, explained.  Data only."""

from __future__ import annotations

from irverify.explain.entry import Entry

ENTRIES = (
    Entry(
        "autotune-repeats",
        "an autotuner's trial runs update an argument that nothing puts back",
        """A kernel under @triton.autotune with several configurations reads what it writes: it adds atomically to an
        argument, or loads and stores it, and the run in which it is launched once more gives something else. On a
        device the call that tunes runs the kernel many times before the run that counts. An error where one side
        alone does so (the exit code is 1), a warning where both do, or where that run could not be compared.""",
        """The first result is wrong, the later ones are right, and a test that calls the function once before it looks
        never shows it. The verdict speaks of a call that finds its configuration chosen.""",
        """
        @triton.autotune(configs=[Config({"BLOCK": 64}), Config({"BLOCK": 128})], key=["n"])
        ... tl.atomic_add(y_ptr + row, tl.sum(x, axis=0))
        """,
        """Name the argument: reset_to_zero=["y_ptr"] for sums that begin at 0, restore_value=["p_ptr"] for updates in
        place; or write to a tensor of its own.""",
    ),
    Entry(
        "unsynchronised-read",
        "the host reads a non_blocking copy without waiting for it",
        """A tensor is copied to the host with non_blocking=True and read there (item, tolist, numpy, or an operation on
        the CPU) with no synchronize of the stream, of an event after the copy, or of the device in between. An error
        where one side alone does so (the exit code is 1), a warning where both do.""",
        """Such a copy goes to pinned memory and returns before it has run. What the host finds there is what was there
        before, and whether that happens is a matter of time.""",
        """
        host = lengths.to("cpu", non_blocking=True)
        longest = max(host.tolist())
        """,
        """Leave out non_blocking, or call torch.cuda.current_stream().synchronize() before the read.""",
    ),
    Entry(
        "overlapping-memory",
        "an operation of torch writes memory that it also reads elsewhere, or writes one element twice",
        """An operation in place, or with out=, reads elements through one view and writes them through another one of
        the same memory, at other places; or its target has two elements at one address. An error where one side alone
        does so (the exit code is 1), a warning where both do. The verdict speaks of everything read before anything is
        written.""",
        """torch refuses such a call where it can tell cheaply (two dense views); otherwise its lanes run in any order
        on a GPU, and the result changes from run to run (pytorch issues 17746 and 91894).""",
        """
        cache[:, :-1] = cache[:, 1:]              # shifts by one, in place
        x -= x[:, :1]                             # column 0 may be 0 before the others are read
        """,
        """Copy what is read: cache[:, 1:].clone(), x - x[:, :1].""",
    ),
    Entry(
        "global-state",
        "a call leaves a setting of torch changed for all code that runs after it",
        """After the call (and its backward pass) grad mode, the default dtype or device, autocast, deterministic
        algorithms or the seed of torch's generators are others than before. An error where one side alone does so (the
        exit code is 1), a warning where both do.""",
        """Results of the call are right, and those of the code around it are not: nothing after it takes gradients, or
        every dropout mask of a training run is the same.""",
        """
        torch.set_grad_enabled(False)             # for `with torch.no_grad():`
        torch.manual_seed(0)                      # in forward()
        """,
        """Use the context manager, put the setting back in a finally clause, or pass a torch.Generator.""",
    ),
    Entry(
        "precision-left-changed",
        "a call leaves torch's switches for matrix products changed",
        """After the call allow_tf32, set_float32_matmul_precision or another switch for reduced precision is another
        than before. A warning: the call itself was compared under the switches that it sets.""",
        """All matrix products that the process computes afterwards round otherwise.""",
        """
        torch.backends.cuda.matmul.allow_tf32 = True      # in forward()
        """,
        """Set it once, where the program begins, or put it back.""",
    ),
    Entry(
        "result-device",
        "one side returns on the CPU what the other returns on the device of its arguments",
        """A result with one dimension or more is a tensor of the CPU, though the arguments are on cuda, and the other
        side's results are there too. The exit code is 1. Nothing is said where both sides do so, or where one of them
        is a JAX function.""",
        """The next operation with a tensor on cuda raises, or every call waits for a copy.""",
        """
        return out.cpu()
        """,
        """Return it where the arguments are.""",
    ),
    Entry(
        "attribute-missing",
        "A leaves a result in an attribute of its module, and B does not",
        """A's call sets a public attribute (no part of its name begins with an underscore) to a tensor that it has
        computed from its arguments; B's call does not, or sets it to another type. The exit code is 1. What B alone
        sets, and what follows from weights and shapes, is a line among the assumptions.""",
        """A trainer that adds model.router.aux_loss to its loss raises, or goes on with the value of long ago.""",
        """
        self.aux_loss = (share * load).sum()      # in A's forward(); B's leaves it out
        """,
        """Set it in B too; then it is compared. Where nobody reads it, begin its name with an underscore.""",
    ),
)
