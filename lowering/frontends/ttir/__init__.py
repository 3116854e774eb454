"""Takes the TTIR text of one Triton kernel, gives its KIR Function.  Cheap to import: MLIR loads on first use."""

from __future__ import annotations

from typing import Any

from lowering.ir.program import Function


def lower_kernel(ttir: str, *, name: str, options: dict[str, Any], key: str) -> Function:
    """The KIR of the kernel in ``ttir``, one parameter per parameter of its ``tt.func``.

    ``options`` are the compile options of the launch; ``key`` a digest of source IR and options.  Raises Unsupported,
    with the user's source line, for whatever is not modelled.
    """
    from lowering.frontends.ttir.kernel import lower

    return lower(ttir, name=name, options=options, key=key)
