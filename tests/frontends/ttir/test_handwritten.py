"""TTIR written by hand: truth values read as signed, every predicate, dense constants, odd control flow."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from equivalence.interpretations import ieee
from lowering.errors import Unsupported
from lowering.frontends.ttir import lower_kernel
from lowering.ir.program import Function, Op


def kernel(body: str, parameters: str = "%p: !tt.ptr<f32>") -> Function:
    text = f"module {{ tt.func public @k({parameters}) {{\n{body}\ntt.return\n}} }}"
    return lower_kernel(text, name="k", options={"enable_fp_fusion": False}, key="")


def ops(body: str, parameters: str) -> list[Op]:
    return kernel(body, parameters).body.ops[:-1]


def spelled(body: str, parameters: str) -> list[str]:
    """Op names with the attributes that decide their meaning."""
    keys = ("pred", "unordered", "to", "mode", "nan", "rounding", "value")
    return [
        " ".join([op.name, *(str(op.attrs[k]) for k in keys if k in op.attrs and op.attrs[k] not in ("rne", False))])
        for op in ops(body, parameters)
    ]


def test_attributes_name_the_level_and_the_contraction() -> None:
    assert kernel("").attrs == {"level": "ttir", "contract": False, "key": ""}


FLOAT_PREDICATES = {
    "oeq": "cmp eq",
    "ogt": "cmp gt",
    "oge": "cmp ge",
    "olt": "cmp lt",
    "ole": "cmp le",
    "one": "cmp ne True",  # a NaN makes it false
    "ueq": "cmp eq True",
    "ugt": "cmp gt True",
    "uge": "cmp ge True",
    "ult": "cmp lt True",
    "ule": "cmp le True",
    "une": "cmp ne",
}


@pytest.mark.parametrize("predicate", FLOAT_PREDICATES)
def test_float_predicates(predicate: str) -> None:
    body = f"%c = arith.cmpf {predicate}, %a, %b : f32"
    assert spelled(body, "%a: f32, %b: f32") == [FLOAT_PREDICATES[predicate]]


def test_ordered_and_unordered() -> None:
    assert spelled("%c = arith.cmpf ord, %a, %b : f32", "%a: f32, %b: f32") == ["cmp eq", "cmp eq", "and"]
    assert spelled("%c = arith.cmpf uno, %a, %b : f32", "%a: f32, %b: f32") == ["cmp ne", "cmp ne", "or"]


def test_constant_predicates() -> None:
    false, true = (ops(f"%c = arith.cmpf {p}, %a, %a : f32", "%a: f32")[0] for p in ("false", "true"))
    assert (false.attrs["value"], true.attrs["value"]) == (False, True)


def test_an_i1_read_as_signed_is_minus_one() -> None:
    assert spelled("%c = arith.extsi %a : i1 to i32", "%a: i1") == ["cast i32", "neg"]
    assert spelled("%c = arith.extui %a : i1 to i32", "%a: i1") == ["cast i32"]
    assert spelled("%c = arith.sitofp %a : i1 to f32", "%a: i1") == ["cast f32", "neg"]
    assert spelled("%c = arith.maxsi %a, %b : i1", "%a: i1, %b: i1") == ["and"]
    assert spelled("%c = arith.minsi %a, %b : i1", "%a: i1, %b: i1") == ["or"]


def test_signed_order_of_truth_values_is_turned_round() -> None:
    function = kernel("%c = arith.cmpi slt, %a, %b : i1", "%a: i1, %b: i1")
    compare = function.body.ops[0]
    assert (compare.attrs["pred"], compare.operands) == ("lt", function.params[::-1])


def test_truncation_to_i1_takes_the_low_bit() -> None:
    assert spelled("%c = arith.trunci %a : i32 to i1", "%a: i32") == ["constant i32 1", "and", "cast i1"]


def test_rounding_of_narrowings() -> None:
    assert spelled("%c = arith.truncf %a to_nearest_even : f32 to f16", "%a: f32") == ["cast f16"]
    assert spelled("%c = arith.truncf %a toward_zero : f32 to f16", "%a: f32") == ["cast f16 rtz"]
    assert spelled("%c = tt.fp_to_fp %a, rounding = rtz : f32 -> f16", "%a: f32") == ["cast f16 rtz"]


@pytest.mark.parametrize("element", ["f64", "f32", "i32", "i64", "i8", "i1"])
def test_dense_constants_keep_their_lanes(element: str) -> None:
    lanes = {"i1": [True, False, True]}.get(element, [3, -5, 7])
    spelling = [str(v).lower() if element[0] == "i" else f"{v}.0" for v in lanes]
    (op,) = ops(f"%c = arith.constant dense<[{', '.join(spelling)}]> : tensor<3x{element}>", "%a: i32")
    assert op.attrs["to"] == element
    np.testing.assert_array_equal(op.attrs["value"].astype(np.float64), np.array(lanes, np.float64))


def test_dense_constants_that_the_bindings_cannot_read_are_refused() -> None:
    with pytest.raises(Unsupported, match="constant dense"):
        kernel("%c = arith.constant dense<[1.0, 2.0]> : tensor<2xbf16>")


def test_dense_constants_of_two_dimensions_are_row_major() -> None:
    (op,) = ops("%c = arith.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>", "%a: i32")
    assert op.attrs["value"].tolist() == [[1, 2, 3], [4, 5, 6]]


def test_splat_constants_stay_numbers() -> None:
    (op,) = ops("%c = arith.constant dense<0xFF800000> : tensor<3x5xf32>", "%a: i32")
    assert (op.attrs["value"], op.attrs["shape"]) == (-float("inf"), (3, 5))


def test_masked_load_without_other_keeps_two_operands() -> None:
    (load,) = ops("%v = tt.load %p, %m : !tt.ptr<f32>", "%p: !tt.ptr<f32>, %m: i1")
    assert len(load.operands) == 2


def test_a_pointer_to_i1_steps_by_bytes() -> None:
    (op,) = ops("%q = tt.addptr %p, %i : !tt.ptr<i1>, i32", "%p: !tt.ptr<i1>, %i: i32")
    assert op.attrs["bytes"] == 1


def test_division_and_square_root_are_exact_only_in_f64() -> None:
    for element, accuracy in (("f32", "declared"), ("f64", "exact")):
        for body in (f"%c = arith.divf %a, %a : {element}", f"%c = math.sqrt %a : {element}"):
            (op,) = ops(body, f"%a: {element}")
            assert op.attrs["accuracy"] == accuracy


def test_unsigned_loop_counts_unsigned() -> None:
    parameters = "%n: i32, %p: !tt.ptr<i32>"
    body = "scf.for unsigned %i = %n to %n step %n : i32 {\ntt.store %p, %i : !tt.ptr<i32>\n}"
    loop = ops(body, parameters)[-1]
    assert [v.type.dtype.name for v in loop.operands] == ["u32"] * 3
    assert loop.regions[0].ops[0].name == "bitcast"


def test_fast_math_is_refused() -> None:
    with pytest.raises(Unsupported, match="fastmath"):
        kernel("%c = arith.addf %a, %a fastmath<reassoc> : f32", "%a: f32")


def test_loops_of_branches_are_refused() -> None:
    with pytest.raises(Unsupported, match=r"loop of cf\.br"):
        kernel("cf.br ^a\n^a:\ncf.cond_br %c, ^a, ^b\n^b:", "%c: i1")


def test_branches_that_meet_pass_their_arguments() -> None:
    body = "cf.cond_br %c, ^m(%a : f32), ^m(%b : f32)\n^m(%x: f32):\ntt.store %p, %x : !tt.ptr<f32>"
    function = kernel(body, "%c: i1, %a: f32, %b: f32, %p: !tt.ptr<f32>")
    branch, store = function.body.ops[:2]
    assert branch.name == "if" and store.operands[1] is branch.results[0]
    assert [region.ops[-1].operands for region in branch.regions] == [[function.params[1]], [function.params[2]]]


def test_promises_about_tensors_are_noted() -> None:
    """tl.multiple_of, max_contiguous and max_constancy leave attributes."""
    promised = "{tt.divisibility = dense<16> : tensor<1xi32>, tt.constancy = dense<[4, 1]> : tensor<2xi32>}"
    body = "%n = tt.make_range {end = 16 : i32, start = 0 : i32} : tensor<16xi32>\n"
    [note] = kernel(f"{body}%0 = arith.muli %n, %n {promised} : tensor<16xi32>").attrs["notes"]
    assert "multiple_of(16), max_constancy(4, 1): not checked" in note
    assert "notes" not in kernel("%0 = arith.muli %n, %n : i32", "%n: i32 {tt.divisibility = 16 : i32}").attrs


def test_promises_about_whole_numbers_are_operations() -> None:
    *_, promise = ops("%0 = arith.muli %n, %n {tt.divisibility = dense<16> : tensor<1xi32>} : i32", "%n: i32")
    assert (promise.name, promise.attrs["what"]) == ("promise", "tl.multiple_of(16)")
    [assumed] = ops("llvm.intr.assume %c : i1", "%c: i1")
    assert (assumed.name, assumed.attrs["kind"]) == ("promise", "promise")
    [asserted] = ops('tt.assert %c, "in range" : i1', "%c: i1")
    assert asserted.attrs["kind"] == "assert" and "in range" in asserted.attrs["what"]
    assert [op.name for op in ops("%0 = arith.muli %n, %n : i32", "%n: i32")] == ["mul"]


TO_INTEGERS = {
    "__nv_llrintf": ("f32", "i64", "round even"),
    "__nv_llround": ("f64", "i64", "round away"),
    "__nv_float2int_rn": ("f32", "i32", "round even"),
    "__nv_double2ll_rd": ("f64", "i64", "round floor"),
    "__nv_float2int_ru": ("f32", "i32", "round ceil"),
}


@pytest.mark.parametrize("symbol", TO_INTEGERS)
def test_libdevice_conversions_to_integers(symbol: str) -> None:
    source, target, rounded = TO_INTEGERS[symbol]
    attributes = f'libname = "", libpath = "", pure = true, symbol = "{symbol}"'
    body = f"%c = tt.extern_elementwise %a {{{attributes}}} : ({source}) -> {target}"
    assert spelled(body, f"%a: {source}") == [rounded, f"cast {target}"]
    cast = ops(body, f"%a: {source}")[-1]
    assert cast.attrs["overflow"] == "saturate"


def extern(symbol: str, operands: str, types: str) -> str:
    attributes = f'libname = "", libpath = "", pure = true, symbol = "{symbol}"'
    return f"%c = tt.extern_elementwise {operands} {{{attributes}}} : ({types}) -> f32"


@pytest.mark.parametrize(("symbol", "rounding"), [("rz", "rtz"), ("ru", "rtp"), ("rd", "rtn")])
def test_directed_division(symbol: str, rounding: str) -> None:
    """2 / 3 is 0.6666... : its neighbours differ, and neither is the quotient rounded to nearest for both signs."""
    (quotient,) = ops(extern(f"__nv_fdiv_{symbol}", "%a, %b", "f32, f32"), "%a: f32, %b: f32")
    assert (quotient.name, quotient.attrs["rounding"]) == ("div", rounding)
    for a in (2.0, -2.0):
        exact, operands = Fraction(int(a), 3), (np.array([a], np.float32), np.array([3.0], np.float32))
        result = Fraction(float(ieee.combine("div", quotient.attrs, quotient.results[0].type.dtype, *operands)[0]))
        assert abs(result - exact) < abs(exact) * Fraction(1, 2**23)
        assert {"rtz": abs(result) < abs(exact), "rtp": result > exact, "rtn": result < exact}[rounding]


def test_whole_powers() -> None:
    assert spelled(extern("__nv_powif", "%a, %n", "f32, i32"), "%a: f32, %n: i32") == ["cast f32", "math"]
