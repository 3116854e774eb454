"""Text -> NkiTrace: the inverse of text.py.  Raises UsageError with line and column for text that is no trace."""

from __future__ import annotations

import base64
import zlib
from typing import Any

import numpy as np

from lowering.capture.nki.dtypes import HELD
from lowering.capture.nki.text import dense
from lowering.capture.nki.trace import ENGINES, Indirect, Instr, Loop, NkiStorage, NkiTrace
from lowering.capture.trace import TensorRef
from lowering.errors import UNKNOWN_SPAN, Span
from lowering.tokens import Tokens

_WORDS = {"true": True, "false": False, "null": None}


def parse_trace(text: str) -> NkiTrace:
    """The trace that ``text`` says."""
    return _Parser(text).trace()


class _Parser:
    def __init__(self, text: str) -> None:
        self.t = Tokens(text, "NKI trace")
        self.files: dict[int, str] = {}
        self.storages: dict[int, NkiStorage] = {}

    # -- lines ---------------------------------------------------------------------------------------------------

    def trace(self) -> NkiTrace:
        self.t.expect("nki")
        made = NkiTrace(self.t.string(), **self.known("generation", "target", "version", "checks_shapes"))
        made.storages = self.storages
        while self.t.take("file"):
            number = self.whole()
            self.files[number] = self.t.string()
        while self.t.take("note"):
            made.notes.append(self.t.string())
        while self.t.take("assumed"):
            made.assumed[self.t.string()] = None
        while self.t.take("storage"):
            self.storage()
        while self.t.take("input"):
            made.inputs.append((self.t.string(), self.tensor()))
        while self.t.kind != "end" and self.t.token != "output":
            made.instrs.append(self.instr())
        while self.t.take("output"):
            made.outputs.append((self.t.string(), self.tensor()))
        if self.t.kind != "end":
            self.t.fail("expected an output or the end")
        return made

    def storage(self) -> None:
        number = self.reference(defined=False)
        space, dtype = self.t.expect_kind("word"), self.dtype()
        shape = self.shape()
        attrs = self.known("origin", "name", "blocks", "core", "pinned", "pins", "data", least=("origin",))
        made = NkiStorage(number, space, dtype, shape, **attrs)
        made.span = self.span()
        self.storages[number] = made

    def instr(self) -> Instr:
        dst: list[Any] = []
        while self.t.kind == "value" or self.t.token == "indirect":
            dst.append(self.view())
            if not self.t.take(","):
                break
        if dst:
            self.t.expect("=")
        op = self.t.expect_kind("word")
        src: list[Any] = []
        while not (self.t.kind == "mark" and self.t.token == "{"):
            src.append(self.literal())
            if not self.t.take(","):
                break
        attrs = self.attrs()
        engine = self.engine() if self.t.take("on") else ""
        mask = self.mask() if self.t.take("mask") else None
        core = self.whole() if self.t.take("core") else 0
        span = self.span()
        return Instr(op, tuple(dst), tuple(src), attrs, engine, mask, span, self.loops(), core)

    def engine(self) -> str:
        word = self.t.expect_kind("word")
        if word not in ENGINES:
            self.t.fail(f"no engine {word!r}")
        return word

    def mask(self) -> np.ndarray:
        value = self.literal()
        if not isinstance(value, np.ndarray) or value.dtype != bool:
            self.t.fail("a mask is an array of bool")
        return value

    def loops(self) -> tuple[Loop, ...]:
        made: list[Loop] = []
        if not self.t.take("in"):
            return ()
        while True:
            kind = self.t.expect_kind("word")
            self.t.expect("#")
            number = self.whole()
            self.t.expect("=")
            made.append(Loop(kind, number, self.whole()))
            if not self.t.take(","):
                return tuple(made)

    def span(self) -> Span:
        if not self.t.take("@"):
            return UNKNOWN_SPAN
        number = self.whole()
        if number not in self.files:
            self.t.fail(f"no file {number}")
        self.t.expect(":")
        line = self.whole()
        self.t.expect(":")
        column = self.whole()
        return Span(self.files[number], line, column, self.t.string() if self.t.take(":") else "")

    # -- values --------------------------------------------------------------------------------------------------

    def known(self, *names: str, least: tuple[str, ...] | None = None) -> dict[str, Any]:
        """Attributes of these names; those in ``least`` (all of them) have to be there."""
        attrs = self.attrs()
        unknown, missing = set(attrs) - set(names), set(names if least is None else least) - set(attrs)
        if unknown or missing:
            self.t.fail(f"unknown attributes {sorted(unknown)}, missing {sorted(missing)}")
        return attrs

    def attrs(self) -> dict[str, Any]:
        attrs: dict[str, Any] = {}
        self.t.expect("{")
        while not self.t.take("}"):
            key = self.t.expect_kind("word")
            self.t.expect("=")
            attrs[key] = self.literal()
            self.t.take(",")
        return attrs

    def literal(self) -> Any:
        if self.t.kind == "value" or (self.t.kind == "word" and self.t.token == "indirect"):
            return self.view()
        if self.t.kind == "string":
            return self.t.string()
        if self.t.kind == "number":
            return self.t.number()
        if self.t.take("("):
            return tuple(self.items(")"))
        if self.t.take("["):
            return self.items("]")
        if self.t.take("{"):
            return self.table()
        word = self.t.expect_kind("word")
        if word in ("box", "array"):
            return self.array(word)
        if word in ("inf", "nan"):
            return float(word)
        if word not in _WORDS:
            self.t.fail(f"no literal {word!r}")
        return _WORDS[word]

    def items(self, end: str) -> list[Any]:
        made: list[Any] = []
        while not self.t.take(end):
            made.append(self.literal())
            self.t.take(",")
        return made

    def table(self) -> dict[str, Any]:
        made: dict[str, Any] = {}
        while not self.t.take("}"):
            key = self.t.string()
            self.t.expect(":")
            made[key] = self.literal()
            self.t.take(",")
        return made

    def view(self) -> TensorRef | Indirect:
        if not self.t.take("indirect"):
            return self.tensor()
        self.t.expect("(")
        base = self.tensor()
        self.t.expect(",")
        index = self.tensor()
        self.t.expect(",")
        dim = self.whole()
        self.t.expect(",")
        kind = self.t.string()
        self.t.expect(",")
        step = self.whole()
        self.t.expect(")")
        return Indirect(base, index, dim, kind, step)

    def tensor(self) -> TensorRef:
        storage = self.reference(defined=True)
        self.t.expect(":")
        dtype, shape = self.dtype(), self.shape()
        strides = dense(shape)
        if self.t.take("/"):
            strides = self.numbers("(", ")")
            if len(strides) != len(shape):
                self.t.fail(f"{len(strides)} strides of {len(shape)} dimensions")
        return TensorRef(storage, dtype, shape, strides, self.whole() if self.t.take("+") else 0)

    def reference(self, defined: bool) -> int:
        text = self.t.expect_kind("value")[1:]
        if not text.isdecimal():
            self.t.fail(f"%{text} is no storage")
        if (int(text) in self.storages) is not defined:
            self.t.fail(f"%{text} is {'not defined' if defined else 'defined twice'}")
        return int(text)

    def dtype(self) -> str:
        name = self.t.expect_kind("word")
        if name not in HELD:
            self.t.fail(f"no dtype {name!r}")
        return name

    def shape(self) -> tuple[int, ...]:
        return self.numbers("[", "]")

    def numbers(self, left: str, right: str) -> tuple[int, ...]:
        self.t.expect(left)
        made: list[int] = []
        while not self.t.take(right):
            made.append(self.whole())
            self.t.take(",")
        return tuple(made)

    def whole(self) -> int:
        value = self.t.number()
        if not isinstance(value, int):
            self.t.fail(f"{value} is no whole number")
        return int(value)

    def array(self, word: str) -> np.ndarray:
        self.t.expect("<")
        name = self.t.expect_kind("word")
        dtype = np.dtype(HELD.get(name, name)) if name in (*HELD, "bool") else None
        if dtype is None:
            self.t.fail(f"no dtype {name!r}")
        shape = self.shape()
        made = self.box(shape) if word == "box" else self.packed(np.dtype(dtype), shape)
        self.t.expect(">")
        return made

    def box(self, shape: tuple[int, ...]) -> np.ndarray:
        made = np.zeros(shape, bool)
        bounds = self.literal()
        if not isinstance(bounds, tuple) or len(bounds) != len(shape):
            self.t.fail(f"a box in {len(shape)} dimensions has as many bounds")
        made[tuple(slice(*pair) for pair in bounds)] = True
        return made

    def packed(self, dtype: np.dtype, shape: tuple[int, ...]) -> np.ndarray:
        count = int(np.prod(shape))
        try:
            raw = zlib.decompress(base64.b64decode(self.t.string(), validate=True))
            if dtype.kind != "b":
                return np.frombuffer(raw, dtype).reshape(shape).copy()
            if len(raw) != -(-count // 8):
                raise ValueError(f"{len(raw)} bytes for {count} bits")
            return np.unpackbits(np.frombuffer(raw, np.uint8), count=count).astype(bool).reshape(shape)
        except (ValueError, zlib.error) as error:
            self.t.fail(f"no data of an array: {error}")
            raise
