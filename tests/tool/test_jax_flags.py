"""What two jax programs ask of a device otherwise: precisions of products, donated arguments."""

from __future__ import annotations

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from irverify import jax_flags
from irverify.exchange import Exchange
from lowering.capture.jax_host import capture_jax
from lowering.pipeline import lower

X = np.ones((4, 4), np.float32)


def product(precision):
    return lambda x, w: jnp.dot(x, w, precision=precision)


def added(x, y):
    return x + y


def found(tmp_path: Path, *functions) -> list[str]:
    exchange, programs = Exchange(tmp_path), []
    for side, function in zip("ab", functions, strict=True):
        trace = capture_jax(function, [X, X], names=["x", "y"])
        exchange.publish(f"{side}.v0", {"notes": trace.notes})
        programs.append(lower(trace))
    return [f"{f.severity} {f.code}: {f.message}" for f in jax_flags.findings(exchange, programs, ("a.py", "b.py"))]


@pytest.mark.parametrize(("a", "b"), [("highest", None), (None, "highest"), ("high", "default")])
def test_other_precisions_are_named(tmp_path, a, b):
    (said,) = found(tmp_path, product(a), product(b))
    assert said.startswith("warning dot-precision") and "has DEFAULT precision" in said


@pytest.mark.parametrize(("a", "b"), [("highest", "highest"), (None, "default"), (None, "bfloat16")])
def test_one_precision_under_two_names(tmp_path, a, b):
    assert found(tmp_path, product(a), product(b)) == []


def test_an_argument_that_is_given_away(tmp_path):
    donating = jax.jit(added, donate_argnums=0)
    (said,) = found(tmp_path, added, donating)
    assert said.startswith("warning donated-argument: b.py donates x: ")
    assert found(tmp_path, donating, donating) == [] == found(tmp_path, jax.jit(added), added)
