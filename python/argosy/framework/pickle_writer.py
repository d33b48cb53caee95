"""Writes the pickles of .pdparams and .pdopt files.

Plain values are written as `pickle_reader` reads them back; objects of other classes as `pickle`
writes them, which only a `load` that allows these classes reads. What neither can do is refused when
it is saved, with the place of the offending value. Arrays are written under the module names of
NumPy 1, which every NumPy reads.
"""

import collections
import copyreg
import datetime
import struct
import sys

from .pickle_reader import SAVED_DEPTH

__all__ = ["GlobalName", "PickleWriter", "Reduced"]

# Classes that may be stored by name (the default factory of a defaultdict).
_BUILTIN_CLASSES = (bool, int, float, complex, str, bytes, list, tuple, dict, set, frozenset)
_ARRAY_KINDS = "biufcSUO"


class GlobalName:
    """Stands for a class or function that is written by name only."""

    def __init__(self, module, name):
        self.module = module
        self.name = name


class Reduced:
    """How to rebuild a value: call module.name(*arguments), then hand it `state` if there is one.

    With `new`, the call is to the class's __new__ alone.
    """

    def __init__(self, module, name, arguments, state=None, new=False):
        self.module = module
        self.name = name
        self.arguments = arguments
        self.state = state
        self.new = new


class PickleWriter:
    """Writes one object in pickle protocol 2, 3 or 4.

    Args:
        write (callable): takes bytes-like pieces in order.
        protocol (int): 2, 3 or 4.
        extra (callable): `extra(value)` gives a `Reduced` for values that this class does not
            know (tensors), or None.
    """

    def __init__(self, write, protocol, extra):
        self._write = write
        self._protocol = protocol
        self._extra = extra
        self._memo = {}
        self._kept = []  # ids in the memo stay valid only while the objects live
        self._path = []
        self._heights = {}  # by id: containers within containers below a value already saved

    def dump(self, value):
        self._write(bytes((0x80, self._protocol)))
        self._save(value)
        self._write(b".")

    # Pieces.

    def _remember(self, key, kept=None):
        index = len(self._memo)
        self._memo[key] = index
        self._kept.append(kept)
        if self._protocol >= 4:
            self._write(b"\x94")
        elif index < 256:
            self._write(b"q" + bytes((index,)))
        else:
            self._write(b"r" + struct.pack("<I", index))

    def _recall(self, key):
        index = self._memo.get(key)
        if index is None:
            return False
        if index < 256:
            self._write(b"h" + bytes((index,)))
        else:
            self._write(b"j" + struct.pack("<I", index))
        return True

    def _string(self, text):
        if self._recall(("str", text)):
            return
        data = text.encode("utf-8", "surrogatepass")
        if len(data) < 256 and self._protocol >= 4:
            self._write(b"\x8c" + bytes((len(data),)))
        elif len(data) < 1 << 32:
            self._write(b"X" + struct.pack("<I", len(data)))
        elif self._protocol >= 4:
            self._write(b"\x8d" + struct.pack("<Q", len(data)))
        else:
            self._too_big(len(data))
        self._write(data)
        self._remember(("str", text))

    def _too_big(self, size):
        raise ValueError(
            f"[save] {self._place()} needs {size} bytes: expected at most {(1 << 32) - 1} in "
            f"protocol {self._protocol}. Do this: save(..., protocol=4)."
        )

    def _bytes(self, data):
        size = len(data)
        if self._protocol < 3:
            self._global("_codecs", "encode")
            self._string(str(data, "latin1"))
            self._string("latin1")
            self._write(b"\x86R")
            return
        if size < 256:
            self._write(b"C" + bytes((size,)))
        elif size < 1 << 32:
            self._write(b"B" + struct.pack("<I", size))
        elif self._protocol >= 4:
            self._write(b"\x8e" + struct.pack("<Q", size))
        else:
            self._too_big(size)
        self._write(data)

    def _global(self, module, name):
        if module.partition(".")[0] == "argosy":
            module = "paddle" + module[6:]  # where both have it
        key = ("global", module, name)
        if self._recall(key):
            return
        if self._protocol >= 4:
            self._string(module)
            self._string(name)
            self._write(b"\x93")
        else:
            if self._protocol == 2 and module == "builtins":
                module = "__builtin__"
            self._write(f"c{module}\n{name}\n".encode())
        self._remember(key)

    def _integer(self, value):
        if 0 <= value < 256:
            self._write(b"K" + bytes((value,)))
        elif 0 <= value < 65536:
            self._write(b"M" + struct.pack("<H", value))
        elif -(1 << 31) <= value < 1 << 31:
            self._write(b"J" + struct.pack("<i", value))
        else:
            data = value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True)
            if len(data) < 256:
                self._write(b"\x8a" + bytes((len(data),)) + data)
            else:
                self._write(b"\x8b" + struct.pack("<i", len(data)) + data)

    def _tuple(self, items):
        if not items:
            self._write(b")")
            return 0
        if len(items) > 3:
            self._write(b"(")
        height = max(self._child(i, item) for i, item in enumerate(items))
        self._write({1: b"\x85", 2: b"\x86", 3: b"\x87"}.get(len(items), b"t"))
        return height

    def _child(self, key, value):
        """Saves a value inside of another. Its height."""
        self._path.append(key)
        height = self._save(value)
        if height >= SAVED_DEPTH or len(self._path) > SAVED_DEPTH:
            raise ValueError(
                f"[save] the object is nested deeper than {SAVED_DEPTH} levels, which loading "
                f"refuses: at the object{self._steps(self._path[:3])}... "
                "Do this: store a flat list, and indices in place of the nesting."
            )
        self._path.pop()
        return height

    def _place(self):
        return f"the object{self._steps(self._path)}"

    @staticmethod
    def _steps(path):
        return "".join(f"[{key!r}]" for key in path)

    # Values.

    def _save(self, value):
        """Saves a value. Its height: 0 unless it is a container."""
        kind = type(value)
        if value is None:
            self._write(b"N")
        elif kind is bool:
            self._write(b"\x88" if value else b"\x89")
        elif kind is int:
            self._integer(value)
        elif kind is float:
            self._write(b"G" + struct.pack(">d", value))
        elif kind is str:
            self._string(value)
        elif kind is bytes or kind is memoryview:
            self._bytes(value)
        elif kind is GlobalName:
            self._global(value.module, value.name)
        elif not self._recall(id(value)):
            height = self._heights[id(value)] = 1 + self._save_object(kind, value)
            return height
        return self._heights.get(id(value), 0)  # what is being saved is inside itself: no height

    def _save_object(self, kind, value):
        height = 0
        if kind is tuple:
            height = self._tuple(value)
            # A tuple inside itself, through a list, was remembered while its items were saved.
            if value and id(value) not in self._memo:
                self._remember(id(value), value)
        elif kind is list:
            self._write(b"]")
            self._remember(id(value), value)
            height = self._items(value, b"a", b"e")
        elif kind is dict:
            self._write(b"}")
            self._remember(id(value), value)
            height = self._pairs(value)
        elif kind in (collections.OrderedDict, collections.defaultdict):
            self._global("collections", kind.__name__)
            self._tuple((value.default_factory,) if kind is collections.defaultdict else ())
            self._write(b"R")
            self._remember(id(value), value)
            height = self._pairs(value)
        else:
            reduced = _reduce_standard(kind, value) or _reduce_numpy(value) or self._extra(value)
            if reduced is None and _is_unreadable_dtype(value):
                raise self._cannot(value, f"load reads no arrays of {value}")
            if reduced is None:
                height = self._save_instance(kind, value)
            elif type(reduced) is GlobalName:
                self._global(reduced.module, reduced.name)
            else:
                height = self._reduce(value, reduced)
        return height

    def _save_instance(self, kind, value):
        """An object of any class, by the steps that its class tells `pickle`."""
        if isinstance(value, type) or kind.__name__ in ("function", "builtin_function_or_method"):
            self._named(value)
            self._remember(id(value), value)
            return 0
        try:
            reducer = copyreg.dispatch_table.get(kind)
            steps = reducer(value) if reducer else value.__reduce_ex__(self._protocol)
        except Exception as error:
            raise self._cannot(value, f"{type(error).__name__}: {error}") from error
        if type(steps) is str:
            self._named(value, steps)
            self._remember(id(value), value)
            return 0
        if type(steps) is not tuple or not 2 <= len(steps) <= 5:
            raise self._cannot(value, "it gives pickle other steps than this format has")
        function, arguments, state, items, pairs = (*steps, None, None, None)[:5]
        name = getattr(function, "__name__", "")
        if name == "__newobj__":
            self._named(arguments[0])
            height = self._child("__new__", tuple(arguments[1:]))
            self._write(b"\x81")
        elif name == "__newobj_ex__":
            if self._protocol < 4:
                raise self._cannot(value, f"protocol {self._protocol} has no keywords of __new__")
            self._named(arguments[0])
            height = max(
                self._child("__new__", tuple(arguments[1])),
                self._child("__new__", dict(arguments[2])),
            )
            self._write(b"\x92")
        else:
            self._named(function)
            height = self._child("__reduce__", tuple(arguments))
            self._write(b"R")
        self._remember(id(value), (value, steps))
        if items is not None:
            height = max(height, self._items(items, b"a", b"e"))
        if pairs is not None:
            height = max(height, self._pairs(dict(pairs)))
        if state is not None:
            height = max(height, self._child("__dict__", state))
            self._write(b"b")
        return height

    def _cannot(self, value, why):
        kind = type(value)
        return TypeError(
            f"[save] cannot store {self._place()} of type {kind.__module__}.{kind.__qualname__}: "
            f"expected what pickle can store, but {why}. Do this: store its state_dict() or its "
            "attributes in a plain dict."
        )

    def _named(self, value, name=None):
        """A class or function by its name, under which an import has to find it."""
        name = name or getattr(value, "__qualname__", None) or getattr(value, "__name__", "")
        module = getattr(value, "__module__", None) or _module_of(value, name)
        found = sys.modules.get(module)
        for part in name.split("."):
            found = getattr(found, part, None)
        if found is not value:
            raise self._cannot(value, f"{module}.{name} is not found by that name")
        self._global(module, name)

    def _reduce(self, value, reduced):
        self._global(reduced.module, reduced.name)
        self._save_part(reduced.arguments)
        self._write(b"\x81" if reduced.new else b"R")
        self._remember(id(value), (value, reduced))
        height = 0
        if reduced.state is not None:
            height = self._save_part(reduced.state)
            self._write(b"b")
        return height

    def _save_part(self, part):
        """Save a tuple made for one value; its pieces are no place that a user could name."""
        if type(part) is not tuple:
            return self._save(part)
        if len(part) > 3:
            self._write(b"(")
        height = max(map(self._save_part, part), default=0)
        self._write({0: b")", 1: b"\x85", 2: b"\x86", 3: b"\x87"}.get(len(part), b"t"))
        return height

    def _items(self, values, one, many):
        values = list(values)
        height = 0
        if len(values) == 1:
            height = self._child(0, values[0])
            self._write(one)
        elif values:
            self._write(b"(")
            height = max(self._child(i, value) for i, value in enumerate(values))
            self._write(many)
        return height

    def _pairs(self, mapping):
        if not mapping:
            return 0
        height, single = 0, len(mapping) == 1
        if not single:
            self._write(b"(")
        for key, value in mapping.items():
            self._save(key)
            height = max(height, self._child(key, value))
        self._write(b"s" if single else b"u")
        return height


def _module_of(value, name):
    """The module of a function that does not say it, as those of NumPy."""
    for module, content in list(sys.modules.items()):
        if module != "__main__" and getattr(content, name, None) is value:
            return module
    return "__main__"


def _reduce_standard(kind, value):
    if kind is type and value in _BUILTIN_CLASSES:
        return GlobalName("builtins", value.__name__)
    if kind in (set, frozenset):
        return Reduced("builtins", kind.__name__, (list(value),))
    if kind is complex:
        return Reduced("builtins", "complex", (value.real, value.imag))
    if kind is bytearray:
        return Reduced("builtins", "bytearray", (bytes(value),))
    if kind in (range, slice):
        return Reduced("builtins", kind.__name__, (value.start, value.stop, value.step))
    if kind in (datetime.date, datetime.datetime) and getattr(value, "tzinfo", None) is None:
        return Reduced("datetime", kind.__name__, value.__reduce__()[1])
    if kind is datetime.timedelta:
        return Reduced("datetime", "timedelta", (value.days, value.seconds, value.microseconds))
    return None


def _reduce_numpy(value):
    numpy = sys.modules.get("numpy")
    if numpy is None:
        return None
    if type(value) is numpy.ndarray:
        return _reduce_array(value)
    if isinstance(value, numpy.generic) and value.dtype.kind in _ARRAY_KINDS:
        return Reduced("numpy.core.multiarray", "scalar", (value.dtype, value.tobytes()))
    if isinstance(value, numpy.dtype) and value.kind in _ARRAY_KINDS:
        return _reduce_dtype(value)
    return None


def _is_unreadable_dtype(value):
    """Of dates, records and raw bytes: load knows numbers, texts and objects."""
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(value, numpy.dtype)


def _reduce_array(array):
    fortran = bool(array.flags.f_contiguous and not array.flags.c_contiguous)
    if array.dtype.hasobject:
        data = array.ravel("F" if fortran else "C").tolist()
    else:
        import numpy

        flat = numpy.ascontiguousarray(array.T if fortran else array).reshape(-1)
        data = memoryview(flat.view("u1")) if flat.size else b""
    arguments = (GlobalName("numpy", "ndarray"), (0,), b"b")
    state = (1, array.shape, array.dtype, fortran, data)
    return Reduced("numpy.core.multiarray", "_reconstruct", arguments, state)


def _reduce_dtype(dtype):
    code, order = dtype.str[1:], dtype.str[0]
    sizes = (dtype.itemsize, dtype.alignment) if dtype.kind in "SU" else (-1, -1)
    flags = 63 if dtype.hasobject else 0
    state = (3, order, None, None, None, *sizes, flags)
    return Reduced("numpy", "dtype", (code, False, True), state)
