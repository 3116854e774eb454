"""A second evaluator of KIR, slow and plain, which shares no code with equivalence/: the judge of the judge."""

from tests.mutation.oracle.classify import Finding, Oracle

__all__ = ["Finding", "Oracle"]
