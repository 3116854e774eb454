"""NKI without the Neuron SDK: the `nki` and `neuronxcc.nki` namespaces as tracers of unmodified kernel files.

`trace.py` is what capture hands on; `tracer.py` collects it; `namespaces.py` puts the modules in place while the
user's file is imported and run.  The specification and its sources: docs/nki.md.
"""
