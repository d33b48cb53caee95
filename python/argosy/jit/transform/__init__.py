"""Source transformation: functions whose control flow a Program can decide.

transform(f) returns a function that behaves like f on Python values and concrete tensors, and, when a
value of a Program decides an `if`, a loop, `and`, `or`, ..., appends control flow to the Program.
docs/capture.md says what is covered.
"""

import types

from .errors import CaptureError, UndefinedVar, UndefinedVariableError
from .runtime.calls import converted_forwards, ignore_module
from .runtime.state import checked_outputs

__all__ = [
    "CaptureError",
    "UndefinedVar",
    "UndefinedVariableError",
    "checked_outputs",
    "converted_forwards",
    "ignore_module",
    "transform",
    "why_not",
]


def transform(function):
    """The rewritten function or method; `function` itself where it is left alone (see why_not).

    The result shares globals, defaults and closure cells with the original, and reports its file
    and lines. The work is done once for each code object.
    """
    if isinstance(function, types.MethodType):
        made = transform(function.__func__)
        if made is function.__func__:
            return function
        return types.MethodType(made, function.__self__)
    if not isinstance(function, types.FunctionType):
        return function
    from . import runtime
    from .source import Untransformable, new_code, with_code

    try:
        code = new_code(function)
    except Untransformable:
        return function
    if code is function.__code__:
        return function
    return with_code(function, code, runtime)


def why_not(function):
    """The reason why transform() leaves a function as it is, or None."""
    function = getattr(function, "__func__", function)
    if not isinstance(function, types.FunctionType):
        return f"it is a {type(function).__name__}, not a Python function"
    from .source import Untransformable, new_code

    try:
        new_code(function)
    except Untransformable as e:
        return str(e)
    return None
