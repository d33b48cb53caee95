"""InMemoryDataset: shuffles, sizes, ids."""

import _thread
import os
import subprocess
import sys
import threading
from collections import Counter

import numpy as np
import pytest
from tests.processes import until
from tests.python.data import reference
from tests.python.data.test_parsing import batches
from tests.python.ps.jobs import connect, serve

import argosy as paddle
from argosy.distributed import fleet

static = paddle.static


def slots():
    return [static.data("y", [None, 1], "int64"), static.data("x", [None, 1], "int64", lod_level=1)]


def memory(path, **settings):
    dataset = paddle.distributed.InMemoryDataset()
    dataset.init(use_var=slots(), **settings)
    dataset.set_filelist([str(path)])
    return dataset


def numbered(tmp_path, count):
    data = [[[i], list(range(i + 1, i + 1 + i % 4)) or [7]] for i in range(count)]
    return reference.write(tmp_path / "a", data)


def rows(dataset):
    """(y, x..) of all samples, in order."""
    found = []
    for values, lengths, _ in batches(dataset):
        at = np.concatenate([[0], np.cumsum(lengths[1])])
        x = values[1].ravel()
        found += [(int(y), *x[at[i] : at[i + 1]]) for i, y in enumerate(values[0].ravel())]
    return found


def test_shuffles_keep_every_sample(tmp_path):
    dataset = memory(numbered(tmp_path, 500), batch_size=64)
    dataset.load_into_memory()
    before = rows(dataset)
    assert [r[0] for r in before] == list(range(500))
    assert dataset.get_memory_data_size() == 500 and dataset.get_shuffle_data_size() == 0
    for shuffle in (dataset.local_shuffle, dataset.global_shuffle):
        shuffle()
        after = rows(dataset)
        assert after != before and sorted(after) == sorted(before)
        before = after
    assert dataset.get_shuffle_data_size() == 500
    dataset.release_memory()
    assert dataset.get_memory_data_size() == 0
    with pytest.raises(RuntimeError, match="nothing is loaded"):
        dataset.local_shuffle()


def test_a_seed_gives_one_order(tmp_path):
    orders = []
    for _ in range(2):
        dataset = memory(numbered(tmp_path, 100), batch_size=64)
        dataset.load_into_memory()
        paddle.seed(5)
        dataset.local_shuffle()
        orders.append(rows(dataset))
    assert orders[0] == orders[1]


def test_slots_shuffle(tmp_path):
    path = numbered(tmp_path, 300)
    dataset = memory(path, batch_size=64, fea_eval=True)
    dataset.load_into_memory()
    before = rows(dataset)
    for _ in range(2):
        dataset.slots_shuffle(["x"])
        after = rows(dataset)
        assert [r[0] for r in after] == [r[0] for r in before] and after != before
        # Drawn without putting back: every list is there once.
        assert Counter(r[1:] for r in after) == Counter(r[1:] for r in before)
    with pytest.raises(ValueError, match="no slot 'z'"):
        dataset.slots_shuffle(["z"])
    other = memory(path)
    other.load_into_memory()
    with pytest.raises(RuntimeError, match="fea_eval=True"):
        other.slots_shuffle(["x"])


def test_preload(tmp_path):
    dataset = memory(numbered(tmp_path, 100), batch_size=64)
    dataset.preload_into_memory()
    with pytest.raises(RuntimeError, match="under way"):
        dataset.preload_into_memory()
    dataset.wait_preload_done()
    dataset.wait_preload_done()
    assert dataset.get_memory_data_size() == 100
    (tmp_path / "a").write_text("1 5 x\n")
    with pytest.raises(ValueError, match=":1: "):
        dataset.load_into_memory()
    assert dataset.get_memory_data_size() == 100


def test_a_program_may_end_while_it_loads(tmp_path):
    (tmp_path / "a").write_text("1 1 1 1\n")
    script = (
        "import sys\n"
        "import argosy as paddle\n"
        "paddle.enable_static()\n"
        "d = paddle.distributed.InMemoryDataset()\n"
        "y = paddle.static.data('y', [None, 1], 'int64')\n"
        "d.init(use_var=[y], pipe_command='sleep 1000')\n"
        "d.set_filelist([sys.argv[1]])\n"
        "d.preload_into_memory()\n"
        "print('loading')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "a")],
        capture_output=True, text=True, timeout=200,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, "loading\n", "")


def test_ctrl_c_ends_loading(tmp_path):
    started = tmp_path / "started"
    dataset = memory(numbered(tmp_path, 3), pipe_command=f"echo $$ > {started}; sleep 1000")

    def interrupt():
        until(lambda: started.exists() and started.read_text())
        _thread.interrupt_main()

    thread = threading.Thread(target=interrupt)
    with pytest.raises(KeyboardInterrupt):
        thread.start()
        dataset.load_into_memory()
    thread.join()
    with pytest.raises(ProcessLookupError):
        os.kill(int(started.read_text()), 0)
    dataset.update_settings(pipe_command="cat")
    dataset.load_into_memory()
    assert dataset.get_memory_data_size() == 3


def test_a_file_that_hangs_ends_loading(tmp_path):
    os.mkfifo(tmp_path / "fifo")
    dataset = memory(tmp_path / "fifo", timeout=0.5)
    with pytest.raises(TimeoutError, match="nobody wrote a byte into .*fifo.* for 0.5 s"):
        dataset.load_into_memory()
    # A program that ends while it waits is not held up.
    dataset.update_settings(timeout=float("inf"))
    dataset.preload_into_memory()
    dataset._preload._stop()
    with pytest.raises(RuntimeError, match="stopped"):
        dataset.wait_preload_done()


def test_unknown_settings_are_passed_over_with_a_warning():
    with pytest.warns(UserWarning, match="without effect: \\['rank_offset'\\]"):
        paddle.distributed.InMemoryDataset().init(rank_offset="x", batch_size=3)


def test_variables_may_not_change_under_samples(tmp_path):
    dataset = memory(numbered(tmp_path, 10), batch_size=4)
    dataset.load_into_memory()
    dataset.update_settings(use_var=[static.data("z", [None, 1], "int64")], batch_size=2)
    for call in (dataset.load_into_memory, lambda: rows(dataset)):
        with pytest.raises(RuntimeError, match="release_memory"):
            call()
    dataset.release_memory()
    dataset.update_settings(use_var=slots())
    dataset.load_into_memory()
    assert len(rows(dataset)) == 10


def test_padding_is_dropped_as_in_paddle(tmp_path):
    (tmp_path / "a").write_text("1 3 3 0 5 0\n1 4 2 0 0\n1 0 1 7\n1 1 0\n")
    dataset = memory(tmp_path / "a", batch_size=4)
    dataset.load_into_memory()
    assert rows(dataset) == [(3, 5), (4, 0), (0, 7), (1,)]


def test_samples_with_ids(tmp_path):
    lines = ["1 u 1 1 2 5 6", "1 v 1 2 1 7", "1 u 1 3 1 8", "1 w 1 4 1 9", "1 v 1 5 1 3"]
    (tmp_path / "a").write_text("\n".join(lines))
    dataset = memory(tmp_path / "a", batch_size=8, parse_ins_id=True)
    dataset.load_into_memory()
    assert [r[0] for r in rows(dataset)] == [1, 2, 3, 4, 5]
    dataset = memory(tmp_path / "a", batch_size=8, merge_size=2)
    dataset.load_into_memory()
    dataset.global_shuffle()
    assert sorted(rows(dataset)) == [(1, 5, 6, 8), (2, 7, 3)]


class Fleet:
    """Workers that are threads, with two servers."""

    def __init__(self, count):
        self.count = count
        self.servers = [serve(i, 2, count) for i in range(2)]

    def member(self, number):
        client = connect(self.servers, worker=number, workers=self.count)
        role = fleet.UserDefinedRoleMaker(
            current_id=number,
            role=fleet.Role.WORKER,
            worker_num=self.count,
            server_endpoints=["127.0.0.1:1"],
        )
        member = fleet.Fleet()
        member.init(role)
        member.util._client = lambda: client
        return member


@pytest.mark.parametrize("ids", [False, True])
def test_global_shuffle_among_workers(tmp_path, ids):
    count = 3
    workers = Fleet(count)
    datasets = []
    for w in range(count):
        path = tmp_path / f"part{w}"
        with open(path, "w") as f:
            for i in range(100):
                f.write((f"1 user{i % 10} " if ids else "") + f"1 {w * 100 + i} 1 {i % 10 + 1}\n")
        datasets.append(memory(path, batch_size=64, parse_ins_id=ids))
        datasets[-1].load_into_memory()
    sizes = [None] * count

    def work(w):
        member = workers.member(w)
        datasets[w].global_shuffle(member)
        sizes[w] = datasets[w].get_memory_data_size(member)

    threads = [threading.Thread(target=work, args=(w,)) for w in range(count)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert sizes == [300] * count
    found = [rows(d) for d in datasets]
    assert sorted(r[0] for part in found for r in part) == list(range(300))
    if ids:  # samples of one id meet
        owners = [{r[1] for r in part} for part in found]
        assert sum(map(len, owners)) == 10
    else:
        # Some of every worker's samples are at every worker.
        for part in found:
            assert {r[0] // 100 for r in part} == {0, 1, 2}
