"""Which model a predictor runs, and how."""

import os

from argosy import _core
from argosy._support import need_type, no_effect, unsupported

from .absent import Absent
from .devices import Devices
from .kinds import PrecisionType

_PLANNED = "memory of a run is always planned, and given back by try_shrink_memory"
_ONEDNN = "oneDNN is used where it is the fastest"


class _PassBuilder:
    """The passes that a predictor's model goes through; what `Config.pass_builder` gives."""

    def __init__(self, config):
        self._config = config

    def all_passes(self):
        """Names of the passes, in order."""
        load = "load" if self._config._device == "cpu" else "load_device"
        names = _core.passes_pipelines()[load if self._config.ir_optim() else "load_exact"]
        return [name for name in names if name not in self._config._without]

    def delete_pass(self, name):
        """Leaves a pass out; names of others have no effect.

        Args:
            name (str): Of the list in docs/passes.md.

        Example:
            >>> config = argosy.inference.Config()
            >>> config.delete_pass("cse")
            >>> "cse" in config.pass_builder().all_passes()
            False
        """
        self._config.delete_pass(name)

    def append_pass(self, name):
        """Not supported: raises NotImplementedError."""
        unsupported(
            "pass_builder", "run passes.rewrite on the Program first", append_pass=(name, None)
        )

    def insert_pass(self, index, name):
        """Not supported: raises NotImplementedError."""
        unsupported(
            "pass_builder", "run passes.rewrite on the Program first", insert_pass=(name, None)
        )

    def turn_on_debug(self):
        """Has no effect: `argosy show --passes` prints what passes change."""
        no_effect("turn_on_debug", "argosy show --passes prints what passes change", debug=(1, 0))


class Config(Devices, Absent):
    """What create_predictor needs to know.

    Args:
        args: nothing; another Config; the folder of a model, the prefix that jit.save was given, or
            the file of a model; or two files, the Program's and the weights'.

    Raises:
        TypeError: more than two arguments, or no paths.

    Example:
        >>> config = argosy.inference.Config("model.pdmodel", "model.pdiparams")
        >>> config.prog_file(), config.params_file()
        ('model.pdmodel', 'model.pdiparams')
    """

    Precision = PrecisionType

    def __init__(self, *args):
        self._path = self._params = ""
        self._two_files = False
        self._program_bytes = self._weight_bytes = b""
        self._threads = 1
        self._threads_set = False
        self._optimize = True
        self._without = []
        self._plans = 32
        self._memory_limit = 0
        self._time_limit = 0.0
        self._log = True
        self._profile = False
        self._lowered, self._kept_float = [], []
        self._on_cpu()
        if len(args) > 2:
            raise TypeError(
                f"[Config] expected at most 2 arguments, got {len(args)}. Do this: pass the Program's"
                " file and the weights' file."
            )
        if len(args) == 1 and isinstance(args[0], Config):
            self.__dict__.update(args[0].__dict__)
            self._without = list(args[0]._without)
        elif args:
            self.set_model(*args)

    # --- the model ---

    def set_model(self, *args):
        """Sets the model: its folder, prefix or file, or the files of its Program and its weights.

        Args:
            args (str): One path or two.

        Raises:
            TypeError: no paths, or more than two.

        Example:
            >>> config = argosy.inference.Config()
            >>> config.set_model("model.pdmodel", "model.pdiparams")
            >>> config.prog_file()
            'model.pdmodel'
        """
        if not 1 <= len(args) <= 2:
            raise TypeError(
                f"[Config.set_model] expected 1 or 2 arguments, got {len(args)}. Do this: pass the"
                " Program's file and the weights' file."
            )
        for path in args:
            need_type("Config", "model", path, (str, os.PathLike), "pass paths")
        paths = [os.fspath(path) for path in args]
        self._program_bytes = self._weight_bytes = b""
        self._path, self._params = paths[0], paths[1] if len(paths) == 2 else ""
        self._two_files = len(paths) == 2

    def set_model_buffer(self, prog, prog_size, params, params_size):
        """Sets the model by what its files hold.

        Args:
            prog, params (bytes): The files' contents. params may be empty.
            prog_size, params_size (int): How many of them to use.

        Raises:
            TypeError: they are no bytes.

        Example:
            >>> config = argosy.inference.Config()
            >>> config.set_model_buffer(b"program", 7, b"", 0)
            >>> config.model_from_memory()
            True
        """
        for name, value in (("prog", prog), ("params", params)):
            need_type(
                "Config.set_model_buffer", name, value, (bytes, bytearray), "read files as 'rb'"
            )
        self._path = self._params = ""
        self._program_bytes = bytes(prog[:prog_size])
        self._weight_bytes = bytes(params[:params_size])

    def set_prog_file(self, path):
        """Sets the file of the Program.

        Args:
            path (str): It.

        Example:
            >>> config = argosy.inference.Config()
            >>> config.set_prog_file("model.pdmodel")
            >>> config.prog_file()
            'model.pdmodel'
        """
        self._path, self._two_files = os.fspath(path), True

    def set_params_file(self, path):
        """Sets the file of the weights.

        Args:
            path (str): It.

        Example:
            >>> config = argosy.inference.Config()
            >>> config.set_params_file("model.pdiparams")
            >>> config.params_file()
            'model.pdiparams'
        """
        self._params = os.fspath(path)

    def model_dir(self):
        """The folder or prefix of the model; empty where files were given.

        Returns:
            str: empty where files were given.

        Example:
            >>> argosy.inference.Config().model_dir()
            ''
        """
        return "" if self._two_files else self._path

    def prog_file(self):
        """The file of the Program; empty where a folder or prefix was given.

        Returns:
            str: empty where a folder or prefix was given.

        Example:
            >>> argosy.inference.Config().prog_file()
            ''
        """
        return self._path if self._two_files else ""

    def params_file(self):
        """The file of the weights, or an empty text.

        Returns:
            str: empty where none was given.

        Example:
            >>> argosy.inference.Config().params_file()
            ''
        """
        return self._params

    def model_from_memory(self):
        """Whether set_model_buffer was called.

        Returns:
            bool: False for files.

        Example:
            >>> argosy.inference.Config().model_from_memory()
            False
        """
        return bool(self._program_bytes)

    # --- how it runs ---

    def set_cpu_math_library_num_threads(self, number):
        """Sets the threads of the process that compute; all predictors share them.

        Raises:
            ValueError: less than 1.

        Args:
            number (int): At least 1.

        Example:
            >>> config = argosy.inference.Config()
            >>> config.set_cpu_math_library_num_threads(2)
            >>> config.cpu_math_library_num_threads()
            2
        """
        need_type("set_cpu_math_library_num_threads", "number", number, int, "pass a count")
        if number < 1:
            raise ValueError(
                f"[set_cpu_math_library_num_threads] expected 1 or more, got {number}. Do this: pass a"
                " count of threads."
            )
        self._threads, self._threads_set = number, True

    def cpu_math_library_num_threads(self):
        """The number of threads that was set; 1 before.

        Returns:
            int: 1 before it is set.

        Example:
            >>> argosy.inference.Config().cpu_math_library_num_threads()
            1
        """
        return self._threads

    def switch_ir_optim(self, x=True):
        """Whether passes may compute in another order and pack weights (they do by default). Without,
        results are those of the Program bit for bit.

        Args:
            x (bool): Whether they may.

        Example:
            >>> config = argosy.inference.Config()
            >>> config.switch_ir_optim(False)
            >>> config.ir_optim()
            False
        """
        self._optimize = bool(x)

    def ir_optim(self):
        """What switch_ir_optim said.

        Returns:
            bool: True unless switched off.

        Example:
            >>> argosy.inference.Config().ir_optim()
            True
        """
        return self._optimize

    def set_optimization_level(self, opt_level=2):
        """0: as switch_ir_optim(False); more: as switch_ir_optim(True).

        Args:
            opt_level (int): From 0 on.

        Example:
            >>> config = argosy.inference.Config()
            >>> config.set_optimization_level(0)
            >>> config.ir_optim()
            False
        """
        self._optimize = opt_level > 0

    def delete_pass(self, name):
        """Leaves a pass out. A name that is none here has no effect, as no such pass runs.

        Args:
            name (str): Of the list in docs/passes.md.

        Example:
            >>> config = argosy.inference.Config()
            >>> config.delete_pass("cse")
            >>> "cse" in config.pass_builder().all_passes()
            False
        """
        if any(row["name"] == name for row in _core.passes_list()):
            self._without.append(name)
        else:
            no_effect("Config.delete_pass", "there is no such pass here", **{name: (True, False)})

    def pass_builder(self):
        """The list of passes.

        Returns:
            object: with all_passes() and delete_pass(name).

        Example:
            >>> "cse" in argosy.inference.Config().pass_builder().all_passes()
            True
        """
        return _PassBuilder(self)

    def enable_custom_passes(self, passes=(), custom_pass_only=False):
        """Not supported: raises NotImplementedError where passes are given.

        Args:
            passes (list[str]): Names.
            custom_pass_only (bool): Whether others are left out.

        Raises:
            NotImplementedError: passes are given.

        Example:
            >>> argosy.inference.Config().enable_custom_passes()
        """
        unsupported(
            "enable_custom_passes", "run passes.rewrite on the Program and save that",
            passes=(list(passes), []), custom_pass_only=(custom_pass_only, False),
        )  # fmt: skip

    def set_mkldnn_cache_capacity(self, capacity=0):
        """For how many different shapes of inputs plans are kept; 0: 32.

        Args:
            capacity (int): A count.

        Example:
            >>> argosy.inference.Config().set_mkldnn_cache_capacity(4)
        """
        self._plans = capacity or 32

    set_onednn_cache_capacity = set_mkldnn_cache_capacity

    def set_run_time_limit(self, seconds):
        """How long a run may take: one that takes longer raises TimeoutError.

        It is looked at between the steps of a run, and in every round of its loops.

        Args:
            seconds (float): The limit; 0: none.

        Raises:
            ValueError: it is negative, or no number.

        Example:
            >>> argosy.inference.Config().set_run_time_limit(1.5)
        """
        if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not seconds >= 0:
            raise ValueError(
                f"[Config.set_run_time_limit] expected 0 or more seconds, got {seconds!r}. Do this:"
                " pass a number; 0 is no limit."
            )
        self._time_limit = float(seconds)

    def enable_memory_optim(self, x=True):
        """Memory of runs is always planned: False has no effect.

        Args:
            x (bool): True.

        Example:
            >>> argosy.inference.Config().enable_memory_optim()
        """
        no_effect("enable_memory_optim", _PLANNED, x=(bool(x), True))

    def disable_glog_info(self):
        """Nothing is logged while a model is loaded.

        Example:
            >>> config = argosy.inference.Config()
            >>> config.disable_glog_info()
            >>> config.glog_info_disabled()
            True
        """
        self._log = False

    def glog_info_disabled(self):
        """Whether disable_glog_info was called.

        Returns:
            bool: False before.

        Example:
            >>> argosy.inference.Config().glog_info_disabled()
            False
        """
        return not self._log

    def enable_profile(self):
        """Not supported: raises NotImplementedError.

        Raises:
            NotImplementedError: always.

        Example:
            >>> argosy.inference.Config.enable_profile.__name__
            'enable_profile'
        """
        unsupported("enable_profile", "run under paddle.profiler.Profiler", enable=(True, False))

    def switch_use_feed_fetch_ops(self, x=True):
        """Inputs and outputs are always handed over by handles: True has no effect.

        Args:
            x (bool): False.

        Example:
            >>> argosy.inference.Config().switch_use_feed_fetch_ops(False)
        """
        no_effect("switch_use_feed_fetch_ops", "handles are used", x=(bool(x), False))

    def use_feed_fetch_ops_enabled(self):
        """False.

        Returns:
            bool: False.

        Example:
            >>> argosy.inference.Config().use_feed_fetch_ops_enabled()
            False
        """
        return False

    def switch_specify_input_names(self, x=True):
        """Inputs are always found by their names: False has no effect.

        Args:
            x (bool): True.

        Example:
            >>> argosy.inference.Config().switch_specify_input_names()
        """
        no_effect("switch_specify_input_names", "handles have names", x=(bool(x), True))

    def specify_input_name(self):
        """True.

        Returns:
            bool: True.

        Example:
            >>> argosy.inference.Config().specify_input_name()
            True
        """
        return True

    def switch_ir_debug(self, x=True, passes=()):
        """Has no effect: `argosy show --passes` prints what passes change.

        Args:
            x (bool): False.
            passes (list[str]): None.

        Example:
            >>> argosy.inference.Config().switch_ir_debug(False)
        """
        no_effect(
            "switch_ir_debug", "argosy show --passes prints what passes change",
            x=(bool(x), False), passes=(list(passes), []),
        )  # fmt: skip

    def enable_new_executor(self, x=True):
        """There is one executor: False has no effect.

        Args:
            x (bool): True.

        Example:
            >>> argosy.inference.Config().enable_new_executor()
        """
        no_effect("enable_new_executor", "there is one executor", x=(bool(x), True))

    def enable_new_ir(self, x=True):
        """There is one form of Programs: False has no effect.

        Args:
            x (bool): True.

        Example:
            >>> argosy.inference.Config().enable_new_ir()
        """
        no_effect("enable_new_ir", "there is one form of Programs", x=(bool(x), True))

    def new_ir_enabled(self):
        """True.

        Returns:
            bool: True.

        Example:
            >>> argosy.inference.Config().new_ir_enabled()
            True
        """
        return True

    def set_optim_cache_dir(self, path):
        """Has no effect: what passes make is not kept on disk.

        Args:
            path (str): Empty.

        Example:
            >>> argosy.inference.Config().set_optim_cache_dir("")
        """
        no_effect("set_optim_cache_dir", "what passes make is not kept on disk", path=(path, ""))

    def enable_save_optim_model(self, save_optimized_model=False):
        """Not supported where True: packed weights are for one machine.

        Args:
            save_optimized_model (bool): False.

        Raises:
            NotImplementedError: it is True.

        Example:
            >>> argosy.inference.Config().enable_save_optim_model()
        """
        unsupported(
            "enable_save_optim_model", "load the model as it is",
            save_optimized_model=(save_optimized_model, False),
        )  # fmt: skip

    def use_optimized_model(self, x=True):
        """Not supported where True.

        Args:
            x (bool): False.

        Raises:
            NotImplementedError: it is True.

        Example:
            >>> argosy.inference.Config().use_optimized_model(False)
        """
        unsupported("use_optimized_model", "load the model as it is", x=(bool(x), False))

    # --- oneDNN ---

    def enable_mkldnn(self):
        """oneDNN is used where it is the fastest, with or without this.

        Example:
            >>> argosy.inference.Config().enable_mkldnn()
        """

    enable_onednn = enable_mkldnn

    def disable_mkldnn(self):
        """Has no effect.

        Example:
            >>> argosy.inference.Config.disable_mkldnn.__name__
            'disable_mkldnn'
        """
        no_effect("Config.disable_mkldnn", _ONEDNN, disable=(True, False))

    disable_onednn = disable_mkldnn

    def disable_mkldnn_fc_passes(self):
        """Leaves out the pass pack_products.

        Example:
            >>> argosy.inference.Config().disable_mkldnn_fc_passes()
        """
        self.delete_pass("pack_products")

    disable_onednn_fc_passes = disable_mkldnn_fc_passes

    def mkldnn_enabled(self):
        """True.

        Returns:
            bool: True.

        Example:
            >>> argosy.inference.Config().mkldnn_enabled()
            True
        """
        return True

    onednn_enabled = mkldnn_enabled

    def set_mkldnn_op(self, ops):
        """Has no effect: kernels are chosen by their speed.

        Args:
            ops (set[str]): Empty.

        Example:
            >>> argosy.inference.Config().set_mkldnn_op(set())
        """
        no_effect(
            "Config.set_mkldnn_op", "kernels are chosen by their speed", ops=(set(ops), set())
        )

    set_onednn_op = set_mkldnn_op

    def enable_mkldnn_bfloat16(self):
        """Not supported: raises NotImplementedError.

        Raises:
            NotImplementedError: always.

        Example:
            >>> argosy.inference.Config.enable_mkldnn_bfloat16.__name__
            'enable_mkldnn_bfloat16'
        """
        unsupported(
            "enable_mkldnn_bfloat16", "use convert_to_mixed_precision", enable=(True, False)
        )

    enable_onednn_bfloat16 = enable_mkldnn_bfloat16

    def set_bfloat16_op(self, ops):
        """Not supported: raises NotImplementedError where ops are given.

        Args:
            ops (set[str]): Empty.

        Raises:
            NotImplementedError: ops are given.

        Example:
            >>> argosy.inference.Config().set_bfloat16_op(set())
        """
        unsupported("set_bfloat16_op", "use convert_to_mixed_precision", ops=(set(ops), set()))

    def enable_mkldnn_int8(self, mkldnn_int8_enabled_op_types=()):
        """Not supported: raises NotImplementedError.

        Args:
            mkldnn_int8_enabled_op_types (set[str]): Names of ops.

        Raises:
            NotImplementedError: always.

        Example:
            >>> argosy.inference.Config.enable_mkldnn_int8.__name__
            'enable_mkldnn_int8'
        """
        unsupported(
            "enable_mkldnn_int8", "run the model in float32",
            mkldnn_int8_enabled_op_types=(set(mkldnn_int8_enabled_op_types) or "all", None),
        )  # fmt: skip

    enable_onednn_int8 = enable_mkldnn_int8

    def mkldnn_int8_enabled(self):
        """False.

        Returns:
            bool: False.

        Example:
            >>> argosy.inference.Config().mkldnn_int8_enabled()
            False
        """
        return False

    onednn_int8_enabled = mkldnn_int8_enabled

    def enable_low_precision_io(self, x=True):
        """Not supported where True.

        Args:
            x (bool): False.

        Raises:
            NotImplementedError: it is True.

        Example:
            >>> argosy.inference.Config().enable_low_precision_io(False)
        """
        unsupported("enable_low_precision_io", "feed float32", x=(bool(x), False))

    # --- looking at it ---

    def to_native_config(self):
        """Not supported: raises NotImplementedError.

        Raises:
            NotImplementedError: always.

        Example:
            >>> argosy.inference.Config.to_native_config.__name__
            'to_native_config'
        """
        unsupported("to_native_config", "use this Config", convert=(True, False))

    def summary(self):
        """A table of the settings.

        Returns:
            str: Its lines.

        Example:
            >>> "cpu_math_thread" in argosy.inference.Config().summary()
            True
        """
        rows = [
            ("model_file", self._path or ("(memory)" if self._program_bytes else "")),
            ("params_file", self._params),
            ("cpu_math_thread", self._threads),
            ("ir_optim", str(self._optimize).lower()),
            ("deleted_passes", ", ".join(self._without)),
            ("kept_shapes", self._plans),
            ("use_gpu", str(self.use_gpu()).lower()),
            ("device", f"{self._device}:{self._device_index}" if self._device != "cpu" else "cpu"),
            ("precision", self._precision.name),
            ("use_xpu", "false"),
            ("enable_log", str(self._log).lower()),
        ]
        width = max(len(str(value)) for _, value in [*rows, ("", "Value")])
        line = f"+-----------------+-{'-' * width}-+"
        body = [f"| {name:<15} | {value!s:<{width}} |" for name, value in rows]
        return "\n".join(
            ["", line, f"| {'Option':<15} | {'Value':<{width}} |", line, *body, line, ""]
        )

    def _options(self):
        """As infer_load takes them."""
        return {
            "optimize": self._optimize,
            "without": self._without,
            "plans": self._plans,
            "memory_limit": self._memory_limit,
            "time_limit": self._time_limit,
            **self._device_options(),
        }
