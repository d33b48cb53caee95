"""The loader: batches, order, worker processes and what can happen to them."""

import math
import multiprocessing
import os
import pathlib
import random
import select
import signal
import subprocess
import sys
import textwrap
import threading
import time
import traceback

import numpy as np
import pytest
from tests.processes import alive, until

import argosy
from argosy import io
from argosy.io.dataloader import dataloader_iter


class From(io.Dataset):
    def __init__(self, function, n=10):
        self.function, self.n = function, n

    def __getitem__(self, i):
        return self.function(i)

    def __len__(self):
        return self.n


class Stream(io.IterableDataset):
    def __init__(self, n=7):
        self.n = n

    def __iter__(self):
        info = io.get_worker_info()
        if info is None:
            yield from range(self.n)
        else:
            yield from range(info.id, self.n, info.num_workers)


def plain(batch):
    """Tensors as (dtype, values), to compare."""
    if isinstance(batch, argosy.Tensor):
        assert batch.stop_gradient
        return str(batch.dtype).rsplit(".", 1)[-1], batch.astype("float64").tolist()
    if isinstance(batch, dict):
        return {k: plain(v) for k, v in batch.items()}
    if isinstance(batch, (list, tuple)):
        return [plain(v) for v in batch]
    return batch


def numbers(loader):
    return [batch.tolist() for batch in loader]


def first_worker(batches):
    """Its pid; where the device has streams, batches come out of a Prefetcher."""
    return getattr(batches, "_batches", batches)._workers[0].process.pid


@pytest.fixture(autouse=True)
def no_process_is_left():
    before = set(multiprocessing.active_children())
    yield
    import gc

    gc.collect()
    until(lambda: not set(multiprocessing.active_children()) - before, told="a process is left")


WORKERS = pytest.mark.parametrize("workers", [0, 2])


@WORKERS
@pytest.mark.parametrize(
    "sample,first",
    [
        (lambda i: i, ("int64", [0, 1])),
        (lambda i: float(i), ("float64", [0, 1])),
        (lambda i: np.float32(i), ("float32", [0, 1])),
        (lambda i: np.full(2, i, "uint8"), ("uint8", [[0, 0], [1, 1]])),
        (lambda i: np.full(1, i, "float16"), ("float16", [[0], [1]])),
        (lambda i: i == 1, ("bool", [0, 1])),
        (lambda i: "s%d" % i, ["s0", "s1"]),
        (lambda i: (np.float32(i), -i), [("float32", [0, 1]), ("int64", [0, -1])]),
        (lambda i: [np.full(1, i)], [("int64", [[0], [1]])]),
        (
            lambda i: {"x": np.float32(i), "name": str(i), "deep": (i, {"y": i})},
            {
                "x": ("float32", [0, 1]),
                "name": ["0", "1"],
                "deep": [("int64", [0, 1]), {"y": ("int64", [0, 1])}],
            },
        ),
        (lambda i: argosy.full([2], i, "float32"), ("float32", [[0, 0], [1, 1]])),
        (lambda i: argosy.full([1], i, "bfloat16"), ("bfloat16", [[0], [1]])),
    ],
)
def test_what_a_batch_is(workers, sample, first):
    loader = io.DataLoader(From(sample, 3), batch_size=2, num_workers=workers)
    batches = [plain(b) for b in loader]
    assert len(batches) == len(loader) == 2
    assert batches[0] == first


@WORKERS
def test_large_arrays_come_whole_and_may_be_written(workers):
    data = From(lambda i: (np.full((50, 100), i, "float64"), np.full((3, 7), -i, "int32")), 6)
    for i, (x, y) in enumerate(io.DataLoader(data, batch_size=2, num_workers=workers)):
        expected = np.array([2 * i, 2 * i + 1])
        assert x.shape == [2, 50, 100] and (x.numpy() == expected[:, None, None]).all()
        assert (y.numpy() == -expected[:, None, None]).all()
        x.add_(argosy.full_like(x, 1.0))
        assert (x.numpy() == expected[:, None, None] + 1).all()


@WORKERS
def test_batches_outlive_the_loader(workers):
    data = From(lambda i: np.full(20_000, i, "float32"), 8)
    kept = list(io.DataLoader(data, batch_size=2, num_workers=workers))
    assert [b.numpy()[1, -1] for b in kept] == [1, 3, 5, 7]


@pytest.mark.cpu_only("is about the host's memory that batches lie in")
@pytest.mark.parametrize("persistent", [False, True])
def test_memory_is_used_again_but_never_under_a_batch_that_is_held(persistent):
    def sample(i):
        return np.full(20_000 * (1 + i % 5), i, "float32"), np.full(9_000, -i, "int64")

    loader = io.DataLoader(
        From(sample, 60), batch_size=1, num_workers=2, persistent_workers=persistent
    )
    for _ in range(3):
        held, addresses = {}, set()
        for i, (x, y) in enumerate(loader):
            addresses.add(x.data_ptr())
            if i % 4 == 0:
                held[i] = x if i % 8 else (x.numpy(copy=False), y)
            del x, y
        for i, value in held.items():
            x = value[0] if isinstance(value, tuple) else value.numpy()
            assert x.shape == (1, 20_000 * (1 + i % 5)) and (x == i).all()
            if isinstance(value, tuple):
                assert (value[1].numpy() == -i).all()
        assert len(addresses) < 60  # some memory came twice
    del loader


@WORKERS
def test_the_data_sets_own_arrays_are_not_shared(workers):
    own = np.arange(6, dtype="float32")
    for kw in ({"batch_size": None}, {"batch_size": 6, "collate_fn": lambda samples: own}):
        for x in io.DataLoader(From(lambda i: own, 6), num_workers=workers, **kw):
            x.add_(argosy.full_like(x, 1.0))
    assert own.tolist() == list(range(6))


@WORKERS
def test_order(workers):
    slow_first = From(lambda i: time.sleep(0.05 if i == 0 else 0) or i, 12)
    assert numbers(io.DataLoader(slow_first, batch_size=3, num_workers=workers)) == [
        [0, 1, 2],
        [3, 4, 5],
        [6, 7, 8],
        [9, 10, 11],
    ]
    assert numbers(io.DataLoader(From(int), batch_size=4, drop_last=True, num_workers=workers)) == [
        [0, 1, 2, 3],
        [4, 5, 6, 7],
    ]
    sampler = [[3, 1], [2]]
    assert numbers(io.DataLoader(From(int), batch_sampler=sampler, num_workers=workers)) == sampler
    assert [
        plain(b) for b in io.DataLoader(From(int, 3), batch_size=None, num_workers=workers)
    ] == [
        0,
        1,
        2,
    ]


def test_shuffled_orders_are_numpys():
    def orders(**kw):
        np.random.seed(5)
        loader = io.DataLoader(From(int), batch_size=10, shuffle=True, **kw)
        return [numbers(loader)[0] for _ in range(2)]

    assert orders()[0] == [9, 5, 2, 4, 7, 1, 0, 8, 6, 3]
    # With workers the seed of the workers is drawn first; persistent ones are seeded once.
    assert orders(num_workers=1)[0] == orders(num_workers=2)[0] == [5, 8, 2, 3, 4, 7, 1, 0, 9, 6]
    assert orders(num_workers=1, persistent_workers=True)[1] == [2, 5, 6, 3, 8, 1, 4, 7, 9, 0]


def test_streams():
    assert numbers(io.DataLoader(Stream(), batch_size=3)) == [[0, 1, 2], [3, 4, 5], [6]]
    assert numbers(io.DataLoader(Stream(), batch_size=3, drop_last=True)) == [[0, 1, 2], [3, 4, 5]]
    assert list(io.DataLoader(Stream(), batch_size=None)) == list(range(7))
    shared = io.DataLoader(Stream(), batch_size=2, num_workers=3)
    assert numbers(shared) == [[0, 3], [1, 4], [2, 5], [6]]
    assert list(io.DataLoader(Stream(9), batch_size=None, num_workers=2)) == list(range(9))
    kept = io.DataLoader(Stream(), batch_size=2, num_workers=2, persistent_workers=True)
    assert numbers(kept) == numbers(kept) == [[0, 2], [1, 3], [4, 6], [5]]
    with pytest.raises(ValueError, match="length of an IterableDataset is not known"):
        len(shared)


@WORKERS
def test_collate_fn(workers):
    loader = io.DataLoader(
        From(int, 4),
        batch_size=2,
        num_workers=workers,
        collate_fn=lambda samples: (np.array(samples), "tag", sum(samples)),
    )
    assert [plain(b) for b in loader] == [
        [("int64", [0, 1]), "tag", 1],
        [("int64", [2, 3]), "tag", 5],
    ]


def test_workers_know_themselves():
    def sample(i):
        info = io.get_worker_info()
        return info.id, info.num_workers, len(info.dataset), os.getpid()

    seen = list(io.DataLoader(From(sample, 4), batch_size=1, num_workers=2))
    assert [int(b[0]) for b in seen] == [0, 1, 0, 1]
    assert {int(b[1]) for b in seen} == {2} and {int(b[2]) for b in seen} == {4}
    pids = [int(b[3]) for b in seen]
    assert pids[0] == pids[2] != pids[1] == pids[3] and os.getpid() not in pids
    assert io.get_worker_info() is None


def test_init_function_and_seeds():
    def sample(i):
        return int(os.environ["ARGOSY_TEST_WORKER"]), np.random.randint(10**9), random.random()

    def init(worker):
        os.environ["ARGOSY_TEST_WORKER"] = str(worker + 40)

    def run(**kw):
        np.random.seed(1)
        loader = io.DataLoader(
            From(sample, 4), batch_size=1, num_workers=2, worker_init_fn=init, **kw
        )
        return [[plain(b) for b in loader] for _ in range(2)]

    first, second = run()
    assert [b[0][1][0] for b in first] == [40, 41, 40, 41]
    draws = [b[1][1][0] for b in first + second] + [b[2][1][0] for b in first + second]
    assert len(set(draws)) == len(draws)
    assert run() == [first, second]
    kept = run(persistent_workers=True)
    assert kept[0] == first and kept[1] not in (first, second)


def boom(i):
    if i == 5:
        raise KeyError("the sixth sample")
    return i


class OddError(Exception):
    def __init__(self, code, text):
        super().__init__(code, text)


def odd(i):
    raise OddError(3, "needs two arguments")


def test_an_error_in_this_process_is_itself():
    with pytest.raises(KeyError, match="^'the sixth sample'$"):
        list(io.DataLoader(From(boom), batch_size=2))


@pytest.mark.parametrize("persistent", [False, True])
def test_an_error_in_a_worker_comes_with_its_traceback(persistent):
    loader = io.DataLoader(From(boom), batch_size=2, num_workers=2, persistent_workers=persistent)
    seen = []
    with pytest.raises(KeyError) as caught:
        for batch in loader:
            seen.append(batch.tolist())
    assert seen == [[0, 1], [2, 3]]
    text = str(caught.value)
    assert text.startswith("[DataLoader] worker 0 raised KeyError. Its traceback:\nTraceback")
    assert 'raise KeyError("the sixth sample")' in text and "in boom" in text
    with pytest.raises(KeyError):  # and the next iteration starts anew
        list(loader)


def test_errors_that_cannot_be_rebuilt():
    with pytest.raises(RuntimeError, match=r"(?s)worker 0 raised OddError.*needs two arguments"):
        list(io.DataLoader(From(odd), batch_size=2, num_workers=1))


def test_other_places_where_a_worker_may_fail():
    def bad_init(worker):
        raise ValueError(f"no disk for {worker}")

    with pytest.raises(ValueError, match="no disk for 0"):
        list(io.DataLoader(From(int), num_workers=2, worker_init_fn=bad_init))
    with pytest.raises(Exception, match="pickle"):
        list(io.DataLoader(From(lambda i: i), num_workers=1, collate_fn=lambda b: lambda: b))

    def bad_sampler():
        yield [0]
        raise OSError("no more indices")

    with pytest.raises(OSError, match="no more indices"):
        list(io.DataLoader(From(int), batch_sampler=bad_sampler(), num_workers=2))


@pytest.mark.parametrize("persistent", [False, True])
def test_a_killed_worker_is_named(persistent):
    def sample(i):
        if i == 5:
            os.kill(os.getpid(), signal.SIGKILL)
        return i

    loader = io.DataLoader(From(sample), batch_size=2, num_workers=2, persistent_workers=persistent)
    with pytest.raises(RuntimeError) as caught:
        list(loader)
    text = str(caught.value)
    assert "worker 0 (pid " in text and "was killed by signal 9 (SIGKILL)" in text
    assert "Do this" in text


def test_a_worker_killed_from_outside_while_the_loader_waits():
    def sample(i):
        if i == 2:
            time.sleep(60)
        return i

    loader = io.DataLoader(From(sample), batch_size=1, num_workers=2)
    batches = iter(loader)
    assert next(batches).tolist() == [0]
    victim = first_worker(batches)
    os.kill(victim, signal.SIGKILL)
    with pytest.raises(RuntimeError, match=f"worker 0 .pid {victim}. was killed by signal 9"):
        for _ in batches:
            pass


def test_a_worker_that_exits():
    def sample(i):
        os._exit(3)

    with pytest.raises(RuntimeError, match="ended with exit code 3"):
        list(io.DataLoader(From(sample), num_workers=1))


def test_timeout():
    def sample(i):
        time.sleep(60)

    with pytest.raises(TimeoutError, match="worker 0 .pid .* no batch within timeout=1 seconds"):
        list(io.DataLoader(From(sample), num_workers=2, timeout=1))


def test_no_timeout_means_that_of_the_environment(monkeypatch):
    monkeypatch.setattr(dataloader_iter, "data_timeout", lambda: 1.5)
    loader = io.DataLoader(From(lambda i: time.sleep(60)), num_workers=2)
    batches = iter(loader)
    pid = first_worker(batches)
    text = rf"worker 0 .pid {pid}. gave no batch within timeout=1.5 seconds.*ARGOSY_DATA_TIMEOUT"
    with pytest.raises(TimeoutError, match=text):
        next(batches)
    patient = io.DataLoader(From(lambda i: time.sleep(1) or i, 3), num_workers=2, timeout=math.inf)
    monkeypatch.setattr(dataloader_iter, "data_timeout", lambda: 0.5)
    assert numbers(patient) == [[0], [1], [2]]


def test_a_worker_that_stops_in_the_middle_of_a_batch():
    loader = io.DataLoader(
        From(lambda i: np.zeros(10_000_000)), num_workers=1, timeout=200, use_shared_memory=False
    )
    batches = iter(loader)
    next(batches)
    (worker,) = getattr(batches, "_batches", batches)._workers
    pid = worker.process.pid
    assert select.select([worker.sock], [], [], 200)[
        0
    ]  # the next one has begun, and fills the socket
    os.kill(pid, signal.SIGSTOP)
    getattr(batches, "_batches", batches)._limit = 1.5
    with pytest.raises(
        TimeoutError, match=f"pid {pid}. sent only a part of a batch within timeout=1"
    ):
        for _ in batches:
            pass


def test_a_worker_that_takes_no_tasks():
    with pytest.raises(
        TimeoutError, match="worker 0 .pid .* took no task within timeout=1 seconds"
    ):
        io.DataLoader(
            From(int),
            batch_sampler=[list(range(300_000))] * 40,
            num_workers=1,
            prefetch_factor=40,
            timeout=1,
            worker_init_fn=lambda i: os.kill(os.getpid(), signal.SIGSTOP),
        ).__iter__()


def test_leaving_early_ends_the_workers():
    data = From(lambda i: np.zeros(100_000), 1000)
    for _ in io.DataLoader(data, batch_size=2, num_workers=2):
        break
    # the fixture looks for processes


def test_persistent_workers_stay_and_forget_what_was_left():
    loader = io.DataLoader(
        From(lambda i: (i, os.getpid())), batch_size=2, num_workers=2, persistent_workers=True
    )
    pids = {int(p) for _, b in loader for p in b}
    for _ in loader:
        break
    again = [b for b in loader]
    assert [b[0].tolist() for b in again] == [[0, 1], [2, 3], [4, 5], [6, 7], [8, 9]]
    assert {int(p) for _, b in again for p in b} == pids
    del loader, again


def test_workers_outlive_the_thread_that_made_them():
    loader = io.DataLoader(From(lambda i: i), batch_size=5, num_workers=2, persistent_workers=True)
    first = []
    thread = threading.Thread(target=lambda: first.append(next(iter(loader)).tolist()))
    thread.start()
    thread.join()
    time.sleep(0.2)
    assert first == [[0, 1, 2, 3, 4]]
    pids = [w.process.pid for w in loader._iterator._workers]
    assert numbers(loader) == [[0, 1, 2, 3, 4], [5, 6, 7, 8, 9]]
    assert pids == [w.process.pid for w in loader._iterator._workers]


def test_workers_use_tensors_after_this_process_did():
    x = argosy.to_tensor(np.ones((200, 200), "float32"))
    (x + x).numpy()

    def sample(i):
        y = argosy.full([200, 200], float(i), "float32")
        return (y + y).numpy()[0, :2]

    loader = io.DataLoader(From(sample, 4), batch_size=2, num_workers=2)
    found = [b.numpy()[:, 0].tolist() for b in loader]
    assert found == [[0, 2], [4, 6]]


def run_script(body, **kw):
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(body)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **kw,
    )


TRAIN_FOREVER = """
    import os, time
    import numpy as np
    from argosy import io
    class Data(io.Dataset):
        def __len__(self): return 10**9
        def __getitem__(self, i):
            if i > 4: time.sleep(0.01)
            return np.zeros(50_000, "float32")
    batches = iter(io.DataLoader(Data(), batch_size=2, num_workers=2))
    next(batches)
    print(*[w.process.pid for w in batches._workers], flush=True)
    for _ in batches: pass
"""


STUCK = """
    import ctypes, signal, time
    from argosy import io
    class Data(io.Dataset):
        def __len__(self): return 10
        def __getitem__(self, i):
            # Holds the lock of the interpreter, so that no thread of the worker gets to run.
            if i > 0: ctypes.PyDLL(None).sleep(1000)
            return i
    ignore = lambda i: signal.signal(signal.SIGTERM, signal.SIG_IGN)
    batches = iter(io.DataLoader(Data(), num_workers=1, worker_init_fn=ignore))
    next(batches)
    time.sleep(0.5)
    print(batches._workers[0].process.pid, flush=True)
"""


@pytest.mark.parametrize("killed", [True, False])
def test_a_stuck_worker_ends_with_the_program(killed):
    main = run_script(textwrap.dedent(STUCK) + ("time.sleep(1000)" if killed else ""))
    pid = int(main.stdout.readline())
    if killed:
        main.kill()
    try:
        main.communicate(timeout=100)
    finally:
        main.kill()
    try:
        until(lambda: not alive(pid))
    finally:
        if alive(pid):
            os.kill(pid, signal.SIGKILL)


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_no_orphans_however_the_main_process_ends(end):
    main = run_script(TRAIN_FOREVER)
    pids = [int(p) for p in main.stdout.readline().split()]
    assert len(pids) == 2 and all(map(alive, pids))
    for pid in (main.pid, *pids):  # no file with a name, that somebody would have to remove
        assert "/dev/shm" not in pathlib.Path(f"/proc/{pid}/maps").read_text()
    main.send_signal(end)
    _, errors = main.communicate(timeout=200)
    assert main.returncode != 0
    if end == signal.SIGINT:
        assert "KeyboardInterrupt" in errors
    until(lambda: not any(map(alive, pids)))


def test_an_unfinished_loader_does_not_hold_up_the_end_of_the_program():
    main = run_script(
        """
        import numpy as np
        from argosy import io
        class Data(io.Dataset):
            def __len__(self): return 1000
            def __getitem__(self, i): return np.zeros(50_000, "float32")
        loader = io.DataLoader(Data(), batch_size=2, num_workers=2, persistent_workers=True)
        next(iter(loader))
        print("done")
        """
    )
    out, errors = main.communicate(timeout=200)
    assert (main.returncode, out, errors) == (0, "done\n", "")


@pytest.mark.parametrize(
    "kw,error,text",
    [
        ({"num_workers": -1}, AssertionError, "num_workers"),
        ({"timeout": -1}, AssertionError, "timeout"),
        ({"prefetch_factor": 0}, AssertionError, "prefetch_factor"),
        ({"batch_size": 0}, AssertionError, "batch_size"),
        ({"batch_sampler": [[0]], "shuffle": True}, AssertionError, "the batch_sampler's business"),
    ],
)
def test_bad_arguments(kw, error, text):
    with pytest.raises(error, match=text):
        io.DataLoader(From(int), **kw)


def test_bad_arguments_of_streams():
    with pytest.raises(ValueError, match="cannot be shuffled"):
        io.DataLoader(Stream(), shuffle=True)
    with pytest.raises(ValueError, match="no indices for a batch_sampler"):
        io.DataLoader(Stream(), batch_sampler=[[0]])


def test_samples_that_do_not_fit_together():
    with pytest.raises(ValueError, match=r"equal shapes, got \[\(1,\), \(2,\)\]"):
        list(io.DataLoader(From(lambda i: np.ones(i + 1)), batch_size=2))
    with pytest.raises(RuntimeError, match=r"equally many fields, got \[1, 2\]"):
        list(io.DataLoader(From(lambda i: [0] * (i + 1)), batch_size=2))
    with pytest.raises(TypeError, match="got NoneType"):
        list(io.DataLoader(From(lambda i: None), batch_size=2))


@WORKERS
def test_memory_stays_flat(workers):
    data = From(lambda i: np.zeros(250_000, "float32"), 64)
    loader = io.DataLoader(data, batch_size=4, num_workers=workers)

    def resident():
        return int(pathlib.Path("/proc/self/statm").read_text().split()[1]) * 4096

    for _ in loader:
        pass
    before = resident()
    for _ in range(4):
        for _ in loader:
            pass
    assert resident() - before < 32 * 2**20  # 4 epochs are 256 MB


# A StopIteration that is none.


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("where", ["dataset", "collate_fn", "stream's collate_fn"])
def test_a_stray_stop_does_not_end_the_loop_early(workers, where):
    def sample(i):
        return next(iter(())) if i == 5 else i

    def collate(samples):
        return np.array([sample(i) for i in samples])

    data, function = From(lambda i: i), collate
    if where == "dataset":
        data, function = From(sample), None
    elif where != "collate_fn":
        data = Stream(10)
    with pytest.raises(RuntimeError, match="raised StopIteration, which only"):
        numbers(io.DataLoader(data, num_workers=workers, collate_fn=function))


def test_an_interrupted_message_leaves_no_half_of_itself():
    """Ctrl-C (or a handler that raises) in the middle of an answer: the next loop starts workers anew."""
    loader = io.DataLoader(
        From(lambda i: np.full([1000], i, "float32"), 8), num_workers=2, persistent_workers=True
    )
    receive = dataloader_iter.transport._receive_exactly
    calls = 0

    def interrupted(*arguments):
        nonlocal calls
        calls += 1
        if calls == 5:
            raise KeyboardInterrupt
        return receive(*arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dataloader_iter.transport, "_receive_exactly", interrupted)
        with pytest.raises(KeyboardInterrupt):
            numbers(loader)
    assert [batch[0, 0].item() for batch in loader] == list(range(8))


@pytest.mark.parametrize("persistent", [False, True])
def test_iterations_side_by_side(persistent):
    loader = io.DataLoader(From(lambda i: i, 4), num_workers=2, persistent_workers=persistent)
    pairs = [(a.item(), b.item()) for a in loader for b in loader]
    assert pairs == [(a, b) for a in range(4) for b in range(4)]
    assert [(a.item(), b.item()) for a, b in zip(loader, loader)] == [(i, i) for i in range(4)]
    assert [a.item() for a in loader] == [0, 1, 2, 3]


def test_threads_take_batches_of_one_iterator():
    batches, taken, errors = iter(io.DataLoader(From(lambda i: i, 64), num_workers=2)), [], []

    def take():
        try:
            for batch in batches:
                taken.append(int(batch))
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=take) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors and sorted(taken) == list(range(64))


@pytest.mark.cpu_only("a forked child that brings batches to a GPU, which CUDA does not let it use")
@pytest.mark.parametrize("persistent", [False, True])
def test_a_child_has_no_part_in_an_iteration(persistent):
    """It is told at once, has iterations of its own, and takes nothing away."""
    data = From(lambda i: i, 8)
    loader = io.DataLoader(data, num_workers=1, persistent_workers=persistent)
    batches = iter(loader)
    assert int(next(batches)) == 0
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        try:
            with pytest.raises(RuntimeError, match="which forked this one.*iter.loader"):
                next(batches)
            ok = [int(batch) for batch in loader] == list(range(8))
            loader._iterator = batches = None
        except BaseException:
            traceback.print_exc()
            ok = False
        os._exit(0 if ok else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert [int(batch) for batch in batches] == list(range(1, 8))


def test_samplers_that_give_nothing():
    with pytest.raises(
        AssertionError, match="sampler: expected a Sampler or an iterable, got int. Do this"
    ):
        io.BatchSampler(sampler=1)
    with pytest.raises(AssertionError, match="num_samples must not exceed the number of weights"):
        io.WeightedRandomSampler([0.1, 0.9], 3, replacement=False)
