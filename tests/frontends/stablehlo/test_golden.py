"""KIR text of one construct each, lowered from real jax at distinct extents."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from tests.frontends.stablehlo.support import integers, lower, normal, text

A = normal(3, 5, 7)

GOLDEN: dict[str, tuple[Any, tuple[np.ndarray, ...], str]] = {
    "softmax": (
        lambda x: jax.nn.softmax(x, axis=1),
        (normal(3, 5),),
        """
%1 = constant {to="f32", value=-inf} : f32
%2 = reduce %0 {axis=1, combine="max"} : f32[3]
%3 = broadcast %1 {shape=[3], dims=[]} : f32[3]
%4 = max %3, %2 : f32[3]
%5 = broadcast %4 {shape=[3, 1], dims=[0]} : f32[3,1]
%6 = broadcast %5 {shape=[3, 5], dims=[0, 1]} : f32[3,5]
%7 = sub %0, %6 : f32[3,5]
%8 = math %7 {fn="exp", impl="xla"} : f32[3,5]
%9 = reduce %8 {axis=1, combine="add"} : f32[3]
%10 = broadcast %9 {shape=[3, 1], dims=[0]} : f32[3,1]
%11 = broadcast %10 {shape=[3, 5], dims=[0, 1]} : f32[3,5]
%12 = div %8, %11 {accuracy="declared", impl="xla"} : f32[3,5]
return "out0" %12
""",
    ),
    "gather": (
        lambda x, j: x[:, j],
        (
            A,
            integers(2, 4),
        ),
        """
%2 = constant {to="i32", value=0} : i32
%3 = broadcast %2 {shape=[2, 4], dims=[]} : i32[2,4]
%4 = cmp %1, %3 {pred="lt"} : i1[2,4]
%5 = constant {to="i32", value=5} : i32
%6 = broadcast %5 {shape=[2, 4], dims=[]} : i32[2,4]
%7 = add %1, %6 : i32[2,4]
%8 = select %4, %7, %1 : i32[2,4]
%9 = broadcast %8 {shape=[2, 4, 1], dims=[0, 1]} : i32[2,4,1]
%10 = iota {to="i32", shape=[3, 2, 4, 7]} : i32[3,2,4,7]
%11 = slice %9 {start=[0, 0, 0], limit=[2, 4, 1], step=[1, 1, 1]} : i32[2,4,1]
%12 = reshape %11 {shape=[2, 4]} : i32[2,4]
%13 = constant {to="i32", shape=[2, 4], value=0} : i32[2,4]
%14 = max %12, %13 : i32[2,4]
%15 = constant {to="i32", shape=[2, 4], value=4} : i32[2,4]
%16 = min %14, %15 : i32[2,4]
%17 = broadcast %16 {shape=[3, 2, 4, 7], dims=[1, 2]} : i32[3,2,4,7]
%18 = iota {to="i32", shape=[3, 2, 4, 7], axis=3} : i32[3,2,4,7]
%19 = gather %0, %10, %17, %18 {mode="clamp"} : f32[3,2,4,7]
return "out0" %19
""",
    ),
    "scatter_add": (
        lambda x, j: x.at[j].add(1.0),
        (
            normal(7, 3),
            integers(2),
        ),
        """
%2 = constant {to="i32", value=0} : i32
%3 = broadcast %2 {shape=[2], dims=[]} : i32[2]
%4 = cmp %1, %3 {pred="lt"} : i1[2]
%5 = constant {to="i32", value=7} : i32
%6 = broadcast %5 {shape=[2], dims=[]} : i32[2]
%7 = add %1, %6 : i32[2]
%8 = select %4, %7, %1 : i32[2]
%9 = broadcast %8 {shape=[2, 1], dims=[0]} : i32[2,1]
%10 = constant {to="f32", value=1.0} : f32
%11 = broadcast %10 {shape=[2, 3], dims=[]} : f32[2,3]
%12 = slice %9 {start=[0, 0], limit=[2, 1], step=[1, 1]} : i32[2,1]
%13 = reshape %12 {shape=[2]} : i32[2]
%14 = broadcast %13 {shape=[2, 3], dims=[0]} : i32[2,3]
%15 = iota {to="i32", shape=[2, 3], axis=1} : i32[2,3]
%16 = scatter %0, %11, %14, %15 {combine="add"} : f32[7,3]
return "out0" %16
""",
    ),
    "argmax": (
        lambda x: jnp.argmax(x, axis=1),
        (A,),
        """
%1 = iota {to="i32", shape=[3, 5, 7], axis=1} : i32[3,5,7]
%2, %3 = reduce %0, %1 {axis=1, combine="argmax"} : f32[3,7], i32[3,7]
return "out0" %3
""",
    ),
    "reverse cumulative sum": (
        lambda x: lax.cumsum(x, axis=1, reverse=True),
        (A,),
        """
%1 = scan %0 {axis=1, combine="add", reverse=true} : f32[3,5,7]
return "out0" %1
""",
    ),
    "batched dot": (
        lambda a, b: jnp.einsum("abc,bcd->bad", a, b),
        (
            A,
            normal(5, 7, 2),
        ),
        """
%2 = transpose %0 {perm=[1, 0, 2]} : f32[5,3,7]
%3 = dot %2, %1 {acc="f32"} : f32[5,3,2]
return "out0" %3
""",
    ),
    "bf16 dot accumulates in f32": (
        lambda a, b: a @ b,
        (
            normal(3, 5).astype(jnp.bfloat16),
            normal(5, 7).astype(jnp.bfloat16),
        ),
        """
%2 = dot %0, %1 {acc="f32"} : f32[3,7]
%3 = cast %2 {to="bf16"} : bf16[3,7]
return "out0" %3
""",
    ),
    "counted loop": (
        lambda x: lax.fori_loop(0, 5, lambda i, c: c * x + i, x),
        (normal(3),),
        """
%3 = constant {to="i32", value=0} : i32
%4 = constant {to="i32", value=5} : i32
%5 = constant {to="i32", value=1} : i32
%6 = for %3, %4, %5, %0 : f32[3] (
^(%1: i32, %2: f32[3]):
  %7 = mul %2, %0 : f32[3]
  %8 = cast %1 {to="f32"} : f32
  %9 = broadcast %8 {shape=[3], dims=[]} : f32[3]
  %10 = add %7, %9 : f32[3]
  yield %10
)
return "out0" %6
""",
    ),
    "scan": (
        lambda x: lax.scan(lambda c, y: (c + y, c), 0.0, x),
        (normal(5),),
        """
%4 = constant {to="f32", value=0.0} : f32
%5 = broadcast %4 {shape=[5], dims=[]} : f32[5]
%6 = constant {to="i32", value=0} : i32
%7 = constant {to="i32", value=5} : i32
%8 = constant {to="i32", value=1} : i32
%9, %10 = for %6, %7, %8, %4, %5 : f32, f32[5] (
^(%1: i32, %2: f32, %3: f32[5]):
  %11 = dynamic_slice %0, %1 {shape=[1]} : f32[1]
  %12 = reshape %11 {shape=[]} : f32
  %13 = add %2, %12 : f32
  %14 = broadcast %2 {shape=[1], dims=[]} : f32[1]
  %15 = dynamic_update_slice %3, %14, %1 : f32[5]
  yield %13, %15
)
return "out0" %9, "out1" %10
""",
    ),
    "data-dependent while": (
        lambda x: lax.while_loop(lambda c: jnp.sum(c) < 50.0, lambda c: c + 1, x),
        (normal(5),),
        """
%3 = while %0 : f32[5] (
^(%1: f32[5]):
  %4 = reduce %1 {axis=0, combine="add"} : f32
  %5 = constant {to="f32", value=50.0} : f32
  %6 = cmp %4, %5 {pred="lt"} : i1
  condition %6, %1
^(%2: f32[5]):
  %7 = constant {to="f32", value=1.0} : f32
  %8 = broadcast %7 {shape=[5], dims=[]} : f32[5]
  %9 = add %2, %8 : f32[5]
  yield %9
)
return "out0" %3
""",
    ),
    "cond": (
        lambda x: lax.cond(x.sum() > 0, lambda y: y + 1, lambda y: y * 2, x),
        (normal(3),),
        """
%1 = constant {to="f32", value=0.0} : f32
%2 = reduce %0 {axis=0, combine="add"} : f32
%3 = cmp %2, %1 {pred="gt"} : i1
%4 = if %3 : f32[3] (
^():
  %5 = constant {to="f32", value=1.0} : f32
  %6 = broadcast %5 {shape=[3], dims=[]} : f32[3]
  %7 = add %0, %6 : f32[3]
  yield %7
^():
  %8 = constant {to="f32", value=2.0} : f32
  %9 = broadcast %8 {shape=[3], dims=[]} : f32[3]
  %10 = mul %0, %9 : f32[3]
  yield %10
)
return "out0" %4
""",
    ),
    "switch": (
        lambda x, j: lax.switch(j, [lambda y: y + 1, lambda y: y * 2, lambda y: -y], x),
        (
            normal(3),
            np.array(1, np.int32),
        ),
        """
%2 = constant {to="i32", value=0} : i32
%3 = constant {to="i32", value=2} : i32
%4 = max %1, %2 : i32
%5 = min %4, %3 : i32
%6 = cmp %5, %2 {pred="eq"} : i1
%7 = if %6 : f32[3] (
^():
  %8 = constant {to="f32", value=1.0} : f32
  %9 = broadcast %8 {shape=[3], dims=[]} : f32[3]
  %10 = add %0, %9 : f32[3]
  yield %10
^():
  %11 = constant {to="i32", value=1} : i32
  %12 = cmp %5, %11 {pred="eq"} : i1
  %13 = if %12 : f32[3] (
  ^():
    %14 = constant {to="f32", value=2.0} : f32
    %15 = broadcast %14 {shape=[3], dims=[]} : f32[3]
    %16 = mul %0, %15 : f32[3]
    yield %16
  ^():
    %17 = neg %0 : f32[3]
    yield %17
  )
  yield %13
)
return "out0" %7
""",
    ),
    "argsort": (
        lambda x: jnp.argsort(x, axis=0),
        (normal(3, 5),),
        """
%1 = iota {to="i32", shape=[3, 5]} : i32[3,5]
%2, %3 = sort %0, %1 {axis=0} : f32[3,5], i32[3,5]
return "out0" %3
""",
    ),
    "top_k": (
        lambda x: lax.top_k(x, 2),
        (normal(3, 5),),
        """
%1 = iota {to="i32", shape=[3, 5], axis=1} : i32[3,5]
%2, %3 = sort %0, %1 {axis=1, order="descending"} : f32[3,5], i32[3,5]
%4 = slice %2 {start=[0, 0], limit=[3, 2], step=[1, 1]} : f32[3,2]
%5 = slice %3 {start=[0, 0], limit=[3, 2], step=[1, 1]} : i32[3,2]
return "out0" %4, "out1" %5
""",
    ),
    "max pooling": (
        lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (1, 2), (1, 2), "VALID"),
        (normal(3, 6),),
        """
%1 = slice %0 {start=[0, 0], limit=[3, 5], step=[1, 2]} : f32[3,3]
%2 = reshape %1 {shape=[3, 3, 1]} : f32[3,3,1]
%3 = slice %0 {start=[0, 1], limit=[3, 6], step=[1, 2]} : f32[3,3]
%4 = reshape %3 {shape=[3, 3, 1]} : f32[3,3,1]
%5 = concat %2, %4 {axis=2} : f32[3,3,2]
%6 = reduce %5 {axis=2, combine="max"} : f32[3,3]
return "out0" %6
""",
    ),
    "convolution": (
        lambda x, k: lax.conv_general_dilated(x, k, (2,), "SAME"),
        (
            normal(2, 3, 5),
            normal(4, 3, 2),
        ),
        """
%2 = constant {to="f32", value=0.0} : f32
%3 = pad %0, %2 {low=[0, 0, 0], high=[0, 0, 1], interior=[0, 0, 0]} : f32[2,3,6]
%4 = slice %0 {start=[0, 0, 0], limit=[2, 3, 5], step=[1, 1, 2]} : f32[2,3,3]
%5 = reshape %4 {shape=[2, 3, 3, 1]} : f32[2,3,3,1]
%6 = slice %3 {start=[0, 0, 1], limit=[2, 3, 6], step=[1, 1, 2]} : f32[2,3,3]
%7 = reshape %6 {shape=[2, 3, 3, 1]} : f32[2,3,3,1]
%8 = concat %5, %7 {axis=3} : f32[2,3,3,2]
%9 = reshape %8 {shape=[1, 2, 1, 3, 3, 2]} : f32[1,2,1,3,3,2]
%10 = transpose %9 {perm=[0, 2, 1, 4, 3, 5]} : f32[1,1,2,3,3,2]
%11 = reshape %10 {shape=[1, 6, 6]} : f32[1,6,6]
%12 = reshape %1 {shape=[1, 4, 6]} : f32[1,4,6]
%13 = transpose %12 {perm=[0, 2, 1]} : f32[1,6,4]
%14 = dot %11, %13 {acc="f32"} : f32[1,6,4]
%15 = reshape %14 {shape=[1, 2, 3, 4]} : f32[1,2,3,4]
%16 = transpose %15 {perm=[1, 0, 3, 2]} : f32[2,1,4,3]
%17 = reshape %16 {shape=[2, 4, 3]} : f32[2,4,3]
return "out0" %17
""",
    ),
    "saturating cast": (
        lambda x: x.astype(jnp.int8),
        (normal(3),),
        """
%1 = cast %0 {to="i8", overflow="saturate"} : i8[3]
return "out0" %1
""",
    ),
    "reduce with an initial value": (
        lambda x: lax.reduce(x, np.float32(2), lax.add, (1,)),
        (normal(3, 5),),
        """
%1 = constant {to="f32", value=2.0} : f32
%2 = reduce %0 {axis=1, combine="add"} : f32[3]
%3 = broadcast %1 {shape=[3], dims=[]} : f32[3]
%4 = add %3, %2 : f32[3]
return "out0" %4
""",
    ),
    "reduce by a region": (
        lambda x: lax.reduce(x, np.float32(2), lambda a, b: a * 0.5 + b, (1,)),
        (normal(3, 5),),
        """
%3 = constant {to="f32", value=2.0} : f32
%4 = broadcast %3 {shape=[3, 1], dims=[]} : f32[3,1]
%5 = concat %4, %0 {axis=1} : f32[3,6]
%6 = reduce %5 {axis=1, combine="region"} : f32[3] (
^(%1: f32, %2: f32):
  %7 = constant {to="f32", value=0.5} : f32
  %8 = mul %1, %7 : f32
  %9 = add %8, %2 : f32
  yield %9
)
return "out0" %6
""",
    ),
}


@pytest.mark.parametrize("construct", GOLDEN)
def test_the_lowering_of(construct: str) -> None:
    fn, args, wanted = GOLDEN[construct]
    assert text(lower(fn, *args)) == wanted.strip()
