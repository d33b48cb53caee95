"""while and for."""

from ..errors import CaptureError
from . import builders
from .branches import branch_on_code, then
from .iterables import as_symbolic
from .signals import BREAK, BREAK_CODE, CONTINUE, CONTINUE_CODE, NEXT, Undecided
from .symbolic_loop import symbolic_loop


def _after(signal, orelse, state):
    """The signal of a loop statement from the signal with which its iterations ended.

    A break among the iterations ends here; one in the else clause is of the loop around.
    """
    if orelse is None:
        return _without_break(signal)
    if signal is None:
        return orelse()
    if not isinstance(signal, Undecided) or NEXT not in signal.codes:
        return _without_break(signal)
    return branch_on_code(signal, orelse, lambda: _without_break(signal.without(NEXT)), state)


def _without_break(signal):
    if isinstance(signal, Undecided):
        return signal.mapped(BREAK_CODE)
    return None if signal is BREAK else signal


def while_(jumping, test, body, orelse, state, safe):
    """The statement `while`; returns None, or the signal of a return inside it.

    As long as the test is a Python value the loop runs here and so unrolls into a Program. From the
    first test (or break) that a Program decides on, the rest of it becomes one loop of the Program.
    """
    while True:
        held = test()
        if builders.decides(held):
            signal = symbolic_loop(
                lambda i: test(), lambda i: body(), state, body, jumping, safe, held=held
            )
            return _after(signal, orelse, state)
        if not held:
            return None if orelse is None else orelse()
        signal = body()
        if signal is None or signal is CONTINUE:
            continue
        if signal is BREAK:
            return None
        if not isinstance(signal, Undecided):
            return signal
        signal = signal.mapped(CONTINUE_CODE)
        if signal is None:
            continue
        if NEXT in signal.codes:
            signal = symbolic_loop(
                lambda i: test(), lambda i: body(), state, body, True, safe, signal
            )
        return _after(signal, orelse, state)


def for_(jumping, iterable, body, orelse, state):
    """The statement `for`; returns None, or the signal of a return inside it."""
    symbolic = as_symbolic(iterable)
    if symbolic is not None:
        length = symbolic.length
        signal = symbolic_loop(
            lambda i: i < length,
            lambda i: body(symbolic.item(i)),
            state,
            body,
            jumping,
            True,
            counted=True,
        )
        return _after(signal, orelse, state)
    items = iter(iterable)
    for item in items:
        signal = body(item)
        if signal is None or signal is CONTINUE:
            continue
        if signal is BREAK:
            return None
        if not isinstance(signal, Undecided):
            return signal
        signal = signal.mapped(CONTINUE_CODE)
        if signal is not None:
            return _after(_guarded(signal, iterable, items, body, state), orelse, state)
    return None if orelse is None else orelse()


def _ends(iterator):
    """Is it known that an iterator ends? enumerate and zip tell what they walk when pickled."""
    if type(iterator) is enumerate:
        return _ends(iterator.__reduce__()[1][0])
    if type(iterator) is zip:
        return any(map(_ends, iterator.__reduce__()[1]))
    return hasattr(iterator, "__length_hint__")


def _guarded(signal, iterable, items, body, state):
    """The other iterations of a Python loop that a Program may have left already."""
    if not hasattr(iterable, "__len__") and not _ends(items):
        raise CaptureError.at(
            body,
            "a condition on tensors decides about leaving a loop over "
            f"{type(iterable).__name__}, whose length is not known. Do this: loop over a list.",
        )
    for item in items:
        signal = then(signal, lambda: body(item), state)
        if isinstance(signal, Undecided):
            signal = signal.mapped(CONTINUE_CODE)
        elif signal is CONTINUE:
            signal = None
        if signal is not None and NEXT not in signal.codes:
            break
    return signal
