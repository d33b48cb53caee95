"""fleet.util and fleet.metrics over a client that stands for several workers."""

import threading

import numpy as np
import pytest

import argosy
from argosy.distributed import fleet
from argosy.distributed.fleet import metrics


class _Room:
    """What several workers' clients share: the collective calls of argosy._ps.Client in threads."""

    def __init__(self, workers):
        self.workers = workers
        self.gate = threading.Barrier(workers, timeout=200)
        self.given = [None] * workers

    def exchange(self, number, value):
        self.given[number] = value
        self.gate.wait()
        out = list(self.given)
        self.gate.wait()
        return out


class _Client:
    def __init__(self, room, number):
        self.room, self.number = room, number

    def barrier(self, name):
        self.room.exchange(self.number, name)

    def all_reduce(self, values, operation):
        parts = self.room.exchange(self.number, values.copy())
        values[:] = getattr(np, operation)(parts, axis=0)

    def all_gather(self, mine):
        return self.room.exchange(self.number, mine)


def _on_workers(workers, function):
    """function(util, number) on each of several workers; their results."""
    room = _Room(workers)
    out, errors = [None] * workers, []

    def work(number):
        try:
            job = fleet.Fleet()
            role = fleet.UserDefinedRoleMaker(
                current_id=number,
                role=fleet.Role.WORKER,
                worker_num=workers,
                server_endpoints=["127.0.0.1:1"],
            )
            job.init(role)
            client = _Client(room, number)
            job.util._client = lambda: client
            out[number] = function(job.util, number)
        except BaseException as error:
            errors.append(error)
            room.gate.abort()

    threads = [threading.Thread(target=work, args=(i,)) for i in range(workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return out


@pytest.mark.parametrize("mode, expected", [("sum", 6), ("max", 3), ("min", 1)])
def test_all_reduce_of_a_number(mode, expected):
    out = _on_workers(3, lambda util, i: util.all_reduce(i + 1, mode))
    assert out == [expected] * 3 and type(out[0]) is int


def test_all_reduce_of_arrays_and_lists():
    def work(util, i):
        array = np.arange(6, dtype="float32").reshape(2, 3) * (i + 1)
        return (
            util.all_reduce(array),
            util.all_reduce([1.5, i]),
            util.all_reduce((i, i), "max"),
            util.all_reduce(np.array(2**40 + i)),
            array,
        )

    for array, numbers, largest, big, mine in _on_workers(2, work):
        assert array.dtype == np.float32
        np.testing.assert_array_equal(array, np.arange(6).reshape(2, 3) * 3)
        assert numbers == [3.0, 1.0] and largest == [1, 1]
        assert big == 2**41 + 1 and big.dtype == np.int64
        assert mine[0, 1] in (1, 2)  # the input stays


def test_all_gather():
    value = {"name": "wörker", "list": [1, 2.5, None]}

    def work(util, i):
        got = util.all_gather(np.array([[i, 7]], dtype="int16"))
        return util.all_gather(i), util.all_gather(value), got

    for numbers, values, arrays in _on_workers(3, work):
        assert numbers == [0, 1, 2] and values == [value] * 3
        assert [a.tolist() for a in arrays] == [[[0, 7]], [[1, 7]], [[2, 7]]]
        assert arrays[0].dtype == np.int16
    with pytest.raises(TypeError, match="expected numbers, strings.*got function"):
        _on_workers(2, lambda util, i: util.all_gather(lambda: 0))


def test_barrier_and_refusals(capsys):
    _on_workers(2, lambda util, i: util.barrier())
    for call, error, text in (
        (lambda u, i: u.all_reduce(1, "mean"), ValueError, "mode: expected one of sum, min, max"),
        (lambda u, i: u.all_reduce("a"), TypeError, "expected numbers, got str"),
        (
            lambda u, i: u.barrier("nobody"),
            ValueError,
            "comm_world: expected one of worker, server, all",
        ),
        (lambda u, i: u.barrier("all"), NotImplementedError, "servers take no part"),
    ):
        with pytest.raises(error, match=text):
            _on_workers(2, call)


def test_file_shards(capsys):
    files = [f"f{i}" for i in range(10)]
    shards = _on_workers(4, lambda util, i: util.get_file_shard(files))
    assert shards == [files[:3], files[3:6], files[6:8], files[8:]]
    assert _on_workers(4, lambda util, i: util.get_file_shard(["a"])) == [["a"], [], [], []]
    with pytest.raises(TypeError, match="files should be a list"):
        _on_workers(1, lambda util, i: util.get_file_shard("f"))
    _on_workers(2, lambda util, i: util.print_on_rank(f"from {i}", 1))
    assert capsys.readouterr().out == "from 1\n"


def test_metrics_of_one_worker_are_those_of_all_samples():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 4000)
    scores = np.clip(rng.normal(0.4 + 0.2 * labels, 0.2), 0, 0.999)
    buckets = (scores * 100).astype(int)

    def work(util, i):
        mine = slice(i, None, 3)
        positive = np.bincount(buckets[mine][labels[mine] == 1], minlength=100)
        negative = np.bincount(buckets[mine][labels[mine] == 0], minlength=100)
        error = np.abs(scores[mine] - labels[mine])
        count = np.array([float(labels[mine].size)])
        return {
            "auc": metrics.auc(positive, negative, None, util),
            "mae": metrics.mae(error.sum(keepdims=True), count, None, util),
            "mse": metrics.mse((error**2).sum(keepdims=True), count, None, util),
            "rmse": metrics.rmse((error**2).sum(keepdims=True), count, None, util),
            "acc": metrics.acc(np.array((error < 0.5).sum()), count, None, util),
            "sum": metrics.sum(np.array([i, 2 * i]), None, util).tolist(),
            "max": float(metrics.max(np.array(i), None, util)),
            "min": metrics.min(np.array([[i]]), None, util).tolist(),
        }

    out = _on_workers(3, work)
    # Pairs of one sample of each class, ties count half.
    order = np.sign(buckets[labels == 1][:, None] - buckets[labels == 0][None, :])
    error = np.abs(scores - labels)
    expected = {
        "auc": (order.mean() + 1) / 2,
        "mae": error.mean(),
        "mse": (error**2).mean(),
        "rmse": (error**2).mean() ** 0.5,
        "acc": (error < 0.5).mean(),
        "sum": [3, 6],
        "max": 2.0,
        "min": [[0]],
    }
    for one in out:
        for name, value in expected.items():
            np.testing.assert_allclose(one[name], value, rtol=1e-12)


def test_metrics_without_samples():
    util = fleet.Fleet().init(fleet.PaddleCloudRoleMaker(is_collective=True)).util
    assert metrics.auc(np.zeros(4), np.ones(4), None, util) == 0.5
    with pytest.raises(ZeroDivisionError, match="no worker has seen a sample"):
        metrics.mae(np.zeros(1), np.zeros(1), None, util)
    with pytest.raises(ValueError, match="expected equal lengths, got 4 and 3"):
        metrics.auc(np.zeros(4), np.ones(3), None, util)


def test_metrics_by_name():
    scope = argosy.static.Scope()
    scope.var("correct").get_tensor().set(np.array([3.0], "float32"), argosy.CPUPlace())
    util = fleet.Fleet().init(fleet.PaddleCloudRoleMaker(is_collective=True)).util
    assert metrics.acc("correct", np.array([4.0]), scope, util) == 0.75
    with pytest.raises(ValueError, match="the scope has no variable 'nosuch'"):
        metrics.acc("nosuch", np.array([4.0]), scope, util)
