"""Executor.train_from_dataset and infer_from_dataset, as Paddle programs call them."""

import _thread
import os
import re
import threading

import numpy as np
import pytest
from tests.processes import until
from tests.python.data import reference

import argosy as paddle
from argosy import _core

static = paddle.static


def click_data(tmp_path, files=2, count=300):
    draw = np.random.RandomState(0)
    paths = []
    for f in range(files):
        data = [
            [
                [int(draw.randint(2))],
                draw.randint(1, 50, draw.randint(1, 5)).tolist(),
                draw.rand(3).round(3).tolist(),
            ]
            for _ in range(count)
        ]
        for sample in data:
            sample[0] = [int(sum(sample[1]) % 2)]
        paths.append(reference.write(tmp_path / f"part-{f}", data))
    return paths


class Model:
    """A small click model with a slot of variable length."""

    def __init__(self, optimizer=None):
        self.label = static.data("label", [None, 1], "int64")
        self.ids = static.data("ids", [None, 1], "int64", lod_level=1)
        self.dense = static.data("dense", [None, 3], "float32")
        rows = static.nn.embedding(self.ids, [50, 4], is_sparse=True)
        pooled = static.nn.sequence_pool(paddle.reshape(rows, [-1, 4]), "sum")
        hidden = static.nn.fc(paddle.concat([pooled, self.dense], 1), 8, activation="relu")
        self.predict = static.nn.fc(hidden, 2, activation="softmax")
        self.loss = paddle.mean(
            paddle.nn.functional.cross_entropy(self.predict, self.label, use_softmax=False)
        )
        if optimizer is not None:
            optimizer.minimize(self.loss)
        self.use_var = [self.label, self.ids, self.dense]
        self.exe = static.Executor(paddle.CPUPlace())
        self.exe.run(static.default_startup_program())

    def dataset(self, files, cls=None, **settings):
        dataset = (cls or paddle.distributed.QueueDataset)()
        dataset.init(**{"use_var": self.use_var, "batch_size": 32, **settings})
        dataset.set_filelist(files)
        return dataset

    def weights(self):
        scope = static.global_scope()
        return {
            p.name: np.array(scope.find_var(p.name).get_tensor())
            for p in static.default_main_program().all_parameters()
        }

    def batches(self, files, size=32):
        data = [s for f in files for s in reference.read(f, ("int", "int", "float"))]
        for i in range(0, len(data), size):
            part = data[i : i + size]
            lengths = reference.lengths(part, 1)
            ids = reference.flat(part, 1, "int64")[:, None]
            yield {
                "label": reference.flat(part, 0, "int64")[:, None],
                "ids": paddle.base.create_lod_tensor(ids, [lengths], paddle.CPUPlace()),
                "dense": reference.flat(part, 2, "float32").reshape(-1, 3),
            }


def test_one_thread_does_what_run_does(tmp_path, capsys):
    files = click_data(tmp_path)
    paddle.seed(1)
    model = Model(paddle.optimizer.Adam(0.01))
    start = model.weights()
    model.exe.train_from_dataset(
        static.default_main_program(), model.dataset(files), fetch_list=[model.loss],
        fetch_info=["loss"], print_period=5,
    )  # fmt: skip
    after = model.weights()
    printed = capsys.readouterr().out.splitlines()
    # The same by run, from the same start.
    model.exe.run(static.default_startup_program())
    for name, value in start.items():
        static.global_scope().find_var(name).get_tensor().set(value, paddle.CPUPlace())
    losses = [model.exe.run(feed=f, fetch_list=[model.loss])[0] for f in model.batches(files)]
    for name, value in model.weights().items():
        np.testing.assert_array_equal(value, after[name])
    assert [int(re.search(r"batch: \[(\d+)\]", line)[1]) for line in printed] == [5, 10, 15]
    shown = [float(re.search(r"loss\[1\]:\[(.*?)\]", line)[1]) for line in printed]
    np.testing.assert_allclose(shown, [float(losses[i]) for i in (4, 9, 14)], rtol=1e-6)
    assert "examples/s" in printed[0] and "queue" in printed[0] and "ETA" in printed[0]


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_lengths_make_no_plans(tmp_path, threads):
    files = click_data(tmp_path, files=3)
    model = Model(paddle.optimizer.SGD(0.1))
    for _ in range(3):
        model.exe.train_from_dataset(dataset=model.dataset(files, thread_num=threads))
    stats = _core.executor_stats(model.exe._threads)
    # One for batches of 32, one for the smaller last ones (of whatever size).
    assert stats["plans"] == 2 and stats["hits"] > 80


def test_run_makes_one_plan_for_all_lengths(tmp_path):
    files = click_data(tmp_path, files=1, count=320)
    model = Model(paddle.optimizer.SGD(0.1))
    before = _core.executor_stats(model.exe._executor)["misses"]
    for feed in model.batches(files):
        model.exe.run(feed=feed, fetch_list=[model.loss])
    assert _core.executor_stats(model.exe._executor)["misses"] == before + 1


@pytest.mark.parametrize(
    "cls", [paddle.distributed.QueueDataset, paddle.distributed.InMemoryDataset]
)
@pytest.mark.parametrize("threads", [1, 2, 4])
def test_updates_of_rows_of_their_own_all_arrive(tmp_path, cls, threads):
    """Each row is in one batch only, so that threads need no order among them: nothing is lost."""
    count, files = 2000, 5
    paths = [
        reference.write(tmp_path / f"part-{f}", [[[i, i]] for i in range(f + 1, count, files)])
        for f in range(files)
    ]
    ids = static.data("ids", [None, 1], "int64", lod_level=1)
    zeros = paddle.nn.initializer.Constant(0.0)
    rows = static.nn.embedding(
        ids, [count, 3], is_sparse=True, param_attr=paddle.ParamAttr("w", initializer=zeros)
    )
    paddle.optimizer.SGD(1.0).minimize(paddle.sum(rows))
    exe = static.Executor()
    exe.run(static.default_startup_program())
    dataset = cls()
    dataset.init(use_var=[ids], batch_size=7, thread_num=threads)
    dataset.set_filelist(paths)
    if cls is paddle.distributed.InMemoryDataset:
        dataset.load_into_memory()
    for epoch in (1, 2, 3):
        exe.train_from_dataset(static.default_main_program(), dataset)
        found = np.array(static.global_scope().find_var("w").get_tensor())
        # Each row twice in its batch, with gradient 1; row 0 nowhere.
        np.testing.assert_array_equal(found[1:], np.full((count - 1, 3), -2.0 * epoch, "float32"))
        assert not found[0].any()


@pytest.mark.parametrize(
    "cls", [paddle.distributed.QueueDataset, paddle.distributed.InMemoryDataset]
)
@pytest.mark.parametrize("threads", [2, 3])
def test_threads_learn(tmp_path, cls, threads):
    files = click_data(tmp_path, files=4, count=500)
    model = Model(paddle.optimizer.Adam(0.02, lazy_mode=True))
    dataset = model.dataset(files, cls, thread_num=threads)
    if cls is paddle.distributed.InMemoryDataset:
        dataset.load_into_memory()

    test = static.default_main_program().clone(for_test=True)

    def tested():
        return float(
            np.mean(
                [
                    model.exe.run(test, feed=f, fetch_list=[model.loss.name])[0]
                    for f in model.batches(files)
                ]
            )
        )

    before = tested()
    for _ in range(6):
        model.exe.train_from_dataset(static.default_main_program(), dataset)
    assert all(np.isfinite(w).all() for w in model.weights().values())
    assert tested() < before - 0.05


def test_as_old_programs_do_it(tmp_path, capsys):
    files = click_data(tmp_path)
    model = Model(paddle.optimizer.Adam(0.01))
    for kind in ("QueueDataset", "InMemoryDataset"):
        dataset = paddle.base.DatasetFactory().create_dataset(kind)
        dataset.set_use_var(model.use_var)
        dataset.set_batch_size(32)
        dataset.set_thread(2)
        dataset.set_pipe_command("cat")
        dataset.set_filelist(files)
        if kind == "InMemoryDataset":
            dataset.load_into_memory()
            dataset.local_shuffle()
        else:
            with pytest.raises(NotImplementedError):
                dataset.local_shuffle()
        model.exe.train_from_dataset(
            static.default_main_program(), dataset, fetch_list=[model.loss], print_period=1
        )
        assert f"{model.loss.name}[1]:[" in capsys.readouterr().out
        assert f'name: "{kind}"' in dataset.desc()
    with pytest.raises(ValueError, match="does not exist"):
        paddle.base.DatasetFactory().create_dataset("NoDataset")


def test_infer_leaves_parameters_alone(tmp_path, capsys):
    files = click_data(tmp_path)
    model = Model(paddle.optimizer.SGD(0.1))
    before = model.weights()
    model.exe.infer_from_dataset(
        static.default_main_program(), model.dataset(files), fetch_list=[model.loss],
        print_period=1,
    )  # fmt: skip
    assert capsys.readouterr().out.count("examples/s") == 19
    for name, value in model.weights().items():
        np.testing.assert_array_equal(value, before[name])


def test_state_of_metrics_is_shared(tmp_path):
    files = click_data(tmp_path, files=4)
    model = Model()
    auc, _, states = static.auc(model.predict, model.label)
    model.exe.run(static.default_startup_program())
    model.exe.infer_from_dataset(dataset=model.dataset(files, thread_num=1))
    counted = sum(float(np.array(static.global_scope().find_var(s.name).get_tensor()).sum())
                  for s in states[-2:])  # fmt: skip
    assert counted == 1200


class Handler(paddle.base.FetchHandler):
    def __init__(self, variables, period_secs, called):
        super().__init__(variables, period_secs)
        self.seen, self.called = [], called

    def handler(self, res_dict):
        self.seen.append(res_dict)
        self.called.touch()


def test_fetch_handler(tmp_path):
    files = click_data(tmp_path, files=1, count=64)
    model = Model(paddle.optimizer.SGD(0.1))
    handler = Handler({"loss": model.loss}, 0.05, tmp_path / "called")
    # The other lines come when the handler was called.
    waits = f"until [ -e {handler.called} ]; do sleep 0.02; done"
    dataset = model.dataset(files, pipe_command=f"head -32; {waits}; cat")
    model.exe.train_from_dataset(dataset=dataset, fetch_handler=handler)
    assert handler.seen and float(handler.seen[0]["loss"]) > 0


def test_errors_of_any_thread_are_raised(tmp_path):
    files = click_data(tmp_path)
    model = Model(paddle.optimizer.SGD(0.1))
    with open(files[1], "a") as f:
        f.write("1 1 1 5000 3 0 0 0\n1 oops\n")
    with pytest.raises(ValueError, match=r"part-1:302: slot 'label'|out of range|5000"):
        model.exe.train_from_dataset(dataset=model.dataset(files, thread_num=2))
    alive = threading.active_count()
    with open(files[1], "w") as f:
        f.write("1 1 1 5000 3 0 0 0\n")
    with pytest.raises((ValueError, IndexError)) as error:
        model.exe.train_from_dataset(dataset=model.dataset(files, thread_num=2))
    assert "test_train.py" in str(error.value)  # the line that made the operation
    assert threading.active_count() == alive


def test_ctrl_c_ends_all_threads(tmp_path):
    files = click_data(tmp_path, files=1)
    model = Model(paddle.optimizer.SGD(0.1))
    before = len(os.listdir("/proc/self/task"))
    timer = threading.Timer(0.5, _thread.interrupt_main)
    with pytest.raises(KeyboardInterrupt):
        timer.start()
        model.exe.train_from_dataset(
            dataset=model.dataset(files, pipe_command="cat; sleep 1000", thread_num=2)
        )
    timer.join()
    # A joined thread stays listed until the kernel has buried it.
    until(lambda: len(os.listdir("/proc/self/task")) <= before)


def test_a_command_that_hangs_is_an_error(tmp_path):
    files = click_data(tmp_path, files=1)
    model = Model(paddle.optimizer.SGD(0.1))
    dataset = model.dataset(files, pipe_command="cat; sleep 1000", thread_num=2, timeout=0.5)
    with pytest.raises(TimeoutError, match="neither read nor wrote a byte for 0.5 s.*Do this"):
        model.exe.train_from_dataset(dataset=dataset)


def test_the_environment_sets_the_limit_and_a_data_set_its_own(monkeypatch):
    new = paddle.distributed.QueueDataset
    assert new()._timeout == 600
    monkeypatch.setattr(_core, "get_flag", lambda name: {"ARGOSY_DATA_TIMEOUT": 7.0}[name])
    dataset = new()
    assert dataset._timeout == 7
    dataset.init(timeout=float("inf"))
    assert dataset._timeout == float("inf")
    dataset.init()
    assert dataset._timeout == 7
    old = paddle.base.DatasetFactory().create_dataset("QueueDataset")
    old.set_timeout(3)
    assert old._timeout == 3
    monkeypatch.setattr(_core, "get_flag", lambda name: -1.0)
    with pytest.raises(ValueError, match="ARGOSY_DATA_TIMEOUT: expected seconds > 0, got -1.0"):
        new()


def test_a_first_step_that_hangs_is_an_error(tmp_path):
    files = click_data(tmp_path)
    model = Model(paddle.optimizer.SGD(0.1))
    goes_on, hangs = threading.Event(), threading.Event()

    def hang(x):
        hangs.set()
        goes_on.wait(100)
        return x

    out = (
        static.default_main_program()
        .current_block()
        .create_var(name="out", dtype="float32", shape=[-1, 3])
    )
    static.py_func(hang, model.use_var[2], out)
    dataset = model.dataset(files, thread_num=2, timeout=3)
    with pytest.raises(
        TimeoutError, match=r"thread \d waited 3 s for the first step, which thread"
    ):
        model.exe.train_from_dataset(dataset=dataset, fetch_list=[out])
    assert hangs.is_set()
    goes_on.set()


def test_what_is_wrong_with_the_call(tmp_path):
    files = click_data(tmp_path, files=1)
    model = Model(paddle.optimizer.SGD(0.1))
    with pytest.raises(RuntimeError, match="dataset is need"):
        model.exe.train_from_dataset(static.default_main_program())
    with pytest.raises(TypeError, match="expected a QueueDataset"):
        model.exe.train_from_dataset(dataset=3)
    with pytest.raises(ValueError, match="fetch_info"):
        model.exe.train_from_dataset(
            dataset=model.dataset(files), fetch_list=[model.loss], fetch_info=["a", "b"]
        )
    with pytest.raises(ValueError, match="'dense' is not fed"):
        model.exe.train_from_dataset(dataset=model.dataset(files, use_var=model.use_var[:2]))
    with pytest.raises(RuntimeError, match="nothing is loaded"):
        model.exe.train_from_dataset(
            dataset=model.dataset(files, paddle.distributed.InMemoryDataset)
        )
    model.exe.close()
    with pytest.raises(RuntimeError, match="closed"):
        model.exe.train_from_dataset(dataset=model.dataset(files))


def test_feed_dicts(tmp_path, capsys):
    files = click_data(tmp_path, files=1, count=64)
    model = Model(paddle.optimizer.SGD(0.1))
    model.exe.train_from_dataset(
        dataset=list(model.batches(files)), fetch_list=[model.loss], print_period=1
    )
    assert capsys.readouterr().out.count(model.loss.name) == 2


def test_last_batches_are_what_run_makes_of_them(tmp_path):
    """Their plan leaves the size open; all sorts of layers must bear that."""
    draw = np.random.RandomState(3)
    data = [[[int(draw.randint(3))], draw.rand(64).round(3).tolist()] for _ in range(37)]
    path = reference.write(tmp_path / "a", data)
    paddle.seed(4)
    label = static.data("label", [None, 1], "int64")
    image = static.data("image", [None, 1, 8, 8], "float32")
    h = static.nn.conv2d(image, 4, 3, padding=1)
    h = paddle.nn.functional.relu(static.nn.batch_norm(h))
    h = paddle.nn.functional.max_pool2d(h, 2)
    h = static.nn.layer_norm(paddle.flatten(h, 1))
    h = paddle.concat([h, paddle.transpose(h, [1, 0]).transpose([1, 0]) * 2], 1)
    a, b = paddle.split(static.nn.fc(h, 12, activation="tanh"), 2, axis=1)
    h = paddle.stack([a, b, a * b], 1).reshape([-1, 18])
    loss = paddle.nn.functional.cross_entropy(static.nn.fc(h, 3), label).mean()
    paddle.optimizer.Momentum(0.1, 0.9).minimize(loss)
    exe = static.Executor()
    exe.run(static.default_startup_program())
    scope = static.global_scope()
    states = [v.name for v in static.default_main_program().list_vars() if v.persistable]
    start = {n: np.array(scope.find_var(n).get_tensor()) for n in states if scope.find_var(n)}

    def now():
        return {n: np.array(scope.find_var(n).get_tensor()) for n in start}

    dataset = paddle.distributed.QueueDataset()
    dataset.init(batch_size=16, use_var=[label, image])
    dataset.set_filelist([path])
    exe.train_from_dataset(dataset=dataset)
    trained = now()
    for name, value in start.items():
        scope.find_var(name).get_tensor().set(value, paddle.CPUPlace())
    for i in range(0, 37, 16):
        part = data[i : i + 16]
        exe.run(
            feed={
                "label": reference.flat(part, 0, "int64")[:, None],
                "image": reference.flat(part, 1, "float32").reshape(-1, 1, 8, 8),
            }
        )
    assert any((trained[n] != start[n]).any() for n in start)
    for name, value in now().items():
        np.testing.assert_allclose(value, trained[name], rtol=1e-5, atol=1e-6, err_msg=name)
