"""Switches of strategies: they do what they say, or are refused by name."""

import json

import numpy as np
import pytest

import argosy as paddle
from argosy import _core, _ps, _support, static
from argosy.distributed import fleet
from argosy.distributed.fleet import Role, UserDefinedRoleMaker


@pytest.fixture(autouse=True)
def fresh():
    paddle.enable_static()
    main, startup = static.Program(), static.Program()
    with static.program_guard(main, startup), static.scope_guard(static.Scope()):
        with paddle.utils.unique_name.guard():
            yield main
    paddle.disable_static()


def _divide(strategy, optimizer=None, role=Role.WORKER):
    fleet.init(
        UserDefinedRoleMaker(
            role=role, current_id=1, worker_num=3, server_endpoints=["127.0.0.1:1", "127.0.0.1:2"]
        )
    )
    ids = static.data("ids", [None, 1], "int64")
    rows = static.nn.sparse_embedding(ids, [10, 4], param_attr=paddle.ParamAttr("rows"))
    loss = paddle.mean(static.nn.fc(paddle.reshape(rows, [-1, 4]), 1))
    optimizer = optimizer or paddle.optimizer.Adam(0.01)
    fleet.distributed_optimizer(optimizer, strategy).minimize(loss)


def _dense_rules(program):
    tables = json.loads(_core.program_metadata(program._handle)["parameter_server.tables"])
    return [t["accessor"]["embedding"] for t in tables if t["kind"] == "dense"]


@pytest.mark.parametrize(
    "name",
    ["amp", "recompute", "gradient_merge", "lamb", "lars", "is_fl_ps_mode", "is_with_coordinator"],
)
def test_switches_of_other_training(name):
    strategy = fleet.DistributedStrategy()
    setattr(strategy, name, True)
    field = {"is_with_coordinator": "with_coordinator"}.get(name, name)
    with pytest.raises(NotImplementedError, match=rf"strategy\.{field} is True, which the param"):
        _divide(strategy)


@pytest.mark.parametrize(
    "group, values, text",
    [
        ("a_sync_configs", {"use_ps_gpu": 1}, "a_sync_configs: use_ps_gpu is 1"),
        ("a_sync_configs", {"heter_worker_device_guard": "gpu"}, "device_guard is 'gpu'"),
        ("a_sync_configs", {"lr_decay_steps": 7}, "a_sync_configs: lr_decay_steps is 7"),
        ("trainer_desc_configs", {"local_sparse": ["rows"]}, "local_sparse is .*rows"),
        ("fs_client_param", {"uri": "afs://x"}, "fs_client_param: uri is 'afs://x'"),
    ],
)
def test_settings(group, values, text):
    strategy = fleet.DistributedStrategy()
    setattr(strategy, group, values)
    with pytest.raises(NotImplementedError, match=text):
        _divide(strategy)


@pytest.mark.parametrize(
    "setting, value",
    [
        ("table_class", "MemorySparseGeoTable"),
        ("compress_in_save", True),
        ("enable_revert", True),
        ("shard_merge_rate", 0.5),
        ("type", 1),
        ("accessor.ctr_accessor_param.load_filter_slots", [3.0]),
    ],
)
def test_settings_of_tables(setting, value):
    strategy = fleet.DistributedStrategy()
    path = f"table_parameters.rows.{setting}"
    strategy.sparse_table_configs = {"rows": {path: value}}
    with pytest.raises(NotImplementedError, match=rf"table_parameters\.rows\.{setting} is"):
        _divide(strategy)


def test_what_changes_no_result_is_taken(fresh):
    strategy = fleet.DistributedStrategy()
    strategy.a_sync_configs = {"launch_barrier": False, "send_wait_times": 3}
    strategy.sparse_table_configs = {
        "rows": {
            "table_parameters.rows.table_class": "MemorySparseTable",
            "table_parameters.rows.shard_num": 10,
        }
    }
    strategy.fuse_all_reduce_ops = False
    _divide(strategy)
    assert [r["rule"] for r in _dense_rules(fresh)] == ["adam"]


def test_dumps_are_refused_when_they_are_asked_for(fresh):
    strategy = fleet.DistributedStrategy()
    strategy.trainer_desc_configs = {"dump_fields": ["ids"], "dump_param": ["fc_0.w_0"]}
    _divide(strategy)
    exe = static.Executor()
    fresh._fleet_opt["dump_fields_path"] = "dumped"
    with pytest.raises(NotImplementedError, match="dump_fields of trainer_desc_configs is"):
        exe.train_from_dataset(fresh, [])
    fresh._fleet_opt["dump_fields_path"] = ""
    exe.train_from_dataset(fresh, [])


def test_a_data_set_without_gpu():
    data = paddle.distributed.QueueDataset()
    data._set_use_ps_gpu(False)
    with pytest.raises(NotImplementedError, match="_set_use_ps_gpu"):
        data._set_use_ps_gpu(True)


def test_fleet_opt(fresh):
    """Programs read and change what train_from_dataset is told."""
    assert fresh._fleet_opt is None and fresh.clone()._fleet_opt is None
    strategy = fleet.DistributedStrategy()
    strategy.trainer_desc_configs = {"stat_var_names": ["a"], "dump_fields_path": "x"}
    _divide(strategy)
    told = fresh._fleet_opt
    assert told["mpi_size"] == 3 and told["mpi_rank"] == 1
    assert told["stat_var_names"] == ["a"] and told["dump_fields_path"] == "x"
    assert told["dump_fields"] == [] and told["trainer"] == ""
    copy = fresh.clone()
    assert copy._fleet_opt == told
    copy._fleet_opt["stat_var_names"] = []
    assert told["stat_var_names"] == ["a"]


def _d2sum(w, gradients, rate):
    """DAdamD2Sum of Paddle's servers, in float64."""
    moment, squares, count = np.zeros_like(w), np.zeros_like(w), 0.0
    for g in gradients:
        count = count * 0.9999 + 1
        squares = squares * 0.9999 + g * g
        scale = np.sqrt((count + count * 1e-8) / (squares + count * 1e-8))
        moment = (moment - g) * 0.99 + g
        w = w - rate * moment * scale
    return w


def test_adam_d2sum(fresh):
    strategy = fleet.DistributedStrategy()
    strategy.adam_d2sum = True
    _divide(strategy)
    (rule,) = _dense_rules(fresh)
    assert (rule["rule"], rule["beta1"], rule["beta2"]) == ("adam_d2sum", 0.99, 0.9999)
    table = _ps.DenseTable(
        json.dumps([{"kind": "dense", "size": 7, "accessor": {"embedding": rule}}]), 7
    )
    draw = np.random.default_rng(1)
    w = draw.normal(size=7).astype("float32")
    gradients = draw.normal(size=(50, 7)).astype("float32")
    table.assign(w)
    for g in gradients:
        table.push(g, 0.01)
    want = _d2sum(w.astype("float64"), gradients.astype("float64"), 0.01)
    np.testing.assert_allclose(table.pull(), want, rtol=2e-5, atol=2e-6)


def test_adam_d2sum_where_it_has_nothing_to_do(fresh, caplog):
    strategy = fleet.DistributedStrategy()
    strategy.adam_d2sum = True
    _divide(strategy, paddle.optimizer.SGD(0.1))
    assert [r["rule"] for r in _dense_rules(fresh)] == ["sgd"]
    assert "adam_d2sum changes nothing" in caplog.text


def test_adam_d2sum_is_not_of_geo(fresh):
    strategy = fleet.DistributedStrategy()
    strategy.a_sync_configs = {"k_steps": 4}
    strategy.adam_d2sum = True
    _divide(strategy)
    assert [r["rule"] for r in _dense_rules(fresh)] == ["adam"]


def test_adam_d2sum_with_weight_decay():
    strategy = fleet.DistributedStrategy()
    strategy.adam_d2sum = True
    with pytest.raises(NotImplementedError, match="strategy.adam_d2sum"):
        _divide(strategy, paddle.optimizer.AdamW(0.1))


def test_the_rule_is_for_dense_tables():
    config = [{"kind": "sparse", "accessor": {"dim": 4, "embedding": {"rule": "adam_d2sum"}}}]
    with pytest.raises(ValueError, match="adam_d2sum is for dense tables"):
        _ps.Server(endpoint="127.0.0.1:0", index=0, servers=1, workers=1, tables=config)


def test_a_model_from_rows_of_sequences_on(fresh, tmp_path):
    """The looked-up rows are fed, each with its own lengths: also where one operation looks up all."""
    fleet.init()
    attr = paddle.ParamAttr("rows")
    rows = []
    for name in ("a", "b"):
        ids = static.data(name, [None, 1], "int64", lod_level=1)
        rows.append(static.nn.sparse_embedding(ids, [10, 4], param_attr=attr))
    pooled = paddle.concat([static.nn.sequence_pool(r, "sum") for r in rows], 1)
    out = static.nn.fc(pooled, 1)
    optimizer = fleet.distributed_optimizer(paddle.optimizer.SGD(0.1), fleet.DistributedStrategy())
    optimizer.minimize(paddle.mean(out))
    exe = static.Executor()
    exe.run(static.default_startup_program())
    fleet.save_inference_model(exe, str(tmp_path), [r.name for r in rows], [out])
    _ps.mode_install(None)
    batch = paddle.base.create_lod_tensor
    first, second = np.ones((5, 4), "float32"), np.ones((3, 4), "float32")
    with static.scope_guard(static.Scope()):
        program, feeds, fetches = static.load_inference_model(str(tmp_path / "__model__"), exe)
        names = [v.name for v in _core.program_inputs(program._handle)]
        assert names == feeds + [f"{name}@LENGTHS" for name in feeds]
        feed = {
            feeds[0]: batch(first, [[2, 3]], None),
            feeds[1]: batch(second, [[3, 0]], None),
        }
        got = exe.run(program, feed=feed, fetch_list=fetches)[0]
        weight = np.array(static.global_scope().find_var("fc_0.w_0").get_tensor())
        want = np.repeat([[2, 3], [3, 0]], 4, axis=1) @ weight
    np.testing.assert_allclose(got, want, rtol=1e-5)


@pytest.fixture
def said():
    """What is told once in a process is told again."""
    _support._told.clear()
    yield
    _support._told.clear()


@pytest.mark.usefixtures("said")
def test_settings_of_data_sets_without_effect():
    data = paddle.distributed.InMemoryDataset()
    ids = static.data("ids", [None, 1], "int64")
    with pytest.warns(UserWarning, match=r"record_candidate_size has no effect: slots_shuffle"):
        data.init(use_var=[ids], fea_eval=True, candidate_size=7)
    for setting, value in [
        ("queue_num", 3),
        ("fleet_send_batch_size", 80),
        ("fleet_send_sleep_seconds", 2),
        ("data_feed_type", "Other"),
        ("input_type", 1),
    ]:
        with pytest.warns(UserWarning, match=f"{setting} has no effect: "):
            data.update_settings(**{setting: value})
    with pytest.raises(ValueError, match="queue_num: expected an integer >= 1, got 0"):
        data.update_settings(queue_num=0)
    with pytest.raises(ValueError, match="record_candidate_size: expected an integer"):
        data._set_fea_eval("many")
    old = paddle.base.DatasetFactory().create_dataset("QueueDataset")
    with pytest.raises(NotImplementedError, match="set_fea_eval.*InMemoryDataset"):
        old.set_fea_eval(10, True)
    box = paddle.base.DatasetFactory().create_dataset("BoxPSDataset")
    box.end_pass(False)
    with pytest.raises(NotImplementedError, match="need_save_delta .*save_persistables"):
        box.end_pass(True)


@pytest.mark.usefixtures("said")
def test_threads_of_a_shuffle(tmp_path):
    (tmp_path / "lines").write_text("1 1\n1 2\n")
    data = paddle.distributed.InMemoryDataset()
    data.init(use_var=[static.data("ids", [None, 1], "int64")])
    data.set_filelist([str(tmp_path / "lines")])
    data.load_into_memory()
    data.global_shuffle()
    with pytest.warns(UserWarning, match="thread_num has no effect: one thread shuffles"):
        data.global_shuffle(None, 3)
    with pytest.raises(ValueError, match="thread_num: expected an integer >= 1, got 0"):
        data.global_shuffle(None, 0)


@pytest.mark.usefixtures("said")
def test_arguments_of_fleet(tmp_path, caplog):
    fleet.init()
    ids = static.data("ids", [None, 1], "int64")
    rows = static.nn.sparse_embedding(ids, [10, 4], param_attr=paddle.ParamAttr("rows"))
    loss = paddle.mean(rows)
    fleet.distributed_optimizer(paddle.optimizer.SGD(0.1)).minimize(loss)
    exe = static.Executor()
    exe.run(static.default_startup_program())
    for save in (
        lambda e: fleet.save_persistables(e, str(tmp_path / "all")),
        lambda e: fleet.save_inference_model(e, str(tmp_path / "model"), ["ids"], [rows]),
        lambda e: fleet.save_dense_params(e, str(tmp_path / "dense"), None, None),
    ):
        save(exe)
        save(None)
        with pytest.raises(TypeError, match=r"fleet.save_.* executor: expected a static.Executor"):
            save(paddle.CPUPlace())
    for elsewhere in ("hdfs:/day/1", "afs://host:9902/day/1"):
        for call in (
            lambda name: fleet.save_persistables(exe, name),
            lambda name: fleet.save_inference_model(exe, name, ["ids"], [rows]),
            lambda name: fleet.save_one_table(0, name, 0),
            lambda name: fleet.load_model(name, 0),
            lambda name: fleet.init_server(name),
        ):
            with pytest.raises(ValueError, match=r"expected a folder of this host.*HDFSClient"):
                call(elsewhere)
    with pytest.raises(ValueError, match="save_cache_model.* unknown arguments: .*table"):
        fleet.save_cache_model(str(tmp_path), table=1)
    for name, call in [
        ("threshold", lambda: fleet.shrink(0.1)),
        ("mode", lambda: fleet.save_cache_model(str(tmp_path / "cache"), mode=2)),
        ("mem_cache_key_threshold", lambda: fleet.save_cache_table(0, 1, 7)),
        (
            "export_for_deployment",
            lambda: fleet.save_inference_model(
                exe, str(tmp_path / "m"), ["ids"], [rows], None, False
            ),
        ),
    ]:
        with pytest.warns(UserWarning, match=f"{name} has no effect: "):
            call()
    with caplog.at_level("INFO", "argosy.fleet"):
        fleet.save_cache_table(0, "pass-17")
    assert "table 0, pass pass-17" in caplog.text


def test_days_of_a_program_that_runs_alone(capfd):
    fleet.init()
    names = ("ids", "show", "click")
    ids, show, click = (static.data(name, [None, 1], "int64") for name in names)
    entry = paddle.distributed.ShowClickEntry("show", "click")
    rows = static.nn.sparse_embedding(
        ids, [10, 4], entry=entry, param_attr=paddle.ParamAttr("rows")
    )
    loss = paddle.mean(rows) + 0.0 * paddle.mean(paddle.cast(show + click, "float32"))
    path = "table_parameters.rows.accessor"
    strategy = fleet.DistributedStrategy()
    strategy.sparse_table_configs = {
        "rows": {
            f"{path}.accessor_class": "CtrCommonAccessor",
            f"{path}.ctr_accessor_param.delete_threshold": 0.0,
            f"{path}.ctr_accessor_param.delete_after_unseen_days": 2.0,
        }
    }
    fleet.distributed_optimizer(paddle.optimizer.SGD(0.1), strategy).minimize(loss)
    exe = static.Executor()
    exe.run(static.default_startup_program())
    ones = np.ones([5, 1], "int64")
    feed = {"ids": np.arange(5).reshape(5, 1), "show": ones, "click": ones}
    exe.run(feed=feed, fetch_list=[loss])

    def left():
        fleet.shrink()
        fleet.print_table_stat(0, 3, 0)
        return int(capfd.readouterr().out.split("table 0, pass 3: ")[1].split(" rows")[0])

    for _ in range(5):  # one day, however often it is told
        fleet.set_date(0, "20261123")
    assert left() == 5
    fleet.set_date(0, "20261124")
    assert left() == 5
    fleet.set_date(0, "20261125")
    assert left() == 0
