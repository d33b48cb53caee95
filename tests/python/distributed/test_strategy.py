"""DistributedStrategy: Paddle's defaults, what is accepted, round trips."""

import copy
import pickle

import pytest

import argosy
from argosy.distributed import fleet

# As Paddle 3.3.1 reports them; execution_strategy is of 2.6.2.
_DEFAULTS = {
    "a_sync": True,
    "adam_d2sum": False,
    "adaptive_localsgd": False,
    "amp": False,
    "asp": False,
    "auto": False,
    "auto_search": False,
    "conv_workspace_size_limit": 512,
    "cudnn_batchnorm_spatial_persistent": False,
    "cudnn_exhaustive_search": False,
    "dgc": False,
    "elastic": False,
    "find_unused_parameters": False,
    "fp16_allreduce": False,
    "fuse_all_reduce_ops": True,
    "fuse_grad_merge": False,
    "fuse_grad_size_in_MB": 32,
    "fuse_grad_size_in_num": 8,
    "gradient_merge": False,
    "heter_ccl_mode": False,
    "hierarchical_allreduce_inter_nranks": 1,
    "is_fl_ps_mode": False,
    "is_with_coordinator": False,
    "lamb": False,
    "lars": False,
    "last_comm_group_size_MB": 1.0,
    "localsgd": False,
    "nccl_comm_num": 1,
    "pipeline": False,
    "qat": False,
    "recompute": False,
    "semi_auto": False,
    "sharding": False,
    "split_data": True,
    "sync_batch_norm": False,
    "sync_nccl_allreduce": True,
    "tensor_parallel": False,
    "use_hierarchical_allreduce": False,
    "without_graph_optimization": True,
    "_calc_comm_same_stream": False,
    "_fuse_grad_size_in_TFLOPS": 50.0,
    "a_sync_configs": {
        "k_steps": -1,
        "max_merge_var_num": 1,
        "send_queue_size": 16,
        "independent_recv_thread": False,
        "min_send_grad_num_before_recv": 1,
        "thread_pool_size": 1,
        "send_wait_times": 1,
        "runtime_split_send_recv": False,
        "launch_barrier": True,
        "heter_worker_device_guard": "cpu",
        "lr_decay_steps": 10,
        "use_ps_gpu": 0,
        "use_gpu_graph": 0,
    },
    "trainer_desc_configs": {
        "dump_fields_path": "",
        "dump_fields": [],
        "dump_param": [],
        "stat_var_names": [],
        "trainer": "",
        "device_worker": "",
        "local_sparse": [],
        "remote_sparse": [],
    },
    "amp_configs": {
        "init_loss_scaling": 32768.0,
        "incr_every_n_steps": 1000,
        "decr_every_n_nan_or_inf": 2,
        "incr_ratio": 2.0,
        "decr_ratio": 0.800000011920929,
        "use_dynamic_loss_scaling": True,
        "custom_white_list": [],
        "custom_black_list": [],
        "custom_black_varnames": [],
        "use_pure_fp16": False,
        "use_fp16_guard": True,
        "use_optimizer_fp16": False,
        "use_pure_bf16": False,
    },
    "recompute_configs": {
        "checkpoints": [],
        "enable_offload": False,
        "checkpoint_shape": [],
        "enable_tuning": False,
        "refined_ops_patterns": [],
    },
    "adaptive_localsgd_configs": {"init_k_steps": 1, "begin_step": 1},
    "localsgd_configs": {"k_steps": 1, "begin_step": 1},
    "dgc_configs": {"rampup_begin_step": 0, "rampup_step": 1, "sparsity": []},
    "gradient_merge_configs": {"k_steps": 1, "avg": True},
    "gradient_scale_configs": {"scale_strategy": "avg", "scale_gradient": False},
    "lamb_configs": {"lamb_weight_decay": 0.009999999776482582, "exclude_from_weight_decay": []},
    "lars_configs": {
        "lars_coeff": 0.0010000000474974513,
        "lars_weight_decay": 0.0005000000237487257,
        "epsilon": 0.0,
        "exclude_from_weight_decay": [],
    },
    "pipeline_configs": {
        "micro_batch_size": 1,
        "accumulate_steps": 1,
        "schedule_mode": "1F1B",
        "p2p_cache_shape": True,
        "enable_partial_send_recv": True,
    },
    "tensor_parallel_configs": {"tensor_parallel_degree": 1, "tensor_init_seed": -1},
    "qat_configs": {
        "channel_wise_abs_max": True,
        "weight_bits": 8,
        "activation_bits": 8,
        "not_quant_pattern": [],
        "algo": "",
    },
}


def test_defaults():
    strategy = fleet.DistributedStrategy()
    assert {name: getattr(strategy, name) for name in _DEFAULTS} == _DEFAULTS
    degrees = strategy.hybrid_configs
    assert degrees["dp_degree"] == -1 and degrees["mp_degree"] == 1 and degrees["cp_degree"] == 1
    assert strategy.hybrid_parallel_order == ["dp", "pp", "sharding", "sep", "cp", "mp"]
    assert strategy.sharding_configs["segment_broadcast_MB"] == 32.0
    assert list(strategy.sparse_table_configs) == [] and str(strategy.fs_client_param) == ""


_BOOLS = [name for name, value in _DEFAULTS.items() if isinstance(value, bool)]


@pytest.mark.parametrize("name", _BOOLS)
def test_switches(name):
    strategy = fleet.DistributedStrategy()
    for value in (True, False):
        setattr(strategy, name, value)
        assert getattr(strategy, name) is value
    if name in ("a_sync", "adam_d2sum"):
        with pytest.raises(ValueError, match="expected type is bool"):
            setattr(strategy, name, "True")
    else:
        # Paddle ignores it too; the warning says so.
        with pytest.warns(UserWarning, match=f"{name} keeps its value: expected True or False"):
            setattr(strategy, name, "True")
    assert getattr(strategy, name) is False


def test_numbers():
    strategy = fleet.DistributedStrategy()
    for name in ("nccl_comm_num", "fuse_grad_size_in_MB", "conv_workspace_size_limit"):
        setattr(strategy, name, 7)
        assert getattr(strategy, name) == 7
        with pytest.warns(UserWarning, match="expected int"):
            setattr(strategy, name, "2")
        assert getattr(strategy, name) == 7
    strategy.last_comm_group_size_MB = 2
    assert strategy.last_comm_group_size_MB == 2.0
    with pytest.raises(ValueError, match="greater than 0"):
        strategy.last_comm_group_size_MB = -1


def test_a_sync_sets_k_steps():
    strategy = fleet.DistributedStrategy()
    strategy.a_sync_configs = {"k_steps": 5}
    assert strategy.a_sync_configs["k_steps"] == 5
    assert strategy.a_sync_configs["send_queue_size"] == 16
    for value in (True, False):
        strategy.a_sync_configs = {"k_steps": 5}
        strategy.a_sync = value
        assert strategy.a_sync_configs["k_steps"] == 0


@pytest.mark.parametrize(
    "name, value, error, text",
    [
        ("a_sync_configs", {"k_stepss": 1}, AssertionError, "key:k_stepss not in a_sync_configs"),
        ("a_sync_configs", {"k_steps": "a"}, TypeError, "k_steps: expected an integer, got 'a'"),
        ("a_sync_configs", {"k_steps": 2.0}, TypeError, "expected an integer, got 2.0"),
        ("a_sync_configs", {"k_steps": 2**31}, ValueError, "expected an integer in"),
        ("a_sync_configs", 3, TypeError, "expected a dict, got int"),
        ("lars_configs", {"lars_coeff": "a"}, TypeError, "expected a number"),
        ("pipeline_configs", {"schedule_mode": 3}, TypeError, "expected a string"),
        ("dgc_configs", {"sparsity": 0.5}, TypeError, "expected a list"),
        ("fs_client_param", {"nosuch": 1}, AssertionError, "key:nosuch not in fs_client_param"),
        ("hybrid_configs", {"nosuch": 1}, AssertionError, "key:nosuch not in hybrid_configs"),
        ("no_such", 1, TypeError, "no_such is not a attribute"),
        ("fleet_desc_configs", {"e": {"x": 1}}, ValueError, "strategy key 'x' not support"),
        (
            "fleet_desc_configs",
            {"e": {"sparse_accessor_class": "Foo"}},
            ValueError,
            "DownpourCtrAccessor.*but actual Foo",
        ),
        (
            "fleet_desc_configs",
            {"e": {"sparse_table_class": "Foo"}},
            ValueError,
            "support sparse_table_class",
        ),
    ],
)
def test_wrong_settings(name, value, error, text):
    strategy = fleet.DistributedStrategy()
    before = str(strategy)
    with pytest.raises(error, match=text):
        setattr(strategy, name, value)
    assert str(strategy) == before


def test_groups_change_what_is_named_all_or_nothing():
    strategy = fleet.DistributedStrategy()
    strategy.amp_configs = {"custom_white_list": ["softmax"], "init_loss_scaling": 3}
    configs = strategy.amp_configs
    assert configs["custom_white_list"] == ["softmax"] and configs["init_loss_scaling"] == 3.0
    assert configs["incr_ratio"] == 2.0
    with pytest.raises(TypeError):
        strategy.amp_configs = {"incr_ratio": 4.0, "incr_every_n_steps": "x"}
    assert strategy.amp_configs == configs
    strategy.hybrid_configs = {
        "dp_degree": 2,
        "order": ["dp", "mp"],
        "mp_configs": {"sync_grad": 1},
    }
    assert strategy.hybrid_configs["dp_degree"] == 2
    assert strategy.hybrid_configs["mp_configs"].sync_grad is True
    assert strategy.hybrid_parallel_order == ["dp", "mp"]


def test_sparse_table_configs_by_paths():
    strategy = fleet.DistributedStrategy()
    path = "table_parameters.emb"
    strategy.sparse_table_configs = {
        "emb": {
            f"{path}.table_class": "MemorySparseTable",
            f"{path}.shard_num": 7,
            f"{path}.accessor.embedx_dim": 16,
            f"{path}.accessor.embed_sgd_param.name": "SparseAdaGradSGDRule",
            f"{path}.accessor.embed_sgd_param.adagrad.weight_bounds": [-1.0, 1.0],
            f"{path}.accessor.table_accessor_save_param.num": 2,
            f"{path}.accessor.table_accessor_save_param.param": [1, 2],
            f"{path}.accessor.table_accessor_save_param.converter": ["a", "b"],
        }
    }
    (table,) = strategy.sparse_table_configs
    assert (table.table_name, table.table_class, table.shard_num) == ("emb", "MemorySparseTable", 7)
    assert table.accessor.embedx_dim == 16
    assert table.accessor.embedx_threshold == 10 and table.is_set("accessor")
    assert table.accessor.embed_sgd_param.adagrad.weight_bounds == [-1.0, 1.0]
    saved = table.accessor.table_accessor_save_param
    assert [(one.param, one.converter) for one in saved] == [(1, "a"), (2, "b")]
    with pytest.warns(UserWarning, match="no field has the path sparse_optimizer"):
        strategy.sparse_table_configs = {"other": {"sparse_optimizer": "adam"}}
    with pytest.raises(
        TypeError, match=r"'table_parameters.emb.*expected a dict .*got int. Do this"
    ):
        strategy.sparse_table_configs = {f"{path}.shard_num": 7}


@pytest.mark.parametrize(
    "config, accessor, embed, embedx",
    [
        (
            {},
            "CtrCommonAccessor",
            ("SparseAdaGradSGDRule", "adagrad", 0.05, 1e-4),
            ("SparseAdaGradSGDRule", "adagrad", 0.05, 1e-4),
        ),
        (
            {"sparse_optimizer": "shared_adam", "sparse_learning_rate": 0.5},
            "CtrCommonAccessor",
            ("SparseSharedAdamSGDRule", "adam", 0.5, 1e-4),
            ("SparseSharedAdamSGDRule", "adam", 0.5, 1e-4),
        ),
        # Names of one part of a row mean nothing to an accessor that does not tell them apart.
        (
            {"embed_sparse_optimizer": "adam"},
            "CtrCommonAccessor",
            ("SparseAdaGradSGDRule", "adagrad", 0.05, 1e-4),
            ("SparseAdaGradSGDRule", "adagrad", 0.05, 1e-4),
        ),
        (
            {
                "sparse_accessor_class": "DownpourDoubleUnitAccessor",
                "embed_sparse_optimizer": "std_adagrad",
                "embedx_sparse_optimizer": "adam",
            },
            "CtrDoubleAccessor",
            ("StdAdaGradSGDRule", "adagrad", 0.05, 0.0),
            ("SparseAdamSGDRule", "adam", 0.001, 1e-4),
        ),
        (
            {
                "sparse_accessor_class": "DownpourCtrDymfAccessor",
                "embed_sparse_optimizer": "naive",
                "embedx_sparse_initial_range": 0.5,
            },
            "CtrDymfAccessor",
            ("SparseNaiveSGDRule", "naive", 0.05, 1e-4),
            ("SparseAdaGradSGDRule", "adagrad", 0.05, 0.5),
        ),
        (
            {"sparse_accessor_class": "DownpourSparseValueAccessor"},
            "CtrCommonAccessor",
            ("SparseAdaGradSGDRule", "adagrad", 0.05, 0.0),
            ("SparseAdaGradSGDRule", "adagrad", 0.05, 1e-4),
        ),
    ],
)
def test_fleet_desc_configs(config, accessor, embed, embedx):
    strategy = fleet.DistributedStrategy()
    strategy.fleet_desc_configs = {"emb": config}
    (table,) = strategy.sparse_table_configs
    assert (table.table_name, table.table_class, table.shard_num) == (
        "emb",
        "MemorySparseTable",
        1000,
    )
    assert table.accessor.accessor_class == accessor
    for part, expected in (("embed", embed), ("embedx", embedx)):
        rule = getattr(table.accessor, f"{part}_sgd_param")
        values = getattr(rule, expected[1])
        assert (rule.name, values.learning_rate, values.initial_range) == (
            expected[0],
            expected[2],
            expected[3],
        )
        assert values.weight_bounds == [-10.0, 10.0]


def test_fleet_desc_configs_settings():
    strategy = fleet.DistributedStrategy()
    strategy.fleet_desc_configs = {
        "emb": {
            "sparse_table_class": "DownpourSparseSSDTable",
            "sparse_embedx_dim": 7,
            "sparse_fea_dim": 99,
            "sparse_embedx_threshold": 3,
            "sparse_show_click_decay_rate": 0.5,
            "sparse_load_filter_slots": [3, 4],
            "sparse_weight_bounds": [-2, 2],
        }
    }
    (table,) = strategy.fleet_desc_configs
    accessor = table.accessor
    assert table.table_class == "SSDSparseTable"
    assert (accessor.embedx_dim, accessor.fea_dim, accessor.embedx_threshold) == (7, 10, 3)
    assert accessor.ctr_accessor_param.show_click_decay_rate == 0.5
    assert accessor.ctr_accessor_param.load_filter_slots == [3.0, 4.0]
    assert accessor.embedx_sgd_param.adagrad.weight_bounds == [-2.0, 2.0]


def _changed():
    strategy = fleet.DistributedStrategy()
    strategy.a_sync = True
    strategy.a_sync_configs = {"k_steps": 100, "heter_worker_device_guard": 'q"\\\n'}
    strategy.lars = True
    strategy.amp_configs = {"custom_white_list": ["a", "b"], "decr_ratio": 0.3}
    strategy.fleet_desc_configs = {"emb": {"sparse_optimizer": "adam"}}
    strategy.fs_client_param = {"uri": "hdfs://x", "user": "u"}
    strategy.hybrid_configs = {"pp_configs": {"dp_comm_overlap": True}}
    return strategy


def test_prototxt_round_trip(tmp_path):
    strategy = _changed()
    path = tmp_path / "strategy.prototxt"
    strategy.save_to_prototxt(str(path))
    other = fleet.DistributedStrategy()
    other.load_from_prototxt(str(path))
    assert str(other.strategy) == str(strategy.strategy) and other.lars
    assert other.a_sync_configs == strategy.a_sync_configs
    assert other.amp_configs["decr_ratio"] == strategy.amp_configs["decr_ratio"]
    for again in (copy.deepcopy(strategy).strategy, pickle.loads(pickle.dumps(strategy.strategy))):
        assert again == strategy.strategy


def test_prototxt_is_that_of_paddle(tmp_path):
    """The very text that Paddle 3.3.1 writes for these settings."""
    strategy = fleet.DistributedStrategy()
    strategy.a_sync_configs = {"k_steps": 100}
    strategy.amp_configs = {"custom_white_list": ["a", "b"], "decr_ratio": 0.3}
    strategy.lars = True
    strategy.last_comm_group_size_MB = 2.0
    path = tmp_path / "strategy.prototxt"
    strategy.save_to_prototxt(str(path))
    assert path.read_text() == (
        "lars: true\nlast_comm_group_size_MB: 2\n"
        'amp_configs {\n  decr_ratio: 0.3\n  custom_white_list: "a"\n  custom_white_list: "b"\n}\n'
        "a_sync_configs {\n  k_steps: 100\n}\n"
    )


@pytest.mark.parametrize(
    "text, error",
    [
        ("amp: true\nnosuch: 1\n", "line 2 .*has no field 'nosuch'"),
        ("a_sync_configs {\n  k_steps: x\n}", "line 2 .*'x' is not of type int32"),
        ("a_sync_configs {\n  k_steps: 1\n", "'}' is missing"),
        ("a_sync_configs: 3", "'{' was expected"),
        ('fs_client_param { uri: "x }', "a string does not end"),
    ],
)
def test_a_wrong_prototxt(tmp_path, text, error):
    path = tmp_path / "s"
    path.write_text(text)
    with pytest.raises(ValueError, match=error):
        fleet.DistributedStrategy().load_from_prototxt(str(path))


def test_prototxt_forms(tmp_path):
    path = tmp_path / "s"
    path.write_text(
        "# remark\namp : true mode: PS, a_sync_configs < k_steps: 3 >\n"
        "dgc_configs { sparsity: [0.5, 0.25] rampup_step: 2; }"
    )
    strategy = fleet.DistributedStrategy()
    strategy.load_from_prototxt(str(path))
    assert strategy.amp and strategy.strategy.mode == 2
    assert strategy.a_sync_configs["k_steps"] == 3
    assert strategy.dgc_configs == {
        "rampup_begin_step": 0,
        "rampup_step": 2,
        "sparsity": [0.5, 0.25],
    }


def test_build_and_execution_strategy():
    strategy = fleet.DistributedStrategy()
    assert strategy.build_strategy.fuse_bn_add_act_ops is True
    build = argosy.static.BuildStrategy()
    build.fuse_broadcast_ops = True
    strategy.build_strategy = build
    assert strategy.build_strategy is build and strategy.strategy.build_strategy.fuse_broadcast_ops
    execution = argosy.static.ExecutionStrategy()
    execution.num_threads = 3
    strategy.execution_strategy = execution
    assert strategy.strategy.execution_strategy.num_threads == 3


def test_text_tells_what_is_on():
    text = repr(_changed())
    assert "a_sync=True <-> a_sync_configs" in text and "lars=True <-> lars_configs" in text
    assert "table emb" in text


def test_entries():
    dist = argosy.distributed
    assert dist.CountFilterEntry(10)._to_attr() == "count_filter_entry:10"
    assert dist.ProbabilityEntry(0.5)._to_attr() == "probability_entry:0.5"
    assert dist.ShowClickEntry("a", "b")._to_attr() == "show_click_entry:a:b"
    for make, text in (
        (lambda: dist.CountFilterEntry(-1), "greater or equal than 0"),
        (lambda: dist.CountFilterEntry("a"), "valid integer greater than 0"),
        (lambda: dist.ProbabilityEntry(1), r"float in \(0,1\)"),
        (lambda: dist.ProbabilityEntry(1.5), r"float in \(0,1\)"),
        (lambda: dist.ShowClickEntry(1, "b"), "must be a str"),
    ):
        with pytest.raises(ValueError, match=text):
            make()
