"""What lists and dicts among the arguments held before a call: numbers, by name, as a program's attributes say.

Takes Programs; gives names under which the two sides mean the same, and values for the side that leaves a container as
it was.  Tensors in containers are inputs; a length is called 'len(cache)', the keys of a dict 'keys(state)'.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping

from lowering.ir.builder import Builder
from lowering.ir.program import Program, Value
from lowering.ir.types import DTYPES

CONTENTS = "contents"  # of a program's attributes: 'i64 2 len(cache)'
_NAME = re.compile(r"(?:written:)?(?:(?P<what>len|keys)\()?(?P<root>[^.():]*)")


def contents(program: Program) -> dict[str, tuple[str, str]]:
    """Name -> (dtype, number as text)."""
    lines = [line.split(" ", 2) for line in program.attrs.get(CONTENTS, ())]
    return {name: (dtype, text) for dtype, text, name in lines}


def held_before(program: Program, name: str) -> Value:
    """The number of that name, as a constant of the program."""
    dtype, text = contents(program)[name]
    builder = Builder()
    builder.block = program.body
    number = ast.literal_eval(text) if dtype != "f64" else float(text)
    return builder.constant(number, DTYPES[dtype])


def is_held(program: Program, name: str) -> bool:
    """Whether 'written:cache.2' is in a container that is an argument: its length, or its keys, tell of it."""
    return root_of(name) in contents(program)


def rename_containers(a: Program, b: Program, renamed: dict[str, str]) -> None:
    """B's containers under A's names: the same name where both have it, else in order.  Adds to ``renamed``."""
    pairs = _pairs(list(contents(a)), list(contents(b)))
    names = [*contents(b), *(name.partition(":")[2] for name, _ in b.outputs if name.startswith("written:"))]
    renamed |= {name: _under(name, pairs) for name in names if root_of(name) in pairs and name not in renamed}
    if CONTENTS in b.attrs:
        own = contents(b)
        b.attrs = {**b.attrs, CONTENTS: [f"{d} {text} {renamed.get(name, name)}" for name, (d, text) in own.items()]}


def _pairs(names_a: list[str], names_b: list[str]) -> dict[str, str]:
    roots_a, roots_b = ([name for name in names if root_of(name) == name] for names in (names_a, names_b))
    only_a = [name for name in roots_a if name not in roots_b]
    only_b = [name for name in roots_b if name not in roots_a]
    return {name: name for name in roots_b if name in roots_a} | dict(zip(only_b, only_a))


def root_of(name: str) -> str:
    """'cache' for 'cache.2', 'len(cache)' and 'written:keys(cache.0)'."""
    found = _NAME.match(name)
    return found["root"] if found else name


def _under(name: str, pairs: Mapping[str, str]) -> str:
    """The name with its root exchanged."""
    found = _NAME.match(name)
    assert found is not None
    start, end = found.span("root")
    return f"{name[:start]}{pairs[found['root']]}{name[end:]}"
