"""Host code that hands views to a kernel, rightly and wrongly.  The kernel scales ``n`` elements a program, by rows."""

import torch
import triton
import triton.language as tl


@triton.jit
def rows_kernel(x_ptr, y_ptr, x_stride, y_stride, n, factor, BLOCK: tl.constexpr):
    row, offs = tl.program_id(0), tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + row * x_stride + offs, mask=mask, other=0.0)
    tl.store(y_ptr + row * y_stride + offs, x * factor, mask=mask)


@triton.jit
def before_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    tl.store(y_ptr + offs - 1, tl.load(x_ptr + offs, mask=offs < n, other=0.0), mask=offs < n)


@triton.jit
def atomic_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    tl.atomic_add(y_ptr + offs, tl.load(x_ptr + offs, mask=offs < n, other=0.0))


def rows(x, y, x_stride, y_stride, factor=2.0, grid=None):
    n = x.shape[-1]
    block = triton.next_power_of_2(n)
    rows_kernel[(x.shape[0] if grid is None else grid,)](x, y, x_stride, y_stride, n, factor, BLOCK=block)
    return y


def new(*shape):
    return torch.empty(shape, device="cuda")


def expanded(x):
    e = x[0].expand(5, 7)
    return rows(e, new(5, 7), e.stride(0), 7)


def expanded_taken_for_dense(x):
    return rows(x[0].expand(5, 7), new(5, 7), 7, 7)


def columns(x):
    return rows(x[:, 2:], new(5, 5), x.stride(0), 5)


def columns_taken_for_dense(x):
    return rows(x[:, 2:], new(5, 5), 5, 5)


def update_of_a_view(x):
    rows(x[1:3], x[1:3], 7, 7)
    return x


def grid_from_a_stride(x):
    return rows(x, new(5, 7), 7, 7, grid=x.numel() // x.stride(0))


def grid_from_a_stride_of_a_view(x):
    v = x[:, :4]
    return rows(v, torch.zeros(5, 4, device="cuda"), v.stride(0), 4, grid=v.numel() // v.stride(0))


def twice_with_other_grids(x):
    y = rows(x, new(5, 7), 7, 7, grid=2)
    return rows(x, y, 7, 7)


def a_part_again(x):
    y = rows(x, new(5, 7), 7, 7)
    return rows(x, y, 7, 7, factor=3.0, grid=2)


def before_its_output(x):
    y = torch.zeros(35, device="cuda")
    before_kernel[(1,)](x, y, 35, BLOCK=64)
    return y


def atomics_beyond_its_output(x):
    y = torch.zeros(35, device="cuda")
    atomic_kernel[(1,)](x, y, 35, BLOCK=64)
    return y
