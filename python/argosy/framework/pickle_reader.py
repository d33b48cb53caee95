"""Reads the pickles of .pdparams and .pdopt files without running code from the file.

This is an interpreter for the opcodes that such files use. Names in the file are looked up in a
fixed table of harmless constructors; nothing is ever imported. Sizes are checked against the file
before memory is taken, so a damaged file gives an error, never a crash.
"""

import collections
import datetime
import pickle
import re
import struct
import zlib

__all__ = ["DamagedFileError", "PickleReader", "UnsafeFileError"]


class UnsafeFileError(pickle.UnpicklingError, ValueError):
    """The file asks for a function or class that loading does not allow."""


class DamagedFileError(ValueError):
    """The file is truncated, altered, or no file of this kind."""


class _Pending:
    """A value that is complete only after its BUILD opcode; `slots` are its places in the memo."""

    def __init__(self, build, finish=None):
        self.build = build
        self.finish = finish
        self.slots = []


def _damaged(what):
    return DamagedFileError(
        f"[load] the file is damaged or not a parameter file: {what}. "
        "Do this: load an earlier checkpoint, or write the file again with save()."
    )


def _dtype(code, *_):
    import numpy

    if not isinstance(code, str) or not re.fullmatch(r"[biufcSUO?]\d{0,9}", code):
        raise _damaged(f"array of unknown element type {code!r}")

    def build(state):
        order = state[1] if isinstance(state, tuple) and len(state) > 1 else "="
        if order not in ("<", ">", "|", "="):
            raise _damaged(f"array of unknown byte order {order!r}")
        return numpy.dtype(order + code)

    return _Pending(build, lambda: numpy.dtype(code))


def _array(*_):
    import numpy

    def build(state):
        _, shape, dtype, fortran, data = state
        if not isinstance(dtype, numpy.dtype):
            raise _damaged(f"array whose element type is a {type(dtype).__name__}")
        order = "F" if fortran else "C"
        if dtype.hasobject:
            result = numpy.empty(len(data), object)
            result[:] = data
        else:
            if isinstance(data, str):
                data = data.encode("latin1")
            result = numpy.frombuffer(data, dtype)  # read-only, over the bytes
            if not dtype.isnative:
                result = result.astype(dtype.newbyteorder("="))
        return result.reshape(shape, order=order)

    return _Pending(build)


def _scalar(dtype, data=b""):
    import numpy

    if not isinstance(dtype, numpy.dtype) or dtype.hasobject:
        raise _damaged("scalar without an element type")
    if isinstance(data, str):
        data = data.encode("latin1")
    return numpy.frombuffer(data, dtype, count=1)[0]


def _encode(text, encoding="utf-8"):
    if encoding not in ("latin1", "latin-1", "utf-8"):
        raise _damaged(f"bytes stored in encoding {encoding!r}")
    return text.encode(encoding)


def _defaultdict(factory=None):
    if factory is not None and factory not in _FACTORIES:
        raise _damaged(f"defaultdict of {factory!r}")
    return collections.defaultdict(factory)


def _plain(function, *kinds):
    """`function`, called only with at most len(kinds) arguments of these kinds."""

    def call(*arguments):
        if len(arguments) > len(kinds) or not all(map(isinstance, arguments, kinds)):
            raise _damaged(f"wrong arguments for {function.__name__}")
        return function(*arguments)

    return call


_FACTORIES = (bool, int, float, complex, str, bytes, list, tuple, dict, set, frozenset)
_INDEX = (int, type(None))
_ANY_LIST = (list, tuple)

# What REDUCE may call, by the name in the file.
_CALLS = {
    ("builtins", "set"): _plain(set, _ANY_LIST),
    ("builtins", "frozenset"): _plain(frozenset, _ANY_LIST),
    ("builtins", "tuple"): _plain(tuple, _ANY_LIST),
    ("builtins", "list"): _plain(list, _ANY_LIST),
    ("builtins", "dict"): _plain(dict),
    ("builtins", "complex"): _plain(complex, (int, float), (int, float)),
    ("builtins", "bytearray"): _plain(bytearray, bytes),
    ("builtins", "bytes"): _plain(bytes),
    ("builtins", "range"): _plain(range, int, int, int),
    ("builtins", "slice"): _plain(slice, _INDEX, _INDEX, _INDEX),
    ("collections", "OrderedDict"): _plain(collections.OrderedDict),
    ("collections", "defaultdict"): _defaultdict,
    ("datetime", "date"): _plain(datetime.date, (bytes, int), int, int),
    ("datetime", "datetime"): _plain(datetime.datetime, (bytes, int), *[int] * 6),
    ("datetime", "timedelta"): _plain(datetime.timedelta, int, int, int),
    ("_codecs", "encode"): _encode,
    ("numpy", "dtype"): _dtype,
    ("numpy.core.multiarray", "_reconstruct"): _array,
    ("numpy._core.multiarray", "_reconstruct"): _array,
    ("numpy.core.multiarray", "scalar"): _scalar,
    ("numpy._core.multiarray", "scalar"): _scalar,
}
# What may appear as a value by name.
_VALUES = {("builtins", kind.__name__): kind for kind in _FACTORIES}
_VALUES["numpy", "ndarray"] = None  # the first argument of _reconstruct, which needs no help


class _Name:
    """A name of the file that is in the tables above."""

    def __init__(self, module, name, call, value):
        self.module = module
        self.name = name
        self.call = call
        self.value = value


class PickleReader:
    """Reads one pickled object from a file.

    Args:
        file: a binary file or BytesIO, standing at the first byte; left behind the last one.
        size (int): bytes that the file still has.
        extra_calls (dict): (module, name) -> constructor for REDUCE and NEWOBJ, beside the
            standard ones. A constructor may give `PickleReader.pending(build)`.
    """

    pending = _Pending

    def __init__(self, file, size, extra_calls=None):
        self._file = file
        self._size = size
        self._position = 0
        self._checksum = 0
        self._calls = {**_CALLS, **(extra_calls or {})}
        self._memo = {}
        self._stack = []
        self._marks = []

    @property
    def checksum(self):
        """CRC-32 of the bytes read so far."""
        return self._checksum

    def load(self):
        """The object. Raises UnsafeFileError for a refused name, DamagedFileError for the rest."""
        try:
            return self._run()
        except (UnsafeFileError, DamagedFileError, MemoryError):
            raise
        except Exception as error:  # whatever a crafted or damaged stream does to the handlers
            where = f"at byte {self._position} of {self._size}"
            raise _damaged(f"{type(error).__name__} {where} ({error})") from error

    def _run(self):
        if self._size == 0:
            raise _damaged("it is empty")
        start = self._take(1)
        if start != b"\x80":
            raise _damaged(f"it starts with {start!r}, not as a pickle of protocol 2 or later")
        self._protocol()
        handlers = self._HANDLERS
        while True:
            code = self._take(1)[0]
            if code == 0x2E:  # STOP
                value = self._finish(self._pop())
                if self._marks or self._stack:
                    raise _damaged("values are left over at its end")
                return value
            handler = handlers.get(code)
            if handler is None:
                raise _damaged(f"unknown opcode {code:#04x} at byte {self._position - 1}")
            handler(self)

    # The stream.

    def _take(self, size):
        missing = size - (self._size - self._position)
        if size < 0 or missing > 0:
            raise _damaged(f"it ends too early: {missing} bytes are missing")
        return self._account(self._file.read(size), size)

    def _account(self, piece, size):
        if len(piece) != size:
            raise _damaged(f"only {len(piece)} of {size} bytes could be read")
        self._position += size
        self._checksum = zlib.crc32(piece, self._checksum)
        return piece

    def _number(self, form):
        return struct.unpack(form, self._take(struct.calcsize(form)))[0]

    def _line(self):
        line = self._file.readline(512)
        if not line.endswith(b"\n"):
            raise _damaged("a name in it has no end")
        return self._account(line, len(line))[:-1].decode("utf-8")

    # The stack.

    def _pop(self):
        floor = self._marks[-1] if self._marks else 0
        if len(self._stack) <= floor:
            raise _damaged("its stack runs empty")
        return self._stack.pop()

    def _pop_mark(self):
        if not self._marks:
            raise _damaged("a mark is missing")
        start = self._marks.pop()
        items = self._stack[start:]
        del self._stack[start:]
        return [self._finish(item) for item in items]

    def _finish(self, value):
        """The value itself where a `_Name` or `_Pending` stands for one."""
        if type(value) is _Pending:
            if value.finish is None:
                raise _damaged("an array in it has no data")
            return value.finish()
        if type(value) is _Name:
            if (value.module, value.name) not in _VALUES:
                self._refuse(value.module, value.name)
            return value.value
        return value

    def _push(self, value):
        self._stack.append(value)

    def _memoize(self, index):
        if not self._stack:
            raise _damaged("its stack runs empty")
        value = self._stack[-1]
        if type(value) is _Pending:
            value.slots.append(index)
        self._memo[index] = value

    def _recall(self, index):
        if index not in self._memo:
            raise _damaged(f"memo entry {index} does not exist")
        self._stack.append(self._memo[index])

    # Names and calls.

    def _refuse(self, module, name):
        raise UnsafeFileError(
            f"[load] the file asks for {module}.{name}, which loading does not allow: expected "
            "only tensors, arrays, numbers, strings and plain containers. The file may be "
            "malicious, or hold an object of a class. Do this: if you trust its writer, load it "
            "there and save a state_dict() or plain dict instead."
        )

    def _look_up(self, module, name):
        if not isinstance(module, str) or not isinstance(name, str):
            raise _damaged("a name in it is no text")
        if module == "__builtin__":
            module = "builtins"
        key = (module, name)
        call = self._calls.get(key)
        if call is None and key not in _VALUES:
            self._refuse(module, name)
        self._push(_Name(module, name, call, _VALUES.get(key)))

    def _call(self, target, arguments):
        if type(target) is not _Name or not isinstance(arguments, tuple):
            raise _damaged("it calls what is no constructor")
        if target.call is None:
            self._refuse(target.module, target.name)
        self._push(target.call(*arguments))

    def _reduce(self):
        arguments = self._finish(self._pop())
        self._call(self._pop(), arguments)

    def _build(self):
        state = self._finish(self._pop())
        target = self._pop()
        if type(target) is not _Pending:
            raise _damaged(f"state for a {type(target).__name__}")
        value = target.build(state)
        for slot in target.slots:
            self._memo[slot] = value
        self._push(value)

    # Opcodes with arguments.

    def _text(self, size):
        self._push(str(self._take(size), "utf-8", "surrogatepass"))

    def _long(self, size):
        self._push(int.from_bytes(self._take(size), "little", signed=True))

    def _tuple(self, count):
        items = [self._finish(self._pop()) for _ in range(count)]
        self._push(tuple(reversed(items)))

    def _container(self, *kinds):
        if not self._stack or not isinstance(self._stack[-1], kinds):
            raise _damaged(f"expected a {kinds[0].__name__} to fill")
        return self._stack[-1]

    def _append(self):
        item = self._finish(self._pop())
        self._container(list).append(item)

    def _extend(self):
        items = self._pop_mark()
        self._container(list).extend(items)

    def _set_item(self):
        value = self._finish(self._pop())
        key = self._finish(self._pop())
        self._container(dict)[key] = value

    def _set_items(self):
        items = self._pop_mark()
        if len(items) % 2:
            raise _damaged("a dict in it has a key without a value")
        self._container(dict).update(zip(items[::2], items[1::2]))

    def _add_items(self):
        items = self._pop_mark()
        self._container(set).update(items)

    def _stack_global(self):
        name = self._pop()
        self._look_up(self._pop(), name)

    def _protocol(self):
        protocol = self._number("B")
        if protocol > 5:
            raise _damaged(f"pickle protocol {protocol} is newer than 5")

    _HANDLERS = {
        0x80: _protocol,
        0x95: lambda self: self._take(8),  # FRAME: its size adds nothing
        ord("("): lambda self: self._marks.append(len(self._stack)),
        ord("0"): lambda self: self._pop(),
        ord("1"): lambda self: self._pop_mark(),
        ord("N"): lambda self: self._push(None),
        0x88: lambda self: self._push(True),
        0x89: lambda self: self._push(False),
        ord("K"): lambda self: self._push(self._number("B")),
        ord("M"): lambda self: self._push(self._number("<H")),
        ord("J"): lambda self: self._push(self._number("<i")),
        0x8A: lambda self: self._long(self._number("B")),
        0x8B: lambda self: self._long(self._number("<i")),
        ord("G"): lambda self: self._push(self._number(">d")),
        ord("X"): lambda self: self._text(self._number("<I")),
        0x8C: lambda self: self._text(self._number("B")),
        0x8D: lambda self: self._text(self._number("<Q")),
        ord("C"): lambda self: self._push(self._take(self._number("B"))),
        ord("B"): lambda self: self._push(self._take(self._number("<I"))),
        0x8E: lambda self: self._push(self._take(self._number("<Q"))),
        0x96: lambda self: self._push(bytearray(self._take(self._number("<Q")))),
        # Strings of Python 2, which old parameter files hold.
        ord("T"): lambda self: self._push(str(self._take(self._number("<i")), "latin1")),
        ord("U"): lambda self: self._push(str(self._take(self._number("B")), "latin1")),
        ord("}"): lambda self: self._push({}),
        ord("]"): lambda self: self._push([]),
        ord(")"): lambda self: self._push(()),
        0x8F: lambda self: self._push(set()),
        0x91: lambda self: self._push(frozenset(self._pop_mark())),
        ord("t"): lambda self: self._push(tuple(self._pop_mark())),
        0x85: lambda self: self._tuple(1),
        0x86: lambda self: self._tuple(2),
        0x87: lambda self: self._tuple(3),
        ord("a"): _append,
        ord("e"): _extend,
        ord("s"): _set_item,
        ord("u"): _set_items,
        0x90: _add_items,
        ord("q"): lambda self: self._memoize(self._number("B")),
        ord("r"): lambda self: self._memoize(self._number("<I")),
        0x94: lambda self: self._memoize(len(self._memo)),
        ord("h"): lambda self: self._recall(self._number("B")),
        ord("j"): lambda self: self._recall(self._number("<I")),
        ord("c"): lambda self: self._look_up(self._line(), self._line()),
        0x93: _stack_global,
        ord("R"): _reduce,
        0x81: _reduce,  # NEWOBJ: the tables hold constructors for both
        ord("b"): _build,
    }
