"""Saving and loading Programs and the values of their state."""

from __future__ import annotations

import os
import warnings

from argosy import _core
from argosy._core import Tensor
from argosy._support import ArgumentError, NoFileError, listed, no_effect, only_known
from argosy.base.parameter import Parameter
from argosy.framework import io as framework_io
from argosy.framework.atomic_file import atomic_writer

from . import mode, paddle_model
from .executor import resolve
from .program import Program, program_of, set_state, set_states
from .scope import global_scope
from .state_io import (  # noqa: F401
    _check_executor,
    _check_executor_if_any,
    _program,
    _read_state,
    _stem,
    get_program_parameter,
    get_program_persistable_vars,
    is_belong_to_optimizer,
    is_parameter,
    is_persistable,
    load_params,
    load_persistables,
    load_program_state,
    load_vars,
    save_params,
    save_persistables,
    save_vars,
    set_program_state,
)  # fmt: skip

__all__ = [
    "deserialize_persistables", "deserialize_program", "load", "load_from_file",
    "load_inference_model", "load_program_state", "load_vars", "normalize_program", "save",
    "save_inference_model", "save_to_file", "save_vars", "serialize_persistables",
    "serialize_program", "set_program_state",
]  # fmt: skip


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


# ---- values of state -----------------------------------------------------------------------------


def save(program, model_path, protocol=4, **configs):
    """Writes the values of the parameters to model_path.pdparams, those of other persistable state
    to model_path.pdopt and the Program to model_path.pdmodel.

    Args:
        program (Program): Its startup program has been run.
        model_path (str): Folder and first part of the file names.
        protocol (int): pickle protocol, 2 to 4; configs: its old name pickle_protocol.
        configs: pickle_protocol, the old name of protocol.

    Raises:
        ValueError: the path has no file name, the protocol is another, or configs are unknown.

    Example:
        >>> import tempfile
        >>> argosy.enable_static()
        >>> y = argosy.static.nn.fc(argosy.static.data("x", [2, 3], "float32"), 1)
        >>> exe = argosy.static.Executor()
        >>> _ = exe.run(argosy.static.default_startup_program())
        >>> main = argosy.static.default_main_program()
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     argosy.static.save(main, folder + "/model")
        ...     argosy.static.load(main, folder + "/model", exe)
        ...     state = argosy.static.load_program_state(folder + "/model")
        >>> sorted(value.shape for value in state.values())
        [(1,), (3, 1)]
    """
    only_known("static.save", configs, ("pickle_protocol",))
    protocol = configs.get("pickle_protocol", protocol)
    program = _program(program, "static.save")
    if not os.path.basename(model_path):
        raise ArgumentError(
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
        contents = {
            model_path + ending: program.state_dict(which)
            for ending, which in ((".pdparams", "param"), (".pdopt", "opt"))
        }
        contents[model_path + ".pdmodel"] = to_bytes(program)
        framework_io.save_together(contents, protocol)


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

    Example:
        >>> import tempfile
        >>> argosy.enable_static()
        >>> weight = argosy.create_parameter([2], "float32", name="w")
        >>> exe = argosy.static.Executor()
        >>> _ = exe.run(argosy.static.default_startup_program())
        >>> main = argosy.static.default_main_program()
        >>> value = argosy.static.global_scope().find_var("w").get_tensor()
        >>> value.set(np.float32([1, 2]))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     argosy.static.save(main, folder + "/model")
        ...     value.set(np.float32([0, 0]))
        ...     argosy.static.load(main, folder + "/model")
        >>> value.numpy().tolist()
        [1.0, 2.0]
    """
    _check_executor_if_any(executor, "static.load")
    program = _program(program, "static.load")
    model_path = _stem(model_path)
    path = model_path + ".pdparams"
    if not os.path.exists(path):
        raise NoFileError(
            f"[static.load] there is no file {path}."
            " Do this: pass the model_path given to static.save (without .pdparams)."
        )
    values = dict(_read_state(path))
    if os.path.exists(model_path + ".pdopt"):
        values.update(_read_state(model_path + ".pdopt"))
    chosen = program._all_states()
    if var_list is not None:
        chosen = {v.name: v for v in var_list}
    pairs, missing = [], []
    for name, v in chosen.items():
        if name in values:
            pairs.append((v, values[name]))
        elif isinstance(v, Parameter):
            raise RuntimeError(
                f"[static.load] {path} has no value for '{name}'. Do this: build the Program as it"
                " was built when it was saved; names of parameters count from 0 in a new"
                " utils.unique_name.guard()."
            )
        elif v.persistable:
            missing.append(name)
    set_states(pairs, global_scope())
    for name in missing:
        warnings.warn(
            f"[static.load] no value for '{name}' was saved; it keeps its value.", stacklevel=2
        )


# ---- models for inference ------------------------------------------------------------------------


def _variables(values, name):
    values = listed(values)
    if not values or not all(isinstance(v, Tensor) for v in values):
        raise ArgumentError(
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
        kwargs: skip_prune_program.

    Raises:
        TypeError: wrong types.
        ValueError: the outputs also depend on other inputs.

    Returns:
        Program: A new one.

    Example:
        >>> argosy.enable_static()
        >>> x = argosy.static.data("x", [2, 3], "float32")
        >>> y = argosy.static.nn.fc(x, 1)
        >>> _ = argosy.optimizer.SGD(0.1).minimize(y.mean())
        >>> program = argosy.static.normalize_program(argosy.static.default_main_program(), [x], [y])
        >>> len(program.global_block().ops) < len(argosy.static.default_main_program().global_block().ops)
        True
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
    """The Program from feed_vars to fetch_vars as bytes, without values of state.

    Args:
        feed_vars (Variable | list): Its inputs, in order.
        fetch_vars (Variable | list): Its outputs, in order.
        kwargs: program, that of fetch_vars by default; normalized, whether it has no other operations;
            legacy_format, without effect: there is one format.

    Returns:
        bytes: For deserialize_program.

    Raises:
        ValueError: the outputs also depend on other inputs, or a keyword is unknown.

    Example:
        >>> argosy.enable_static()
        >>> x = argosy.static.data("x", [2], "float32")
        >>> y = x * 2
        >>> data = argosy.static.serialize_program([x], [y])
        >>> len(argosy.static.deserialize_program(data).global_block().ops)
        1
    """
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

    Args:
        data (bytes): They.

    Returns:
        Program: It; its state has no values.

    Raises:
        ValueError: the bytes are something else.

    Example:
        >>> argosy.enable_static()
        >>> x = argosy.static.data("x", [2], "float32")
        >>> data = argosy.static.serialize_program([x], [x + 1])
        >>> type(argosy.static.deserialize_program(data)).__name__
        'Program'
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
    """The values of the state that the Program from feed_vars to fetch_vars reads, as bytes.

    Args:
        feed_vars (Variable | list): Its inputs, in order.
        fetch_vars (Variable | list): Its outputs, in order.
        executor (Executor): Where it was run.
        kwargs: program, that of fetch_vars by default.

    Returns:
        bytes: For deserialize_persistables.

    Raises:
        RuntimeError: state has no value.

    Example:
        >>> argosy.enable_static()
        >>> x = argosy.static.data("x", [2, 3], "float32")
        >>> y = argosy.static.nn.fc(x, 1)
        >>> exe = argosy.static.Executor()
        >>> _ = exe.run(argosy.static.default_startup_program())
        >>> program = argosy.static.deserialize_program(argosy.static.serialize_program([x], [y]))
        >>> data = argosy.static.serialize_persistables([x], [y], exe)
        >>> argosy.static.deserialize_persistables(program, data, exe)
    """
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

    Args:
        program (Program): Whose state they are.
        data (bytes): They.
        executor (Executor): Where the Program is to run.

    Raises:
        ValueError: data are no bytes, or have no value for state of the Program.

    Example:
        >>> argosy.enable_static()
        >>> x = argosy.static.data("x", [2, 3], "float32")
        >>> y = argosy.static.nn.fc(x, 1)
        >>> exe = argosy.static.Executor()
        >>> _ = exe.run(argosy.static.default_startup_program())
        >>> data = argosy.static.serialize_persistables([x], [y], exe)
        >>> argosy.static.deserialize_persistables(argosy.static.default_main_program(), data, exe)
    """
    import io

    _check_executor(executor, "deserialize_persistables")
    if not isinstance(data, (bytes, bytearray)):
        raise ValueError(
            f"[deserialize_persistables] data: expected bytes, got {type(data).__name__}."
            " Do this: pass what serialize_persistables gave."
        )
    _set_values(program, _read_state(io.BytesIO(data)))


def _set_values(program, values):
    pairs = []
    for name, v in program._all_states().items():
        if name not in values:
            raise ValueError(
                f"[deserialize_persistables] the data have no value for '{name}'."
                " Do this: use the bytes that were saved with this Program."
            )
        pairs.append((v, values[name]))
    set_states(pairs, global_scope())


def _write(path, content):
    with atomic_writer(path) as f:
        f.write(content)


def save_to_file(path, content):
    """Writes bytes to a file.

    Args:
        path (str): It.
        content (bytes): What it will hold.

    Raises:
        ValueError: content are no bytes.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     argosy.static.save_to_file(folder + "/x", b"abc")
        ...     argosy.static.load_from_file(folder + "/x")
        b'abc'
    """
    if not isinstance(content, bytes):
        raise ValueError(f"'content' type should be bytes, but received {type(content).__name__}.")
    _write(path, content)


def load_from_file(path):
    """The bytes of a file.

    Args:
        path (str): It.

    Returns:
        bytes: All of them.

    Example:
        >>> import tempfile
        >>> with tempfile.NamedTemporaryFile() as file:
        ...     argosy.static.load_from_file(file.name)
        b''
    """
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
        kwargs: program and the names after it.

    Raises:
        TypeError: wrong types.
        ValueError: the outputs also depend on other inputs.
        RuntimeError: state has no value.

    Example:
        >>> import tempfile
        >>> argosy.enable_static()
        >>> x = argosy.static.data("x", [None, 3], "float32")
        >>> y = argosy.static.nn.fc(x, 1)
        >>> exe = argosy.static.Executor()
        >>> _ = exe.run(argosy.static.default_startup_program())
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     argosy.static.save_inference_model(folder + "/model", [x], [y], exe)
        ...     program, feeds, fetches = argosy.static.load_inference_model(folder + "/model", exe)
        >>> feeds
        ['x']
        >>> exe.run(program, feed={"x": np.ones([4, 3], "float32")}, fetch_list=fetches)[0].shape
        (4, 1)
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
    # The Program is on the disk, beside its place, before the values of an old one are replaced.
    with atomic_writer(path_prefix + ".pdmodel") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
        _core.weights_save(path_prefix + ".pdiparams", _values_of(program), None)


def load_inference_model(path_prefix, executor, **kwargs):
    """Reads what :func:`save_inference_model` wrote; the values go to the global scope.

    Where there is no such file, path_prefix may be that of :func:`argosy.jit.save`, or of a model that
    Paddle saved: PREFIX.json or PREFIX.pdmodel with PREFIX.pdiparams, or a folder with __model__. Inputs
    and outputs have the names that they have there.

    Args:
        path_prefix (str | None): As given there; None: model_filename and params_filename are the
            bytes themselves.
        executor (Executor): Where the model will be run.
        model_filename, params_filename (str): Other file names in the folder path_prefix.
        kwargs: model_filename and params_filename.

    Returns:
        list: The Program, the names of its inputs, its outputs (Variables).

    Raises:
        ValueError: there is no such file, or it is none of these.
        NotImplementedError: a model of Paddle has operations that are not supported; all are named.

    Example:
        >>> import tempfile
        >>> argosy.enable_static()
        >>> x = argosy.static.data("x", [None, 2], "float32")
        >>> exe = argosy.static.Executor()
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     argosy.static.save_inference_model(folder + "/double", [x], [x * 2], exe)
        ...     program, feeds, fetches = argosy.static.load_inference_model(folder + "/double", exe)
        >>> exe.run(program, feed={"x": np.ones([1, 2], "float32")}, fetch_list=fetches)[0].tolist()
        [[2.0, 2.0]]
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
        if paddle_model.is_paddle(model):
            return _inference_parts(_with_values(*paddle_model.load_bytes(model, params)))
        content, values = model, params
    else:
        foreign = paddle_model.find(path_prefix, model)
        if foreign is not None:
            weights = params and os.path.join(path_prefix, params)
            return _inference_parts(_with_values(*paddle_model.load(foreign, weights)))
        paths = [path_prefix + ".pdmodel", path_prefix + ".pdiparams"]
        if model is not None:
            paths = [os.path.join(path_prefix, model), os.path.join(path_prefix, params or "")]
        if not os.path.exists(paths[0]):
            if os.path.exists(f"{path_prefix}.argosy"):
                return _inference_parts(_load_captured(path_prefix))
            raise NoFileError(
                f"[load_inference_model] there is no file {paths[0]}. Do this: pass the prefix that"
                " was given to save_inference_model (without .pdmodel)."
            )
        content = load_from_file(paths[0])
        values = values_in_file(paths[1]) if os.path.isfile(paths[1]) else None
    program = deserialize_program(content)
    if isinstance(values, bytes):
        deserialize_persistables(program, values, executor)
    elif values:
        _set_values(program, values)
    return _inference_parts(program)


def values_in_file(path):
    """{name: value} of NAME.pdiparams; those of older versions were pickled."""
    with open(path, "rb") as f:
        pickled = is_pickle(f.read(9))
    return framework_io.load(path) if pickled else _core.weights_load(path)[0]


def is_pickle(head):
    """Of a file's first 9 bytes: are its values pickled? (Others begin with the length of a header in
    8 bytes, and the header with a brace.)"""
    return head[:1] == b"\x80" and head[8:9] != b"{"


def _load_captured(path_prefix):
    """The Program of forward that jit.save wrote; its values go to the global scope."""
    return _with_values(*_core.program_load(path_prefix))


def _with_values(handle, scope):
    """A Program of this API around what was read; its values go to the global scope."""
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
