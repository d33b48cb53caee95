"""to_static: functions and layers that run as captured Programs."""

import dataclasses
import functools
import inspect
import types
import warnings
import weakref

from argosy import _core
from argosy._framework import in_dynamic_mode
from argosy._support import is_operand, no_effect, unsupported
from argosy.amp._state import key as autocast_key
from argosy.static.compiled import BuildStrategy
from argosy.static.input import InputSpec
from argosy.utils.layers_utils import flatten, pack_sequence_as

from . import capture as _capture
from .numbers import (
    Decided,
    OpenNumber,
    Varying,
    all_gone,
    as_feed,
    dtype_of,
    identity,
    may_be_open,
    open_numbers,
)
from .program_cache import ProgramCache
from .signatures import Arguments, told_apart
from .switches import ENV_ENABLE_SOT
from .transform import CaptureError, ignore_module, why_not

__all__ = [
    "StaticFunction",
    "enable_to_static",
    "ignore_module",
    "not_to_static",
    "set_code_level",
    "set_verbosity",
    "to_static",
]

_enabled = True
MOST_FORMS = 64  # specializations that a function keeps, the newest
MOST_NUMBERS = 16  # of them that differ in nothing but Python numbers
MOST_STATES = 8  # of one form, that differ in the Python state that the function read
MOST_WRITING = 3  # captures of one form that each changed the state that they read


def enable_to_static(enable_to_static_bool):
    """Switches all captured functions between running as Programs and as Python.

    Args:
        enable_to_static_bool (bool): True for Programs.

    Raises:
        TypeError: It is no bool.

    Example:
        >>> argosy.jit.enable_to_static(False)
        >>> double = argosy.jit.to_static(lambda x: x * 2)
        >>> double(3)
        6
    """
    global _enabled
    if not isinstance(enable_to_static_bool, bool):
        raise TypeError(
            "[enable_to_static] expected a bool, got"
            f" {type(enable_to_static_bool).__name__}. Do this: pass True or False."
        )
    _enabled = enable_to_static_bool


def not_to_static(func=None):
    """Marks a function that captured functions call as it is, without transforming its source.

    Args:
        func (callable, optional): It; without it, a decorator comes back.

    Returns:
        callable: The function itself.

    Example:
        >>> @argosy.jit.not_to_static
        ... def plain(x):
        ...     return x + 1
        >>> plain(1)
        2
    """
    if func is None:
        return not_to_static
    getattr(func, "__func__", func)._argosy_not_to_static = True
    return func


def set_code_level(level=100, also_to_stdout=False):
    """Has no effect, which a warning says: StaticFunction.code shows the source that is captured.

    Args:
        level (int): Has no effect.
        also_to_stdout (bool): Has no effect.

    Example:
        >>> import warnings
        >>> with warnings.catch_warnings(record=True) as caught:
        ...     argosy.jit.set_code_level()
        >>> len(caught)
        1
    """
    no_effect(
        "set_code_level", "StaticFunction.code shows the source that is captured",
        level=(level, None), also_to_stdout=(also_to_stdout, False),
    )  # fmt: skip


def set_verbosity(level=0, also_to_stdout=False):
    """Has no effect: what cannot be captured is said in a warning, or raised with full_graph=True.

    Args:
        level (int): Has no effect; another one than 0 gives a warning.
        also_to_stdout (bool): Has no effect.

    Example:
        >>> argosy.jit.set_verbosity(0)
    """
    no_effect(
        "set_verbosity", "what cannot be captured is said in a warning", level=(level, 0),
        also_to_stdout=(also_to_stdout, False),
    )  # fmt: skip


def to_static(
    function=None, input_spec=None, build_strategy=None, backend=None, full_graph=None, **kwargs
):
    """Makes a function, method or Layer run as a captured Program.

    At the first call with inputs of a new form, the function is run once on symbolic tensors, its
    ops are recorded, and Python control flow that depends on tensors becomes `if` and `while` of
    the Program; docs/capture.md says what is covered. Later calls run the Program. What cannot be
    captured runs as Python, with one warning, unless full_graph is True.

    A form is the shapes and dtypes of tensors, the values of all else, the modes of the layers, whether
    gradients are wanted, and the default dtype. The newest 64 are kept. An int or float that is another
    one in the second call becomes an input of the Program if the function only computes with it; else
    there is a Program for each, and after 16 the function runs as Python for further ones, with one
    warning, unless full_graph is True: pass such a number as a tensor.

    Attributes and variables that the function reads are part of the form, unless full_graph is True: a call
    after `net.k = 3` computes with 3. What changes them itself runs as Python, with a warning.

    Args:
        function (callable | Layer, optional): A Layer is returned with its forward captured.
        input_spec (list | tuple, optional): InputSpecs, one for each argument; sizes -1 make one
            Program serve all sizes.
        build_strategy, backend: have no effect on results: Programs run by one executor.
        full_graph (bool, optional): Raise instead of falling back to Python. Without it, what the
            environment says: ENABLE_FALL_BACK=0 raises. What is captured already takes it, too.
        kwargs: property, only False.

    Returns:
        StaticFunction | Layer | callable: What runs captured; a decorator without function.

    Raises:
        TypeError: function cannot be called, input_spec is no list or tuple, build_strategy is no
            BuildStrategy, or a keyword is unknown.
        ValueError: backend is neither None nor "CINN".
        NotImplementedError: property is true.

    Example:
        >>> @argosy.jit.to_static
        ... def normalized(x):
        ...     return x / x.sum()
        >>> normalized(argosy.to_tensor([1.0, 3.0])).tolist()
        [0.25, 0.75]
    """
    if input_spec is not None and not isinstance(input_spec, (list, tuple)):
        raise TypeError(
            "[to_static] input_spec: expected a list or tuple of InputSpec, got"
            f" {type(input_spec).__name__}."
            " Do this: put it into a list."
        )
    unknown = set(kwargs) - {"property"}
    if unknown:
        raise TypeError(
            f"[to_static] unknown arguments: {', '.join(sorted(unknown))}. Do this: leave them out."
        )
    unsupported("to_static", "leave it out", property=(kwargs.get("property", False), False))
    if build_strategy is not None and not isinstance(build_strategy, BuildStrategy):
        raise TypeError(
            "[to_static] build_strategy: expected a paddle.static.BuildStrategy, got"
            f" {type(build_strategy).__name__}. Do this: leave it out."
        )
    if backend not in (None, "CINN"):
        raise ValueError(
            f"[to_static] backend: expected None or 'CINN', got {backend!r}. Do this: leave it out."
        )
    no_effect(
        "to_static", "Programs run by one executor", build_strategy=(build_strategy, None),
        backend=(backend, None),
    )  # fmt: skip

    whole = not ENV_ENABLE_SOT.get() if full_graph is None else full_graph

    def again(captured):
        """What is captured already, with what is told now; what is not told stays."""
        strict = captured._full_graph if full_graph is None else full_graph
        if input_spec is None and strict == captured._full_graph:
            return captured
        spec = captured._input_spec if input_spec is None else input_spec
        return StaticFunction(captured.dygraph_function, spec, strict)

    def decorate(target):
        from argosy.nn import Layer

        if isinstance(target, Layer):
            old = target.forward
            known = isinstance(old, StaticFunction)
            new = again(old) if known else StaticFunction(old, input_spec, whole)
            if new is not old:
                target.forward = new
            return target
        if isinstance(target, StaticFunction):
            return again(target)
        if not callable(target):
            raise TypeError(
                f"[to_static] expected a function or Layer, got {type(target).__name__}."
                " Do this: pass one of them."
            )
        return StaticFunction(target, input_spec, whole)

    return decorate if function is None else decorate(function)


class StaticFunction:
    """A function that runs as captured Programs, one for each form of its inputs.

    Args:
        function (callable): It.
        input_spec (list | tuple, optional): InputSpecs, one for each argument.
        full_graph (bool): Whether what cannot be captured raises, rather than running as Python.

    Example:
        >>> double = argosy.jit.to_static(lambda x: x * 2)
        >>> double(argosy.ones([2])).tolist(), type(double).__name__
        ([2.0, 2.0], 'StaticFunction')
    """

    def __init__(self, function, input_spec=None, full_graph=False):
        self._instance = None
        if isinstance(function, types.MethodType):
            self._instance = weakref.ref(function.__self__)
            function = function.__func__
        self._function = function
        self._input_spec = None if input_spec is None else tuple(input_spec)
        self._full_graph = full_graph
        self._cache = ProgramCache()
        self._numbers = {}  # form without its numbers -> Varying
        self._others = {}  # form -> specializations for other states than the newest one's
        self._writing = {}  # form -> captures in a row that changed what they read
        self._arguments = Arguments(function, self._instance is not None)
        self._layers = None
        functools.update_wrapper(self, function, updated=())

    # ---- as a method --------------------------------------------------------------------------

    def __get__(self, instance, owner=None):
        if instance is None:
            return self
        name = "_static_" + self._function.__name__
        own = instance.__dict__.get(name)
        if own is None or own._function is not self._function:
            own = StaticFunction(
                types.MethodType(self._function, instance), self._input_spec, self._full_graph
            )
            instance.__dict__[name] = own
        return own

    def __deepcopy__(self, memo):
        """The method of the copy, captured anew; a function is itself."""
        instance = None if self._instance is None else self._instance()
        copied = memo.get(id(instance))
        if instance is None or copied is None:
            return self
        method = types.MethodType(self._function, copied)
        return StaticFunction(method, self._input_spec, self._full_graph)

    def _self(self):
        if self._instance is None:
            return None
        instance = self._instance()
        if instance is None:
            raise RuntimeError(
                f"[{self.__name__}] the object of this captured method is gone."
                " Do this: keep a reference to it."
            )
        return instance

    @property
    def dygraph_function(self):
        """The Python function."""
        instance = self._self()
        return self._function if instance is None else types.MethodType(self._function, instance)

    def rollback(self):
        """Makes the Layer run as Python again.

        Returns:
            callable: The Python function.

        Example:
            >>> layer = argosy.jit.to_static(argosy.nn.Linear(2, 1))
            >>> function = layer.forward.rollback()
            >>> function.__name__, type(layer.forward).__name__
            ('forward', 'method')
        """
        function = self.dygraph_function
        instance = self._self()
        if instance is not None and instance.__dict__.get("forward") is self:
            del instance.__dict__["forward"]
        return function

    # ---- looking inside -----------------------------------------------------------------------

    @property
    def code(self):
        """Source of the function."""
        return inspect.getsource(self._function)

    @property
    def program_cache(self):
        """The captured specializations by key; None for those that run as Python."""
        return self._cache

    @property
    def concrete_program(self):
        """The specialization captured last; captured from input_spec if there is none yet."""
        if not in_dynamic_mode() and not _capture.capturing():
            raise RuntimeError(
                f"[to_static] the Program of {self._where()} is only available in dynamic mode. Do this:"
                " call paddle.disable_static() first."
            )
        found = self._cache.concrete_programs()
        return found[-1] if found else self._concrete()

    @property
    def inputs(self):
        """The inputs of the specialization captured last."""
        return self.concrete_program.inputs

    @property
    def outputs(self):
        """The tensors that the specialization captured last gives."""
        return self.concrete_program.outputs

    @property
    def main_program(self):
        """The Program of the specialization captured last."""
        return self.concrete_program.main_program

    def get_concrete_program(self, *args, **kwargs):
        """The specialization for the form of some arguments, captured if need be.

        Args:
            args: Tensors or InputSpecs; default: input_spec.
            kwargs: The same by name.

        Returns:
            tuple: The captured function, whose main_program is its Program, and what runs it: the same.

        Example:
            >>> @argosy.jit.to_static
            ... def double(x):
            ...     return x * 2
            >>> captured, _ = double.get_concrete_program(argosy.ones([2]))
            >>> len(captured.main_program.global_block().ops)
            1
        """
        captured = self._concrete(*args, **kwargs)
        return captured, captured

    def _concrete(self, *args, **kwargs):
        if not args and not kwargs and self._input_spec is not None:
            args = self._input_spec
        if not args and not kwargs and self._arguments.needs_some():
            raise ValueError(
                f"[to_static] there is no Program of {self._where()} yet, and the forms of its arguments"
                " are not known. Do this: call it first, or give input_spec."
            )
        bound = self._arguments.bind(args, kwargs, self._where, self._input_spec is not None)
        bound = self._bind(*bound)
        key, tensors = self._key(bound)
        captured = self._find(key)
        if captured is None or captured is self:
            captured = self._capture(bound, tensors)
            self._keep(key, captured)
        return captured

    # ---- calls --------------------------------------------------------------------------------

    def __call__(self, *args, **kwargs):
        function = self.dygraph_function
        if not _enabled:
            return function(*args, **kwargs)
        if _core.program_recording() is not None:
            if _capture.capturing():
                from .transform import transform

                function = transform(function)
            return function(*args, **kwargs)
        bound = self._bind(args, kwargs)
        key, tensors = self._key(bound)
        captured = self._find(key)
        if captured is self:
            general, varying, numbers = self._varying(key)
            if varying is not None:
                opened = self._open(general, varying, numbers, bound, tensors)
                if opened is not None and opened.refuses(tensors):
                    return function(*args, **kwargs)
                if opened is not None:
                    places = sorted(varying.places)
                    return _run(opened, tensors + [as_feed(numbers[i]) for i in places])
                if key not in self._cache and self._counts_up(varying, numbers, bound):
                    return function(*args, **kwargs)
            if self._too_many_states(key):
                return function(*args, **kwargs)
            try:
                captured = self._capture(bound, tensors, exact=True)
            except Exception as error:
                if self._full_graph:
                    raise
                captured = None
                reason = error
            if captured is not None and captured.written:
                self._count_writing(key, captured.written)
                return function(*args, **kwargs)
            self._keep(key, captured)
            if captured is None:
                result = function(*args, **kwargs)  # raises itself if the program is wrong
                warnings.warn(
                    f"[to_static] {self._where()} runs as Python, because it could not be captured:"
                    f" {type(reason).__name__}: {reason}",
                    stacklevel=2,
                )
                return result
        if captured is None or captured.refuses(tensors):
            return function(*args, **kwargs)  # of a leaf that it writes it raises itself
        return _run(captured, tensors)

    def _find(self, key):
        """The specialization of a form for the state of Python as it is now; self: there is none."""
        captured = self._cache.get(key, self)
        if captured is self or captured is None or captured.holds():
            return captured
        for other in self._others.get(key, ()):
            if other is not None and other.holds():
                return other
        return self

    def _keep(self, key, captured):
        self._writing.pop(key, None)
        old = self._cache.get(key)
        if old is not None:
            self._others.setdefault(key, []).append(old)
        elif len(self._cache) >= MOST_FORMS and key not in self._cache:
            oldest = next(iter(self._cache))
            del self._cache[oldest]
            self._others.pop(oldest, None)
        self._cache[key] = captured

    def _too_many_states(self, key):
        """Whether a form runs as Python in a further state, as it was captured for so many."""
        others = self._others.get(key, ())
        if len(others) < MOST_STATES - 1:
            return False
        if len(others) == MOST_STATES - 1:
            names = ", ".join(dict.fromkeys(self._cache[key].changed()))
            others.append(None)
            warnings.warn(
                f"[to_static] {self._where()} was captured {MOST_STATES} times for Python state that it"
                f" reads and that changes ({names}); for further values it runs as Python. Do this: keep"
                " the value in a tensor, or pass it as an argument.",
                stacklevel=3,
            )
        return True

    def _count_writing(self, key, written):
        """Counts a capture that changed what it had read: after some, the form runs as Python."""
        if len(self._writing) >= MOST_FORMS and key not in self._writing:
            del self._writing[next(iter(self._writing))]
        count = self._writing[key] = self._writing.get(key, 0) + 1
        if count < MOST_WRITING:
            return
        names = ", ".join(dict.fromkeys(read.name for read in written))
        self._keep(key, None)
        warnings.warn(
            f"[to_static] {self._where()} runs as Python, because it changes Python state that it reads"
            f" ({names}), which a Program cannot. Do this: keep the value in a tensor (a buffer of the"
            " layer), or change it outside.",
            stacklevel=3,
        )

    def _varying(self, key):
        """(the form without its numbers, what is known of such calls, this one's numbers)."""
        numbers = [_number_in(part) for part in key if _is_number(part)]
        if not numbers:
            return None, None, numbers
        general = tuple(part[0] if _is_number(part) else part for part in key)
        if len(self._numbers) >= MOST_FORMS and general not in self._numbers:
            del self._numbers[next(iter(self._numbers))]
        return general, self._numbers.setdefault(general, Varying(numbers)), numbers

    def _open(self, general, varying, numbers, bound, tensors):
        """The Program for all numbers in the places where calls have differed, or None."""
        places = varying.places | varying.changed(numbers)
        if varying.closed or not places or not all(may_be_open(numbers[i]) for i in places):
            return None
        captured = self._find((general, places))
        if captured is self:
            if self._too_many_states((general, places)):
                varying.closed = True
                return None
            try:
                captured = self._capture_open(bound, tensors, places)
                if captured.written:
                    raise Decided
            except (Exception, Decided):
                varying.closed = True
                return None
            varying.places = places
            self._keep((general, places), captured)
        return captured

    def _counts_up(self, varying, numbers, bound):
        """Whether a new form is to run as Python, as it is one of many that differ in their numbers."""
        if self._full_graph:
            return False
        varying.programs += 1
        count = varying.programs - 1
        if count == MOST_NUMBERS:
            changed = [identity(numbers[i]) for i in varying.changed(numbers)]
            given = inspect.signature(self.dygraph_function).bind(*bound[0], **bound[1]).arguments
            names = [
                name
                for name, value in given.items()
                if type(value) in (int, float) and identity(value) in changed
            ]
            warnings.warn(
                f"[to_static] {self._where()} was captured {count} times for numbers that differ"
                f" ({', '.join(names) or 'in a list or dict'}); for further ones it runs as Python. Do"
                " this: pass the number as a tensor, paddle.to_tensor(n).",
                stacklevel=3,
            )
        return count >= MOST_NUMBERS

    def _where(self):
        code = getattr(self._function, "__code__", None)
        place = f" ({code.co_filename}:{code.co_firstlineno})" if code else ""
        return f"'{getattr(self, '__name__', type(self._function).__name__)}'{place}"

    def _bind(self, args, kwargs):
        """Arguments in the order of the signature, defaults filled in; arrays become tensors."""
        specified = self._input_spec is not None
        if kwargs or specified:
            args, kwargs = self._arguments.bind(args, kwargs, self._where, specified)
        else:
            args = self._arguments.with_defaults(args)
        if specified:
            args = self._apply_spec(args)
        return args, kwargs

    def _apply_spec(self, args):
        specs = self._input_spec
        if len(specs) > len(args):
            raise ValueError(
                f"[to_static] input_spec of {self._where()} has {len(specs)} entries, the call has"
                f" {len(args)} arguments."
                " Do this: give one InputSpec for each argument."
            )
        out = []
        for i, arg in enumerate(args):
            spec = specs[i] if i < len(specs) else None
            out.append(arg if spec is None else _specified(arg, spec, self._where()))
        return tuple(out)

    def _key(self, bound):
        """(what tells specializations apart, the tensors among the arguments)."""
        tensors, parts = [], [_core.get_default_dtype()]
        args, kwargs = bound
        flat = not kwargs
        for arg in args:
            if isinstance(arg, _NESTS):
                flat = False
                break
        for leaf in args if flat else flatten([list(args), kwargs]):
            kind = type(leaf)
            if kind is _Specified:
                tensors.append(leaf.tensor)
                parts.append((leaf.spec, leaf.tensor.stop_gradient))
            elif is_operand(leaf):
                tensors.append(leaf)
                parts.append((tuple(leaf.shape), leaf.dtype, leaf.stop_gradient))
            elif kind is float:
                parts.append((float, leaf.hex()))
            elif kind in (int, bool, str, bytes, type(None)):
                parts.append((kind, leaf))
            elif isinstance(leaf, InputSpec):
                tensors.append(None)
                parts.append((leaf, leaf.stop_gradient))
            elif _is_array(leaf):
                tensors.append(_core.to_tensor(leaf, None, True))
                parts.append((leaf.shape, tensors[-1].dtype, True))
            else:
                parts.append((kind, _content(leaf)))
        parts.append((type(args), (None,) * len(args)) if flat else _skeleton(args))
        parts.append(_skeleton(kwargs) if kwargs else None)
        parts.append(_core.is_grad_enabled())
        parts.append(self._modes())
        parts.append(autocast_key())
        return tuple(parts), tensors

    def _modes(self):
        """training of the layer and of all in it."""
        instance = self._self()
        if instance is None:
            return None
        if self._layers is None:
            sublayers = getattr(instance, "sublayers", None)
            self._layers = (
                [weakref.ref(v) for v in sublayers(include_self=True)] if sublayers else []
            )
        return tuple(layer().training for layer in self._layers if layer() is not None)

    def _capture_open(self, bound, tensors, places):
        """A capture with the numbers in some places as inputs, behind the tensors. Raises Decided where
        the function does more with them than computing."""
        made = []
        with open_numbers():
            captured = self._capture(bound, tensors, places, made, True)
        if not all_gone(made):
            raise Decided  # one is in the result, or kept somewhere
        return captured

    def _capture(self, bound, tensors, places=(), made=None, exact=False):
        for kind in ("generatorfunction", "coroutinefunction", "asyncgenfunction"):
            if getattr(inspect, f"is{kind}")(self._function):
                raise CaptureError(f"{self._where()} cannot be captured: it is a {kind}.")
        program = _core.program_new()
        symbols = []

        def symbol(leaf, name):
            if type(leaf) is _Specified:
                shape, dtype = leaf.spec.shape, leaf.spec.dtype
                stop = leaf.tensor.stop_gradient
            elif isinstance(leaf, InputSpec):
                shape, dtype, stop = leaf.shape, leaf.dtype, leaf.stop_gradient
            elif is_operand(leaf):
                shape, dtype, stop = leaf.shape, leaf.dtype, leaf.stop_gradient
            elif _is_array(leaf):
                t = _core.to_tensor(leaf, None, True)
                shape, dtype, stop = t.shape, t.dtype, True
            else:
                return leaf
            v = _core.program_input(program, name, list(shape), dtype)
            v.stop_gradient = stop
            symbols.append(v)
            return v

        args, kwargs = bound
        packed = [list(args), kwargs]
        leaves = flatten(packed)
        specs = [leaf.spec if type(leaf) is _Specified else leaf for leaf in leaves]
        given = [spec.name if isinstance(spec, InputSpec) else None for spec in specs]
        names = self._arguments.names(args, kwargs)
        leaves = list(map(symbol, leaves, told_apart(names, given)))
        at = [i for i, leaf in enumerate(leaves) if type(leaf) in (int, float)]
        for i in sorted(places):
            v = _core.program_input(program, f"number_{i}", [], dtype_of(leaves[at[i]]))
            v.stop_gradient = True
            symbols.append(v)
            leaves[at[i]] = OpenNumber(v, made)
        given = (self.dygraph_function, *pack_sequence_as(packed, leaves), symbols, program)
        try:
            if self._full_graph:
                return _capture.capture_whole(*given)
            return _capture.capture_with_reads(*given, exact)
        except Exception as error:
            # Without its source it is traced as it is, which control flow on tensors ends.
            reason = why_not(self._function)
            if reason is None or isinstance(error, CaptureError):
                raise
            raise CaptureError(f"{self._where()} cannot be captured: {reason}. {error}") from error


_NESTS = (list, tuple, dict)


def _run(captured, feeds):
    """The function's result, and what else it leaves behind."""
    result = captured(feeds)
    if captured.reads is not None:
        captured.reads.leave()
    return result


class _Specified:
    """An argument and the InputSpec that it was declared with."""

    __slots__ = ("spec", "tensor")

    def __init__(self, spec, tensor):
        self.spec, self.tensor = spec, tensor


def _specified(arg, spec, where):
    if isinstance(arg, InputSpec) or spec is None:
        return arg
    if isinstance(spec, (list, tuple)):
        if not isinstance(arg, (list, tuple)) or len(arg) != len(spec):
            raise ValueError(
                f"[to_static] {where}: input_spec has a list of {len(spec)} where the call has"
                f" {type(arg).__name__}."
                " Do this: give the InputSpecs the structure of the arguments."
            )
        return type(arg)(_specified(a, s, where) for a, s in zip(arg, spec))
    if isinstance(spec, dict):
        return {k: _specified(v, spec.get(k), where) for k, v in arg.items()}
    if not isinstance(spec, InputSpec):
        return arg
    if _is_array(arg):
        arg = _core.to_tensor(arg, None, True)
    if not is_operand(arg):
        return arg
    if not fits(arg, spec):
        raise ValueError(
            f"[to_static] {where}: an argument does not fit its InputSpec: expected"
            f" {spec.dtype} {list(spec.shape)}, got {arg.dtype} {list(arg.shape)}. Do this: pass"
            " that form, or make the size -1 in input_spec."
        )
    return _Specified(spec, arg)


def fits(tensor, spec):
    return (
        len(tensor.shape) == len(spec.shape)
        and all(want in (-1, have) for want, have in zip(spec.shape, tensor.shape))
        and spec.dtype in (None, tensor.dtype)
    )


def _is_array(x):
    return hasattr(x, "__array_interface__") and hasattr(x, "dtype") and not is_operand(x)


def _is_number(part):
    """Whether a part of a key is a Python number."""
    return type(part) is tuple and bool(part) and part[0] in (int, float)


def _number_in(part):
    """The number of such a part."""
    return float.fromhex(part[1]) if part[0] is float else part[1]


class _Itself:
    """An object of a key that cannot be hashed: equal to itself only. It is kept alive, or another one
    could get its id, and with that its Program."""

    __slots__ = ("value",)

    def __init__(self, value):
        self.value = value

    def __eq__(self, other):
        return type(other) is _Itself and self.value is other.value

    def __hash__(self):
        return id(self.value)


def _content(x):
    """x as part of a key: what can be hashed itself, sets and data classes by what is in them now."""
    try:
        hash(x)
        return x
    except TypeError:
        pass
    if isinstance(x, (list, tuple, set)):
        parts = ((type(v), _content(v)) for v in x)
        return frozenset(parts) if isinstance(x, set) else tuple(parts)
    if isinstance(x, dict):
        return frozenset((k, type(v), _content(v)) for k, v in x.items())
    if dataclasses.is_dataclass(x):
        values = [getattr(x, f.name) for f in dataclasses.fields(x)]
        return (type(x), *((type(v), _content(v)) for v in values))
    return _Itself(x)


def _skeleton(nest):
    """The structure of arguments, without the leaves."""
    if isinstance(nest, (list, tuple)):
        inner = tuple(_skeleton(v) if isinstance(v, (list, tuple, dict)) else None for v in nest)
        return type(nest), inner
    return tuple(
        (k, _skeleton(nest[k]) if isinstance(nest[k], (list, tuple, dict)) else None)
        for k in sorted(nest)
    )
