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
)
