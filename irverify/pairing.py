"""Makes two captured programs comparable by position: inputs under A's names, outputs in one order (A's).

Takes two Programs; changes them in place.  An argument that only one side writes to is an output of both: on the
other side it keeps the value it came with.
"""

from __future__ import annotations

from collections.abc import Sequence

from irverify.containers import contents, held_before, is_held, rename_containers
from lowering.capture.output_names import has_key
from lowering.errors import UsageError
from lowering.ir.builder import Builder
from lowering.ir.program import Program, Value

WRITTEN = "written:"
WIDER = {"i32": "i64", "u32": "u64"}
GRADIENT = "grad:"
Outputs = list[tuple[str, Value]]


def pair_programs(
    a: Program, b: Program, files: tuple[str, str], functional: tuple[bool, bool] = (False, False)
) -> list[str]:
    """Renames B's inputs and aligns the outputs; gives notes on outputs that could not be compared.

    ``functional``: a side that cannot write to its arguments (jax).  An update in place that is also returned is
    compared with what such a side returns, and not a second time with the argument it had to leave alone.
    """
    if functional[0] != functional[1]:
        _drop_returned_writes(b if functional[0] else a)
    renamed = pair_names(a.input_names, b.input_names)
    b.input_names = [renamed[name] for name in b.input_names]
    rename_containers(a, b, renamed)
    b.outputs = [(_renamed_output(name, renamed), value) for name, value in b.outputs]
    returned_a, returned_b = _returned(a), _returned(b)
    _check_gradients(returned_a, returned_b, files)
    if len(returned_a) != len(returned_b):
        if len(a.outputs) != len(b.outputs):
            raise UsageError(_different_numbers(a, b, files))
        return []  # one side returns what the other writes into an argument
    returned_b, notes = _in_order(returned_a, returned_b, files)
    if functional[0] != functional[1]:
        jax_side, results, others = (a, returned_a, returned_b) if functional[0] else (b, returned_b, returned_a)
        notes += _widen(jax_side, results, others)
    written = list(dict.fromkeys(name for program in (a, b) for name in _written(program)))
    set_by_a = frozenset(_written(a))
    known = [name for name in written if _has(a, name) and _has(b, name) and _comparable(a, b, name)]
    for program, returned in ((a, returned_a), (b, returned_b)):
        program.outputs = returned + [(name, _value_of(program, name)) for name in known]
    left = [name for name in written if name not in known and not (is_held(a, name) and is_held(b, name))]
    return [*notes, *(_left_out(name, a, files, name in set_by_a) for name in left)]


def align_written(a: Program, b: Program) -> bool:
    """Two captures of one function: arguments that only one of them writes to become outputs of both.

    Whether they have the same outputs then, by name and type.
    """
    names = [name for name in dict.fromkeys([*_written(a), *_written(b)]) if _has(a, name) and _has(b, name)]
    for program in (a, b):
        program.outputs = _returned(program) + [(name, _value_of(program, name)) for name in names]
    types = [[(name, value.type) for name, value in program.outputs] for program in (a, b)]
    return types[0] == types[1]


def _widen(program: Program, results: Outputs, others: Outputs) -> list[str]:
    """Results of jax as the 64-bit integers of the other side: without x64 jax has none, whatever the code asks for."""
    widened = []
    builder = Builder()
    builder.block = program.body
    for i, ((name, value), (_, other)) in enumerate(zip(results, others)):
        wide = WIDER.get(value.type.dtype.name)
        if wide is not None and other.type.dtype.name == wide:
            results[i] = (name, builder.cast(value, wide))
            widened.append(name)
    if not widened:
        return []
    return [f"jax has no 64-bit integers unless jax_enable_x64 is set: {', '.join(widened)} compared as such"]


def _check_gradients(returned_a: Outputs, returned_b: Outputs, files: tuple[str, str]) -> None:
    """A gradient that one side does not give has nothing to be compared with."""
    gradients = [
        [name.removeprefix(GRADIENT) for name, _ in r if name.startswith(GRADIENT)] for r in (returned_a, returned_b)
    ]
    for these, others, side, other in ((*gradients, *files), (*reversed(gradients), *reversed(files))):
        missing = ", ".join(name for name in these if name not in others)
        if missing:
            raise UsageError(
                f"{other} gives no gradient for {missing}, {side} does: a backward() that returns None for an input, "
                "detach(), or a kernel outside of an autograd.Function stops it. "
                "Return the gradient on both sides or on none"
            )


def _in_order(returned_a: Outputs, returned_b: Outputs, files: tuple[str, str]) -> tuple[Outputs, list[str]]:
    """B's results in A's order: by name where both have the same names, else as they come, which is noted.

    Places have no names: where something else is None, they are not the same results.
    """
    names_a, names_b = [name for name, _ in returned_a], [name for name, _ in returned_b]
    if set(names_a) == set(names_b) and len(set(names_b)) == len(names_b):
        values = dict(returned_b)
        return [(name, values[name]) for name in names_a], []
    keyed = [all(has_key(name) for name in names) for names in (names_a, names_b)]
    if not any(has_key(name) for name in names_a + names_b):
        raise UsageError(
            "the two sides return None in other places, so their results do not correspond: "
            f"{files[0]} returns {_places(names_a)}, {files[1]} returns {_places(names_b)}. "
            "Return the same structure on both sides"
        )
    if len(names_a) < 2 and not all(keyed):
        return returned_b, []
    pairs = ", ".join(f"{x} with {y}" for x, y in zip(names_a, names_b))
    return returned_b, [f"the outputs have other names on the two sides and are compared by position: {pairs}"]


def _places(names: list[str]) -> str:
    """'(out0, None, out2)' for results whose places say so."""
    numbers = [int(name[3:]) for name in names if name[3:].isdecimal()]
    words = [f"out{n}" if n in numbers else "None" for n in range(max(numbers, default=-1) + 1)]
    return f"({', '.join(words)})"


def pair_names(names_a: Sequence[str], names_b: Sequence[str]) -> dict[str, str]:
    """B's input names as A's: the same name where both have it, the rest in order of position."""
    only_a = [name for name in names_a if name not in names_b]
    only_b = [name for name in names_b if name not in names_a]
    paired = dict(zip(only_b, only_a))
    return {name: paired.get(name, name) for name in names_b}


def _drop_returned_writes(program: Program) -> None:
    returned = {id(value) for _, value in _returned(program)}
    program.outputs = [(n, v) for n, v in program.outputs if not (n.startswith(WRITTEN) and id(v) in returned)]


def _renamed_output(name: str, renamed: dict[str, str]) -> str:
    prefix, colon, argument = name.partition(":")
    return f"{prefix}:{renamed.get(argument, argument)}" if colon else name


def _returned(program: Program) -> Outputs:
    return [(name, value) for name, value in program.outputs if not name.startswith(WRITTEN)]


def _written(program: Program) -> list[str]:
    return [name for name, _ in program.outputs if name.startswith(WRITTEN)]


def _has(program: Program, name: str) -> bool:
    argument = name.removeprefix(WRITTEN)
    return name in _written(program) or argument in program.input_names or argument in contents(program)


def _comparable(a: Program, b: Program, name: str) -> bool:
    """Attributes of modules are the modules' own: those of one name and type are taken to be one result."""
    return not _is_attribute(name) or _value_of(a, name).type == _value_of(b, name).type


def _is_attribute(name: str) -> bool:
    return name.startswith(f"{WRITTEN}self.")


def _value_of(program: Program, name: str) -> Value:
    """What the argument holds at the end: what was written, else what it came with."""
    argument = name.removeprefix(WRITTEN)
    given = dict(zip(program.input_names, program.body.args))
    return dict(program.outputs).get(name) or given.get(argument) or held_before(program, argument)


def _left_out(name: str, a: Program, files: tuple[str, str], by_a: bool) -> str:
    argument = name.removeprefix(WRITTEN)
    other = files[1] if name.removeprefix(WRITTEN) in a.input_names else files[0]
    writer = files[0] if other == files[1] else files[1]
    if _is_attribute(name):
        setter = files[0] if by_a else files[1]
        return f"{setter} sets the attribute {argument}; the other side does not, or to another type: not compared"
    return f"{writer} writes to its argument {argument!r}, which {other} does not take; that was not compared"


def _different_numbers(a: Program, b: Program, files: tuple[str, str]) -> str:
    listing = "\n".join(
        f"    {file}: {len(program.outputs)}: {_in_words(program.outputs)}" for file, program in zip(files, (a, b))
    )
    return f"the two sides have different numbers of outputs, so they cannot be paired:\n{listing}"


def _in_words(outputs: Outputs) -> str:
    return ", ".join(f"{name} {value.type}" for name, value in outputs) or "none"
