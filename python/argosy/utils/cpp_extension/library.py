"""Loads libraries of ops, and makes Python functions of what they bring."""

from __future__ import annotations

import inspect
import os
import types

from argosy import _core
from argosy._core import Tensor
from argosy._framework import in_dynamic_mode
from argosy._support import listed
from argosy.autograd import is_grad_enabled
from argosy.tensor.manipulation import assign

# The function of each op that a library brought, by its name.
functions = {}


def load_op_library(path):
    """Load a shared library and register the ops that it describes.

    A library that is loaded already gives the same functions again.

    Args:
        path (str | Path): Of the library: built by ``load`` or ``setup``, or by CMake with
            ``argosy_add_ops``.

    Returns:
        types.ModuleType: with a function for each op.

    Raises:
        FileNotFoundError: there is no such file.
        RuntimeError: it was compiled for another version of Argosy.
        ValueError: an op of it has the name of another, or it has no ops.
    """
    path = os.path.abspath(os.fspath(path))
    if not os.path.isfile(path):
        raise FileNotFoundError(
            f"[load_op_library] {path} does not exist. Do this: build it first, or correct the path."
        )
    ops = _core.load_op_library(path)
    if not ops:
        raise ValueError(
            f"[load_op_library] {path} has no ops: expected a library that load, setup or argosy_add_ops"
            " built. Do this: correct the path."
        )
    return module_of(os.path.splitext(os.path.basename(path))[0], ops)


def load_op_meta_info_and_register_op(lib_filename):
    """As load_op_library; returns the names of the ops, without those of gradients."""
    return list(load_op_library(lib_filename).__all__)


def module_of(name, ops):
    """A module with a function for each of the named ops that is no other's gradient."""
    module = types.ModuleType(name, "Ops of a library that was loaded while the program runs.")
    known = set(ops)
    public = [n for n in ops if not (n.endswith("_grad") and n.removesuffix("_grad") in known)]
    described = {d["name"]: d for d in _core.registry() if d["name"] in known}
    for op in public:
        if op not in functions:
            functions[op] = _function(described[op], name)
        setattr(module, op, functions[op])
    module.__all__ = sorted(public)
    return module


def _function(described, module):
    """The op's function: its parameters are the inputs and the attributes, all required but those
    inputs that are optional."""
    name = described["name"]
    call = getattr(_core.ops, name)
    parameters, required = [], True
    for one in described["inputs"] + described["attrs"]:
        parameters.append(
            inspect.Parameter(one["name"].lower(), inspect.Parameter.POSITIONAL_OR_KEYWORD)
        )
    # Those at the end that may be missing may be left out.
    for i in reversed(range(len(parameters))):
        required = i >= len(described["inputs"]) or not described["inputs"][i]["optional"]
        if required:
            break
        parameters[i] = parameters[i].replace(default=None)
    signature = inspect.Signature(parameters)
    pairs = dict(_core.inplace_of(name))
    arrange = _arranger(described, pairs)
    written = list(pairs.values())

    def function(*args, **kwargs):
        if kwargs or len(args) != len(parameters):
            try:
                bound = signature.bind(*args, **kwargs)
            except TypeError as error:
                raise TypeError(
                    f"[{name}] {error}: expected {name}{signature}. Do this: pass the inputs, then "
                    "the attributes."
                ) from None
            bound.apply_defaults()
            args = tuple(bound.arguments.values())
        for i in written:
            _check_written(name, args[i])
        return arrange(call(*args), args)

    function.__name__ = function.__qualname__ = name
    function.__module__ = module
    function.__signature__ = signature
    function.__doc__ = described["doc"]
    function.lists = [one["name"] for one in described["inputs"] if one["list"]]
    function.outputs = [one["name"] for one in described["outputs"]]
    return function


def _check_written(name, targets):
    for target in listed(targets):
        if isinstance(target, Tensor) and not target.stop_gradient and target.is_leaf:
            if in_dynamic_mode() and is_grad_enabled():
                raise ValueError(
                    f"[{name}] writes over a leaf tensor that needs a gradient (stop_gradient=False): "
                    f"{target.name}. Do this: pass a copy (x.clone()), or call it in no_grad()."
                )


def _arranger(described, pairs):
    """A function of what the op gave and its arguments, which gives one value for each output: lists
    for lists, and the input itself for what is in place."""
    outputs = described["outputs"]
    if not pairs and len(outputs) == 1:
        return lambda made, args: made

    def arrange(made, args):
        flat = list(made) if isinstance(made, (list, tuple)) else [made]
        counts = [
            len(args[pairs[i]] or [None]) if out["list"] and i in pairs else 1
            for i, out in enumerate(outputs)
        ]
        # One list at most is of a length that no input tells.
        for i, out in enumerate(outputs):
            if out["list"] and i not in pairs:
                counts[i] += len(flat) - sum(counts)
        values, at = [], 0
        for i, out in enumerate(outputs):
            mine, at = flat[at : at + counts[i]], at + counts[i]
            if i in pairs:
                targets = args[pairs[i]]
                if targets is None:
                    values.append(None)
                    continue
                targets = targets if out["list"] else [targets]
                mine = [assign(value, target) for value, target in zip(mine, targets)]
            values.append(mine if out["list"] else mine[0])
        return values[0] if len(values) == 1 else values

    return arrange


def parse_op_info(op_name):
    """Names of a registered op's inputs, attributes and outputs, each a list.

    Raises:
        ValueError: no such op is loaded.
    """
    for described in _core.registry():
        if described["name"] == op_name:
            return tuple(
                [one["name"] for one in described[part]] for part in ("inputs", "attrs", "outputs")
            )
    raise ValueError(
        f"[parse_op_info] there is no op called '{op_name}'. Do this: load its library first, with "
        "load_op_meta_info_and_register_op(path)."
    )
