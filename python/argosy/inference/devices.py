"""Where a model runs, and in what precision."""

from argosy import _core
from argosy._support import need_type, no_effect, unsupported

from .kinds import PrecisionType

_DTYPES = {
    PrecisionType.Float32: "float32",
    PrecisionType.Half: "float16",
    PrecisionType.Bfloat16: "bfloat16",
}
_POOL_MB = 100  # Paddle's, which get_ asks for before anything is set


def _need_count(what, name, value):
    need_type(what, name, value, int, "pass a whole number")
    if isinstance(value, bool) or value < 0:
        raise ValueError(
            f"[{what}] {name}: expected 0 or more, got {value!r}. Do this: pass a whole number."
        )


def _names(what, ops):
    need_type(what, "ops", ops, (set, list, tuple, frozenset), "pass a set of names of ops")
    known = {row["name"] for row in _core.registry()}
    for name in ops:
        if name not in known:
            raise ValueError(
                f"[{what}] there is no op {name!r}. Do this: pass names of ops, as"
                " `argosy show` prints them."
            )
    return sorted(ops)


class Devices:
    """The part of Config about the device: the CPU, a GPU, or one that was added.

    Example:
        >>> argosy.inference.Config().use_gpu()
        False
    """

    def _on_cpu(self):
        self._device, self._device_index, self._pool_mb = "cpu", 0, _POOL_MB
        self._precision = PrecisionType.Float32

    def _set_device(self, what, kind, index, precision):
        if not isinstance(precision, PrecisionType) or precision not in _DTYPES:
            got = precision.name if isinstance(precision, PrecisionType) else precision
            unsupported(
                what, "use PrecisionType.Float32, Half or Bfloat16; a quantized model says itself where it"
                " computes in 8 bits", precision_mode=(got, "Float32"),
            )  # fmt: skip
        if kind == "cpu" and index:
            raise ValueError(
                f"[{what}] device_id: there is one CPU, number 0, got {index}. Do this: leave it out, and"
                " say how many threads compute by set_cpu_math_library_num_threads."
            )
        self._device, self._device_index, self._precision = kind, index, precision

    def enable_use_gpu(
        self, memory_pool_init_size_mb, device_id=0, precision_mode=PrecisionType.Float32
    ):
        """The model runs on a GPU: weights lie in its memory once, for all clones, each of which has a
        stream of its own; runs of the same shapes are launched as CUDA graphs.

        `run()` has enqueued its work when it returns; `copy_to_cpu` waits for it. Whether there is a GPU
        is looked at by create_predictor.

        Args:
            memory_pool_init_size_mb (int): Memory that is taken from the GPU when the first predictor
                is made, and kept for its runs; they take more where they need it. 0: nothing.
            device_id (int): Which GPU, from 0.
            precision_mode (PrecisionType): Float32: as the model says. Half, Bfloat16: products and
                convolutions compute in 16 bits, with weights of 16 bits; inputs and outputs stay.

        Raises:
            TypeError: a number that is none.
            ValueError: a negative number.
            NotImplementedError: PrecisionType.Int8.

        Example:
            >>> config = argosy.inference.Config()
            >>> config.enable_use_gpu(100, 0)
            >>> config.use_gpu(), config.gpu_device_id(), config.memory_pool_init_size_mb()
            (True, 0, 100)
        """
        what = "Config.enable_use_gpu"
        _need_count(what, "memory_pool_init_size_mb", memory_pool_init_size_mb)
        _need_count(what, "device_id", device_id)
        self._set_device(what, "gpu", device_id, precision_mode)
        self._pool_mb = memory_pool_init_size_mb

    def enable_custom_device(self, device_type, device_id=0, precision=PrecisionType.Float32):
        """The model runs on a device that was added to the process.

        Args:
            device_type (str): Its name, as set_device takes it before the colon.
            device_id (int): Which of them, from 0.
            precision (PrecisionType): As for enable_use_gpu.

        Raises:
            TypeError: no text, or no number.
            ValueError: a negative number, or another CPU than number 0.
            NotImplementedError: PrecisionType.Int8.

        Example:
            >>> config = argosy.inference.Config()
            >>> config.enable_custom_device("npu")
            >>> config.use_gpu(), "npu:0" in config.summary()
            (False, True)
        """
        what = "Config.enable_custom_device"
        need_type(what, "device_type", device_type, str, "pass the name of the device")
        _need_count(what, "device_id", device_id)
        self._set_device(what, device_type, device_id, precision)
        self._pool_mb = 0

    def disable_gpu(self):
        """The CPU computes, in the model's own precision.

        Example:
            >>> config = argosy.inference.Config()
            >>> config.enable_use_gpu(100)
            >>> config.disable_gpu()
            >>> config.use_gpu()
            False
        """
        self._on_cpu()

    def use_gpu(self):
        """Whether enable_use_gpu was called.

        Returns:
            bool: False before.

        Example:
            >>> argosy.inference.Config().use_gpu()
            False
        """
        return self._device == "gpu"

    def gpu_device_id(self):
        """The number of the GPU.

        Returns:
            int: 0 unless enable_use_gpu said another.

        Example:
            >>> argosy.inference.Config().gpu_device_id()
            0
        """
        return self._device_index if self.use_gpu() else 0

    def memory_pool_init_size_mb(self):
        """What enable_use_gpu said.

        Returns:
            int: 100 before, of which nothing is taken.

        Example:
            >>> argosy.inference.Config().memory_pool_init_size_mb()
            100
        """
        return self._pool_mb

    def fraction_of_gpu_memory_for_pool(self):
        """The share of the GPU's memory that memory_pool_init_size_mb is.

        Returns:
            float: 0.0 without a GPU.

        Raises:
            RuntimeError: enable_use_gpu was called, and there is no such GPU.

        Example:
            >>> argosy.inference.Config().fraction_of_gpu_memory_for_pool()
            0.0
        """
        if not self.use_gpu():
            return 0.0
        from argosy import device

        total = device.cuda.get_device_properties(self._device_index).total_memory
        return self._pool_mb * 2**20 / total

    def exp_enable_mixed_precision_ops(self, white_list):
        """Ops that compute in 16 bits beside those that do anyway, where the precision is Half or
        Bfloat16.

        Args:
            white_list (set[str]): Names of ops.

        Raises:
            ValueError: there is no such op.

        Example:
            >>> argosy.inference.Config().exp_enable_mixed_precision_ops({"softmax"})
        """
        self._lowered = _names("Config.exp_enable_mixed_precision_ops", white_list)

    def exp_disable_mixed_precision_ops(self, black_list):
        """Ops that stay in float32 where the precision is Half or Bfloat16.

        Args:
            black_list (set[str]): Names of ops.

        Raises:
            ValueError: there is no such op.

        Example:
            >>> argosy.inference.Config().exp_disable_mixed_precision_ops({"matmul"})
        """
        self._kept_float = _names("Config.exp_disable_mixed_precision_ops", black_list)

    def _device_options(self):
        """As infer_load takes them."""
        if self._precision is PrecisionType.Float32:
            names = ", ".join([*self._lowered, *self._kept_float])
            no_effect("Config", "the precision is Float32", mixed_precision_ops=(names, ""))
        return {
            "device": self._device,
            "device_index": self._device_index,
            "device_pool": 0 if self._device == "cpu" else self._pool_mb << 20,
            "precision": _DTYPES[self._precision],
            "lowered": self._lowered,
            "kept_float": self._kept_float,
        }
