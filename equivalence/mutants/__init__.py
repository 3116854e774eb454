"""Wrong kernels made from right ones: small edits of KIR programs, by operator.  `draw` makes Mutants of a Program."""
