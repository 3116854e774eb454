"""Tokens of the project's text forms (KIR, NKI traces): strings, %values, numbers, words and marks.

Takes text; gives one token at a time with one of look-ahead.  Raises UsageError with line and column.
"""

from __future__ import annotations

import json
import re

from lowering.errors import UsageError

_TOKEN = re.compile(
    r"""\s*(?: (?P<string>"(?:[^"\\]|\\.)*")
             | (?P<value>%[\w.]+)
             | (?P<number>-?(?:inf|nan)\b(?!\s*=)|-?\d[\d.]*(?:e[+-]?\d+)?)
             | (?P<word>[A-Za-z_]\w*)
             | (?P<mark>[(){}\[\]<>,:=@^+/\#]) )""",
    re.VERBOSE,
)


class Tokens:
    """One pass over the text with one token of look-ahead; ``what`` names the kind of text in messages."""

    def __init__(self, text: str, what: str) -> None:
        self.text, self.what, self.at = text, what, 0
        self.kind, self.token = "", ""
        self.advance()

    def advance(self) -> str:
        taken = self.token
        match = _TOKEN.match(self.text, self.at)
        if match is None:
            if self.text[self.at :].strip():
                self.fail("unexpected character")
            self.kind, self.token = "end", ""
            return taken
        self.kind, self.token = match.lastgroup or "", match[match.lastgroup or 0]
        self.at = match.end()
        return taken

    def fail(self, message: str) -> None:
        line = self.text.count("\n", 0, self.at) + 1
        column = self.at - self.text.rfind("\n", 0, self.at)
        raise UsageError(f"{self.what} text, line {line}, column {column}: {message} (at {self.token!r})")

    def take(self, token: str) -> bool:
        if self.token != token or self.kind == "string":
            return False
        self.advance()
        return True

    def expect(self, token: str) -> None:
        if not self.take(token):
            self.fail(f"expected {token!r}")

    def expect_kind(self, kind: str) -> str:
        if self.kind != kind:
            self.fail(f"expected a {kind}")
        return self.advance()

    def string(self) -> str:
        """A string as JSON writes it."""
        text = self.expect_kind("string")
        try:
            return json.loads(text, strict=False)
        except ValueError:
            self.fail(f"no string: {text}")
            raise

    def number(self) -> int | float:
        """A number with a point, an exponent, inf or nan is a float."""
        text = self.expect_kind("number")
        try:
            return float(text) if any(c in text for c in ".enai") else int(text)
        except ValueError:
            self.fail(f"no number: {text}")
            raise
