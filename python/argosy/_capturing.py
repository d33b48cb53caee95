"""Whether a function is being captured as a Program: what rooms above and below capture know of it."""

import contextlib
import threading

from argosy import _core


class _Thread(threading.local):
    capturing = 0  # functions, one called by the other
    exchanging = None  # of the outermost: layers that exchange gradients between processes
    exact = False  # numbers made of tensors are Python's
    refusal = None  # the first error that ends the capture
    reads = None  # what the function that is captured reads of Python's state (jit.reads)


_thread = _Thread()


class _World:
    epoch = object()  # another one after each change of an attribute of any Layer


world = _World()


def reads_of_thread():
    """What collects the reads of the function that is captured on this thread, or None."""
    return _thread.reads


def set_reads_of_thread(reads):
    """Sets what collects them."""
    _thread.reads = reads


def exact_numbers():
    """Whether a function is captured on this thread whose numbers made of tensors are to be Python's."""
    return _thread.exact


def refuse(error):
    """Raises an error, which ends the capture under way also where the function catches it."""
    _thread.refusal = _thread.refusal or error
    raise error


@contextlib.contextmanager
def making_numbers_exact(exact):
    """While it is open, see exact_numbers. What `refuse` was told ends it."""
    before = _thread.exact, _thread.refusal
    _thread.exact, _thread.refusal = exact, None
    try:
        yield
        if _thread.refusal is not None:
            raise _thread.refusal
    finally:
        _thread.exact, _thread.refusal = before


def note_computed(owner, get, name):
    """get(), of an object of the library's own: the Program of the capture under way, if any, holds as long as
    it gives the same."""
    value = get()
    if _thread.reads is not None:
        _thread.reads.computed(owner, get, name, value)
    return value


def capturing():
    """Whether a function is being captured on this thread."""
    return _thread.capturing > 0


@contextlib.contextmanager
def recording(program):
    """Records the ops of a block into a core Program."""
    _core.program_capture(program)
    _thread.capturing += 1
    try:
        yield
    finally:
        _thread.capturing -= 1
        _core.program_end()


@contextlib.contextmanager
def noting():
    """Collects the layers that exchange gradients between processes (distributed.DataParallel) and run
    while a function is captured: what runs the Program lets each `_begin_pass` every time, or averages
    gradients in the Program by its `_exchange`."""
    before, _thread.exchanging = _thread.exchanging, []
    try:
        yield _thread.exchanging
    finally:
        _thread.exchanging = before


def note(layer):
    """Tells `noting` of a layer."""
    layers = _thread.exchanging
    if layers is not None and all(layer is not known for known in layers):
        layers.append(layer)
