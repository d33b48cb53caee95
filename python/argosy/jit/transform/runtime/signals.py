"""How an inner function ended: None at its end, or BREAK, CONTINUE, Return(value), or undecided."""

from ..errors import CaptureError, UndefinedVar
from . import builders

NEXT, CONTINUE_CODE, BREAK_CODE, RETURN = 0, 1, 2, 3


class Jump:
    """break or continue."""

    __slots__ = ("code",)

    def __init__(self, code):
        self.code = code

    codes = property(lambda self: {self.code})


BREAK = Jump(BREAK_CODE)
CONTINUE = Jump(CONTINUE_CODE)


class Return:
    """return value"""

    __slots__ = ("value",)
    code = RETURN
    codes = {RETURN}

    def __init__(self, value):
        self.value = checked(value)


class Undecided:
    """A value of the Program says which of `codes` it was; `value` is valid if it was RETURN."""

    __slots__ = ("code", "codes", "value")

    def __init__(self, code, codes, value=None):
        self.code, self.codes, self.value = code, set(codes), value

    def without(self, *codes):
        """The signal in a place where it is known to be none of `codes`."""
        return made(self.code, self.codes - set(codes), self.value)

    def mapped(self, old):
        """The signal with code `old` as NEXT: a continue at the end of a body, a break after a loop."""
        if old not in self.codes:
            return self
        codes = (self.codes - {old}) | {NEXT}
        if codes == {NEXT}:
            return None
        dtype = self.code.dtype
        zero = builders.constant(NEXT, dtype)
        code = builders.select(self.code == builders.constant(old, dtype), zero, self.code)
        return Undecided(code, codes, self.value)


class Abort:
    """The branch raised `error` by a raise statement: nothing after it runs."""

    __slots__ = ("error",)
    code = NEXT
    codes = frozenset()

    def __init__(self, error):
        self.error = error


def raised(error, handled):
    """The operand of a raise statement, marked if a Program may decide whether it is reached."""
    if not builders.recording():
        return error
    if isinstance(error, type) and issubclass(error, BaseException):
        error = error()
    if isinstance(error, BaseException) and not isinstance(error, CaptureError):
        error._argosy_raised = "handled" if handled else "raised"
    return error


def abort(error, place):
    """The signal for what a traced branch raised: the Program raises ValueError there. Errors that
    no raise statement made go on."""
    mark = getattr(error, "_argosy_raised", None)
    if mark is None:
        raise error
    if mark == "handled":
        raise CaptureError.at(
            place, "a condition on tensors decides whether an exception is raised inside of a `try`"
        )
    builders.check(False, f"{type(error).__name__}: {error}")
    return Abort(error)


def made(code, codes, value):
    """A signal of the plainest kind that `codes` allow."""
    if len(codes) > 1:
        return Undecided(code, codes, value)
    only = next(iter(codes))
    if only == RETURN:
        return Return(value)
    return {NEXT: None, CONTINUE_CODE: CONTINUE, BREAK_CODE: BREAK}[only]


def has_value(signal):
    """Does a signal carry a return value?"""
    return signal is not None and RETURN in signal.codes


def codes_of(signal):
    """The codes that a signal may have."""
    return {NEXT} if signal is None else signal.codes


def code_tensor(signal):
    """The code as an int64 tensor."""
    if isinstance(signal, Undecided):
        return signal.code
    code = NEXT if signal is None else signal.code
    return builders.constant(code, builders.number_dtype(0))


def checked(value):
    """A value that leaves a function must be one."""
    if type(value) is UndefinedVar:
        raise value.fail()
    return value


def result(signal):
    """What a function returns for its last signal."""
    if signal is None:
        return None
    if isinstance(signal, Undecided) and signal.value is not None:
        raise CaptureError(
            "a condition on tensors decides whether the function returns a value or ends without "
            "one. Do this: return a value of the same structure on every path."
        )
    return direct(signal).value if not isinstance(signal, Undecided) else None


def direct(signal):
    """A signal at a place where what follows cannot wait for a Program to decide."""
    if isinstance(signal, Undecided):
        raise CaptureError(
            "a condition on tensors decides about a jump out of a `try` with `else`, or out of "
            "`finally`. Do this: set a variable there and jump after the statement."
        )
    return signal
