"""DistributedStrategy: everything that fleet.distributed_optimizer can be told."""

import copy
import warnings

from argosy._support import check_choice
from argosy.distributed._groups import ALGORITHMS

from . import _messages
from .table_settings import fill_click_table

__all__ = ["DistributedStrategy"]

# Switches: property -> field where it has another name. A value of another type is ignored with a
# warning, as in Paddle.
_SWITCHES = """
amp asp auto auto_search semi_auto recompute localsgd adaptive_localsgd dgc gradient_merge lars lamb
pipeline tensor_parallel elastic sync_nccl_allreduce use_hierarchical_allreduce sync_batch_norm
fuse_all_reduce_ops cudnn_exhaustive_search cudnn_batchnorm_spatial_persistent fp16_allreduce
sharding find_unused_parameters without_graph_optimization fuse_grad_merge heter_ccl_mode
is_fl_ps_mode qat split_data
""".split()
_RENAMED = {
    "is_with_coordinator": "with_coordinator",
    "_calc_comm_same_stream": "calc_comm_same_stream",
}
_INTEGERS = """
nccl_comm_num hierarchical_allreduce_inter_nranks fuse_grad_size_in_MB fuse_grad_size_in_num
conv_workspace_size_limit
""".split()
# Groups of settings: read and written as dicts.
_GROUPS = """
recompute_configs amp_configs localsgd_configs adaptive_localsgd_configs gradient_merge_configs
dgc_configs lars_configs lamb_configs pipeline_configs sharding_configs tensor_parallel_configs
gradient_scale_configs qat_configs trainer_desc_configs
""".split()

_DOCS = {
    "a_sync_configs": "How: k_steps 0 pushes gradients of every step, k > 0 trains k steps locally "
    "and exchanges differences (geo), -1 is undecided; send_queue_size pushes may wait, "
    "max_merge_var_num of them are merged into one; lr_decay_steps.",
    "trainer_desc_configs": "What train_from_dataset dumps: dump_fields of each sample and "
    "dump_param into dump_fields_path, stat_var_names to be summed.",
    "amp": "Whether the program computes in half precision where that is safe.",
    "recompute": "Whether activations between the checkpoints are computed again for gradients.",
    "gradient_merge": "Whether gradients of k_steps steps are merged before each update.",
    "adam_d2sum": "Whether servers update dense parameters of Adam by the rule adam_d2sum "
    "(docs/parameter_server.md); geo has none there.",
}


def _switch(name, field, strict):
    def get(self):
        return getattr(self.strategy, field)

    def put(self, flag):
        if isinstance(flag, bool):
            setattr(self.strategy, field, flag)
        elif strict:
            raise ValueError(
                f"The type of `flag` is invalid, expected type is bool, but received {type(flag)}"
                f" ([DistributedStrategy] {name})."
            )
        else:
            _ignored(name, flag, "True or False")

    return property(get, put, doc=_DOCS.get(name, f"The switch {name.strip('_')} (a bool)."))


def _ignored(name, value, expected):
    warnings.warn(
        f"[DistributedStrategy] {name} keeps its value: expected {expected}, got {value!r} "
        f"({type(value).__name__}).",
        stacklevel=3,
    )


def _number(name, field, kind):
    def get(self):
        return getattr(self.strategy, field)

    def put(self, value):
        if isinstance(value, kind):
            setattr(self.strategy, field, value)
        else:
            _ignored(name, value, kind.__name__)

    return property(get, put, doc=f"The number {name.strip('_')} ({kind.__name__}).")


def _read_group(message):
    out = {}
    for name, field in _messages.fields(message.type_name).items():
        value = getattr(message, name)
        if field.repeated:
            value = [_read_group(v) if field.is_message else v for v in value]
        out[name] = value
    return out


def _check_names(names, type_name, group):
    known = _messages.fields(type_name)
    for name in names:
        if name not in known:
            raise AssertionError(
                f"key:{name} not in {group}; there are {', '.join(known)} ([DistributedStrategy])"
            )


def _write_group(message, values, group):
    if not hasattr(values, "items"):
        raise TypeError(
            f"[DistributedStrategy] {group}: expected a dict, got {type(values).__name__}."
        )
    _check_names(values, message.type_name, group)
    changed = copy.deepcopy(message)  # all or nothing
    for name, value in values.items():
        field = _messages.fields(message.type_name)[name]
        if field.is_message and not field.repeated and isinstance(value, dict):
            child = getattr(changed, name)
            _write_group(child, value, f"{group}.{name}")
        else:
            setattr(changed, name, value)
    message.copy_from(changed)


def _group(name):
    def get(self):
        return _read_group(getattr(self.strategy, name))

    def put(self, configs):
        _write_group(getattr(self.strategy, name), configs, name)

    return property(
        get, put, doc=_DOCS.get(name, f"The settings {name}: a dict; only names given are changed.")
    )


class DistributedStrategy:
    """Everything that fleet.distributed_optimizer can be told, as properties.

    A switch is a bool; a group of settings (`.._configs`) is a dict: assigning a dict changes the
    names it has, reading gives all. Unknown names are errors. Defaults are Paddle's.

    For the parameter server: a_sync, a_sync_configs (modes), sparse_table_configs and
    fleet_desc_configs (accessors and optimizers of tables), trainer_desc_configs, fs_client_param.
    The settings of collective training are kept and saved, and take effect where the pass exists.

    Example:
        >>> strategy = argosy.distributed.fleet.DistributedStrategy()
        >>> strategy.a_sync = True
        >>> strategy.a_sync_configs = {"k_steps": 10}
        >>> strategy.a_sync_configs["k_steps"]
        10
    """

    def __init__(self):
        d = self.__dict__
        d["strategy"] = _messages.Message("DistributedStrategy")
        d["hybrid_parallel_order"] = ["dp", "pp", "sharding", "sep", "cp", "mp"]
        d["_build_strategy"] = None
        d["_execution_strategy"] = None
        d["_communication_hook"] = None
        d["_communication_algorithm"] = None
        # Whether the program chose a_sync itself.
        d["_a_sync_chosen"] = False

    def __setattr__(self, name, value):
        if not isinstance(getattr(type(self), name, None), property):
            raise TypeError(
                f"{name} is not a attribute of DistributedStrategy. Do this: look the name up in "
                "dir(fleet.DistributedStrategy)."
            )
        object.__setattr__(self, name, value)

    @property
    def a_sync(self):
        """Whether workers and servers exchange without waiting for each other; else every step
        waits for all workers. Setting it sets a_sync_configs' k_steps to 0."""
        return self.strategy.a_sync

    @a_sync.setter
    def a_sync(self, flag):
        if not isinstance(flag, bool):
            raise ValueError(
                f"The type of `flag` is invalid, expected type is bool, but received {type(flag)}"
                " ([DistributedStrategy] a_sync)."
            )
        self.strategy.a_sync = flag
        self.__dict__["_a_sync_chosen"] = True
        self.a_sync_configs = {"k_steps": 0}

    @property
    def last_comm_group_size_MB(self):
        """Size of the last group of gradients that are reduced together, in MB (> 0)."""
        return self.strategy.last_comm_group_size_MB

    @last_comm_group_size_MB.setter
    def last_comm_group_size_MB(self, value):
        if not value > 0:
            raise ValueError(
                f"last_comm_group_size_MB should be greater than 0, got {value} "
                "([DistributedStrategy])."
            )
        self.strategy.last_comm_group_size_MB = value

    @property
    def hybrid_configs(self):
        """Degrees of parallelism in several ways at once, a dict; `order` sets their nesting."""
        return _read_group(self.strategy.hybrid_configs)

    @hybrid_configs.setter
    def hybrid_configs(self, configs):
        configs = dict(configs)
        order = configs.pop("order", None)
        _write_group(self.strategy.hybrid_configs, configs, "hybrid_configs")
        if order is not None:
            self.__dict__["hybrid_parallel_order"] = list(order)

    @property
    def communication_hook(self):
        """How DataParallel exchanges a bucket of gradients, see DataParallel.register_comm_hook: a function,
        "module:function", or None for the mean. It is in no saved file."""
        return self._communication_hook

    @communication_hook.setter
    def communication_hook(self, hook):
        named = isinstance(hook, str) and all(hook.partition(":"))
        if not (hook is None or callable(hook) or named):
            raise TypeError(
                "[DistributedStrategy] communication_hook: expected a function, 'module:function' or None,"
                f" got {hook!r}."
            )
        self.__dict__["_communication_hook"] = hook

    @property
    def communication_algorithm(self):
        """How the sums of gradients go between hosts: automatic, direct, shares, ring, doubling, halving or
        tree, see distributed.new_group; None as all others do. It is in no saved file."""
        return self._communication_algorithm

    @communication_algorithm.setter
    def communication_algorithm(self, algorithm):
        if algorithm is not None:
            check_choice("DistributedStrategy", "communication_algorithm", algorithm, ALGORITHMS)
        self.__dict__["_communication_algorithm"] = algorithm

    @property
    def sparse_table_configs(self):
        """Tables of sparse parameters: a list of messages.

        Assign {parameter name: {"table_parameters.<name>.accessor.embedx_dim": 8, ..}}: each key
        is the path of a field; a repeated message's number is given as `<path>.num` and the fields
        of its elements as lists.
        """
        return self.strategy.downpour_table_param

    @sparse_table_configs.setter
    def sparse_table_configs(self, configs):
        if not configs:
            warnings.warn(
                "[DistributedStrategy] sparse_table_configs: an empty dict changes nothing."
            )
            return
        for name, values in configs.items():
            if not isinstance(values, dict):
                raise TypeError(
                    f"[DistributedStrategy] sparse_table_configs[{name!r}]: expected a dict of fields of"
                    f" the table, got {type(values).__name__}. Do this: assign {{parameter name:"
                    ' {"table_parameters.<name>.accessor.embedx_dim": 8, ..}}.'
                )
        for name, values in configs.items():
            table = self.strategy.downpour_table_param.add(table_name=name)
            used = set()
            _set_paths(table, f"table_parameters.{name}", values, 0, used)
            unused = [key for key in values if key not in used]
            if unused:
                warnings.warn(
                    f"[DistributedStrategy] sparse_table_configs[{name!r}]: no field has the path "
                    f"{', '.join(unused)}. Do this: write table_parameters.{name}.<field>."
                    "<field>, or use fleet_desc_configs for short names.",
                    stacklevel=2,
                )

    @property
    def fleet_desc_configs(self):
        """Tables of the click accessor by short names; a list of messages.

        Assign {parameter name: {"sparse_accessor_class": "DownpourCtrAccessor",
        "sparse_optimizer": "adagrad", "sparse_embedx_dim": 8, ..}}. Names left out have defaults.
        """
        return self.strategy.downpour_table_param

    @fleet_desc_configs.setter
    def fleet_desc_configs(self, configs):
        if not configs:
            warnings.warn(
                "[DistributedStrategy] fleet_desc_configs: an empty dict changes nothing."
            )
            return
        for name, values in configs.items():
            table = _messages.Message("TableParameter", {"table_name": name})
            fill_click_table(table, values)
            self.strategy.downpour_table_param.append(table)

    @property
    def fs_client_param(self):
        """The distributed file system: a message with uri, user, passwd, hadoop_bin. Assign a dict."""
        return self.strategy.fs_client_param

    @fs_client_param.setter
    def fs_client_param(self, configs):
        _write_group(self.strategy.fs_client_param, configs, "fs_client_param")

    @property
    def build_strategy(self):
        """How programs are prepared (static.BuildStrategy)."""
        from argosy.static import BuildStrategy

        if self._build_strategy is None:
            strategy = BuildStrategy()
            for name in _messages.fields("BuildStrategy"):
                if name != "reduce_strategy" and hasattr(strategy, name):
                    setattr(strategy, name, getattr(self.strategy.build_strategy, name))
            self.__dict__["_build_strategy"] = strategy
        return self._build_strategy

    @build_strategy.setter
    def build_strategy(self, strategy):
        fields = _messages.fields("BuildStrategy")
        for name, field in fields.items():
            value = getattr(strategy, name)
            if name == "reduce_strategy":
                value = int(getattr(value, "value", value))
            elif field.type == "bool":
                value = bool(value)
            setattr(self.strategy.build_strategy, name, value)
        self.__dict__["_build_strategy"] = strategy

    @property
    def execution_strategy(self):
        """How programs are run (static.ExecutionStrategy)."""
        from argosy.static import ExecutionStrategy

        if self._execution_strategy is None:
            strategy = ExecutionStrategy()
            for name in _messages.fields("ExecutionStrategy"):
                setattr(strategy, name, getattr(self.strategy.execution_strategy, name))
            self.__dict__["_execution_strategy"] = strategy
        return self._execution_strategy

    @execution_strategy.setter
    def execution_strategy(self, strategy):
        for name in _messages.fields("ExecutionStrategy"):
            setattr(self.strategy.execution_strategy, name, getattr(strategy, name))
        self.__dict__["_execution_strategy"] = strategy

    @property
    def _fuse_grad_size_in_TFLOPS(self):
        return self.strategy.fuse_grad_size_in_TFLOPS

    @_fuse_grad_size_in_TFLOPS.setter
    def _fuse_grad_size_in_TFLOPS(self, value):
        if isinstance(value, float):
            self.strategy.fuse_grad_size_in_TFLOPS = value
        else:
            _ignored("fuse_grad_size_in_TFLOPS", value, "float")

    def save_to_prototxt(self, output):
        """Writes what was set into a file, in Protobuf's text format.

        Args:
            output (str): The file.

        Example:
            >>> import tempfile
            >>> strategy = argosy.distributed.fleet.DistributedStrategy()
            >>> strategy.a_sync = True
            >>> with tempfile.NamedTemporaryFile() as file:
            ...     strategy.save_to_prototxt(file.name)
            ...     other = argosy.distributed.fleet.DistributedStrategy()
            ...     other.load_from_prototxt(file.name)
            >>> other.a_sync
            True
        """
        with open(output, "w") as file:
            file.write(str(self.strategy))

    def load_from_prototxt(self, pb_file):
        """Adds what a file says that save_to_prototxt wrote.

        Args:
            pb_file (str): The file.

        Raises:
            ValueError: A line is wrong; the text names it.
        """
        with open(pb_file) as file:
            _messages.parse_text(file.read(), self.strategy)
        self.__dict__.update(_build_strategy=None, _execution_strategy=None)

    def __deepcopy__(self, memo):
        other = DistributedStrategy()
        other.strategy.copy_from(self.strategy)
        other.__dict__["hybrid_parallel_order"] = list(self.hybrid_parallel_order)
        other.__dict__["_a_sync_chosen"] = self._a_sync_chosen
        other.__dict__["_communication_hook"] = self._communication_hook
        other.__dict__["_communication_algorithm"] = self._communication_algorithm
        other.__dict__["_build_strategy"] = self._build_strategy
        other.__dict__["_execution_strategy"] = self._execution_strategy
        return other

    def __repr__(self):
        """The switches that are on with their settings, then the other values."""
        lines = ["DistributedStrategy"]
        groups, rest = [], []
        for name, field in _messages.fields("DistributedStrategy").items():
            value = getattr(self.strategy, name)
            if field.is_message:
                continue
            configs = f"{name}_configs"
            if configs in _messages.fields("DistributedStrategy") and value is True:
                groups.append(f"  {name}=True <-> {configs}")
                for key, setting in _read_group(getattr(self.strategy, configs)).items():
                    groups.append(f"    {key:<40} {setting}")
            elif value != field.default or field.type != "bool":
                rest.append(f"  {name:<42} {value}")
        lines += groups + rest
        for table in self.strategy.downpour_table_param:
            lines.append(f"  table {table.table_name}")
            lines += [f"    {line}" for line in str(table).splitlines()[1:]]
        return "\n".join(lines) + "\n"


def _set_paths(message, path, values, index, used):
    for name, field in _messages.fields(message.type_name).items():
        key = f"{path}.{name}"
        if field.is_message:
            if not field.repeated:
                if any(k.startswith(key + ".") for k in values):
                    _set_paths(getattr(message, name), key, values, index, used)
            elif f"{key}.num" in values:
                used.add(f"{key}.num")
                for i in range(values[f"{key}.num"]):
                    _set_paths(getattr(message, name).add(), key, values, i, used)
        elif key in values:
            used.add(key)
            value = values[key]
            if field.repeated:
                getattr(message, name).extend(value)
            else:
                setattr(message, name, value[index] if isinstance(value, list) else value)


for _name in _SWITCHES:
    setattr(DistributedStrategy, _name, _switch(_name, _name, False))
for _name, _field in _RENAMED.items():
    setattr(DistributedStrategy, _name, _switch(_name, _field, False))
DistributedStrategy.adam_d2sum = _switch("adam_d2sum", "adam_d2sum", True)
for _name in _INTEGERS:
    setattr(DistributedStrategy, _name, _number(_name, _name, int))
for _name in _GROUPS + ["a_sync_configs"]:
    setattr(DistributedStrategy, _name, _group(_name))
del _name, _field
