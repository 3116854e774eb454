"""What a handler sees: the builder, the op's arguments as values, and torch's dtype rules.

Takes an AtenCall and a function that reads a TensorRef; gives Context.  Must not know any particular op.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from lowering.capture.trace import AtenCall, TensorRef
from lowering.errors import Unsupported
from lowering.frontends.aten.dtypes import KIR_NAMES, opmath, result_type
from lowering.ir.builder import Builder
from lowering.ir.composites import Composites
from lowering.ir.program import Value
from lowering.ir.types import BOOL, DTYPES, F32, I64, DType, TensorType

Number = bool | int | float


@dataclass(frozen=True, slots=True)
class Library:
    """Whose kernels are meant: ``target`` 'cpu' or a GPU ('sm_80'), how its products round."""

    target: str = "cpu"
    matmul_tf32: bool = False
    convolution_tf32: bool = False
    fp16_accumulation: bool = False

    @property
    def cuda(self) -> bool:
        return self.target != "cpu"


@dataclass(slots=True)
class Context:
    """The lowering of one call."""

    builder: Builder
    call: AtenCall
    read: Callable[[TensorRef], Value]
    write: Callable[[TensorRef, Value], None]
    library: Library

    # -- what the call says --------------------------------------------------------------------------------------

    @property
    def cuda(self) -> bool:
        """Whether the library meant is torch's CUDA one, where it differs from the CPU's."""
        return self.library.cuda

    @property
    def outputs(self) -> list[TensorRef]:
        return list(_refs(self.call.outputs))

    @property
    def out_types(self) -> list[TensorType]:
        return [TensorType(self.dtype(ref.dtype), tuple(ref.shape)) for ref in self.outputs]

    @property
    def out(self) -> TensorType:
        return self.out_types[0]

    @property
    def composites(self) -> Composites:
        """CUDA's sqrt is correctly rounded; the CPU's comes from a vector library and is not."""
        return Composites(self.builder, "torch", exact_sqrt=self.cuda)

    def unsupported(self, hint: str = "", what: str = "") -> Unsupported:
        return Unsupported(self.call.op + what, self.call.span, hint)

    def dtype(self, name: str) -> DType:
        """The KIR dtype of a torch dtype name."""
        if name not in KIR_NAMES:
            raise self.unsupported("complex and quantised tensors are not modelled", f" with dtype {name}")
        return DTYPES[KIR_NAMES[name]]

    # -- arguments as values -------------------------------------------------------------------------------------

    def value(self, arg: TensorRef | Number, dt: DType | None = None, shape: Sequence[int] | None = None) -> Value:
        """A tensor read, or a Python number as a constant; cast to ``dt`` and broadcast to ``shape`` if given."""
        if isinstance(arg, TensorRef):
            value = self.read(arg) if dt is None else self.cast(self.read(arg), dt)
        elif isinstance(arg, (bool, int, float)):
            value = self.builder.constant(arg, self.result_type(arg) if dt is None else dt, tuple(shape or ()))
        else:
            raise self.unsupported(f"an argument of type {type(arg).__name__} is not modelled")
        return value if shape is None else self.builder.broadcast(value, shape)

    def compute(self, arg: TensorRef | Number, shape: Sequence[int] | None = None) -> Value:
        """The argument in the dtype that torch computes in (f16 and bf16: f32; integers of a float op: f32)."""
        dt = self.dtype(arg.dtype) if isinstance(arg, TensorRef) else self.out.dtype
        wanted = dt if dt.is_float else self.out.dtype if self.out.dtype.is_float else F32
        return self._via(arg, wanted, opmath(wanted), shape)

    def operands(self, *args: Any, scalars: str = "opmath") -> list[Value]:
        """Promoted and broadcast operands of a pointwise op, in the dtype to compute in.

        A tensor of another dtype is rounded to the common dtype first.  Python numbers are constants of the
        computing dtype (scalars='opmath') or are rounded to the common dtype as well (scalars='common').
        """
        common = self.result_type(*args)
        return self.cast_all(args, common, opmath(common), scalars)

    def operands_apart(self, *args: Any) -> list[Value]:
        """Promoted operands under their own shapes."""
        common = self.result_type(*args)
        return [self.builder.cast(self.value(arg, common), opmath(common)) for arg in args]

    def cast_all(self, args: Sequence[Any], common: DType, to: DType, scalars: str = "opmath") -> list[Value]:
        shape = self.broadcast_shape(*args)
        keep = lambda arg: scalars == "opmath" and not isinstance(arg, TensorRef)  # noqa: E731
        return [self.value(arg, to, shape) if keep(arg) else self._via(arg, common, to, shape) for arg in args]

    def _via(self, arg: Any, common: DType, to: DType, shape: Sequence[int] | None) -> Value:
        value = self.cast(self.value(arg, common), to)
        return value if shape is None else self.builder.broadcast(value, shape)

    def result_type(self, *args: Any) -> DType:
        """torch.result_type of tensors and Python numbers."""
        entries = [(self.dtype(a.dtype), len(a.shape)) if isinstance(a, TensorRef) else a for a in args]
        return result_type(entries)

    def broadcast_shape(self, *args: Any) -> tuple[int, ...]:
        shapes = [a.shape for a in args if isinstance(a, TensorRef)]
        rank = max(map(len, shapes), default=0)
        padded = [(1,) * (rank - len(s)) + tuple(s) for s in shapes]
        return tuple(next((n for n in column if n != 1), 1) for column in zip(*padded))

    def cast(self, x: Value, to: DType) -> Value:
        """As C++ converts: to narrow floats by way of f32 (c10), from floats to u8 by way of i64.

        float8_e4m3fn saturates, infinities too (c10/util/Float8_e4m3fn.h as of torch 2.13, CPU and CUDA alike; before,
        overflow was NaN).
        """
        source, b = x.type.dtype, self.builder
        if source is not to and DTYPES["f8e8m0fnu"] in (source, to):
            raise self.unsupported("values of this dtype are only moved, not converted", " with dtype float8_e8m0fnu")
        if to is BOOL and source is not BOOL:
            return b.cmp("ne", x, b.like(0, x))  # what a kernel writes: the same words
        if to.is_float and to.bits < 32 and ((source.is_integer and source is not BOOL) or source.bits == 64):
            x = b.cast(x, F32)
        if source.is_float and to.kind == "uint" and to.bits < 64:
            x = b.cast(x, I64)
        if to is DTYPES["f8e4m3fn"] and x.type.dtype.is_float:
            return b.cast(x, to, saturate=True)
        return b.cast(x, to)

    # -- small spelling ------------------------------------------------------------------------------------------

    def axis(self, dim: int, rank: int) -> int:
        return dim % rank if rank else 0

    def axes(self, dims: Any, rank: int) -> list[int]:
        """Normalised dimensions: None or () is all of them."""
        dims = [dims] if isinstance(dims, int) else dims
        return sorted({self.axis(d, rank) for d in dims}) if dims else list(range(rank))


def _refs(values: Any) -> Iterator[TensorRef]:
    if isinstance(values, TensorRef):
        yield values
    elif isinstance(values, (tuple, list)):
        for value in values:
            yield from _refs(value)
