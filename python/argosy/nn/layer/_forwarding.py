"""Layers that keep their arguments and hand them to one function.

All there is to such a layer is its family, the function, the text and the arguments::

    class Hardtanh(_Activation, function=F.hardtanh):
        '''``clip(x, min, max)``.'''

        @keeps
        def __init__(self, min=-1.0, max=1.0, name=None): ...
"""

from __future__ import annotations

import functools
import inspect
import operator
import types

from .layers import Layer


def keeps(init):
    """Decorator of an ``__init__``: the layer keeps each argument as an attribute, then the body runs."""
    signature = inspect.signature(init)
    parameters = list(signature.parameters.values())[1:]
    bind = signature.replace(parameters=parameters).bind
    arguments = {parameter.name: parameter.default for parameter in parameters}

    @functools.wraps(init)
    def __init__(self, *args, **kwargs):
        try:
            given = bind(*args, **kwargs).arguments
        except TypeError:
            given = None
        if given is None:
            self._refuse(kwargs)
            init(self, *args, **kwargs)  # fails too, in the words of Python's calls
        # (Not Layer.__init__: a program's class may have other bases beside this one.)
        super(ForwardingLayer, self).__init__()
        for name, value in {**arguments, **given}.items():
            setattr(self, self._attribute_of(name), value)
        init(self, *args, **kwargs)

    __init__.keeps = arguments
    return __init__


def method_of(owner, function, **defaults):
    """``function`` as a method of the class ``owner``, which error texts name, with other defaults."""
    if hasattr(function, "keeps"):
        return keeps(method_of(owner, function.__wrapped__, **defaults))
    if hasattr(function, "__wrapped__"):
        return function
    made = types.FunctionType(
        function.__code__,
        function.__globals__,
        function.__name__,
        closure=function.__closure__,
    )
    functools.update_wrapper(made, function)
    del made.__wrapped__
    made.__qualname__ = f"{owner.__qualname__}.{function.__name__}"
    parameters = inspect.signature(function).parameters.values()
    values = {
        p.name: defaults.get(p.name, p.default) for p in parameters if p.default is not p.empty
    }
    named = {p.name for p in parameters if p.kind is p.KEYWORD_ONLY}
    made.__defaults__ = tuple(value for name, value in values.items() if name not in named)
    made.__kwdefaults__ = {name: value for name, value in values.items() if name in named}
    return made


def _reader(names):
    """A method that gives those attributes as a tuple. (It is part of every call of a layer.)"""
    if len(names) == 1:
        return lambda self: (getattr(self, names[0]),)
    if not names:
        return lambda self: ()
    values = operator.attrgetter(*names)
    return lambda self: values(self)


class ForwardingLayer(Layer):
    """A layer whose ``__init__`` has :func:`keeps` and whose forward calls ``_forwards_to``.

    A family gives ``forward``, and says what the attributes are called and what is printed. What the
    function gets after the inputs is ``_kept()``: all but the name, in the arguments' order.
    """

    _forwards_to = None
    _kept_arguments = {}  # name: default
    _kept_prefix = ""  # of the attributes' names
    _kept_as = {}  # argument: attribute, where it is not the argument's name after the prefix
    _repr_shows = None  # arguments (or attributes) that repr shows; None: all
    _repr_unless_default = ()  # those of them that it shows only if they are not the default

    def __init_subclass__(cls, function=None, **options):
        super().__init_subclass__(**options)
        if function is not None:
            cls._forwards_to = staticmethod(function)
            if "forward" not in cls.__dict__:
                cls.forward = method_of(cls, cls.forward)
        cls._kept_arguments = getattr(cls.__init__, "keeps", cls._kept_arguments)
        cls._kept_names = [
            cls._attribute_of(name) for name in cls._kept_arguments if name != "name"
        ]
        cls._kept = _reader(cls._kept_names)

    @classmethod
    def _refuse(cls, arguments):
        """Raises what explains these keywords better than Python's error of a call that fails."""

    @classmethod
    def _attribute_of(cls, argument):
        return cls._kept_as.get(argument) or cls._kept_prefix + argument

    def extra_repr(self):
        texts = []
        for name in self._kept_arguments if self._repr_shows is None else self._repr_shows:
            value = getattr(self, self._attribute_of(name))
            if name == "name" and not value:
                continue
            if name not in self._repr_unless_default or value != self._kept_arguments[name]:
                texts.append(f"{name}={value}")
        return ", ".join(texts)


# -- one, two and three spatial axes ---------------------------------------------------------------


# What the texts of such families say differently, by the number of spatial axes.
_WORDS = {
    1: {
        "x": "[N, C, L]",
        "last": "[N, L, C]",
        "out": "[N, C, L']",
        "out_sizes": "L'",
        "kernel": "K",
        "formats": "'NCL' or 'NLC'",
        "ints": "an int or a list of one",
        "sides": "before and after",
        "four": "4",
        "six": "6",
        "two": "2",
    },
    2: {
        "x": "[N, C, H, W]",
        "last": "[N, H, W, C]",
        "out": "[N, C, H', W']",
        "out_sizes": "H', W'",
        "kernel": "KH, KW",
        "formats": "'NCHW' or 'NHWC'",
        "ints": "an int or two ints",
        "sides": "top, bottom, left, right",
        "four": "4, 4",
        "six": "6, 6",
        "two": "2, 2",
    },
    3: {
        "x": "[N, C, D, H, W]",
        "last": "[N, D, H, W, C]",
        "out": "[N, C, D', H', W']",
        "out_sizes": "D', H', W'",
        "kernel": "KD, KH, KW",
        "formats": "'NCDHW' or 'NDHWC'",
        "ints": "an int or three ints",
        "sides": "two for each of D, H, W",
        "four": "4, 4, 4",
        "six": "6, 6, 6",
        "two": "2, 2, 2",
    },
}


class Ranked:
    """Mixin of a family of layers for one, two and three spatial axes.

    ``class MaxPool2D(_MaxPool, dims=2)`` has the family's ``__init__`` with that rank's data_format
    as its default, and ``_dims``. Its docstring is the family's ``_text``, with {name}, {dims} and the
    words of that rank filled in, unless it has one of its own.
    """

    _dims = None
    _text = None
    _words = {}  # more of them, or others
    _rank_formats = {1: "NCL", 2: "NCHW", 3: "NCDHW"}

    def __init_subclass__(cls, dims=None, **options):
        if dims is not None:
            cls._dims = dims
            if "data_format" in inspect.signature(cls.__init__).parameters:
                cls.__init__ = method_of(cls, cls.__init__, data_format=cls._rank_formats[dims])
            if cls.__doc__ is None and cls._text is not None:
                words = {**_WORDS[dims], **cls._words}
                cls.__doc__ = cls._text.format(name=cls.__name__, dims=dims, **words)
        super().__init_subclass__(**options)
