"""The kinds of error, explained.  Data only."""

from __future__ import annotations

from irverify.explain.entry import Entry

ENTRIES = (
    Entry(
        "usage",
        "something to fix in the command or in a file (exit 2)",
        """The message says what was given, where, and what to write instead. A file that does not exist, a syntax
        error, a kernel that raises, inputs that do not fit and a framework that is not installed are all of this
        kind.""",
        """Nothing was compared, so there is no verdict: scripts must be able to tell this from `different`.""",
        """
        irverify: error: a.py: 3 functions could be meant; name one: a.py:softmax or --entry-a NAME
        """,
        """Do what the message says. With --json the document holds the message under `error`.""",
    ),
    Entry(
        "kernel-raised",
        "the user's code raised an exception while it was run (exit 2)",
        """The entry was called with the inputs of the report and raised. The lines shown are those of the file itself;
        lines of frameworks and of irverify are left out.""",
        """Capture runs the host function once; an exception there is the same one that a real call would raise.""",
        """
        irverify: error: a.py: the kernel raised ValueError: shapes do not match
            a.py:12 in matmul
                raise ValueError("shapes do not match")
        """,
        """Check the shapes and types given with --input. --debug shows every line.""",
    ),
    Entry(
        "timeout",
        "a file or the judging did not end within --timeout (exit 3)",
        """The child process was ended after the limit, with everything it had started.""",
        """A kernel that never ends and one that is slow look alike from outside.""",
        """
        undecided: a.py: running its entry did not end within 120 s
        """,
        """Use smaller inputs, or raise --timeout.""",
    ),
    Entry(
        "out-of-memory",
        "running a file needed more than --memory (exit 3)",
        """The limit is on address space, which frameworks reserve generously.""",
        """The limit protects the machine from a file that allocates without end.""",
        """
        undecided: a.py: ran out of memory while it was captured
        """,
        """Use smaller inputs, or raise --memory.""",
    ),
    Entry(
        "crashed",
        "running a file ended the child process by a signal (exit 2)",
        """The process died (a segmentation fault, an abort) or called exit by itself. The last lines it printed are
        shown.""",
        """The file runs in a process of its own, so its crash is a message here and not the end of the tool.""",
        """
        irverify: error: a.py: the file did not run to its end: it crashed with SIGSEGV
        """,
        """Run the file by itself. If it works there, please report it with the file.""",
    ),
    Entry(
        "internal",
        "a contradiction inside irverify (exit 4)",
        """This is a bug of irverify, never of the compared files. No verdict is given.""",
        """A check of the tool on itself failed; saying anything about the pair would be a guess.""",
        """
        irverify: internal error: KeyError at judge.py:88: ...
        """,
        """Please report it with the two files and the output of irverify doctor. --debug shows where.""",
    ),
)
