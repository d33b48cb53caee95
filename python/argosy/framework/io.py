"""`save` and `load`: Paddle's .pdparams and .pdopt files both ways, safetensors; `load`: GGUF.

A .pdparams file is one pickle. A state dict (a dict of tensors) is stored as arrays by name, with a
table of parameter names beside them; in any other object each tensor is a tuple (name, array).
bfloat16 is stored as the bits in uint16. A file written here ends with a checksum that Paddle's
reader ignores.
"""

import functools
import io
import math
import os
import stat
import struct
import sys
import zlib

from argosy import _core
from argosy import tensor as _tensor
from argosy._dtypes import BITS_IN_NUMPY, DTYPES
from argosy._programs import mode
from argosy._support import ArgumentError, dtype_name, is_operand
from argosy.base.parameter import EagerParamBase  # noqa: F401

from . import atomic_file, gguf, pickle_reader, pickle_writer, tensor_file

__all__ = ["load", "save"]

_BINARY = "one tensor, binary"  # the format of use_binary_format
_NAME_TABLE = "StructuredToParameterName@@"
_SPLIT_TABLE = "UnpackBigParamInfor@@"  # arrays that protocol 2 had to store in parts
_TRAILER = struct.Struct("<8sIQ")  # mark, CRC-32 and length of the pickle before it
_TRAILER_MARK = b"\nArgosy\x1a"
_PROGRAM_MARK = b"argosy\r\n"  # a saved Program starts with it

# Numbers of the element types in a pickled dtype.
_DTYPE_NUMBERS = {dtype_name(dtype): dtype.value for dtype in DTYPES}
# Names of the element types in a safetensors file, and what NumPy reads their bytes as.
_SAFETENSORS_TYPES = {
    "bool": ("BOOL", "bool"),
    "uint8": ("U8", "uint8"),
    "int8": ("I8", "int8"),
    "uint16": ("U16", "uint16"),
    "int16": ("I16", "int16"),
    "uint32": ("U32", "uint32"),
    "int32": ("I32", "int32"),
    "uint64": ("U64", "uint64"),
    "int64": ("I64", "int64"),
    "float16": ("F16", "float16"),
    "bfloat16": ("BF16", "uint16"),
    "float32": ("F32", "float32"),
    "float64": ("F64", "float64"),
    "complex64": ("C64", "complex64"),
    "float8_e4m3fn": ("F8_E4M3", "uint8"),
    "float8_e5m2": ("F8_E5M2", "uint8"),
}


def _at_once(function):
    """In static mode: computes nevertheless, and adds nothing to a Program."""

    @functools.wraps(function)
    def run(*args, **kwargs):
        if not mode.static_mode():
            return function(*args, **kwargs)
        with mode.recording(None):
            return function(*args, **kwargs)

    return run


@_at_once
def save(obj, path, protocol=4, **configs):
    """Save a state dict, a tensor, a nested structure of tensors and plain values, or any object.

    What `pickle` can store may be anywhere in `obj`: a scheduler, a dataclass, a dict with tuples as
    keys. Loading such a file needs `load(path, allow=...)`.

    A file is written beside its final place, synced and renamed, so a writer killed at any moment
    leaves the previous file whole. Folders in `path` are created.

    Args:
        obj: state dict of a layer or an optimizer, tensor, NumPy array, number, string, dict,
            list, tuple or set of them, or an object of any class that pickle stores (tensors in its
            attributes come back as (name, array), as Paddle's do); a static Program, without the
            values of its state. A layer itself is refused: save its state_dict().
        path (str|os.PathLike|io.BytesIO): file to write; `.safetensors` as its ending chooses that
            format, any other ending Paddle's pickle.
        protocol (int): pickle protocol 2, 3 or 4. Default 4.
        format (str|None): "pickle" or "safetensors", whatever the ending. Default None.
        use_binary_format (bool): write `obj`, which is one tensor, as Paddle's C++ does: no pickle.
            Default False.
        configs: format; pickle_protocol, another name of protocol; use_binary_format.

    Raises:
        ValueError: a layer, an empty file name, a protocol outside 2 to 4.
        TypeError: `obj` holds a value that pickle cannot store, such as a lambda.
        NotImplementedError: use_binary_format, and `obj` is no tensor or of a dtype that this format lacks.
        OSError: the file cannot be written; the previous file is untouched.

    Example:
        >>> import tempfile
        >>> layer = argosy.nn.Linear(2, 1)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     argosy.save(layer.state_dict(), folder + "/model.pdparams")
        ...     state = argosy.load(folder + "/model.pdparams")
        >>> sorted(state), bool((state["weight"] == layer.weight).all())
        (['bias', 'weight'], True)
    """
    file_format = _options("save", configs, ("use_binary_format", "pickle_protocol"))
    if _binary(configs.get("use_binary_format", False), obj):
        file_format = _BINARY
    protocol = configs.get("pickle_protocol", protocol)
    if not isinstance(protocol, int) or isinstance(protocol, bool):
        raise ValueError(
            f"[save] protocol must be an int: expected 2, 3 or 4, got {type(protocol).__name__}."
            " Do this: pass one of these numbers."
        )
    if not 2 <= protocol <= 4:
        raise ValueError(
            f"[save] unknown pickle protocol: expected 2, 3 or 4, got {protocol}."
            " Do this: pass one of these numbers."
        )
    if _is_layer(obj):
        raise ValueError(
            f"[save] a Layer cannot be saved: expected a state dict, got {type(obj).__name__}. "
            "Do this: save(layer.state_dict(), path)."
        )
    if _is_program(obj):
        _save_program(obj, path)
        return
    if isinstance(path, io.BytesIO):
        _write(obj, path, protocol, file_format or "pickle", trailer=False)
        return
    name = _file_name("save", path)
    file_format = file_format or _format_of(name)
    if file_format == "gguf":
        raise NotImplementedError(
            f"[save] GGUF files are only read, got {name}. Do this: save to a .safetensors file."
        )
    with atomic_file.atomic_writer(name) as file:
        _write(obj, file, protocol, file_format, trailer=True)


def _binary(wanted, obj):
    """use_binary_format, checked."""
    if not isinstance(wanted, bool):
        raise TypeError(
            f"[save] use_binary_format: expected a bool, got {type(wanted).__name__}. Do this: pass True or"
            " False."
        )
    if wanted and not is_operand(obj):
        raise NotImplementedError(
            f"[save] use_binary_format=True: expected one Tensor, got {type(obj).__name__}. Do this: leave"
            " it out."
        )
    return wanted


@_at_once
def save_together(contents, protocol=4):
    """Save what belongs together: either all of the files are replaced, or, on an error, none.

    Who is killed has replaced none, unless it was between two renames.

    Args:
        contents (dict): From paths to what `save` takes, or to the bytes of the file.
        protocol (int): As of `save`.
    """
    with atomic_file.atomic_writers(*contents) as files:
        for content, file in zip(contents.values(), files, strict=True):
            if isinstance(content, bytes):
                file.write(content)
            else:
                _write(content, file, protocol, "pickle", trailer=True)


@_at_once
def load(path, *, allow=None, **configs):
    """Load what `save`, or Paddle's, wrote. Runs no code that the file names unless told to.

    Args:
        path (str|os.PathLike|io.BytesIO): file to read, in either format of `save`, or a GGUF file, which
            gives a dict of tensors: those of fewer bits as float32.
        allow (list|type|str|None): classes and functions that a file whose writer you trust may
            use, themselves or as "module.Name". The file may then call these, and only these, with
            arguments of its own, and keys of dicts may be of any type. "anything": whatever the file
            names is imported and called, so it can do whatever you can. Default None: tensors,
            arrays and plain values only.
        return_numpy (bool): give NumPy arrays in place of tensors. Default False.
        keep_name_table (bool): keep the table of parameter names in a state dict. Default False.
        format (str|None): "pickle", "safetensors" or "gguf"; None looks at the file. Default None.
        configs: return_numpy, keep_name_table and format.

    Returns:
        The saved object; tensors are on the CPU and have stop_gradient=True.

    Raises:
        ValueError: no such file, or the file is damaged (DamagedFileError).
        UnsafeFileError: the file asks for a class or function that is not allowed; it names it.

    Example:
        >>> import io
        >>> file = io.BytesIO()
        >>> argosy.save({"step": 3, "x": argosy.ones([2])}, file)
        >>> _ = file.seek(0)
        >>> argosy.load(file, return_numpy=True)["x"].tolist()
        [1.0, 1.0]
    """
    allow = _allowed(allow)
    keys = ("return_numpy", "keep_name_table", "model_filename", "params_filename")
    file_format = _options("load", configs, keys)
    return_numpy = bool(configs.get("return_numpy", False))
    keep_names = bool(configs.get("keep_name_table", False))
    if isinstance(path, io.BytesIO):
        if file_format == "gguf":
            raise NotImplementedError(
                "[load] a GGUF file is read where it lies. Do this: pass its path."
            )
        size = path.getbuffer().nbytes - path.tell()
        return _read(path, size, file_format, return_numpy, keep_names, allow)
    name = _file_name("load", path)
    if not os.path.exists(name):
        raise ValueError(
            f"[load] no such file: {name}. Do this: check the path and its ending "
            "(.pdparams, .pdopt, .safetensors, .gguf); nothing is downloaded."
        )
    if os.path.isdir(name):
        raise ValueError(f"[load] {name} is a folder: expected a file. Do this: name the file.")
    if stat.S_ISFIFO(os.stat(name).st_mode):  # to open it would wait for a writer
        raise ValueError(
            f"[load] {name} is a pipe: expected a file, which is read from several places. Do this: read"
            " the pipe into an io.BytesIO, and load that."
        )
    with open(name, "rb") as file:
        if file.read(len(_PROGRAM_MARK)) == _PROGRAM_MARK:
            from argosy.static.io import deserialize_program

            file.seek(0)
            return deserialize_program(file.read())
        file.seek(0)
        size = os.fstat(file.fileno()).st_size
        file_format = file_format or _format_of(name)
        if file_format == "gguf":
            return gguf.read(name, return_numpy)
        try:
            return _read(file, size, file_format, return_numpy, keep_names, allow)
        except (pickle_reader.DamagedFileError, pickle_reader.UnsafeFileError) as error:
            raise type(error)(f"{error} (file: {name})") from error


def _is_program(value):
    static = sys.modules.get("argosy.static")
    return static is not None and isinstance(value, static.Program)


def _save_program(program, path):
    from argosy.static.io import to_bytes

    content = to_bytes(program)
    if isinstance(path, io.BytesIO):
        path.write(content)
        return
    with atomic_file.atomic_writer(_file_name("save", path)) as file:
        file.write(content)


def _options(function, configs, known):
    unknown = sorted(set(configs) - set(known) - {"format"})
    if unknown:
        raise ValueError(
            f"[{function}] unknown option {unknown[0]}: expected {', '.join((*known, 'format'))}."
            " Do this: correct its name."
        )
    file_format = configs.get("format")
    formats = ("pickle", "safetensors", "gguf")[: 3 if function == "load" else 2]
    if file_format is not None and file_format not in formats:
        raise ValueError(
            f"[{function}] unknown format: expected {' or '.join(map(repr, formats))}, got"
            f" {file_format!r}. Do this: pass one of them."
        )
    return file_format


def _file_name(function, path):
    try:
        name = os.fspath(path)
    except TypeError:
        raise ArgumentError(
            f"[{function}] expected a path or BytesIO, got {type(path).__name__}."
            " Do this: pass a file name or an io.BytesIO."
        ) from None
    if isinstance(name, bytes):
        name = os.fsdecode(name)
    if not os.path.basename(name):
        raise ValueError(
            f"[{function}] the file name is empty: expected folder/name, got {name!r}. "
            "Do this: end the path with a file name, as in 'out/model.pdparams'."
        )
    return name


def _format_of(name):
    ending = os.path.splitext(name)[1]
    return {".safetensors": "safetensors", ".gguf": "gguf"}.get(ending, "pickle")


# Tensors and arrays.


def _is_layer(value):
    nn = sys.modules.get("argosy.nn")  # not imported: nobody has a layer
    return nn is not None and isinstance(value, nn.Layer)


def _dtype_name(value):
    """Name of a dtype or of a tensor's dtype, such as "float32"."""
    return dtype_name(getattr(value, "dtype", value))


def _array_of(tensor):
    """The tensor's elements as NumPy stores them in a file: bfloat16 as its bits in uint16."""
    if tensor._symbolic:  # state of a static Program: what the global scope has
        from argosy.tensor.program_value import value_in_scope

        tensor = value_in_scope(tensor)
    array = tensor.detach().numpy()
    bits = BITS_IN_NUMPY.get(tensor.dtype)
    return array if bits is None else array.view(bits)


def _tensor_of(array, dtype=None):
    """Tensor of a stored array; `dtype` names a type that NumPy lacks, uint16 alone means bfloat16."""
    if dtype in (None, _dtype_name(array)):
        return _tensor.to_tensor(array, dtype)
    signed = {"uint16": "int16", "uint8": "uint8"}[_dtype_name(array)]
    return _tensor.to_tensor(array.view(signed)).view(dtype)


# Writing.


def _write(obj, file, protocol, file_format, trailer):
    if file_format == "safetensors":
        file.write(_to_safetensors(obj))
        return
    if file_format == _BINARY:
        file.write(tensor_file.to_bytes(_array_of(obj), _dtype_name(obj)))
        return
    checksum = size = 0

    def write(piece):
        nonlocal checksum, size
        file.write(piece)
        checksum = zlib.crc32(piece, checksum)
        size += len(piece)

    if _is_state_dict(obj):
        obj = _with_name_table(obj)
    pickle_writer.PickleWriter(write, protocol, _reduce_extra).dump(obj)
    if trailer:
        file.write(_TRAILER.pack(_TRAILER_MARK, checksum, size))


def _is_state_dict(obj):
    """Whether `obj` is a dict of tensors and of dicts without tensors (as the scheduler's)."""
    return isinstance(obj, dict) and all(
        not _holds_tensor(value) if isinstance(value, dict) else is_operand(value)
        for value in obj.values()
    )


def _any_in(obj, wanted):
    """Whether wanted(value) holds for obj or a value in its dicts, lists, tuples and sets."""
    waiting, seen = [obj], set()
    while waiting:
        value = waiting.pop()
        if wanted(value):
            return True
        # Each once: it may be inside itself, or shared by many.
        if isinstance(value, (dict, list, tuple, set, frozenset)) and id(value) not in seen:
            seen.add(id(value))
            waiting.extend(value.values() if isinstance(value, dict) else value)
    return False


def _holds_tensor(value):
    return _any_in(value, lambda one: is_operand(one) or _is_layer(one))


def _with_name_table(state):
    stored, names, arrays = {}, {}, {}
    for key, value in state.items():
        if is_operand(value):
            names[key] = value.name
            # Tied weights are one array in the file.
            if id(value) not in arrays:
                arrays[id(value)] = _checked_array(value)
            value = arrays[id(value)]
        stored[key] = value
    stored[_NAME_TABLE] = names
    return stored


def _checked_array(tensor):
    name = _dtype_name(tensor)
    if name.startswith("float8"):
        raise TypeError(
            f"[save] a .pdparams file cannot hold {name} (Paddle's reader has no mark for it). "
            "Do this: save to a .safetensors file, or cast the tensor first."
        )
    return _array_of(tensor)


def _reduce_extra(value):
    if is_operand(value):
        pair = (value.name, _checked_array(value))
        return pickle_writer.Reduced("builtins", "tuple", (pair,))
    kind = type(value)
    if isinstance(value, list) and kind.__name__ == "Size":
        return pickle_writer.Reduced("builtins", "list", (list(value),))
    if kind.__name__ in ("DataType", "dtype") and _dtype_name(value) in _DTYPE_NUMBERS:
        number = _DTYPE_NUMBERS[_dtype_name(value)]
        return pickle_writer.Reduced("paddle", "dtype", (), number, new=True)
    return None


# Reading.


def _allowed(allow):
    """`allow` of load as PickleReader takes it."""
    if allow is None:
        return None
    if isinstance(allow, str) and allow == "anything":
        return pickle_reader.ANYTHING
    table = {}
    for item in allow if isinstance(allow, (list, tuple, set, frozenset)) else (allow,):
        if isinstance(item, str):
            module, _, name = item.rpartition(".")
            try:
                item = pickle_reader.find_object(module, name)
            except (ImportError, AttributeError, ValueError) as error:
                raise ValueError(
                    f"[load] allow: there is no '{module}.{name}' ({error}): expected "
                    "'module.Name'. Do this: import its module, or pass the class itself."
                ) from error
        else:
            module = getattr(item, "__module__", None)
            name = getattr(item, "__qualname__", None)
            if not callable(item) or module is None or name is None:
                raise TypeError(
                    "[load] allow: expected classes, functions, 'module.Name' or 'anything', got "
                    f"{type(item).__name__}. Do this: pass a list such as allow=[MyClass]."
                )
        table[module, name] = item
        if module.partition(".")[0] == "argosy":
            table["paddle" + module[6:], name] = item
    return table


def _read(file, size, file_format, return_numpy, keep_names, allow):
    if file_format == "safetensors":
        return _from_safetensors(file.read(), return_numpy)
    start = file.tell()
    if tensor_file.is_head(file.read(tensor_file.HEAD_BYTES)):
        file.seek(start)
        array, dtype = tensor_file.from_bytes(file.read())
        return array if return_numpy else _tensor_of(array, dtype)
    file.seek(start)
    expected = None
    if size > _TRAILER.size and not isinstance(file, io.BytesIO):
        file.seek(-_TRAILER.size, os.SEEK_END)
        mark, checksum, length = _TRAILER.unpack(file.read(_TRAILER.size))
        file.seek(0)
        if mark == _TRAILER_MARK and length == size - _TRAILER.size:
            expected, size = checksum, length
    reader = pickle_reader.PickleReader(file, size, {("paddle", "dtype"): _dtype_by_number}, allow)
    obj = reader.load()
    if expected is None and not isinstance(file, io.BytesIO):
        _check_end(file, start, reader)
    if expected is not None and reader.checksum != expected:
        raise pickle_reader.DamagedFileError(
            f"[load] the file is damaged: its checksum is {reader.checksum:08x}, expected "
            f"{expected:08x}. Do this: load an earlier checkpoint."
        )
    try:
        return _restore(obj, _Converter(reader.charge, return_numpy), keep_names)
    except RecursionError as error:
        raise pickle_reader.DamagedFileError(
            "[load] the values in the file are nested too deep for the calls that stand above load."
            " Do this: call load from a shallower place."
        ) from error


def _check_end(file, start, reader):
    """Raises where what follows a pickle was a trailer before it was cut or altered."""
    file.seek(start + reader.position)
    rest = file.read(_TRAILER.size + 1)
    whole = _TRAILER.pack(_TRAILER_MARK, reader.checksum, reader.position)
    alike = sum(a == b for a, b in zip(rest, whole))
    if 0 < len(rest) <= len(whole) and 2 * alike > len(rest):
        raise pickle_reader.DamagedFileError(
            "[load] the file is damaged: its end, which has the checksum, is cut or altered. Do this: load an"
            " earlier checkpoint."
        )


def _dtype_by_number(reader):
    names = {number: name for name, number in _DTYPE_NUMBERS.items()}

    def build(number):
        if type(number) is not int or number not in names:
            raise _unreadable("an element type in it has an unknown number")
        return _core.dtype(names[number])

    return pickle_reader.PickleReader.pending(build)


def _unreadable(what):
    return pickle_reader.DamagedFileError(
        f"[load] the file is damaged or not a parameter file: {what}. "
        "Do this: load an earlier checkpoint, or write the file again with save()."
    )


def _restore(obj, converter, keep_names):
    if isinstance(obj, dict) and isinstance(obj.get(_SPLIT_TABLE), dict):
        _join_split(obj)
    if isinstance(obj, dict) and isinstance(obj.get(_NAME_TABLE), dict):
        names = obj[_NAME_TABLE]
        for key, name in list(names.items()):
            if _is_array(obj.get(key)):
                obj[key] = converter.convert(obj[key], name)
        if not keep_names:
            del obj[_NAME_TABLE]
        return obj
    return _Restorer(_find_named(obj), converter).restore(obj)


def _join_split(obj):
    import numpy

    joined = {}
    for key, info in obj.pop(_SPLIT_TABLE).items():
        slices, shape = (
            (info.get("slices"), info.get("OriginShape")) if type(info) is dict else (None, None)
        )
        if type(slices) is not list or type(shape) is not tuple or not slices:
            raise _unreadable("a table of arrays in parts is of another form")
        # Each part is there for one array only, and is no array that was joined.
        parts = [obj.pop(part, None) if type(part) is str else None for part in slices]
        if not all(_is_array(part) and part.dtype == parts[0].dtype for part in parts):
            raise _unreadable(f"a part of the array {key!r} is missing or of another type")
        if any(part.ndim != 1 for part in parts) or not _fits(shape, parts):
            raise _unreadable(f"the parts of the array {key!r} do not make up its shape")
        joined[key] = numpy.concatenate(parts).reshape(shape)
    obj.update(joined)


def _fits(shape, parts):
    return all(type(size) is int and size >= 0 for size in shape) and math.prod(shape) == sum(
        part.size for part in parts
    )


def _is_array(value):
    import numpy

    return isinstance(value, numpy.ndarray)


def _is_named(value):
    """Whether `value` is how a tensor is stored outside a state dict: (name, array)."""
    return (
        type(value) is tuple
        and len(value) == 2
        and isinstance(value[0], str)
        and _is_array(value[1])
    )


def _find_named(obj):
    """Whether a stored tensor is anywhere in `obj`; if so, bare arrays were NumPy arrays."""
    return _any_in(obj, _is_named)


class _Restorer:
    """Puts tensors in place of stored ones, filling dicts and lists anew in their own objects.

    Only tuples in tuples recurse, and these the reader has limited.
    """

    def __init__(self, named_only, converter):
        self._named_only = named_only
        self._converter = converter
        self._done = {}
        self._waiting = []

    def restore(self, obj):
        obj = self._value(obj)
        while self._waiting:
            container = self._waiting.pop()
            for key in list(container) if isinstance(container, dict) else range(len(container)):
                container[key] = self._value(container[key])
        return obj

    def _value(self, obj):
        if isinstance(obj, (dict, list)):
            if id(obj) not in self._done:
                self._done[id(obj)] = (obj, obj)
                self._waiting.append(obj)
            return obj
        if type(obj) is not tuple and not _is_array(obj):
            return obj
        if id(obj) not in self._done:
            self._done[id(obj)] = (self._made(obj), obj)
        return self._done[id(obj)][0]

    def _made(self, obj):
        if _is_named(obj):
            return self._converter.convert(obj[1], obj[0])
        if type(obj) is tuple:
            return tuple([self._value(item) for item in obj])
        return self._converter.convert(obj, None, as_array=self._named_only)


class _Converter:
    """Makes tensors, or arrays that may be written to, of the arrays of a file.

    An array that is there under several keys becomes one tensor if they give it one name (tied
    weights), else a copy for each, which `charge` counts.
    """

    def __init__(self, charge, return_numpy):
        self._charge = charge
        self._return_numpy = return_numpy
        self._made = {}

    def convert(self, array, name, as_array=False):
        name = name if type(name) is str else None
        known = self._made.get((id(array), name))
        if known is None:
            self._charge(array.nbytes)
            result = _convert(array, name, self._return_numpy or as_array)
            known = self._made[id(array), name] = result, array  # the id is valid while it lives
        return known[0]


def _convert(array, name, as_array):
    if as_array or array.dtype.kind not in "biufc":
        return array if array.flags.writeable else array.copy()
    try:
        tensor = _tensor_of(array)
    except (TypeError, ValueError, OverflowError) as error:
        raise _unreadable(
            f"an array of type {array.dtype} and shape {list(array.shape)} is no tensor ({error})"
        ) from error
    if name:
        tensor.name = name
    return tensor


# safetensors.


def _safetensors(function):
    try:
        import safetensors
    except ImportError as error:
        raise ImportError(
            f"[{function}] the .safetensors format needs the package safetensors, which is not "
            "installed. Do this: pip install safetensors."
        ) from error
    return safetensors


def _to_safetensors(obj):
    safetensors = _safetensors("save")
    if not isinstance(obj, dict):
        raise TypeError(
            f"[save] a .safetensors file holds one dict of tensors: got {type(obj).__name__}. "
            "Do this: save a state dict, or use the ending .pdparams."
        )
    import numpy

    pieces, arrays = {}, []
    for key, value in obj.items():
        if not isinstance(key, str) or not (is_operand(value) or _is_array(value)):
            raise TypeError(
                f"[save] a .safetensors file holds only tensors by name: got {key!r} of type "
                f"{type(value).__name__}. Do this: leave it out, or use the ending .pdparams."
            )
        if key == "__metadata__":
            raise ValueError(
                "[save] a .safetensors file keeps the name '__metadata__' for itself. Do this: rename the entry."
            )
        name = _dtype_name(value)
        if name not in _SAFETENSORS_TYPES:
            raise TypeError(
                f"[save] a .safetensors file cannot hold {name} ({key!r}). Do this: cast it first."
            )
        array = numpy.ascontiguousarray(_array_of(value) if is_operand(value) else value)
        array = array.astype(array.dtype.newbyteorder("<"), copy=False)
        arrays.append(array)
        pieces[key] = _safetensors_piece(safetensors, name, list(value.shape), array)
    return safetensors.serialize(pieces, {"format": "pd"})


def _safetensors_piece(safetensors, name, shape, array):
    if hasattr(safetensors, "TensorSpec"):  # from 0.8 on: by address, `array` has to live on
        address, size = array.ctypes.data, array.nbytes
        return safetensors.TensorSpec(dtype=name, shape=shape, data_ptr=address, data_len=size)
    return {"dtype": name, "shape": shape, "data": array.tobytes()}


def _from_safetensors(data, return_numpy):
    safetensors = _safetensors("load")
    try:
        pieces = safetensors.deserialize(data)
    except safetensors.SafetensorError as error:
        raise pickle_reader.DamagedFileError(
            f"[load] the file is damaged or no safetensors file: {error}. "
            "Do this: load an earlier checkpoint, or write the file again with save()."
        ) from error
    import numpy

    names = {stored: (name, array) for name, (stored, array) in _SAFETENSORS_TYPES.items()}
    result = {}
    for key, piece in sorted(pieces, key=lambda item: item[0]):  # their order is arbitrary
        if piece["dtype"] not in names:
            raise NotImplementedError(f"[load] {key!r} has the unknown type {piece['dtype']}.")
        name, array_type = names[piece["dtype"]]
        array = numpy.frombuffer(piece["data"], array_type).reshape(piece["shape"])
        result[key] = array.copy() if return_numpy else _tensor_of(array, name)
    return result
