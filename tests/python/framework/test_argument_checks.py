"""Checks that user's layers call while a Program is built."""

import pytest

import argosy
from argosy.base import data_feeder


def test_a_program_is_checked():
    argosy.enable_static()
    try:
        with argosy.static.program_guard(argosy.static.Program()):
            x = argosy.static.data("x", [2], "float32")
            data_feeder.check_variable_and_dtype(x, "x", ["float32"], "op")
            data_feeder.check_type(3, "axis", (int, str), "op")
            with pytest.raises(
                TypeError, match=r"\[op\] x: expected .*str.*, got .*int.* Do this: convert it"
            ):
                data_feeder.check_type(3, "x", str, "op")
            with pytest.raises(
                TypeError, match=r"x: expected one of the dtypes \['int64'\], got float32"
            ):
                data_feeder.check_variable_and_dtype(x, "x", "int64", "op")
            with pytest.raises(TypeError, match="x: expected .*Tensor.*, got .*list"):
                data_feeder.check_variable_and_dtype([1], "x", "int64", "op")
    finally:
        argosy.disable_static()


def test_what_runs_at_once_is_not():
    assert data_feeder.check_type(3, "x", str, "op") is None
    assert data_feeder.check_dtype("int32", "x", ["float32"], "op") is None
    assert data_feeder.check_variable_and_dtype([1], "x", ["float32"], "op") is None
