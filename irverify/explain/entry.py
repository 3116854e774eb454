"""One explained code.  Takes its texts; gives the page that is printed."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass

WIDTH = 100


@dataclass(frozen=True, slots=True)
class Entry:
    """``example`` is shown as it is; the other texts are filled."""

    code: str
    summary: str
    meaning: str
    why: str
    example: str
    remedy: str

    def text(self) -> str:
        sections = [("What it means", self.meaning), ("Why", self.why), ("What to do", self.remedy)]
        filled = [f"{title}\n{_filled(body)}" for title, body in sections]
        filled.insert(2, f"Example\n{textwrap.indent(textwrap.dedent(self.example).strip(), '    ')}")
        return "\n\n".join([f"{self.code}: {self.summary}", *filled])


def _filled(body: str) -> str:
    return textwrap.fill(" ".join(body.split()), WIDTH, initial_indent="    ", subsequent_indent="    ")
