"""What minimize makes of programs, strategies and entries; tables of a program that runs alone."""

import json

import numpy as np
import pytest

import argosy as paddle
from argosy import _core, _ps, static
from argosy.distributed import CountFilterEntry, ProbabilityEntry, ShowClickEntry, fleet, ps
from argosy.distributed.ps import runtime


@pytest.fixture(autouse=True)
def fresh(monkeypatch):
    for name in ("PADDLE_PSERVERS_IP_PORT_LIST", "TRAINING_ROLE"):
        monkeypatch.delenv(name, raising=False)
    paddle.enable_static()
    scope = static.Scope()
    main, startup = static.Program(), static.Program()
    with static.program_guard(main, startup), static.scope_guard(scope):
        with paddle.utils.unique_name.guard():
            fleet.init()
            yield main, startup
    _ps.mode_install(None)
    paddle.disable_static()


def model(width=4, entry=None, optimizer=None, strategy=None, minimize=True, **more):
    ids = static.data("ids", [None, 2], "int64")
    label, show = static.data("label", [None, 1]), static.data("show", [None, 1])
    attr = paddle.ParamAttr("rows", initializer=paddle.nn.initializer.Uniform(-0.5, 0.5))
    rows = static.nn.sparse_embedding(ids, [10, width], entry=entry, param_attr=attr, **more)
    out = static.nn.fc(paddle.flatten(rows, 1), 1)
    loss = paddle.mean((out - label) ** 2) + 0 * paddle.mean(show)
    if minimize:
        optimizer = optimizer or paddle.optimizer.SGD(0.125)
        fleet.distributed_optimizer(optimizer, strategy).minimize(loss)
    return rows, out, loss


def table(program):
    tables = json.loads(_core.program_metadata(program._handle)["parameter_server.tables"])
    return next(t for t in tables if t["name"] == "rows")


def strategy(**said):
    s = fleet.DistributedStrategy()
    path = "table_parameters.rows."
    s.sparse_table_configs = {"rows": {path + k.replace("__", "."): v for k, v in said.items()}}
    return s


def test_alone_only_the_distributed_embedding_goes_to_a_table(fresh):
    main, startup = fresh
    rows, _, loss = model()
    types = [o["type"] for o in _core.program_describe(main._handle)["operations"]]
    assert types[0] == "ps_pull_rows" and "sgd_" in types and "ps_pull_dense" not in types
    assert table(main)["accessor"]["embedding"]["initial_range"] == 0.5
    assert "rows" not in [p.name for p in main.all_parameters()]
    exe = static.Executor()
    exe.run(startup)
    assert static.global_scope().find_var("rows") is None
    feed = {
        "ids": np.array([[2**62, -7]]),
        "label": np.ones([1, 1], "float32"),
        "show": np.ones([1, 1], "float32"),
    }
    losses = [float(exe.run(main, feed, [loss])[0]) for _ in range(20)]
    assert losses[-1] < losses[0] / 10
    evaluating = main.clone(for_test=True)
    feed["ids"] = np.array([[5, 2**62]])
    (found,) = exe.run(evaluating, feed, [rows])
    assert (found[0, 0] == 0).all() and (found[0, 1] != 0).any()  # 5 was never trained


def test_copies_made_before_look_up_the_table_too(fresh):
    main, startup = fresh
    _, out, loss = model(minimize=False)
    test = main.clone(for_test=True)
    fleet.distributed_optimizer(paddle.optimizer.SGD(0.125)).minimize(loss)
    exe = static.Executor()
    exe.run(startup)
    zeros = np.zeros([3, 1], "float32")
    ids = np.arange(6).reshape(3, 2)
    (found,) = exe.run(test, {"ids": ids, "label": zeros, "show": zeros}, [out])
    assert found.shape == (3, 1)


def test_the_strategy_goes_before_the_optimizer(fresh):
    main, _ = fresh
    model(
        optimizer=paddle.optimizer.Adam(0.1),
        strategy=strategy(
            accessor__embedx_sgd_param__name="StdAdaGradSGDRule",
            accessor__embedx_sgd_param__adagrad__learning_rate=0.25,
            accessor__embedx_sgd_param__adagrad__initial_g2sum=2.0,
            accessor__embedx_sgd_param__adagrad__weight_bounds=[-3.0, 3.0],
        ),
    )
    rule = table(main)["accessor"]["embedding"]
    assert rule["rule"] == "adagrad_elementwise" and rule["learning_rate"] == 0.25
    assert rule["initial_g2sum"] == 2 and (rule["minimum"], rule["maximum"]) == (-3, 3)
    text = _core.program_print(main._handle)
    assert "lr=-1.0" in text  # the table's own rate
    assert "state %" in text and '"rows_moment1_0"' not in text


def test_click_accessors_count_what_the_entry_names(fresh):
    main, _ = fresh
    said = strategy(
        accessor__accessor_class="CtrCommonAccessor",
        accessor__embedx_threshold=5,
        accessor__ctr_accessor_param__delete_threshold=0.5,
    )
    model(6, entry=ShowClickEntry("show", "label"), strategy=said, slot=9)
    found = table(main)
    assert found["accessor"]["kind"] == "click" and found["accessor"]["dim"] == 3
    assert found["accessor"]["embedding_threshold"] == 5
    assert found["accessor"]["delete_threshold"] == 0.5
    assert found["admission"]["kind"] == "show_click"
    assert "click=True, counts=[1], slots=[9]" in _core.program_print(main._handle)


@pytest.mark.parametrize(
    "entry, admission",
    [
        (CountFilterEntry(3), {"kind": "count", "count": 3}),
        (ProbabilityEntry(0.25), {"kind": "probability", "probability": 0.25}),
    ],
)
def test_entries_are_admission(fresh, entry, admission):
    model(entry=entry)
    assert admission.items() <= table(fresh[0])["admission"].items()


@pytest.mark.parametrize(
    "said, match",
    [
        ({"accessor__accessor_class": "Ctr"}, "there is no accessor_class 'Ctr'"),
        ({"accessor__embed_sgd_param__name": "Sgd"}, "there is no update rule 'Sgd'"),
        ({"accessor__embedx_dim": 8}, "embedx_dim is wrong.*expected 3, got 8"),
        ({"accessor__fea_dim": 9}, "fea_dim is wrong.*expected 6, got 9"),
    ],
)
def test_wrong_strategies(fresh, said, match):
    with pytest.raises(ValueError, match=match):
        model(strategy=strategy(**said))


def test_wrong_layers():
    ids = static.data("ids", [None, 1], "int64")
    with pytest.raises(ValueError, match="table_class must be in"):
        static.nn.sparse_embedding(ids, [5, 3], table_class="Memory")
    with pytest.raises(ValueError, match="entry must be instance in"):
        static.nn.sparse_embedding(ids, [5, 3], entry=3)


def test_a_last_size_of_one_is_dropped():
    ids = static.data("ids", [None, 1], "int64")
    assert list(static.nn.sparse_embedding(ids, [5, 3]).shape) == [-1, 3]


@pytest.mark.parametrize(
    "a_sync, configs, mode",
    [
        (False, None, "sync"),
        (True, None, "half_async"),
        (True, {"send_queue_size": 0}, "half_async"),
        (True, {"send_queue_size": 3}, "async"),
        (True, {"k_steps": 5}, "geo"),
    ],
)
def test_modes_by_strategy(a_sync, configs, mode):
    s = fleet.DistributedStrategy()
    s.a_sync = a_sync
    if configs:
        s.a_sync_configs = configs
    assert runtime.mode_of(s) == mode


def test_show_prints_both_parts(fresh):
    main, _ = fresh
    model(entry=CountFilterEntry(2))
    text = ps.show(main._handle)
    assert text.startswith("servers {") and '"rows" : sparse' in text
    assert "plain rows of 4" in text and "admission count" in text and text.count("table") == 1
    assert ps.show(static.Program()._handle) == ""


def test_rows_on_disk(fresh):
    main, startup = fresh
    _, _, loss = model(table_class="SSDSparseTable")
    assert table(main)["tier"] == "ssd"
    exe = static.Executor()
    exe.run(startup)
    ones = np.ones([4, 1], "float32")
    feed = {"ids": np.arange(8).reshape(4, 2), "label": ones, "show": ones}
    losses = [float(exe.run(main, feed, [loss])[0]) for _ in range(30)]
    assert losses[-1] < losses[0] / 2


def test_tables_are_saved_with_the_model(fresh, tmp_path):
    main, startup = fresh
    rows, out, loss = model()
    exe = static.Executor()
    exe.run(startup)
    ones = np.ones([4, 1], "float32")
    feed = {"ids": np.arange(8).reshape(4, 2), "label": ones, "show": ones}
    for _ in range(5):
        exe.run(main, feed)
    test = main.clone(for_test=True)
    (before,) = exe.run(test, feed, [out])
    fleet.save_persistables(exe, str(tmp_path))
    for _ in range(5):
        exe.run(main, feed)
    assert np.abs(exe.run(test, feed, [out])[0] - before).max() > 1e-3
    fleet.load_model(str(tmp_path), 0)
    np.testing.assert_array_equal(exe.run(test, feed, [out])[0], before)
    number = table(main)["id"]
    fleet.save_one_table(number, str(tmp_path / "one"), 0)
    (before,) = exe.run(test, feed, [rows])
    exe.run(main, feed)
    assert np.abs(exe.run(test, feed, [rows])[0] - before).max() > 1e-4
    fleet.load_one_table(number, str(tmp_path / "one"), 0)
    np.testing.assert_array_equal(exe.run(test, feed, [rows])[0], before)
    assert fleet.save_cache_model(str(tmp_path / "cache"), table_id=number) > 0
