"""Several workers: steps, collective calls, exactly-once pushes when messages are lost."""

import subprocess
import sys
import threading

import numpy as np
import pytest
from tests.processes import until
from tests.python.ps.jobs import connect, own_endpoint, pull, push, serve, stats


def together(*functions, timeout=280):
    """Runs functions at once; their results, or the first error."""
    results = [None] * len(functions)

    def run(i):
        try:
            results[i] = functions[i]()
        except Exception as e:  # raised below
            results[i] = e

    threads = [threading.Thread(target=run, args=(i,)) for i in range(len(functions))]
    for t in threads:
        t.start()
    for t in threads:
        t.join(timeout)
    assert not any(t.is_alive() for t in threads), "somebody hangs"
    for r in results:
        if isinstance(r, Exception):
            raise r
    return results


@pytest.fixture
def job():
    servers = [serve(i, 2, workers=2) for i in range(2)]
    clients = [connect(servers, worker=w, workers=2) for w in range(2)]
    yield servers, clients
    del clients
    for s in servers:
        s.stop()


class TestSteps:
    def test_mean_over_workers(self, job):
        _, clients = job
        keys = np.arange(100, dtype=np.uint64)

        def work(w):
            for step in range(5):
                mine = keys[:60] if w == 0 else keys[40:]
                values = np.full((60, 4), 2.0 * (w + 1), np.float32)
                clients[w].push_sparse_step(0, step, mine, values)
                clients[w].push_dense_step(1, step, np.full(10, 4.0 * w, np.float32))
                before = pull(clients[w], keys)
                assert (before[0] == step).all()  # nothing of the open step shows
                clients[w].end_step(step)

        together(lambda: work(0), lambda: work(1))
        got = pull(clients[0], keys)[:, 0]
        np.testing.assert_array_equal(got, 5 * np.repeat([1.0, 3.0, 2.0], [40, 20, 40]))
        out = np.zeros(10, np.float32)
        clients[1].pull_dense(1, out)
        assert (out == 10).all()
        assert connect(job[0], worker=0, workers=2).next_step() == 5

    def test_missing_worker_is_named(self, job):
        servers, _ = job
        client = connect(servers, worker=1, workers=2, wait_deadline=2)
        with pytest.raises(TimeoutError, match=r"worker\(s\) 0 have not ended step 3"):
            client.end_step(3)

    def test_wrong_step(self, job):
        _, clients = job
        together(*[lambda c=c: c.end_step(0) for c in clients])
        one = np.zeros(1, np.uint64), np.zeros((1, 4), np.float32)
        with pytest.raises(ValueError, match="step 0 is over: expected step 1"):
            clients[0].push_sparse_step(0, 0, *one)
        with pytest.raises(ValueError, match="step 7 came while step 1 is open"):
            clients[0].push_sparse_step(0, 7, *one)

    def test_click_rows(self):
        table = {
            "id": 0,
            "accessor": {
                "kind": "click",
                "dim": 2,
                "embedding_threshold": 0,
                "weight": {"rule": "sum", "initial_range": 0, "minimum": -99, "maximum": 99},
            },
        }
        server = serve(workers=2, tables=[table])
        clients = [connect([server], tables=[table], worker=w, workers=2) for w in range(2)]
        row = np.array([[7, 1, 1, 3, 0, 0]], np.float32)  # slot, show, click, gradients

        def work(w):
            clients[w].push_sparse_step(0, 0, np.array([5], np.uint64), row)
            clients[w].end_step(0)

        together(lambda: work(0), lambda: work(1))
        got = pull(clients[0], [5], create=False, width=5)[0]
        np.testing.assert_array_equal(got[:3], [2, 2, 3])  # shows add up, gradients are a mean


class TestCollective:
    def test_all_three(self, job):
        _, clients = job

        def work(w):
            c = clients[w]
            out = []
            for i in range(20):
                c.barrier(f"round {i}")
                values = np.array([w + 1.0, -w])
                c.all_reduce(values, ["sum", "min", "max"][i % 3])
                out.append(values)
                assert c.all_gather(b"worker %d" % w) == [b"worker 0", b"worker 1"]
            return out

        a, b = together(lambda: work(0), lambda: work(1))
        np.testing.assert_array_equal(a, b)
        np.testing.assert_array_equal(a[:3], [[3, -1], [1, -1], [2, 0]])

    def test_sizes_differ(self, job):
        _, clients = job
        with pytest.raises(ValueError, match="worker 1 brings 3 numbers, this worker 2"):
            together(
                lambda: clients[0].all_reduce(np.zeros(2)),
                lambda: clients[1].all_reduce(np.zeros(3)),
            )
        with pytest.raises(ValueError, match="expected operation sum, min or max"):
            clients[0].all_reduce(np.zeros(2), "mean")

    def test_missing_worker_is_named(self, job):
        servers, clients = job
        impatient = connect(servers, worker=0, workers=2, wait_deadline=2)
        with pytest.raises(TimeoutError, match=r"worker\(s\) 1 did not come to 'end'"):
            impatient.barrier("end")

        # The call that was given up can be made again.
        def again():
            for _ in range(50):
                try:
                    return impatient.barrier("again")
                except TimeoutError:
                    pass
            raise AssertionError("the others did not come")

        together(again, lambda: clients[1].barrier("again"))

    def test_workers_meet_for_the_same(self, job):
        _, clients = job

        told = []

        def comes(worker):
            try:
                clients[worker].barrier(f"of {worker}")
            except ValueError as error:  # whoever came second
                told.append(str(error))
                clients[worker].barrier(f"of {1 - worker}")

        together(lambda: comes(0), lambda: comes(1))
        assert len(told) == 1
        assert "all workers must make the same calls in the same order" in told[0]
        assert "came to 'of " in told[0] and "is in 'of " in told[0]

    def test_barriers_pass_over_a_worker_that_has_ended(self, job):
        _, clients = job

        def goes_on():
            clients[1].barrier("that worker 0 left out")
            with pytest.raises(ValueError, match=r"worker 0 has ended \('end'\)"):
                clients[1].all_gather(b"1")
            clients[1].barrier("end", True)

        together(lambda: clients[0].barrier("end", True), goes_on)

    def test_worker_starts_anew(self, job):
        servers, clients = job
        together(lambda: clients[0].barrier("a"), lambda: clients[1].barrier("a"))
        fresh = connect(servers, worker=1, workers=2)
        together(lambda: clients[0].barrier("b"), lambda: fresh.barrier("b"))


def test_ctrl_c_ends_a_wait():
    server = serve(workers=2)
    code = """
import os, signal, sys, threading
from argosy import _ps
client = _ps.Client(endpoints=["127.0.0.1:{port}"], workers=2)
timer = threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT))
try:
    timer.start()
    client.barrier("b")
except KeyboardInterrupt:
    sys.exit(0)
sys.exit(1)
"""
    done = subprocess.run([sys.executable, "-c", code.format(port=server.port)], timeout=200)
    assert done.returncode == 0


FAULTS = {"attempt_deadline": 0.2, "call_deadline": 250, "wait_deadline": 250}


@pytest.mark.parametrize(
    "kind", ["lose=0.1", "double=0.3", "delay=0.3,delay_ms=250", "all=0.1,delay_ms=300"]
)
@pytest.mark.parametrize("side", ["client", "server"])
def test_every_push_once(kind, side):
    options = {"faults": f"seed=11,{kind}"}
    servers = [serve(i, 2, **(options if side == "server" else {})) for i in range(2)]
    client = connect(servers, **FAULTS, **(options if side == "client" else {}))
    keys = np.arange(64)

    def work():
        for _ in range(10):
            push(client, keys)
            client.push_dense(1, np.ones(10, np.float32))

    together(work, work, work)
    plain = connect(servers, **FAULTS)
    assert (pull(plain, keys) == 30).all()
    out = np.zeros(10, np.float32)
    plain.pull_dense(1, out)
    assert (out == 30).all()
    assert client.traffic()[2] > 0 or sum(s["repeated"] for s in stats(plain)) > 0


def test_steps_and_rounds_through_faults():
    options = {"faults": "seed=5,all=0.1,delay_ms=100"}
    server = serve(workers=2, **options)
    clients = [connect([server], worker=w, workers=2, **options, **FAULTS) for w in range(2)]

    def work(w):
        total = []
        for step in range(8):
            clients[w].push_sparse_step(
                0, step, np.arange(8, dtype=np.uint64), np.full((8, 4), w + 1, np.float32)
            )
            clients[w].end_step(step)
            value = np.array([float(w + step)])
            clients[w].all_reduce(value)
            total.append(value[0])
        return total

    a, b = together(lambda: work(0), lambda: work(1))
    assert a == b == [2.0 * step + 1 for step in range(8)]
    assert (pull(connect([server], workers=2, **FAULTS), range(8)) == 8 * 1.5).all()


def test_faults_option():
    with pytest.raises(ValueError, match="faults: expected seed=N"):
        serve(faults="lose=2")


@pytest.mark.parametrize("durability", ["none", "log"])
def test_pushes_while_the_server_starts_anew(durability, tmp_path):
    """In log mode nothing is lost or doubled; without, all after the restart is there."""
    options = {"durability": durability, "endpoint": own_endpoint()}
    if durability != "none":
        options["directory"] = str(tmp_path / "d")
    server = serve(**options)
    client = connect([server], attempt_deadline=0.5)
    stop = threading.Event()
    counts = [0, 0]

    def work(worker):
        while not stop.is_set():
            push(client, [1])
            counts[worker] += 1
        return counts[worker]

    def pushed():
        """Waits until both have pushed to the server that there is now."""
        before = list(counts)
        until(lambda: min(now - then for now, then in zip(counts, before)) >= 2)

    def restart():
        nonlocal server
        try:
            for _ in range(3):
                pushed()
                server.stop()
                server = serve(**options)
            pushed()
        finally:
            stop.set()

    count, second, _ = together(lambda: work(0), lambda: work(1), restart)
    applied = pull(connect([server]), [1])[0, 0]
    if durability == "log":
        assert applied == count + second
    else:
        assert 0 < applied < count + second
