"""How two workers and their parent pass values: files in a private directory, JSON beside npz, renamed into place.

Takes a directory; gives publish and wait.  Nothing here is pickled, so nothing a subject writes can run in the parent.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from irverify.values import decode, encode, pack, unpack

POLL_SECONDS = 0.01


@dataclass(frozen=True, slots=True)
class Exchange:
    """A directory of named values.  A value is there completely or not at all."""

    directory: Path

    def publish(self, name: str, value: Any) -> None:
        arrays: dict[str, Any] = {}
        tree = encode(value, arrays, name)
        if arrays:
            self._write(f"{name}.npz", pack(arrays))
        self._write(f"{name}.json", json.dumps(tree).encode())  # last: its presence says that the value is complete

    def publish_text(self, name: str, text: str) -> None:
        self._write(name, text.encode())

    def has(self, name: str) -> bool:
        return (self.directory / f"{name}.json").exists()

    def read(self, name: str) -> Any:
        tree = json.loads((self.directory / f"{name}.json").read_bytes())
        arrays = self.directory / f"{name}.npz"
        return decode(tree, unpack(arrays.read_bytes()) if arrays.exists() else {})

    def read_text(self, name: str) -> str:
        return (self.directory / name).read_text()

    def wait(self, *names: str, until: Callable[[], bool] = lambda: False) -> str | None:
        """The first of ``names`` that is there; None once ``until`` says that none will come (time is the parent's)."""
        while True:
            for name in names:
                if self.has(name):
                    return name
            if until():
                return None
            time.sleep(POLL_SECONDS)

    def _write(self, file: str, data: bytes) -> None:
        temporary = self.directory / f".{file}.{os.getpid()}"
        temporary.write_bytes(data)
        temporary.replace(self.directory / file)
