"""Captured layers on disk, and layers made from them without their Python class."""

import json
import os

from argosy import _core
from argosy._core import Tensor
from argosy._support import check_choice, no_effect, only_known, unsupported
from argosy.framework.atomic_file import make_folders
from argosy.nn.layer.layers import Layer
from argosy.nn.parameter import Parameter
from argosy.static import paddle_model
from argosy.utils.layers_utils import flatten

from .api import StaticFunction
from .capture import Captured, Leaf

PROGRAM_SUFFIX, WEIGHTS_SUFFIX = ".argosy", ".safetensors"


# --- results as text ---


def _encode(nest):
    if type(nest) is Leaf:
        return {"tensor": nest.place}
    if isinstance(nest, dict):
        return {"dict": [[k, _encode(v)] for k, v in nest.items()]}
    if isinstance(nest, (list, tuple)):
        kind = "list" if isinstance(nest, list) else "tuple"
        return {kind: [_encode(v) for v in nest]}
    if nest is None or isinstance(nest, (bool, int, float, str)):
        return {"value": nest}
    raise TypeError(
        f"[jit.save] the result holds a {type(nest).__name__}, which cannot be saved. Do this: return"
        " tensors, numbers, strings, None, and lists, tuples and dicts of these."
    )


def _decode(text):
    ((kind, value),) = text.items()
    if kind == "tensor":
        return Leaf(value)
    if kind == "dict":
        return {k: _decode(v) for k, v in value}
    if kind in ("list", "tuple"):
        return (list if kind == "list" else tuple)(_decode(v) for v in value)
    return value


# --- saving ---


_FORMATS = ("argosy", *paddle_model.FORMATS)
_SAVED = ("output_spec", "skip_forward", "format")
_ENDING_TRAINING = ["dropout_removal", "batch_norm_inference"]
_OF_FILES = {"combine_params": False, "clip_extra": True, "separate_parameters": False}
_OF_PRUNING = {"with_hook": False, "input_names_after_prune": None, "skip_prune_program": False}


def save(layer, path, input_spec=None, **configs):
    """Writes the Programs of a layer or function, and its parameters and buffers.

    For forward (or the function) that is path.argosy, the Program, and path.safetensors, the state;
    for each other method captured by to_static path.METHOD.argosy and .safetensors. What is loaded
    runs as in evaluation, whatever mode the layer is in; to train it further, save it in training.

    Args:
        layer (Layer | callable): Need not be captured by to_static before.
        path (str): Prefix of the files; folders are made.
        input_spec (list, optional): InputSpec or example tensor for each input of forward; not
            needed where to_static was given one, or where forward was called before.
        configs: output_spec, a list of results of forward to keep, in this order; skip_forward; format,
            "argosy", "paddle" or "pdmodel": "paddle" writes path.json and path.pdiparams, which Paddle 3
            loads, "pdmodel" path.pdmodel and path.pdiparams, which Paddle 2.6 and predictors of Paddle 3
            load (its jit.load does with FLAGS_enable_pir_api=0 in the environment), both of them the
            layer as it is in evaluation. combine_params, clip_extra and separate_parameters have no
            effect: state is in one file.

    Raises:
        ValueError: other configs, or another format. NotImplementedError: with_hook,
            input_names_after_prune or skip_prune_program; ops that Paddle has no counterpart of.

    Example:
        >>> import tempfile
        >>> layer = argosy.nn.Linear(2, 1)
        >>> _ = layer.eval()
        >>> x = argosy.ones([3, 2])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     spec = [argosy.static.InputSpec([None, 2], "float32")]
        ...     argosy.jit.save(layer, folder + "/model", input_spec=spec)
        ...     loaded = argosy.jit.load(folder + "/model")
        >>> bool(argosy.allclose(loaded(x), layer(x)))
        True
    """
    only_known("jit.save", configs, (*_SAVED, *_OF_FILES, *_OF_PRUNING))
    no_effect(
        "jit.save", "state is in one file",
        **{name: (configs.get(name, value), value) for name, value in _OF_FILES.items()},
    )  # fmt: skip
    unsupported(
        "jit.save", "name input_spec and output_spec",
        **{name: (configs.get(name, value), value) for name, value in _OF_PRUNING.items()},
    )  # fmt: skip
    written = configs.get("format", "argosy")
    check_choice("jit.save", "format", written, _FORMATS)
    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(
            f"[jit.save] path: expected a str, got {type(path).__name__}."
            " Do this: pass 'folder/name'."
        )
    path = os.fspath(path)
    if not os.path.basename(path):
        raise ValueError(
            f"[jit.save] path must end in the prefix of the files' names, got {path!r}. Do this:"
            " pass 'folder/name'."
        )
    if input_spec is not None and not isinstance(input_spec, (list, tuple)):
        raise TypeError(
            f"[jit.save] input_spec: expected a list, got {type(input_spec).__name__}."
            " Do this: put it into a list."
        )
    folder = os.path.dirname(path)
    if folder:
        make_folders(folder)
    if isinstance(layer, Layer):
        functions = _methods(layer, input_spec, configs.get("skip_forward", False))
    elif callable(layer):
        functions = {"forward": _static(layer, input_spec)}
    else:
        raise TypeError(
            f"[jit.save] expected a Layer or a function, got {type(layer).__name__}."
            " Do this: pass the network itself."
        )
    for name, function in functions.items():
        spec = input_spec if name == "forward" else None
        prefix = path if name == "forward" else f"{path}.{name}"
        captured = _concrete(function, spec, name)
        keep = configs.get("output_spec") if name == "forward" else None
        program, structure, outputs = _program_of(captured, keep)
        if written in paddle_model.FORMATS:
            paddle_model.save(program, None, prefix, written)
        else:
            _write(program, structure, outputs, prefix, name, sorted(functions))


def _static(function, input_spec):
    if isinstance(function, StaticFunction):
        return function
    return StaticFunction(function, input_spec, full_graph=True)


def _methods(layer, input_spec, skip_forward):
    found = {} if skip_forward else {"forward": _static(layer.forward, input_spec)}
    for name in dir(type(layer)):
        if name != "forward" and isinstance(getattr(type(layer), name, None), StaticFunction):
            found[name] = getattr(layer, name)
    for name, value in vars(layer).items():
        if isinstance(value, StaticFunction) and not name.startswith("_static_"):
            found.setdefault(name, value)
    return found


def _concrete(function, input_spec, name):
    if input_spec is not None:
        return function._concrete(*input_spec)
    if function._input_spec is not None:
        return function._concrete()
    seen = [c for c in function.program_cache.values() if c is not None]
    if not seen:
        raise ValueError(
            f"[jit.save] the inputs of '{name}' are not known. Do this: pass input_spec=[InputSpec("
            "shape, dtype), ..], or call it once before."
        )
    return seen[-1]


def _program_of(captured, keep):
    """(Program with the results as its outputs, how they are nested)."""
    program = _core.program_clone(captured.program)
    structure, outputs = captured.structure, captured.outputs
    if keep is not None:
        names = {v.name: v for v in outputs}
        wanted = [names.get(getattr(v, "name", None)) for v in keep]
        if not all(v is not None for v in wanted):
            raise ValueError(
                "[jit.save] output_spec names a tensor that forward does not return."
                " Do this: leave it out, or pass results of forward."
            )
        outputs, structure = wanted, [Leaf(i) for i in range(len(wanted))]
    for i, v in enumerate(outputs):
        _core.program_add_output(program, f"output_{i}", _core.program_counterpart(program, v))
    return program, structure, outputs


def _write(program, structure, outputs, prefix, name, methods):
    _core.program_set_metadata(
        program,
        {
            "result": json.dumps(_encode(structure)),
            "gradients": json.dumps([not v.stop_gradient for v in outputs]),
            "method": name,
            "methods": json.dumps(methods),
        },
    )
    _core.program_save(program, prefix, None)


# --- loading ---


def load(path, **configs):
    """A layer that runs what jit.save wrote; its Python class is not needed.

    Args:
        path (str): The prefix given to save, or to static.save_inference_model; also that of a model
            that Paddle saved (PREFIX.json or PREFIX.pdmodel, with PREFIX.pdiparams).
        configs: model_filename, params_filename: the names that `path` gives, if any.

    Returns:
        TranslatedLayer: It can be called, trained further, and saved again. Calls give the tensors of the
        function's result, in a list if there are several, whatever it held them in. [= Paddle]

    Raises:
        ValueError: other configs, or there is no such file.

    Example:
        >>> import tempfile
        >>> double = argosy.jit.to_static(lambda x: x * 2)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     argosy.jit.save(double, folder + "/double", input_spec=[argosy.ones([2])])
        ...     loaded = argosy.jit.load(folder + "/double")
        >>> loaded(argosy.ones([2])).tolist()
        [2.0, 2.0]
    """
    only_known("jit.load", configs, ("model_filename", "params_filename"))
    given = {name: (value, None) for name, value in configs.items()}
    unsupported("jit.load", "rename the files to one prefix, and pass that", **given)
    path = os.fspath(path)
    if not os.path.exists(path + PROGRAM_SUFFIX):
        foreign = paddle_model.find(path)
        if foreign is not None:
            return TranslatedLayer._from_loaded(*paddle_model.load(foreign))
        if os.path.exists(path + ".pdmodel"):
            return TranslatedLayer._from_inference_model(path)
        raise ValueError(
            f"[jit.load] there is no {path + PROGRAM_SUFFIX}. Do this: pass the prefix that was given"
            " to jit.save (without the suffix)."
        )
    return TranslatedLayer._from_files(path)


class TranslatedLayer(Layer):
    """A layer made from saved Programs; jit.load gives it.

    It begins in evaluation: dropout is off, and normalization uses the statistics that were saved.
    After train() it computes as the layer did in the mode in which it was saved.

    Args:
        programs (dict): A Program for each method, by name.
        persistable_vars (dict): Parameters and buffers by name.

    Shape:
        As the layer that was saved.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     argosy.jit.save(argosy.nn.ReLU(), folder + "/relu", input_spec=[argosy.ones([2])])
        ...     layer = argosy.jit.load(folder + "/relu")
        >>> type(layer).__name__, type(layer.program()).__name__
        ('TranslatedLayer', 'Program')
    """

    def __init__(self, programs, persistable_vars):
        super().__init__()
        self._programs = {}  # by method: by whether in training
        self._tensors = {}
        self.training = False
        for name, program in programs.items():
            self._add(name, program, persistable_vars)

    @classmethod
    def _from_files(cls, path):
        program, scope = _core.program_load(path)
        metadata = _core.program_metadata(program)
        layer = cls({}, {})
        for name in json.loads(metadata.get("methods", '["forward"]')):
            if name != metadata.get("method", "forward"):
                continue
            layer._add(name, program, _weights(program, scope))
        for name in json.loads(metadata.get("methods", "[]")):
            if name != metadata.get("method", "forward"):
                other, scope = _core.program_load(f"{path}.{name}")
                layer._add(name, other, _weights(other, scope))
        return layer

    @classmethod
    def _from_loaded(cls, program, scope):
        """Of a Program whose values are in `scope`."""
        layer = cls({}, {})
        layer._add("forward", program, _weights(program, scope))
        return layer

    @classmethod
    def _from_inference_model(cls, path):
        from argosy.static.io import load_from_file, values_in_file

        program = _core.program_from_bytes(load_from_file(path + ".pdmodel"))
        params = path + ".pdiparams"
        weights = values_in_file(params) if os.path.exists(params) else {}
        return cls({"forward": program}, weights)

    def _add(self, name, program, weights):
        evaluation = _core.program_clone(program)
        _core.passes_run(evaluation, _ENDING_TRAINING, {"scope": None})
        self._programs[name] = {
            True: self._captured(program, weights, program),
            False: self._captured(evaluation, weights, program),
        }
        if name != "forward":
            self.__dict__[name] = lambda *args: self._run(name, args)

    def _captured(self, program, weights, saved):
        """`program` is `saved`, or a copy of it, of which it has the results."""
        metadata = _core.program_metadata(saved)
        for state in _core.program_describe(program)["states"]:
            key = state["name"]
            _core.program_bind_state(program, key, self._tensor(key, weights[key], state))
        outputs = _core.program_outputs(program)
        needed = json.loads(metadata.get("gradients", "[]"))
        for v, grad in zip(outputs, needed):
            v.stop_gradient = not grad
        text = metadata.get("result")
        leaves = [Leaf(i) for i in range(len(outputs))]
        if text:
            leaves = [v for v in flatten(_decode(json.loads(text))) if type(v) is Leaf]
        structure = leaves[0] if len(leaves) == 1 else leaves
        return Captured(program, _core.program_inputs(program), outputs, structure)

    def _tensor(self, key, value, state):
        """The parameter or buffer of a state; methods share it."""
        known = self._tensors.get(key)
        if known is not None:
            return known
        attribute = key.replace(".", "_")
        value = _core.to_tensor(value, None, False)  # on the current device
        if state["trainable"]:
            tensor = Parameter.from_tensor(value, name=key)
            self.add_parameter(attribute, tensor)
        else:
            tensor = value
            tensor.name, tensor.persistable, tensor.stop_gradient = key, True, True
            self.register_buffer(attribute, tensor)
        self._tensors[key] = tensor
        return tensor

    def forward(self, *inputs):
        return self._run("forward", inputs)

    def _run(self, name, inputs):
        captured = self._programs[name][self.training]
        tensors = [
            v if isinstance(v, Tensor) else _core.to_tensor(v, None, True)
            for v in flatten(list(inputs))
            if isinstance(v, Tensor) or hasattr(v, "__array_interface__")
        ]
        if len(tensors) != len(captured.inputs):
            raise ValueError(
                f"[TranslatedLayer.{name}] expected {len(captured.inputs)} inputs"
                f" ({', '.join(v.name for v in captured.inputs)}), got {len(tensors)}."
                " Do this: pass them in this order."
            )
        recorder = _core.program_recording()
        if recorder is not None:
            return captured.rebuild(_core.program_inline(recorder, captured.program, tensors))
        return captured(tensors)

    def program(self, method_name="forward"):
        """The Program of a method, in the mode the layer is in.

        Args:
            method_name (str): Which.

        Returns:
            Program: It.

        Raises:
            ValueError: There is no such method.
        """
        if method_name not in self._programs:
            raise ValueError(
                f"[TranslatedLayer.program] there is no method {method_name!r}: expected one of"
                f" {sorted(self._programs)}."
                " Do this: use one of them, or save the layer with that method captured."
            )
        return self._programs[method_name][self.training].main_program

    def _input_spec(self, method_name="forward"):
        """InputSpecs of a method."""
        from argosy.static.input import InputSpec

        return [
            InputSpec(list(v.shape), v.dtype, v.name, v.stop_gradient)
            for v in self._programs[method_name][self.training].inputs
        ]


def _weights(program, scope):
    names = [s["name"] for s in _core.program_describe(program)["states"]]
    return {name: _core.scope_get(scope, name) for name in names}


# What names of files end with that others write and read.
INFER_MODEL_SUFFIX, PIR_INFER_MODEL_SUFFIX = ".pdmodel", ".json"
INFER_PARAMS_SUFFIX, INFER_PARAMS_INFO_SUFFIX = ".pdiparams", ".pdiparams.info"
