"""How two workers and their parent pass values: files in a private directory, renamed into place.

Takes a directory; gives publish and wait.  Nothing here is pickled, so nothing a subject writes can run in the parent.
Arrays are files of bytes, mapped where a child reads them; an array that is there already is named, not written again.
"""

from __future__ import annotations

import json
import os
import re
import stat
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from irverify.values import decode, encode
from lowering.errors import UsageError

POLL_SECONDS = 0.01
SHARED_FROM = 1 << 16  # bytes of an array below which looking for an equal one is not worth it
_FILE = re.compile(r"[A-Za-z0-9_][\w.]*\.bin")


@dataclass(frozen=True, slots=True)
class Exchange:
    """A directory of named values.  A value is there completely or not at all."""

    directory: Path
    mapped: bool = True  # whether arrays stay in their files; the parent keeps what it has read, whatever a child does
    _known: dict[int, list[tuple[str, np.ndarray]]] = field(default_factory=dict, repr=False, compare=False)

    def publish(self, name: str, value: Any) -> None:
        arrays: dict[str, np.ndarray] = {}
        tree = encode(value, arrays, name)
        files = {key: self._stored(f"{name}.{key}.bin", data) for key, data in arrays.items()}
        document = json.dumps({"files": files, "value": tree}).encode()
        self._write(f"{name}.json", document)  # last: its presence says that the value is complete

    def _stored(self, file: str, data: np.ndarray) -> str:
        """The file that holds these bytes: one that is known to, or a new one."""
        known = self._known.setdefault(data.nbytes, [])
        if data.nbytes >= SHARED_FROM:
            for name, other in known:
                if np.array_equal(data, other):
                    return name
        self._write(file, memoryview(data))  # pyright: ignore[reportArgumentType] (numpy arrays are buffers)
        if data.nbytes >= SHARED_FROM:
            known.append((file, self._mapped(file)))
        return file

    def _mapped(self, file: str) -> np.ndarray:
        """The bytes of a file: writes to them stay in the reader's memory.  Raises UsageError."""
        if not _FILE.fullmatch(file):
            raise UsageError(f"the exchange names the file {file!r}, which is none of its own")
        with open(os.open(self.directory / file, os.O_RDONLY | os.O_NOFOLLOW), "rb") as opened:
            status = os.fstat(opened.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise UsageError(f"the exchange's {file} is no file")
            if not status.st_size or not self.mapped:
                return np.fromfile(opened, np.uint8)
            return np.memmap(opened, np.uint8, mode="c")

    def publish_text(self, name: str, text: str) -> None:
        self._write(name, text.encode())

    def has(self, name: str) -> bool:
        return (self.directory / f"{name}.json").exists()

    def read(self, name: str) -> Any:
        document = json.loads((self.directory / f"{name}.json").read_bytes())
        arrays = {}
        for key, file in document["files"].items():
            arrays[key] = data = np.asarray(self._mapped(file))
            if data.nbytes >= SHARED_FROM and self.mapped:
                self._known.setdefault(data.nbytes, []).append((file, self._mapped(file)))
        return decode(document["value"], arrays)

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

    def _write(self, file: str, data: bytes | memoryview) -> None:
        temporary = self.directory / f".{file}.{os.getpid()}"
        temporary.write_bytes(data)
        temporary.replace(self.directory / file)
