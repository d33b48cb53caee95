"""Reads the pickles of .pdparams and .pdopt files without running code from the file.

This is an interpreter for the opcodes that such files use. Names in the file are looked up in a
fixed table of harmless constructors; nothing is ever imported.

Time and memory are bounded by the file's size, whoever wrote it: sizes are checked against the file
before memory is taken; what copies a value that the file can name again is charged to a budget; no
value of the file is hashed, compared or printed before its type is known to make that cheap; and
nesting is limited, as CPython frees and hashes some types recursively in C.

A caller who trusts the writer may name further classes and functions (`allow`). Only these are
called, looked up by the whole name and never through attributes of others; what they do with their
arguments is theirs.
"""

import collections
import datetime
import importlib
import math
import pickle
import re
import struct
import zlib

__all__ = ["ANYTHING", "DamagedFileError", "PickleReader", "UnsafeFileError"]


def find_object(module, name):
    """The class or function of that name; those of Paddle are Argosy's."""
    if module.partition(".")[0] == "paddle":
        module = "argosy" + module[6:]
    found = importlib.import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    return found


class UnsafeFileError(pickle.UnpicklingError, ValueError):
    """The file asks for a function or class that loading does not allow."""


class DamagedFileError(ValueError):
    """The file is truncated, altered, or no file of this kind."""


# Containers may be nested this deep. How tensors and sets are wrapped counts, so `save` refuses less.
DEPTH = 128
SAVED_DEPTH = 100

# What copies may take together, in bytes.
_BUDGET = 16 << 20
_BUDGET_OF_A_BYTE = 16

_LONG = 256  # texts from here on are paid for when they are keys: comparing them costs
_KEYS = (str, bytes, int, float, bool, type(None))


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


def key_fault(key):
    """Why `key` may be no key of a dict or element of a set in a file; None if it may.

    Other types hash or compare in time that a file can make long; integers of many digits, too.
    """
    if type(key) not in _KEYS:
        kind = type(key)
        return f"a {kind.__name__} as a dict key or in a set"
    if type(key) is int and not -(1 << 63) <= key < 1 << 64:
        return "an integer of more than 64 bits as a dict key or in a set"
    return None


def check_bits(array):
    """Refuses elements that no value of the type has: bool beyond 0 and 1, text beyond Unicode."""
    kind = array.dtype.kind
    if array.size and kind == "b" and array.view("u1").max() > 1:
        raise _damaged("an array of bool holds a byte that is neither 0 nor 1")
    if array.size and kind == "U" and array.view("u4").max() > 0x10FFFF:
        raise _damaged("an array of text holds what is no character")
    return array


def _dtype(reader, code, *_):
    import numpy

    if type(code) is not str or not re.fullmatch(r"[biufcSUO?]\d{0,9}", code):
        raise _damaged(f"array of unknown element type {_shown(code)}")

    def make(order):
        try:
            dtype = numpy.dtype(order + code)
        except TypeError:
            raise _damaged(f"array of unknown element type {code!r}") from None
        if dtype.itemsize > 1 << 20:
            raise _damaged(f"array elements of {dtype.itemsize} bytes")
        return dtype

    def build(state):
        order = state[1] if type(state) is tuple and len(state) > 1 else "="
        if type(order) is not str or order not in ("<", ">", "|", "="):
            raise _damaged(f"array of unknown byte order {_shown(order)}")
        return make(order)

    return _Pending(build, lambda: make(""))


def _shown(value):
    """A short text for a value of the file; its repr may be endless."""
    return repr(value[:40]) if type(value) is str else f"of type {type(value).__name__}"


def _array(reader, *_):
    import numpy

    def elements(dtype, data):
        if dtype.hasobject:
            if type(data) is not list:
                raise _damaged("array of objects without a list of them")
            reader.charge(16 * len(data))
            result = numpy.empty(len(data), object)
            for i, item in enumerate(data):  # at once, NumPy would look into nested lists
                result[i] = item
            return result
        data = _bytes(reader, data)
        reader.charge(max(len(data), dtype.itemsize))
        return check_bits(_native(numpy.frombuffer(data, dtype)))  # read-only, over the bytes

    def build(state):
        if type(state) is not tuple or len(state) != 5:
            raise _damaged("array without a shape and elements")
        _, shape, dtype, fortran, data = state
        if not isinstance(dtype, numpy.dtype):
            raise _damaged(f"array whose element type is a {type(dtype).__name__}")
        if type(fortran) not in (bool, int):
            raise _damaged("array without an order of its dimensions")
        _check_shape(shape)
        result = elements(dtype, data)
        if math.prod(shape) != result.size:
            raise _damaged(f"array of {result.size} elements where its shape says others")
        result = result.reshape(shape, order="F" if fortran else "C")
        reader.array_made(result, data)
        return result

    return _Pending(build)


def _check_shape(shape):
    # 32 is what every NumPy allows.
    good = type(shape) is tuple and len(shape) <= 32
    if not good or any(type(size) is not int or not 0 <= size < 1 << 48 for size in shape):
        raise _damaged("array whose shape is no tuple of sizes")
    if math.prod(max(size, 1) for size in shape) >= 1 << 56:
        raise _damaged("array whose shape is too large")


def _native(array):
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def _bytes(reader, data):
    """Elements as bytes; files of Python 2 have them as text."""
    if type(data) is str:
        reader.charge(len(data))
        data = data.encode("latin1")
    if type(data) is not bytes:
        raise _damaged(f"elements of an array in a {type(data).__name__}")
    return data


def _scalar(reader, dtype, data=b""):
    import numpy

    if not isinstance(dtype, numpy.dtype) or dtype.hasobject:
        raise _damaged("scalar without an element type")
    data = _bytes(reader, data)
    if len(data) != dtype.itemsize or not data:
        raise _damaged(f"scalar of {len(data)} bytes: expected {dtype.itemsize}")
    reader.charge(len(data))
    return check_bits(_native(numpy.frombuffer(data, dtype)))[0]


def _encode(reader, text, encoding="utf-8"):
    if type(encoding) is not str or encoding not in ("latin1", "latin-1", "utf-8"):
        raise _damaged(f"bytes stored in encoding {_shown(encoding)}")
    if type(text) is not str:
        raise _damaged(f"bytes stored as a {type(text).__name__}")
    reader.charge(len(text))
    return text.encode(encoding)


def _defaultdict(reader, factory=None):
    if factory is not None and not any(factory is kind for kind in _FACTORIES):
        raise _damaged("defaultdict of what is no class of plain values")
    return collections.defaultdict(factory)


def _plain(function, *kinds):
    """`function`, called only with at most len(kinds) arguments of these kinds."""

    def call(reader, *arguments):
        if len(arguments) > len(kinds) or not all(map(isinstance, arguments, kinds)):
            raise _damaged(f"wrong arguments for {function.__name__}")
        for value in arguments:
            if type(value) is bytes:
                reader.charge(len(value))
            elif type(value) in _ANY_LIST:
                reader.charge(16 * len(value))
                if function in (set, frozenset):
                    reader.check_keys(value)
        return function(*arguments)

    return call


_CONTAINERS = (list, tuple, dict, collections.OrderedDict, collections.defaultdict, set, frozenset)
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


_HOLE = object()
_NO_VALUE = object()
ANYTHING = object()  # for `allow`: whatever the file asks for


class _Name:
    """A name of the file that is in the tables above, or allowed by the caller (`allowed`)."""

    def __init__(self, module, name, call, value, allowed=False):
        self.module = module
        self.name = name
        self.call = call
        self.value = value
        self.allowed = allowed


class PickleReader:
    """Reads one pickled object from a file.

    Args:
        file: a binary file or BytesIO, standing at the first byte; left behind the last one.
        size (int): bytes that the file still has.
        extra_calls (dict): (module, name) -> constructor for REDUCE and NEWOBJ, beside the
            standard ones. It gets this reader first, then arguments of any type; it may give
            `PickleReader.pending(build)`.
        allow (dict|ANYTHING|None): (module, name) -> class or function that the file may use
            beside these. If it is given, keys of dicts may be of any type.
    """

    pending = _Pending

    def __init__(self, file, size, extra_calls=None, allow=None):
        self._file = file
        self._size = size
        self._position = 0
        self._checksum = 0
        self._calls = {**_CALLS, **(extra_calls or {})}
        self._allow = allow
        self._objects = {}  # by id: what allowed classes and functions made
        self._memo = []  # by index; _HOLE where there is none
        self._memo_size = 0
        self._stack = []
        self._marks = []
        self._budget = _BUDGET + _BUDGET_OF_A_BYTE * size
        # By id, set anew when a container is made: how deep it nests, and whether it was put into
        # another one.
        self._levels = {}
        self._placed = set()
        self._late = 0
        self._nesting = set(_CONTAINERS)  # and arrays, from the first one on

    @property
    def checksum(self):
        """CRC-32 of the bytes read so far."""
        return self._checksum

    @property
    def position(self):
        """How many bytes were read so far."""
        return self._position

    def load(self):
        """The object. Raises UnsafeFileError for a refused name, DamagedFileError for the rest."""
        try:
            return self._run()
        except (UnsafeFileError, DamagedFileError, MemoryError):
            raise
        except Exception as error:  # whatever a crafted or damaged stream does to the handlers
            # Not the error's text: that may hold a value of the file.
            where = f"at byte {self._position} of {self._size}"
            raise _damaged(f"{type(error).__name__} {where}") from error

    def charge(self, size):
        """Counts `size` bytes of memory that are not each a byte of the file."""
        self._budget -= size
        if self._budget < 0:
            raise _damaged(f"it asks for far more memory than its {self._size} bytes can need")

    def array_made(self, array, data):
        """Notes an array: one of objects nests as the list that it came from."""
        self._nesting.add(type(array))
        self._made(array, self._level(data) if array.dtype.hasobject else 0)

    def check_keys(self, keys):
        """Refuses what may be no key of a dict or element of a set."""
        for key in keys if self._allow is None else ():
            fault = key_fault(key)
            if fault is not None:
                raise UnsafeFileError(
                    f"[load] the file has {fault}, which could take for ever: expected str, bytes, "
                    "int of 64 bits, float, bool or None. Do this: if you trust its writer, allow "
                    "what it may use, at least nothing: load(path, allow=[])."
                )
            if type(key) in (str, bytes) and len(key) > _LONG:
                self.charge(len(key))

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
            if value.value is _NO_VALUE:
                self._refuse(value.module, value.name)
            return value.value
        return value

    def _push(self, value):
        self._stack.append(value)

    def _memoize(self, index):
        if not self._stack:
            raise _damaged("its stack runs empty")
        if index > self._position:  # each entry has cost its writer a byte
            raise _damaged(f"memo entry {index} at byte {self._position}")
        value = self._stack[-1]
        if type(value) is _Pending:
            value.slots.append(index)
        if index >= len(self._memo):
            self._memo.extend([_HOLE] * (index + 1 - len(self._memo)))
        self._memo_size += self._memo[index] is _HOLE
        self._memo[index] = value

    def _recall(self, index):
        if index >= len(self._memo) or self._memo[index] is _HOLE:
            raise _damaged(f"memo entry {index} does not exist")
        self._stack.append(self._memo[index])

    # Nesting.

    def _nest(self, container, items=()):
        """Pushes a container just made that holds `items`."""
        self._made(container, self._level_above(items))
        self._push(container)

    def _made(self, container, level):
        self._levels[id(container)] = level
        self._placed.discard(id(container))

    def _level(self, value):
        return self._levels.get(id(value), 0) if type(value) in self._nesting else 0

    def _level_above(self, items, container=None):
        level = 0
        for item in items:
            if type(item) in self._nesting and item is not container:
                self._placed.add(id(item))
                level = max(level, self._level(item))
        if level >= DEPTH:
            raise _damaged(f"values in it are nested more than {DEPTH} deep")
        return level + 1

    def _filled(self, container, items):
        """To be called before `items` are put into `container`."""
        level = self._level_above(items, container)
        if level <= self._level(container):
            return
        # Those that hold `container` already (only cycles need that) are not counted anew: most types
        # are freed without recursion however deep they nest. A defaultdict is not.
        if type(container) is collections.defaultdict and id(container) in self._placed:
            self._late += 1
            if self._late > 30:
                raise _damaged("more than 30 times a defaultdict is inside itself")
        self._levels[id(container)] = level

    # Names and calls.

    def _refuse(self, module, name):
        name = f"{module}.{name}"
        name = name if len(name) <= 200 and name.isprintable() else repr(name[:200])
        raise UnsafeFileError(
            f"[load] the file asks for {name}, which loading does not allow: expected "
            "only tensors, arrays, numbers, strings and plain containers. The file may be "
            "malicious, or hold an object of a class. Do this: if you trust its writer, allow what "
            f"it may use, as in load(path, allow=[{name!r}]), or save a state_dict() or plain dict "
            "instead."
        )

    def _allowed(self, module, name):
        """What the caller lets the file use by this name, or None."""
        if self._allow is ANYTHING:
            return find_object(module, name)
        return self._allow.get((module, name)) if self._allow else None

    def _look_up(self, module, name):
        if type(module) is not str or type(name) is not str:
            raise _damaged("a name in it is no text")
        if module == "__builtin__":
            module = "builtins"
        key = (module, name)
        call = self._calls.get(key)
        if call is None and key not in _VALUES:
            found = self._allowed(module, name)
            if found is None:
                self._refuse(module, name)
            self._push(_Name(module, name, found, found, allowed=True))
        else:
            self._push(_Name(module, name, call, _VALUES.get(key, _NO_VALUE)))

    def _call(self, target, arguments):
        if type(target) is not _Name or type(arguments) is not tuple:
            raise _damaged("it calls what is no constructor")
        if target.call is None:
            self._refuse(target.module, target.name)
        if target.allowed:
            self._push_object(target.call(*arguments))
            return
        value = target.call(self, *arguments)
        if type(value) in self._nesting:
            # A copy of its argument, or empty.
            self._made(value, max(map(self._level, arguments), default=1) or 1)
        self._push(value)

    def _push_object(self, value):
        self._objects[id(value)] = value
        self._push(value)

    def _reduce(self):
        arguments = self._finish(self._pop())
        self._call(self._pop(), arguments)

    def _new_object(self):
        arguments = self._finish(self._pop())
        self._make(self._pop(), arguments, {})

    def _new_object_with_keywords(self):
        keywords = self._finish(self._pop())
        arguments = self._finish(self._pop())
        self._make(self._pop(), arguments, keywords)

    def _make(self, target, arguments, keywords):
        if type(target) is not _Name or not target.allowed:
            if keywords:
                raise _damaged("it calls a constructor with keywords")
            self._call(target, arguments)
            return
        if not isinstance(target.value, type) or type(arguments) is not tuple:
            raise _damaged("it makes an object of what is no class")
        self._push_object(target.value.__new__(target.value, *arguments, **keywords))

    def _build(self):
        state = self._finish(self._pop())
        target = self._pop()
        if id(target) in self._objects:
            _set_state(target, state)
            self._push(target)
            return
        if type(target) is not _Pending:
            raise _damaged(f"state for a {type(target).__name__}")
        if target.build is None:
            raise _damaged("state for a value that has its state")
        value, target.build, target.finish = target.build(state), None, None
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
        items.reverse()
        self._nest(tuple(items), items)

    def _tuple_of_marked(self):
        items = self._pop_mark()
        self._nest(tuple(items), items)

    def _frozenset(self):
        items = self._pop_mark()
        self.check_keys(items)
        self._nest(frozenset(items))

    def _container(self, *kinds):
        if not self._stack or not isinstance(self._stack[-1], kinds):
            raise _damaged(f"expected a {kinds[0].__name__} to fill")
        return self._stack[-1]

    def _append(self):
        self._extend_by([self._finish(self._pop())])

    def _extend(self):
        self._extend_by(self._pop_mark())

    def _extend_by(self, items):
        if self._stack and id(self._stack[-1]) in self._objects:  # also what is no list: a deque
            self._stack[-1].extend(items)
            return
        container = self._container(list)
        self._filled(container, items)
        container.extend(items)

    def _set_item(self):
        value = self._finish(self._pop())
        self._put((self._finish(self._pop()),), (value,))

    def _set_items(self):
        items = self._pop_mark()
        if len(items) % 2:
            raise _damaged("a dict in it has a key without a value")
        self._put(items[::2], items[1::2])

    def _put(self, keys, values):
        if self._stack and id(self._stack[-1]) in self._objects:
            for key, value in zip(keys, values):
                self._stack[-1][key] = value
            return
        container = self._container(dict)
        self.check_keys(keys)
        self._filled(container, values)
        container.update(zip(keys, values))

    def _add_items(self):
        items = self._pop_mark()
        self.check_keys(items)
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
        ord("}"): lambda self: self._nest({}),
        ord("]"): lambda self: self._nest([]),
        ord(")"): lambda self: self._push(()),
        0x8F: lambda self: self._nest(set()),
        0x91: _frozenset,
        ord("t"): _tuple_of_marked,
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
        0x94: lambda self: self._memoize(self._memo_size),
        ord("h"): lambda self: self._recall(self._number("B")),
        ord("j"): lambda self: self._recall(self._number("<I")),
        ord("c"): lambda self: self._look_up(self._line(), self._line()),
        0x93: _stack_global,
        ord("R"): _reduce,
        0x81: _new_object,  # NEWOBJ: the tables hold constructors for REDUCE and this
        0x92: _new_object_with_keywords,
        ord("b"): _build,
    }


def _set_state(target, state):
    """What BUILD does with an object of an allowed class: the state is attributes, by name."""
    if isinstance(target, type):
        raise _damaged("state for a class")
    if hasattr(type(target), "__setstate__"):
        target.__setstate__(state)
        return
    slots = None
    if type(state) is tuple and len(state) == 2:
        state, slots = state
    for attributes in (state, slots):
        if attributes and type(attributes) is not dict:
            raise _damaged(f"attributes of an object in a {type(attributes).__name__}")
        if attributes and not all(type(name) is str for name in attributes):
            raise _damaged("an attribute of an object whose name is no text")
    if state:
        vars(target).update(state)
    for name, value in (slots or {}).items():
        setattr(target, name, value)
