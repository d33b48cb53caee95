"""Short names of DistributedStrategy.fleet_desc_configs, and what they set in a table's message."""

__all__ = ["fill_click_table"]

_ACCESSORS = {
    "DownpourSparseValueAccessor": "CtrCommonAccessor",
    "DownpourCtrAccessor": "CtrCommonAccessor",
    "DownpourCtrDoubleAccessor": "CtrDoubleAccessor",
    "DownpourUnitAccessor": "CtrCommonAccessor",
    "DownpourDoubleUnitAccessor": "CtrDoubleAccessor",
    "DownpourCtrDymfAccessor": "CtrDymfAccessor",
}
# Accessors whose two parts of a row are told apart: embed_sparse_.. and embedx_sparse_..
_PARTS = ("DownpourUnitAccessor", "DownpourDoubleUnitAccessor", "DownpourCtrDymfAccessor")
_TABLES = {
    "DownpourSparseTable": "MemorySparseTable",
    "DownpourSparseSSDTable": "SSDSparseTable",
}
# name -> class, message field
_OPTIMIZERS = {
    "naive": ("SparseNaiveSGDRule", "naive"),
    "adagrad": ("SparseAdaGradSGDRule", "adagrad"),
    "adagrad_v2": ("SparseAdaGradV2SGDRule", "adagrad"),
    "std_adagrad": ("StdAdaGradSGDRule", "adagrad"),
    "adam": ("SparseAdamSGDRule", "adam"),
    "shared_adam": ("SparseSharedAdamSGDRule", "adam"),
}
_CLICK = """
nonclk_coeff click_coeff base_threshold delta_threshold delta_keep_days show_click_decay_rate
delete_threshold delete_after_unseen_days ssd_unseenday_threshold load_filter_slots
save_filter_slots
""".split()
_OPTIMIZER_NAMES = """
sparse_optimizer sparse_learning_rate sparse_weight_bounds sparse_initial_range
sparse_initial_g2sum sparse_beta1_decay_rate sparse_beta2_decay_rate sparse_ada_epsilon
""".split()
_NAMES = set(
    """
    sparse_table_class sparse_compress_in_save sparse_shard_num sparse_accessor_class
    sparse_fea_dim sparse_embedx_dim sparse_embedx_threshold sparse_converter sparse_deconverter
    sparse_enable_cache sparse_cache_rate sparse_cache_file_num sparse_zero_init
    feature_learning_rate nodeid_slot use_gpu_graph
    """.split()
)
_NAMES.update(f"sparse_{name}" for name in _CLICK)
_NAMES.update(_OPTIMIZER_NAMES)
_NAMES.update(
    prefix + name
    for prefix in ("embed_", "embedx_")
    for name in _OPTIMIZER_NAMES
    if name != "sparse_ada_epsilon"
)


def fill_click_table(table, config):
    """Sets the message TableParameter from short names; names left out have Paddle's defaults.

    Raises ValueError for a name that does not exist, TypeError for a value of the wrong type.
    """
    for name in config:
        if name not in _NAMES:
            raise ValueError(
                f"strategy key '{name}' not support; there are {', '.join(sorted(_NAMES))} "
                "([DistributedStrategy] fleet_desc_configs)"
            )
    table_class = config.get("sparse_table_class", "DownpourSparseTable")
    if table_class not in _TABLES:
        raise ValueError(
            f"support sparse_table_class: [{', '.join(_TABLES)}], but actual {table_class}"
        )
    table.table_class = _TABLES[table_class]
    table.shard_num = config.get("sparse_shard_num", 1000)
    table.enable_sparse_table_cache = config.get("sparse_enable_cache", True)
    table.sparse_table_cache_rate = config.get("sparse_cache_rate", 0.00055)
    table.sparse_table_cache_file_num = config.get("sparse_cache_file_num", 16)
    table.use_gpu_graph = bool(config.get("use_gpu_graph", False))
    if config.get("sparse_compress_in_save"):
        table.compress_in_save = True

    accessor_class = config.get("sparse_accessor_class", "DownpourCtrAccessor")
    if accessor_class not in _ACCESSORS:
        raise ValueError(
            f"support sparse_accessor_class: {list(_ACCESSORS)}, but actual {accessor_class}"
        )
    accessor = table.accessor
    accessor.accessor_class = _ACCESSORS[accessor_class]
    accessor.embedx_dim = config.get("sparse_embedx_dim", 8)
    accessor.fea_dim = accessor.embedx_dim + 3
    accessor.embedx_threshold = config.get("sparse_embedx_threshold", 10)
    click = accessor.ctr_accessor_param
    for name in _CLICK:
        if f"sparse_{name}" in config:
            setattr(click, name, config[f"sparse_{name}"])
        elif not name.endswith("_slots"):
            setattr(click, name, getattr(click, name))
    click.show_scale = accessor_class != "DownpourUnitAccessor"
    click.zero_init = bool(config.get("sparse_zero_init", not table.use_gpu_graph))
    for param in (1, 2):
        accessor.table_accessor_save_param.add(
            param=param,
            converter=config.get("sparse_converter", ""),
            deconverter=config.get("sparse_deconverter", ""),
        )
    graph = accessor.graph_sgd_param
    graph.nodeid_slot = config.get("nodeid_slot", 9008)
    graph.feature_learning_rate = config.get("feature_learning_rate", 0.05)

    # The one weight of a click row starts at 0 with Adagrad unless the accessor is a Ctr one.
    zero = accessor_class not in ("DownpourCtrAccessor", "DownpourCtrDoubleAccessor")
    parts = accessor_class in _PARTS
    _fill_optimizer(accessor.embed_sgd_param, config, "embed_" if parts else "", zero)
    _fill_optimizer(accessor.embedx_sgd_param, config, "embedx_" if parts else "", False)


def _fill_optimizer(rule, config, prefix, zero):
    name = config.get(prefix + "sparse_optimizer", "adagrad")
    rule.name, field = _OPTIMIZERS.get(name, (name, None))
    if field is None:
        return  # an optimizer of the server's own

    def setting(key, default):
        return config.get(f"{prefix}sparse_{key}", default)

    values = getattr(rule, field)
    values.learning_rate = setting("learning_rate", 0.001 if field == "adam" else 0.05)
    values.initial_range = setting("initial_range", 1e-4)
    values.weight_bounds = setting("weight_bounds", [-10.0, 10.0])
    if field == "adagrad":
        values.initial_g2sum = setting("initial_g2sum", 3.0)
        if zero:
            values.initial_range = 0.0
    if field == "adam":
        values.beta1_decay_rate = setting("beta1_decay_rate", 0.9)
        values.beta2_decay_rate = setting("beta2_decay_rate", 0.999)
        values.ada_epsilon = setting("ada_epsilon", 1e-8)
