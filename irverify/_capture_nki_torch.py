"""The adapter of torch host code that calls NKI kernels: the torch adapter, with the NKI namespaces in place.

Takes callables and arguments as data; gives Captured.  What the host does around its kernels is read as any torch code.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from irverify._capture_torch import TorchAdapter


class NkiTorchAdapter(TorchAdapter):
    """XLA's device, which such a host asks for, is the virtual one."""

    @contextmanager
    def session(self) -> Iterator[None]:
        from lowering.capture.nki.namespaces import installed

        with super().session(), installed():
            from lowering.capture.torch_nki import kernels_run

            with kernels_run(self.session_, self.options.nki_target, self.options.nki_version):
                yield
