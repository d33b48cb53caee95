"""Programs before and after they are divided between trainers and servers."""

import json
import re

import numpy as np
import pytest

import argosy as paddle
from argosy import _core, passes, static
from argosy.nn.initializer import Constant, Normal, Uniform


@pytest.fixture(autouse=True)
def fresh():
    paddle.enable_static()
    main, startup = static.Program(), static.Program()
    with static.program_guard(main, startup), paddle.utils.unique_name.guard():
        yield main, startup
    paddle.disable_static()


def attr(name, start=0.0, **more):
    initializer = start if not isinstance(start, float) else Constant(start)
    return paddle.ParamAttr(name=name, initializer=initializer, **more)


def look_up(ids, name="table", rows=1000, width=2, padding_idx=None, **more):
    return static.nn.embedding(
        ids, [rows, width], is_sparse=True, padding_idx=padding_idx, param_attr=attr(name, **more)
    )


def ids_and_label(width=3):
    return static.data("ids", [None, width], "int64"), static.data("label", [None, 1])


def small_model(optimizer, **more):
    ids, label = ids_and_label()
    rows = paddle.sum(look_up(ids, **more), 1)
    out = static.nn.fc(rows, 1, weight_attr=attr("w"), bias_attr=attr("b"))
    loss = paddle.mean((out - label) ** 2)
    if optimizer is not None:
        optimizer.minimize(loss)
    return loss


def lines(program):
    """Operations as text without locations and numbers of values."""
    found = []
    for line in _core.program_print(getattr(program, "program", program)).splitlines():
        line = line.strip()
        if line.startswith("%") or line.startswith("ps_"):
            line = re.sub(r" loc\(.*\)", "", line)
            found.append(line)
    return found


def divide(program, loss=(), **options):
    done = passes.rewrite(program, [loss] if loss != () else [], ["parameter_server"], verify=True,
                          **{f"parameter_server.{k}": v for k, v in options.items()})  # fmt: skip
    return done, dict(_core.program_metadata(done.program))


def ops(program):
    program = getattr(program, "program", getattr(program, "_handle", program))
    described = _core.program_describe(program)
    return [o["type"] for o in described["operations"]]


def tables(metadata):
    return json.loads(metadata["parameter_server.tables"])


def test_before_and_after(fresh):
    main, startup = fresh
    loss = small_model(paddle.optimizer.SGD(0.5))
    assert ops(main)[0] == "embedding" and ops(main)[-1] == "sgd_"
    done, metadata = divide(main, loss)
    text = lines(done)
    assert re.fullmatch(
        r'(%\d+), (%\d+) = ps_pull_dense\(\[%\d+, %\d+\]\) \{table=1\} : float32\[2, 1\] "w", '
        r'float32\[1\] "b" optimize',
        text[0],
    )
    assert re.fullmatch(
        r"(%\d+), (%\d+), (%\d+) = ps_pull_rows\(\[%0\]\) \{tables=\[0\], widths=\[2\], "
        r"counts=\[1\], paddings=\[\], training=True\} : float32\[\?, 2\], int64\[\?\], "
        r"int64\[\?, 3\]",
        text[1],
    )
    assert re.fullmatch(
        r"ps_push_rows\(\[%\d+\], \[%\d+\], \[\], None, None; %\d+\) \{table=0, click=False, "
        r"counts=\[\], slots=\[\], lr=\$, lr_scale=1.0\} optimize",
        text[-3],
    )
    assert re.fullmatch(
        r"ps_push_dense\(\[%\d+, %\d+\]; %\d+\) \{table=1, lr=\$, lr_scale=1.0\} optimize", text[-2]
    )
    assert text[-1] == "ps_end_step() optimize"
    rest = set(ops(done))
    assert "sgd_" not in rest and "table" not in text[2]
    # The other operations are those that were there; the gradient of rows comes last.
    kept = [o for o in ops(main) if o not in ("sgd_", "embedding_rows_grad")]
    assert [o for o in ops(done) if not o.startswith("ps_")] == [*kept, "embedding_rows_grad"]
    assert [t["name"] for t in tables(metadata)] == ["table", "dense_1"]
    assert tables(metadata)[1]["size"] == 3
    assert metadata["parameter_server.dense"] == "1\tw\tb\n"
    assert metadata["parameter_server.removed"] == "table\n"
    names = [s["name"] for s in _core.program_describe(done.program)["states"]]
    assert "table" not in names and {"w", "b"} <= set(names)


def test_the_startup_program_loses_the_table(fresh):
    main, startup = fresh
    small_model(paddle.optimizer.Adam(0.1), rows=10**12, start=Uniform(-0.5, 0.25))
    _, metadata = divide(main)
    done = passes.rewrite(startup, [], ["parameter_server_startup"], verify=True, **{
        "parameter_server_startup.removed": metadata["parameter_server.removed"],
        "parameter_server_startup.tables": metadata["parameter_server.tables"],
    })  # fmt: skip
    assert "uniform" not in ops(done) and "full" in ops(done)
    names = [s["name"] for s in _core.program_describe(done.program)["states"]]
    left = sorted(n for n in names if "learning_rate" not in n and "pow_acc" not in n)
    assert left == ["b", "w"]  # and no moments
    (table, _) = tables(dict(_core.program_metadata(done.program)))
    assert table["accessor"]["embedding"]["initial_range"] == 0.5
    assert table["accessor"]["embedding"]["rule"] == "adam_lazy"


@pytest.mark.parametrize(
    "start, reach", [(Constant(0.25), 0.25), (Uniform(-1, 1), 1), (Normal(0, 0.5), 0.75**0.5)]
)
def test_rows_start_where_the_initializer_says(fresh, start, reach):
    main, startup = fresh
    small_model(paddle.optimizer.SGD(0.1), start=start)
    _, metadata = divide(main)
    done = passes.rewrite(startup, [], ["parameter_server_startup"], **{
        "parameter_server_startup.removed": metadata["parameter_server.removed"],
        "parameter_server_startup.tables": metadata["parameter_server.tables"],
    })  # fmt: skip
    table = tables(dict(_core.program_metadata(done.program)))[0]
    assert table["accessor"]["embedding"]["initial_range"] == pytest.approx(reach, rel=1e-6)


def test_look_ups_of_one_table_are_one_request(fresh):
    main, _ = fresh
    ids, label = ids_and_label()
    other = static.data("other", [None, 1], "int64")
    rows = [look_up(ids), look_up(paddle.squeeze(other, 1) * 2 + 1, padding_idx=5), look_up(ids)]
    out = paddle.concat([paddle.flatten(r, 1) for r in rows], 1)
    loss = paddle.mean((paddle.sum(out, 1, keepdim=True) - label) ** 2)
    paddle.optimizer.SGD(0.1).minimize(loss)
    done, _ = divide(main, loss)
    assert ops(done).count("ps_pull_rows") == ops(done).count("ps_push_rows") == 1
    pull = next(line for line in lines(done) if "ps_pull_rows" in line)
    assert "paddings=[-1, 5, -1]" in pull
    # What the ids are computed from comes first.
    assert ops(done).index("ps_pull_rows") > ops(done).index("squeeze")


def test_ids_that_depend_on_rows_are_looked_up_later(fresh):
    main, _ = fresh
    ids, label = ids_and_label()
    first = look_up(ids)
    second = look_up(paddle.argmax(first, -1))
    loss = paddle.mean((paddle.sum(first) + paddle.sum(second) - label) ** 2)
    paddle.optimizer.SGD(0.1).minimize(loss)
    done, _ = divide(main, loss)
    assert ops(done).count("ps_pull_rows") == 2
    assert ops(done).count("ps_push_rows") == 1


def test_what_a_step_pulls_can_be_said_before(fresh):
    main, _ = fresh
    ids, label = ids_and_label()
    rows = look_up(ids * 2, padding_idx=5), look_up(ids, "other", width=3)
    loss = paddle.mean((paddle.sum(paddle.concat(rows, -1), -1) - label) ** 2)
    paddle.optimizer.SGD(0.1).minimize(loss)
    done, _ = divide(main, loss)
    ahead = passes.rewrite(done.program, [], ["parameter_server_ahead"], verify=True)
    assert ops(ahead) == ["multiply", "ps_prefetch_rows"]
    assert "tables=[0, 1], widths=[2, 3], counts=[1, 1], paddings=[5, -1]" in lines(ahead)[-1]
    inputs = [[v.name for v in _core.program_inputs(p.program)] for p in (done, ahead)]
    assert inputs[0] == inputs[1]
    test = passes.rewrite(_core.program_for_test(done.program), [], ["parameter_server_ahead"])
    assert not test.reports[0]["changed"]


def test_only_what_is_distributed_goes_when_said_so(fresh):
    main, _ = fresh
    ids, label = ids_and_label()
    far = static.nn.embedding(ids, [9, 2], is_distributed=True, param_attr=attr("far"))
    loss = paddle.mean((paddle.sum(far + look_up(ids, "near")) - label) ** 2)
    paddle.optimizer.Adam(0.1).minimize(loss)
    done, metadata = divide(main, loss, sparse=0, dense=0, **{"remote.far": ""})
    assert "adam_" in ops(done) and "embedding" in ops(done) and "ps_pull_dense" not in ops(done)
    assert [t["name"] for t in tables(metadata)] == ["far"]
    removed = metadata["parameter_server.removed"].split()
    assert removed[0] == "far" and removed == ["far", "far_moment1_0", "far_moment2_0"]
    names = {s["name"] for s in _core.program_describe(done.program)["states"]}
    assert "near" in names and not names & set(removed)


@pytest.mark.parametrize(
    "make, rule",
    [
        (lambda: paddle.optimizer.SGD(0.1), {"rule": "sgd"}),
        (lambda: paddle.optimizer.Adagrad(0.1, epsilon=0.5), {"epsilon": 0.5}),
        (lambda: paddle.optimizer.Adam(0.1, beta1=0.5, beta2=0.75), {"beta1": 0.5, "beta2": 0.75}),
        (lambda: paddle.optimizer.RMSProp(0.1, rho=0.5, momentum=0.25), {"momentum": 0.25}),
    ],
)
def test_rules_come_from_the_optimizer(fresh, make, rule):
    main, _ = fresh
    loss = small_model(make())
    _, metadata = divide(main, loss)
    for table in tables(metadata):
        assert rule.items() <= table["accessor"]["embedding"].items()


def test_factors_of_learning_rates_and_decay(fresh):
    main, _ = fresh
    ids, label = ids_and_label()
    rows = paddle.sum(look_up(ids, learning_rate=0.5), 1)
    out = static.nn.fc(rows, 1, weight_attr=attr("w", learning_rate=2.0), bias_attr=attr("b"))
    decay = paddle.regularizer.L2Decay(0.25)
    again = static.nn.fc(out, 1, weight_attr=attr("v", regularizer=decay), bias_attr=False)
    loss = paddle.mean((again - label) ** 2)
    paddle.optimizer.SGD(0.1).minimize(loss)
    done, metadata = divide(main, loss)
    scale = {
        line.split("table=")[1][0]: line.split("lr_scale=")[1][:3]
        for line in lines(done)
        if "ps_push" in line
    }
    dense = {
        n: t
        for t, *names in (d.split("\t") for d in metadata["parameter_server.dense"].splitlines())
        for n in names
    }  # noqa: E501
    assert scale["0"] == "0.5" and scale[dense["w"]] == "2.0"
    assert scale[dense["b"]] == "1.0" and dense["b"] == dense["v"]
    assert "scale=0.25" in next(line for line in lines(done) if "= scale(" in line)


def test_a_program_without_optimizer_only_pulls(fresh):
    main, _ = fresh
    loss = small_model(None)
    done, _ = divide(main, loss)
    assert ops(done)[0] == "ps_pull_rows" and "training=False" in lines(done)[0]
    assert [o for o in ops(done) if o.startswith("ps_")] == ["ps_pull_rows"]


def test_a_clone_for_test_pulls_and_pushes_nothing(fresh):
    main, _ = fresh
    loss = small_model(paddle.optimizer.SGD(0.1))
    done, _ = divide(main, loss)
    test = _core.program_for_test(done.program)
    assert [o for o in ops(test) if o.startswith("ps_")] == ["ps_pull_rows"]
    assert "training=False" in lines(test)[0]


def test_passes_keep_every_exchange(fresh):
    main, _ = fresh
    ids, label = ids_and_label()
    a, b = look_up(ids, "one"), look_up(ids, "two")
    loss = paddle.mean((paddle.sum(a + b) - label) ** 2)
    paddle.optimizer.SGD(0.1).minimize(loss)
    done, _ = divide(main, loss)
    before = [o for o in ops(done) if o.startswith("ps_")]
    again = passes.rewrite(done.program, [], "train", verify=True)
    assert [o for o in ops(again) if o.startswith("ps_")] == before


# What cannot be divided.


def refused(main, loss, error, match, **options):
    before = lines(main._handle)
    with pytest.raises(error, match=match):
        divide(main, loss, **options)
    assert lines(main._handle) == before


def test_a_global_norm_over_rows(fresh):
    clip = paddle.nn.ClipGradByGlobalNorm(1.0)
    loss = small_model(paddle.optimizer.SGD(0.1, grad_clip=clip))
    refused(fresh[0], loss, ValueError, r"gradient of 'table'.*need_clip=False")


def test_a_global_norm_over_the_rest_is_fine(fresh):
    main, _ = fresh
    clip = paddle.nn.ClipGradByGlobalNorm(1.0)
    loss = small_model(paddle.optimizer.SGD(0.1, grad_clip=clip), need_clip=False)
    done, _ = divide(main, loss)
    assert ops(done)[-3:] == ["ps_push_rows", "ps_push_dense", "ps_end_step"]


@pytest.mark.parametrize("clip", [paddle.nn.ClipGradByNorm(1.0), paddle.nn.ClipGradByValue(1.0)])
def test_clipping_rows_at_all(fresh, clip):
    loss = small_model(paddle.optimizer.SGD(0.1, grad_clip=clip))
    refused(fresh[0], loss, ValueError, r"gradient of 'table'.*need_clip=False")


def test_a_weighted_sum_of_gradients(fresh):
    """alpha is a factor that no trainer may put on the whole gradient; 1 is a plain sum."""
    for alpha in (1.0, 2.0):
        main, startup = static.Program(), static.Program()
        with static.program_guard(main, startup), paddle.utils.unique_name.guard():
            ids, label = ids_and_label()
            rows = static.nn.embedding(ids, [9, 2], param_attr=attr("far"))
            loss = paddle.mean((paddle.sum(rows, 1) - label) ** 2)
            optimizer = paddle.optimizer.SGD(0.1)
            ((table, gradient),) = optimizer.backward(loss)
            optimizer.apply_gradients([(table, paddle.add(gradient, gradient, alpha=alpha))])
        if alpha == 1:
            done, _ = divide(main, loss, **{"remote.far": ""})
            assert ops(done)[-5:] == [
                "embedding_rows_grad",
                "embedding_rows_grad",
                "add_rows",
                "ps_push_rows",
                "ps_end_step",
            ]
        else:
            refused(main, loss, ValueError, "goes through 'add'.*need_clip", **{"remote.far": ""})


def test_decay_of_rows(fresh):
    loss = small_model(paddle.optimizer.SGD(0.1, weight_decay=0.1))
    refused(fresh[0], loss, ValueError, "'table' has a regularizer.*every row")


@pytest.mark.parametrize(
    "make, why",
    [
        (lambda: paddle.optimizer.Lamb(0.1), "no such rule"),
        (lambda: paddle.optimizer.Momentum(0.1, rescale_grad=0.5), "rescales"),
        (lambda: paddle.optimizer.RMSProp(0.1, centered=True), "centered"),
    ],
)
def test_optimizers_that_servers_do_not_have(fresh, make, why):
    loss = small_model(make())
    refused(fresh[0], loss, NotImplementedError, f"servers cannot update.*{why}.*use SGD")


def test_a_table_that_is_read_as_a_whole(fresh):
    main, _ = fresh
    ids, label = ids_and_label()
    rows = look_up(ids)
    whole = main.global_block().var("table")
    loss = paddle.mean((paddle.sum(rows) + paddle.sum(whole) - label) ** 2)
    paddle.optimizer.SGD(0.1).minimize(loss)
    refused(main, loss, ValueError, "rows of 'table' live on servers, but 'sum' at .*as a whole")


def test_a_look_up_inside_a_branch(fresh):
    main, _ = fresh
    ids, label = ids_and_label()
    table = look_up(ids)
    weight = main.global_block().var("table")
    more = static.nn.cond(
        paddle.sum(label) > 0,
        lambda: paddle.sum(paddle.nn.functional.embedding(ids, weight, sparse=True)),
        lambda: paddle.zeros([]),
    )
    loss = paddle.mean((paddle.sum(table) + more - label) ** 2)
    paddle.optimizer.SGD(0.1).minimize(loss)
    refused(main, loss, ValueError, "'if' at")


def test_other_dtypes(fresh):
    main, _ = fresh
    ids, _ = ids_and_label()
    rows = static.nn.embedding(ids, [9, 2], is_sparse=True, dtype="float64", param_attr="table")
    loss = paddle.mean(rows)
    paddle.optimizer.SGD(0.1).minimize(loss)
    refused(main, loss, NotImplementedError, "float32")


def test_wrong_words(fresh):
    loss = small_model(paddle.optimizer.SGD(0.1))
    refused(fresh[0], loss, ValueError, "there is no 'clik'", **{"remote.table": "clik"})


def test_click_rows(fresh):
    main, _ = fresh
    show, click = static.data("show", [None, 1]), static.data("clicked", [None, 1])
    loss = small_model(paddle.optimizer.SGD(0.1), width=5) + 0 * paddle.mean(show + click)
    done, metadata = divide(
        main, loss, **{"remote.table": "click own_rule own_rate show=show clicks=clicked slots=7"}
    )
    push = next(line for line in lines(done) if "ps_push_rows" in line)
    inputs = {v.name: f"%{_core.program_about(v)[1]}" for v in _core.program_inputs(main._handle)}
    assert f"{inputs['show']}, {inputs['clicked']})" in push
    assert "click=True, counts=[1], slots=[7], lr=-1.0" in push
    table = tables(metadata)[0]
    assert table["accessor"]["kind"] == "click" and table["accessor"]["dim"] == 2


def test_sums_of_data_norm_are_a_summary_table(fresh):
    main, _ = fresh
    ids, label = ids_and_label()
    numbers = static.data("numbers", [None, 4])
    wide = static.nn.data_norm(numbers, name="dn")
    out = static.nn.fc(paddle.concat([paddle.sum(look_up(ids), 1), wide], 1), 1)
    loss = paddle.mean((out - label) ** 2)
    paddle.optimizer.Adam(0.1).minimize(loss)
    done, metadata = divide(main, loss, **{"remote.table": ""})
    summary = next(t for t in tables(metadata) if t["kind"] == "summary")
    assert summary["size"] == 12
    text = "\n".join(lines(done))
    assert "summary_update_" not in text and text.count("ps_push_dense") == 2
    assert text.count("ps_pull_dense") == 2


def test_a_click_row_is_at_least_four_wide(fresh):
    loss = small_model(paddle.optimizer.SGD(0.1))
    refused(fresh[0], loss, ValueError, "width of at least 4, got 2", **{"remote.table": "click"})


def test_ids_fed_as_int64_are_keys(fresh):
    """Rows of keys beyond any shape, trained by the divided program in this process."""
    main, startup = fresh
    from argosy import _ps

    loss = small_model(paddle.optimizer.SGD(0.5), rows=10)
    done, metadata = divide(main, loss, dense=0, **{"remote.table": ""})
    spec = tables(metadata)
    spec[0]["accessor"]["embedding"]["initial_range"] = 0.125
    mode = _ps.mode_local(json.dumps(spec))
    _ps.mode_install(mode)
    try:
        exe = static.Executor()
        exe.run(startup)
        ids = np.array([[2**63 + 5, 2**64 - 1, 17]], "uint64").astype("int64")
        divided = static.Program(done.program)
        (rows,) = exe.run(divided, {"ids": ids, "label": np.ones([1, 1], "float32")},
                          [divided.global_block().ops[1].result(0)])  # fmt: skip
        assert rows.shape == (1, 3, 2) and 0 < np.abs(rows).max() <= 0.125
    finally:
        _ps.mode_install(None)
