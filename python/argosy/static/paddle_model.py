"""Models as Paddle has them: ``.json`` or ``.pdmodel`` (``__model__``) and their parameters."""

from __future__ import annotations

import os

from argosy import _core
from argosy.framework.atomic_file import atomic_writers

FORMATS = {"paddle": ".json", "pdmodel": ".pdmodel"}  # what is written, for Paddle 3 and 2
WEIGHTS_SUFFIX = ".pdiparams"

_OURS = b"argosy\r\n"  # how Programs of our own begin, which may be called .pdmodel too
_NAMES = ("__model__", "inference.json", "inference.pdmodel", "model.pdmodel")


def is_paddle(data):
    """Are these the first bytes of a Program of Paddle's?"""
    head = bytes(data[:8])
    return bool(head) and head != _OURS and (head[:1] == b"\n" or head.lstrip()[:1] == b"{")


def _is_program(path):
    if not os.path.isfile(path):
        return False
    with open(path, "rb") as file:
        return is_paddle(file.read(8))


def find(prefix, model_filename=None):
    """The file of the Program that Paddle saved as `prefix`, which may be a folder; or None."""
    if model_filename is not None:
        paths = [os.path.join(prefix, model_filename)]
    else:
        paths = [prefix + ".json", prefix + ".pdmodel", prefix]
        paths += [os.path.join(prefix, name) for name in _NAMES]
    return next((path for path in paths if _is_program(path)), None)


def load(path, weights=None):
    """(Program, Scope) of a file of Paddle's; weights: the file of its parameters, or None: beside it."""
    return _core.paddle_load(os.fspath(path), os.fspath(weights or ""), None, None)


def load_bytes(program, weights):
    """The same of what the two files hold."""
    return _core.paddle_load("", "", bytes(program), bytes(weights or b""))


def save(program, scope, prefix, format):
    """Writes a Program, as it is when not training, to prefix.pdiparams and to prefix with the suffix
    that FORMATS has. Values of state that are not its own are in the scope."""
    content, weights = _core.paddle_write(program, scope, format == "pdmodel")
    # In this order: a new Program never stands beside the values of an old one for long.
    contents = {WEIGHTS_SUFFIX: weights, FORMATS[format]: content}
    with atomic_writers(*(prefix + suffix for suffix in contents)) as files:
        for file, data in zip(files, contents.values(), strict=True):
            file.write(data)
