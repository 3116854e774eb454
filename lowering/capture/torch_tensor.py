"""The virtual tensor: claims a device to Python, holds its values in an ordinary CPU tensor.

Takes a CPU tensor and a device claim; gives a torch.Tensor subclass.  Must not know about traces: every op and every
read goes to the active dispatcher.

To C++ a virtual cuda tensor is a *meta* tensor.  Claiming cuda there captures forward passes, but a CPU build of
torch has no cuda device guard and its autograd engine aborts the process.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from lowering.capture.torch_dispatch import Dispatcher

CUDA = torch.device("cuda", 0)
CPU = torch.device("cpu")
META = torch.device("meta")

_dispatchers: list[Dispatcher] = []  # the active session's is last


def active_dispatcher() -> Dispatcher:
    if not _dispatchers:
        raise RuntimeError("a virtual tensor was used outside the session that made it")
    return _dispatchers[-1]


class VirtualTensor(torch.Tensor):
    """``inner``: the CPU tensor with the values; ``claim``: the device that Python code sees."""

    inner: torch.Tensor
    claim: torch.device

    __torch_function__: Any = torch._C._disabled_torch_function_impl

    @staticmethod
    def __new__(cls, inner: torch.Tensor, claim: torch.device = CUDA, requires_grad: bool = False) -> VirtualTensor:
        tensor = torch.Tensor._make_wrapper_subclass(  # type: ignore[attr-defined]
            cls,
            inner.shape,
            strides=inner.stride(),
            storage_offset=inner.storage_offset(),
            dtype=inner.dtype,
            layout=inner.layout,
            device=META if claim.type == "cuda" else CPU,
            requires_grad=requires_grad,
        )
        tensor.inner, tensor.claim = inner, claim
        return tensor

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return active_dispatcher().call(func, args, kwargs or {})

    # -- what Python code asks about the device ------------------------------------------------------------------

    @property
    def device(self) -> torch.device:  # type: ignore[override]
        return self.claim

    @property
    def is_cuda(self) -> bool:  # type: ignore[override]
        return self.claim.type == "cuda"

    @property
    def is_cpu(self) -> bool:  # type: ignore[override]
        return self.claim.type == "cpu"

    @property
    def is_meta(self) -> bool:  # type: ignore[override]
        return False

    def get_device(self) -> int:
        return 0 if self.is_cuda else -1

    def data_ptr(self) -> int:
        return active_dispatcher().address(self.inner) if _dispatchers else self.inner.data_ptr()

    def is_pinned(self, device: Any = None) -> bool:
        return False

    def pin_memory(self, device: Any = None) -> torch.Tensor:
        return self

    def record_stream(self, stream: Any) -> None:
        return None

    def type(self, dtype: Any = None, non_blocking: bool = False, **kwargs: Any) -> Any:
        if dtype is None:
            return (
                torch.empty(0, dtype=self.dtype).type().replace("torch.", "torch.cuda." if self.is_cuda else "torch.")
            )
        return super().type(dtype, non_blocking, **kwargs)

    # -- reads by the host ---------------------------------------------------------------------------------------

    def tolist(self) -> Any:
        return active_dispatcher().read_by_host(self.inner, "tolist()", self.is_cuda).tolist()

    def numpy(self, *, force: bool = False) -> Any:
        if self.is_cuda and not force:
            raise TypeError(
                "can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() to copy the tensor to "
                "host memory first."
            )
        return active_dispatcher().read_by_host(self.inner, "numpy()", self.is_cuda).numpy()

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        array = self.numpy()
        return array if dtype is None else array.astype(dtype)

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        return repr(active_dispatcher().read_by_host(self.inner, "printing", self.is_cuda))

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return format(self.item(), spec) if self.dim() == 0 else repr(self)

    # -- identity ------------------------------------------------------------------------------------------------

    def __deepcopy__(self, memo: dict[int, Any]) -> torch.Tensor:
        if id(self) not in memo:
            copy = VirtualTensor(self.inner.clone(), self.claim, self.requires_grad)
            if getattr(self, "_is_param", False):
                copy._is_param = True  # type: ignore[attr-defined]
            memo[id(self)] = copy
        return memo[id(self)]

    @property
    def data(self) -> torch.Tensor:  # type: ignore[override]
        return self.detach()

    @data.setter
    def data(self, new: torch.Tensor) -> None:
        active_dispatcher().swap_data(self, new)
