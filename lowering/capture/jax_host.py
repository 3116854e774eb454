"""Traces a jax function to StableHLO without running it.

Takes a callable and its arguments; gives a JaxTrace.  The only module, with the Pallas patches beside it, that imports
jax; it does so when called.
"""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lowering.capture.jax_grid import ANY, TPU
from lowering.capture.jax_order import device_findings
from lowering.capture.jax_pallas import instrumented_pallas
from lowering.capture.jax_trace import ArraySpec, JaxTrace
from lowering.capture.output_names import output_name
from lowering.errors import Unsupported, UsageError


def capture_jax(
    fn: Callable[..., Any],
    args: Sequence[Any],
    *,
    kwargs: dict[str, Any] | None = None,
    names: Sequence[str] | None = None,
    backward: bool = False,
    device: str = "",
) -> JaxTrace:
    """Traces ``fn(*args, **kwargs)``.

    Arrays (numpy; bf16 and fp8 as ml_dtypes), also inside lists, tuples and dicts, are inputs; everything else is
    passed as it is.  ``backward`` traces the vector-Jacobian product too: inputs 'cotangent:out0'..., and after the
    results the outputs 'grad:NAME' of every float input.  A ``device`` 'tpu_...' is that of Pallas kernels that name
    none.
    """
    jax = _jax()
    flat = _Arguments(fn, list(args), dict(kwargs or {}), names)
    notes: list[str] = []
    with instrumented_pallas(notes):
        host = flat.host(fn)
        inputs, target, outputs = _forward(flat, host) if not backward else _backward(flat, host)
        traced = jax.jit(target, keep_unused=True).trace(*(a for _, a in inputs))
        lowered = _lower(traced, notes)
    trace = _trace(jax, lowered, inputs, outputs, notes)
    trace.findings = device_findings(traced.jaxpr, TPU if device.startswith("tpu") else ANY)
    trace.notes += [str(finding) for finding in trace.findings] + _donated(traced.jaxpr.jaxpr, [n for n, _ in inputs])
    return trace


def _donated(jaxpr: Any, names: Sequence[str]) -> list[str]:
    """A note on the arguments that the function's own jit gives away: here its call is part of a larger one."""
    known = dict(zip(map(id, jaxpr.invars), names, strict=True))
    flags = [(id(v), flag) for eqn in jaxpr.eqns for v, flag in zip(eqn.invars, eqn.params.get("donated_invars", ()))]
    given = [known[place] for place, flag in flags if flag and place in known]
    return [f"donates {', '.join(dict.fromkeys(given))}: a caller cannot use it after the call"] if given else []


def _jax() -> Any:
    try:
        import jax
    except ImportError as error:
        raise UsageError("this subject is written for jax: pip install 'jax>=0.10,<0.11'") from error
    return jax


Named = list[tuple[str, Any]]
Traced = tuple[Named, Callable[..., Any], Callable[[Any], list[str]]]


class _Arguments:
    """Arguments taken apart into named arrays, and put together again."""

    def __init__(
        self, fn: Callable[..., Any], args: list[Any], kwargs: dict[str, Any], names: Sequence[str] | None
    ) -> None:
        import jax

        given = dict(zip(_parameter_names(fn, len(args), names), args, strict=True)) | kwargs
        self.count, self.keywords = len(args), list(kwargs)
        self.leaves, self.tree = jax.tree_util.tree_flatten(list(given.values()))
        paths = [_join(list(given), path) for path, _ in jax.tree_util.tree_leaves_with_path(list(given.values()))]
        self.places = [i for i, leaf in enumerate(self.leaves) if isinstance(leaf, np.ndarray)]
        self.arrays: Named = [(paths[i], self.leaves[i]) for i in self.places]

    def host(self, fn: Callable[..., Any]) -> Callable[..., Any]:
        """``fn`` as a function of the arrays alone."""
        import jax

        def host(*arrays: Any) -> Any:
            leaves = list(self.leaves)
            for i, array in zip(self.places, arrays, strict=True):
                leaves[i] = array
            values = jax.tree_util.tree_unflatten(self.tree, leaves)
            return fn(*values[: self.count], **dict(zip(self.keywords, values[self.count :], strict=True)))

        host.__name__ = getattr(fn, "__name__", "host")
        return host


def _parameter_names(fn: Callable[..., Any], count: int, names: Sequence[str] | None) -> list[str]:
    """The caller's names, else the parameters' (a *args parameter gives args0, args1, ...)."""
    if names is not None:
        return list(names)
    try:
        parameters = list(inspect.signature(fn).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    plain = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)][:count]
    star = next((p.name for p in parameters if p.kind is p.VAR_POSITIONAL), "arg")
    return [*plain, *(f"{star}{i}" for i in range(count - len(plain)))]


def _join(roots: list[str], path: Sequence[Any]) -> str:
    """A pytree path as text: weights.layers.0.bias."""
    first, *rest = (getattr(k, "key", getattr(k, "idx", getattr(k, "name", k))) for k in path)
    return ".".join([roots[int(first)], *map(str, rest)])


def _forward(flat: _Arguments, host: Callable[..., Any]) -> Traced:
    return flat.arrays, host, _output_names


def _output_names(out: Any) -> list[str]:
    """Names of the leaves in pytree order (output_names); None keeps its place."""
    import jax

    leaves = jax.tree_util.tree_leaves_with_path(out, is_leaf=lambda x: x is None)
    named = ((output_name(i, [_key(k) for k in path]), leaf) for i, (path, leaf) in enumerate(leaves))
    return [name for name, leaf in named if leaf is not None]


def _key(entry: Any) -> str | int:
    """What a path entry holds: a place in a sequence, or a word."""
    import jax

    if isinstance(entry, jax.tree_util.SequenceKey):
        return entry.idx
    return str(getattr(entry, "key", getattr(entry, "name", entry)))


def _backward(flat: _Arguments, host: Callable[..., Any]) -> Traced:
    import jax

    chosen = [i for i, (_, a) in enumerate(flat.arrays) if _is_float(a.dtype)]
    if not chosen:
        raise UsageError("--backward needs a float input; none of the arrays is one")
    out = jax.eval_shape(host, *(a for _, a in flat.arrays))
    shapes, tree = jax.tree_util.tree_flatten(out)
    named = zip(_output_names(out), shapes, strict=True)
    seeds = [(f"cotangent:{name}", np.zeros(s.shape, s.dtype)) for name, s in named if _is_float(s.dtype)]
    n = len(flat.arrays)

    def gradients(*values: Any) -> Any:
        arrays = list(values[:n])
        floats = [arrays[i] for i in chosen]
        result, pullback = jax.vjp(lambda *floats: host(*_replaced(arrays, chosen, floats)), *floats)
        return result, pullback(jax.tree_util.tree_unflatten(tree, _cotangents(shapes, list(values[n:]))))

    names = [f"grad:{flat.arrays[i][0]}" for i in chosen]
    return [*flat.arrays, *seeds], gradients, lambda out: [*_output_names(out[0]), *names]


def _is_float(dtype: Any) -> bool:
    import jax

    return bool(jax.numpy.issubdtype(dtype, jax.numpy.floating))


def _replaced(arrays: list[Any], chosen: list[int], values: Sequence[Any]) -> list[Any]:
    full = list(arrays)
    for i, value in zip(chosen, values, strict=True):
        full[i] = value
    return full


def _cotangents(shapes: list[Any], given: list[Any]) -> list[Any]:
    """One per output; an integer output has the zero cotangent of dtype float0."""
    import jax

    return [given.pop(0) if _is_float(s.dtype) else np.zeros(s.shape, jax.dtypes.float0) for s in shapes]


def _lower(traced: Any, notes: list[str]) -> Any:
    try:
        return traced.lower(lowering_platforms=("cpu",))
    except NotImplementedError as error:
        raise Unsupported(f"jax itself: {error}", hint="jax cannot lower this for the CPU") from error
    except ValueError as error:
        if "not supported by dot_general on CPU" not in str(error):
            raise
        notes.append("lowered for CUDA, because jax refuses this dot precision on the CPU")
        return traced.lower(lowering_platforms=("cuda",))


def _trace(jax: Any, lowered: Any, inputs: Named, outputs: Callable[[Any], list[str]], notes: list[str]) -> JaxTrace:
    options = {
        "jax": jax.__version__,
        "default_matmul_precision": str(jax.config.jax_default_matmul_precision),
        "x64": bool(jax.config.jax_enable_x64),
    }
    leaves = jax.tree_util.tree_leaves(lowered.out_info)
    out = [
        ArraySpec(name, str(s.dtype), tuple(s.shape)) for name, s in zip(outputs(lowered.out_info), leaves, strict=True)
    ]
    given = [ArraySpec(name, str(a.dtype), tuple(a.shape)) for name, a in inputs]
    bare = lowered.as_text(debug_info=False) + json.dumps(options, sort_keys=True)
    key = hashlib.sha256(bare.encode()).hexdigest()[:16]
    return JaxTrace(lowered.as_text(debug_info=True), given, out, key, options, notes)


def shapes_made(make: Callable[[], Any]) -> list[tuple[int, ...]]:
    """The shapes of all arrays in what ``make`` gives, which is traced, not run; [] where it makes them with numpy."""
    import jax

    try:
        made = jax.eval_shape(make)
    except Exception:  # the user's code needs data; it is run for good where that shows
        return []
    return [tuple(leaf.shape) for leaf in jax.tree.leaves(made)]
