"""Saving and loading Programs and the values of their state."""

from __future__ import annotations

import os
import pickle
import warnings

from argosy import _core
from argosy._core import Tensor
from argosy._support import listed, no_effect, only_known
from argosy.base.parameter import Parameter
from argosy.framework import io as framework_io

from . import mode
from .executor import Executor, resolve
from .program import Program, program_of, set_state
from .scope import global_scope

__all__ = [
    "deserialize_persistables", "deserialize_program", "load", "load_from_file",
    "load_inference_model", "load_program_state", "load_vars", "normalize_program", "save",
    "save_inference_model", "save_to_file", "save_vars", "serialize_persistables",
    "serialize_program", "set_program_state",
]  # fmt: skip


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


_OF_FORMATS = {
    "clip_extra": True,
    "legacy_format": False,
    "readable": False,
    "trainable": True,
    "separate_parameters": False,
}


def _of_one_format(name, given):
    told = {k: (given[k], v) for k, v in _OF_FORMATS.items() if k in given}
    no_effect(name, "there is one format of files", **told)


def to_bytes(program):
    """A Program without the values of its state."""
    program._name_values()
    return _core.program_to_bytes(program._handle)


# ---- which variables -----------------------------------------------------------------------------


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


# ---- values of state -----------------------------------------------------------------------------


def save(program, model_path, protocol=4, **configs):
    """Writes the values of the parameters to model_path.pdparams, those of other persistable state
    to model_path.pdopt and the Program to model_path.pdmodel.

    Args:
        program (Program): Its startup program has been run.
        model_path (str): Folder and first part of the file names.
        protocol (int): pickle protocol, 2 to 4; configs: its old name pickle_protocol.

    Raises:
        ValueError: the path has no file name, the protocol is another, or configs are unknown.
    """
    only_known("static.save", configs, ("pickle_protocol",))
    protocol = configs.get("pickle_protocol", protocol)
    program = _program(program, "static.save")
    if not os.path.basename(model_path):
        raise ValueError(
            "[static.save] model_path must end in a file name: expected 'folder/name', got"
            f" {model_path!r}."
            " Do this: add a file name."
        )
    if isinstance(protocol, bool) or not isinstance(protocol, int) or not 2 <= protocol <= 4:
        raise ValueError(
            f"[static.save] protocol: expected 2 to 4, got {protocol!r}. Do this: leave it out."
        )
    missing = [
        name
        for name, v in program._all_states().items()
        if v.persistable and v._symbolic and global_scope()._value(name) is None
    ]
    if missing:
        raise RuntimeError(
            f"[static.save] '{missing[0]}' has no value in this scope. Do this: run the startup"
            " program, or load a checkpoint, first."
        )
    with mode.recording(None):
        for ending, which in ((".pdparams", "param"), (".pdopt", "opt")):
            values = program.state_dict(which)
            framework_io.save(values, model_path + ending, protocol=protocol)
    _write(model_path + ".pdmodel", to_bytes(program))


def _read_state(path):
    with mode.recording(None):
        return framework_io.load(path, return_numpy=True)


def load(program, model_path, executor=None, var_list=None):
    """Reads what :func:`save` wrote into the scope.

    Args:
        program (Program): Its state takes the values of the same names.
        model_path (str): As given to save.
        executor (Executor, optional): Not needed.
        var_list (list, optional): Only these variables.

    Raises:
        ValueError: there is no model_path.pdparams.
        RuntimeError: the file has no value for a parameter of the Program.
    """
    _check_executor_if_any(executor, "static.load")
    program = _program(program, "static.load")
    model_path = _stem(model_path)
    path = model_path + ".pdparams"
    if not os.path.exists(path):
        raise ValueError(
            f"[static.load] there is no file {path}."
            " Do this: pass the model_path given to static.save (without .pdparams)."
        )
    values = dict(_read_state(path))
    if os.path.exists(model_path + ".pdopt"):
        values.update(_read_state(model_path + ".pdopt"))
    chosen = program._all_states()
    if var_list is not None:
        chosen = {v.name: v for v in var_list}
    for name, v in chosen.items():
        if name in values:
            set_state(v, values[name], global_scope())
        elif isinstance(v, Parameter):
            raise RuntimeError(
                f"[static.load] {path} has no value for '{name}'. Do this: build the Program as it"
                " was built when it was saved; names of parameters count from 0 in a new"
                " utils.unique_name.guard()."
            )
        elif v.persistable:
            warnings.warn(
                f"[static.load] no value for '{name}' was saved; it keeps its value.", stacklevel=2
            )


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
    """
    stem = _stem(model_path)
    values = {}
    if os.path.exists(stem + ".pdparams"):
        for ending in (".pdparams", ".pdopt"):
            if os.path.exists(stem + ending):
                values.update(_read_state(stem + ending))
    elif os.path.isdir(model_path):
        for name in os.listdir(model_path):
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

    Raises:
        AssertionError: the shape of an array is not that of its variable.
    """
    program = _program(program, "set_program_state")
    handles = program._all_states()
    unused = []
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
        set_state(handle, value, global_scope())
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
    """Reads what :func:`save_vars` wrote; the same arguments.

    Raises:
        ValueError: there is no file, or no value for a variable.
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
    for v in _chosen(program, vars, predicate):
        if together is None:
            path = os.path.join(dirname, v.name)
            if not os.path.exists(path):
                raise ValueError(
                    f"[load_vars] there is no file {path}. Do this: check the folder and the name."
                )
            set_state(v, _read_state(path), global_scope())
            continue
        if v.name not in together:
            raise ValueError(
                f"[load_vars] {filename} has no value for '{v.name}'."
                " Do this: use the file that was saved with this Program."
            )
        set_state(v, together[v.name], global_scope())


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


# ---- models for inference ------------------------------------------------------------------------


def _variables(values, name):
    values = listed(values)
    if not values or not all(isinstance(v, Tensor) for v in values):
        raise TypeError(
            f"[static] {name}: expected a Variable or a list of Variables, got {values!r:.80}."
            " Do this: pass values of the Program."
        )
    return values


def normalize_program(program, feed_vars, fetch_vars, **kwargs):
    """The part of a Program that computes `fetch_vars` from `feed_vars`, as in evaluation.

    Args:
        program (Program): Any.
        feed_vars (Variable | list): Its inputs, in order. Of a batch of sequences, computed or not, the
            lengths become an input too, NAME@LENGTHS, which a DenseTensor that is fed brings along.
        fetch_vars (Variable | list): Its outputs, in order.
        skip_prune_program (bool): Keep what is done when training.

    Raises:
        TypeError: wrong types.
        ValueError: the outputs also depend on other inputs.
    """
    only_known("normalize_program", kwargs, ("skip_prune_program",))
    if not isinstance(program, Program):
        raise TypeError(
            f"program type must be `static.Program`, but received {type(program).__name__}."
        )
    feeds, fetches = _variables(feed_vars, "feed_vars"), _variables(fetch_vars, "fetch_vars")
    test = program.clone(for_test=not kwargs.get("skip_prune_program", False))

    def counterparts(values):
        found = []
        for v in values:
            c = _core.program_counterpart(test._handle, resolve(program, v))
            if c is None:
                raise ValueError(
                    f"[normalize_program] '{v.name}' is computed by gradients or optimizers, which"
                    " are no part of a Program for inference."
                    " Do this: choose outputs of the forward part."
                )
            found.append(c)
        return found

    names = [v.name for v in fetches]
    inputs = counterparts(feeds)
    inputs += [n for n in map(_lengths_of, inputs) if n is not None]
    handle, missing = _core.program_extract(test._handle, inputs, counterparts(fetches), False)
    renamed = {}
    if missing:
        renamed = _lengths_of_computed(test, inputs, missing)
        inputs += [lengths for lengths, _ in renamed.values()]
        handle, missing = _core.program_extract(test._handle, inputs, counterparts(fetches), False)
    if missing:
        lacking = _core.program_inputs(test._handle)[missing[0]].name
        raise ValueError(
            f"[normalize_program] the outputs {names} also depend on input '{lacking}', which is"
            f" not in feed_vars {[v.name for v in feeds]}. Do this: add it, or fetch a variable that"
            " does not need it."
        )
    for v in _core.program_inputs(handle):
        if v.name in renamed:
            v.name = renamed[v.name][1]
    result = test._copy(handle)
    used = {name for name, *_ in _core.program_states(handle)}
    result._states = {k: v for k, v in result._states.items() if k in used}
    result._before_run = []
    result._loaders = []
    result._outputs = names
    return result


def _lengths_of(v):
    """The input that has the lengths of a batch of sequences; None for what is none."""
    return _core.program_first(program_of(v)._handle, f"{v.name}@LENGTHS")


def _lengths_of_computed(program, feeds, missing):
    """{name: (input with the lengths of a computed batch of sequences among `feeds`, its name once that
    batch is an input)}, of the inputs that are missing."""
    from .nn.sequence import lengths_of

    inputs = _core.program_inputs(program._handle)
    lacking = {inputs[i].name: inputs[i] for i in missing}
    found = {}
    for v in feeds:
        lengths = lengths_of(program, v)
        if lengths is not None and lengths.name in lacking and lengths.name not in found:
            found[lengths.name] = lacking[lengths.name], f"{v.name}@LENGTHS"
    return found


def serialize_program(feed_vars, fetch_vars, **kwargs):
    """The Program from feed_vars to fetch_vars as bytes, without values of state."""
    only_known("serialize_program", kwargs, ("program", "normalized", "legacy_format"))
    _of_one_format("serialize_program", kwargs)
    program = _of(fetch_vars, kwargs.get("program"))
    if not kwargs.get("normalized"):
        program = normalize_program(program, feed_vars, fetch_vars)
    return to_bytes(program)


def _of(fetch_vars, program):
    return program_of(_variables(fetch_vars, "fetch_vars")[0]) if program is None else program


def deserialize_program(data):
    """The Program in bytes of :func:`serialize_program`.

    Raises:
        ValueError: the bytes are something else.
    """
    if not isinstance(data, (bytes, bytearray, memoryview)):
        raise ValueError(
            f"[deserialize_program] data: expected bytes, got {type(data).__name__}."
            " Do this: pass what serialize_program gave."
        )
    return _loaded(_core.program_from_bytes(data))


def _loaded(handle):
    """A Program of this API around what was read: trainable state becomes Parameters."""
    from . import state

    program = Program(handle)
    for name, trainable, persistable, v, _, _ in _core.program_states(handle):
        if v._symbolic:
            cls = Parameter if trainable else Tensor
            made = Tensor.__new__(cls)
            made._set_data(v)
            made.name = name
            made.persistable = persistable
            if trainable:
                made._describe(name=name)
            made.stop_gradient = not trainable
            program._states[name] = made
            state.remember(name, made)
    return program


def serialize_persistables(feed_vars, fetch_vars, executor, **kwargs):
    """The values of the state that the Program from feed_vars to fetch_vars reads, as bytes."""
    only_known("serialize_persistables", kwargs, ("program",))
    _check_executor(executor, "serialize_persistables")
    program = normalize_program(_of(fetch_vars, kwargs.get("program")), feed_vars, fetch_vars)
    return _values_as_bytes(program)


def _values_of(program):
    values = {}
    for name, v in program._all_states().items():
        value = global_scope()._value(name) if v._symbolic else v
        if value is None:
            raise RuntimeError(
                f"[static] '{name}' has no value in this scope. Do this: run the startup program,"
                " or load a checkpoint, first."
            )
        values[name] = value
    return values


def _values_as_bytes(program):
    import io

    buffer = io.BytesIO()
    with mode.recording(None):
        framework_io.save(_values_of(program), buffer)
    return buffer.getvalue()


def deserialize_persistables(program, data, executor):
    """Puts the values in bytes of :func:`serialize_persistables` into the scope.

    Raises:
        ValueError: data are no bytes, or have no value for state of the Program.
    """
    import io

    _check_executor(executor, "deserialize_persistables")
    if not isinstance(data, (bytes, bytearray)):
        raise ValueError(
            f"[deserialize_persistables] data: expected bytes, got {type(data).__name__}."
            " Do this: pass what serialize_persistables gave."
        )
    values = _read_state(io.BytesIO(data))
    for name, v in program._all_states().items():
        if name not in values:
            raise ValueError(
                f"[deserialize_persistables] the data have no value for '{name}'."
                " Do this: use the bytes that were saved with this Program."
            )
        set_state(v, values[name], global_scope())


def _write(path, content):
    from argosy.framework.atomic_file import atomic_writer

    with atomic_writer(path) as f:
        f.write(content)


def save_to_file(path, content):
    """Writes bytes to a file.

    Raises:
        ValueError: content are no bytes.
    """
    if not isinstance(content, bytes):
        raise ValueError(f"'content' type should be bytes, but received {type(content).__name__}.")
    _write(path, content)


def load_from_file(path):
    """The bytes of a file."""
    with open(path, "rb") as f:
        return f.read()


def save_inference_model(path_prefix, feed_vars, fetch_vars, executor, **kwargs):
    """Writes the Program that computes fetch_vars from feed_vars, as in evaluation, to
    path_prefix.pdmodel and the values of its state to path_prefix.pdiparams.

    Args:
        path_prefix (str): Folder, which is made if needed, and first part of the file names.
        feed_vars, fetch_vars (Variable | list): Inputs and outputs, in order.
        executor (Executor): Where the model was run.
        program (Program): The one of fetch_vars if left out.
        skip_prune_program (bool): As of normalize_program.
        clip_extra, legacy_format, readable, trainable, separate_parameters: Have no effect.

    Raises:
        TypeError: wrong types.
        ValueError: the outputs also depend on other inputs.
        RuntimeError: state has no value.
    """
    if not isinstance(path_prefix, str) or not os.path.basename(path_prefix):
        raise ValueError(
            f"[save_inference_model] path_prefix: expected 'folder/name', got {path_prefix!r}."
            " Do this: pass a folder and the beginning of the file names."
        )
    _check_executor(executor, "save_inference_model")
    only_known("save_inference_model", kwargs, ("program", "skip_prune_program", *_OF_FORMATS))
    _of_one_format("save_inference_model", kwargs)
    program = _of(fetch_vars, kwargs.get("program"))
    skip = kwargs.get("skip_prune_program", False)
    program = normalize_program(program, feed_vars, fetch_vars, skip_prune_program=skip)
    content = to_bytes(program)
    values = _values_as_bytes(program)
    _write(path_prefix + ".pdmodel", content)
    _write(path_prefix + ".pdiparams", values)


def load_inference_model(path_prefix, executor, **kwargs):
    """Reads what :func:`save_inference_model` wrote; the values go to the global scope.

    Where there is no such file, path_prefix may be that of :func:`argosy.jit.save`.

    Args:
        path_prefix (str | None): As given there; None: model_filename and params_filename are the
            bytes themselves.
        executor (Executor): Where the model will be run.
        model_filename, params_filename (str): Other file names in the folder path_prefix.

    Returns:
        list: The Program, the names of its inputs, its outputs (Variables).

    Raises:
        ValueError: there is no such file.
    """
    only_known("load_inference_model", kwargs, ("model_filename", "params_filename"))
    _check_executor(executor, "load_inference_model")
    model, params = kwargs.get("model_filename"), kwargs.get("params_filename")
    if path_prefix is None:
        if not isinstance(model, bytes):
            raise ValueError(
                "[load_inference_model] without path_prefix model_filename are bytes."
                " Do this: pass the bytes of serialize_program, or path_prefix."
            )
        content, values = model, params
    else:
        paths = [path_prefix + ".pdmodel", path_prefix + ".pdiparams"]
        if model is not None:
            paths = [os.path.join(path_prefix, model), os.path.join(path_prefix, params or "")]
        if not os.path.exists(paths[0]):
            if os.path.exists(f"{path_prefix}.argosy"):
                return _inference_parts(_load_captured(path_prefix))
            raise ValueError(
                f"[load_inference_model] there is no file {paths[0]}. Do this: pass the prefix that"
                " was given to save_inference_model (without .pdmodel)."
            )
        content = load_from_file(paths[0])
        values = load_from_file(paths[1]) if os.path.isfile(paths[1]) else None
    program = deserialize_program(content)
    if values:
        deserialize_persistables(program, values, executor)
    return _inference_parts(program)


def _load_captured(path_prefix):
    """The Program of forward that jit.save wrote; its values go to the global scope."""
    handle, scope = _core.program_load(path_prefix)
    program = _loaded(handle)
    for name, v in program._all_states().items():
        set_state(v, _core.scope_get(scope, name), global_scope())
    return program


def _inference_parts(program):
    described = _core.program_describe(program._handle)
    names = [v.name for v in _core.program_inputs(program._handle)]
    lengths = {f"{name}@LENGTHS" for name in names}  # fed with the sequences that they are of
    inputs = [name for name in names if name not in lengths]
    return [program, inputs, [v for _, v in described["outputs"]]]
