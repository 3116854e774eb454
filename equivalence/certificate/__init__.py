"""Proofs of `real` at one shape: both sides' expression graphs brought to one canonical form, element by element.

Gives certify and Certificate.  Must not know the judge.
"""

from equivalence.certificate.certify import Certificate, certify

__all__ = ["Certificate", "certify"]
