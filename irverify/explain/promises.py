"""What a program says of itself that is not so: promises to its compiler, and assertions in a kernel."""

from __future__ import annotations

from irverify.explain.entry import Entry

ENTRIES = (
    Entry(
        "false-promise",
        "what a kernel promises its compiler is not so",
        """tl.assume, or tl.multiple_of of a whole number, says something that is false in a program instance that was
        run. The compiler may use it: wide loads of what is not aligned, masks that are left out. An error where one
        side alone does so, a warning where both do; at other shapes than the given ones it is an unguarded-shape.
        Promises about tensors and about floats are listed, not checked.""",
        """A hint that was true of the shapes it was written for.""",
        """
        tl.assume(n % 16 == 0)                   # and n is 100
        """,
        """Remove the hint, or refuse such arguments in the host function.""",
    ),
    Entry(
        "assert-fails",
        "an assertion in a kernel fails",
        """A tl.device_assert is false in a lane that is not masked off. It stands in the program since the kernel is
        launched with debug=True, or TRITON_DEBUG is set; elsewhere Triton leaves it out. An error where one side alone
        has it.""",
        """An index out of range, or a sum of 32-bit integers that overflows, which debug=True looks for as well.""",
        """
        tl.device_assert(label < n_classes, "no such class", mask=mask)
        """,
        """Mend what the assertion found, or the assertion.""",
    ),
)
