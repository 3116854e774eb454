"""Functions that change, or leave as they are, a list of two tensors and a dict of a tensor, a number and a word."""

import torch


def leaves(x, cache, state):
    return torch.stack(cache + [x]).sum(0) + state["m"]


def copies(x, cache, state):
    cache, state = list(cache), dict(state)
    cache.append(x)
    state["m"] = state["m"] + 0
    return torch.stack(cache).sum(0) + state["m"]


def appends(x, cache, state):
    cache.append(x)
    return torch.stack(cache).sum(0) + state["m"]


def appends_kv(x, kv, s):
    kv += [x]
    return torch.stack(kv).sum(0) + s["m"]


def appends_another(x, cache, state):
    out = torch.stack(cache + [x]).sum(0) + state["m"]
    cache.append(x * 2)
    return out


def drops(x, cache, state):
    out = leaves(x, cache, state)
    cache.pop(0)
    return out


def empties(x, cache, state):
    out = leaves(x, cache, state)
    cache.clear()
    return out


def rebinds(x, cache, state):
    out = leaves(x, cache, state)
    state["m"] = state["m"] * 2 + x
    return out


def overwrites(x, cache, state):
    out = leaves(x, cache, state)
    state["m"].mul_(2).add_(x)
    return out


def rebinds_alike(x, cache, state):
    out = leaves(x, cache, state)
    state["m"] = state["m"].clone()
    return out


def counts(x, cache, state):
    state["step"] += 1
    return leaves(x, cache, state)


def renames(x, cache, state):
    out = leaves(x, cache, state)
    state["momentum"] = state.pop("m")
    return out


def forgets(x, cache, state):
    out = leaves(x, cache, state)
    state["m"] = None
    return out


def switches(x, cache, state):
    state["mode"] = "late"
    return leaves(x, cache, state)


def exchanges_memory(x, cache, state):
    out = leaves(x, cache, state)
    x.data = x.data * 2
    return out
