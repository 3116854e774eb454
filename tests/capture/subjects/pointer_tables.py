"""Kernels that find their operands in a table of addresses, as grouped products and cache copies do."""

import torch
import triton
import triton.language as tl


@triton.jit
def scale_each(table, sizes, BLOCK: tl.constexpr):
    group = tl.program_id(0)
    source = tl.load(table + 2 * group).to(tl.pointer_type(tl.float32))
    target = tl.load(table + 2 * group + 1).to(tl.pointer_type(tl.float32))
    lanes = tl.arange(0, BLOCK)
    inside = lanes < tl.load(sizes + group)
    tl.store(target + lanes, 2.0 * tl.load(source + lanes, mask=inside), mask=inside)


@triton.jit
def add_right_neighbour(table, n, BLOCK: tl.constexpr):
    """Every program reads what the next one writes."""
    lanes = tl.arange(0, BLOCK)
    base = tl.load(table).to(tl.pointer_type(tl.float32))
    block, right = tl.program_id(0), (tl.program_id(0) + 1) % n
    total = tl.load(base + block * BLOCK + lanes) + tl.load(base + right * BLOCK + lanes)
    tl.store(base + block * BLOCK + lanes, total)


def doubled(*group):
    made = [torch.empty_like(x) for x in group]
    addresses = [x.data_ptr() for pair in zip(group, made, strict=True) for x in pair]
    table = torch.tensor(addresses, device=group[0].device)
    sizes = torch.tensor([x.numel() for x in group], dtype=torch.int32, device=group[0].device)
    scale_each[(len(group),)](table, sizes, BLOCK=64)
    return made


def doubled_in_place(x):
    table = torch.tensor([x.data_ptr(), x.data_ptr()], device=x.device)
    scale_each[(1,)](table, torch.tensor([x.numel()], dtype=torch.int32, device=x.device), BLOCK=64)
    return x


def doubled_tail(x):
    """The source is the middle of a buffer; both buffers were written by operations before."""
    shifted, made = x + 1.0, torch.zeros_like(x[3:])
    table = torch.tensor([shifted[3:].data_ptr(), made.data_ptr()], device=x.device)
    scale_each[(1,)](table, torch.tensor([x.numel() - 3], dtype=torch.int32, device=x.device), BLOCK=64)
    return made


def raced(x):
    made = x.clone()
    add_right_neighbour[(4,)](torch.tensor([made.data_ptr()], device=x.device), 4, BLOCK=16)
    return made


class Reversed:
    """What PyTorch has no view for: a tensor read from its end. Triton asks only for data_ptr and dtype."""

    def __init__(self, base):
        self.base_tensor, self.dtype = base, base.dtype

    def data_ptr(self):
        return self.base_tensor.data_ptr() + (self.base_tensor.numel() - 1) * self.base_tensor.element_size()


@triton.jit
def copy_strided(source, target, stride, n, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    tl.store(target + lanes, tl.load(source + lanes * stride, mask=lanes < n), mask=lanes < n)


def flipped(x):
    made = torch.empty_like(x)
    copy_strided[(1,)](Reversed(x), made, -1, x.numel(), BLOCK=64)
    return made


def launched_twice(x):
    """The compiled kernel is launched again without its constexprs; the stride of 1 was specialised, yet is passed."""
    first, second = torch.empty_like(x), torch.empty_like(x)
    kernel = copy_strided[(1,)](x, first, 1, x.numel(), BLOCK=64)
    kernel[(1, 1, 1)](x, second, 1, x.numel())
    return first, second


@triton.jit
def cast_through_block(source, target, n, BLOCK: tl.constexpr):
    block = tl.make_block_ptr(target, (n,), (1,), (0,), (BLOCK,), order=(0,))
    lanes = tl.arange(0, BLOCK)
    value = tl.load(source + lanes, mask=lanes < n, other=0.0) / 3
    tl.store(block, value.to(block.type.element_ty), boundary_check=(0,))


def halves(x):
    made = torch.empty_like(x, dtype=torch.float16)
    cast_through_block[(1,)](x, made, x.numel(), BLOCK=64)
    return made
