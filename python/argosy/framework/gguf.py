"""GGUF files: tensors, also those of fewer bits than a float has, and what is said of them."""

import contextlib
import os

from argosy import tensor as _tensor

from . import pickle_reader


def _package(function):
    try:
        import gguf
    except ImportError as error:
        raise ImportError(
            f"[{function}] the .gguf format needs the package gguf, which is not installed."
            " Do this: pip install gguf."
        ) from error
    return gguf


@contextlib.contextmanager
def _damaged(function, what):
    """Whatever the package raises of a file's bytes, which its array operations do, is an error of the
    file."""
    try:
        yield
    except (MemoryError, NotImplementedError):
        raise
    except Exception as error:
        raise pickle_reader.DamagedFileError(
            f"[{function}] {what} is damaged or no GGUF file: {error}. Do this: get it again."
        ) from error


def _open(function, path):
    gguf = _package(function)
    name = os.fspath(path)
    if not os.path.isfile(name):
        raise ValueError(f"[{function}] no such file: {name}. Do this: check the path.")
    with _damaged(function, name):
        return gguf, gguf.GGUFReader(name)


def metadata(path):
    """What a GGUF file says of its model: sizes, names, the tokenizer.

    Args:
        path (str|os.PathLike): The file.

    Returns:
        dict: Numbers, texts and lists of them by their keys.

    Raises:
        ValueError: there is no such file, or it is damaged (DamagedFileError).
        ImportError: the package gguf is not installed.

    Example:
        >>> argosy.framework.gguf.metadata("no.gguf")
        Traceback (most recent call last):
        ...
        ValueError: [gguf.metadata] no such file: no.gguf. Do this: check the path.
    """
    _, reader = _open("gguf.metadata", path)
    with _damaged("gguf.metadata", path):
        return {key: field.contents() for key, field in reader.fields.items()}


def read(path, return_numpy=False):
    """The tensors of a GGUF file by their names; those in blocks of fewer bits are given as float32.

    Args:
        path (str|os.PathLike): The file.
        return_numpy (bool): give NumPy arrays in place of tensors. Default False.

    Returns:
        dict[str, Tensor]: float32, float16, float64 and integers as they are stored.

    Raises:
        ValueError: there is no such file, or it is damaged (DamagedFileError).
        NotImplementedError: a type of blocks is not known.
        ImportError: the package gguf is not installed.

    Example:
        >>> argosy.framework.gguf.read("no.gguf")
        Traceback (most recent call last):
        ...
        ValueError: [load] no such file: no.gguf. Do this: check the path.
    """
    gguf, reader = _open("load", path)
    result = {}
    for stored in reader.tensors:
        with _damaged("load", f"{stored.name!r} in {path}"):
            array = _numbers(gguf, stored)
        result[stored.name] = array.copy() if return_numpy else _tensor.to_tensor(array)
    return result


def _numbers(gguf, stored):
    kind = stored.tensor_type
    if kind.name in ("F16", "F32", "F64", "I8", "I16", "I32", "I64"):
        return stored.data
    try:
        return gguf.quants.dequantize(stored.data, kind)
    except NotImplementedError as error:
        raise NotImplementedError(
            f"[load] {stored.name!r} has blocks of type {kind.name}, which the package gguf does not"
            " turn into numbers. Do this: convert the file to Q8_0 or F16."
        ) from error
