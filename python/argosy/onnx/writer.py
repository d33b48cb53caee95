"""Layers as ONNX files."""

import os
import warnings

from argosy import _core
from argosy._support import only_known
from argosy.framework.atomic_file import atomic_writer
from argosy.jit.api import StaticFunction
from argosy.nn.layer.layers import Layer

SUFFIX = ".onnx"
_LEAST_OPSET = 17  # that the core writes


def export(layer, path, input_spec=None, opset_version=9, **configs):
    """Writes a layer as an ONNX file.

    Args:
        layer (Layer | callable): It is captured as jit.save does, in evaluation mode: dropout and batch
            norm are what they are then.
        path (str | None): The file, without its suffix .onnx; folders are made. None: nothing is
            written.
        input_spec (list, optional): InputSpec or example tensor for each input of forward; not needed
            where to_static was given one. Sizes that an InputSpec leaves open (None, -1) stay open in
            the file.
        opset_version (int): Version of ONNX's operators, 17 to 23. With a lower one, as Paddle's default is,
            17 is written, and a warning says so.
        configs: output_spec, a list of results of forward to keep, in this order.

    Returns:
        str | bytes: the path of the file; what it would hold where path is None.

    Raises:
        ValueError: other configs. NotImplementedError: ops have no counterpart in ONNX; the text lists
            all of them.

    Example:
        >>> layer = argosy.nn.Linear(2, 1)
        >>> spec = [argosy.static.InputSpec([None, 2], "float32", "x")]
        >>> file = argosy.onnx.export(layer, None, spec)
        >>> argosy.onnx.load(file).inputs
        [Port('x', float32, [-1, 2])]
    """
    only_known("onnx.export", configs, ("output_spec",))
    if path is not None and not isinstance(path, (str, os.PathLike)):
        raise TypeError(
            f"[onnx.export] path: expected a str, got {type(path).__name__}."
            " Do this: pass 'folder/name'."
        )
    if not isinstance(opset_version, int) or isinstance(opset_version, bool) or opset_version < 1:
        raise ValueError(
            f"[onnx.export] opset_version: expected a number of 1 or more, got {opset_version!r}."
        )
    if opset_version < _LEAST_OPSET:
        warnings.warn(
            f"[onnx.export] the file is of opset {_LEAST_OPSET}, the lowest that is written, not of"
            f" opset_version={opset_version}. Do this: pass opset_version={_LEAST_OPSET} or a higher one.",
            stacklevel=2,
        )
    captured = _captured(layer, input_spec)
    program = _core.program_clone(captured.program)
    outputs = _kept(captured.outputs, configs.get("output_spec"))
    for i, v in enumerate(outputs):
        _core.program_add_output(program, f"output_{i}", _core.program_counterpart(program, v))
    name = type(layer).__name__ if isinstance(layer, Layer) else getattr(layer, "__name__", "model")
    data = _core.onnx_write(program, opset_version, name, [])
    if path is None:
        return data
    return _write(os.fspath(path), data)


def _captured(layer, input_spec):
    """The Program of forward, in evaluation mode."""
    function = layer.forward if isinstance(layer, Layer) else layer
    if not callable(function):
        raise TypeError(
            f"[onnx.export] layer: expected a Layer or a function, got {type(layer).__name__}."
        )
    if not isinstance(function, StaticFunction):
        if input_spec is None:
            raise ValueError(
                "[onnx.export] the inputs of the layer are not known. Do this: pass"
                " input_spec=[InputSpec(shape, dtype), ..]."
            )
        function = StaticFunction(function, None, full_graph=True)
    layers = layer.sublayers(include_self=True) if isinstance(layer, Layer) else []
    training = [m for m in layers if m.training]
    for m in training:
        m.training = False
    try:
        return function._concrete(*(input_spec or ()))
    finally:
        for m in training:
            m.training = True


def _kept(outputs, output_spec):
    if output_spec is None:
        return outputs
    names = {v.name: v for v in outputs}
    kept = [names.get(getattr(v, "name", None)) for v in output_spec]
    if any(v is None for v in kept):
        raise ValueError(
            "[onnx.export] output_spec names a tensor that forward does not return."
            " Do this: leave it out, or pass results of forward."
        )
    return kept


def _write(path, data):
    if not path.endswith(SUFFIX):
        path += SUFFIX
    with atomic_writer(path) as f:
        f.write(data)
    return path
