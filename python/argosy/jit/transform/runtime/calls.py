"""Calls: user functions are rewritten when called, some builtins learn about Programs."""

import builtins
import functools
import os
import types

from argosy._capturing import exact_numbers, refuse
from argosy.jit import numbers, reads

from ..errors import CaptureError
from . import builders, iterables
from .arrays import TensorList

_STANDARD = os.path.dirname(os.__file__) + os.sep
_ignored = set()
_NOTHING = object()


def ignore_module(modules):
    """Lets captured functions call the functions of some modules as they are.

    Args:
        modules (module | str | list): Modules or packages, or their names.

    Example:
        >>> import json
        >>> argosy.jit.ignore_module([json])
    """
    modules = modules if isinstance(modules, (list, tuple, set)) else [modules]
    _ignored.update(m if isinstance(m, str) else m.__name__ for m in modules)


def is_library(function):
    """Is the function argosy's, NumPy's, the standard library's, or of an ignored module?"""
    module = getattr(function, "__module__", None) or ""
    if module.partition(".")[0] in reads.TRACED:
        return True
    code = getattr(function, "__code__", None)
    if code is not None and code.co_filename.startswith(_STANDARD):
        # What a decorator of the standard library makes leads to the user's function.
        inside = code.co_filename[len(_STANDARD) :]
        if not inside.startswith(("site-packages", "dist-packages")):
            return not hasattr(function, "__wrapped__")
    while module and _ignored:
        if module in _ignored:
            return True
        module = module.rpartition(".")[0]
    return False


def call(function):
    """What to call instead of `function` inside rewritten code."""
    made = _replacement(function)
    unseen = made is function and numbers.opening()
    if exact_numbers() and _is_of_tensors(function):
        made = builders.made_numbers().taking_tensors(made)
    return numbers.guarded(made) if unseen else made


def _is_of_tensors(function):
    """Whether it is a function of the library, or a method of a tensor, that computes."""
    if isinstance(function, (types.MethodType, types.BuiltinMethodType)) and builders.is_tensor(
        function.__self__
    ):
        return getattr(function, "__name__", "") not in ("item", "numpy", "tolist")
    module = getattr(function, "__module__", None)
    return isinstance(module, str) and module.partition(".")[0] == "argosy"


def _replacement(function):
    kind = type(function)
    if kind is types.FunctionType:
        return _function(function)
    if kind is types.MethodType:
        reads.note_object(function.__self__)
        if type(function.__func__) is not types.FunctionType:
            return function
        if function.__func__.__name__ in _READERS and builders.decides(function.__self__):
            return functools.partial(_READERS[function.__func__.__name__], function.__self__)
        made = _function(function.__func__)
        return function if made is function.__func__ else types.MethodType(made, function.__self__)
    if kind is types.BuiltinFunctionType or kind is type:
        try:
            made = _BUILTINS.get(function, function)
        except TypeError:  # a builtin method of an object that cannot be hashed
            return function
        if made is not function or kind is not type:
            return made
    reads.note_object(function)
    if isinstance(function, type):
        if not is_library(function):
            reads.note_function(function.__init__, False)
            return _making(function) if reads.reads_of_thread() is not None else function
        return function
    if kind is functools.partial:
        made = call(function.func)
        if made is function.func:
            return function
        return functools.partial(made, *function.args, **function.keywords)
    return _instance(function)


def _making(kind):
    """A class of the user, of whose new object the capture under way is told."""

    def make(*args, **kwargs):
        made = kind(*args, **kwargs)
        reads.note_made(made)
        return made

    return numbers.guarded(make) if numbers.opening() else make


def _function(function):
    from .. import transform, why_not

    if getattr(function, "_argosy_not_to_static", False):
        reads.note_function(function, False)
        return function
    if is_library(function):
        return _taking_lists(function)
    made = transform(function)
    reads.note_function(function, made is not function or why_not(function) is None)
    return made


def _mark(x, name):
    """An attribute of an object, whatever its class makes of unknown ones."""
    try:
        return getattr(x, name, None)
    except Exception:
        return None


def _instance(x):
    """A callable object: a Layer, a wrapper made by to_static, or any with a __call__ of its own."""
    if _mark(x, "_argosy_not_to_static"):
        return x
    original = _mark(x, "_argosy_original")
    if original is not None:
        return call(original)
    if builders.is_layer(x):
        return functools.partial(_call_layer, x)
    method = getattr(type(x), "__call__", None)
    if type(method) is not types.FunctionType or is_library(method):
        return x
    made = _function(method)
    return x if made is method else types.MethodType(made, x)


# --- layers ---


class converted_forwards:
    """While it is open, the user's forward methods of a layer and its sublayers are rewritten ones.

    A layer calls self.forward between its hooks, and containers call layers; so the rewritten
    method has to be found on the layer itself.
    """

    def __init__(self, layer):
        self._layer = layer
        self._changed = []

    def __enter__(self):
        for x in self._layer.sublayers(include_self=True):
            reads.note_hooks(x)
            forward = x.forward
            original = getattr(forward, "_argosy_original", None)
            if original is not None:
                forward = original
            made = call(forward)
            if made is not x.forward:
                self._changed.append((x, x.__dict__.get("forward")))
                x.__dict__["forward"] = made
        return self

    def __exit__(self, *exc):
        for x, old in reversed(self._changed):
            if old is None:
                del x.__dict__["forward"]
            else:
                x.__dict__["forward"] = old
        self._changed.clear()
        return False


def _call_layer(layer, *args, **kwargs):
    with converted_forwards(layer):
        return call(type(layer).__call__)(layer, *args, **kwargs)


# --- lists that a Program fills, as arguments of library functions ---

_LIST_FUNCTIONS = {"stack": True, "concat": False}


def _taking_lists(function):
    stack = _LIST_FUNCTIONS.get(function.__name__)
    if stack is None or (function.__module__ or "").partition(".")[0] != "argosy":
        return function

    @functools.wraps(function)
    def on_list(x, axis=0, name=None):
        if isinstance(x, TensorList):
            return builders.array_stack(x.array, axis, stack)
        return function(x, axis, name)

    return on_list


# --- builtins ---


def _len(x):
    if isinstance(x, TensorList):
        return x.length()
    if isinstance(x, iterables.SymbolicIterable):
        return x.length
    if builders.is_symbolic(x) and len(x.shape) and x.shape[0] < 0:
        return builders.size(x, 0)
    return builtins.len(x)


def _casting(python, dtype):
    def convert(*args, **kwargs):
        if len(args) == 1 and not kwargs and builders.decides(args[0]):
            if exact_numbers():
                return builders.made_numbers().made(args[0], python)
            return builders.cast(args[0], dtype)
        return python(*args, **kwargs)

    return convert


def _print(*values, **options):
    if exact_numbers():
        refuse(CaptureError("it prints"))  # each call does, in the form of eager tensors
    if any(map(builders.is_symbolic, values)):
        builders.print_(values)
    else:
        builtins.print(*values, **options)


def _item(x, *index):
    """x.item(..): one element, a value of the Program."""
    if len(index) > 1:
        return builders.made_numbers().made(x[index])
    if index:
        return builders.made_numbers().made(builders.reshape(x, [-1])[index[0]])
    if not exact_numbers():
        return builders.reshape(x, [])
    if x.size != 1:
        refuse(CaptureError("it calls item() of a tensor of more than one element"))
    return builders.made_numbers().made(x)


def _numpy(x, *args):
    """x.numpy() stands for x as far as operators go; what needs an array refuses it."""
    if exact_numbers():
        refuse(CaptureError("it makes an array of a tensor, which only a run knows"))
    return x


_READERS = {"item": _item, "numpy": _numpy}


def _of_numbers(function):
    return numbers.guarded(function) if numbers.opening() else function


def _isinstance(x, kinds):
    kind = builders.made_numbers().made_kind(x) if exact_numbers() else None
    if kind is None:
        return _of_numbers(builtins.isinstance)(x, kinds)
    return issubclass(kind, kinds)


def _type(*args):
    kind = (
        builders.made_numbers().made_kind(args[0]) if exact_numbers() and len(args) == 1 else None
    )
    return _of_numbers(builtins.type)(*args) if kind is None else kind


def _text(x=_NOTHING, *args, **kwargs):
    if exact_numbers() and builders.decides(x):
        refuse(CaptureError("it makes a text of a tensor, which only a run knows"))
    return _of_numbers(builtins.str)(*(() if x is _NOTHING else (x,)), *args, **kwargs)


def _getattr(x, name, *default):
    if type(name) is str:
        reads.note_attribute(x, name)
    return builtins.getattr(x, name, *default)


def _hasattr(x, name):
    if type(name) is str:
        reads.note_attribute(x, name)
    return builtins.hasattr(x, name)


def _setattr(x, name, value):
    if type(name) is str:
        reads.note_set(x, name)
    builtins.setattr(x, name, value)


def _extreme(python, name):
    def choose(*args, **kwargs):
        values = args[0] if len(args) == 1 and isinstance(args[0], (list, tuple)) else args
        if not kwargs and len(values) > 1 and any(map(builders.decides, values)):
            kinds = set(map(builders.number_kind, values))
            if len(kinds) > 1:
                refuse(
                    CaptureError(
                        f"{name} chooses among tensors and numbers, which only a run knows"
                    )
                )
            result = values[0]
            for v in values[1:]:
                result = builders.extreme(name, result, v)
            return builders.tagged(result, kinds.pop())
        return python(*args, **kwargs)

    return choose


def _quantified(python, combine):
    def holds(values):
        if isinstance(values, (list, tuple)) and any(map(builders.decides, values)):
            result = values[0]
            for v in values[1:]:
                result = combine(result, v)
            return builders.made_numbers().made(result, bool)
        return python(values)

    return holds


def _applied(python):
    def apply(function, *iterables):
        return python(call(function) if callable(function) else function, *iterables)

    return apply


_BUILTINS = {
    len: _len,
    range: iterables.range_,
    enumerate: iterables.enumerate_,
    zip: iterables.zip_,
    reversed: iterables.reversed_,
    print: _print,
    isinstance: _isinstance,
    type: _type,
    str: _text,
    int: _casting(int, "int32"),
    float: _casting(float, "float32"),
    bool: _casting(bool, "bool"),
    max: _extreme(max, "maximum"),
    min: _extreme(min, "minimum"),
    all: _quantified(all, lambda a, b: builders.both(a, b)),
    any: _quantified(any, lambda a, b: builders.either(a, b)),
    getattr: _getattr,
    hasattr: _hasattr,
    setattr: _setattr,
    map: _applied(map),
    filter: _applied(filter),
}


_OF_EAGER_TENSORS = {"is_leaf", "grad_fn", "inplace_version"}


def attr(x, name):
    """x, whose attribute `name` is read next."""
    if name in _OF_EAGER_TENSORS and exact_numbers() and builders.decides(x):
        refuse(CaptureError(f"it asks for {name} of a tensor, which a Program does not know"))
    reads.note_attribute(x, name)
    return x


def setting(x, name):
    """x, whose attribute `name` is set next."""
    reads.note_set(x, name)
    return x


def shape(x):
    """x.shape; sizes that a Program decides are values of it."""
    reads.note_attribute(x, "shape")
    sizes = x.shape
    if builders.is_symbolic(x) and any(d < 0 for d in sizes):
        return [builders.size(x, i) if d < 0 else d for i, d in enumerate(sizes)]
    return sizes


def size(x):
    """x.size; the number of elements may be a value of a Program."""
    if builders.is_symbolic(x) and any(d < 0 for d in x.shape):
        return builders.numel(x)
    reads.note_attribute(x, "size")
    return x.size
