"""What capture raises, and the placeholder of a variable that has no value on some path."""

import os
import sys

_ARGOSY = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))) + os.sep


def _users_line():
    """(file, line) of the innermost running code that is not argosy's."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_ARGOSY):
        frame = frame.f_back
    return (frame.f_code.co_filename, frame.f_lineno) if frame else (None, None)


class CaptureError(RuntimeError):
    """Python code that cannot become a Program: `reason`, `filename` and `lineno` say what and where.

    A caller may fall back to running the function eagerly: capture changes no result, so the
    original function is always a correct substitute.
    """

    def __init__(self, reason, filename=None, lineno=None):
        if filename is None:
            filename, lineno = _users_line()
        where = f"{filename}:{lineno}: " if filename else ""
        super().__init__(f"[capture] {where}{reason}")
        self.reason = reason
        self.filename = filename
        self.lineno = lineno

    @classmethod
    def at(cls, function, reason):
        """The error for the statement that the lifted `function` was made from."""
        code = getattr(function, "__code__", None)
        if code is None:
            return cls(reason)
        return cls(reason, code.co_filename, code.co_firstlineno)


class UndefinedVariableError(CaptureError, NameError):
    """A variable is read that has a value only on some paths of a condition on tensors."""


class UndefinedVar:
    """Stands for a variable without a usable value after a condition or loop on tensors.

    Nothing happens while it is only passed around; every use raises UndefinedVariableError.
    """

    __slots__ = ("name", "reason", "place")

    def __init__(self, name, reason=None, place=None):
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "reason", reason or "it is not assigned yet")
        object.__setattr__(self, "place", place)

    def fail(self):
        """The error of using this variable."""
        code = getattr(self.place, "__code__", None)
        where = (code.co_filename, code.co_firstlineno) if code else (None, None)
        return UndefinedVariableError(
            f"variable '{self.name}' has no value here: {self.reason}. "
            "Do this: assign it before the statement, with equal types on all paths.",
            *where,
        )

    def __repr__(self):
        return f"<undefined variable '{self.name}': {self.reason}>"

    def __getattr__(self, attribute):
        # Protocol probes such as hasattr(x, "__array__") must stay probes.
        if attribute.startswith("__") and attribute.endswith("__"):
            raise AttributeError(attribute)
        raise self.fail()

    def __setattr__(self, attribute, value):
        raise self.fail()


def _raising(self, *args, **kwargs):
    raise self.fail()


for _method in (
    "add radd iadd sub rsub isub mul rmul imul matmul rmatmul truediv rtruediv itruediv floordiv "
    "rfloordiv ifloordiv mod rmod pow rpow neg pos abs invert and rand or ror xor rxor lshift "
    "rshift lt le gt ge eq ne bool int float index len iter next contains getitem setitem "
    "delitem call enter exit format str"
).split():
    setattr(UndefinedVar, f"__{_method}__", _raising)
# Equality is a use; identity is not, and sets of objects must still work.
UndefinedVar.__hash__ = object.__hash__
