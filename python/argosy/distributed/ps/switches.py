"""What a strategy asks of the parameter server that it does not do, said by name."""

import logging

__all__ = ["SWITCHES", "check_strategy", "check_table", "use_d2sum"]

_logger = logging.getLogger("argosy.fleet")

# Switches that change what is computed. Settings that only say how fast, or how many threads and
# pieces are used, have no effect on results, and are taken as they are.
SWITCHES = """
amp asp qat recompute localsgd adaptive_localsgd dgc gradient_merge lars lamb pipeline tensor_parallel
sharding elastic auto semi_auto auto_search heter_ccl_mode is_fl_ps_mode with_coordinator fp16_allreduce
sync_batch_norm
""".split()
_ASYNC = ("use_ps_gpu", "use_gpu_graph", "heter_worker_device_guard", "lr_decay_steps")
_TABLE = ("compress_in_save", "enable_revert", "shard_merge_rate", "use_gpu_graph")
_CLASSES = ("", "MemorySparseTable", "SSDSparseTable")


def _refuse(name, value, instead):
    raise NotImplementedError(
        f"[parameter_server] {name} is {value!r}, which the parameter server does not do. Do this: "
        f"{instead}."
    )


def _other_than_default(message, names, prefix):
    for name in names:
        value = getattr(message, name)
        if value != message._field(name).default:
            _refuse(prefix + name, value, "leave it out")


def check_strategy(strategy):
    """Raises NotImplementedError for a switch of DistributedStrategy that would be ignored."""
    message = strategy.strategy
    for name in SWITCHES:
        if getattr(message, name):
            _refuse(f"strategy.{name}", True, "leave it out; collective training has it")
    _other_than_default(message.a_sync_configs, _ASYNC, "strategy.a_sync_configs: ")
    if message.fs_client_param.uri:
        name = "strategy.fs_client_param: uri"
        _refuse(name, message.fs_client_param.uri, "save into a folder, and copy it")
    described = message.trainer_desc_configs
    for name in ("trainer", "device_worker", "local_sparse", "remote_sparse"):
        value = getattr(described, name)
        if value:
            _refuse(f"strategy.trainer_desc_configs: {name}", value, "leave it out")


def check_table(message):
    """Raises NotImplementedError for a setting of a table (a message) that would be ignored."""
    path = f"table_parameters.{message.table_name}."
    if message.table_class not in _CLASSES:
        _refuse(path + "table_class", message.table_class, f"use one of {', '.join(_CLASSES[1:])}")
    _other_than_default(message, _TABLE, path)
    if message.type != 0:
        _refuse(path + "type", "PS_DENSE_TABLE", "leave it out: these are tables of rows")
    accessor = message.accessor
    for name in ("load_filter_slots", "save_filter_slots"):
        values = list(getattr(accessor.ctr_accessor_param, name))
        if values:
            _refuse(f"{path}accessor.ctr_accessor_param.{name}", values, "leave it out")
    for save in accessor.table_accessor_save_param:
        for name in ("converter", "deconverter"):
            if getattr(save, name):
                what = f"{path}accessor.table_accessor_save_param.{name}"
                _refuse(what, getattr(save, name), "leave it out, and pack the files afterwards")


def use_d2sum(tables, strategy):
    """strategy.adam_d2sum: dense tables of Adam keep a sum of squares, and how many it is of, instead of
    a mean; the moments' rates are those that Paddle's servers have. In geo, where servers add up
    differences, nothing."""
    message = strategy.strategy
    if not message.adam_d2sum or (message.a_sync and message.a_sync_configs.k_steps > 0):
        return
    found = False
    for table in tables:
        rule = table["accessor"]["embedding"] if table["kind"] == "dense" else {"rule": ""}
        if rule["rule"] != "adam":
            continue
        if rule.get("decay") or rule.get("amsgrad"):
            _refuse(
                "strategy.adam_d2sum",
                True,
                "use Adam without weight decay and AMSGrad, or leave it",
            )
        rule.update(rule="adam_d2sum", beta1=0.99, beta2=0.9999, epsilon=1e-8)
        found = True
    if not found:
        _logger.warning(
            "strategy.adam_d2sum changes nothing: no dense parameter is updated by Adam."
        )
