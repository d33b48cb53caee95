"""ONNX files as layers."""

import collections
import os
import threading

import numpy as np

from argosy import _core
from argosy._core import Tensor
from argosy._support import dtype_name
from argosy.jit.capture import execute
from argosy.nn.layer.layers import Layer

_PROGRAMS = 16  # that a model keeps: one for each form of what its inputs leave open


class Port:
    """An input or output of a model, as its file declares it.

    It has a name, a kind ("tensor", "sequence", "optional" or "optional sequence"), the dtype of the
    tensor or of the elements, a shape (-1 where a size is not fixed, None where none is declared), and
    axes, the names of the sizes that have one, else "".

    Args:
        described (dict): These five.

    Example:
        >>> argosy.onnx.Port({"name": "x", "kind": "tensor", "dtype": "float32", "shape": [-1, 3],
        ...                   "axes": ["n", ""]})
        Port('x', float32, [-1, 3])
    """

    def __init__(self, described):
        self.name = described["name"]
        self.kind = described["kind"]
        self.dtype = described["dtype"]
        self.shape = described["shape"]
        self.axes = described["axes"]

    def __repr__(self):
        shape = "of any shape" if self.shape is None else self.shape
        kind = "" if self.kind == "tensor" else f", {self.kind}"
        return f"Port({self.name!r}, {self.dtype}, {shape}{kind})"


def load(path):
    """A layer that runs an ONNX model.

    Args:
        path (str | bytes): The file, or what it holds. Weights in files of their own are read from
            beneath the folder of the path.

    Returns:
        Model: It is called with the model's inputs.

    Raises:
        OSError: there is no such file. ValueError: it is no whole ONNX model. NotImplementedError:
            it has operators that Argosy does not have; the text lists all of them.

    Example:
        >>> import tempfile
        >>> layer = argosy.nn.Linear(2, 1)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     spec = [argosy.static.InputSpec([None, 2], "float32", "x")]
        ...     _ = argosy.onnx.export(layer, folder + "/model", input_spec=spec)
        ...     model = argosy.onnx.load(folder + "/model.onnx")
        >>> x = argosy.ones([3, 2])
        >>> bool(argosy.allclose(model(x), layer(x)))
        True
    """
    if isinstance(path, (bytes, bytearray)):
        return Model(_core.onnx_parse(bytes(path), ""))
    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(
            f"[onnx.load] path: expected a str or bytes, got {type(path).__name__}."
            " Do this: pass 'folder/model.onnx'."
        )
    return Model(_core.onnx_open(os.fspath(path)))


class Model(Layer):
    """A layer made from an ONNX file; argosy.onnx.load gives it.

    It is called with its inputs in order, or by name; optional ones may be None, sequences are lists.
    The result is one value, or a tuple with one for each output. What a file leaves open (shapes that
    are not declared, lengths of sequences, values that decide how many dimensions a result has) is
    fixed by the first call that has it, in a Program of its own.

    Args:
        handle: What argosy.onnx.load read.

    Shape:
        As its inputs and outputs say.

    Example:
        >>> model = argosy.onnx.load(argosy.onnx.export(
        ...     argosy.nn.ReLU(), None, [argosy.static.InputSpec([2], "float32", "x")]))
        >>> model.inputs
        [Port('x', float32, [2])]
        >>> model(x=argosy.to_tensor([-1.0, 1.0])).tolist()
        [0.0, 1.0]
    """

    def __init__(self, handle):
        super().__init__()
        described = _core.onnx_describe(handle)
        self._handle = handle
        self.inputs = [Port(p) for p in described["inputs"]]
        self.outputs = [Port(p) for p in described["outputs"]]
        self.metadata = described["metadata"]
        self._lock = threading.Lock()
        self._needs = {}  # input -> whether its value is needed; else its shape. Guarded by _lock
        self._made = collections.OrderedDict()  # what is given -> _Made. Guarded by _lock

    def forward(self, *args, **kwargs):
        values = self._bind(args, kwargs)
        made = self._program_for(values)
        feeds = made.feeds(values)
        recorder = _core.program_recording()
        if recorder is not None:
            return made.result(_core.program_inline(recorder, made.program, feeds))
        if _core.is_grad_enabled() and any(not t.stop_gradient for t in feeds):
            return made.result(_core.program_run_recorded(made.program, feeds, made.fetches))
        return made.result(execute(made.program, feeds, made.fetches))

    def save(self, path):
        """Writes the model as argosy.jit.save does, if nothing has to be fixed by a call.

        Args:
            path (str): Prefix of the files.

        Raises:
            ValueError: the model leaves something open that a Program fixes.

        Example:
            >>> import tempfile
            >>> model = argosy.onnx.load(argosy.onnx.export(
            ...     argosy.nn.ReLU(), None, [argosy.static.InputSpec([2], "float32", "x")]))
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     model.save(folder + "/relu")
            ...     layer = argosy.jit.load(folder + "/relu")
            >>> layer(argosy.to_tensor([-1.0, 1.0])).tolist()
            [0.0, 1.0]
        """
        _core.program_save(self._program_of_file().program, os.fspath(path), None)

    def program(self):
        """The Program of the model, if nothing has to be fixed by a call.

        Returns:
            Program: It.

        Raises:
            ValueError: the model leaves something open that a Program fixes.

        Example:
            >>> model = argosy.onnx.load(argosy.onnx.export(
            ...     argosy.nn.ReLU(), None, [argosy.static.InputSpec([2], "float32", "x")]))
            >>> [op.type for op in model.program().global_block().ops]
            ['relu']
        """
        from argosy.static.program import Program

        return Program(self._program_of_file().program)

    def _program_of_file(self):
        with self._lock:
            made, needs = self._build({})
        if made is None:
            raise ValueError(
                f"[onnx] a Program of the model has to know more of its inputs {sorted(needs)}."
                " Do this: call it instead, or export it with these as constants."
            )
        return made

    # --- what a call is given ---

    def _bind(self, args, kwargs):
        names = [p.name for p in self.inputs]
        if len(args) > len(names):
            raise TypeError(
                f"[onnx] the model has {len(names)} inputs ({', '.join(names)}), got {len(args)}."
            )
        given = dict(zip(names, args))
        for name, value in kwargs.items():
            if name not in names or name in given:
                problem = "is given twice" if name in given else "is no input"
                raise TypeError(f"[onnx] {name!r} {problem}: the inputs are {', '.join(names)}.")
            given[name] = value
        return {p.name: _value(p, given.get(p.name)) for p in self.inputs}

    def _program_for(self, values):
        with self._lock:
            while True:
                fixed = {name: _given(values[name], value) for name, value in self._needs.items()}
                key = tuple((name, _key(fixed[name])) for name in sorted(fixed))
                made = self._made.get(key)
                if made is not None:
                    self._made.move_to_end(key)
                    return made
                made, needs = self._build(fixed)
                if made is not None:
                    self._made[key] = made
                    if len(self._made) > _PROGRAMS:
                        self._made.popitem(last=False)
                    return made
                self._needs.update({n: v or self._needs.get(n, False) for n, v in needs.items()})

    def _build(self, fixed):
        program, outputs, needs = _core.onnx_build(self._handle, list(fixed.items()))
        if program is not None:
            return _Made(program, outputs), None
        news = {
            name for name, value in needs if name not in fixed or value != self._needs.get(name)
        }
        if not news:
            raise NotImplementedError(
                "[onnx] the model cannot be fixed for these inputs: an operator needs a size or a value"
                " that only a run knows."
            )
        return None, dict(needs)


class _Made:
    """A Program, and how its results make up those of the model."""

    def __init__(self, program, outputs):
        self.program = program
        self.names = [v.name for v in _core.program_inputs(program)]
        self.fetches = _core.program_outputs(program)
        self.outputs = outputs

    def feeds(self, values):
        found = {}
        for name, value in values.items():
            if isinstance(value, list):
                found.update({f"{name}.{i}": t for i, t in enumerate(value)})
            elif value is not None:
                found[name] = value
        return [found[name] for name in self.names]

    def result(self, tensors):
        results, at = [], 0
        for _, sequence, missing, count, _ in self.outputs:
            part = list(tensors[at : at + count])
            results.append(part if sequence else None if missing else part[0])
            at += count
        return results[0] if len(results) == 1 else tuple(results)


def _value(port, value):
    """The argument of an input: a Tensor, a list of them, or None."""
    if value is None:
        if port.kind.startswith("optional"):
            return None
        raise TypeError(f"[onnx] input {port.name!r} is missing: expected {port}.")
    if port.kind.endswith("sequence") or (port.kind == "optional" and isinstance(value, list)):
        if not isinstance(value, (list, tuple)):
            raise TypeError(
                f"[onnx] input {port.name!r}: expected a list of tensors, got"
                f" {type(value).__name__}."
            )
        return [_tensor(port, v) for v in value]
    tensor = _tensor(port, value)
    sizes = port.shape
    if sizes is not None and (
        len(sizes) != len(tensor.shape)
        or any(a not in (-1, b) and b != -1 for a, b in zip(sizes, tensor.shape))
    ):
        raise ValueError(
            f"[onnx] input {port.name!r}: expected shape {sizes}, got {list(tensor.shape)}."
        )
    return tensor


def _tensor(port, value):
    if not isinstance(value, Tensor):
        value = _from_array(port, value)
    if dtype_name(value.dtype) != port.dtype:
        raise TypeError(
            f"[onnx] input {port.name!r}: expected {port.dtype}, got {dtype_name(value.dtype)}."
            f" Do this: cast it with astype({port.dtype!r})."
        )
    return value


_BITS = {"bfloat16": np.uint16, "float8_e4m3fn": np.uint8, "float8_e5m2": np.uint8}


def _from_array(port, value):
    array = np.asarray(value)
    if array.dtype.isbuiltin != 1 and array.dtype.name == port.dtype:
        bits = np.ascontiguousarray(array).view(_BITS[port.dtype]).reshape(array.shape)
        return _core.ops.view_dtype(_core.to_tensor(bits, None, True), port.dtype)
    # Lists of Python numbers, and numbers narrower than any dtype of ours, have no dtype that could
    # be wrong.
    if not isinstance(value, (np.ndarray, np.generic)) or array.dtype.isbuiltin != 1:
        array = array.astype(port.dtype)
    return _core.to_tensor(array, "uint16" if array.dtype == np.uint16 else None, True)


def _given(value, needs_value):
    """What the core is told of an input: None is missing."""
    if value is None:
        return None
    tensors = value if isinstance(value, list) else [value]
    if needs_value and any(t._symbolic for t in tensors):
        raise NotImplementedError(
            "[onnx] an operator of the model needs the value of an input that only a run knows."
        )
    return [t if needs_value else (list(t.shape), t.dtype) for t in tensors]


def _key(given):
    if given is None:
        return None
    return tuple(
        (tuple(t.shape), t.numpy().tobytes())
        if isinstance(t, Tensor)
        else (tuple(t[0]), dtype_name(t[1]))
        for t in given
    )
