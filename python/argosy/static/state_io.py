"""Saving and loading values of a Program's state; io.py has this, and Programs."""

from __future__ import annotations

import os
import pickle
import warnings
from itertools import filterfalse

from argosy.base.parameter import Parameter
from argosy.framework import io as framework_io
from argosy.framework.atomic_file import is_leftover

from . import mode
from .executor import Executor
from .program import Program, set_states
from .scope import global_scope

__all__ = []


def _program(program, name):
    program = mode.default_main_program() if program is None else program
    program = getattr(program, "_program", program)
    if not isinstance(program, Program):
        raise TypeError(
            f"[{name}] program: expected static.Program, got {type(program).__name__}."
            " Do this: pass static.default_main_program(), or the one you built."
        )
    return program


def _check_executor(executor, name):
    if not isinstance(executor, Executor):
        raise TypeError(
            f"[{name}] executor: expected static.Executor, got {type(executor).__name__}."
            " Do this: pass static.Executor()."
        )


def _check_executor_if_any(executor, name):
    """Values are read and written in the global scope, so that none is needed."""
    if executor is not None:
        _check_executor(executor, name)


def is_persistable(var):
    """Whether the variable is state that is saved with its Program."""
    return bool(var.persistable)


def is_parameter(var):
    """Whether the variable is a Parameter."""
    return isinstance(var, Parameter)


def is_belong_to_optimizer(var):
    """Whether the variable is state, but no Parameter."""
    return is_persistable(var) and not is_parameter(var)


def get_program_parameter(program):
    """The Parameters of a Program."""
    return program.all_parameters()


def get_program_persistable_vars(program):
    """All state of a Program that is saved with it."""
    return [v for v in program._all_states().values() if v.persistable]


def _read_state(path):
    with mode.recording(None):
        return framework_io.load(path, return_numpy=True)


def _stem(path):
    for ending in (".pdparams", ".pdopt", ".pdmodel"):
        if path.endswith(ending):
            return path[: -len(ending)]
    return path


def load_program_state(model_path, var_list=None):
    """The values in files of :func:`save`, or in a folder of one file for each variable, as NumPy
    arrays by name.

    Args:
        model_path (str): As given to save.
        var_list (list, optional): Only these variables.

    Raises:
        ValueError: there are no such files.

    Returns:
        dict: Arrays by the names of variables.

    Example:
        >>> import tempfile
        >>> argosy.enable_static()
        >>> weight = argosy.create_parameter([2], "float32", name="w")
        >>> _ = argosy.static.Executor().run(argosy.static.default_startup_program())
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     argosy.static.save(argosy.static.default_main_program(), folder + "/model")
        ...     list(argosy.static.load_program_state(folder + "/model"))
        ['w']
    """
    stem = _stem(model_path)
    values = {}
    if os.path.exists(stem + ".pdparams"):
        for ending in (".pdparams", ".pdopt"):
            if os.path.exists(stem + ending):
                values.update(_read_state(stem + ending))
    elif os.path.isdir(model_path):
        for name in filterfalse(is_leftover, os.listdir(model_path)):
            loaded = _read_state(os.path.join(model_path, name))
            values.update(loaded if isinstance(loaded, dict) else {name: loaded})
    else:
        raise ValueError(
            f"[load_program_state] there is no file {stem}.pdparams."
            " Do this: pass the model_path given to static.save."
        )
    if var_list is not None:
        names = {v.name for v in var_list}
        values = {k: v for k, v in values.items() if k in names}
    return {k: v for k, v in values.items() if hasattr(v, "shape")}


def set_program_state(program, state_dict):
    """Puts arrays by name into the scope, for all state of the Program that has one of the names.

    Args:
        program (Program): Its state takes the values; names that it does not have give a warning.
        state_dict (dict): Arrays by the names of variables.

    Raises:
        AssertionError: the shape of an array is not that of its variable.

    Example:
        >>> argosy.enable_static()
        >>> weight = argosy.create_parameter([2], "float32", name="w")
        >>> main = argosy.static.default_main_program()
        >>> argosy.static.set_program_state(main, {"w": np.float32([1, 2])})
        >>> argosy.static.global_scope().find_var("w").get_tensor().numpy().tolist()
        [1.0, 2.0]
    """
    program = _program(program, "set_program_state")
    handles = program._all_states()
    unused, pairs = [], []
    for name, value in state_dict.items():
        handle = handles.get(name)
        if handle is None:
            unused.append(name)
            continue
        if list(value.shape) != list(handle.shape):
            raise AssertionError(
                f"[set_program_state] '{name}' has another shape: expected {list(handle.shape)},"
                f" got {list(value.shape)}."
                " Do this: pass an array of that shape."
            )
        pairs.append((handle, value))
    set_states(pairs, global_scope())
    if unused:
        warnings.warn(
            f"[set_program_state] the Program has no state {', '.join(unused[:5])}; passed over.",
            stacklevel=2,
        )


def _chosen(program, variables, predicate):
    if variables is None:
        keep = is_persistable if predicate is None else predicate
        return [v for v in program.list_vars() if keep(v)]
    return [program.global_block().var(v) if isinstance(v, str) else v for v in variables]


def save_vars(executor, dirname, main_program=None, vars=None, predicate=None, filename=None):
    """Writes values of variables: one file for each, or one for all if `filename` is given.

    Args:
        executor (Executor): Not used; the values are in the global scope.
        dirname (str): Folder; made if needed. None, with filename None: returns the bytes.
        main_program (Program, optional): default_main_program() if None.
        vars (list, optional): Variables; those that `predicate` takes if None.
        predicate (callable, optional): Whether a variable is saved; is_persistable if None.
        filename (str, optional): One file for all, in dirname.

    Returns:
        bytes | None: The values, pickled, if dirname and filename are None.

    Raises:
        RuntimeError: a variable has no value.

    Example:
        >>> import tempfile
        >>> argosy.enable_static()
        >>> weight = argosy.create_parameter([2], "float32", name="w")
        >>> exe = argosy.static.Executor()
        >>> _ = exe.run(argosy.static.default_startup_program())
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     argosy.static.io.save_vars(exe, folder, filename="all")
        ...     argosy.static.io.load_vars(exe, folder, filename="all")
    """
    _check_executor_if_any(executor, "save_vars")
    program = _program(main_program, "save_vars")
    values = {}
    for v in _chosen(program, vars, predicate):
        value = global_scope()._value(v.name) if v._symbolic else v
        if value is None:
            raise RuntimeError(
                f"[save_vars] '{v.name}' has no value in this scope."
                " Do this: run the startup program, or load a checkpoint, first."
            )
        values[v.name] = value
    with mode.recording(None):
        if dirname is None and filename is None:
            return pickle.dumps({k: v.numpy() for k, v in values.items()}, 4)
        if filename is not None:
            framework_io.save(values, os.path.join(dirname or "", filename))
            return None
        for name, value in values.items():
            framework_io.save(value, os.path.join(dirname, name))
    return None


def load_vars(executor, dirname, main_program=None, vars=None, predicate=None, filename=None):
    """Reads what :func:`save_vars` wrote into the global scope.

    Args:
        executor (Executor): Not used; the values go to the global scope.
        dirname (str): Folder.
        main_program (Program, optional): default_main_program() if None.
        vars (list, optional): Variables; those that `predicate` takes if None.
        predicate (callable, optional): Whether a variable is read; is_persistable if None.
        filename (str, optional): The file of all values, if there is one.

    Raises:
        ValueError: there is no file, or no value for a variable.

    Example:
        >>> import tempfile
        >>> argosy.enable_static()
        >>> weight = argosy.create_parameter([2], "float32", name="w")
        >>> exe = argosy.static.Executor()
        >>> _ = exe.run(argosy.static.default_startup_program())
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     argosy.static.io.save_vars(exe, folder)
        ...     argosy.static.io.load_vars(exe, folder)
    """
    _check_executor_if_any(executor, "load_vars")
    program = _program(main_program, "load_vars")
    together = None
    if filename is not None:
        path = os.path.join(dirname or "", filename)
        if not os.path.exists(path):
            raise ValueError(
                f"[load_vars] there is no file {path}. Do this: check the folder and the name."
            )
        together = _read_state(path)
    pairs = []
    for v in _chosen(program, vars, predicate):
        if together is None:
            path = os.path.join(dirname, v.name)
            if not os.path.exists(path):
                raise ValueError(
                    f"[load_vars] there is no file {path}. Do this: check the folder and the name."
                )
            pairs.append((v, _read_state(path)))
            continue
        if v.name not in together:
            raise ValueError(
                f"[load_vars] {filename} has no value for '{v.name}'."
                " Do this: use the file that was saved with this Program."
            )
        pairs.append((v, together[v.name]))
    set_states(pairs, global_scope())


def save_params(executor, dirname, main_program=None, filename=None):
    """save_vars of the Parameters."""
    save_vars(executor, dirname, main_program, predicate=is_parameter, filename=filename)


def load_params(executor, dirname, main_program=None, filename=None):
    """load_vars of the Parameters."""
    load_vars(executor, dirname, main_program, predicate=is_parameter, filename=filename)


def save_persistables(executor, dirname, main_program=None, filename=None):
    """save_vars of all persistable state."""
    save_vars(executor, dirname, main_program, filename=filename)


def load_persistables(executor, dirname, main_program=None, filename=None):
    """load_vars of all persistable state."""
    load_vars(executor, dirname, main_program, filename=filename)
