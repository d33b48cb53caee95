"""Models as Paddle has them: ``.json`` or ``.pdmodel`` (``__model__``) and their parameters."""

from __future__ import annotations

import os

from argosy import _core
from argosy.framework.atomic_file import atomic_writers

PROGRAM_SUFFIX, WEIGHTS_SUFFIX = ".json", ".pdiparams"  # of Paddle 3, which is written

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


def save(program, scope, prefix):
    """Writes a Program, as it is when not training, to prefix.json and prefix.pdiparams. Values of state
    that are not its own are in the scope."""
    content, weights = _core.paddle_write(program, scope)
    # In this order: a new Program never stands beside the values of an old one for long.
    contents = {WEIGHTS_SUFFIX: weights, PROGRAM_SUFFIX: content}
    with atomic_writers(*(prefix + suffix for suffix in contents)) as files:
        for file, data in zip(files, contents.values(), strict=True):
            file.write(data)
