"""Checks of arguments that programs call."""

from __future__ import annotations

from argosy import _core
from argosy._core import Tensor

__all__ = []


def convert_dtype(dtype):
    """The name of a dtype: ``'float32'`` for a dtype object, a NumPy dtype or a string.

    Raises:
        TypeError: there is no such dtype.
    """
    name = dtype.__name__ if isinstance(dtype, type) else str(dtype).rsplit(".", 1)[-1]
    if not isinstance(getattr(_core, name, None), _core.dtype):
        raise TypeError(
            f"[convert_dtype] expected a dtype of the package or its name, got {dtype!r}. "
            "Do this: use e.g. 'float32'."
        )
    return name


def check_type(input, input_name, expected_type, op_name, extra_message=""):
    """Raise TypeError unless ``input`` is an instance of ``expected_type``."""
    if not isinstance(input, expected_type):
        raise TypeError(
            f"[{op_name}] {input_name}: expected {expected_type}, got {type(input)}. Do "
            f"this: convert it. {extra_message}"
        )


def check_dtype(input_dtype, input_name, expected_dtype, op_name, extra_message=""):
    """Raise TypeError unless a dtype is one of ``expected_dtype``."""
    name = convert_dtype(input_dtype)
    expected = [expected_dtype] if isinstance(expected_dtype, str) else expected_dtype
    if name not in expected:
        raise TypeError(
            f"[{op_name}] {input_name}: expected one of the dtypes {expected}, got {name}. "
            f"Do this: cast it with .astype(..). {extra_message}"
        )


def check_variable_and_dtype(input, input_name, expected_dtype, op_name, extra_message=""):
    """Raise TypeError unless ``input`` is a tensor with one of the dtypes."""
    check_type(input, input_name, Tensor, op_name, extra_message)
    check_dtype(input.dtype, input_name, expected_dtype, op_name, extra_message)
