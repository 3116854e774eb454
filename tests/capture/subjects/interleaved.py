"""Functions whose backward pass takes what it needs from the right place, or from where a later call puts its own."""

import torch

KEPT = {}
TABLE = []
WORKSPACE = torch.zeros(3, 5)


def made(save, load):
    class Product(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, w):
            save(Product, ctx, x, w)
            return x * x * w

        @staticmethod
        def backward(ctx, g):
            x, w = load(Product, ctx)
            return g * 2 * x * w, g * x * x

    return lambda x, w: Product.apply(x, w)


def _table(x):
    if not TABLE:
        TABLE.append(torch.arange(5.0, device=x.device))
    return TABLE[0]


def _workspace(own, ctx, x, w):
    WORKSPACE.copy_(x.detach())
    ctx.w = w


def _number(own, ctx, x, w):
    own.scale = float(x.max())
    ctx.save_for_backward(x, w)


def _scaled(own, ctx):
    x, w = ctx.saved_tensors
    return x * own.scale, w


def _remade(own, ctx, x, w):
    KEPT["table"] = torch.arange(5.0, device=x.device)
    ctx.save_for_backward(x, w)


saved = made(lambda own, ctx, x, w: ctx.save_for_backward(x, w), lambda own, ctx: ctx.saved_tensors)
on_ctx = made(lambda own, ctx, x, w: setattr(ctx, "pair", (x, w)), lambda own, ctx: ctx.pair)
remade = made(_remade, lambda own, ctx: (ctx.saved_tensors[0] + 0 * KEPT["table"], ctx.saved_tensors[1]))
on_class = made(lambda own, ctx, x, w: setattr(own, "pair", (x, w)), lambda own, ctx: own.pair)
in_global = made(lambda own, ctx, x, w: KEPT.update(pair=(x, w)), lambda own, ctx: KEPT["pair"])
in_workspace = made(_workspace, lambda own, ctx: (WORKSPACE, ctx.w))
number_on_class = made(_number, _scaled)


def by_autograd(x, w):
    return x * x * w + _table(x)


def drawn(x, w):
    return torch.nn.functional.dropout(x * w, 0.5)
