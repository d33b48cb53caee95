"""Predictors, and the handles of their inputs and outputs."""

import os
import tempfile
import threading

import numpy as np

from argosy import _core, device
from argosy._support import need_type, unsupported
from argosy.framework import io as framework_io
from argosy.static.io import is_pickle

from .config import Config
from .kinds import data_type_of

_LENGTHS = "@LENGTHS"

# What every call of a small model needs, looked up once.
_Array = np.ndarray
_copy_in, _run, _copy_out = _core.infer_copy_in, _core.infer_run, _core.infer_copy_out


def _is_pickle(path):
    try:
        with open(path, "rb") as f:
            return is_pickle(f.read(9))
    except OSError:
        return False


def _beside(path):
    """The weights beside a Program's file, if they are of the older kind."""
    params = os.path.splitext(path)[0] + ".pdiparams"
    return params if _is_pickle(params) else ""


class _Weights:
    """The file of weights to load: older ones, which were pickled, as safetensors in a file that is
    gone at the end of the block."""

    def __init__(self, params):
        self._params = params
        self._folder = None

    def __enter__(self):
        if not self._params or not _is_pickle(self._params):
            return self._params
        self._folder = tempfile.TemporaryDirectory()
        path = os.path.join(self._folder.name, "weights.safetensors")
        _core.weights_save(path, framework_io.load(self._params), None)
        return path

    def __exit__(self, *error):
        if self._folder:
            self._folder.cleanup()


def create_predictor(config):
    """Loads the model of a Config.

    Args:
        config (Config): Which, and how.

    Returns:
        Predictor: Ready to run.

    Raises:
        RuntimeError: there is no such file.
        ValueError: the file is no model, or damaged.
        NotImplementedError: operations of the model are not known; the text names all of them.

    Example:
        >>> import tempfile
        >>> net = argosy.nn.Linear(2, 1)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     spec = [argosy.static.InputSpec([None, 2], "float32", "x")]
        ...     argosy.jit.save(net, folder + "/net", input_spec=spec)
        ...     config = argosy.inference.Config(folder + "/net")
        ...     predictor = argosy.inference.create_predictor(config)
        >>> x = predictor.get_input_handle("x")
        >>> x.copy_from_cpu(np.ones([3, 2], "float32"))
        >>> predictor.run()
        True
        >>> predictor.get_output_handle(predictor.get_output_names()[0]).copy_to_cpu().shape
        (3, 1)
    """
    need_type("create_predictor", "config", config, Config, "make one with inference.Config(..)")
    if config._threads_set:
        _core.set_num_threads(config._threads)
    where = "cpu" if config._device == "cpu" else f"{config._device}:{config._device_index}"
    return Predictor(_load(config), where)


def _load(config):
    options = config._options()
    if config._program_bytes:
        options["program_bytes"] = config._program_bytes
        if not is_pickle(config._weight_bytes[:9]):
            return _core.infer_load({**options, "weight_bytes": config._weight_bytes})
        with tempfile.NamedTemporaryFile() as old:
            old.write(config._weight_bytes)
            old.flush()
            with _Weights(old.name) as weights:
                return _core.infer_load({**options, "weights": weights})
    if not config._path:
        raise ValueError(
            "[create_predictor] the Config has no model. Do this: pass its file or folder to Config."
        )
    with _Weights(config._params or _beside(config._path)) as weights:
        return _core.infer_load({**options, "path": config._path, "weights": weights})


def read_model(model_file, params_file):
    """(program, scope) of a model, as it is in its files; params_file may be None."""
    config = Config(*(path for path in (model_file, params_file) if path is not None))
    with _Weights(config._params) as weights:
        return _core.infer_read({"path": config._path, "weights": weights})


class Tensor:
    """The handle of an input or output; `Predictor.get_input_handle` and `get_output_handle` give it.

    Args:
        args, kwargs: As Predictor passes them.

    Raises:
        TypeError: it is made by a program.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     spec = [argosy.static.InputSpec([None, 2], "float32", "x")]
        ...     argosy.jit.save(argosy.nn.ReLU(), folder + "/net", input_spec=spec)
        ...     predictor = argosy.inference.create_predictor(argosy.inference.Config(folder + "/net"))
        >>> x = predictor.get_input_handle("x")
        >>> x.name(), x.shape(), x.type().name, x.lod()
        ('x', [-1, 2], 'FLOAT32', [])
        >>> x.reshape([1, 2])
        >>> x.copy_from_cpu(np.float32([[-1, 1]]))
        >>> x.share_external_data(np.float32([[-2, 2]]))
        >>> x.copy_to_cpu().tolist()
        [[-2.0, 2.0]]
        >>> x.set_lod.__name__, x.share_external_data_by_ptr_name.__name__
        ('set_lod', 'share_external_data_by_ptr_name')
    """

    def __init__(self, *args, **kwargs):
        raise TypeError(
            "[inference.Tensor] handles are not made by programs. Do this: call get_input_handle or"
            " get_output_handle of a Predictor."
        )

    @classmethod
    def _make(cls, predictor, place, port, is_input, lengths):
        handle = object.__new__(cls)
        handle._predictor = predictor._handle
        handle._place = place
        handle._name, handle._dtype, handle._declared = port
        handle._is_input = is_input
        handle._lengths = lengths  # place of the input that has the lengths of sequences, or None
        handle._lod = []
        return handle

    def name(self):
        """The name of the input or output.

        Returns:
            str: As the model has it.
        """
        return self._name

    def _need_input(self, what):
        if not self._is_input:
            raise RuntimeError(
                f"[{what}] '{self._name}' is an output, which only a run writes. Do this: use the handle"
                " of an input."
            )

    def copy_from_cpu(self, data):
        """Copies an array into the input, which takes its shape.

        Args:
            data (numpy.ndarray): Of the input's dtype and rank.

        Raises:
            TypeError: it is no array, or of another dtype.
            ValueError: another shape than the model takes.
        """
        if not self._is_input:
            self._need_input("copy_from_cpu")
        if not isinstance(data, _Array):
            raise TypeError(
                f"[copy_from_cpu] '{self._name}': expected a numpy.ndarray, got {type(data).__name__}."
                " Do this: convert it with numpy.array(..)."
            )
        _copy_in(self._predictor, self._place, data)

    def share_external_data(self, data):
        """The input is read where `data` has it, in each run. Without a copy, but for what goes from the
        host to a GPU.

        Args:
            data (numpy.ndarray | Tensor): On the host, or on the GPU that the model runs on; of others'
                tensors there, what `utils.dlpack.from_dlpack` gives. It must not change while a run
                reads it. What the current stream does with a GPU's tensor later is done after the run.

        Raises:
            TypeError: another type.
            ValueError: another dtype or shape than the model takes.
        """
        self._need_input("share_external_data")
        if not isinstance(data, (np.ndarray, _core.Tensor)):
            raise TypeError(
                f"[share_external_data] '{self._name}': expected a numpy.ndarray or a Tensor, got"
                f" {type(data).__name__}. Do this: convert it with numpy.array(..)."
            )
        _core.infer_share(self._predictor, self._place, data)

    def share_external_data_by_ptr_name(self, data, shape, dtype, place):
        """Not supported: raises NotImplementedError.

        Args:
            data, shape, dtype, place: An address and what lies there.

        Raises:
            NotImplementedError: always.
        """
        unsupported(
            "share_external_data_by_ptr_name", "pass an array to share_external_data",
            data=(data, None), shape=(shape, None), dtype=(dtype, None), place=(place, None),
        )  # fmt: skip

    def reshape(self, shape):
        """Gives the input memory of that shape, to be filled by copy_from_cpu.

        Args:
            shape (list[int]): As the model takes it.

        Raises:
            ValueError: another shape than the model takes.
        """
        self._need_input("reshape")
        _core.infer_reshape(self._predictor, self._place, [int(size) for size in shape])

    def copy_to_cpu(self):
        """The values.

        Returns:
            numpy.ndarray: Of its own.

        Raises:
            RuntimeError: the predictor has not run, or the input has no value.
        """
        if self._is_input:
            value = _core.infer_input(self._predictor, self._place)
            value = None if value is None else value.numpy()
        else:
            value = _copy_out(self._predictor, self._place)
        if value is None:
            raise RuntimeError(
                f"[copy_to_cpu] '{self._name}' has no value. Do this: call run() of the predictor first."
            )
        return value

    def shape(self):
        """The shape of the values, or what the model says where there are none (-1: any size).

        Returns:
            list[int]: A size for each axis; none where the model says not even how many there are.
        """
        if self._is_input:
            value = _core.infer_input(self._predictor, self._place)
            shape = None if value is None else list(value.shape)
        else:
            shape = _core.infer_output_shape(self._predictor, self._place)
        return list(self._declared) if shape is None else shape

    def type(self):
        """The dtype.

        Returns:
            DataType: FLOAT32, for example.
        """
        return data_type_of(self._dtype)

    def set_lod(self, lod):
        """Says where the sequences of a batch begin.

        Args:
            lod (list[list[int]]): One level: 0, then the end of each sequence.

        Raises:
            ValueError: another number of levels, or the input takes no sequences.
        """
        self._need_input("set_lod")
        if len(lod) != 1 or self._lengths is None:
            raise ValueError(
                f"[set_lod] '{self._name}': expected one level for an input of sequences, got"
                f" {len(lod)} levels for {'sequences' if self._lengths is not None else 'a tensor'}. Do"
                " this: feed tensors without lod."
            )
        self._lod = [list(level) for level in lod]
        lengths = np.diff(np.asarray(lod[0], "int64"))
        _core.infer_copy_in(self._predictor, self._lengths, lengths)

    def lod(self):
        """What set_lod said.

        Returns:
            list[list[int]]: Its levels; none for tensors.
        """
        return [list(level) for level in self._lod]


class Predictor:
    """Runs a model; create_predictor makes it.

    A predictor is used by one thread at a time. Its clones share its weights, and each may be used by
    another thread.

    Args:
        handle: What create_predictor loaded.
        where (str): The device that the model runs on.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     spec = [argosy.static.InputSpec([None, 2], "float32", "x")]
        ...     argosy.jit.save(argosy.nn.ReLU(), folder + "/net", input_spec=spec)
        ...     predictor = argosy.inference.create_predictor(argosy.inference.Config(folder + "/net"))
        >>> predictor.get_input_names(), predictor.get_output_names()
        (['x'], ['output_0'])
        >>> predictor.get_input_handle("x").copy_from_cpu(np.float32([[-1, 1]]))
        >>> other = predictor.clone()
        >>> predictor.interrupt()  # nothing is under way
        >>> predictor.run()
        True
        >>> predictor.get_output_handle("output_0").copy_to_cpu().tolist()
        [[0.0, 1.0]]
        >>> predictor.clear_intermediate_tensor()
        >>> predictor.try_shrink_memory() >= 0
        True
        >>> [hook.__name__ for hook in (predictor.register_input_hook, predictor.register_output_hook)]
        ['register_input_hook', 'register_output_hook']
    """

    def __init__(self, handle, where="cpu"):
        self._handle = handle
        self._where = where
        self._turn = threading.Lock()
        inputs, outputs = _core.infer_ports(handle)
        places = {port[0]: i for i, port in enumerate(inputs)}
        self._inputs = {
            port[0]: Tensor._make(self, i, port, True, places.get(port[0] + _LENGTHS))
            for i, port in enumerate(inputs)
        }
        self._input_names = [
            name
            for name in self._inputs
            if not (name.endswith(_LENGTHS) and name.removesuffix(_LENGTHS) in places)
        ]
        self._output_names = [port[0] for port in outputs]
        self._outputs = {
            port[0]: Tensor._make(self, i, port, False, None) for i, port in enumerate(outputs)
        }

    def get_input_names(self):
        """Names of the inputs, in order.

        Returns:
            list[str]: Each once.
        """
        return list(self._input_names)

    def get_output_names(self):
        """Names of the outputs, in order.

        Returns:
            list[str]: One for each output; a file of ONNX may list an output twice.
        """
        return list(self._output_names)

    def _port(self, what, ports, name):
        if name not in ports:
            raise ValueError(
                f"[get_{what}_handle] the model has no {what} {name!r}. Do this: use one of"
                f" {', '.join(ports)}."
            )
        return ports[name]

    def get_input_handle(self, name):
        """The handle of an input.

        Args:
            name (str): One of get_input_names().

        Returns:
            Tensor: Always the same one.

        Raises:
            ValueError: there is no such input.
        """
        return self._port("input", self._inputs, name)

    def get_output_handle(self, name):
        """The handle of an output.

        Args:
            name (str): One of get_output_names().

        Returns:
            Tensor: Always the same one.

        Raises:
            ValueError: there is no such output.
        """
        return self._port("output", self._outputs, name)

    def run(self, inputs=None):
        """Computes all outputs from the inputs.

        Args:
            inputs (list[Tensor], optional): A tensor for each input, in order, instead of what the
                handles have. Several threads that call it so take turns.

        On a GPU the work is enqueued when it returns, and what fails there is raised by whoever reads
        an output.

        Returns:
            bool | list[Tensor]: True; the outputs where inputs are given, on the model's device.

        Raises:
            ValueError: an input has no value, or one that the model does not take.
        """
        if inputs is None:
            _run(self._handle)
            return True
        if len(inputs) != len(self._input_names):
            raise ValueError(
                f"[Predictor.run] expected {len(self._input_names)} inputs, got {len(inputs)}. Do this:"
                f" pass one for each of {', '.join(self._input_names)}."
            )
        with self._turn:
            for name, value in zip(self._input_names, inputs):
                self._inputs[name].share_external_data(value)
            _core.infer_run(self._handle)
            return [_core.infer_output(self._handle, i) for i in range(len(self._output_names))]

    def interrupt(self):
        """From another thread: the run that is under way fails before its next steps.

        Where none is under way nothing happens. Ctrl-C ends a run of the main thread.
        """
        _core.infer_interrupt(self._handle)

    def clone(self, stream=None):
        """A predictor with handles of its own and the same weights.

        Args:
            stream: None; on a GPU each predictor makes a stream of its own.

        Returns:
            Predictor: Independent of this one.
        """
        unsupported("Predictor.clone", "leave it out", stream=(stream, None))
        return Predictor(_core.infer_clone(self._handle), self._where)

    def clear_intermediate_tensor(self):
        """Gives back the memory of the last run; outputs are gone with it."""
        _core.infer_release(self._handle)

    def try_shrink_memory(self):
        """Gives back the memory of the last run and what the allocator keeps.

        Returns:
            int: Bytes that the process still holds for tensors.
        """
        _core.infer_release(self._handle)
        device.empty_cache(self._where)
        return device.memory_reserved(self._where)

    def register_input_hook(self, hook):
        """Not supported: operations are fused, so there is no call for each.

        Args:
            hook (callable): It would be called for each operation.

        Raises:
            NotImplementedError: always.
        """
        unsupported("register_input_hook", "look at outputs", hook=(hook, None))

    def register_output_hook(self, hook):
        """Not supported: operations are fused, so there is no call for each.

        Args:
            hook (callable): It would be called for each operation.

        Raises:
            NotImplementedError: always.
        """
        unsupported("register_output_hook", "look at outputs", hook=(hook, None))


class PredictorPool:
    """Several predictors of one model, which share weights.

    Args:
        config (Config): The model.
        size (int): How many; at least 1.

    Raises:
        ValueError: fewer than 1.

    Example:
        >>> argosy.inference.PredictorPool.retrieve.__name__
        'retrieve'
    """

    def __init__(self, config, size=1):
        if size < 1:
            raise ValueError(
                f"[PredictorPool] size: expected 1 or more, got {size}. Do this: ask for a predictor for"
                " each thread."
            )
        first = create_predictor(config)
        self._predictors = [first] + [first.clone() for _ in range(size - 1)]

    def retrieve(self, index):
        """One of them.

        Args:
            index (int): From 0 on.

        Returns:
            Predictor: Always the same for an index.

        Raises:
            IndexError: there are not so many.
        """
        if not 0 <= index < len(self._predictors):
            raise IndexError(
                f"[PredictorPool.retrieve] index: expected 0 to {len(self._predictors) - 1}, got {index}."
                " Do this: make a larger pool."
            )
        return self._predictors[index]
