"""Names of what a function returns, the same for every framework: 'out0' by place, 'out.loss' where a key says more.

Takes paths into a returned structure; gives names.  Must not import a framework.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

#: Keys of mappings and fields of records are words; places in tuples and lists are numbers.
Path = Sequence[str | int]


def output_name(index: int, path: Path) -> str:
    """The name of the leaf number ``index`` at ``path``: two sides that use the same keys mean the same by them."""
    if any(isinstance(key, str) for key in path):
        return ".".join(["out", *(re.sub(r"[^\w-]", "_", str(key)) for key in path)])
    return f"out{index}"


def has_key(name: str) -> bool:
    """Whether a name was made of keys."""
    return name.startswith("out.")
