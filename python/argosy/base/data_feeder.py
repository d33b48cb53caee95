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
    """Checks the type of an argument.

    Args:
        input (object): The argument.
        input_name (str): Its name, for the message.
        expected_type (type | tuple[type]): What it may be.
        op_name (str): Whose argument it is, for the message.
        extra_message (str): Ends the message.

    Raises:
        TypeError: It is something else.

    Example:
        >>> argosy.base.data_feeder.check_type(3, "axis", int, "sum")
    """
    if not isinstance(input, expected_type):
        raise TypeError(
            f"[{op_name}] {input_name}: expected {expected_type}, got {type(input)}. Do "
            f"this: convert it. {extra_message}"
        )


def check_dtype(input_dtype, input_name, expected_dtype, op_name, extra_message=""):
    """Checks a dtype.

    Args:
        input_dtype (dtype | str): It.
        input_name (str): Whose it is, for the message.
        expected_dtype (str | list[str]): Names of what it may be.
        op_name (str): Who asks, for the message.
        extra_message (str): Ends the message.

    Raises:
        TypeError: It is another one.

    Example:
        >>> argosy.base.data_feeder.check_dtype("float32", "x", ["float32", "float64"], "sum")
    """
    name = convert_dtype(input_dtype)
    expected = [expected_dtype] if isinstance(expected_dtype, str) else expected_dtype
    if name not in expected:
        raise TypeError(
            f"[{op_name}] {input_name}: expected one of the dtypes {expected}, got {name}. "
            f"Do this: cast it with .astype(..). {extra_message}"
        )


def check_variable_and_dtype(input, input_name, expected_dtype, op_name, extra_message=""):
    """Checks that an argument is a tensor of certain dtypes.

    Args:
        input (Tensor): The argument.
        input_name (str): Its name, for the message.
        expected_dtype (str | list[str]): Names of the dtypes.
        op_name (str): Whose argument it is, for the message.
        extra_message (str): Ends the message.

    Raises:
        TypeError: It is something else.

    Example:
        >>> argosy.base.data_feeder.check_variable_and_dtype(argosy.ones([2]), "x", ["float32"], "sum")
    """
    check_type(input, input_name, Tensor, op_name, extra_message)
    check_dtype(input.dtype, input_name, expected_dtype, op_name, extra_message)
