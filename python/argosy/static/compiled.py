"""Options of runs, under the names that programs set them by."""

from __future__ import annotations

import copy
import enum
import os

from argosy import device
from argosy.device import CPUPlace, CUDAPlace, is_compiled_with_cuda

from .program import Program


class _Options:
    """Attributes with defaults; one that is unknown is an error."""

    _defaults = {}

    def __init_subclass__(cls):
        for name, default in cls._defaults.items():
            default = default.name if isinstance(default, enum.Enum) else repr(default)
            text = f"The option {name}, {default} by default; results are the same whatever it is."
            setattr(cls, name, property(lambda self, name=name: self.__dict__[name], doc=text))

    def __init__(self):
        self.__dict__.update(copy.deepcopy(self._defaults))

    def __setattr__(self, name, value):
        if name not in self._defaults:
            raise AttributeError(
                f"'{type(self).__name__}' has no option '{name}': it has"
                f" {', '.join(sorted(self._defaults))}."
            )
        self.__dict__[name] = value

    def __repr__(self):
        shown = ", ".join(f"{k}={v!r}" for k, v in self.__dict__.items() if v != self._defaults[k])
        return f"{type(self).__name__}({shown})"


class _ReduceStrategy(enum.IntEnum):
    AllReduce = 0
    Reduce = 1


class _GradientScaleStrategy(enum.IntEnum):
    CoeffNumDevice = 0
    One = 1
    Customized = 2


_OFF = (
    "allow_cuda_graph_capture", "async_mode", "build_cinn_pass", "cache_runtime_context",
    "enable_addto", "enable_auto_fusion", "enable_backward_optimizer_op_deps", "fuse_adamw",
    "fuse_all_optimizer_ops", "fuse_bn_act_ops", "fuse_bn_add_act_ops", "fuse_broadcast_ops",
    "fuse_dot_product_attention", "fuse_elewise_add_act_ops", "fuse_gemm_epilogue",
    "fuse_relu_depthwise_conv", "fuse_resunit", "fused_attention", "fused_feedforward",
    "mkldnn_enabled", "remove_unnecessary_lock", "sequential_run", "sync_batch_norm",
    "use_hierarchical_allreduce",
)  # fmt: skip


class BuildStrategy(_Options):
    """How a Program is prepared. Results are the same whatever is chosen; what this library does by
    itself (fusion, reuse of memory) it does anyway.

    Example:
        >>> strategy = argosy.static.BuildStrategy()
        >>> strategy.enable_inplace = False
        >>> strategy
        BuildStrategy(enable_inplace=False)
    """

    ReduceStrategy = _ReduceStrategy
    GradientScaleStrategy = _GradientScaleStrategy
    _defaults = {
        **dict.fromkeys(_OFF, False),
        "bkcl_comm_num": 1,
        "debug_graphviz_path": "",
        "enable_inplace": True,
        "fuse_all_reduce_ops": True,
        "gradient_scale_strategy": _GradientScaleStrategy.CoeffNumDevice,
        "hierarchical_allreduce_inter_nranks": 0,
        "memory_optimize": None,
        "mkldnn_enabled_op_types": set(),
        "nccl_comm_num": 1,
        "num_trainers": 1,
        "onednn_enabled_op_types": set(),
        "reduce_strategy": _ReduceStrategy.AllReduce,
        "trainer_id": 0,
        "trainers_endpoints": [],
    }


class ExecutionStrategy(_Options):
    """How a Program is run. Results are the same whatever is chosen.

    Example:
        >>> strategy = argosy.static.ExecutionStrategy()
        >>> strategy.num_threads = 4
        >>> strategy.num_threads
        4
    """

    _defaults = {
        "allow_op_delay": False,
        "dry_run": False,
        "num_iteration_per_drop_scope": 100,
        "num_iteration_per_run": 1,
        "num_threads": 0,
        "use_thread_barrier": False,
    }


class CompiledProgram:
    """A Program together with options; Executor.run takes it like the Program.

    Args:
        program_or_graph (Program): What is run.
        build_strategy (BuildStrategy, optional): Options.

    Raises:
        TypeError: an argument is of another kind.

    Example:
        >>> argosy.enable_static()
        >>> y = argosy.static.data("x", [2], "float32") * 2
        >>> program = argosy.static.CompiledProgram(argosy.static.default_main_program())
        >>> feed = {"x": np.float32([1, 2])}
        >>> argosy.static.Executor().run(program, feed=feed, fetch_list=[y])[0].tolist()
        [2.0, 4.0]
    """

    def __init__(self, program_or_graph, build_strategy=None):
        if not isinstance(program_or_graph, Program):
            raise TypeError(
                "The type of program_to_graph parameter is wrong, expected Program, but received"
                f" {type(program_or_graph)}"
            )
        if build_strategy is not None and not isinstance(build_strategy, BuildStrategy):
            raise TypeError(
                "[CompiledProgram] build_strategy: expected BuildStrategy, got"
                f" {type(build_strategy).__name__}."
                " Do this: pass static.BuildStrategy()."
            )
        self._program = program_or_graph
        self._build_strategy = build_strategy

    def __getattr__(self, name):
        return getattr(self.__dict__["_program"], name)


def cpu_places(device_count=None):
    """CPUs to run on.

    Args:
        device_count (int, optional): How many; default: the environment variable CPU_NUM, else 1.

    Returns:
        list[CPUPlace]: So many.

    Example:
        >>> argosy.static.cpu_places(2)
        [Place(cpu), Place(cpu)]
    """
    count = int(os.environ.get("CPU_NUM", 1)) if device_count is None else int(device_count)
    return [CPUPlace() for _ in range(count)]


def cuda_places(device_ids=None):
    """A list of CUDAPlace, for the given numbers or all devices.

    Raises:
        AssertionError: this build has no CUDA.

    Args:
        device_ids (int | list[int], optional): Which; default: all.

    Returns:
        list[CUDAPlace]: One for each.

    Example:
        >>> argosy.static.cuda_places() if argosy.is_compiled_with_cuda() else []
        []
    """
    if not is_compiled_with_cuda():
        raise AssertionError("Not compiled with CUDA. Do this: use CPU places.")
    if device_ids is None:
        device_ids = range(device.cuda.device_count())
    elif isinstance(device_ids, int):
        device_ids = [device_ids]
    return [CUDAPlace(i) for i in device_ids]


def xpu_places(device_ids=None):
    """XPUs are not supported.

    Args:
        device_ids (int | list[int], optional): Which.

    Raises:
        AssertionError: always.

    Example:
        >>> argosy.static.xpu_places()
        Traceback (most recent call last):
        AssertionError
    """
    raise AssertionError("Not compiled with XPU. Do this: use CPU places.")


def _no_ipu(name):
    raise ValueError(
        f"Can not use this function since PaddlePaddle is not compiled with IPU. [{name}] IPUs are not"
        " supported. Do this: use CPUPlace or CUDAPlace."
    )


class IpuStrategy:
    """IPUs are not supported: making one raises, so its methods are never reached.

    Raises:
        ValueError: always.

    Example:
        >>> argosy.static.IpuStrategy()
        Traceback (most recent call last):
        ValueError
    """

    def __init__(self):
        _no_ipu("IpuStrategy")

    num_ipus = is_training = enable_pipelining = enable_fp16 = property(
        lambda self: _no_ipu("IpuStrategy"), doc="Never reached."
    )

    def _refuse(self):
        _no_ipu("IpuStrategy")

    def set_graph_config(
        self, num_ipus=1, is_training=True, micro_batch_size=1, enable_manual_shard=False
    ):
        """Never reached: there is no object of this class.

        Args:
            num_ipus, is_training, micro_batch_size, enable_manual_shard: Of no use.

        Raises:
            ValueError: always.
        """
        self._refuse()

    def set_pipelining_config(
        self,
        enable_pipelining=False,
        batches_per_step=1,
        enable_gradient_accumulation=False,
        accumulation_factor=1,
    ):
        """Never reached: there is no object of this class.

        Args:
            enable_pipelining, batches_per_step, enable_gradient_accumulation, accumulation_factor: Of no use.

        Raises:
            ValueError: always.
        """
        self._refuse()

    def set_precision_config(self, enable_fp16=False):
        """Never reached: there is no object of this class.

        Args:
            enable_fp16: Of no use.

        Raises:
            ValueError: always.
        """
        self._refuse()

    def add_custom_op(self, paddle_op, popart_op=None, domain="custom.ops", version=1):
        """Never reached: there is no object of this class.

        Args:
            paddle_op, popart_op, domain, version: Of no use.

        Raises:
            ValueError: always.
        """
        self._refuse()

    def set_options(self, options):
        """Never reached: there is no object of this class.

        Args:
            options: Of no use.

        Raises:
            ValueError: always.
        """
        self._refuse()

    def get_option(self, option):
        """Never reached: there is no object of this class.

        Args:
            option: Of no use.

        Raises:
            ValueError: always.
        """
        self._refuse()

    def enable_pattern(self, pattern):
        """Never reached: there is no object of this class.

        Args:
            pattern: Of no use.

        Raises:
            ValueError: always.
        """
        self._refuse()

    def disable_pattern(self, pattern):
        """Never reached: there is no object of this class.

        Args:
            pattern: Of no use.

        Raises:
            ValueError: always.
        """
        self._refuse()

    def set_optimizer(self, optimizer):
        """Never reached: there is no object of this class.

        Args:
            optimizer: Of no use.

        Raises:
            ValueError: always.
        """
        self._refuse()

    def parse_optimizer(self, optimizer):
        """Never reached: there is no object of this class.

        Args:
            optimizer: Of no use.

        Raises:
            ValueError: always.
        """
        self._refuse()

    def register_patch(self):
        """Never reached: there is no object of this class.

        Raises:
            ValueError: always.
        """
        self._refuse()

    def release_patch(self):
        """Never reached: there is no object of this class.

        Raises:
            ValueError: always.
        """
        self._refuse()


class IpuCompiledProgram:
    """IPUs are not supported: making one raises, so its methods are never reached.

    Args:
        program (Program, optional): What would run.
        scope (Scope, optional): Where state would be.
        ipu_strategy (IpuStrategy, optional): Options.

    Raises:
        ValueError: always.

    Example:
        >>> argosy.static.IpuCompiledProgram().compile([], [])
        Traceback (most recent call last):
        ValueError
    """

    def __init__(self, program=None, scope=None, ipu_strategy=None):
        _no_ipu("IpuCompiledProgram")

    def compile(self, feed_list, fetch_list):
        """Never reached: there is no object of this class.

        Args:
            feed_list, fetch_list: Of no use.

        Raises:
            ValueError: always.
        """
        _no_ipu("IpuCompiledProgram")


def ipu_shard_guard(index=-1, stage=-1):
    """IPUs are not supported.

    Args:
        index (int): Number of an IPU.
        stage (int): Number of a stage.

    Raises:
        ValueError: always.

    Example:
        >>> argosy.static.ipu_shard_guard()
        Traceback (most recent call last):
        ValueError
    """
    _no_ipu("ipu_shard_guard")


def set_ipu_shard(call_func, index=-1, stage=-1):
    """IPUs are not supported.

    Args:
        call_func (callable): What would be put on an IPU.
        index (int): Number of the IPU.
        stage (int): Number of a stage.

    Raises:
        ValueError: always.

    Example:
        >>> argosy.static.set_ipu_shard(print)
        Traceback (most recent call last):
        ValueError
    """
    _no_ipu("set_ipu_shard")
