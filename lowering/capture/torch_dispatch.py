"""Below autograd: runs every ATen op on the inner CPU tensors, and has it recorded.

Takes dispatched ops from the modes and from VirtualTensor; gives virtual results.  Must not know about Triton or
about how a capture begins and ends.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch
from torch.utils._mode_utils import no_dispatch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_iter, tree_map

from lowering.capture import aten_policy as policy
from lowering.capture.aten_events import as_data, functional_form, references_in, written_tensors
from lowering.capture.draws import Streams
from lowering.capture.host_copies import HostCopies
from lowering.capture.host_tables import HostTables
from lowering.capture.recorder import Recorder
from lowering.capture.torch_overlaps import OVERLAP, overlap
from lowering.capture.torch_precision import flags_in_force, sentence
from lowering.capture.torch_streams import Clocks
from lowering.capture.torch_tables import DeviceTables
from lowering.capture.torch_tensor import CPU, CUDA, VirtualTensor
from lowering.capture.trace import AtenCall, HostFault
from lowering.capture.user_frames import CAPTURE_FRAME, user_span
from lowering.errors import Span, Unsupported

_MAY_BLOCK = frozenset({"aten.copy_", "aten._to_copy"})
_MAY_MIX_DEVICES = frozenset(
    {
        "aten.copy_",
        "aten.copy",
        "aten._to_copy",
        "aten.set_",
        "aten.index",
        "aten._unsafe_index",
        "aten.index_put",
        "aten.index_put_",
        "aten._index_put_impl_",
        "aten._unsafe_index_put",
    }
)


class Dispatcher:
    """One per session.  ``recorder`` is None between captures and while the autotuner tries configurations."""

    def __init__(self) -> None:
        self.recorder: Recorder | None = None
        self.mode = _DispatchMode(self)
        self.function_mode: Any = contextlib.nullcontext()
        self.user_kernels: dict[str, Callable[..., Any]] = {}  # 'lib.op.default' -> implementation for the CUDA key
        self._running: list[str] = []
        self.streams = Streams()
        self.clocks = Clocks()
        self.host_copies = HostCopies(self.clocks)
        self.formulas = True  # whether tables that the call makes of no input are lowered by their formula
        self._tables: HostTables | None = None  # of the recorder
        self._device_tables: DeviceTables | None = None  # of the recorder, where tables are not lowered by formulas
        self._made: dict[int, Span] = {}  # address of a plain storage -> where it was made

    # -- entry ---------------------------------------------------------------------------------------------------

    def call(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """One dispatched op."""
        if not self._concerns_us(func, args, kwargs):
            result = self._plain(func, args, kwargs)
            self._remember_made(func, args, result)
            return result
        self._look_for_overlap(func, args, kwargs)
        implementation = self._implementation(func)
        if implementation is not None:
            with self._python_state(implementation), self.mode, self._inside(func):
                result = implementation(*args, **kwargs)
            if result is not NotImplemented:
                return result
        return self._run(func, args, kwargs)

    def _look_for_overlap(self, func: Any, args: Any, kwargs: Any) -> None:
        """What torch does with overlapping memory is asked of the op that was called, not of its pieces."""
        outermost = not self._running or "_foreach_" in self._running[-1]
        if self.recorder is not None and outermost and func._schema.is_mutable:
            found = overlap(func, *tree_map(lambda leaf: _unwrap(leaf, {}), (args, kwargs)))
            if found:
                name = policy.packet_name(func)
                self.recorder.trace.faults.append(HostFault(OVERLAP, f"{name} {found}", self.span()))

    def _remember_made(self, func: Any, args: Any, result: Any) -> None:
        """Where a tensor of no device was made: a kernel may be given it by mistake."""
        if not isinstance(result, torch.Tensor) or result.layout is not torch.strided:
            return
        given = any(isinstance(leaf, torch.Tensor) for leaf in tree_iter(args))
        if not given or policy.packet_name(func) == "aten.lift_fresh":
            self._made[result.untyped_storage()._cdata] = self.span()

    def made_at(self, tensor: torch.Tensor) -> Span | None:
        """The line that made a tensor on the CPU, if a factory did."""
        found = self._made.get(tensor.untyped_storage()._cdata)
        return found if found is not None and found.line else None

    def _plain(self, func: Any, args: Any, kwargs: Any) -> Any:
        """An op on tensors that are none of the trace's: what it draws is a constant of this run."""
        kwargs = _unpinned(kwargs)
        if self.recorder is None:
            return func(*args, **kwargs)
        if torch.Tag.nondeterministic_seeded not in func.tags:
            result = func(*args, **kwargs)
            if self.formulas:
                self._tables_of(self.recorder).remember(func, args, kwargs, result, self.span())
            return result
        with self.streams.drawing(_generator(args, kwargs), cuda=False) as draw:
            result = func(*args, **kwargs)
        name = self._named(draw, func, args, written_tensors(func, args, kwargs, result))
        if name:
            self.recorder.trace.host_draws.append(name)
            self._note_randomness(func)
        return result

    def _tables_of(self, recorder: Recorder) -> HostTables:
        if self._tables is None or self._tables.recorder is not recorder:
            self._tables = HostTables(recorder)
        return self._tables

    def _concerns_us(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        device = kwargs.get("device")
        if device is not None and torch.device(device).type in ("meta", "cuda"):
            return True
        tensors = (leaf for leaf in tree_iter((args, kwargs)) if isinstance(leaf, torch.Tensor))
        return any(self._is_ours(tensor, func._schema.is_mutable) for tensor in tensors)

    def _is_ours(self, tensor: torch.Tensor, written: bool) -> bool:
        """Virtual, or a plain CPU tensor with the trace's memory (``buffer.copy_(x)``, a constant changed later)."""
        if isinstance(tensor, VirtualTensor) or self.recorder is None:
            return isinstance(tensor, VirtualTensor)
        return self.recorder.is_symbolic(tensor) or (written and self.recorder.knows(tensor))

    def _implementation(self, func: Any) -> Callable[..., Any] | None:
        name = str(func)
        if name in self._running:
            return None
        if name in self.user_kernels:
            return self.user_kernels[name]
        if func.namespace == "prims":
            return getattr(func, "prim_impl_aten", None)
        return policy.decomposition(func)

    @contextlib.contextmanager
    def _python_state(self, implementation: Callable[..., Any]) -> Iterator[None]:
        """Python code needs the function mode; ``OpOverload.decompose`` would be caught by it and come back here."""
        if getattr(implementation, "__name__", "") == "decompose":
            with torch._C.DisableTorchFunction():
                yield
        else:
            with torch._C._EnableTorchFunction(), self.function_mode:
                yield

    @contextlib.contextmanager
    def _inside(self, func: Any) -> Iterator[None]:
        self._running.append(str(func))
        try:
            yield
        finally:
            self._running.pop()

    # -- one op on the inner tensors -----------------------------------------------------------------------------

    def _run(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        self._refuse_mixed_devices(func, args, kwargs)
        claim = _result_device(args, kwargs)
        wrappers: dict[int, VirtualTensor] = {}
        inner_args, inner_kwargs = tree_map(lambda leaf: _unwrap(leaf, wrappers), (args, kwargs))
        inner_kwargs = _on_cpu(inner_kwargs)
        on_host = claim is None or claim.type != "cuda"
        copies = policy.packet_name(func) in _MAY_BLOCK and _to_host(args, claim)
        if self.host_copies and on_host and not copies:
            self._read_on_host(func, inner_args, inner_kwargs)
        if policy.packet_name(func) in policy.READS or _is_boolean_index(func, inner_args):
            self._read_arguments(func, inner_args, inner_kwargs, waits=not on_host)
        before = self._arguments_as_recorded(inner_args, inner_kwargs)
        draw = None
        if self.recorder is not None and torch.Tag.nondeterministic_seeded in func.tags:
            cuda = claim is not None and claim.type == "cuda"
            with self.streams.drawing(_generator(args, kwargs), cuda) as draw:
                result, untrue = _execute(func, inner_args, inner_kwargs)
        else:
            result, untrue = _execute(func, inner_args, inner_kwargs)
        if torch.Tag.inplace_view in func.tags and isinstance(args[0], VirtualTensor):
            _follow_metadata(func, args, kwargs)
        if not self._makes_data(func, args, kwargs, result, untrue):
            self._record(func, before, inner_args, inner_kwargs, result, untrue, draw)
        if copies and not _non_blocking(args, kwargs):
            self.clocks.wait_for_current()
        elif copies and self.recorder is not None:
            self.host_copies.started(result, self.span())
        return tree_map(lambda leaf: _wrap(leaf, wrappers, claim), result)

    def _refuse_mixed_devices(self, func: Any, args: Any, kwargs: Any) -> None:
        if any(type(tensor) is torch.Tensor and tensor.is_meta for tensor in tree_iter((args, kwargs))):
            raise Unsupported(f"{policy.packet_name(func)} of a tensor without data", self.span())
        if policy.packet_name(func) in _MAY_MIX_DEVICES:
            return
        tensors = [leaf for leaf in tree_iter((args, kwargs)) if isinstance(leaf, torch.Tensor) and leaf.dim() > 0]
        if len({tensor.device.type for tensor in tensors}) > 1:
            raise MixedDevices(policy.packet_name(func))

    def span(self) -> Span:
        return user_span(CAPTURE_FRAME, self._forward_span())

    def _forward_span(self) -> Span | None:
        node = torch._C._current_autograd_node()
        if node is None or self.recorder is None:
            return None
        return self.recorder.spans_by_sequence.get(node._sequence_nr())

    def _remember_span(self) -> None:
        """The autograd node of the op being run was numbered just before: its backward ops get this op's line."""
        if self.recorder is not None and torch._C._current_autograd_node() is None:
            number = _sequence_number() - 1
            if number not in self.recorder.spans_by_sequence:
                self.recorder.spans_by_sequence[number] = self.span()

    # -- recording -----------------------------------------------------------------------------------------------

    def _arguments_as_recorded(self, args: Any, kwargs: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments as data.  Taken before the op runs: constants must enter with their old bytes."""
        if self.recorder is None:
            return (), {}
        tables = self._tables_of(self.recorder)
        for leaf in tree_iter((args, kwargs)):
            if isinstance(leaf, torch.Tensor):
                tables.enter(leaf)
        kept = {name: value for name, value in kwargs.items() if name not in policy.UNRECORDED_KWARGS}
        return as_data(tuple(args), self.recorder), as_data(kept, self.recorder)

    def _makes_data(self, func: Any, args: Any, kwargs: Any, result: Any, untrue: bool) -> bool:
        """Whether the result is a table of no input, whose bytes enter the trace where it is used."""
        recorder, tables = self.recorder, self._device_tables
        if recorder is not None and not self.formulas and (tables is None or tables.recorder is not recorder):
            tables = self._device_tables = DeviceTables(recorder)
        if tables is None or untrue or (recorder is None and not func._schema.is_mutable):
            return False
        return tables.makes(func, args, kwargs, result)

    def written_by_launch(self, storages: Iterable[int]) -> None:
        """Launches write past the dispatcher."""
        if self._device_tables is not None:
            self._device_tables.written(storages)

    def _record(self, func: Any, before: Any, args: Any, kwargs: Any, result: Any, untrue: bool, draw: Any) -> None:
        recorder = self.recorder
        if recorder is None:
            return
        outputs = written_tensors(func, args, kwargs, result)
        if policy.packet_name(func) in policy.ALLOCATORS:
            for tensor in outputs:
                recorder.ref(tensor, "empty")
            return
        self._remember_span()
        if not func._schema.is_mutable and all(recorder.knows(tensor) for tensor in outputs):
            return  # a view, or a Python value
        if policy.turns_in_place(func):
            return  # the same storage, seen in another way from here on
        name = "" if draw is None else self._named(draw, func, args, outputs)
        self._enter(recorder, func, before, outputs, untrue, name)
        if name:
            self._note_randomness(func)

    def _named(self, draw: Any, func: Any, args: Any, outputs: list[torch.Tensor]) -> str:
        """Bounds of integers are part of the name: how many bits one number takes follows from them."""
        op = policy.packet_name(func)
        bounds = [a for a in args if type(a) is int] if op in policy.INTEGER_DRAWS else []
        return self.streams.named(draw, op, outputs, " ".join(map(str, bounds)))

    def _enter(
        self, recorder: Recorder, func: Any, before: Any, outputs: list[torch.Tensor], untrue: bool, draw: str
    ) -> None:
        (args, kwargs), span = before, self.span()
        refs = tuple(recorder.ref(tensor, "empty") for tensor in outputs)
        op, args, kwargs = functional_form(func, args, kwargs)
        read = list(references_in(args, kwargs))
        flags = flags_in_force(op.rpartition(".")[0], {ref.dtype for ref in read})
        for flag in flags:
            recorder.note(f"{sentence(flag)}: {span}")
        recorder.aten(AtenCall(op, args, kwargs, refs, span, draw, flags), read, untrue)

    def _note_randomness(self, func: Any) -> None:
        if self.recorder is not None:
            self.recorder.note(f"random values are drawn by {policy.packet_name(func)} at {self.span()}")

    # -- reads by the host ---------------------------------------------------------------------------------------

    def _read_on_host(self, func: Any, args: Any, kwargs: Any) -> None:
        """An op of the CPU reads its arguments at once; one that only looks at their shapes does not."""
        if self.recorder is None or policy.is_view(func) or policy.packet_name(func) in policy.ALLOCATORS:
            return
        for leaf in tree_iter((args, kwargs)):
            if isinstance(leaf, torch.Tensor):
                self.host_copies.read(leaf, self.recorder.trace, policy.packet_name(func), self.span())

    def _read_arguments(self, func: Any, args: Any, kwargs: Any, waits: bool) -> None:
        if self.recorder is None:
            return
        name = policy.packet_name(func)
        tensors = [leaf for leaf in tree_iter((args, kwargs)) if isinstance(leaf, torch.Tensor)]
        chosen = [t for t in tensors if t.dtype in (torch.bool, torch.uint8)] if name == "aten.index" else tensors
        for tensor in chosen:
            self.recorder.read(tensor, self.span(), name, waits)
        if name not in ("aten._local_scalar_dense", "aten.equal", "aten.is_nonzero"):
            self.recorder.note(f"the size of {name}'s result at {self.span()} is the one for these inputs")

    def read_by_host(self, inner: torch.Tensor, construct: str, waits: bool) -> torch.Tensor:
        """The inner tensor, its values made true and the read recorded; it ``waits`` where it is no CPU tensor's."""
        with no_dispatch():
            if self.recorder is not None:
                if self.host_copies and not waits:
                    self.host_copies.read(inner, self.recorder.trace, construct, self.span())
                self.recorder.read(inner, self.span(), construct, waits)
            return inner.detach()

    def address(self, inner: torch.Tensor) -> int:
        """The inner tensor's address, which a kernel may find in a table of pointers."""
        with no_dispatch():
            return inner.data_ptr() if self.recorder is None else self.recorder.address(inner)

    def swap_data(self, tensor: VirtualTensor, new: torch.Tensor) -> None:
        """``tensor.data = new``: the wrapper's sizes and its memory follow."""
        replacement = new if isinstance(new, VirtualTensor) else VirtualTensor(new.detach(), CPU)
        tensor.inner, tensor.claim = replacement.inner, replacement.claim
        with no_dispatch():
            torch.Tensor.data.__set__(tensor, VirtualTensor(replacement.inner, replacement.claim))  # type: ignore[attr-defined]


class MixedDevices(RuntimeError):
    """What a real GPU says when a cuda tensor meets a CPU tensor."""

    def __init__(self, op: str) -> None:
        super().__init__(
            "Expected all tensors to be on the same device, but found at least two devices, cuda:0 and "
            f"cpu! (when checking arguments of {op})"
        )


class _DispatchMode(TorchDispatchMode):
    """Brings ops without a virtual argument (factories) to the dispatcher."""

    def __init__(self, dispatcher: Dispatcher) -> None:
        super().__init__()
        self.dispatcher = dispatcher

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """False spares the import of torch._dynamo, which torch would make only to switch it off here."""
        return False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return self.dispatcher.call(func, args, kwargs or {})


def _sequence_number() -> int:
    """The number that the next autograd node will get."""
    return getattr(torch._C, "_autograd")._get_sequence_nr()  # noqa: B009


# -- helpers: tensors in and out ---------------------------------------------------------------------------------


def _unwrap(leaf: Any, wrappers: dict[int, VirtualTensor]) -> Any:
    if not isinstance(leaf, VirtualTensor):
        return leaf
    wrappers[id(leaf.inner)] = leaf
    return leaf.inner


def _wrap(leaf: Any, wrappers: dict[int, VirtualTensor], claim: torch.device | None) -> Any:
    if not isinstance(leaf, torch.Tensor):
        return leaf
    same = wrappers.get(id(leaf))
    if same is not None:
        return same
    return leaf if claim is None else VirtualTensor(leaf, claim)


def _result_device(args: Any, kwargs: Any) -> torch.device | None:
    """The device claimed by the results; None for ops on plain tensors only, whose results stay plain."""
    virtual = [leaf for leaf in tree_iter((args, kwargs)) if isinstance(leaf, VirtualTensor)]
    device = kwargs.get("device")
    if device is not None:
        wanted = CPU if torch.device(device).type == "cpu" else CUDA
        return wanted if virtual or wanted is CUDA else None
    if not virtual:
        return None
    return max(virtual, key=lambda tensor: tensor.dim() > 0).claim


def _to_host(args: Any, claim: torch.device | None) -> bool:
    """Whether a copy of a cuda tensor ends on the host, which waits for it."""
    sources = [leaf for leaf in args if isinstance(leaf, VirtualTensor)]
    return any(leaf.is_cuda for leaf in sources) and (claim is CPU or not isinstance(args[0], VirtualTensor))


def _non_blocking(args: Any, kwargs: Any) -> bool:
    """Of copy_ or _to_copy."""
    return bool(kwargs.get("non_blocking") or (len(args) > 2 and args[2]))


def _on_cpu(kwargs: dict[str, Any]) -> dict[str, Any]:
    changed = dict(kwargs)
    if changed.get("device") is not None:
        changed["device"] = CPU
    return _unpinned(changed)


def _unpinned(kwargs: dict[str, Any]) -> dict[str, Any]:
    """Pinned memory is that of a driver, which is not here."""
    return {**kwargs, "pin_memory": False} if kwargs.get("pin_memory") else kwargs


def _execute(func: Any, args: Any, kwargs: Any) -> tuple[Any, bool]:
    """The op on CPU tensors; if the CPU has no kernel for this dtype, only its shapes (the values are then untrue)."""
    try:
        return func(*args, **kwargs), False
    except (NotImplementedError, RuntimeError) as error:
        if "not implemented for" not in str(error) and not isinstance(error, NotImplementedError):
            raise
        return _shapes_only(func, args, kwargs), True


def _shapes_only(func: Any, args: Any, kwargs: Any) -> Any:
    to_meta = lambda leaf: leaf.to("meta") if isinstance(leaf, torch.Tensor) else leaf  # noqa: E731
    meta_kwargs = {**tree_map(to_meta, kwargs), **({"device": "meta"} if "device" in kwargs else {})}
    result = func(*tree_map(to_meta, args), **meta_kwargs)
    if func._schema.is_mutable:
        return written_tensors(func, args, kwargs, None)[0]
    empty = lambda leaf: torch.empty_strided(leaf.shape, leaf.stride(), dtype=leaf.dtype)  # noqa: E731
    return tree_map(lambda leaf: empty(leaf) if isinstance(leaf, torch.Tensor) else leaf, result)


def _generator(args: Any, kwargs: Any) -> torch.Generator | None:
    """The generator given; torch.Generator is the session's own class while it lasts."""
    return next((leaf for leaf in tree_iter((args, kwargs)) if isinstance(leaf, torch._C.Generator)), None)


def _follow_metadata(func: Any, args: Any, kwargs: Any) -> None:
    """t_, unsqueeze_, resize_ change sizes in place: do the same to the wrapper itself."""
    with no_dispatch():
        func(*args, **kwargs)


def _is_boolean_index(func: Any, args: Any) -> bool:
    if policy.packet_name(func) != "aten.index":
        return False
    return any(i is not None and i.dtype in (torch.bool, torch.uint8) for i in args[1])
