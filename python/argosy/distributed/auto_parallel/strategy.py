"""What a Strategy holds."""

from __future__ import annotations

import copy

# Category -> its fields and their defaults. "base" are the fields of the Strategy itself.
_DEFAULTS = {
    "base": {
        "auto_mode": "semi", "gradient_scale": True, "gradient_scale_using_allreduce_avg": False,
        "use_cache": True, "return_numpy": True, "all_ranks": False, "split_data": True, "seed": None,
        "reinit": False,
    },
    "recompute": {
        "enable": False, "checkpoints": [], "no_recompute_segments": [], "sr": 0,
        "refined_ops_patterns": [], "enable_tuning": False,
    },
    "amp": {
        "enable": False, "dtype": "float16", "level": "o1", "init_loss_scaling": 32768.0,
        "incr_every_n_steps": 1000, "decr_every_n_nan_or_inf": 2, "incr_ratio": 2.0, "decr_ratio": 0.8,
        "use_dynamic_loss_scaling": True, "custom_white_list": [], "custom_black_list": [],
        "custom_black_varnames": [], "use_fp16_guard": False, "use_bf16_guard": False,
        "use_master_grad": False, "use_promote": True,
    },
    "sharding": {
        "enable": False, "stage": 1, "degree": 8, "enable_overlap": False, "param_comm_stream_num": 1,
        "grad_comm_stream_num": 1, "param_bucket_size_numel": 1, "grad_bucket_size_numel": 1,
        "enable_hierarchical_comm": False, "partition_algor": "greedy_even", "enable_tuning": False,
        "tuning_range": [], "release_gradients": False, "comm_buffer_size_MB": 256,
        "enable_tensor_fusion": False, "save_unbalanced_param": True,
    },
    "gradient_merge": {"enable": False, "k_steps": 1, "avg": True},
    "pipeline": {
        "enable": False, "schedule_mode": "1F1B", "pp_degree": 1, "vpp_degree": 1, "vpp_seg_method": "",
        "micro_batch_size": 1, "accumulate_steps": 1, "generation_batch_size": 1,
        "enable_send_recv_overlap": False, "job_schedule_profiler_start": -1,
        "job_schedule_profiler_stop": -1, "program_runtimes": [61, 72, 71, 34, 3],
        "memory_limit_times": -1, "split_backward": False, "auto_parallel_sync_shared_params": False,
    },
    "qat": {
        "enable": False, "channel_wise_abs_max": True, "weight_bits": 8, "activation_bits": 8,
        "not_quant_pattern": ["skip_quant"], "algo": None, "onnx_format": True,
    },
    "tuning": {
        "enable": False, "profile_start_step": 1, "profile_end_step": 1, "run_after_tuning": True,
        "debug": False,
    },
    "dataset": {"enable": False, "num_shards": 1},
    "fused_linear_promotion": {"enable": False},
    "fused_passes": {
        "enable": False, "fused_passes_list": [], "gemm_epilogue": False, "dropout_add": False,
    },
    "dp_optimization": {
        "enable": False, "fuse_all_reduce_ops": True, "fuse_grad_size_in_MB": 32,
        "overlap_comm_cacl": True, "gradient_sync_after_accumulate": False,
    },
    "mp_optimization": {
        "allreduce_matmul_grad_overlapping": False, "replace_with_c_embedding": False,
        "replace_with_parallel_cross_entropy": False,
    },
    "sp_optimization": {"enable": True},
}  # fmt: skip


class BaseConfig:
    """Fields of a category, as attributes.

    Args:
        category (str): its name.
        config_dict (dict, optional): values that are not the defaults; other keys are left alone.

    Raises:
        ValueError: ``config_dict`` is no dict.
    """

    def __init__(self, category, config_dict=None):
        if config_dict is not None and not isinstance(config_dict, dict):
            raise ValueError(
                f"[Strategy] {category}: expected a dict, got {type(config_dict).__name__}. Do this:"
                " pass {'enable': True} and the like."
            )
        self._category = category
        self.__dict__.update(copy.deepcopy(_DEFAULTS[category]))
        self.from_dict(config_dict or {})

    def from_dict(self, config_dict):
        """Takes the fields that a dict has.

        Args:
            config_dict (dict): values by name.
        """
        known = _DEFAULTS[self._category]
        self.__dict__.update({k: v for k, v in config_dict.items() if k in known})

    def to_dict(self):
        """All fields.

        Returns:
            dict: values by name, categories as dicts.
        """
        own = {field: getattr(self, field) for field in _DEFAULTS[self._category]}
        inner = {k: v.to_dict() for k, v in self.__dict__.items() if isinstance(v, BaseConfig)}
        return own | inner

    def get(self, k, d=None):
        """The value of a field.

        Args:
            k (str): its name.
            d (optional): what unknown names give.

        Returns:
            The value.
        """
        return self.to_dict().get(k, d)

    def __repr__(self):
        return "{" + "".join(f'"{k}":"{v}",' for k, v in self.to_dict().items()) + "}"


class Strategy(BaseConfig):
    """How a model is trained as a whole: what ``to_static`` and ``Engine`` are given.

    Categories are attributes: ``amp``, ``gradient_merge``, ``sharding``, ``pipeline``, ``recompute``,
    ``fused_passes`` and others, each with a field ``enable``.

    Args:
        config (dict, optional): by category the fields that are not the defaults.

    Raises:
        ValueError: ``config`` is no dict.

    Examples:
        >>> strategy = argosy.distributed.Strategy({"gradient_merge": {"enable": True, "k_steps": 4}})
        >>> strategy.gradient_merge.k_steps, strategy.amp.enable
        (4, False)
        >>> strategy.amp.enable = True
        >>> strategy.gradient_merge.from_dict({"k_steps": 8})
        >>> strategy.to_dict()["gradient_merge"]["k_steps"], strategy.get("seed", 3)
        (8, None)
    """

    def __init__(self, config=None):
        super().__init__("base", config)
        config = copy.deepcopy(config or {})
        for category in _DEFAULTS:
            if category != "base":
                setattr(self, category, BaseConfig(category, config.get(category)))
        self.full_graph = config.get("full_graph", True)
